"""Keys: the text of a public key, the keys that are refused, OpenSSH's key files."""

from __future__ import annotations

import base64
import importlib.util
import subprocess
import warnings
from collections import Counter
from contextlib import suppress
from functools import partial
from itertools import product
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import dsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from hkoji.errors import InvalidError, LoginError, MalformedError, WeakKeyError
from hkoji.log import sshsig
from hkoji.log.private_key import PrivateKey
from hkoji.log.public_key import PublicKey, decode_public_key, parse_public_key
from hkoji.log.sshsig import Libsodium, OpenSSL
from tests.log.samples import ALICE, attempt, edits, reason
from tests.support.curve import FIELD, NEUTRAL, ORDER, encode_point, encodings, point_at, small_order, times

SMALL = sorted(encode_point(point) for point in small_order())
SECOND = sorted(encodings())


def _text(raw: bytes) -> str:
    blob = b"\x00\x00\x00\x0bssh-ed25519\x00\x00\x00\x20" + raw
    return "ssh-ed25519 " + base64.b64encode(blob).decode()


def _keygen(*arguments: str | Path) -> str:
    return subprocess.run(["ssh-keygen", *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def _new_key(path: Path, *arguments: str) -> bytes:
    _keygen("-q", "-C", "a comment", "-f", path, *arguments)
    return path.read_bytes()


def test_there_are_8_points_of_small_order_and_40_second_encodings() -> None:
    assert len(SMALL) == 8
    assert len(SECOND) == 2 * 19 + 2
    assert not set(SMALL) & set(SECOND)


@pytest.mark.parametrize("raw", SMALL, ids=bytes.hex)
def test_points_of_small_order_are_refused(raw: bytes) -> None:
    with pytest.raises(WeakKeyError) as error:
        PublicKey(raw)
    assert "small order" in reason(error.value)
    with pytest.raises(WeakKeyError):
        parse_public_key(_text(raw))


@pytest.mark.parametrize("raw", SECOND, ids=bytes.hex)
def test_second_encodings_are_refused(raw: bytes) -> None:
    with pytest.raises(WeakKeyError):
        PublicKey(raw)
    with pytest.raises(WeakKeyError):
        parse_public_key(_text(raw))


def test_the_neighbours_of_refused_encodings_are_not_refused() -> None:
    for y in [2, 3, 4, 18, 19, FIELD - 2, FIELD - 3, *(int.from_bytes(raw, "little") % 2**255 - 1 for raw in SMALL)]:
        for sign in (0, 1):
            raw = (y % 2**255 | sign << 255).to_bytes(32, "little")
            if raw not in SMALL and raw not in SECOND:
                assert PublicKey(raw).raw == raw


def test_why_small_order_is_refused() -> None:
    """OpenSSL takes the neutral point as a key, and one signature of it fits every message. So does OpenSSH 9.2."""
    neutral = encode_point(NEUTRAL)
    forged = neutral + bytes(32)
    for message in (b"a move\n", b"another move\n"):
        Ed25519PublicKey.from_public_bytes(neutral).verify(forged, sshsig.signed_data(sshsig.ENTRY, message))


def test_a_key_with_a_part_of_small_order_is_a_key_of_its_own() -> None:
    """Such keys are not refused: their signatures fit one message like any other's."""
    point = next(found for y in range(2, 1000) if (found := point_at(y)) and times(ORDER, found) != NEUTRAL)
    assert times(8, point) != NEUTRAL
    assert PublicKey(encode_point(point)).raw == encode_point(point)


def test_a_key_that_is_no_point_verifies_nothing() -> None:
    raw = next(y for y in range(2, 1000) if point_at(y) is None).to_bytes(32, "little")
    for library in (OpenSSL(), Libsodium()):
        assert not library.verifier(PublicKey(raw).raw)(bytes(64), b"data")


@pytest.mark.parametrize("length", [0, 31, 33, 64])
def test_a_key_has_32_bytes(length: int) -> None:
    with pytest.raises(MalformedError, match=f"{length} bytes"):
        PublicKey(bytes(length))
    with pytest.raises(MalformedError, match=f"{length} bytes"):
        PrivateKey.from_seed(bytes(length))


@given(st.binary(min_size=32, max_size=32))
def test_text_is_undone(seed: bytes) -> None:
    key = PrivateKey.from_seed(seed).public
    assert parse_public_key(key.text) == key
    assert decode_public_key(key.blob) == key
    assert hash(parse_public_key(key.text)) == hash(key)


def test_text_and_fingerprint_are_those_of_ssh_keygen(tmp_path: Path) -> None:
    private = PrivateKey.from_openssh(_new_key(tmp_path / "key", "-t", "ed25519", "-N", ""))
    text = (tmp_path / "key.pub").read_text()
    assert text == f"{private.public.text} a comment\n"
    assert _keygen("-l", "-f", tmp_path / "key.pub").split()[1] == private.public.fingerprint


def test_every_edit_of_a_key_is_refused_or_the_text_of_another() -> None:
    for text in edits(ALICE.public.text):
        key = attempt(partial(parse_public_key, text))
        assert key is None or key.text == text


@given(st.text(max_size=100))
def test_any_text_is_a_key_or_refused(text: str) -> None:
    with pytest.raises(InvalidError):
        parse_public_key(text)
    with pytest.raises(InvalidError):
        parse_public_key("ssh-ed25519 " + text)


def test_a_private_key_is_not_in_its_repr() -> None:
    seed = bytes(range(32))
    shown = repr(PrivateKey.from_seed(seed))
    assert "public=" in shown
    assert seed.hex() not in shown
    assert repr(seed) not in shown
    assert "_key" not in shown


def test_key_files_go_both_ways(tmp_path: Path) -> None:
    data = ALICE.to_openssh()
    assert data.startswith(b"-----BEGIN OPENSSH PRIVATE KEY-----\n")
    assert PrivateKey.from_openssh(data).public == ALICE.public
    assert PrivateKey.from_openssh(data, b"not needed").public == ALICE.public
    path = tmp_path / "key"
    path.write_bytes(data)
    path.chmod(0o600)
    assert _keygen("-y", "-f", path).strip() == ALICE.public.text


def test_a_key_file_with_a_passphrase(tmp_path: Path) -> None:
    data = _new_key(tmp_path / "key", "-t", "ed25519", "-N", "secret", "-a", "1")
    with pytest.raises(LoginError) as error:
        PrivateKey.from_openssh(data)
    assert "passphrase" in error.value.message
    assert "ssh-add" in error.value.hint
    with pytest.raises(LoginError) as error:
        PrivateKey.from_openssh(data, b"wrong")
    assert error.value.hint
    # Without bcrypt installed, cryptography cannot open these files at all.
    if importlib.util.find_spec("bcrypt"):
        assert PrivateKey.from_openssh(data, b"secret").public.text in (tmp_path / "key.pub").read_text()
    else:
        assert "ssh-add" in error.value.hint


@pytest.mark.parametrize("kind", [("rsa", "-b", "2048"), ("ecdsa",)], ids=lambda kind: kind[0])
def test_key_files_of_another_kind(tmp_path: Path, kind: tuple[str, ...]) -> None:
    data = _new_key(tmp_path / "key", "-N", "", "-t", *kind)
    with pytest.raises(LoginError) as error:
        PrivateKey.from_openssh(data)
    assert "not an Ed25519 key" in error.value.message
    assert "ssh-keygen -t ed25519" in error.value.hint


def test_a_dsa_key_file_is_refused_without_a_warning() -> None:
    """A warning would be an error in these tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = dsa.generate_private_key(1024).private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
        )
    with pytest.raises(LoginError) as error:
        PrivateKey.from_openssh(data)
    assert "not an Ed25519 key" in error.value.message


def test_a_key_file_in_another_form_is_called_what_it_is() -> None:
    pkcs8 = Ed25519PrivateKey.from_private_bytes(bytes(32)).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with pytest.raises(MalformedError) as error:
        PrivateKey.from_openssh(pkcs8)
    assert "a private key in PEM form" in reason(error.value)


@given(st.data())
def test_a_damaged_key_file_is_refused_or_the_same_key(data: st.DataObject) -> None:
    lines = ALICE.to_openssh().splitlines()
    blob = bytearray(base64.b64decode(b"".join(lines[1:-1])))
    for _ in range(data.draw(st.integers(1, 3))):
        blob[data.draw(st.integers(0, len(blob) - 1))] = data.draw(st.integers(0, 255))
    damaged = b"\n".join([lines[0], base64.b64encode(blob), lines[-1], b""])
    with suppress(MalformedError, LoginError):
        key = PrivateKey.from_openssh(damaged, data.draw(st.sampled_from([None, b"secret"])))
        sshsig.verify(key.sign(sshsig.ENTRY, b"text"), ALICE.public, sshsig.ENTRY, b"text", "alice")


def test_a_key_file_with_one_bit_turned_is_refused_or_the_same_key() -> None:
    whole = ALICE.to_openssh()
    refused = Counter[str]()
    hints = set[str]()
    for place, bit in product(range(len(whole)), range(8)):
        damaged = whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :]
        try:
            key = PrivateKey.from_openssh(damaged)
        except (MalformedError, LoginError) as error:
            refused[str(error)] += 1
            hints.add(error.hint)
        else:
            assert key.public == ALICE.public, (place, bit)
    # The 32 private bytes are 43 characters of base64, and most changed bits give another character of the alphabet.
    assert refused["malformed key file: its private key and its public key do not go together"] > 200
    assert "restore the file from a backup" in hints


def test_a_key_file_of_a_curve_that_nobody_implements(tmp_path: Path) -> None:
    """cryptography raises NotImplementedError for compressed ECDSA points."""
    lines = _new_key(tmp_path / "key", "-t", "ecdsa", "-N", "").splitlines()
    blob = base64.b64decode(b"".join(lines[1:-1]))
    point = blob.index(b"nistp256\x00\x00\x00A\x04", blob.index(b"nistp256") + 8 + 8 + 60) + 12
    damaged = blob[:point] + b"\x02" + blob[point + 1 :]
    with pytest.raises(LoginError) as error:
        PrivateKey.from_openssh(b"\n".join([lines[0], base64.b64encode(damaged), lines[-1], b""]))
    assert error.value.hint
