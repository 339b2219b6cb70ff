"""Targets: base64, signatures, public keys, private key files, files of expected keys, an agent's answers; held keys.

Of held keys: certificates, mails of entries and statements, and delegations, in any JSON.
"""

from __future__ import annotations

import atexit
import base64
import json
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from hkoji.cli.audit.command import read_expected_keys
from hkoji.client.identity import AgentSigner, create
from hkoji.client.kept.home import Home
from hkoji.errors import HkojiError, WeakKeyError
from hkoji.game.entry_kinds import parse_body
from hkoji.game.held_keys import certify, read_gateway, verify_gateway
from hkoji.log import sshsig
from hkoji.log.canonical import decode, decode_base64, encode, encode_base64
from hkoji.log.game_statements import parse_annul, parse_gift
from hkoji.log.mail_claim import read_mail
from hkoji.log.private_key import PrivateKey
from hkoji.log.public_key import PublicKey, decode_public_key, parse_public_key
from tests.lab.fuzz.target import DATA, Target, chosen, refusals, split_off, text

_SERVER: Final = PrivateKey.from_seed(b"s" * 32)
_HELD: Final = PrivateKey.from_seed(b"h" * 32)
_HEX: Final = "ab" * 32
_GATEWAY: Final = certify(
    _SERVER, address=_HEX, at="2026-11-22T07:00:00Z", key=_HELD.public, name="bob", origin="https://hkoji.example"
)
_KINDS: Final = ("open", "join", "seed", "move", "resign", "cancel", "credit", "annul", "delegate")
_WORDS: Final = (
    *('"mail":', '"gateway":', '"commit":', '"grade":', '"dkim"', '"token"', '"none"', "null", _HEX),
    *('"address":', '"at":', '"key":', '"origin":', '"sig":', '"mails":', _GATEWAY.key.text, "ssh-ed25519 AAAA"),
)


def held(data: bytes) -> None:
    """An accepted value gives the same JSON again, and no other certificate than the true one verifies."""
    number, rest = split_off(data, 12)
    given = text(rest)
    if number >= len(_KINDS):
        for parse in (parse_gift, parse_annul):
            with refusals():
                assert parse(given).text == given
        return
    value: Any = None  # Any: JSON
    with refusals():
        value = decode(given, "value")
    with refusals():
        gateway = read_gateway(value)
        if not isinstance(gateway, WeakKeyError):
            assert gateway.to_json() == value
            _verifies_only_the_true_one(gateway == _GATEWAY, value)
    for none in (True, False):
        with refusals():
            assert read_mail(value, none=none).to_json() == value
    if isinstance(value, dict):
        with refusals():
            body = parse_body(_KINDS[number], value)
            told = {key: each for key, each in value.items() if key != "ext"}
            assert encode(body.to_json()) == encode(told)


def _verifies_only_the_true_one(true: bool, value: Any) -> None:  # Any: JSON
    gateway = read_gateway(value)
    assert not isinstance(gateway, WeakKeyError)
    try:
        verify_gateway(gateway, "bob", _SERVER.public)
    except HkojiError:
        assert not true
    else:
        assert true


def held_seeds() -> Iterator[bytes]:
    """A certificate, mails, and a body and a statement of each kind."""
    mail = {"commit": _HEX, "grade": "token"}
    gateway, key, sig = _GATEWAY.to_json(), _GATEWAY.key.text, "U1NI"
    gift = {"head": _HEX, "mail": mail, "seconds": 60, "sig": sig}
    bodies: dict[str, Any] = {  # Any: JSON
        "open": {"entropy_commit": _HEX, "gateway": gateway, "invite": None, "key": key, "mail": mail},
        "join": {"entropy_commit": _HEX, "gateway": gateway, "key": key, "mail": mail},
        "seed": {"entropy": _HEX, "mail": {"commit": None, "grade": "none"}},
        "move": {"action": "1X", "commit": [_HEX], "mail": mail},
        "resign": {"mail": mail},
        "cancel": {"mail": mail},
        "credit": {"gift": gift, "outages": []},
        "annul": {"gift": gift, "mails": [mail, None], "outages": [], "seat": 0, "sigs": [sig, sig]},
        "delegate": {"gateway": gateway, "grade": "dkim"},
    }
    for value in (gateway, mail):
        yield chosen(0, _text(value))
    for number, kind in enumerate(_KINDS):
        yield chosen(number, _text(bodies[kind]))
    said = {"game": "cd" * 16, "head": _HEX, "mail": mail, "name": "bob", "v": 1}
    for statement in (said, {**said, "seconds": 60}):
        yield chosen(len(_KINDS), _text(statement))


def _text(value: Any) -> bytes:  # Any: JSON
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


_OF_HELD_KEYS: Final = (
    Target("mail-certificate", "certificates of held keys, and mails", held, held_seeds, 500_000, 2048, _WORDS),
)


_ALICE: Final = PrivateKey.from_seed(b"a" * 32)
_MESSAGE: Final = b"a text\n"
_ARMOR: Final = ("-----BEGIN SSH SIGNATURE-----\n", "-----END SSH SIGNATURE-----\n")
_PEM: Final = ("-----BEGIN OPENSSH PRIVATE KEY-----\n", "-----END OPENSSH PRIVATE KEY-----\n")
_SSH: Final = (
    *("SSHSIG", "ssh-ed25519", "ssh-ed25519 ", "AAAAC3NzaC1lZDI1NTE5AAAAI", "sha512", "sha256", "hkoji.entry.v1"),
    *("\x00\x00\x00\x0bssh-ed25519", "\x00\x00\x00\x20", "\x00\x00\x00\x40", "\x00\x00\x00\x01", "\x00\x00\x00\x00"),
    *("openssh-key-v1\x00", "none", "bcrypt", "aes256-ctr", "\x00\x00\x00\x07ssh-rsa", "ecdsa-sha2-nistp256"),
    *("sk-ssh-ed25519@openssh.com", "ssh-dss", "\xff\xff\xff\xff", "====", "\n"),
)


@cache
def folder() -> Path:
    """A folder for input that has to be read from a file."""
    made = Path(tempfile.mkdtemp(prefix="hkoji-fuzz-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def encoded(data: bytes) -> None:
    """Base64: each byte string has one spelling."""
    given = text(data)
    with refusals():
        assert encode_base64(decode_base64(given, "text")) == given
    assert decode_base64(encode_base64(data), "text") == data


def signature(data: bytes) -> None:
    """An SSHSIG blob or a `.sig` file: an accepted one gives the same blob again, and none is a valid signature."""
    number, rest = split_off(data, 2)
    blob = rest
    with refusals():
        if number:
            given = rest.decode("latin-1")
            blob = sshsig.dearmor(given)
            assert sshsig.armor(blob) == given
        read = sshsig.parse(blob)
        assert sshsig.build(read.public, read.namespace, read.signature) == blob
    if blob == _ALICE.sign(sshsig.ENTRY, _MESSAGE):
        return
    with refusals():
        sshsig.verify(blob, _ALICE.public, sshsig.ENTRY, _MESSAGE, "alice")
        raise AssertionError("a signature that nobody has made")


def public_key(data: bytes) -> None:
    """A public key as text, as a blob, or as 32 bytes."""
    number, rest = split_off(data, 3)
    with refusals():
        if number == 0:
            assert parse_public_key(text(rest)).text == text(rest)
        elif number == 1:
            assert decode_public_key(rest).blob == rest
        else:
            key = PublicKey(rest)
            assert parse_public_key(key.text) == decode_public_key(key.blob) == key
            with refusals():
                sshsig.verify(bytes(64), key, sshsig.ENTRY, _MESSAGE, "alice")


def private_key(data: bytes) -> None:
    """A private key file: as it stands, or with base64 put around its contents. A key that is accepted signs."""
    number, rest = split_off(data, 2)
    if number:
        rest = (_PEM[0] + base64.b64encode(rest).decode() + "\n" + _PEM[1]).encode()
    with refusals():
        key = PrivateKey.from_openssh(rest)
        sshsig.verify(key.sign(sshsig.ENTRY, _MESSAGE), key.public, sshsig.ENTRY, _MESSAGE, "alice")
        assert PrivateKey.from_openssh(key.to_openssh()).public == key.public


def key_file(data: bytes) -> None:
    """The input of `hkoji init --key`: a private key, or a public one whose private key an agent has."""
    file = folder() / "given"
    file.write_bytes(data)
    with refusals():
        create(Home(folder() / "home"), "no name", file, bytes(32))
    with refusals():
        from hkoji.client import identity

        identity.load_signer(file)


def keys_txt(data: bytes) -> None:
    """A file of expected keys."""
    file = folder() / "keys.txt"
    file.write_bytes(data)
    with refusals():
        pins = read_expected_keys((), (str(file),))
        assert pins
        again = "".join(f"{name} {key.text}\n" for name, keys in pins.items() for key in keys)
        file.write_text(again)
        assert read_expected_keys((), (str(file),)) == pins


class _Agent(AgentSigner):
    """An agent that gives the answer it is told to."""

    answer = b""

    def _ask(self, request: bytes) -> bytes:
        assert request
        return self.answer


def agent(data: bytes) -> None:
    """An ssh-agent's answer to a request for a signature."""
    asked = _Agent(_ALICE.public, print)
    asked.answer = data
    with refusals():
        blob = asked.sign(sshsig.ENTRY, _MESSAGE)
        assert sshsig.build(_ALICE.public, sshsig.ENTRY, blob[-64:]) == blob


# --- seeds ------------------------------------------------------------------------------------------------------------


def _signatures() -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads((DATA / "vectors" / "signatures.json").read_text())["signatures"]
    return found


def encoded_seeds() -> list[bytes]:
    """Some bytes, in base64."""
    return [base64.b64encode(b"hkoji"[:count]) for count in range(6)] + [b"U1NIU0lH"]


def signature_seeds() -> list[bytes]:
    """The test vectors' signatures, good and bad."""
    blobs = [chosen(0, base64.b64decode(each["blob"])) for each in _signatures()]
    return blobs + [chosen(1, each["armored"]) for each in _signatures()]


def public_key_seeds() -> list[bytes]:
    """The test vectors' keys, good and bad."""
    vectors = json.loads((DATA / "vectors" / "keys.json").read_text())
    good = [bytes.fromhex(each["public"]) for each in vectors["good"]]
    return [
        *(chosen(0, each["text"]) for part in ("good", "bad") for each in vectors[part]),
        *(chosen(1, PublicKey(raw).blob) for raw in good),
        *(chosen(2, raw) for raw in good),
    ]


def private_key_seeds() -> list[bytes]:
    """A key file and its contents, and the beginnings of other kinds."""
    whole = _ALICE.to_openssh()
    inside = base64.b64decode(b"".join(whole.splitlines()[1:-1]))
    return [chosen(0, whole), chosen(1, inside), chosen(1, inside.replace(b"none", b"aes256-ctr", 1))]


def key_file_seeds() -> list[bytes]:
    """Both sorts of files."""
    return [_ALICE.to_openssh(), f"{_ALICE.public.text} alice@home\n".encode()]


def keys_txt_seeds() -> list[bytes]:
    """A file with comments."""
    return [f"# keys\n\nalice {_ALICE.public.text}\nserver {_ALICE.public.text} # the service's\n".encode()]


def agent_seeds() -> list[bytes]:
    """A signature, and a refusal."""
    inner = b"\x00\x00\x00\x0bssh-ed25519\x00\x00\x00\x40" + bytes(64)
    return [b"\x0e" + len(inner).to_bytes(4, "big") + inner, b"\x05"]


TARGETS: Final = (
    Target("base64", "base64", encoded, encoded_seeds, 500_000, 512, ("=", "==", "+", "/", "-", "_", "\n", "AAAA")),
    Target("signature", "SSHSIG blobs and .sig files", signature, signature_seeds, 500_000, 1200, (*_SSH, *_ARMOR)),
    Target("public-key", "public keys", public_key, public_key_seeds, 500_000, 256, _SSH),
    Target("private-key", "private key files", private_key, private_key_seeds, 300_000, 2048, (*_SSH, *_PEM)),
    Target("key-file", "what init --key is given", key_file, key_file_seeds, 200_000, 2048, (*_SSH, *_PEM)),
    Target("keys.txt", "files of expected keys", keys_txt, keys_txt_seeds, 200_000, 1024, (*_SSH, "#", "alice ")),
    Target("agent", "an ssh-agent's answers", agent, agent_seeds, 200_000, 256, _SSH),
    *_OF_HELD_KEYS,
)
