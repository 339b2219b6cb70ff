"""Multisets of cards as numbers agree with `collections.Counter`, for a pack with copies and one of single cards."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji.errors import NotationError
from hkoji.rules import cards
from hkoji.rules.cards import UNKNOWN, Pack
from hkoji.rules.events import hide_text

COPIES = Pack("ABCDEFG", (2, 2, 2, 3, 3, 4, 5))
SINGLES = Pack([f"{colour}{number}" for colour in "ABCDE" for number in "1234"], (1,) * 20)
LIMITS = {
    1: "there is only one {} card",
    2: "there are only two {} cards",
    3: "there are only three {} cards",
    4: "there are only four {} cards",
    5: "there are only five {} cards",
}
PACKS = st.sampled_from((COPIES, SINGLES))


@st.composite
def heaps(draw: st.DrawFn, count: int = 1) -> tuple[Pack, list[list[str]]]:
    """A pack and some multisets of its cards, including unknown ones; together no more than the pack has."""
    pack = draw(PACKS)
    deck = draw(st.permutations([kind for _, kind in pack.deck()]))
    ends = sorted(draw(st.lists(st.integers(0, pack.size), min_size=count, max_size=count)))
    parts = [deck[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    return pack, [part + [UNKNOWN] * draw(st.integers(0, 3)) for part in parts]


def in_order(pack: Pack, names: list[str]) -> str:
    return "".join(sorted(names, key=(*pack.kinds, UNKNOWN).index))


@given(heaps())
def test_encode_and_decode_are_inverse(given: tuple[Pack, list[list[str]]]) -> None:
    pack, (names,) = given
    cards = pack.encode(names)
    assert cards == pack.encode("".join(names)) == pack.encode(reversed(names))
    assert pack.decode(cards) == in_order(pack, names)
    assert pack.split("".join(names)) == tuple(names)
    assert dict(zip((*pack.kinds, UNKNOWN), pack.counts(cards), strict=True)) == {
        kind: names.count(kind) for kind in (*pack.kinds, UNKNOWN)
    }
    assert pack.count(cards) == len(names)
    assert pack.decode(pack.hide(cards)) == UNKNOWN * len(names) == hide_text("".join(names))
    assert (cards < pack.unknown) == (UNKNOWN not in names)


@given(heaps(2))
def test_adding_is_addition(given: tuple[Pack, list[list[str]]]) -> None:
    pack, (some, others) = given
    both = pack.encode(some) + pack.encode(others)
    assert pack.decode(both) == in_order(pack, some + others)
    assert both - pack.encode(others) == pack.encode(some)


@given(heaps(2))
def test_taking_prefers_what_is_known(given: tuple[Pack, list[list[str]]]) -> None:
    pack, (some, part) = given
    have, want = Counter(some), Counter(part)
    missing = Counter({kind: n for kind, n in (want - have).items() if kind != UNKNOWN}).total()
    left = have - want
    left[UNKNOWN] = have[UNKNOWN] - want[UNKNOWN] - missing
    taken = pack.take(pack.encode(some), pack.encode(part))
    if left[UNKNOWN] < 0:
        assert taken is None
    else:
        assert taken is not None
        assert pack.decode(taken) == in_order(pack, list(left.elements()))


@given(heaps(3), st.data())
def test_places_fit_a_pack_until_one_card_is_too_many(given: tuple[Pack, list[list[str]]], data: st.DataObject) -> None:
    pack, places = given
    encoded = [pack.encode(names) for names in places]
    assert pack.fits(encoded)
    kind = data.draw(st.sampled_from(pack.kinds))
    copies = pack.copies[pack.kinds.index(kind)]
    elsewhere = sum(names.count(kind) for names in places)
    assert pack.fits([*encoded, pack.encode([kind] * (copies - elsewhere))])
    if elsewhere:
        assert not pack.fits([*encoded, pack.encode([kind] * (copies - elsewhere + 1))])


@pytest.mark.parametrize("pack", [COPIES, SINGLES])
def test_more_copies_than_there_are_and_other_cards_are_refused(pack: Pack) -> None:
    assert pack.decode(pack.total) == "".join(kind * n for kind, n in zip(pack.kinds, pack.copies, strict=True))
    assert pack.size == pack.count(pack.total) == len(pack.deck())
    for kind, copies in zip(pack.kinds, pack.copies, strict=True):
        assert pack.encode([kind] * copies) == copies * pack.weight(kind)
        with pytest.raises(NotationError, match=LIMITS[copies].format(kind)) as error:
            pack.encode(kind * (copies + 1))
        assert error.value.text == kind * (copies + 1)
    for text in ("?", "A?", "H1", "a", " A", "A ", "AB1", "1A", "\u0391", "Z"):
        with pytest.raises(NotationError, match="there is no card"):
            pack.encode(text + "Z")
    assert pack.encode("") == 0
    assert pack.decode(0) == ""


def test_the_deck_names_every_copy() -> None:
    """The names that dealers shuffle: docs/spec has them in the formula of the deal."""
    assert [copy for copy, _ in COPIES.deck()][:5] == ["A1", "A2", "B1", "B2", "C1"]
    assert COPIES.deck()[-1] == ("G5", "G")
    assert len({copy for copy, _ in COPIES.deck()}) == 21
    assert SINGLES.deck()[0] == ("A1", "A1")
    assert len(SINGLES.deck()) == 20


def test_a_multiset_of_known_cards_is_below_12960() -> None:
    assert COPIES.unknown == 3 * 3 * 3 * 4 * 4 * 5 * 6 == 12_960


def test_a_pack_remembers_only_so_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service meets new multisets in every game as long as it runs; it computes again those that it has forgotten."""
    monkeypatch.setattr(cards, "_MOST_KEPT", 100)
    pack = Pack(SINGLES.kinds, SINGLES.copies)
    for multiset in range(1000):
        assert pack.decode(multiset) == SINGLES.decode(multiset)
        assert pack.counts(multiset) == SINGLES.counts(multiset)
        assert len(pack._names) <= 100
        assert len(pack._counts) <= 100
    assert pack.decode(7) == "A1A2A3"
