"""TLS of the service itself, without a proxy: its certificate and key, what is wrong with them, and slow handshakes.

A connection becomes a `GuardedConnection` only after its handshake. So handshakes have a time and numbers of their own.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from hkoji.errors import UsageError
from hkoji.messages.text import shorten, tell
from hkoji_server.service.players.limits import PlacesOfAddresses, counted_name

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

_LONGEST: Final = 10.0
"""The seconds that a handshake, or the end of a connection, may take at most."""
_BOTH: Final = tell("give the certificate with --tls-certificate FILE and its key with --tls-key FILE, both as PEM")
_RENEW: Final = tell("renew it, then start the service; nothing was changed")


def load_tls(certificate: Path, key: Path) -> ssl.SSLContext:
    """Returns the context in which the service speaks TLS 1.2 or newer. It reads both files now and never again.

    Raises `UsageError` if the files are no certificate and its key, or the certificate does not hold now.
    """
    own = read_certificate(certificate)
    now = datetime.now(UTC)
    if now > own.not_valid_after_utc:
        raise UsageError(
            tell("the certificate in {file} expired at {time}", file=certificate, time=own.not_valid_after_utc),
            hint=_RENEW,
        )
    if now < own.not_valid_before_utc:
        raise UsageError(
            tell(
                "the certificate in {file} is valid only from {time} on",
                file=certificate,
                time=own.not_valid_before_utc,
            ),
            hint=tell("is this machine's clock right? Nothing was changed"),
        )
    if _read_key(key).public_key() != own.public_key():
        raise UsageError(
            tell("the key in {key} is not the key of the certificate in {file}", key=key, file=certificate), hint=_BOTH
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(certificate, key)
    except ssl.SSLError as error:
        raise _unusable(certificate, shorten(str(error), 120)) from error
    return context


def read_certificate(file: Path) -> Certificate:
    """Returns the first certificate in a file, which is the service's own. Raises `UsageError`."""
    from cryptography import x509  # a service without TLS has no use for it

    try:
        return x509.load_pem_x509_certificates(_read(file))[0]
    except ValueError:
        raise _unusable(file, tell("it has no certificate in PEM form")) from None


def check_name(certificate: Path, origin: str) -> None:
    """Raises `UsageError` if players' programs would refuse the certificate at this origin, or it is not https."""
    host, port = urlsplit(origin).hostname or "", origin.rpartition(":")[2]
    names = _names(read_certificate(certificate))
    if not origin.startswith("https:"):
        raise UsageError(
            tell("players know this service as {origin}, and with a certificate it answers only https", origin=origin),
            hint=tell(
                "say once that its address has changed: hkoji serve --origin {origin}, with your other options; "
                "docs/hosting.md says what players do then. Nothing was changed",
                origin=f"https:{origin.partition(':')[2]}",
            ),
        )
    if not any(_is_for(name, host) for name in names):
        fitting = (names[0] if names else host).replace("*.", "hkoji.")
        raise UsageError(
            tell("the certificate in {file} is not for {host}, which players would call", file=certificate, host=host),
            hint=tell(
                "it is for: {names}. Give the address that players use, as in --origin {origin}. Nothing was changed",
                names=shorten(", ".join(names) or "-", 200),
                origin=f"https://{fitting}:{port}" if port.isdecimal() else f"https://{fitting}",
            ),
        )


def _names(certificate: Certificate) -> list[str]:
    from cryptography import x509

    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    addresses = map(str, found.get_values_for_type(x509.IPAddress))
    return [*(name.lower() for name in found.get_values_for_type(x509.DNSName)), *addresses]


def _is_for(name: str, host: str) -> bool:
    """Tells whether a name of a certificate covers a host; `*` stands for one label (RFC 9525, section 6.3)."""
    try:
        return ip_address(name) == ip_address(host)
    except ValueError:
        return name == host or (name.startswith("*.") and name[2:] == host.partition(".")[2] != "")


def _read_key(file: Path) -> Any:  # Any: a key of any kind
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        return load_pem_private_key(_read(file), None)
    except TypeError:
        raise UsageError(
            tell("the key in {file} is encrypted, and a service cannot ask for its passphrase", file=file),
            hint=tell("write a copy that only the service can read: openssl pkey -in {file} -out NEW", file=file),
        ) from None
    except ValueError:
        raise _unusable(file, tell("it has no private key in PEM form")) from None


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise _unusable(file, error.strerror or "") from error


def _unusable(file: Path, reason: str) -> UsageError:
    return UsageError(tell("cannot serve https with {file}: {reason}", file=file, reason=reason), hint=_BOTH)


class Handshakes:
    """How connections get TLS, and those that have it not yet: at most `most`, of one address `of_address` (0: any)."""

    def __init__(
        self,
        context: ssl.SSLContext,
        most: int,
        patience: float,
        *,
        of_address: int,
        is_proxy: Callable[[str], bool],
    ) -> None:
        seconds = min(patience, _LONGEST)
        self.options: Final[dict[str, Any]] = {  # Any: arguments of the loop by name
            "ssl": context,
            "ssl_handshake_timeout": seconds,
            "ssl_shutdown_timeout": seconds,
        }
        self._most = most
        self._places = PlacesOfAddresses(of_address)
        self._is_proxy = is_proxy
        self._names: dict[socket.socket, str | None] = {}

    def begin(self, connection: socket.socket) -> bool:
        """Counts a handshake, until `end`. Returns False, and counts none, if there are too many."""
        try:
            address = str(connection.getpeername()[0])
        except OSError:  # the client has gone already
            return False
        name = None if self._is_proxy(address) else counted_name(address)
        if len(self._names) >= self._most or (name and not self._places.take(name)):
            return False
        self._names[connection] = name
        return True

    def end(self, connection: socket.socket) -> None:
        """Ends a handshake that was counted, whatever came of it."""
        if name := self._names.pop(connection):
            self._places.leave(name)
