"""OpenSSL and libsodium judge every signature alike: a sample of those that measure.py tries."""

from __future__ import annotations

import random
from collections import Counter

from hkoji.log.sshsig import OpenSSL, Verify
from tests.lab.two_libraries.measure import Claim, claims, is_wrong, judged
from tests.support.curve import SignedBytes


class Lenient(OpenSSL):
    """Accepts signatures whose last bit is wrong."""

    def verifier(self, public: bytes) -> Verify:
        """The function that verifies signatures of a key."""
        verify = super().verifier(public)
        return lambda signature, data: (
            verify(signature, data) or verify(signature[:32] + bytes([signature[32] ^ 1]) + signature[33:], data)
        )


def test_both_judge_alike() -> None:
    verdicts: Counter[str] = Counter()
    for _, claim in zip(range(3000), claims(random.Random(5)), strict=False):
        found = judged(claim.signed)
        assert not is_wrong(claim, found), claim
        verdicts[found[0]] += 1
    assert set(verdicts) == {"holds", "does not hold", "a flaw", "a weak key"}
    assert min(verdicts.values()) > 50


def test_a_difference_would_be_detected() -> None:
    public, make = OpenSSL().signer(bytes(32))
    signature = make(b"data")
    damaged = signature[:32] + bytes([signature[32] ^ 1]) + signature[33:]
    claim = Claim("a bit", SignedBytes(public, damaged, b"data"), True)
    assert is_wrong(claim, judged(claim.signed, (OpenSSL(), Lenient())))
    assert is_wrong(claim, judged(claim.signed, (Lenient(), Lenient())))
