"""Boards of both games are never too wide, for any viewer, in any language; the moves they suggest can be played."""

from __future__ import annotations

import re
import shlex
from collections import Counter

import pytest

from hkoji.game.position import Position
from hkoji.messages.text import LANGUAGES
from hkoji.rules.events import SEATS, Reveal
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import DECISION_DUE, Due, Ruleset
from hkoji.show.board import WIDTH
from tests.support.boards import LONG, board, position, stages
from tests.support.table import NAMES

SEEDS = range(2)
OBSERVERS = (0, 1, None)
both_games = pytest.mark.parametrize(
    "ruleset", [Hanamikoji("random", 3, "charm"), GeishasRoad("random", "choose")], ids=lambda ruleset: ruleset.name
)


@pytest.mark.parametrize("lang", LANGUAGES)
@both_games
def test_no_line_is_too_wide_whatever_happens(ruleset: Ruleset, lang: str) -> None:
    """With names of 32 characters, at every entry of complete games, for both players and a spectator."""
    assert [len(name) for name in LONG] == [32, 32]
    assert WIDTH < 80
    dues = Counter[Due]()
    for seed in SEEDS:
        for table in stages(ruleset, seed):
            dues[table.course.state.due] += 1
            for seat in OBSERVERS:
                seen = position(table, seat)
                for seated in (False, True) if seat is not None else (False,):
                    for line in board(seen, seated=seated, lang=lang).splitlines():
                        assert len(line) <= WIDTH, line
                        assert line == line.rstrip()
    assert set(dues) - {Due.CHANCE, Due.DEAL, Due.DRAW, Due.REVEAL} >= {Due.ACT, Due.ANSWER, Due.OVER}


@both_games
def test_the_linear_form_has_no_drawing_in_it(ruleset: Ruleset) -> None:
    """Complete sentences, one a line, in plain ASCII except the half point, which is a word when read out."""
    for table in stages(ruleset, 1):
        for seat in OBSERVERS:
            text = board(position(table, seat), plain=True)
            assert text.replace("½", "").isascii()
            assert all(re.match(r"[A-Za-z].*[.!]$", line) for line in text.splitlines()), text
            assert "  " not in text


def commands(text: str, seen: Position) -> list[str]:
    """The moves that a drawn board suggests, as a shell would pass them on."""
    found = re.findall(rf"hkoji move {seen.short} (.*?)(?:  .*)?$", text, re.MULTILINE)
    return [" ".join(shlex.split(command)) for command in found]


@both_games
def test_a_move_that_a_board_tells_to_type_can_be_played(ruleset: Ruleset) -> None:
    """Every answer, order or choice is offered, and one example of each remaining action; others are asked to wait."""
    for seed in SEEDS:
        for table in stages(ruleset, seed):
            for seat in SEATS:
                seen = position(table, seat)
                state = seen.course.state
                text, linear, seated = board(seen), board(seen, plain=True), board(seen, seated=True)
                typed = commands(text, seen)
                if not seen.legal:
                    assert typed == []
                    assert ("hkoji wait" in text) == (not seen.over)
                    continue
                assert "It is your turn." in text
                assert "It is your turn." in linear
                moves = [seen.choose(command) for command in typed]
                if state.due is Due.ACT:
                    assert [move[0] for move in moves] == [shape[0] for shape in state.shape()]
                else:
                    assert sorted(moves) == sorted(seen.legal)
                assert all(f"hkoji move {seen.short} {command}" in linear for command in typed)
                assert "hkoji" not in seated
                assert not re.search(r"\S ?hkoji move", text), "what is done and what is typed stand apart"
                assert all(command in seated for command in typed)


@both_games
def test_others_are_told_whom_the_game_waits_for_and_what_they_have_to_do(ruleset: Ruleset) -> None:
    said = Counter[str]()
    for table in stages(ruleset, 2):
        state = table.course.state
        if state.due not in DECISION_DUE or table.course.actor is None:
            continue
        for seat in {1 - table.course.actor, None}:
            (line,) = re.findall(r"^It is .*'s turn to .*\.$", board(position(table, seat)), re.MULTILINE)
            assert line.startswith(f"It is {LONG[table.course.actor][:19]}~'s turn to ")
            said[line.split(" turn to ")[1].split()[0]] += 1
    assert set(said) >= {"choose", "take"}


@both_games
@pytest.mark.parametrize("seat", OBSERVERS)
def test_the_cards_that_were_turned_up_at_the_end_of_a_round_stand_by_their_actions(
    ruleset: Ruleset, seat: int | None
) -> None:
    *_, table = stages(ruleset, 1, NAMES)
    seen = position(table, seat)
    revealed = [event for event in seen.events if isinstance(event, Reveal)][-2:]
    assert {event.seat for event in revealed} == {*SEATS}
    action = {"hanamikoji": "secret", "geishas-road": "intrigue"}[ruleset.name]
    drawn, linear = board(seen), board(seen, plain=True)
    for event in revealed:
        name = "you" if event.seat == seat else NAMES[event.seat]
        assert re.search(rf"^{name} .*{action} \?{event.cards}[ )]", drawn, re.MULTILINE)
        assert f"Revealed by {name}: {action} {event.cards}." in linear
        assert f"Face down for {name}: kept" not in linear


@both_games
def test_a_spectator_is_nobody_at_the_table(ruleset: Ruleset) -> None:
    for table in stages(ruleset, 0, names=("alice", "bob")):
        for plain in (False, True):
            text = board(position(table, None), plain=plain)
            assert not re.search(r"\byou\b|\bYou\b|\byour\b|\bYour\b", text.replace("be yours", "")), text
            assert "hkoji move" not in text


@both_games
def test_how_a_game_ends(ruleset: Ruleset) -> None:
    *_, table = stages(ruleset, 4, names=("alice", "bob"))
    outcome = table.course.outcome
    assert outcome is not None
    for seat in OBSERVERS:
        text = board(position(table, seat))
        if outcome.winner is None:
            assert "a shared win" in text
        else:
            winner = "you win" if seat == outcome.winner else f"{table.names[outcome.winner]} wins"
            assert f"The game is over: {winner} " in text
        for command in ("replay", "audit", "export"):
            assert f"hkoji {command} {table.game[:8]}" in text
