"""The test vectors, made without this package, hold for this package."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from hkoji.errors import HkojiError, MalformedError, NotUnderstoodError, SignatureError, WeakKeyError
from hkoji.log import sshsig
from hkoji.log.canonical import decode, encode
from hkoji.log.game_statements import parse_annul, parse_gift, parse_head
from hkoji.log.line import format_line, parse_entry, parse_line, parse_receipt
from hkoji.log.link_key import link_key, parse_link_statement
from hkoji.log.private_key import PrivateKey
from hkoji.log.public_key import PublicKey, parse_public_key
from hkoji.log.statement import parse_login, parse_registration, parse_view
from scripts.build import vectors
from scripts.build.golden import keep

FOLDER: Final = Path(vectors.__file__).parents[3] / "tests" / "data" / "vectors"
ERRORS: Final[dict[str, type[HkojiError]]] = {
    "malformed": MalformedError,
    "not-understood": NotUnderstoodError,
    "weak-key": WeakKeyError,
}
READERS: Final[dict[str, Callable[[str], Any]]] = {
    "entry": parse_entry,
    "receipt": parse_receipt,
    "view": parse_view,
    "registration": parse_registration,
    "login": parse_login,
    "line": parse_line,
    "give": parse_gift,
    "annul": parse_annul,
    "head": parse_head,
    "link": parse_link_statement,
}


def _load(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="ascii"))


KEYS = _load("keys")
CANONICAL = _load("canonical")
SIGNATURES = _load("signatures")["signatures"]
ENTRIES = _load("entries")


def _name(vector: dict[str, Any]) -> str:
    return str(vector.get("reason") or vector.get("form") or "good")[:40]


@pytest.fixture(scope="module")
def written() -> dict[str, str]:
    """The script's results, by name. Making it takes seconds."""
    return vectors.build()


def test_the_files_are_what_the_script_writes(written: dict[str, str]) -> None:
    assert {path.name for path in FOLDER.glob("*.json")} == written.keys() | {"sealed.json"}
    for name, text in written.items():
        assert (FOLDER / name).read_text(encoding="ascii") == text


def test_the_script_notices_a_change(tmp_path: Path, written: dict[str, str]) -> None:
    def run(*arguments: str) -> int:
        return keep("vectors", tmp_path / "vectors", lambda: written, list(arguments))

    assert run("--check") == 1
    assert run() == 0
    assert run("--check") == 0
    (tmp_path / "vectors" / "keys.json").write_text("{}")
    assert run("--check") == 1
    assert run("--what") == 2


@pytest.mark.parametrize("vector", KEYS["good"], ids=lambda vector: vector["public"][:16])
def test_good_keys(vector: dict[str, str]) -> None:
    public = PrivateKey.from_seed(bytes.fromhex(vector["seed"])).public
    assert public == PublicKey(bytes.fromhex(vector["public"])) == parse_public_key(vector["text"])
    assert (public.text, public.fingerprint) == (vector["text"], vector["fingerprint"])


@pytest.mark.parametrize("vector", KEYS["bad"], ids=_name)
def test_bad_keys(vector: dict[str, str]) -> None:
    with pytest.raises(ERRORS[vector["error"]]):
        parse_public_key(vector["text"])


@pytest.mark.parametrize("vector", KEYS["links"], ids=lambda vector: vector["code"])
def test_keys_of_links(vector: dict[str, str]) -> None:
    key = link_key(vector["code"])
    assert key == PrivateKey.from_seed(bytes.fromhex(vector["seed"]))
    assert key.public.text == vector["text"]


@pytest.mark.parametrize("vector", KEYS["bad_codes"], ids=_name)
def test_bad_codes_of_links(vector: dict[str, str]) -> None:
    with pytest.raises(ERRORS[vector["error"]]) as caught:
        link_key(vector["code"])
    assert not vector["code"] or vector["code"] not in str(caught.value)


@pytest.mark.parametrize("vector", CANONICAL["good"], ids=lambda vector: vector["text"][:24])
def test_good_canonical_texts(vector: dict[str, Any]) -> None:
    assert encode(vector["value"]) == vector["text"]
    assert repr(decode(vector["text"], "vector")) == repr(json.loads(vector["text"]))


@pytest.mark.parametrize("vector", CANONICAL["bad"], ids=_name)
def test_bad_canonical_texts(vector: dict[str, str]) -> None:
    with pytest.raises(MalformedError):
        decode(vector["text"], "vector")


@pytest.mark.parametrize("vector", SIGNATURES, ids=_name)
def test_signatures(vector: dict[str, Any], tmp_path: Path) -> None:
    blob = base64.b64decode(vector["blob"])
    message = vector["message"].encode()
    assert sshsig.armor(blob) == vector["armored"]
    assert sshsig.dearmor(vector["armored"]) == blob
    if vector["verifies"]:
        key = parse_public_key(vector["key"])
        sshsig.verify(blob, key, vector["namespace"], message, "signer")
        assert sshsig.parse(blob).public == key
    else:
        with pytest.raises((SignatureError, WeakKeyError)):
            sshsig.verify(blob, parse_public_key(vector["key"]), vector["namespace"], message, "signer")
    (tmp_path / "sig").write_text(vector["armored"])
    (tmp_path / "signers").write_text(f"signer {vector['key']}\n")
    command = ["ssh-keygen", "-Y", "verify", "-f", "signers", "-I", "signer", "-n", vector["namespace"], "-s", "sig"]
    done = subprocess.run(command, cwd=tmp_path, input=message, capture_output=True, check=False)
    assert vector["ssh_keygen"] in (None, done.returncode == 0)


@pytest.mark.parametrize("vector", ENTRIES["good"], ids=_name)
def test_good_entries(vector: dict[str, str]) -> None:
    value = READERS[vector["form"]](vector["text"])
    if vector["form"] == "line":
        assert format_line(value) == vector["text"]
    else:
        assert value.text == vector["text"]
        assert value.message == vector["text"].encode() + b"\n"
    if vector["form"] == "entry":
        assert value.head == vector["head"]


@pytest.mark.parametrize("vector", ENTRIES["bad"], ids=_name)
def test_bad_entries(vector: dict[str, str]) -> None:
    with pytest.raises(ERRORS[vector["error"]]):
        READERS[vector["form"]](vector["text"])


def test_no_bad_text_is_a_good_one() -> None:
    good = {(vector["form"], vector["text"]) for vector in ENTRIES["good"]}
    bad = [(vector["form"], vector["text"]) for vector in ENTRIES["bad"]]
    assert len(set(bad)) == len(bad)
    assert not good & set(bad)
    assert {form for form, _ in good} == {form for form, _ in bad} == READERS.keys()
