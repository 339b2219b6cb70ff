"""A course's state after each entry agrees with the next entry and with the events so far."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from hkoji import errors
from hkoji.game import entry_kinds
from hkoji.game.entry_kinds import begin
from hkoji.game.knowledge import SpectatorKnowledge
from hkoji.game.replay import Step, replay
from hkoji.log.line import make_entry
from hkoji.rules.events import Deal, Draw
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.framing import DEAL
from tests.support.table import AT, Table, new_game, refused

WORDS = ["open", "join", "guest seed", "host seed", "chance", "play", "end"]


def _whole() -> Table:
    table = new_game(1, Hanamikoji("random", 2, "charm"))
    table.rekey(table.course.actor or 0)
    return table.play()


def _changed() -> Table:
    table = new_game(2, GeishasRoad("random", "random")).play(3)
    table.revoke(table.course.actor or 0, signed=True)
    return table.play()


def _given_up() -> Table:
    table = new_game(3).play(5)
    table.send(table.entry(1, entry_kinds.Resign()))
    return table


def _published_later() -> Table:
    return new_game(4, deal=DEAL).play().unseal()


def _called_off() -> Table:
    table = Table()
    table.open()
    table.send(table.entry(0, entry_kinds.Cancel()))
    return table


GAMES: dict[str, Callable[[], Table]] = {
    "with a new key": cache(_whole),
    "with a revoked key": cache(_changed),
    "given up": cache(_given_up),
    "published later": cache(_published_later),
    "called off": cache(_called_off),
}
every_game = pytest.mark.parametrize("name", GAMES)


def steps(table: Table, *, blind: bool) -> tuple[Step, ...]:
    """All steps; `blind` as a viewer who sees no cards, not even at the end."""
    found = replay(table.lines, SpectatorKnowledge() if blind else None)
    assert found.stop is None
    assert len(found.steps) == len(table.lines)
    return found.steps


@every_game
@pytest.mark.parametrize("blind", [False, True])
def test_a_player_who_owes_an_entry_writes_it(name: str, blind: bool) -> None:
    table = GAMES[name]()
    for step in steps(table, blind=blind):
        course = step.course
        if step.entry is table.lines[-1].entry:
            assert (course.actor, course.server_owes()) == (None, None)
            return
        following = table.lines[step.entry.seq + 1].entry
        if following.kind in ("open", "join", "cancel", "unseal"):
            assert (course.actor, course.server_owes()) == (None, None)
        elif following.kind in ("chance", "reveal", "end"):
            assert (course.actor, course.server_owes()) == (None, following.kind)
        else:
            assert course.server_owes() is None
            assert course.actor is not None
            if following.kind in ("seed", "move", "rekey"):
                assert course.setup.names[course.actor] == following.by


@every_game
@pytest.mark.parametrize("blind", [False, True])
def test_draws_are_counted_in_the_round_and_a_new_key_is_remembered_for_an_entry(name: str, blind: bool) -> None:
    table = GAMES[name]()
    draws = [0, 0]
    for step in steps(table, blind=blind):
        for event in step.events:
            if isinstance(event, Deal):
                draws = [0, 0]
            elif isinstance(event, Draw):
                draws[event.seat] += 1
        assert step.course.draws == tuple(draws)
        assert step.course.rekeyed == (step.entry.kind == "rekey")


@every_game
def test_the_words_for_where_a_game_stands(name: str) -> None:
    """The stages' values are in the client's JSON."""
    table = GAMES[name]()
    found = list(dict.fromkeys(step.course.stage.value for step in steps(table, blind=False)))
    match name:
        case "called off":
            assert found == ["open", "join", "end", "over"]
        case "published later":
            assert found == [*(word for word in WORDS if word != "chance"), "unseal", "over"]
        case _:
            assert found == [word for word in WORDS if word != "chance" or table.ruleset.chance()] + ["over"]


def test_before_the_host_opens_the_game_no_seat_can_act() -> None:
    table = Table()
    course = table.course
    assert course.setup.names == course.setup.keys == course.setup.entropy == (None, None)
    for body in (
        entry_kinds.Resign(),
        entry_kinds.Cancel(),
        entry_kinds.Move("3ABC"),
        entry_kinds.Seed(table.entropy[0]),
    ):
        for seat in (0, 1):
            error = refused(table, table.entry(seat, body), errors.ForbiddenError)
            assert "does not play in game" in error.message


def test_a_game_begins_with_the_services_offer_at_entry_0() -> None:
    table = new_game()
    offer = table.lines[0].entry
    body = entry_kinds.parse_body(offer.kind, offer.body)
    assert begin(offer, body) == replay(table.lines[:1]).course
    fields = {name: getattr(offer, name) for name in ("at", "body", "by", "game", "kind", "prev", "seen", "seq")}
    second = make_entry(**{**fields, "seq": 1, "seen": AT})
    after = make_entry(**{**fields, "prev": "ab" * 32})
    for entry, why in ((second, "begins with entry 1"), (after, "prev of entry 0 is not 64 zeros")):
        with pytest.raises(errors.MalformedError, match=why) as error:
            begin(entry, body)
        assert error.value.what == "chain"
    by_alice = make_entry(**{**fields, "by": "alice"})
    for entry, said in ((by_alice, body), (offer, entry_kinds.Resign())):
        with pytest.raises(errors.MalformedError, match="its first entry is not the service's offer") as error:
            begin(entry, said)
        assert error.value.what == "log"


def test_a_decision_of_chance_is_held_against_the_seed_at_its_own_entry() -> None:
    table = new_game(2, Hanamikoji("random")).play()
    number = next(line.entry.seq for line in table.lines if line.entry.kind == "chance")
    line = table.lines[number]
    first = line.entry.body["first"]
    entry = make_entry(
        at=AT,
        body={"first": 1 - int(str(first))},
        by="server",
        game=table.game,
        kind="chance",
        prev=line.entry.prev,
        seen=line.entry.seen,
        seq=number,
    )
    found = replay([*table.lines[:number], line._replace(entry=entry), *table.lines[number + 1 :]])
    assert len(found.steps) == number
    assert isinstance(found.stop, errors.CommitmentError)
    assert (found.stop.seq, found.stop.part) == (number, 0)


def test_the_error_for_an_unsorted_answer_gives_its_canonical_form() -> None:
    """A competition is written with each pair sorted; an unsorted one would be legal, but it is not a valid entry."""
    table = new_game(3)
    pairs = (action for action in table.course.state.legal_actions() if action[0] == "4" and action[1] != action[2])
    table.send(table.move(next(pairs)))
    actor = table.course.actor
    assert actor is not None
    answer = next(each for each in table.course.state.legal_actions() if each[1] != each[2])
    other = f"-{answer[2]}{answer[1]}"
    error = refused(table, table.entry(actor, entry_kinds.Move(other)), errors.MalformedError)
    assert isinstance(error, errors.MalformedError)
    assert (error.what, error.reason) == ("move", f"the canonical form of {other} is {answer}")
    refused(table, table.entry(actor, entry_kinds.Move("-XX")), errors.NotationError)
    table.send(table.entry(actor, entry_kinds.Move(answer)))
