"""Both libraries make the same signatures and have the same verdicts; a library that differs is not used."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji.errors import SignatureError, WeakKeyError
from hkoji.log import sshsig
from hkoji.log.private_key import PrivateKey
from hkoji.log.public_key import PublicKey, parse_public_key
from hkoji.log.sshsig import Libsodium, OpenSSL, SignatureLibrary, Verify, find_flaw
from tests.log.samples import ALICE, MOVE
from tests.support.curve import (
    BASE,
    NEUTRAL,
    ORDER,
    Point,
    SignedBytes,
    craft,
    encode_point,
    holds,
    small_order,
    torsion,
)

VECTORS: Final = Path(__file__).parents[1] / "data" / "vectors"
LIBRARIES: Final[tuple[SignatureLibrary, ...]] = (OpenSSL(), Libsodium())
SEED: Final = bytes(range(32))


@pytest.fixture(autouse=True)
def _library() -> Iterator[None]:
    before = sshsig.library()
    yield
    sshsig.use(before)


def _vectors(name: str) -> Any:
    return json.loads((VECTORS / f"{name}.json").read_text())


def _verdicts(claim: SignedBytes) -> list[bool]:
    return [library.verifier(claim.public)(claim.signature, claim.data) for library in LIBRARIES]


@given(st.binary(min_size=32, max_size=32), st.binary(max_size=300))
def test_they_make_the_same_signatures(seed: bytes, data: bytes) -> None:
    (one, sign_one), (other, sign_other) = (library.signer(seed) for library in LIBRARIES)
    assert one == other
    assert sign_one(data) == sign_other(data)
    assert _verdicts(SignedBytes(one, sign_one(data), data)) == [True, True]
    assert _verdicts(SignedBytes(one, sign_one(data), data + b"x")) == [False, False]


@pytest.mark.parametrize("library", LIBRARIES, ids=["OpenSSL", "libsodium"])
def test_the_vectors_have_the_same_verdict_by_each(library: SignatureLibrary) -> None:
    sshsig.use(library)
    for vector in _vectors("keys")["good"]:
        key = PrivateKey.from_seed(bytes.fromhex(vector["seed"]))
        assert key.public.raw.hex() == vector["public"]
        sshsig.verify(key.sign(sshsig.ENTRY, b"a"), key.public, sshsig.ENTRY, b"a", "signer")
    for vector in _vectors("signatures")["signatures"]:
        try:
            public = parse_public_key(vector["key"])
            blob = base64.b64decode(vector["blob"])
            sshsig.verify(blob, public, vector["namespace"], vector["message"].encode(), "signer")
            verifies = True
        except (SignatureError, WeakKeyError):
            verifies = False
        assert verifies == vector["verifies"], vector["reason"]


@pytest.mark.parametrize("point", sorted(small_order()))
def test_an_r_of_small_order_is_refused_by_name(point: Point) -> None:
    """OpenSSL takes the neutral point, libsodium none; the holder of the private key can make such a signature."""
    data = sshsig.signed_data(sshsig.ENTRY, MOVE.message)
    claim = craft(b"\x01" * 32, data, nonce=0, beside_r=point)
    assert claim.public == ALICE.public.raw
    assert _verdicts(claim) == [point == NEUTRAL, False]
    assert find_flaw(claim.signature) is not None
    blob = sshsig.build(ALICE.public, sshsig.ENTRY, claim.signature)
    with pytest.raises(SignatureError, match="its R is a point of small order"):
        sshsig.verify(blob, ALICE.public, sshsig.ENTRY, MOVE.message, "alice")


def test_points_of_small_order_beside_r_and_key_have_one_verdict() -> None:
    for point in sorted(small_order()):
        for nonce in range(1, 9):
            beside_r = craft(SEED, b"data", nonce=nonce, beside_r=point)
            assert _verdicts(beside_r) == [point == NEUTRAL] * 2
            one, other = _verdicts(craft(SEED, b"data", nonce=nonce, beside_key=point))
            assert one == other


def test_s_with_the_order_added_is_a_flaw_whatever_the_libraries_say() -> None:
    good = craft(SEED, b"data", nonce=3).signature
    number = int.from_bytes(good[32:], "little")
    assert find_flaw(good) is None
    for multiple in range(1, 16):
        assert find_flaw(good[:32] + (number + multiple * ORDER).to_bytes(32, "little"))


class WithCofactor:
    """Verifies with the cofactor, as libsodium's current sources do."""

    def verifier(self, public: bytes) -> Verify:
        """The function that verifies signatures of a key."""
        return lambda signature, data: holds(SignedBytes(public, signature, data), cofactor=8)

    def signer(self, seed: bytes) -> tuple[bytes, sshsig.Sign]:
        """Signs like libsodium."""
        return Libsodium().signer(seed)


def test_a_library_that_verifies_with_the_cofactor_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = craft(SEED, b"data", nonce=3)
    assert WithCofactor().verifier(honest.public)(honest.signature, honest.data)
    crafted = craft(SEED, b"data", nonce=3, beside_r=torsion())
    assert WithCofactor().verifier(crafted.public)(crafted.signature, crafted.data)
    assert not sshsig.agrees(WithCofactor())
    assert all(map(sshsig.agrees, LIBRARIES))
    sshsig.use(LIBRARIES[0])
    with monkeypatch.context() as patch:
        patch.setattr(sshsig, "Libsodium", WithCofactor)
        sshsig.use_fastest()
        assert sshsig.library() is LIBRARIES[0]
    sshsig.use_fastest()
    assert isinstance(sshsig.library(), Libsodium)


def test_the_library_can_change_between_two_signatures() -> None:
    blobs = []
    key = PrivateKey.from_seed(SEED)
    for library in (*LIBRARIES, *LIBRARIES):
        sshsig.use(library)
        blobs.append(key.sign(sshsig.ENTRY, b"a"))
        for blob in blobs:
            sshsig.verify(blob, PublicKey(key.public.raw), sshsig.ENTRY, b"a", "signer")
    assert len(set(blobs)) == 1


class Counting:
    """OpenSSL, which counts what it verifies."""

    def __init__(self) -> None:
        self.verified = 0

    def verifier(self, public: bytes) -> Verify:
        """The function that verifies signatures of a key."""
        fits = OpenSSL().verifier(public)

        def counted(signature: bytes, data: bytes) -> bool:
            self.verified += 1
            return fits(signature, data)

        return counted

    def signer(self, seed: bytes) -> tuple[bytes, sshsig.Sign]:
        """Signs like OpenSSL."""
        return OpenSSL().signer(seed)


def _holds(blob: bytes, public: PublicKey, namespace: str, message: bytes) -> bool:
    try:
        sshsig.verify(blob, public, namespace, message, "signer")
    except SignatureError:
        return False
    return True


def test_the_same_signature_is_verified_once_and_any_other_anew() -> None:
    """A remembered verdict is for one key, namespace, text, signature and library."""
    key, other = PrivateKey.from_seed(SEED), PrivateKey.from_seed(bytes(32))
    raw = key.sign(sshsig.ENTRY, b"a")[-64:]
    damaged = bytes([raw[0] ^ 1]) + raw[1:]
    claims = [
        (raw, key, sshsig.ENTRY, b"a"),
        (damaged, key, sshsig.ENTRY, b"a"),
        (raw, other, sshsig.ENTRY, b"a"),
        (raw, key, sshsig.RECEIPT, b"a"),
        (raw, key, sshsig.ENTRY, b"b"),
    ]
    for order in (claims, claims[::-1]):
        for library in (Counting(), Counting()):
            sshsig.use(library)
            for _ in range(2):
                held = [
                    _holds(sshsig.build(by.public, namespace, sig), by.public, namespace, message)
                    for sig, by, namespace, message in order
                ]
                assert held == [claim is claims[0] for claim in order]
            assert library.verified == len(claims)
    sshsig.forget_verdicts()
    assert _holds(sshsig.build(key.public, sshsig.ENTRY, raw), key.public, sshsig.ENTRY, b"a")
    assert library.verified == len(claims) + 1


_WITHOUT = """
import sys
sys.modules["nacl"] = None
from hkoji.log import sshsig
sshsig.use_fastest()
print(type(sshsig.library()).__name__)
"""
_BY_ITSELF = """
import sys
from hkoji.log import sshsig
from hkoji.log.private_key import PrivateKey
def signed():
    key = PrivateKey.from_seed(bytes(32))
    sshsig.verify(key.sign("a", b"b"), key.public, "a", b"b", "c")
signed()
print("nacl" in sys.modules)
sshsig.use_fastest()
signed()
print("nacl" in sys.modules)
"""


@pytest.mark.parametrize(("code", "answer"), [(_WITHOUT, ["OpenSSL"]), (_BY_ITSELF, ["False", "True"])])
def test_a_process_uses_openssl_unless_it_asks_and_has_pynacl(code: str, answer: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == answer


def test_neutral_is_encoded_as_a_flaw() -> None:
    assert find_flaw(encode_point(NEUTRAL) + bytes(32))
    assert find_flaw(encode_point(BASE) + bytes(32)) is None
