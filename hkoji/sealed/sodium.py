"""The group by libsodium (PyNaCl): products by secret numbers take the same time for all of them.

PyNaCl has the curve of Ed25519 (RFC 8032), but not the encoding of RFC 9496, so that is ours. It
imports `nacl` only when it is used.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from hkoji.errors import UsageError
from hkoji.messages.text import tell
from hkoji.sealed import plain, ristretto
from hkoji.sealed.group import GENERATOR, Combine, coordinates, write_scalars
from hkoji.sealed.ristretto import BYTES, ORDER, Coordinates, P

_IDENTITY: Final = (1).to_bytes(BYTES, "little")
_HALF: Final = (ORDER + 1) // 2
_QUARTER: Final = pow(4, -1, ORDER)
_B_X: Final = 0x216936D3CD6E53FEC0A4E231FDD6DC5C692CC7609525A7B2C9562D608F25D51A
_B_Y: Final = 0x6666666666666666666666666666666666666666666666666666666666666658
_B: Final = _B_Y.to_bytes(BYTES, "little")
"""The base point of RFC 8032, which stands for G."""


class NoSodiumError(UsageError):
    """PyNaCl is not installed."""


def is_installed() -> bool:
    """Whether PyNaCl is installed."""
    try:
        import nacl.bindings  # noqa: F401
    except ImportError:
        return False
    return True


def require() -> None:
    """Raises `NoSodiumError` where PyNaCl is not installed: nothing else makes proofs."""
    if not is_installed():
        from hkoji.extras import install_command

        hint = tell("install it with `{command}`", command=install_command("sealed"))
        raise NoSodiumError(tell("sealed games need PyNaCl, which is not installed"), hint=hint)


def quickest() -> Combine:
    """The function to check proofs with: `combine`; without PyNaCl that of `plain` (`scripts.bench sealed`)."""
    return combine if is_installed() else plain.combine


def combine(*terms: tuple[int, bytes]) -> bytes:
    """The sum of number · element for all terms, as `hkoji.sealed.group.Combine`."""
    from nacl.bindings import crypto_core_ed25519_add

    half = _IDENTITY  # twice a point is encoded faster than the point itself
    for number, element in terms:
        product = _multiply(number * _HALF, element)
        half = product if half == _IDENTITY else crypto_core_ed25519_add(half, product)
    result = ristretto.encode_double(_expand(half))
    _keep(result, _Known(half, 2))
    return result


def _multiply(number: int, element: bytes) -> bytes:
    from nacl.bindings import crypto_scalarmult_ed25519_base_noclamp, crypto_scalarmult_ed25519_noclamp

    # libsodium refuses a product that is the identity, so it is never asked for one.
    if element == GENERATOR:
        number %= ORDER
        return crypto_scalarmult_ed25519_base_noclamp(write_scalars(number)) if number else _IDENTITY
    point, factor = _known(element)
    number = number * factor % ORDER
    if number == 0 or point == _IDENTITY:
        return _IDENTITY
    return crypto_scalarmult_ed25519_noclamp(write_scalars(number), point)


class _Known(NamedTuple):
    """A point of prime order in the encoding of RFC 8032; `factor` times it stands for the element."""

    point: bytes
    factor: int


_KNOWN: Final[dict[bytes, _Known]] = {}
"""The points of elements. Most are used again: without this a lock takes 1.2 times as long."""
_MOST_KNOWN: Final = 4096


def _known(element: bytes) -> _Known:
    if (known := _KNOWN.get(element)) is None:
        # Four times any point that stands for the element is of prime order.
        known = _Known(_compress(ristretto.double(ristretto.double(coordinates(element)))), _QUARTER)
        _keep(element, known)
    return known


def _keep(element: bytes, known: _Known) -> None:
    if len(_KNOWN) >= _MOST_KNOWN:
        _KNOWN.clear()
    _KNOWN[element] = known


def _compress(point: Coordinates) -> bytes:
    """The encoding of RFC 8032, section 5.1.2."""
    x, y, z, _ = point
    inverse = pow(z, -1, P)
    x, y = x * inverse % P, y * inverse % P
    return (y | (x & 1) << 255).to_bytes(BYTES, "little")


def _expand(point: bytes) -> Coordinates:
    """The coordinates of an encoding of RFC 8032 that libsodium has made.

    x follows from y and from the y of the sum with B, by the law of addition. That takes a quarter of the time of the
    root by which x is found from y alone.
    """
    from nacl.bindings import crypto_core_ed25519_add

    y, sum_y = (int.from_bytes(each, "little") % 2**255 for each in (point, crypto_core_ed25519_add(point, _B)))
    product = y * _B_Y % P
    # D is not a square and -1 is one, so z is never 0.
    x, z = sum_y - product, _B_X * (1 + ristretto.D * product * sum_y) % P
    return x % P, y * z % P, z, x * y % P
