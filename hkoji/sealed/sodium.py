"""The group by libsodium (PyNaCl): products by secret numbers take the same time for all of them.

PyNaCl has the curve of Ed25519 (RFC 8032), but not the encoding of RFC 9496, so that is ours. It
imports `nacl` only when it is used.
"""

from __future__ import annotations

from typing import Final

from hkoji.errors import UsageError
from hkoji.messages.text import tell
from hkoji.sealed import plain, ristretto
from hkoji.sealed.group import GENERATOR, Combine, coordinates, write_scalars
from hkoji.sealed.ristretto import BYTES, ORDER, Coordinates, P

_IDENTITY: Final = (1).to_bytes(BYTES, "little")
_HALF: Final = (ORDER + 1) // 2
_QUARTER: Final = write_scalars(pow(4, -1, ORDER))


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

    # Half of the sum is computed where that costs no more: twice a point is encoded faster than the point itself. So a
    # lock takes 0.87 times as long.
    numbers = [number % ORDER for number, _ in terms]
    halved = 1 not in numbers
    total = _IDENTITY
    for number, (_, each) in zip(numbers, terms, strict=True):
        product = _multiply(number * _HALF % ORDER if halved else number, each)
        total = product if total == _IDENTITY else crypto_core_ed25519_add(total, product)
    if not halved:
        point = ristretto.encode(_expand(total))
    else:
        point = ristretto.encode_double(_expand(total))
        total = crypto_core_ed25519_add(total, total)
    _keep(point, total)
    return point


def _multiply(number: int, point: bytes) -> bytes:
    from nacl.bindings import crypto_scalarmult_ed25519_base_noclamp, crypto_scalarmult_ed25519_noclamp

    if point == GENERATOR and number:
        return crypto_scalarmult_ed25519_base_noclamp(write_scalars(number))
    value = _representative(point)
    # libsodium refuses a product that is the identity, so it is never asked for one.
    if number == 0 or value == _IDENTITY:
        return _IDENTITY
    return value if number == 1 else crypto_scalarmult_ed25519_noclamp(write_scalars(number), value)


def _representative(point: bytes) -> bytes:
    """The point of prime order that stands for an element, in the encoding of RFC 8032."""
    from nacl.bindings import crypto_scalarmult_ed25519_noclamp

    if (known := _KNOWN.get(point)) is not None:
        return known
    # Four times any representative is of prime order, and a quarter of that is the one that is looked for.
    fourfold = _compress(ristretto.double(ristretto.double(coordinates(point))))
    value = _IDENTITY if fourfold == _IDENTITY else crypto_scalarmult_ed25519_noclamp(_QUARTER, fourfold)
    _keep(point, value)
    return value


_KNOWN: Final[dict[bytes, bytes]] = {}
"""Representatives of elements. Most results are used again: without this a lock takes 1.2 times as long."""
_MOST_KNOWN: Final = 4096


def _keep(point: bytes, value: bytes) -> None:
    if len(_KNOWN) >= _MOST_KNOWN:
        _KNOWN.clear()
    _KNOWN[point] = value


def _compress(point: Coordinates) -> bytes:
    """The encoding of RFC 8032, section 5.1.2."""
    x, y, z, _ = point
    inverse = pow(z, -1, P)
    x, y = x * inverse % P, y * inverse % P
    return (y | (x & 1) << 255).to_bytes(BYTES, "little")


def _expand(value: bytes) -> Coordinates:
    """The point of an encoding of RFC 8032 that libsodium has made."""
    number = int.from_bytes(value, "little")
    y, sign = number % 2**255, number >> 255
    _, x = ristretto.sqrt_ratio((y * y - 1) % P, (ristretto.D * y * y + 1) % P)
    if x & 1 != sign:
        x = -x % P
    return x, y, 1, x * y % P
