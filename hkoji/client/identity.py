"""Who the player is: a name, and a key made here, an existing SSH key file, or one in ssh-agent.

The private key is read when something is to be signed, and not before: most commands only look.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hkoji.client.files import write_file
from hkoji.client.home import Home
from hkoji.errors import ExistsError, HkojiError, InvalidError, LoginError, MalformedError, StorageError
from hkoji.log.entry import SERVER_NAME, is_name
from hkoji.log.public_key import KEY_TYPE, PublicKey, parse_public_key
from hkoji.messages.text import tell

if TYPE_CHECKING:
    from hkoji.log.private_key import Signer


class OwnKey(NamedTuple):
    """A key of the player's, and the file of what signs for it."""

    public: PublicKey
    file: Path

    def signer(self) -> Signer:
        """What signs. Raises `LoginError` or `StorageError` if the key cannot be used."""
        signer = load_signer(self.file)
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
    """A name, and the player's keys. `own` is the one they play with; `earlier` ones sign in games that still name
    them; `next_` is to take the place of `own`, and has done so at the services in `moved`.
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
        self.own: Final = own
        self.earlier: Final = earlier
        self.next: Final = next_
        self._moved: Final = frozenset(moved)
        self._signers: Final[dict[PublicKey, Signer]] = {}

    @property
    def key(self) -> PublicKey:
        """The key that the player plays with."""
        return self.own.public

    @property
    def file(self) -> Path:
        """The file of what signs for it."""
        return self.own.file

    @property
    def keys(self) -> tuple[OwnKey, ...]:
        """All keys that can sign here."""
        return (self.own, *self.earlier, *((self.next,) if self.next else ()))

    def key_at(self, url: str) -> PublicKey:
        """The key for logins and new games at a service."""
        return self.next.public if self.next and url in self._moved else self.key

    def signs_for(self, key: PublicKey | None) -> bool:
        """Whether the private key of `key` is here."""
        return any(own.public == key for own in self.keys)

    def signer_of(self, key: PublicKey) -> Signer:
        """What signs for a key. Raises `LoginError` or `StorageError` if it cannot be used."""
        if key not in self._signers:
            found = next((own for own in self.keys if own.public == key), None)
            if found is None:
                raise LoginError(
                    tell("the private key of {fingerprint} is not here", fingerprint=key.fingerprint),
                    hint=tell("nothing was signed; see your keys with `hkoji whoami`"),
                )
            self._signers[key] = found.signer()
        return self._signers[key]

    @property
    def signer(self) -> Signer:
        """What signs for the key that the player plays with. Raises `LoginError` or `StorageError`."""
        return self.signer_of(self.key)


def create(home: Home, name: str, key: Path | None, seed: bytes) -> Identity:
    """Makes the player of `home`: with the key file `key`, or with a new key from 32 fresh random bytes.

    Until the player has registered, the name may be chosen anew.
    Raises `ExistsError` after that, `MalformedError` for a name that no player may have.
    """
    if not is_name(name) or name == SERVER_NAME:
        raise MalformedError(
            tell("name"), tell("it is 2 to 32 of a-z, 0-9, _ and -, beginning with a letter or digit, and not 'server'")
        )
    if home.config_file.exists():
        config = home.config()
        if "server" in config:
            raise ExistsError(
                tell("player"), str(config["name"]), hint=tell("use another HKOJI_HOME than {path}", path=home.path)
            )
        if key is None:  # nobody knows the old name yet: the key stays, the name is chosen anew
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
    """A new key of 32 fresh random bytes, on disk, with its public part beside it."""
    from hkoji.log.private_key import PrivateKey

    private = PrivateKey.from_seed(seed)
    write_file(file, private.to_openssh())
    write_file(file.with_name(f"{file.name}.pub"), f"{private.public.text} {name}\n".encode())
    return OwnKey(private.public, file)


def load(home: Home) -> Identity:
    """The player of `home`. Raises `LoginError` when there is none, `StorageError` if the settings are damaged."""
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
        raise StorageError(
            tell("{config_file} is damaged", config_file=home.config_file), hint=tell("restore the file from a backup")
        ) from error


def _own_key(home: Home, value: dict[str, Any]) -> OwnKey:  # Any: JSON
    return OwnKey(parse_public_key(value["key"]), home.path / value["key_file"])


def load_signer(file: Path) -> Signer:
    """A key file's signer; the agent's for a public key or one that needs a passphrase."""
    from hkoji.client.agent import AgentSigner
    from hkoji.log.private_key import PrivateKey

    try:
        data = file.read_bytes()
    except OSError as error:
        raise StorageError(
            tell("cannot read {file}: {reason}", file=file, reason=error.strerror),
            hint=tell("give a key file with --key"),
        ) from error
    if data.startswith(b"ssh-"):
        return AgentSigner(_public(data))
    try:
        return PrivateKey.from_openssh(data)
    except LoginError as error:
        # With a passphrase, or of another kind: the agent can help if the public key beside it is of the right kind.
        beside = file.with_name(file.name + ".pub")
        try:
            return AgentSigner(_public(beside.read_bytes()))
        except (OSError, InvalidError):
            raise error from None


def _public(data: bytes) -> PublicKey:
    words = data.decode("ascii", "replace").split()
    if words[:1] != [KEY_TYPE]:
        raise LoginError(tell("the key is not an Ed25519 key"), hint=tell("make one with `ssh-keygen -t ed25519`"))
    return parse_public_key(" ".join(words[:2]))
