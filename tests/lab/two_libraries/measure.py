"""Damages signatures at random, and has each judged by OpenSSL and by libsodium.

    python -m tests.lab.two_libraries.measure 1000000 1

A signature is honest, or one that only the holder of its key can make: with a point of small order beside R or beside
the key, or with an R of small order. Then it keeps its form, or one part (key, R, S or data) is changed: a bit, a
byte, a multiple of the group's order added to S, or another part of the same kind put in its place. Both libraries
judge it by `PublicKey`, `find_flaw` and their own verification, as `sshsig.verify` does. Prints the verdicts, and every
signature on which the two differ; exits with 1 if there is one, or if a changed honest signature holds.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from hkoji.errors import InvalidError
from hkoji.log.public_key import PublicKey
from hkoji.log.sshsig import Libsodium, OpenSSL, SignatureLibrary, find_flaw
from tests.support.curve import NEUTRAL, ORDER, SignedBytes, craft, encode_point, encodings, small_order

_LIBRARIES: Final = (OpenSSL(), Libsodium())
_CRAFTED: Final = 40


class Claim(NamedTuple):
    """A claimed signature, how it was made, and whether it must not hold."""

    sort: str
    signed: SignedBytes
    forged: bool


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("signatures", type=int)
    parser.add_argument("seed", type=int)
    given = parser.parse_args()
    started = time.monotonic()
    verdicts: Counter[tuple[str, str]] = Counter()
    wrong = 0
    for _, claim in zip(range(given.signatures), claims(random.Random(given.seed)), strict=False):
        found = judged(claim.signed)
        verdicts[claim.sort, " and ".join(dict.fromkeys(found))] += 1
        if is_wrong(claim, found):
            wrong += 1
            print(f"{claim.sort}: {' '.join(part.hex() for part in claim.signed)}: {', '.join(found)}")
    for (sort, verdict), count in sorted(verdicts.items()):
        print(f"{count:9,} {sort}: {verdict}")
    print(f"{given.signatures:,} signatures in {time.monotonic() - started:.0f} s, {wrong} judged wrongly")
    sys.exit(wrong > 0)


def is_wrong(claim: Claim, found: tuple[str, ...]) -> bool:
    """Whether the libraries differ, or accept what nobody has signed."""
    return len(set(found)) > 1 or (claim.forged and "holds" in found)


def judged(claim: SignedBytes, libraries: tuple[SignatureLibrary, ...] = _LIBRARIES) -> tuple[str, ...]:
    """Each library's verdict."""
    try:
        public = PublicKey(claim.public).raw
    except InvalidError:
        return ("a weak key",) * len(libraries)
    if find_flaw(claim.signature):
        return ("a flaw",) * len(libraries)
    return tuple(
        "holds" if each.verifier(public)(claim.signature, claim.data) else "does not hold" for each in libraries
    )


def claims(rng: random.Random) -> Iterator[Claim]:
    """Claims of all sorts in turn, without end."""
    honest, crafted, own_key = _made(rng)
    while True:
        yield _changed(rng, rng.choice(honest), honest)
        yield _changed(rng, rng.choice(honest), honest)
        yield Claim("crafted", rng.choice(crafted), False)
        yield _changed(rng, rng.choice(crafted), crafted, sort="crafted, ", forged=False)
        yield Claim("signed again by a key with a point of small order", _again(rng, own_key), False)


def _made(rng: random.Random) -> tuple[list[SignedBytes], list[SignedBytes], list[SignedBytes]]:
    small = sorted(small_order())
    honest: list[SignedBytes] = []
    crafted: list[SignedBytes] = []
    own_key: list[SignedBytes] = []
    for _ in range(_CRAFTED):
        seed, data = rng.randbytes(32), rng.randbytes(rng.randrange(200))
        public, make = _LIBRARIES[0].signer(seed)
        honest.append(SignedBytes(public, make(data), data))
        nonce = rng.randrange(1, ORDER)
        crafted.append(craft(seed, data, nonce=0, beside_r=rng.choice(small)))
        crafted.append(craft(seed, data, nonce=nonce, beside_r=rng.choice(small)))
        crafted.append(craft(seed, data, nonce=0, beside_r=rng.choice(small), beside_key=rng.choice(small)))
        own_key.append(craft(seed, data, nonce=nonce, beside_key=rng.choice(small)))
    return honest, crafted, own_key


def _again(rng: random.Random, own_key: list[SignedBytes]) -> SignedBytes:
    """A key with a point of small order beside other bytes: one in eight challenges fits."""
    one = rng.choice(own_key)
    return one if rng.random() < 0.5 else one._replace(data=rng.randbytes(8))


def _changed(
    rng: random.Random, one: SignedBytes, others: list[SignedBytes], sort: str = "honest, ", forged: bool = True
) -> Claim:
    other = rng.choice(others)
    r, s = one.signature[:32], one.signature[32:]
    number = int.from_bytes(s, "little")
    match rng.randrange(9):
        case 0:
            what, after = "as it was", one
        case 1:
            what, after = "a bit of the signature", one._replace(signature=_flip(rng, one.signature))
        case 2:
            what, after = "a bit of the key", one._replace(public=_flip(rng, one.public))
        case 3:
            what, after = "a bit of the data", one._replace(data=_flip(rng, one.data or b"\0"))
        case 4:
            raised = number + rng.randrange(1, 16) * ORDER
            what, after = "a multiple of L added to S", one._replace(signature=r + raised.to_bytes(33, "little")[:32])
        case 5:
            what, after = "another R", one._replace(signature=rng.choice(_R) + s)
        case 6:
            what, after = "another S", one._replace(signature=r + other.signature[32:])
        case 7:
            what, after = "another key", one._replace(public=rng.choice((other.public, rng.choice(_R))))
        case _:
            place = rng.randrange(64)
            signature = one.signature[:place] + rng.randbytes(1) + one.signature[place + 1 :]
            what, after = "a byte of the signature", one._replace(signature=signature)
    return Claim(sort + what, after, forged and after != one)


def _flip(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


_R: Final = [*sorted(map(encode_point, small_order())), *sorted(encodings()), encode_point(NEUTRAL)]
"""Encodings of points of small order, and all that are not canonical."""


if __name__ == "__main__":
    main()
