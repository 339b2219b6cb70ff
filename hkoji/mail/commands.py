"""The commands of play by mail: what an answer by mail can order, and the words of the commands that are no moves.

A command is a whole line, in any case. The words of all languages are always read, so a letter in one language can be
answered in another. `hkoji.mail.orders.read_orders(lines, state)` returns what the lines of a mail order; `state` is
the position as the player knows it, or None if they owe no move.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from hkoji.errors import UsageError
from hkoji.game.agreement import parse_duration
from hkoji.messages.text import LANGUAGES, Text, any_of, tell


class OrderKind(StrEnum):
    """A command, by its English word."""

    MOVE = "move"
    ACCEPT = "accept"
    DECLINE = "decline"
    YES = "yes"
    RESIGN = "resign"
    CALL_OFF = "call off"
    CANCEL = "cancel"
    GIVE = "give"
    REMATCH = "rematch"
    NEW = "new"
    REGISTER = "register"
    OWN_KEY = "own key"
    NOT_ME = "not me"
    SHOW = "show"
    MOVES = "moves"
    LOG = "log"
    RULES = "rules"
    GAMES = "games"
    HELP = "help"
    EVIDENCE = "evidence"
    STOP = "stop"
    START = "start"
    LANG = "lang"
    CARDS = "cards"
    QUIET = "quiet"
    NEW_ADDRESS = "new address"


DEFAULT_CLOCK: Final = "3d/14d"
"""The clock of a `new` that names none."""

DECISIVE: Final = frozenset(
    {
        OrderKind.MOVE,
        OrderKind.ACCEPT,
        OrderKind.DECLINE,
        OrderKind.YES,
        OrderKind.RESIGN,
        OrderKind.CALL_OFF,
        OrderKind.CANCEL,
        OrderKind.GIVE,
        OrderKind.REMATCH,
        OrderKind.NEW,
        OrderKind.REGISTER,
        OrderKind.OWN_KEY,
        OrderKind.NOT_ME,
    }
)
"""The commands that decide something: a mail has at most one of them."""


class MailOrder(NamedTuple):
    """One line that was understood.

    `line` is the line as it was read. `words` are the arguments: of `decline` `later` or nothing, of `lang` the code of
    a language, of `cards` `on` or `off`, of `quiet` two hours or `off`, of `give` a duration, of `register` a name, of
    `new` a game, a name, an address and perhaps a clock; else nothing. `action` is the canonical move of a `move`, else
    empty.
    """

    kind: OrderKind
    line: str
    words: tuple[str, ...] = ()
    action: str = ""

    @property
    def decides(self) -> bool:
        """Whether it decides something."""
        return self.kind in DECISIVE


@dataclass(frozen=True, slots=True)
class OrderFault:
    """Why nothing is done.

    `number` is that of the `line` in the order, from 1; 0, with an empty line, if the mail orders nothing. `reason` is
    a phrase or sentence without its full stop. `near` are up to three legal moves near the line, canonical, the best
    first; a game's `Brief.typed` gives the line to send for each. `ask` is the legal move that cards without a
    sign or word probably mean, else empty. `read` says that the line was understood, and cannot be done.
    """

    number: int
    line: str
    reason: Text
    near: tuple[str, ...] = ()
    ask: str = ""
    read: bool = False

    @property
    def more(self) -> bool:
        """Whether the line follows others in its paragraph: then an empty line after the move usually helps."""
        return self.number > 1


_Words = tuple[str, ...]

_WITHOUT_ARGUMENTS: Final[dict[OrderKind, _Words]] = {
    OrderKind.ACCEPT: ("accept", "accetto"),
    OrderKind.YES: ("yes", "sì", "si"),
    OrderKind.RESIGN: ("resign", "abbandono"),
    OrderKind.CALL_OFF: ("call off", "annulla"),
    OrderKind.CANCEL: ("cancel", "ritira"),
    OrderKind.REMATCH: ("rematch", "rivincita"),
    OrderKind.OWN_KEY: ("own key", "chiave mia"),
    OrderKind.NOT_ME: ("not me", "non sono io"),
    OrderKind.SHOW: ("show", "mostra"),
    OrderKind.MOVES: ("moves", "mosse"),
    OrderKind.LOG: ("log", "registro"),
    OrderKind.RULES: ("rules", "regole"),
    OrderKind.GAMES: ("games", "partite"),
    OrderKind.HELP: ("help", "aiuto"),
    OrderKind.EVIDENCE: ("evidence", "prove"),
    OrderKind.STOP: ("stop", "unsubscribe", "basta", "cancellami"),
    OrderKind.START: ("start", "inizia"),
    OrderKind.NEW_ADDRESS: ("new address", "nuovo indirizzo"),
}
"""The commands without arguments, each with its words in all languages."""
_ALONE: Final = {word: kind for kind, words in _WITHOUT_ARGUMENTS.items() for word in words}
STOP_WORDS: Final = frozenset(_WITHOUT_ARGUMENTS[OrderKind.STOP])
"""The subjects that stop letters, whatever the mail says: mail programs that unsubscribe write nothing else."""

_LANGUAGE_NAMES: Final = {
    **{code: code for code in LANGUAGES},
    **{name.lower(): code for code, name in LANGUAGES.items()},
}
_ON_OFF: Final = {"on": "on", "yes": "on", "sì": "on", "si": "on", "off": "off", "no": "off"}
_LATER: Final = frozenset({"later", "dopo"})
_HOURS = re.compile(r"([0-9]|[01][0-9]|2[0-4])-([0-9]|[01][0-9]|2[0-4])")
_LINKED = re.compile(r"<(?:mailto:)?[^<>\s]*>")


def read_command(line: str) -> MailOrder | Text | None:
    """Returns the command that a line is, or what is wrong with its arguments; None if it begins with none.

    `line` is as `hkoji.mail.orders` brings it to its form.
    """
    words = tuple(line.casefold().split())
    alone = _ALONE.get(" ".join(words))
    if alone is not None:
        return MailOrder(alone, line)
    found = _WITH_ARGUMENTS.get(words[0] if words else "")
    if found is None:
        return None
    kind, read = found
    # An address keeps its case; programs that make links of addresses write them twice.
    arguments = read(tuple(_LINKED.sub(" ", line).split())[1:])
    return arguments if isinstance(arguments, Text) else MailOrder(kind, line, arguments)


def _decline(words: _Words) -> _Words | Text:
    if not words:
        return ()
    if len(words) == 1 and words[0].casefold() in _LATER:
        return ("later",)
    return tell("it declines with nothing but later behind it")


def _give(words: _Words) -> _Words | Text:
    try:
        parse_duration(" ".join(words).lower())
    except UsageError:
        return tell("it needs one duration, as in: give 2d")
    return (" ".join(words).lower(),)


def _register(words: _Words) -> _Words | Text:
    return (words[0].lower(),) if len(words) == 1 else tell("it needs one name, as in: register bob")


def _new(words: _Words) -> _Words | Text:
    if len(words) in (3, 4):
        game, name, address, *clock = words
        return game.lower(), name.lower(), address, *(each.lower() for each in clock)
    return tell("it needs a game, a name and an address, as in: new hanamikoji bob bob@example.org 3d/14d")


def _language(words: _Words) -> _Words | Text:
    code = _LANGUAGE_NAMES.get(" ".join(words).casefold())
    return tell("it needs a language: {languages}", languages=any_of(tuple(LANGUAGES))) if code is None else (code,)


def _cards(words: _Words) -> _Words | Text:
    choice = _ON_OFF.get(" ".join(words).casefold())
    return tell("it needs on or off") if choice is None else (choice,)


def _quiet(words: _Words) -> _Words | Text:
    text = " ".join(words).casefold()
    hours = _HOURS.fullmatch(text.replace(" ", ""))
    if hours is not None:
        return hours[1].lstrip("0") or "0", hours[2].lstrip("0") or "0"
    return ("off",) if _ON_OFF.get(text) == "off" else tell("it needs two hours or off, as in: quiet 22-7")


_READERS: Final[dict[OrderKind, tuple[_Words, Callable[[_Words], _Words | Text]]]] = {
    OrderKind.DECLINE: (("decline", "rifiuto"), _decline),
    OrderKind.GIVE: (("give", "dai"), _give),
    OrderKind.REGISTER: (("register",), _register),
    OrderKind.NEW: (("new", "nuova"), _new),
    OrderKind.LANG: (("lang", "lingua"), _language),
    OrderKind.CARDS: (("cards", "carte"), _cards),
    OrderKind.QUIET: (("quiet", "silenzio"), _quiet),
}
"""The commands with arguments, each with its first words and with what reads the arguments."""
_WITH_ARGUMENTS: Final = {word: (kind, read) for kind, (words, read) in _READERS.items() for word in words}
WORDS: Final = (*_ALONE, *_WITH_ARGUMENTS)
"""Every command without its arguments."""
