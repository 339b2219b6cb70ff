"""Decks name cards by the suits of a generic deck, in input and output, and never in what programs read."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji.cli.output import Exit
from hkoji.errors import NotationError, UsageError
from hkoji.rules.hanamikoji.actions import CHARM, KINDS, PACK, answers, choices, parse
from hkoji.show.deck import STANDARD, typed
from hkoji.show.games import DECKS, find_deck
from tests.support.shell import Shell

EVERDECK = find_deck("everdeck")
HAND = PACK.encode("ABCDEFG")


def read(text: str, *, proposal: str = "") -> str:
    return parse(EVERDECK.read(text), proposal=proposal)


def test_an_answer_needs_no_sign_where_a_proposal_waits() -> None:
    assert read("hearts 0", proposal="3BCC") == "-C"
    assert read("♠ ♦", proposal="4ACBD") == "-BD"


def test_items_are_the_ranks_below_the_geisha() -> None:
    for kind, charm in zip(KINDS, CHARM, strict=True):
        suit = EVERDECK.word(kind)
        for rank in range(10):
            text = f"1 {suit} {rank}"
            if rank < charm:
                assert read(text) == f"1{kind}"
            else:
                with pytest.raises(NotationError):
                    read(text)


ACTIONS = [action for number in (1, 2, 3, 4) for action in choices(number, HAND)]
ANSWERS = sorted({answer for action in ACTIONS if action[0] in "34" for answer in answers(action)})


@given(st.sampled_from([*ACTIONS, *ANSWERS]))
def test_a_written_deck_is_read_back(action: str) -> None:
    for deck in (STANDARD, EVERDECK):
        assert parse(deck.read(typed(deck, action, str))) == action
        assert parse(deck.read(deck.write(action))) == action


@given(st.text(max_size=30))
def test_reading_raises_nothing_but_notation_errors(text: str) -> None:
    with contextlib.suppress(NotationError):
        assert EVERDECK.read(EVERDECK.read(text)) == EVERDECK.read(text)


def test_symbols_are_one_column_and_all_different() -> None:
    symbols = [EVERDECK.symbol(kind) for kind in KINDS]
    assert len(set(symbols)) == len(KINDS)
    assert {len(symbol) for symbol in symbols} == {1}
    assert EVERDECK.symbol("X") == EVERDECK.word("X") == "X"


def test_the_cards_to_pick_are_36_different_ones() -> None:
    cards = [(card.suit, rank) for card in EVERDECK.cards() for rank in card.ranks]
    assert len(cards) == len(set(cards)) == 36
    uses = [card.use for card in EVERDECK.cards() for _ in card.ranks]
    assert [uses.count(use) for use in ("geisha", "item", "action")] == [7, 21, 8]


def test_decks_are_found_by_name() -> None:
    assert [find_deck(name).name for name in DECKS] == ["standard", "everdeck"]
    with pytest.raises(UsageError, match="tarot"):
        find_deck("tarot")


# --- at the border ----------------------------------------------------------------------------------------------------


def begin(alice: Shell, bob: Shell, *options: str) -> str:
    game = str(alice("new", "--json", *options).json["game"])
    assert bob("join", game).code == 0
    return game


def test_a_game_can_be_played_in_suits(alice: Shell, bob: Shell) -> None:
    game = begin(alice, bob)
    for player in (alice, bob) * 3:
        legal = player("show", game, "--json").json["legal"]
        action = next((each for each in legal if each[0] in "-34"), legal[0])
        words = typed(EVERDECK, action, str).split(" ")
        assert words[0] in ("take", *"1234")
        done = player("move", game, *words, "--deck", "everdeck")
        assert (done.code, done.err) == (0, "")
        assert EVERDECK.write(action) in done.out
        log = [json.loads(json.loads(line)["entry"]) for line in player("log", game).out.splitlines()]
        assert log[-1]["body"]["action"].replace("X", "") in action
        if action[0] in "34":
            other = bob if player is alice else alice
            suits = typed(EVERDECK, other("show", game, "--json").json["legal"][-1], str).split(" ", 1)[1]
            assert other("move", game, f"-{suits}", "--deck=everdeck").code == 0


@pytest.mark.parametrize("answer", ["-hearts", "-picche", "-♥"])
def test_a_suit_with_a_dash_is_no_option(alice: Shell, bob: Shell, answer: str) -> None:
    game = begin(alice, bob)
    done = alice("move", game, answer, "--deck", "everdeck")
    assert done.code == Exit.MOVE
    assert "no proposal" in done.err


def test_the_board_shows_suits_and_no_letters(alice: Shell, bob: Shell) -> None:
    game = begin(alice, bob)
    board = alice("show", game, "--deck", "everdeck").out
    assert all(f"{EVERDECK.symbol(kind)}{charm}" in board for kind, charm in zip(KINDS, CHARM, strict=True))
    hand = alice("show", game, "--json").json["hand"]
    assert f"your hand    {' '.join(EVERDECK.symbol(card) for card in hand)}\n" in board
    plain = alice("show", game, "--deck", "everdeck", "--plain").out
    assert f"Your hand: {' '.join(EVERDECK.word(card) for card in hand)}.\n" in plain
    assert all(len(line) <= 80 for line in board.splitlines())


@pytest.mark.parametrize("words", [["show"], ["log"], ["games"], ["next"]])
def test_json_and_the_log_know_no_deck(alice: Shell, bob: Shell, words: list[str]) -> None:
    game = begin(alice, bob)
    line = [*words, *([game] if words[0] in ("show", "log") else []), "--json"]
    assert alice(*line, "--deck", "everdeck") == alice(*line)


def test_a_deck_that_was_asked_for_has_to_suit_the_game(
    alice: Shell, bob: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = begin(alice, bob, "--ruleset", "geishas-road")
    board = alice("show", game).out
    for words in (["show", game], ["move", game, "marker", "a"], ["show", game, "--json"]):
        done = alice(*words, "--deck", "everdeck")
        assert done.code == Exit.USAGE
        assert "geishas-road cannot be played with the deck 'everdeck'" in done.err
    assert alice("show", game).out == board
    monkeypatch.setenv("HKOJI_DECK", "everdeck")  # applies only to games that can be played with it
    assert alice("show", game).out == board


def test_a_batch_reads_suits(alice: Shell, bob: Shell) -> None:
    game = begin(alice, bob)
    kind = alice("show", game, "--json").json["hand"][0]
    lines = f"--deck everdeck move {game} secret {EVERDECK.word(kind)}\nshow {game}\n"
    answers = [json.loads(line) for line in alice("batch", stdin=lines).out.splitlines()]
    assert [answer["ok"] for answer in answers] == [True, True]
    assert answers[0]["result"]["move"]["action"] == f"1{kind}"


def test_an_unknown_deck_is_a_usage_error(alice: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    assert alice("games", "--deck", "tarot").code == Exit.USAGE
    monkeypatch.setenv("HKOJI_DECK", "tarot")
    done = alice("games")
    assert done.code == Exit.USAGE
    assert "HKOJI_DECK" in done.err
