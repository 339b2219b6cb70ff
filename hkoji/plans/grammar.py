"""Plans as text: each line has a pattern of what may be seen, and the moves to choose from.

    plan    = { line }      line = [ pattern ":" choices ] [ "#" comment ]      choices = "only" | move { " " move }

The tokens of a pattern are those of a transcript: `?` is one character, `*` any number of them, and a token `**` any
number of tokens. Input may be in either case and have unsorted cards; plans are kept in canonical form. docs/plans.md.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from hkoji.errors import HkojiError, NotationError, PlanTextError
from hkoji.messages.text import tell
from hkoji.rules.cards import UNKNOWN, no_more
from hkoji.rules.protocol import Ruleset

ANY_TOKENS: Final = "**"
"""The token of a pattern that stands for any number of tokens."""
ONLY: Final = "only"
"""Stands for choices: the legal move, if there is just one."""

MAX_PLAN_BYTES: Final = 16_384
_MOST_LINES: Final = 200
_MOST_WORDS: Final = 64
_LONGEST_WORD: Final = 32
_WORD = re.compile(r"\S+")
_LINE_END = re.compile(r"\r\n?|\n")
_SIGNS: Final = "+->!^"
_WILD: Final = "?*"

_EXAMPLE: Final = tell("a line looks like this: 3* : -G -F -E")


@dataclass(frozen=True, slots=True)
class PlanLine:
    """A line of a plan: a pattern of tokens, and the moves to try in turn. No `choices` stand for `only`.

    `number` is that of the line in the text, from 1.
    """

    pattern: tuple[str, ...]
    choices: tuple[str, ...]
    number: int = field(default=0, compare=False)

    @property
    def text(self) -> str:
        """The line in canonical form."""
        return f"{' '.join(self.pattern)} : {' '.join(self.choices) or ONLY}"


@dataclass(frozen=True, slots=True)
class Plan:
    """The lines of a plan, in their order. There is at least one."""

    lines: tuple[PlanLine, ...]


def format_plan(plan: Plan) -> str:
    """Returns the canonical text of a plan, without comments. Each line ends in a newline."""
    return "".join(f"{line.text}\n" for line in plan.lines)


def parse_plan(text: str, ruleset: Ruleset) -> Plan:
    """Reads a plan for a game. Raises `PlanTextError`, which names line and column."""
    lines = []
    # Not `splitlines`: it ends lines, and so comments, also at signs at which no editor does.
    rows = _LINE_END.split(text.removesuffix("\n"))
    if len(rows) > _MOST_LINES:
        raise PlanTextError(
            _MOST_LINES + 1, 1, tell("a plan has at most {lines} lines", lines=_MOST_LINES), hint=_EXAMPLE
        )
    if len(text.encode()) > MAX_PLAN_BYTES:
        last = text.encode()[:MAX_PLAN_BYTES].count(b"\n") + 1
        raise PlanTextError(last, 1, tell("a plan has at most {bytes} bytes", bytes=MAX_PLAN_BYTES), hint=_EXAMPLE)
    for number, row in enumerate(rows, 1):
        code = row.partition("#")[0]
        if code.strip():
            lines.append(_parse_line(code, number, ruleset))
    if not lines:
        raise PlanTextError(1, 1, tell("it has no line with a pattern and moves"), hint=_EXAMPLE)
    return Plan(tuple(lines))


def _parse_line(code: str, number: int, ruleset: Ruleset) -> PlanLine:
    left, colon, right = code.partition(":")
    if not colon:
        raise PlanTextError(number, len(code.rstrip()) + 1, tell("the : before the moves is missing"), hint=_EXAMPLE)
    if ":" in right:
        raise PlanTextError(
            number, len(left) + 2 + right.index(":"), tell("there is a second : in the line"), hint=_EXAMPLE
        )
    pattern = tuple(_parse_token(word, number, column, ruleset) for word, column in _words(left, 1, number))
    if not pattern:
        raise PlanTextError(
            number, 1, tell("the pattern is empty"), hint=tell("** stands for whatever happens, as in ** : only")
        )
    words = list(_words(right, len(left) + 2, number))
    if not words:
        raise PlanTextError(number, len(code.rstrip()) + 1, tell("there is no move after the :"), hint=_EXAMPLE)
    if words[0][0].lower() == ONLY and len(words) == 1:
        return PlanLine(pattern, (), number)
    return PlanLine(pattern, tuple(_parse_choice(word, number, column, ruleset) for word, column in words), number)


def _words(text: str, first: int, number: int) -> Iterator[tuple[str, int]]:
    """Yields the words of a part of a line, each with its column; `first` is the column of the part."""
    for count, found in enumerate(_WORD.finditer(text)):
        column = first + found.start()
        if count == _MOST_WORDS or len(found[0]) > _LONGEST_WORD:
            raise PlanTextError(
                number,
                column,
                tell("there are more than {n} words, or one of over {m} characters", n=_MOST_WORDS, m=_LONGEST_WORD),
                hint=_EXAMPLE,
            )
        yield found[0], column


def _parse_token(word: str, number: int, column: int, ruleset: Ruleset) -> str:
    token = word.upper()
    if token == ANY_TOKENS:
        return token
    if not word.isascii():
        raise PlanTextError(number, column, tell("only plain letters and digits are used"), hint=_EXAMPLE)
    if "**" in token:
        raise PlanTextError(
            number, column, tell("** stands alone, for any number of tokens"), hint=tell("inside a token write one *")
        )
    if not any(sign in token for sign in _WILD):
        try:
            return canonical_token(token, ruleset)
        except HkojiError as error:
            raise PlanTextError(number, column, error.message, hint=error.hint or _EXAMPLE) from error
    if token[0] not in _WILD and token[0] not in _SIGNS and token[0] not in ruleset.action_names:
        raise PlanTextError(
            number,
            column,
            tell("nothing that you see begins with {sign!r}", sign=token[0]),
            hint=tell("a token is a move of your opponent or a card that you draw: 3*, -C, 1X, +?"),
        )
    names = {*_WILD, token[0], *"".join(ruleset.pack.kinds), UNKNOWN}
    cards = token[0] == "+" or token[0] in ruleset.action_names
    strange = [sign for sign in token if not (sign in names if cards else sign.isalnum() or sign in _SIGNS + _WILD)]
    if strange:
        raise PlanTextError(
            number, column, tell("{sign!r} stands in no move of this game", sign=strange[0]), hint=_EXAMPLE
        )
    return token


def canonical_token(word: str, ruleset: Ruleset) -> str:
    """Returns a token without `?` and `*` as this player sees it: the opponent's move, or an own draw.

    Raises `NotationError`.
    """
    if word.startswith("+"):
        cards = ruleset.pack.split(word[1:].upper())
        if len(cards) != 1 or UNKNOWN in cards:
            raise NotationError(
                word, tell("a draw is + and one card, and only your own draws are seen"), hint=tell("as in +D, or +*")
            )
        return "+" + cards[0]
    action = ruleset.initial().parse_action(word)
    public = ruleset.public(action)
    if public != action:
        raise NotationError(
            word,
            tell("you see it as {public}: its cards are hidden", public=public),
            hint=tell("write {public}", public=public),
        )
    _check_copies(action, ruleset)
    return action


def _parse_choice(word: str, number: int, column: int, ruleset: Ruleset) -> str:
    if word.lower() == ONLY:
        raise PlanTextError(
            number, column, tell("only stands alone, instead of moves"), hint=tell("give it a line of its own")
        )
    try:
        action = ruleset.initial().parse_action(word)
        if UNKNOWN in action:
            raise NotationError(word, tell("it does not say which cards"), hint=tell("name the cards"))
        _check_copies(action, ruleset)
    except HkojiError as error:
        raise PlanTextError(number, column, error.message, hint=error.hint or _EXAMPLE) from error
    return action


def _check_copies(action: str, ruleset: Ruleset) -> None:
    """Raises `NotationError` if a move names more copies of a card than the game has."""
    cards, pack = Counter(action_cards(action, ruleset)), ruleset.pack
    for kind, copies in zip(pack.kinds, pack.copies, strict=True):
        if cards[kind] > copies:
            raise NotationError(action, no_more(copies, kind), hint=tell("nothing was stored"))


def action_cards(action: str, ruleset: Ruleset) -> tuple[str, ...]:
    """Returns the known cards that an action in canonical notation names; none for any other move."""
    if action[0] not in ruleset.action_names:
        return ()
    return tuple(card for card in ruleset.pack.split(action[1:]) if card != UNKNOWN)
