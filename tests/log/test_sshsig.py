"""SSHSIG: the same bytes as ssh-keygen and the sshsig package make and accept, and no others."""

from __future__ import annotations

import base64
import struct
import subprocess
from functools import partial
from pathlib import Path

import pytest
import sshsig as oracle
from hypothesis import given
from hypothesis import strategies as st
from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey, VerifyKey

from hkoji.errors import MalformedError, SignatureError
from hkoji.log import sshsig
from hkoji.log.private_key import PrivateKey
from tests.log.samples import ALICE, BOB, MOVE, attempt, edits
from tests.support.curve import ORDER
from tests.support.docs import DOCS, rows
from tests.support.refusals import cases
from tests.support.refusals import given as given_in

BLOB = ALICE.sign(sshsig.ENTRY, MOVE.message)
NAMESPACES = [
    sshsig.ENTRY,
    sshsig.GATEWAY,
    sshsig.HELD,
    sshsig.SERVER,
    sshsig.RECEIPT,
    sshsig.VIEW,
    sshsig.REGISTER,
    sshsig.LOGIN,
    sshsig.REKEY,
    sshsig.NEW_KEY,
    sshsig.REVOKE,
    sshsig.RECOVER,
    sshsig.GIVE,
    sshsig.ANNUL,
    sshsig.HEAD,
    sshsig.ORIGIN,
    sshsig.INVITE,
    sshsig.JOIN,
    sshsig.NOTICE,
    sshsig.PUSH,
    sshsig.TALK,
    sshsig.ENTROPY,
]


def test_the_namespaces_are_those_of_the_page() -> None:
    page = (DOCS / "spec" / "log.md").read_text()
    assert [row[0].strip("`") for row in rows(page, "namespace")] == NAMESPACES


def _verify(blob: bytes, message: bytes = MOVE.message, namespace: str = sshsig.ENTRY) -> None:
    sshsig.verify(blob, ALICE.public, namespace, message, "alice")


def _is_accepted(blob: bytes, message: bytes = MOVE.message, namespace: str = sshsig.ENTRY) -> bool:
    try:
        _verify(blob, message, namespace)
    except SignatureError:
        return False
    return True


def _ssh_keygen(tmp_path: Path, blob: bytes, message: bytes, namespace: str, key: str = ALICE.public.text) -> bool:
    (tmp_path / "sig").write_text(sshsig.armor(blob))
    (tmp_path / "signers").write_text(f"alice {key}\n")
    command = ["ssh-keygen", "-Y", "verify", "-f", "signers", "-I", "alice", "-n", namespace, "-s", "sig"]
    return subprocess.run(command, cwd=tmp_path, input=message, capture_output=True, check=False).returncode == 0


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def make_blob(
    *,
    magic: bytes = b"SSHSIG",
    version: int = 1,
    key: bytes = ALICE.public.blob,
    namespace: bytes = sshsig.ENTRY.encode(),
    reserved: bytes = b"",
    algorithm: bytes = b"sha512",
    kind: bytes = b"ssh-ed25519",
    signature: bytes = BLOB[-64:],
    after: bytes = b"",
    inside: bytes = b"",
) -> bytes:
    """A blob in which every part can be replaced."""
    claims = (key, namespace, reserved, algorithm, _string(kind) + _string(signature) + inside)
    return magic + struct.pack(">I", version) + b"".join(map(_string, claims)) + after


def test_the_parts_make_the_blob() -> None:
    assert make_blob() == BLOB
    _verify(BLOB)
    assert sshsig.parse(BLOB) == (ALICE.public, sshsig.ENTRY, BLOB[-64:])
    assert sshsig.build(*sshsig.parse(BLOB)) == BLOB


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_ssh_keygen_makes_the_same_bytes_and_takes_them(tmp_path: Path, namespace: str) -> None:
    (tmp_path / "key").write_bytes(ALICE.to_openssh())
    (tmp_path / "key").chmod(0o600)
    for message in (MOVE.message, b"", bytes(range(256)) * 20):
        (tmp_path / "text").write_bytes(message)
        (tmp_path / "text.sig").unlink(missing_ok=True)
        command = ["ssh-keygen", "-q", "-Y", "sign", "-f", "key", "-n", namespace, "text"]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
        armored = (tmp_path / "text.sig").read_text()
        blob = ALICE.sign(namespace, message)
        assert sshsig.armor(blob) == armored
        assert sshsig.dearmor(armored) == blob
        _verify(blob, message, namespace)
        assert _ssh_keygen(tmp_path, blob, message, namespace)
        assert not _ssh_keygen(tmp_path, blob, message + b".", namespace)
        assert not _ssh_keygen(tmp_path, blob, message, namespace, BOB.public.text)


def test_a_key_that_ssh_keygen_made_signs_alike(tmp_path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key"], check=True)
    private = PrivateKey.from_openssh((tmp_path / "key").read_bytes())
    command = ["ssh-keygen", "-q", "-Y", "sign", "-f", str(tmp_path / "key"), "-n", sshsig.ENTRY]
    armored = subprocess.run(command, input=MOVE.message, capture_output=True, check=True).stdout.decode()
    assert sshsig.armor(private.sign(sshsig.ENTRY, MOVE.message)) == armored
    sshsig.verify(sshsig.dearmor(armored), private.public, sshsig.ENTRY, MOVE.message, "someone")


@given(st.binary(min_size=32, max_size=32), st.binary(max_size=300), st.sampled_from(NAMESPACES))
def test_the_oracles_agree(seed: bytes, message: bytes, namespace: str) -> None:
    private = PrivateKey.from_seed(seed)
    blob = private.sign(namespace, message)
    assert bytes(SigningKey(seed).verify_key) == private.public.raw
    assert SigningKey(seed).sign(sshsig.signed_data(namespace, message)).signature == blob[-64:]
    VerifyKey(private.public.raw).verify(sshsig.signed_data(namespace, message), blob[-64:])
    oracle.verify(message, sshsig.armor(blob), [oracle.PublicKey.from_openssh_str(private.public.text)], namespace)
    sshsig.verify(blob, private.public, namespace, message, "someone")


@given(st.data())
def test_a_signature_fits_one_message_namespace_and_key(data: st.DataObject) -> None:
    message = data.draw(st.binary(max_size=100))
    namespace = data.draw(st.sampled_from(NAMESPACES))
    blob = ALICE.sign(namespace, message)
    other_message = data.draw(st.binary(max_size=100).filter(lambda other: other != message))
    other_namespace = data.draw(st.sampled_from([other for other in NAMESPACES if other != namespace]))
    assert _is_accepted(blob, message, namespace)
    with pytest.raises(SignatureError, match="it does not fit the text and the key"):
        _verify(blob, other_message, namespace)
    with pytest.raises(SignatureError, match=f"it was made for {namespace}, not for {other_namespace}"):
        _verify(blob, message, other_namespace)
    with pytest.raises(SignatureError, match="it is by the key SHA256:") as error:
        sshsig.verify(blob, BOB.public, namespace, message, "bob")
    assert error.value.signer == "bob"
    assert ALICE.public.fingerprint in error.value.reason
    # Signed for one namespace and relabelled for another, or by one key and relabelled for another.
    assert not _is_accepted(sshsig.build(ALICE.public, other_namespace, blob[-64:]), message, other_namespace)
    assert not _is_accepted(
        sshsig.build(ALICE.public, namespace, BOB.sign(namespace, message)[-64:]), message, namespace
    )


def test_every_damaged_bit_is_seen() -> None:
    for bit in range(8 * len(BLOB)):
        damaged = bytearray(BLOB)
        damaged[bit // 8] ^= 1 << bit % 8
        assert not _is_accepted(bytes(damaged))
    for end in range(len(BLOB)):
        assert not _is_accepted(BLOB[:end])
        with pytest.raises(MalformedError):
            sshsig.parse(BLOB[:end])


def test_a_blob_that_is_refused_verifies_nothing() -> None:
    for case in cases("log")["a signature"]:
        with pytest.raises(SignatureError) as refused:
            _verify(given_in(case))
        assert case["message"].rpartition(": ")[2] in refused.value.message


@pytest.mark.parametrize("multiple", range(1, 16))
def test_s_is_below_the_order_of_the_group(multiple: int) -> None:
    """Adding the order to S gives a second signature that lenient implementations accept."""
    s = int.from_bytes(BLOB[-32:], "little") + multiple * ORDER
    signature = BLOB[-64:-32] + s.to_bytes(32, "little")
    blob = make_blob(signature=signature)
    with pytest.raises(MalformedError, match="its S is not below"):
        sshsig.parse(blob)
    with pytest.raises(SignatureError, match="its S is not below"):
        _verify(blob)
    with pytest.raises(BadSignatureError):
        VerifyKey(ALICE.public.raw).verify(sshsig.signed_data(sshsig.ENTRY, MOVE.message), signature)


def test_the_bound_of_s_is_exact() -> None:
    for s, reads in ((0, True), (ORDER - 1, True), (ORDER, False), (ORDER + 1, False), (2**256 - 1, False)):
        blob = make_blob(signature=BLOB[-64:-32] + s.to_bytes(32, "little"))
        assert (attempt(partial(sshsig.parse, blob)) is not None) == reads


@given(st.binary(max_size=200) | st.binary(max_size=200).map(lambda end: b"SSHSIG\x00\x00\x00\x01" + end))
def test_any_bytes_are_a_signature_or_refused(blob: bytes) -> None:
    found = attempt(partial(sshsig.parse, blob))
    assert found is None or sshsig.build(*found) == blob
    assert not _is_accepted(blob)


@pytest.mark.parametrize("length", [0, 63, 65])
def test_an_agent_must_give_64_bytes(length: int) -> None:
    with pytest.raises(MalformedError, match="64"):
        sshsig.build(ALICE.public, sshsig.ENTRY, bytes(length))


@given(st.binary(min_size=1, max_size=300))
def test_armor_is_undone(blob: bytes) -> None:
    text = sshsig.armor(blob)
    assert sshsig.dearmor(text) == blob
    assert text.endswith("\n-----END SSH SIGNATURE-----\n")
    assert max(map(len, text.splitlines())) <= 70


def test_every_edit_of_armor_is_refused_or_another_blob() -> None:
    text = sshsig.armor(BLOB)
    for edit in edits(text)[::7]:
        blob = attempt(partial(sshsig.dearmor, edit))
        assert blob is None or (blob != BLOB and sshsig.armor(blob) == edit)


def test_the_body_of_armor_is_padded_base64() -> None:
    body = "".join(sshsig.armor(BLOB).splitlines()[1:-1])
    assert base64.b64decode(body, validate=True) == BLOB
