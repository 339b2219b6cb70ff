"""Private keys, and the interface of everything that signs.

docs/spec/log.md, "Keys". A signer has a public key and makes SSHSIG blobs: a private key in memory, or an agent that
never shows its key. The caller stores keys and draws the randomness for a new one.
"""

from __future__ import annotations

import warnings
from binascii import a2b_base64
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Protocol

from hkoji.errors import LoginError, MalformedError
from hkoji.log import sshsig
from hkoji.log.public_key import KEY_BYTES, PublicKey
from hkoji.log.sshsig import Sign, SignatureLibrary, library
from hkoji.messages.text import plural, tell

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.serialization import SSHPrivateKeyTypes

_BEGIN: Final = b"-----BEGIN OPENSSH PRIVATE KEY-----"
_END: Final = b"-----END OPENSSH PRIVATE KEY-----"
_MAKE_ONE: Final = tell("make a key with `ssh-keygen -t ed25519`")
_OTHER_FORMS: Final = (
    (
        b"PuTTY-User-Key-File-",
        tell("it is a key of PuTTY"),
        tell("open it with puttygen, choose Conversions, Export OpenSSH key, and give the new file"),
    ),
    (
        b"---- BEGIN SSH2 PUBLIC KEY ----",
        tell("it is a public key in the form of RFC 4716"),
        tell("convert it with `ssh-keygen -i -f FILE`, and give the file that this makes"),
    ),
    (b"PRIVATE KEY-----", tell("it is a private key in PEM form, which OpenSSH uses for other keys"), _MAKE_ONE),
    (b"PUBLIC KEY-----", tell("it is a public key in PEM form"), _MAKE_ONE),
)
"""Files that are often taken for a key of OpenSSH: a part of them, what they are, and what helps."""
_USE_AGENT: Final = tell("add the key to ssh-agent with `ssh-add`, or use a key file without passphrase")


class Signer(Protocol):
    """Anything that signs with a key: a private key in memory, or an agent that holds one."""

    @property
    def public(self) -> PublicKey:
        """The public key that verifies its signatures."""

    def sign(self, namespace: str, message: bytes) -> bytes:
        """The SSHSIG blob of `message` in `namespace`."""


@dataclass(frozen=True, slots=True)
class PrivateKey:
    """An Ed25519 private key in memory. Its repr shows nothing of it."""

    _seed: bytes = field(repr=False)
    public: PublicKey

    @staticmethod
    def from_seed(seed: bytes) -> PrivateKey:
        """The key of a 32-byte seed (RFC 8032, section 5.1.5), which the caller drew at random."""
        if len(seed) != KEY_BYTES:
            raise MalformedError(
                tell("key seed"),
                plural("it has {n} byte, not {wanted}", "it has {n} bytes, not {wanted}", len(seed), wanted=KEY_BYTES),
            )
        return PrivateKey(seed, PublicKey(library().signer(seed)[0]))

    @staticmethod
    def from_openssh(data: bytes, password: bytes | None = None) -> PrivateKey:
        """Reads an OpenSSH private key file; `password` is ignored if the file has none.

        Raises `MalformedError` if it is no such file or is damaged, `LoginError` if it cannot be used here: another
        kind of key, or a passphrase that is missing or wrong.
        """
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        key = _load(data, password)
        if not isinstance(key, Ed25519PrivateKey):
            raise LoginError(tell("the key in the file is not an Ed25519 key"), hint=_MAKE_ONE)
        private = PrivateKey.from_seed(key.private_bytes_raw())
        # The library compares the two public keys in the file, but not with the private key. Damage to the private
        # bytes would make another key, which would be noticed only when a signature is refused.
        # The public key is never encrypted (OpenSSH's PROTOCOL.key).
        if private.public.blob not in a2b_base64(data.partition(_BEGIN)[2].partition(_END)[0]):
            reason = tell("its private key and its public key do not go together")
            raise MalformedError(tell("key file"), reason, hint=tell("restore the file from a backup"))
        return private

    def to_openssh(self) -> bytes:
        """An OpenSSH private key file, without passphrase and comment."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

        key = Ed25519PrivateKey.from_private_bytes(self._seed)
        return key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())

    def sign(self, namespace: str, message: bytes) -> bytes:
        """The SSHSIG blob of `message` in `namespace`; the same bytes as `ssh-keygen -Y sign` makes."""
        return sshsig.build(self.public, namespace, self.sign_bytes(sshsig.signed_data(namespace, message)))

    def sign_bytes(self, data: bytes) -> bytes:
        """The bare Ed25519 signature of bytes, 64 bytes."""
        return _sign(self._seed, library())(data)


@lru_cache(maxsize=64)
def _sign(seed: bytes, by: SignatureLibrary) -> Sign:
    return by.signer(seed)[1]


def _load(data: bytes, password: bytes | None) -> SSHPrivateKeyTypes:
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        return _read(data, None)
    except TypeError:  # it has a passphrase
        pass
    except (UnsupportedAlgorithm, NotImplementedError):
        raise LoginError(tell("the key in the file is of a kind that cannot be used here"), hint=_MAKE_ONE) from None
    except ValueError:
        raise _no_openssh_key(data) from None
    if password is None:
        raise LoginError(tell("the key file is protected by a passphrase"), hint=_USE_AGENT)
    try:
        return _read(data, password)
    except (UnsupportedAlgorithm, NotImplementedError):  # a cipher, or bcrypt, that is not installed
        raise LoginError(tell("a key file protected like this cannot be opened here"), hint=_USE_AGENT) from None
    except ValueError:
        raise LoginError(tell("the passphrase does not open the key file"), hint=tell("check the passphrase")) from None


def _no_openssh_key(data: bytes) -> MalformedError:
    if b"OPENSSH PRIVATE KEY" not in data:
        for part, reason, hint in _OTHER_FORMS:
            if part in data:
                return MalformedError(tell("key file"), reason, hint=hint)
    return MalformedError(tell("key file"), tell("it is not an OpenSSH private key"), hint=_MAKE_ONE)


def _read(data: bytes, password: bytes | None) -> SSHPrivateKeyTypes:
    from cryptography.hazmat.primitives.serialization import load_ssh_private_key

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of kinds of keys that are refused here anyway, such as DSA
        return load_ssh_private_key(data, password)
