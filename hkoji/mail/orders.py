"""The orders in a mail: every line of its first paragraph is a command, and at most one decides something.

If one line is no command, nothing is done: then the fault names the line and moves that could have been meant. Only
`stop` in the first line is done whatever follows. Moves are read by the notation of their game
(docs/rules/notation.md), but only with a sign or a word. There, cards alone answer a proposal; in a mail they could be
a signature.

A line is first cleaned of what people and their mail programs put around and between its words.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final

from hkoji.errors import InvalidError, NotationError
from hkoji.mail.commands import MailOrder, OrderFault, OrderKind, read_command
from hkoji.mail.message import READER_VERSION
from hkoji.messages.text import Text, quoted, tell
from hkoji.rules.cards import Pack
from hkoji.rules.protocol import DECISION_DUE, Ruleset, State, find_refusal, of_each_kind
from hkoji.rules.registry import RULESETS

MOST_COMMANDS: Final = 20
_LONGEST_MOVE: Final = 60
_MOST_NEAR: Final = 3
_PAIR: Final = 2
_SEPARATORS = re.compile(r"[\s,/]+")
_NO_COMMAND: Final = "?"

_EMPTY: Final = tell("it orders nothing: its first paragraph, without what it quotes, is empty")
_SECOND: Final = tell("a mail decides one thing, and a line before this one does so already")
_TOO_MANY: Final = tell("a mail has {limit} commands at most", limit=MOST_COMMANDS)
_NOT_A_MOVE: Final = tell("it is neither a move nor one of the words that are known here, such as show, moves or help")
_NOT_A_COMMAND: Final = tell(
    "no move is due from you, and it is none of the words that are known here, such as show, games or help"
)
_NOT_DUE: Final = tell("it is a move, and no move is due from you here")
_BARE: Final = tell("cards alone are no move in a mail: they need a sign or a word")


def read_orders(lines: Iterable[str], state: State | None = None) -> tuple[MailOrder, ...] | OrderFault:
    """Returns the commands in the lines of an order, or why nothing is done.

    `lines` are those of `order_paragraph`. `state` is the position as the player knows it; None if they owe no move, or
    if no move is read where the mail came.
    """
    return _read_lines(lines, lambda line, number: _read_line(line, number, state))


def read_said(
    lines: Iterable[str], ruleset: Ruleset, reader: int = READER_VERSION
) -> tuple[MailOrder, ...] | OrderFault:
    """Returns the commands in the lines of an order, whatever was due from the player: what an audit goes by.

    It reads everything that `read_orders` has read in a game of this ruleset. Whether a move was legal is for the
    replay. `reader` is the version of the rules by which the lines were found.
    """
    return _read_lines(lines, lambda line, number: _read_said(line, number, ruleset), reader)


def _read_lines(
    lines: Iterable[str], read_line: Callable[[str, int], MailOrder | OrderFault], reader: int = READER_VERSION
) -> tuple[MailOrder, ...] | OrderFault:
    orders: list[MailOrder] = []
    fault: OrderFault | None = None
    for number, each in enumerate(lines, 1):
        line = _trimmed(each, reader)
        order = read_line(line, number) if number <= MOST_COMMANDS else OrderFault(number, line, _TOO_MANY, read=True)
        if isinstance(order, OrderFault):
            fault = order
            break
        if order.decides and any(earlier.decides for earlier in orders):
            fault = OrderFault(number, line, _SECOND, read=True)
            break
        orders.append(order)
    if not orders:
        return fault or OrderFault(0, "", _EMPTY)
    if fault is not None:
        # A player who wants no more letters does not care how a mail has to be written.
        return (orders[0],) if orders[0].kind is OrderKind.STOP else fault
    return tuple(orders)


def is_order(line: str, reader: int = READER_VERSION) -> bool:
    """Tells whether a line is a command, or a move of any game with its sign or word, whatever is due."""
    trimmed = _trimmed(line, reader)
    return isinstance(read_command(trimmed), MailOrder) or (len(trimmed) <= _LONGEST_MOVE and _is_move(trimmed))


@lru_cache(maxsize=1024)  # the lines of a mail are looked at again and again
def _is_move(line: str) -> bool:
    return any(_parse(ruleset().initial(), line) is not None for ruleset in RULESETS.values())


def order_otherwise(one: str, other: str) -> bool:
    """Tells whether two lines are orders, and not the same, however each of them is written."""
    meant, said = _meanings(one), _meanings(other)
    return bool(meant) and bool(said) and not meant & said


def _meanings(line: str) -> frozenset[tuple[str, ...]]:
    """Returns what a line orders, whatever is due: a command with its words, or a move of each game that has it."""
    trimmed = trim(clean(line))
    command = read_command(trimmed)
    if isinstance(command, MailOrder):
        return frozenset({(command.kind.value, *command.words)})
    moves = ((name, _parse(ruleset().initial(), trimmed)) for name, ruleset in RULESETS.items())
    return frozenset((name, move) for name, move in moves if move is not None)


def _trimmed(line: str, reader: int) -> str:
    return trim_in_version_1(clean(line)) if reader == 1 else trim(clean(line))


def _read_line(line: str, number: int, state: State | None) -> MailOrder | OrderFault:
    command = read_command(line)
    if isinstance(command, MailOrder):
        return command
    if state is None or state.due not in DECISION_DUE:
        if command is None and is_order(line):
            return OrderFault(number, line, _NOT_DUE, read=True)
        return OrderFault(number, line, command or _NOT_A_COMMAND)
    legal = state.legal_actions()
    action = _parse(state.ruleset.initial(), line)
    if action in legal:
        return MailOrder(OrderKind.MOVE, line, action=action)
    if action is not None:
        return OrderFault(number, line, find_refusal(state, action).yours, _near(state, line, action), read=True)
    meant = _parse(state, line)
    if meant is not None:
        near = _near(state, line, meant)
        return OrderFault(number, line, _BARE, near, ask=meant if meant in legal else "")
    return OrderFault(number, line, command or _why_no_move(state, line), _near(state, line, ""))


def _read_said(line: str, number: int, ruleset: Ruleset) -> MailOrder | OrderFault:
    command = read_command(line)
    if isinstance(command, MailOrder):
        return command
    action = _parse(ruleset.initial(), line)
    if action is None:
        return OrderFault(number, line, command or _NOT_A_COMMAND)
    return MailOrder(OrderKind.MOVE, line, action=action)


def _parse(state: State, line: str) -> str | None:
    """Returns the canonical move that a line is for a state, None if it is none.

    The first state of a game has no decision that is due, so its notation takes no cards without a sign or word. A line
    `2bc = trade off B and C`, as boards show moves, is the move if both sides are.
    """
    if len(line) > _LONGEST_MOVE:
        return None
    try:
        sides = {state.parse_action(side) for side in line.split(" = ", 1)}
    except NotationError:
        return None
    return sides.pop() if len(sides) == 1 else None


def _why_no_move(state: State, line: str) -> Text:
    """Returns what the notation says of a line, if the line begins like a move, else that it is no command."""
    numbered = any(not name.isalpha() for name in state.ruleset.pack.kinds)
    if len(line) <= _LONGEST_MOVE and (any(each.isdigit() for each in line) or not numbered):
        reason = _notation_reason(state, line)
        if reason != _notation_reason(state, _NO_COMMAND):
            return reason if isinstance(reason, Text) else quoted(reason)
    return _NOT_A_MOVE


def _notation_reason(state: State, line: str) -> str:
    try:
        state.ruleset.initial().parse_action(line)
    except NotationError as error:
        return error.reason
    return ""


def _near(state: State, line: str, action: str) -> tuple[str, ...]:
    """Returns the legal moves that share most with a line, the best first, of different kinds if there are several.

    `action` is the move that the line is, if it is one at all.
    """
    pack = state.ruleset.pack
    head = action[:1] or line[:1].upper()
    cards = _cards_in(pack, action[1:] if action else line)

    def distance(move: str) -> tuple[bool, bool, int, int]:
        others = Counter(pack.split(move[1:]) if move[:1] not in "!^" else (move[1:],))
        return (
            move != action,
            move[:1] != head,
            -(others & cards).total(),
            ((others - cards) + (cards - others)).total(),
        )

    return of_each_kind(sorted(state.legal_actions(), key=distance), _MOST_NEAR)


def _cards_in(pack: Pack, line: str) -> Counter[str]:
    """Returns the cards that a line seems to name."""
    cards: Counter[str] = Counter()
    tokens = _SEPARATORS.split(line.upper()[:_LONGEST_MOVE])
    # In `play B face down` only the B is meant, though `face` could be four cards.
    alone = any(token.isalpha() and token in pack.kinds for token in tokens)
    for token in tokens:
        if alone and token.isalpha() and len(token) > _PAIR:
            continue
        for part in (token, token[1:]):
            try:
                cards.update(pack.split(part))
            except InvalidError:
                continue
            break
    return cards


# --- the form of a line -----------------------------------------------------------------------------------------------

_MOST_KEPT: Final = 4096
_MINUS: Final = "\N{MINUS SIGN}"
_LONGEST: Final = 300
"""No order is that long. Unicode's normalisation takes quadratic time for long runs of combining marks."""


def clean(line: str) -> str:
    """Returns `line` in NFKC, without control and format characters, with `-` for every dash, and stripped.

    A line longer than any order has dots instead of its middle: it is still none, and still ends as it did.
    """
    line = _shorten(line)
    if not (line.isascii() and line.isprintable()):
        # One character can become eighteen.
        line = _shorten(unicodedata.normalize("NFKC", line)).translate(_TABLE)
    return line.strip()


def trim(line: str) -> str:
    """Returns a clean line without `*` and `_` around it, which stand for bold and italics, and full stops at its end.

    To trim it again changes nothing.
    """
    return line.strip(" *_").rstrip(" *_.")


def trim_in_version_1(line: str) -> str:
    """Returns a clean line as version 1 of the reader trimmed it, with one full stop less at its end.

    To trim it again leaves out one more, and version 1 did so where it read the order.
    """
    return line.strip(" *_").removesuffix(".").strip(" *_")


def is_quoted(line: str) -> bool:
    """Tells whether a clean line belongs to a quotation."""
    return line.startswith((">", "|"))


def _shorten(line: str) -> str:
    half = _LONGEST // 2
    return line if len(line) <= _LONGEST else f"{line[:half]}...{line[-half:]}"


class _Plain(dict[int, str]):
    """The replacements of characters, by code. Only some are kept: a mail can have every character there is."""

    def __missing__(self, code: int) -> str:
        """Returns what a character becomes that was not met before."""
        character = chr(code)
        category = unicodedata.category(character)
        if category == "Pd" or character == _MINUS:
            character = "-"
        elif category in ("Zs", "Zl", "Zp") or character == "\t":
            character = " "
        elif category in ("Cc", "Cf"):
            character = ""
        if len(self) < _MOST_KEPT:
            self[code] = character
        return character


_TABLE: Final = _Plain()
