"""Targets: moves as they are typed, in positions of both games and in the names of a deck; games as text; rulesets."""

from __future__ import annotations

import json
from functools import cache
from typing import Final, NamedTuple

from hkoji.cli.batch import _split
from hkoji.cli.main import read_plain as read_quick
from hkoji.cli.settings import split_options
from hkoji.errors import IllegalError
from hkoji.rules.protocol import DECISION_KINDS, Ruleset, State
from hkoji.rules.registry import RULESETS, parse_ruleset
from hkoji.rules.transcript import format_ruleset, format_transcript, parse_transcript
from hkoji.show.games import find_deck
from tests.lab.fuzz.target import DATA, Target, chosen, refusals, split_off, text, told

WORDS: Final = (
    *("secret", "trade-off", "tradeoff", "trade off", "discard", "gift", "competition", "compete", "segreto", "scarto"),
    *("regalo", "sfida", "take", "answer", "choose", "prendi", "rispondi", "scegli", "reveal", "intrigue", "order"),
    *("marker", "start", "host", "guest", "X", "XX", "1X", "2XX", "IXX", "A1", "E4", "/", "-", ">", "!", "^0", "^1"),
    *("♠", "♥", "♦", "♣", "◉", "♛", "☾", "★", "\ufe0f", "spades", "hearts 0", "q", "k", "x", "j", "picche", "cuori"),
)
_GAME: Final = (
    *('[Ruleset "hanamikoji/1 first=host max_rounds=0 tiebreak=geisha"]\n', '[Host "alice"]\n', "1. ", "=", "+A ", "?"),
    *('[Ruleset "geishas-road/1 first=host markers=choose"]\n', "*0 ", "#0 charm", "#= limit", "#1 resign", "/", "\n"),
    *("first=", "max_rounds=", "tiebreak=", "markers=", "99999999999", "X", "XXXXXX/XXXXXX", "-A", ">", "!A", "^1"),
)


class Place(NamedTuple):
    """A fully known position in which a player decides, and the legal decisions."""

    state: State
    legal: frozenset[str]


@cache
def places() -> tuple[Place, ...]:
    """A decision of every kind, in both games: the test vectors' games, at their first and last of each kind."""
    found: dict[tuple[str, str, int, bool], Place] = {}
    for told_game in _games():
        for state in parse_transcript(told_game).states():
            if state.due in DECISION_KINDS and "X" not in told_game:
                for late in (False, True):
                    key = (state.ruleset.name, state.due.value, len(state.legal_actions()[0]), late)
                    if late or key not in found:
                        found[key] = Place(state, frozenset(state.legal_actions()))
    return tuple(found[key] for key in sorted(found))


@cache
def _games() -> tuple[str, ...]:
    """The test vectors' finished games, as text."""
    made = []
    folder = DATA / "vectors" / "games"
    for name, facts in sorted(json.loads((folder / "games.json").read_text()).items()):
        first = json.loads(json.loads((folder / name).read_text().splitlines()[0])["entry"])
        ruleset = parse_ruleset(first["body"]["ruleset"])
        if facts["status"] == "finished" and facts.get("rounds"):
            made.append(
                f'[Ruleset "{format_ruleset(ruleset)}"]\n[Host "alice"]\n\n' + "\n".join(facts["rounds"]) + "\n"
            )
    return tuple(made)


def move(data: bytes) -> None:
    """A typed move: its canonical form reads as itself, and is accepted if and only if it is legal."""
    number, rest = split_off(data, len(places()))
    _decide(places()[number], text(rest))


def _decide(place: Place, typed: str) -> None:
    state = place.state
    with refusals():
        action = state.parse_action(typed)
        assert state.parse_action(action) == action
        assert state.actor is not None
        event = DECISION_KINDS[state.due](state.actor, action)
        for observer in (None, 0, 1):
            with refusals():
                state.project(observer).apply(event)
        try:
            state.apply(event)
        except IllegalError as error:
            assert action not in place.legal
            told(error)
        else:
            assert action in place.legal


def deck_move(data: bytes) -> None:
    """The same with the names of the Everdeck, for Hanamikoji."""
    own = [place for place in places() if place.state.ruleset.name == "hanamikoji"]
    number, rest = split_off(data, len(own))
    deck = find_deck("everdeck")
    with refusals():
        read = deck.read(text(rest))
        with refusals():
            action = own[number].state.parse_action(read)
            if "X" not in action:
                assert own[number].state.parse_action(deck.read(" ".join(deck.parts(action)))) == action
                assert own[number].state.parse_action(deck.read(deck.write(action))) == action
        _decide(own[number], read)


def transcript(data: bytes) -> None:
    """A game as text, which gives the same text again; every viewer can be shown its position."""
    with refusals():
        game = parse_transcript(text(data))
        assert parse_transcript(format_transcript(game)) == game
        *_, last = game.states()
        for observer in (None, 0, 1):
            json.dumps(last.project(observer).to_json())


def ruleset(data: bytes) -> None:
    """A ruleset's options, in any JSON."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return
    with refusals():
        read: Ruleset = parse_ruleset(value)
        assert read.to_json() == value
        assert parse_ruleset(read.to_json()) == read
        assert read.initial().round == 0


def command(data: bytes) -> None:
    """A line of `hkoji batch`: its words, the options of every command, and the commands parsed without Typer."""
    with refusals():
        words, _ = split_options(_split(text(data).strip()))
        call = read_quick(words)
        assert call is None or call.name == words[0]


# --- seeds ------------------------------------------------------------------------------------------------------------


def move_seeds() -> list[bytes]:
    """Legal moves of every sort of position."""
    return [chosen(number, action) for number, place in enumerate(places()) for action in sorted(place.legal)[:3]]


def deck_move_seeds() -> list[bytes]:
    """Legal moves of every sort of position of Hanamikoji, in both notations."""
    deck = find_deck("everdeck")
    own = [place for place in places() if place.state.ruleset.name == "hanamikoji"]
    return [
        chosen(number, form)
        for number, place in enumerate(own)
        for action in sorted(place.legal)[:2]
        for form in (deck.write(action), " ".join(deck.parts(action)))
    ]


def transcript_seeds() -> list[bytes]:
    """The test vectors' games, and one as a single seat sees it."""
    seen = parse_transcript(_games()[0])
    text_of_one = format_transcript(seen).replace("=ABCDGG/ACEEFF/GDFGBDEG/F", "=ABCDGG/XXXXXX")
    return [*(each.encode() for each in _games()), text_of_one.encode()]


def ruleset_seeds() -> list[bytes]:
    """The defaults, and other options."""
    made = [json.dumps(parse_transcript(each).ruleset.to_json()).encode() for each in _games()]
    return [*made, *(json.dumps({"name": name, "version": 1}).encode() for name in sorted(RULESETS))]


def command_seeds() -> list[bytes]:
    """Commands."""
    return [b"move 2714 -c --json", b"hkoji show '27 14' --plain --lang it", b"games --json", b"log 2714 # no remark"]


_OPTIONS: Final = (*('{"first":', '"host"', '"random"', '"max_rounds":', '"tiebreak":', '"version":1', "null", "true"),)
TARGETS: Final = (
    Target("move", "moves, in positions of both games", move, move_seeds, 500_000, 64, WORDS),
    Target("everdeck", "moves in the words of a deck", deck_move, deck_move_seeds, 300_000, 96, WORDS),
    Target("transcript", "games as text", transcript, transcript_seeds, 200_000, 2048, _GAME),
    Target("ruleset", "options of games", ruleset, ruleset_seeds, 300_000, 256, _OPTIONS),
    Target("command", "lines of hkoji batch", command, command_seeds, 200_000, 256, ("--json", "'", '"', "--lang=it")),
)
