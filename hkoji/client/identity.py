"""Who the player is: a name, and a key made here, an existing SSH key file, or one in ssh-agent.

The private key is read when something is to be signed, and not before: most commands only look.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hkoji.client.files import write_file
from hkoji.client.home import Home
from hkoji.errors import ExistsError, HkojiError, InvalidError, LoginError, MalformedError, StorageError
from hkoji.log.entry import SERVER_NAME, is_name
from hkoji.log.publickey import KEY_TYPE, PublicKey, parse_public_key
from hkoji.text import tell

if TYPE_CHECKING:
    from hkoji.log.keys import Signer


class Identity:
    """A name, its public key, and the file of what signs for it."""

    def __init__(self, name: str, key: PublicKey, file: Path) -> None:
        self.name: Final = name
        self.key: Final = key
        self.file: Final = file

    @cached_property
    def signer(self) -> Signer:
        """What signs. Raises `LoginError` or `StorageError` if the key cannot be used."""
        signer = _load(self.file)
        if signer.public != self.key:
            raise LoginError(
                tell(
                    "{file} holds another key than the one you play with, {fingerprint}",
                    file=self.file,
                    fingerprint=self.key.fingerprint,
                ),
                hint=tell("put the right key file back, or make another player in another HKOJI_HOME"),
            )
        return signer


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
        public = _load(file).public
        home.update_config(name=name, key=public.text, key_file=str(file))
        return Identity(name, public, file)
    from hkoji.log.keys import PrivateKey

    private = PrivateKey.from_seed(seed)
    write_file(home.key_file, private.to_openssh())
    write_file(home.key_file.with_suffix(".pub"), f"{private.public.text} {name}\n".encode())
    home.update_config(name=name, key=private.public.text, key_file=home.key_file.name)
    return Identity(name, private.public, home.key_file)


def load(home: Home) -> Identity:
    """The player of `home`. Raises `LoginError` when there is none, `StorageError` if the settings are damaged."""
    config = home.config()
    try:
        if not is_name(config["name"]):
            raise MalformedError(tell("name"), tell("name is not a player's name"))
        return Identity(config["name"], parse_public_key(config["key"]), home.path / config["key_file"])
    except (KeyError, TypeError, AttributeError, HkojiError) as error:
        raise StorageError(
            tell("{config_file} is damaged", config_file=home.config_file), hint=tell("restore the file from a backup")
        ) from error


def _load(file: Path) -> Signer:
    """A key file's signer; the agent's for a public key or one that needs a passphrase."""
    from hkoji.client.agent import AgentSigner
    from hkoji.log.keys import PrivateKey

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
