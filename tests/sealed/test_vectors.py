"""The vectors of sealed games are what the script builds, and both backends judge each as it says."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from typing import Any, Final

import pytest

from hkoji.errors import MalformedError, ProofError
from hkoji.sealed import plain, sodium
from hkoji.sealed.cards import base_points, blind_point
from hkoji.sealed.group import Combine
from hkoji.sealed.proofs import CloseStatement, ShareStatement, ShownStatement
from hkoji.sealed.transcript import Place, ProofTranscript
from scripts.build.sealed_vectors import RULESETS, build
from scripts.build.vectors import FOLDER
from tests.support.sealed import KINDS, HiddenOf, Kind, LockOf, Sent, check, points_in
from tests.support.sealed_page import L, PageTranscript

TEXT: Final = (FOLDER / "sealed.json").read_text("ascii")
VECTORS: Final[dict[str, Any]] = json.loads(TEXT)
Vector = dict[str, Any]


def raw(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def scalar(text: str) -> int:
    number = int.from_bytes(raw(text), "little")
    assert len(raw(text)) == 32
    assert number < L
    return number


def sent(kind: Kind, vector: Vector) -> Sent:
    """The proof of a vector."""
    key, cards = raw(vector.get("key", "")), RULESETS[vector["ruleset"]]
    if kind == "share":
        where = vector["game"], vector["giver"], vector["round"], tuple(vector["at"])
        return Sent(kind, ShareStatement(*where, key, points_in(raw(vector["points"]))), (raw(vector["shares"]),))
    at = Place(**vector["place"])
    if kind == "lock":
        texts = raw(vector["deck"]), key, raw(vector["proof"])
        return Sent(kind, LockOf(at, points_in(raw(vector["before"]))), texts)
    tokens = points_in(raw(vector["tokens"]))
    if kind == "hide":
        return Sent(kind, HiddenOf(at, vector["part"], tokens), (raw(vector["hide"]),))
    card = cards.point(vector["card"])
    if kind == "show":
        return Sent(kind, ShownStatement(at, vector["part"], key, card, tokens), (raw(vector["proof"]),))
    shown, hidden = tuple(map(cards.point, vector["shown"])), points_in(raw(vector["hidden"]))
    return Sent(
        kind, CloseStatement(at, key, card, raw(vector["counts"]), shown, hidden, tokens), (raw(vector["proof"]),)
    )


def verdict(combine: Combine, kind: Kind, vector: Vector) -> str:
    """The error that a proof has, or that it holds."""
    try:
        check(combine, sent(kind, vector))
    except MalformedError:
        return "malformed"
    except ProofError:
        return "proof"
    return "holds"


def test_the_file_is_what_the_script_writes() -> None:
    assert build() == {"sealed.json": TEXT}


def test_there_are_vectors_of_each_kind() -> None:
    """Honest ones of both rulesets, and spoilt ones with either error."""
    for kind in KINDS:
        found = Counter((vector["ok"], vector["ruleset"], vector.get("error")) for vector in VECTORS[kind])
        assert found[True, "hanamikoji", None] >= 2
        assert found[True, "geishas-road", None] >= 2
        assert found[False, "hanamikoji", "proof"] >= 10
        assert found[False, "hanamikoji", "malformed"] >= 4
        reasons = Counter((vector["why"], len(json.dumps(vector))) for vector in VECTORS[kind] if not vector["ok"])
        assert len({why for why, _ in reasons}) >= 14
    assert {len(vector["at"]) for vector in VECTORS["share"]} == {1, 7}
    assert {len(raw(vector["tokens"])) for vector in VECTORS["show"]} == {32 * 7, 32 * 10}


@pytest.mark.parametrize("kind", KINDS)
def test_each_proof_is_judged_as_its_vector_says(kind: Kind) -> None:
    """By libsodium. In plain integers a part of them is; the laboratory judges all in both ways."""
    for number, vector in enumerate(VECTORS[kind]):
        expected = vector.get("error", "holds")
        assert verdict(sodium.combine, kind, vector) == expected, vector
        if number % 4 == 0 or (vector["ok"] and kind != "lock"):
            assert verdict(plain.combine, kind, vector) == expected, vector


def test_constants() -> None:
    """All points differ, and none is the generator."""
    constants = VECTORS["constants"]
    for name, cards in RULESETS.items():
        assert {card: raw(text) for card, text in constants[name].items()} == dict(
            zip(cards.cards, cards.points, strict=True)
        )
    assert [len(constants[name]) for name in RULESETS] == [21, 20]
    assert list(constants["hanamikoji"])[:4] == ["A1", "A2", "B1", "B2"]
    assert list(constants["hanamikoji"])[-1] == "G5"
    assert list(constants["geishas-road"])[:2] == ["A1", "A2"]
    assert list(constants["geishas-road"])[-1] == "E4"
    assert raw(constants["blind"]) == blind_point()
    assert tuple(map(raw, constants["bases"])) == base_points(21)
    assert base_points(20) == base_points(21)[:20]
    points = [*constants["hanamikoji"].values(), *constants["geishas-road"].values(), *constants["bases"]]
    assert len({*points, constants["blind"]}) == 21 + 20 + 21 + 1


@pytest.mark.parametrize("number", range(len(VECTORS["transcripts"])))
def test_transcripts(number: int) -> None:
    vector = VECTORS["transcripts"][number]
    items = [bytes.fromhex(item) * times for item, times in vector["items"]]
    for state in (ProofTranscript(vector["label"], *items), PageTranscript(vector["label"], *items)):
        assert state.scalar("u") == scalar(vector["scalar_u"])
        assert state.scalar("u") == scalar(vector["scalar_u_again"])
        assert state.short() == int.from_bytes(raw(vector["short"]), "little")


def test_a_transcript_by_hand() -> None:
    """The first vector, spelt out byte by byte."""
    fed = b"\0\0\0\x0fhkoji.sealed.v1" + b"\0\0\0\x04test"
    vector = VECTORS["transcripts"][0]
    assert vector["label"] == "test"
    assert vector["items"] == []
    fed += b"\0\0\0\x01u"
    assert int.from_bytes(hashlib.sha512(fed).digest(), "little") % L == scalar(vector["scalar_u"])
    fed += b"\0\0\0\x01u"
    assert int.from_bytes(hashlib.sha512(fed).digest(), "little") % L == scalar(vector["scalar_u_again"])
    fed += b"\0\0\0\x01c"
    assert hashlib.sha512(fed).digest()[:16] == raw(vector["short"])


def test_items_do_not_run_into_each_other() -> None:
    """The bytes are equal, and where they are cut is not."""
    states = [("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), ("", "abc"), ("a", "b", "c")]
    found = {ProofTranscript("test", *(item.encode() for item in items)).scalar("u") for items in states}
    found |= {ProofTranscript("testa", b"bc").scalar("u"), ProofTranscript("test").absorb(0x616263).scalar("u")}
    assert len(found) == len(states) + 2
    assert ProofTranscript("test", b"a").absorb(b"b", 3).short() == ProofTranscript("test", b"a", b"b", 3).short()
