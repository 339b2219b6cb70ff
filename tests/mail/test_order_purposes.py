"""Which commands a mail may give to which token, as the page for players and the audit say it."""

from __future__ import annotations

import pytest

from hkoji.mail.commands import OrderKind
from hkoji.mail.tokens import PURPOSES, Purpose, TokenFields, counts, is_for_any, may_order

GAME = "85c924c3" * 4
HEAD = "5c" * 32

ALLOWED = {
    "turn": "move resign call-off cancel give rematch",
    "again": "move accept decline resign call-off cancel give rematch new",
    "invite": "accept decline",
    "game": "resign call-off cancel give rematch evidence",
    "command": "new",
    "yes": "yes",
    "stop": "",
}
ANYWHERE = "own-key not-me show moves log rules games help stop start lang cards quiet new-address"


def token(purpose: Purpose) -> TokenFields:
    game = "" if purpose in (Purpose.COMMAND, Purpose.STOP, Purpose.YES) else GAME
    seq = 9 if purpose in (Purpose.TURN, Purpose.AGAIN, Purpose.INVITE) else None
    return TokenFields(purpose, "bob", game, seq, HEAD if seq else "", "")


def test_every_command_has_its_place() -> None:
    assert set(PURPOSES) == set(OrderKind)


@pytest.mark.parametrize("purpose", list(Purpose))
def test_a_token_is_good_for_its_commands_only(purpose: Purpose) -> None:
    words = {word.replace("-", " ") for word in f"{ALLOWED[purpose]} {ANYWHERE}".split()}
    assert {kind.value for kind in OrderKind if may_order(kind, token(purpose))} == words


def test_a_letter_that_asks_for_resign_again_is_good_for_nothing_else_in_the_game() -> None:
    asked = TokenFields(Purpose.AGAIN, "bob", GAME, None, "", "ab" * 32)
    allowed = {kind for kind in OrderKind if may_order(kind, asked)}
    assert allowed == {OrderKind.RESIGN} | {kind for kind in OrderKind if is_for_any(kind)}


def test_an_order_that_ends_a_game_counts_only_when_it_was_asked_for_again() -> None:
    assert [each for each in Purpose if counts(OrderKind.CALL_OFF, token(each))] == [Purpose.AGAIN]
    # A letter that asks for a move again has asked for no `resign`.
    assert not any(counts(OrderKind.RESIGN, token(each)) for each in Purpose)
    assert counts(OrderKind.RESIGN, TokenFields(Purpose.AGAIN, "bob", GAME, None, "", "ab" * 32))
