"""Drafts of entries: a player's next entry can be made without a client."""

from __future__ import annotations

from hashlib import sha256

import pytest

from hkoji.errors import IllegalActionError, NotYourTurnError
from hkoji.game import entry_kinds
from hkoji.game.position import Position
from hkoji.game.replay import replay
from hkoji.game.submission import draft_entry, draft_move
from hkoji.log.line import parse_log
from hkoji.rules.protocol import of_each_kind
from tests.support.table import new_game

AT = "2026-11-20T12:00:00Z"


def drawn(size: int) -> bytes:
    return sha256(b"salt").digest()[:size]


def test_a_move_that_hides_cards_has_a_commitment_that_its_opening_opens() -> None:
    table = new_game(1)
    course = table.course
    for action in course.state.legal_actions():
        draft = draft_move(course, action, drawn, by="alice", at=AT, seen=AT)
        body = entry_kinds.Move.parse(draft.entry.body)
        assert (draft.entry.seq, draft.entry.prev, draft.entry.kind) == (course.seq + 1, course.head, "move")
        assert body.commit == tuple(opening.commitment(course.setup.game) for opening in draft.opening)
        assert body.action == course.setup.ruleset.public(action)
        hidden = course.setup.ruleset.hidden(action)
        assert [opening.cards for opening in draft.opening] == [group.cards for group in hidden]
        assert all(opening.salt == drawn(32).hex() for opening in draft.opening)


def test_a_signed_draft_is_what_the_referee_takes() -> None:
    table = new_game(1)
    seat = table.course.actor
    assert seat is not None
    action = table.course.state.legal_actions()[0]
    draft = draft_move(table.course, action, drawn, by=table.names[seat], at=AT, seen=AT)
    submission = draft.sign(table.keys[seat])
    assert (submission.entry, submission.opening) == draft
    before = table.course.seq
    table.send(submission)
    assert table.course.seq > before
    resigned = draft_entry(table.course, entry_kinds.Resign(), by=table.names[0], at=AT, seen=AT)
    assert resigned.opening == ()
    table.send(resigned.sign(table.keys[0]))
    assert table.course.finished


def test_hints_name_the_callers_commands_and_none_without() -> None:
    table = new_game(1)
    course, steps = table.course, replay(parse_log(table.text))
    actor = course.actor
    assert actor is not None
    waiting = Position(course, 1 - actor, (), (), steps)
    for hint, commands in (("nothing was sent", {}), ("nothing was sent; wait for your turn with `w`", {"wait": "w"})):
        with pytest.raises(NotYourTurnError) as early:
            waiting.choose("1A", **commands)
        assert early.value.hint == hint
    playing = Position(course, actor, (), course.state.legal_actions(), steps)
    near = " ".join(next(each for each in playing.legal if each[0] == kind) for kind in "2134")
    absent = next(f"2{card}{card}" for card in "ABCDEFG" if f"2{card}{card}" not in playing.legal)
    with pytest.raises(IllegalActionError) as illegal:
        playing.choose(absent)
    assert illegal.value.message == f"{absent} is not legal: you do not have two {absent[1]} cards"
    assert illegal.value.hint == f"nothing was sent; legal moves include {near}"
    with pytest.raises(IllegalActionError) as illegal:
        playing.choose(absent, show="s")
    assert illegal.value.hint == f"nothing was sent; legal moves include {near}; see all with `s`"


def test_examples_of_legal_moves_are_of_different_kinds() -> None:
    moves = ("1A", "1B", "2AB", "2AC", "2BC", "4ABCD")
    assert of_each_kind(moves, 3) == ("1A", "2AB", "4ABCD")
    assert of_each_kind(moves, 5) == ("1A", "2AB", "4ABCD", "1B", "2AC")
    assert of_each_kind(("-A", "-B"), 4) == ("-A", "-B")
    assert of_each_kind((), 3) == ()
