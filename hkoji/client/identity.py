"""Who the player is: a name, and a key made here, an existing SSH key file, or one in ssh-agent."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from hkoji.client.agent import AgentSigner
from hkoji.client.home import Home, write_file
from hkoji.errors import ExistsError, LoginError, MalformedError, StorageError
from hkoji.log.entry import SERVER_NAME, is_name
from hkoji.log.keys import PrivateKey, PublicKey, Signer, parse_public_key
from hkoji.log.publickey import KEY_TYPE


class Identity:
    """A name and its public key; the private key is read when something is to be signed."""

    def __init__(self, name: str, key: PublicKey, file: Path) -> None:
        self.name: Final = name
        self.key: Final = key
        self._file = file
        self._signer: Signer | None = None

    @property
    def signer(self) -> Signer:
        """What signs. Raises `LoginError` when the key cannot be used."""
        if self._signer is None:
            signer = _load(self._file)
            if signer.public != self.key:
                raise LoginError(f"{self._file} holds another key than the one you play with")
            self._signer = signer
        return self._signer


def create(home: Home, name: str, key: Path | None, seed: bytes) -> Identity:
    """Makes the player of `home`: with the key file `key`, or with a new key from 32 fresh random bytes.

    Until the player has registered, the name may be chosen anew.
    Raises `ExistsError` after that, `MalformedError` for a name that no player may have.
    """
    if not is_name(name) or name == SERVER_NAME:
        raise MalformedError(
            "name", "it is 2 to 32 of a-z, 0-9, _ and -, beginning with a letter or digit, and not 'server'"
        )
    if home.config_file.exists():
        config = home.config()
        if "server" in config:
            raise ExistsError("player", str(config["name"]), hint=f"use another HKOJI_HOME than {home.path}")
        if key is None:  # nobody knows the old name yet: the key stays, the name is chosen anew
            home.update_config(name=name)
            return load(home)
    if key is None:
        private = PrivateKey.from_seed(seed)
        write_file(home.key_file, private.to_openssh())
        write_file(home.key_file.with_suffix(".pub"), f"{private.public.text}\n".encode())
        home.update_config(name=name, key=private.public.text, key_file=home.key_file.name)
        return Identity(name, private.public, home.key_file)
    file = key.expanduser().absolute()
    signer = _load(file)
    home.update_config(name=name, key=signer.public.text, key_file=str(file))
    return Identity(name, signer.public, file)


def load(home: Home) -> Identity:
    """The player of `home`. Raises `LoginError` when there is none."""
    config = home.config()
    return Identity(config["name"], parse_public_key(config["key"]), home.path / config["key_file"])


def _load(file: Path) -> Signer:
    """A key file's signer; the agent's for a public key or one that needs a passphrase."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise StorageError(f"cannot read {file}: {error.strerror}", hint="give a key file with --key") from error
    if data.startswith(b"ssh-"):
        return AgentSigner(_public(data))
    try:
        return PrivateKey.from_openssh(data)
    except LoginError:
        beside = file.with_name(file.name + ".pub")
        if not beside.is_file():
            raise
        return AgentSigner(_public(beside.read_bytes()))


def _public(data: bytes) -> PublicKey:
    words = data.decode("ascii", "replace").split()
    if words[:1] != [KEY_TYPE]:
        raise LoginError("the key is not an Ed25519 key", hint="make one with `ssh-keygen -t ed25519`")
    return parse_public_key(" ".join(words[:2]))
