"""The player's identity: a name, and a key that was made here, is in an SSH key file, or is in ssh-agent.

The private key is read only when something must be signed: most commands sign nothing.
"""

from __future__ import annotations

import os
import struct
import time
from base64 import b64decode
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hkoji.client.kept.files import damaged, write_file
from hkoji.client.kept.home import Home, silent
from hkoji.errors import (
    ExistsError,
    HkojiError,
    InvalidError,
    LoginError,
    MalformedError,
    StorageError,
    WrongValueError,
)
from hkoji.log.canonical import is_name, name_fault
from hkoji.log.line import SERVER_NAME
from hkoji.log.public_key import KEY_TYPE, PublicKey, parse_public_key
from hkoji.messages.text import tell

if TYPE_CHECKING:
    import socket

    from hkoji.log.private_key import Signer


_SIGN_REQUEST: Final = 13
_SIGN_RESPONSE: Final = 14
_LONGEST_ANSWER: Final = 4096
_REMARK_AFTER: Final = 5.0
"""The seconds without an answer after which the player is told; the agent may be asking for something elsewhere."""
_GIVE_UP_AFTER: Final = 15.0
"""The seconds after which the agent is given up."""


class OwnKey(NamedTuple):
    """One of the player's keys, and the file from which its signer is loaded."""

    public: PublicKey
    file: Path

    def signer(self, say: Callable[[str], None]) -> Signer:
        """Returns the key's signer, which may say that it waits. Raises `LoginError` or `StorageError` if it cannot."""
        signer = load_signer(self.file, say)
        if signer.public != self.public:
            raise LoginError(
                tell(
                    "{file} holds another key than the one you play with, {fingerprint}",
                    file=self.file,
                    fingerprint=self.public.fingerprint,
                ),
                hint=tell("put the right key file back, or make another player in another HKOJI_HOME"),
            )
        return signer


class Identity:
    """The player's name and keys. `own` is the current key; `earlier` ones sign in games that still name them.

    `next_` will replace `own`, and has replaced it already at the services in `moved`.
    """

    def __init__(
        self,
        name: str,
        own: OwnKey,
        earlier: tuple[OwnKey, ...] = (),
        next_: OwnKey | None = None,
        moved: Collection[str] = (),
    ) -> None:
        self.name: Final = name
        self.say: Callable[[str], None] = silent
        """Gets a remark when a signature keeps the player waiting."""
        self.own: Final = own
        self.earlier: Final = earlier
        self.next: Final = next_
        self._moved: Final = frozenset(moved)
        self._signers: Final[dict[PublicKey, Signer]] = {}

    @property
    def key(self) -> PublicKey:
        """The player's current key."""
        return self.own.public

    @property
    def keys(self) -> tuple[OwnKey, ...]:
        """All keys that can sign here."""
        return (self.own, *self.earlier, *((self.next,) if self.next else ()))

    def key_at(self, url: str) -> PublicKey:
        """Returns the key for logins and new games at a service."""
        return self.next.public if self.next and url in self._moved else self.key

    def signs_for(self, key: PublicKey | None) -> bool:
        """Returns whether the private key of `key` is here."""
        return any(own.public == key for own in self.keys)

    def signer_of(self, key: PublicKey) -> Signer:
        """Returns the signer of a key. Raises `LoginError` or `StorageError` if it cannot be used."""
        if key not in self._signers:
            found = next((own for own in self.keys if own.public == key), None)
            if found is None:
                raise LoginError(
                    tell("the private key of {fingerprint} is not here", fingerprint=key.fingerprint),
                    hint=tell("nothing was signed; see your keys with `hkoji whoami`"),
                )
            self._signers[key] = found.signer(self.say)
        return self._signers[key]

    @property
    def signer(self) -> Signer:
        """The current key's signer. Raises `LoginError` or `StorageError`."""
        return self.signer_of(self.key)


def create(home: Home, name: str, key: Path | None, seed: bytes) -> Identity:
    """Makes the player of `home`, with the key file `key`, or with a new key made from 32 fresh random bytes.

    Until the player has registered, a second call may change the name.
    Raises `ExistsError` after that, and `MalformedError` for a name that no player may have.
    """
    if not is_name(name) or name == SERVER_NAME:
        raise WrongValueError(tell("name"), name_fault(name))
    if home.config_file.exists():
        config = home.config()
        if "server" in config:
            raise ExistsError(
                tell("player"), str(config["name"]), hint=tell("use another HKOJI_HOME than {path}", path=home.path)
            )
        if key is None:  # no service knows the old name yet: only the name changes, the key stays
            home.update_config(name=name)
            return load(home)
    if key is not None:
        file = key.expanduser().absolute()
        public = load_signer(file).public
        home.update_config(name=name, key=public.text, key_file=str(file))
        return Identity(name, OwnKey(public, file))
    own = make_key(home.key_file, name, seed)
    home.update_config(name=name, key=own.public.text, key_file=home.key_file.name)
    return Identity(name, own)


def make_key(file: Path, name: str, seed: bytes) -> OwnKey:
    """Makes a key from 32 fresh random bytes and writes it to `file`, with its public key beside it.

    The public key comes first: `file` takes the name, and so a key whose making was killed is made again under it.
    """
    from hkoji.log.private_key import PrivateKey

    private = PrivateKey.from_seed(seed)
    write_file(file.with_name(f"{file.name}.pub"), f"{private.public.text} {name}\n".encode())
    write_file(file, private.to_openssh())
    return OwnKey(private.public, file)


def load(home: Home) -> Identity:
    """Returns the player of `home`. Raises `LoginError` if there is none, `StorageError` for damaged settings."""
    config = home.config()
    try:
        if not is_name(config["name"]):
            raise MalformedError(tell("name"), tell("name is not a player's name"))
        pending = config.get("next") or None
        return Identity(
            config["name"],
            _own_key(home, config),
            tuple(_own_key(home, each) for each in config.get("earlier", ())),
            _own_key(home, pending) if pending else None,
            pending["done"] if pending else (),
        )
    except (KeyError, TypeError, AttributeError, HkojiError) as error:
        raise damaged(home.config_file) from error


def _own_key(home: Home, value: dict[str, Any]) -> OwnKey:  # Any: JSON
    return OwnKey(parse_public_key(value["key"]), home.path / value["key_file"])


def load_signer(file: Path, say: Callable[[str], None] = silent) -> Signer:
    """Returns a key file's signer: ssh-agent, if the file holds a public key or needs a passphrase."""
    from hkoji.log.private_key import PrivateKey

    try:
        data = file.read_bytes()
    except OSError as error:
        raise StorageError(
            tell("cannot read {file}: {reason}", file=file, reason=error.strerror),
            hint=tell("give a key file with --key"),
        ) from error
    if _kind_of_public(data) is not None:
        return AgentSigner(_public(data), say)
    try:
        return PrivateKey.from_openssh(data)
    except LoginError as error:
        # The key has a passphrase or is not Ed25519. The agent can help if the public key file beside it is Ed25519.
        beside = file.with_name(file.name + ".pub")
        try:
            return AgentSigner(_public(beside.read_bytes()), say)
        except (OSError, InvalidError):
            raise error from None


def _kind_of_public(data: bytes) -> str | None:
    """Returns the kind of the public key in a file, as SSH names it; None if the file holds something else."""
    kind, _, rest = data.decode("ascii", "replace").strip().partition(" ")
    if kind == KEY_TYPE:  # also a damaged one, which is told apart when it is read
        return kind
    try:
        # The blob begins with the name of its kind, after its length in four bytes (RFC 4253, section 6.6).
        blob = b64decode(rest.partition(" ")[0])
    except ValueError:
        return None
    return kind if kind and blob[4:].startswith(kind.encode()) and len(kind) == int.from_bytes(blob[:4]) else None


def _public(data: bytes) -> PublicKey:
    kind = _kind_of_public(data)
    if kind != KEY_TYPE:
        hint = tell("hkoji needs a key of type {kind}; make one with `ssh-keygen -t ed25519`", kind=KEY_TYPE)
        if kind is None:
            raise LoginError(tell("the key is not an Ed25519 key"), hint=hint)
        if kind.startswith("sk-"):
            said = tell("the key is that of a security key (FIDO), of type {kind}", kind=kind)
        else:
            said = tell("the key is not an Ed25519 key, but one of type {kind}", kind=kind)
        raise LoginError(said, hint=hint)
    return parse_public_key(" ".join(data.decode("ascii", "replace").split()[:2]))


class AgentSigner:
    """Signs with the key `public` in ssh-agent: the private key is never read here.

    Source: draft-ietf-sshm-ssh-agent, SSH_AGENTC_SIGN_REQUEST. The agent signs the SSHSIG data, as for ssh-keygen.
    `say` gets a remark if the agent does not answer at once. Raises `LoginError` if there is no agent, or if it does
    not hold the key.
    """

    def __init__(self, public: PublicKey, say: Callable[[str], None]) -> None:
        self.public: Final = public
        self._say = say

    def sign(self, namespace: str, message: bytes) -> bytes:
        """Returns the SSHSIG blob of `message` in `namespace`."""
        from hkoji.log import sshsig

        data = sshsig.signed_data(namespace, message)
        request = bytes([_SIGN_REQUEST]) + _string(self.public.blob) + _string(data) + struct.pack(">I", 0)
        answer = self._ask(request)
        inner = _string(KEY_TYPE.encode()) + struct.pack(">I", 64)
        head = bytes([_SIGN_RESPONSE]) + struct.pack(">I", len(inner) + 64) + inner
        if not answer.startswith(head) or len(answer) != len(head) + 64:
            raise LoginError(
                tell("ssh-agent does not sign with {fingerprint}", fingerprint=self.public.fingerprint),
                hint=tell("add the key with `ssh-add`"),
            )
        return sshsig.build(self.public, namespace, answer[len(head) :])

    def _ask(self, request: bytes) -> bytes:
        import select
        import socket

        path = os.environ.get("SSH_AUTH_SOCK")
        if not path:
            raise LoginError(
                tell("the key is in ssh-agent, but no agent runs here"), hint=tell("start one: `eval $(ssh-agent)`")
            )
        try:
            with socket.socket(socket.AF_UNIX) as agent:
                agent.settimeout(_GIVE_UP_AFTER)
                agent.connect(path)
                agent.sendall(_string(request))
                end = time.monotonic() + _GIVE_UP_AFTER
                if not select.select([agent], [], [], _REMARK_AFTER)[0]:
                    self._say(tell("ssh-agent does not answer; perhaps it asks you for something in another window"))
                (length,) = struct.unpack(">I", _receive(agent, 4, end))
                if length > _LONGEST_ANSWER:
                    raise LoginError(tell("the answer of ssh-agent is too long"))
                return _receive(agent, length, end)
        except TimeoutError as error:
            raise LoginError(
                tell("ssh-agent has not answered for {seconds} seconds", seconds=int(_GIVE_UP_AFTER)),
                hint=tell(
                    "nothing was sent; does `ssh-add -l` answer? If not, start another agent: `eval $(ssh-agent)`"
                ),
            ) from error
        except OSError as error:
            raise LoginError(
                tell("ssh-agent does not answer: {reason}", reason=error.strerror or error), hint=tell("is it running?")
            ) from error


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def _receive(agent: socket.socket, count: int, end: float) -> bytes:
    """Returns so many bytes, which must come before the moment `end`. Raises `TimeoutError`."""
    data = b""
    while len(data) < count:
        left = end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        agent.settimeout(left)
        part = agent.recv(count - len(data))
        if not part:
            raise LoginError(tell("ssh-agent closed the connection"))
        data += part
    return data
