"""A whole game, or what one seat has seen of it, as one readable text that parses back to the same game.

    [Ruleset "hanamikoji/1 first=host max_rounds=0 tiebreak=geisha"]
    [Host "alice"]
    [Guest "bob"]

    1. =AACDFG/BBDEFG +C 4BDCF-CF +D ... 1X ... ?E/C
    #0 charm

Tag pairs come first, then a line for each round, then the result. Decisions are in the game's notation. The rest is the
same for all games: `=` deal, `+` draw, `?` reveal (seat 0's card / seat 1's card), `*` public chance, `#` result. A
deal is the hands of seat 0 and seat 1 and, if they are known, the draws to come and the removed card (in a game that
removes one), with a `/` between them. This module knows no particular game: the state says who acts.

`information_json` is what one seat knows as plain data for programs, for `hkoji show --json` and for bots
(docs/json.md). It holds only what the rules say; callers add a game's id, names and log.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from hkoji.errors import HkojiError, MalformedError
from hkoji.messages.text import tell
from hkoji.rules.events import (
    Act,
    Answer,
    Chance,
    Close,
    Deal,
    Draw,
    Event,
    Order,
    Outcome,
    Pick,
    Reveal,
    Seat,
    hide_text,
)
from hkoji.rules.protocol import DECISION_KINDS, Due, Json, Ruleset, State
from hkoji.rules.registry import parse_ruleset

_TAG = re.compile(r'\[([A-Z][A-Za-z]{0,31}) "([ !#-\[\]-~]*)"\]')
_ROUND = re.compile(r"([1-9][0-9]{0,3})\.")
_RESULT = re.compile(r"#([01=]) ([a-z]{1,16})")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")
_RULESET: Final = "Ruleset"


@dataclass(frozen=True, slots=True)
class Transcript:
    """A game's ruleset, free tag pairs (name, value), and the events as one observer saw them."""

    ruleset: Ruleset
    tags: tuple[tuple[str, str], ...]
    events: tuple[Event, ...]

    def states(self) -> Iterator[State]:
        """The position before the first event and after each one. Raises where an event does not fit."""
        state = self.ruleset.initial()
        yield state
        for event in self.events:
            state = state.apply(event)
            yield state


def format_transcript(transcript: Transcript) -> str:
    """The text of a game, ending in a newline. Raises `MalformedError` for a tag that cannot be written."""
    lines = [f'[{_RULESET} "{format_ruleset(transcript.ruleset)}"]']
    for name, value in transcript.tags:
        line = f'[{name} "{value}"]'
        if name == _RULESET or not _TAG.fullmatch(line):
            raise MalformedError(tell("tag"), tell("{name!r} is not a name and a value of plain characters", name=name))
        lines.append(line)
    lines.append("")
    rounds = list(format_rounds(transcript.ruleset, transcript.events))
    return "\n".join([*lines, *rounds]) + "\n"


def format_rounds(ruleset: Ruleset, events: Iterable[Event], after: State | None = None) -> Iterator[str]:
    """The lines of a game's rounds, and last its result if it has one.

    `after` is the state to which the events have led; without it they are applied once more, to find the result.
    """
    tokens: list[str] = []
    state: State = after or ruleset.initial()
    number = 0
    for event in events:
        if isinstance(event, Deal) and number:
            yield " ".join(tokens)
            tokens = []
        if isinstance(event, Deal):
            number += 1
            tokens.insert(0, f"{number}.")
        if after is None:
            state = state.apply(event)
        if isinstance(event, Answer | Order) and tokens:
            tokens[-1] += event.action
        elif isinstance(event, Reveal) and tokens[-1].startswith("?"):
            tokens[-1] = _both(tokens[-1], event)
        elif not isinstance(event, Close):
            tokens.append(format_event(event))
    if tokens:
        yield " ".join(tokens)
    if state.outcome is not None:
        yield format_outcome(state.outcome)


def format_outcome(outcome: Outcome) -> str:
    """`#0 charm`, `#= limit`."""
    return f"#{'=' if outcome.winner is None else outcome.winner} {outcome.reason}"


def parse_transcript(text: str) -> Transcript:
    """Reads `format_transcript`. Raises `MalformedError` naming the line, or `NotUnderstoodError`."""
    tags: list[tuple[str, str]] = []
    ruleset: Ruleset | None = None
    body: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        tag = _TAG.fullmatch(line.strip())
        if tag and not body:
            if tag[1] == _RULESET:
                if ruleset is not None:
                    raise MalformedError(
                        tell("game text, line {number}", number=number),
                        tell("there is a [{ruleset} …] already", ruleset=_RULESET),
                    )
                ruleset = _parse_ruleset(tag[2], number)
            else:
                tags.append((tag[1], tag[2]))
        elif line.strip():
            body.append((number, line.strip()))
    if ruleset is None:
        raise MalformedError(tell("game text"), tell("it has no [{ruleset} …] tag", ruleset=_RULESET))
    reader = _Reader(ruleset)
    for number, line in body:
        try:
            reader.read_line(line)
        except HkojiError as error:
            raise MalformedError(
                tell("game text, line {number}", number=number), str(error), hint=error.hint
            ) from error
    return Transcript(ruleset, tuple(tags), tuple(reader.events))


def format_event(event: Event) -> str:
    """One event as it stands in a round's line, where an answer and an order are joined to their proposal."""
    match event:
        case Chance(first, markers):
            return f"*{'' if first is None else first}{markers or ''}"
        case Deal(hands, rest, aside):
            text = f"={hands[0]}/{hands[1]}"
            unknown = (rest, aside) == (hide_text(rest), hide_text(aside))
            return text if unknown else f"{text}/{rest}/{aside}".rstrip("/")
        case Draw(_, card):
            return f"+{card}"
        case Reveal(seat, cards):
            return f"?{cards}/" if seat == 0 else f"?/{cards}"
        case Act(_, action) | Answer(_, action) | Order(_, action) | Pick(_, action):
            return action
        case Close(outcome):
            return format_outcome(outcome)


def _both(token: str, event: Reveal) -> str:
    host, guest = token[1:].split("/")
    return f"?{event.cards}/{guest}" if event.seat == 0 else f"?{host}/{event.cards}"


def format_ruleset(ruleset: Ruleset) -> str:
    """A game with its options: `hanamikoji/1 first=host max_rounds=0 tiebreak=geisha`."""
    options = ruleset.to_json()
    rest = " ".join(f"{key}={options[key]}" for key in sorted(options) if key not in ("name", "version"))
    return f"{options['name']}/{options['version']} {rest}".rstrip()


def _parse_ruleset(text: str, line: int) -> Ruleset:
    head, *pairs = text.split(" ")
    name, slash, version = head.partition("/")
    options: dict[str, Json] = {"name": name}
    for key, equals, value in [("version", slash, version), *(pair.partition("=") for pair in pairs)]:
        if not equals or key in options:
            raise MalformedError(
                tell("game text, line {line}", line=line), tell("{text!r} is not a ruleset", text=text)
            )
        options[key] = int(value) if _NUMBER.fullmatch(value) else value
    return parse_ruleset(options)


class _Reader:
    """Folds tokens over a state; the state says which seat each token belongs to."""

    def __init__(self, ruleset: Ruleset) -> None:
        self.ruleset = ruleset
        self.state: State = ruleset.initial()
        self.events: list[Event] = []
        self.result = False

    def read_line(self, line: str) -> None:
        result = _RESULT.fullmatch(" ".join(line.split()))
        if result:
            self._result(Outcome(result[2], None if result[1] == "=" else int(result[1])))
            return
        head, *tokens = line.split()
        number = _ROUND.fullmatch(head)
        if number:
            if int(number[1]) != self.state.round + 1:
                raise MalformedError(
                    tell("round"), tell("{head} does not follow round {round}", head=head, round=self.state.round)
                )
        else:
            tokens.insert(0, head)
        for token in tokens:
            self._read_token(token)

    def _apply(self, event: Event) -> None:
        self.state = self.state.apply(event)
        self.events.append(event)

    def _result(self, outcome: Outcome) -> None:
        if self.result:
            raise MalformedError(tell("result"), tell("there is one already"))
        self.result = True
        if self.state.due is not Due.OVER:
            if not Close(outcome).is_possible:
                raise MalformedError(tell("result"), tell("the game has not ended by {reason}", reason=outcome.reason))
            self._apply(Close(outcome))
        elif self.state.outcome != outcome:
            raise MalformedError(tell("result"), tell("it is not how the game ended"))

    def _read_token(self, token: str) -> None:
        rest = token[1:]
        match token[0]:
            case "=":
                self._deal(rest.split("/"))
            case "+":
                self._apply(Draw(self._actor(), rest))
            case "?":
                shown = rest.split("/")
                if len(shown) != 2 or shown == ["", ""]:
                    raise MalformedError(
                        tell("reveal"), tell("{token!r} is not two places with a / between", token=token)
                    )
                due = self.state.due_reveals()
                for seat in sorted(range(2), key=lambda s: due.index(s) if s in due else s):
                    if shown[seat]:
                        self._apply(Reveal(seat, shown[seat]))
            case "*":
                first = int(rest[0]) if rest.startswith(("0", "1")) else None
                markers = rest if first is None else rest[1:]
                self._apply(Chance(first, markers or None))
            case _:
                for part in re.findall(r"^[^->]+|[->][^->]*", token):
                    self._decide(part)

    def _deal(self, parts: list[str]) -> None:
        blank = self.ruleset.deal(("X",) * self.ruleset.pack.size)
        if len(parts) == 2:
            parts = [*parts, blank.rest, blank.aside]
        elif len(parts) == 3 and not blank.aside:
            parts = [*parts, ""]
        if len(parts) != 4:
            raise MalformedError(
                tell("deal"), tell("it must be two hands, or two hands, the draws and the cards removed")
            )
        self._apply(Deal((parts[0], parts[1]), parts[2], parts[3]))

    def _decide(self, text: str) -> None:
        kind = DECISION_KINDS.get(self.state.due)
        if kind is None:
            raise MalformedError(
                tell("move"), tell("{text!r} comes where {due} is due", text=text, due=self.state.due.value)
            )
        self._apply(kind(self._actor(), self.state.parse_action(text)))

    def _actor(self) -> Seat:
        if self.state.actor is None:
            raise MalformedError(tell("token"), tell("nobody is to act: {due} is due", due=self.state.due.value))
        return self.state.actor


INFORMATION_VERSION: Final = 1
"""Rises when a field changes its meaning or is removed, not when a field is added."""


def information_json(view: State, seat: Seat | None, events: Iterable[Event], legal: Iterable[str]) -> dict[str, Json]:
    """The view of `seat` (None: a spectator), how it came about, and the decisions that are open to it now."""
    ruleset, outcome = view.ruleset, view.outcome
    return {
        "v": INFORMATION_VERSION,
        "ruleset": ruleset.name,
        "options": ruleset.to_json(),
        "seat": seat,
        "actor": view.actor,
        "round": view.round,
        "hand": ruleset.pack.decode(view.hands[seat]) if seat is not None else None,
        "legal": list(legal),
        "due": view.due.value,
        "result": {"reason": outcome.reason, "winner": outcome.winner} if outcome else None,
        "rounds": list(format_rounds(ruleset, events, view)),
        "state": view.to_json(),
    }
