"""Multisets of cards as small integers.

A `Pack` names the kinds of card of one game and how many copies there are of each. A multiset of those cards is a
number in mixed radix: one digit a kind, and the number of unknown cards (`X`) above them all. Adding and removing cards
is integer addition and subtraction, and equality is integer equality. Results that depend on a multiset alone are
memoised, within a bound, which makes replay fast: Hanamikoji has 12,960 multisets of known cards, Geisha's Road a
million. The price: one card more than the pack has carries into the next digit. So code that adds cards which an
observer could not know before must call `fits` first.

This module does not know what a card does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias, TypeVar

from hkoji.errors import NotationError
from hkoji.messages.text import Text, tell

Cards: TypeAlias = int
"""A multiset of cards of some `Pack`, unknown ones included. 0 is the empty one."""

UNKNOWN: Final = "X"
NAME_CARDS: Final = tell("X stands for cards that are not known, but these are known: name them")
"""Why unknown cards cannot be played from a known hand."""
NUMBERS: Final = {2: tell("two"), 3: tell("three"), 4: tell("four"), 5: tell("five")}
"""The numbers of cards of one kind that the games have, in words."""

_Kept = TypeVar("_Kept")
_MOST_KEPT: Final = 65_536
"""The most results of one kind that a pack memoises; when it is full, all of them are dropped."""


def no_more(number: int, kind: str) -> Text:
    """Returns that the game has only so many cards of a kind."""
    if number == 1:
        return tell("there is only one {kind} card", kind=kind)
    return tell("there are only {number} {kind} cards", number=NUMBERS.get(number, number), kind=kind)


class Pack:
    """The kinds of card of one game, each with its number of copies.

    `kinds` are the cards' names in canonical order, all of the same length; `copies` says how many there are of each.
    """

    __slots__ = (
        "_counts",
        "_names",
        "_radix",
        "_single",
        "_splitting",
        "_weights",
        "copies",
        "kinds",
        "size",
        "total",
        "unknown",
        "width",
    )

    def __init__(self, kinds: Sequence[str], copies: Sequence[int]) -> None:
        self.kinds: Final = tuple(kinds)
        self.copies: Final = tuple(copies)
        self.width: Final = len(kinds[0])
        self.size: Final = sum(copies)
        self._radix: Final = tuple(n + 1 for n in copies)
        self._weights: Final[dict[str, int]] = {}
        weight = 1
        for kind, radix in zip(self.kinds, self._radix, strict=True):
            self._weights[kind] = weight
            weight *= radix
        self.unknown: Final = weight
        """The weight of one unknown card. A multiset that is less than this is fully known."""
        self._weights[UNKNOWN] = weight
        self.total: Final = weight - 1
        """All cards of the pack, known."""
        self._single: Final = self.size == len(self.kinds)
        self._splitting: Final = re.compile(f"{UNKNOWN}|.{{1,{self.width}}}", re.DOTALL)
        self._counts: Final[dict[Cards, tuple[int, ...]]] = {}
        self._names: Final[dict[Cards, str]] = {}

    def split(self, text: str) -> tuple[str, ...]:
        """The cards' names in `text`, in its order. Raises `NotationError` if it holds anything but cards and `X`."""
        names = tuple(self._splitting.findall(text))
        for name in names:
            if name not in self._weights:
                reason = tell("there is no card {name!r}; cards are {describe}", name=name, describe=self.describe())
                raise NotationError(text, reason, what=tell("a set of cards"))
        return names

    def encode(self, cards: str | Iterable[str]) -> Cards:
        """The multiset of `cards` (text, or names). Raises `NotationError` if the pack has not that many."""
        names = self._splitting.findall(cards) if isinstance(cards, str) else list(cards)
        try:
            found = sum(map(self._weights.__getitem__, names))
        except KeyError:
            self.split("".join(names))
            raise
        if self.count(found) != len(names):  # as in `fits`
            limits = zip(self.kinds, self.copies, strict=True)
            kind, copies = next(each for each in limits if names.count(each[0]) > each[1])
            raise NotationError("".join(names), no_more(copies, kind), what=tell("a set of cards"))
        return found

    def weight(self, name: str) -> Cards:
        """The multiset of the one card `name`, which must be a kind of this pack or `X`."""
        return self._weights[name]

    def decode(self, cards: Cards) -> str:
        """Canonical text of a multiset: kinds in order, unknown cards last."""
        text = self._names.get(cards)
        if text is None:
            *known, unknown = self.counts(cards)
            text = "".join(kind * n for kind, n in zip(self.kinds, known, strict=True)) + UNKNOWN * unknown
            _keep(self._names, cards, text)
        return text

    def counts(self, cards: Cards) -> tuple[int, ...]:
        """How many there are of each kind, in order, and last the number of unknown cards."""
        counts = self._counts.get(cards)
        if counts is None:
            digits = []
            rest = cards
            for radix in self._radix:
                rest, digit = divmod(rest, radix)
                digits.append(digit)
            counts = (*digits, rest)
            _keep(self._counts, cards, counts)
        return counts

    def count(self, cards: Cards) -> int:
        """The number of cards of a multiset, unknown ones included."""
        if self._single:
            return (cards & self.total).bit_count() + cards // self.unknown
        return sum(self.counts(cards))

    def hide(self, cards: Cards) -> Cards:
        """The same number of cards, all unknown."""
        return self.count(cards) * self.unknown

    def take(self, cards: Cards, part: Cards) -> Cards | None:
        """`cards` without `part`, where a known card may turn out to have been one of the unknown ones.

        None if that is impossible. An unknown card in `part` is taken only from the unknown cards, because it is not
        known which of the known cards it could be.
        """
        left = list(self.counts(cards))
        for index, n in enumerate(self.counts(part)):
            known = min(n, left[index])
            left[index] -= known
            left[-1] -= n - known
        if left[-1] < 0:
            return None
        return sum(n * self._weights[kind] for kind, n in zip((*self.kinds, UNKNOWN), left, strict=True))

    def fits(self, places: Iterable[Cards]) -> bool:
        """Whether the known cards of all `places` together are within the pack's copies.

        One card too many carries into the next digit, and a carry makes the sum of all digits less.
        """
        known = [place % self.unknown for place in places]
        return self.count(sum(known)) == sum(map(self.count, known))

    def deck(self) -> tuple[tuple[str, str], ...]:
        """Every single card as (name of the copy, kind): `("A1", "A")`; where all cards differ the two are the same."""
        if self.width > 1:
            return tuple((kind, kind) for kind in self.kinds)
        return tuple(
            (f"{kind}{copy}", kind)
            for kind, copies in zip(self.kinds, self.copies, strict=True)
            for copy in range(1, copies + 1)
        )

    def describe(self) -> str:
        """The range of card names, for messages: `A to G, and X for one unknown`."""
        return f"{self.kinds[0]} to {self.kinds[-1]}, and {UNKNOWN} for one unknown"


def _keep(kept: dict[Cards, _Kept], cards: Cards, result: _Kept) -> None:
    if len(kept) >= _MOST_KEPT:
        kept.clear()
    kept[cards] = result


Pair: TypeAlias = tuple[int, int]
"""The host's and the guest's side: multisets, or any whole numbers."""


def put(pair: Pair, seat: int, value: int) -> Pair:
    """Returns `pair` with another value for one seat."""
    return (value, pair[1]) if seat == 0 else (pair[0], value)


def hide_others(pack: Pack, pair: tuple[Cards, Cards], seat: int | None) -> tuple[Cards, Cards]:
    """Returns two seats' cards as `seat` (None: a spectator) sees them: the cards of others are unknown."""
    return (pair[0] if seat == 0 else pack.hide(pair[0]), pair[1] if seat == 1 else pack.hide(pair[1]))
