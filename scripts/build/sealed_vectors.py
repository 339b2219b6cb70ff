"""Builds the test vectors of sealed games, tests/data/vectors/sealed.json; the README there describes them.

    python -m scripts.build.sealed_vectors           write the file
    python -m scripts.build.sealed_vectors --check   fail if the file differs

The proofs are those of hkoji.sealed, with secrets that anybody can compute, and with fresh bytes that are all zeros.
tests/lab/sealed/noble.mjs, which shares no code with it, judges the file too.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from hkoji.sealed import sodium
from hkoji.sealed.cards import CardPoints, base_points, blind_point
from hkoji.sealed.group import GENERATOR
from hkoji.sealed.proofs import CloseStatement, ShareStatement, ShownStatement
from hkoji.sealed.ristretto import ORDER
from hkoji.sealed.seal import Seal
from hkoji.sealed.transcript import Place, ProofTranscript
from scripts.build.golden import main
from scripts.build.vectors import FOLDER
from tests.support.sealed import (
    GAME,
    GEISHAS_ROAD,
    HANAMIKOJI,
    OTHER_GAME,
    Dealt,
    HiddenOf,
    LockOf,
    Sent,
    constant,
    deal,
    place,
    secret,
)

Vector = dict[str, Any]  # JSON of many shapes, described in the README beside the file

RULESETS: Final = {"hanamikoji": HANAMIKOJI, "geishas-road": GEISHAS_ROAD}
_MALFORMED: Final = "malformed"
_PROOF: Final = "proof"
_FRESH: Final = bytes(32)


def _text(*parts: bytes) -> str:
    return base64.b64encode(b"".join(parts)).decode()


def _scalar(number: int) -> str:
    return _text((number % ORDER).to_bytes(32, "little"))


# --- constants, transcripts, secrets of a seat ------------------------------------------------------------------------


def constants() -> Vector:
    """Points that nobody chose."""
    found: Vector = {
        name: {card: _text(point) for card, point in zip(cards.cards, cards.points, strict=True)}
        for name, cards in RULESETS.items()
    }
    return found | {"blind": _text(blind_point()), "bases": [_text(point) for point in base_points(21)]}


def transcripts() -> list[Vector]:
    """States with items of any length; each item is bytes in hex, and how often they are repeated."""
    found = []
    for label, items in (
        ("test", []),
        ("test", [("", 1)]),
        ("test", [("", 1), ("", 1)]),
        ("test", [("00", 65_536)]),
        ("test", [("0102", 32_768), ("", 1), ("ff", 255)]),
        ("lock", [(GENERATOR.hex(), 1), ((21).to_bytes(8, "big").hex(), 1)]),
    ):
        state = ProofTranscript(label, *(bytes.fromhex(raw) * times for raw, times in items))
        asked = {"scalar_u": _scalar(state.scalar("u")), "scalar_u_again": _scalar(state.scalar("u"))}
        short = _text(state.short().to_bytes(16, "little"))
        found.append({"label": label, "items": [list(item) for item in items], **asked, "short": short})
    return found


def seals() -> list[Vector]:
    """All that follows from a sealed key."""
    found = []
    for seat, ruleset, round_ in ((0, "hanamikoji", 1), (1, "hanamikoji", 2), (1, "geishas-road", 1)):
        cards, key = RULESETS[ruleset], secret(f"sealed key {seat}")
        seal, prev, entropy = Seal(key, GAME, seat), place(seat, round_).prev, secret(f"entropy {seat}").hex()
        salt = secret(f"salt {seat}").hex()
        number = seal.lock_number(round_, prev, entropy, salt)
        lock_key = sodium.combine((number, GENERATOR))
        hide = {"seq": 12, "action": "2XX", "part": 1, "token": 9}
        nonces = seal.nonces(constant)(ProofTranscript("test", b"statement"))
        found.append(
            {
                "sealed_key": key.hex(),
                "game": GAME,
                "seat": seat,
                "round": round_,
                "prev": prev,
                "entropy": entropy,
                "salt": salt,
                "lock_number": _scalar(number),
                "lock_key": _text(lock_key),
                "lock_order": seal.lock_order(len(cards.cards), round_, prev, entropy, salt),
                "hide": hide | {"number": _scalar(seal.blinding(round_, prev, 12, "2XX", 1, 9))},
                "copies": seal.copies(cards.cards, round_, lock_key),
                "nonces": {
                    "label": "test",
                    "items": [[b"statement".hex(), 1]],
                    "fresh": _FRESH.hex(),
                    "numbers": [_scalar(nonces.scalar()) for _ in range(3)],
                },
            }
        )
    return found


# --- proofs -----------------------------------------------------------------------------------------------------------


def _place(at: Place) -> Vector:
    return dict(at._asdict())


def _vector(cards: CardPoints, sent: Sent) -> Vector:
    """A proof with its whole statement, as JSON."""

    def card(point: bytes) -> str:
        return cards.cards[cards.points.index(point)]

    match sent.statement, sent.texts:
        case LockOf(at, before), (deck, key, proof):
            return {"place": _place(at), "before": _text(*before)} | {
                "deck": _text(deck), "key": _text(key), "proof": _text(proof)
            }  # fmt: skip
        case ShareStatement(game, giver, round_, positions, key, points), (shares,):
            where: Vector = {"game": game, "giver": giver, "round": round_, "at": list(positions)}
            return where | {"key": _text(key), "points": _text(*points), "shares": _text(shares)}
        case ShownStatement(at, part, key, point, tokens), (proof,):
            said: Vector = {"place": _place(at), "part": part, "key": _text(key), "card": card(point)}
            return said | {"tokens": _text(*tokens), "proof": _text(proof)}
        case HiddenOf(at, part, tokens), (hidden,):
            return {"place": _place(at), "part": part, "tokens": _text(*tokens), "hide": _text(hidden)}
        case CloseStatement(at, key, point, counts, shown, covered, tokens), (proof,):
            said = {"place": _place(at), "key": _text(key), "card": card(point), "counts": _text(counts)}
            said |= {"shown": [card(each) for each in shown], "hidden": _text(*covered), "tokens": _text(*tokens)}
            return said | {"proof": _text(proof)}
    raise TypeError(sent.kind)


Spoilt = Iterator[tuple[str, str, Sent]]
"""The error, what is wrong, and the proof with it."""


def _elsewhere(sent: Sent, at: Place) -> Spoilt:
    """The same proof at another place."""
    for what, other in (
        ("another game", at._replace(game=OTHER_GAME)),
        ("another seat", at._replace(seat=1 - at.seat)),
        ("another round", at._replace(round=at.round + 1)),
        ("another seq", at._replace(seq=at.seq + 1)),
        ("another prev", at._replace(prev=place(at.seat, 99).prev)),
    ):
        statement = sent.statement
        assert not isinstance(statement, ShareStatement)
        yield _PROOF, what, sent._replace(statement=statement._replace(place=other))


def _raised(sent: Sent, sort: str, index: int, by: int) -> Sent:
    """The proof with one of its scalars or short challenges raised, modulo what it is a number of."""
    text, begin, end, _ = [field for field in sent.fields() if field[3] == sort][index]
    size, below = end - begin, ORDER if sort == "scalar" else 1 << 128
    number = int.from_bytes(sent.texts[text][begin:end], "little")
    return sent.with_bytes(text, begin, end, ((number + by) % below).to_bytes(size, "little"))


def _unreadable(sent: Sent) -> Spoilt:
    """Bytes that are no scalar or no point, and wrong lengths."""
    fields = sent.fields()
    *_, (text, begin, end, _) = [field for field in fields if field[3] == "scalar"]
    number = int.from_bytes(sent.texts[text][begin:end], "little")
    raised = sent.with_bytes(text, begin, end, (number + ORDER).to_bytes(32, "little"))
    yield _MALFORMED, "the order was added to the last number", raised
    yield _MALFORMED, "the last number is the order", sent.with_bytes(text, begin, end, ORDER.to_bytes(32, "little"))
    last = len(sent.texts) - 1
    size = len(sent.texts[last])
    yield _MALFORMED, "the last byte is missing", sent.with_bytes(last, size - 1, size, b"")
    yield _MALFORMED, "there is one byte more", sent.with_bytes(last, size, size, b"\0")
    points = [field for field in fields if field[3] == "point"]
    for text, begin, end, _ in points[-1:]:
        old = sent.texts[text][begin:end]
        top = old[:31] + bytes([old[31] | 0x80])
        negative = (2**255 - 19 - int.from_bytes(old, "little")).to_bytes(32, "little")
        yield _MALFORMED, "the last point is the identity", sent.with_bytes(text, begin, end, bytes(32))
        yield _MALFORMED, "the last point has the top bit", sent.with_bytes(text, begin, end, top)
        yield _MALFORMED, "the last point has the negative number", sent.with_bytes(text, begin, end, negative)


def _swapped(sent: Sent, sort: str, one: int, other: int) -> Sent:
    fields = [field for field in sent.fields() if field[3] == sort]
    (text, begin, end, _), (other_text, other_begin, other_end, _) = fields[one], fields[other]
    first, second = sent.texts[text][begin:end], sent.texts[other_text][other_begin:other_end]
    return sent.with_bytes(text, begin, end, second).with_bytes(other_text, other_begin, other_end, first)


def _spoilt_lock(sent: Sent, other_key: bytes) -> Spoilt:
    assert isinstance(sent.statement, LockOf)
    before, (deck, _, proof) = sent.statement.before, sent.texts
    n = len(before)
    for name, index in (("the challenge", 0), ("z_k", 4), ("the first z_s", 5), ("the last z_u'", -1)):
        yield _PROOF, f"1 is added to {name}", _raised(sent, "scalar", index, 1)
    yield _PROOF, "two points of the deck are swapped", _swapped(sent, "point", 0, 1)
    yield _PROOF, "the first two c are swapped", _swapped(sent, "point", n + 1, n + 2)
    yield _PROOF, "a point is twice another one", sent.with_bytes(0, 0, 32, sodium.combine((2, deck[32:64])))
    yield _PROOF, "a point comes twice", sent.with_bytes(0, 0, 32, deck[32:64])
    yield _PROOF, "a point of the deck before comes again", sent.with_bytes(0, 0, 32, before[3])
    yield _PROOF, "the key of the other seat", sent._replace(texts=(deck, other_key, proof))
    turned = sent.statement._replace(before=(*before[1:], before[0]))
    yield _PROOF, "the deck before in another order", sent._replace(statement=turned)
    yield from list(_elsewhere(sent, sent.statement.place))[2:4]
    yield from _unreadable(sent)


def _spoilt_share(sent: Sent, own: Dealt) -> Spoilt:
    share, (text,) = sent.statement, sent.texts
    assert isinstance(share, ShareStatement)
    yield _PROOF, "1 is added to the response", _raised(sent, "scalar", 0, 1)
    yield _PROOF, "1 is added to the challenge", _raised(sent, "short", 0, 1)
    yield _PROOF, "a token is twice what it should be", sent.with_bytes(0, 0, 32, sodium.combine((2, text[:32])))
    yield _PROOF, "a token of another position", sent.with_bytes(0, 0, 32, own.parties[1 - share.giver].tokens[9])
    if len(share.at) > 1:
        yield _PROOF, "two tokens are swapped", _swapped(sent, "point", 0, 1)
    for what, other in (
        ("another game", share._replace(game=OTHER_GAME)),
        ("another giver", share._replace(giver=1 - share.giver)),
        ("another round", share._replace(round=share.round + 1)),
        ("another position", share._replace(at=(*share.at[:-1], share.at[-1] + 1))),
        ("another key", share._replace(key=own.parties[1 - share.giver].key)),
    ):
        yield _PROOF, what, sent._replace(statement=other)
    yield from _unreadable(sent)


def _spoilt_branches(sent: Sent) -> Spoilt:
    """Those of a shown and a hidden card."""
    yield _PROOF, "1 is added to the first response", _raised(sent, "scalar", 0, 1)
    yield _PROOF, "1 is added to the last challenge", _raised(sent, "short", -1, 1)
    moved = _raised(_raised(sent, "short", 0, 1), "short", 1, -1)
    yield _PROOF, "1 of a challenge is moved to another one", moved
    yield _PROOF, "two responses are swapped", _swapped(sent, "scalar", 0, 1)
    statement = sent.statement
    assert isinstance(statement, ShownStatement | HiddenOf)
    tokens = statement.tokens
    yield _PROOF, "another part", sent._replace(statement=statement._replace(part=statement.part + 1))
    turned = (tokens[1], tokens[0], *tokens[2:])
    yield _PROOF, "two tokens are swapped", sent._replace(statement=statement._replace(tokens=turned))
    yield from _elsewhere(sent, statement.place)
    yield from _unreadable(sent)


def _spoilt_show(sent: Sent, own: Dealt) -> Spoilt:
    shown = sent.statement
    assert isinstance(shown, ShownStatement)
    missing = next(card for card in own.points.cards if card not in own.parties[shown.place.seat].cards)
    false = shown._replace(card=own.points.point(missing))
    yield _PROOF, "a card that is not held", sent._replace(statement=false)
    yield _PROOF, "the key of the other seat", sent._replace(
        statement=shown._replace(key=own.parties[1 - shown.place.seat].key)
    )  # fmt: skip
    yield from _spoilt_branches(sent)


def _spoilt_hide(sent: Sent) -> Spoilt:
    statement, (text,) = sent.statement, sent.texts
    assert isinstance(statement, HiddenOf)
    yield _PROOF, "C is a token", sent.with_bytes(0, 0, 32, statement.tokens[2])
    more = sodium.combine((1, text[:32]), (1, blind_point()))
    yield _PROOF, "C is hidden by one more", sent.with_bytes(0, 0, 32, more)
    yield from _spoilt_branches(sent)


def _spoilt_close(sent: Sent, own: Dealt) -> Spoilt:
    closing = sent.statement
    assert isinstance(closing, CloseStatement)
    for name, index in (("x", 0), ("y", 1), ("v", 2)):
        yield _PROOF, f"1 is added to {name}", _raised(sent, "scalar", index, 1)
    yield _PROOF, "1 is added to the challenge", _raised(sent, "short", 0, 1)
    yield _PROOF, "y and v are swapped", _swapped(sent, "scalar", 1, 2)
    seat = closing.place.seat
    cards = own.parties[1 - seat].cards
    for what, other in (
        ("another card is turned up", closing._replace(card=own.points.point(cards[0]))),
        ("another hidden point counts", closing._replace(counts=closing.hidden[1])),
        ("a card more is shown", closing._replace(shown=(*closing.shown, own.points.point(cards[0])))),
        ("a card less is shown", closing._replace(shown=closing.shown[1:])),
        ("a hidden point is missing", closing._replace(hidden=closing.hidden[:-1])),
        ("a hidden point comes twice", closing._replace(hidden=(*closing.hidden[:-1], closing.hidden[0]))),
        ("a token is missing", closing._replace(tokens=closing.tokens[:-1])),
        ("the key of the other seat", closing._replace(key=own.parties[1 - seat].key)),
    ):
        yield _PROOF, what, sent._replace(statement=other)
    yield from _elsewhere(sent, closing.place)
    yield from _unreadable(sent)


def _judged(ruleset: str, sent: Sent, spoilt: Iterable[tuple[str, str, Sent]] = ()) -> Iterator[Vector]:
    """An honest proof, and forms of it that do not hold."""
    cards = RULESETS[ruleset]
    yield {"ok": True, "ruleset": ruleset} | _vector(cards, sent)
    for error, why, each in spoilt:
        yield {"ok": False, "error": error, "why": why, "ruleset": ruleset} | _vector(cards, each)


def proofs() -> Mapping[str, list[Vector]]:
    """Proofs of both rulesets. Not all of them have spoilt forms, as the file would be large."""
    found: dict[str, list[Vector]] = {kind: [] for kind in ("lock", "share", "show", "hide", "close")}
    for ruleset, cards in RULESETS.items():
        own = deal(f"vectors {ruleset}", points=cards)
        host, guest = own.parties
        spoils = ruleset == "hanamikoji"
        found["lock"] += _judged(ruleset, host.lock)
        found["lock"] += _judged(ruleset, guest.lock, _spoilt_lock(guest.lock, host.key) if spoils else ())
        seven, one = own.share(0, tuple(range(7))), own.share(1, (8,))
        found["share"] += _judged(ruleset, seven, _spoilt_share(seven, own) if spoils else ())
        found["share"] += _judged(ruleset, one, _spoilt_share(one, own) if spoils else ())
        show, hidden, close = own.show(0, 3, count=7), own.hide(0, 6, count=7), own.close(0)
        found["show"] += _judged(ruleset, show, _spoilt_show(show, own) if spoils else ())
        found["show"] += _judged(ruleset, own.show(1, 9, part=3, count=10, seq=25))
        found["hide"] += _judged(ruleset, hidden, _spoilt_hide(hidden) if spoils else ())
        found["hide"] += _judged(ruleset, own.hide(1, 0, part=1, count=10, seq=25))
        found["close"] += _judged(ruleset, close, _spoilt_close(close, own) if spoils else ())
        found["close"] += _judged(ruleset, own.close(1, (7, 4)))
    return found


def build() -> dict[str, str]:
    """Name and contents of the file."""
    made = {"constants": constants(), "transcripts": transcripts(), "seals": seals(), **proofs()}
    return {"sealed.json": json.dumps(made, indent=1) + "\n"}


if __name__ == "__main__":
    main("sealed_vectors", FOLDER, build)
