"""With the service down, or on request, `show`, `next`, `games` and `log` print what is kept here, and say so."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import pytest

from hkoji.cli.games.game_words import local_time
from hkoji.client.kept.game import Vault
from hkoji.client.transport import LATER, HttpAnswer
from hkoji.errors import NetworkError
from tests.support.memory_service import AT, URL, MemoryService, begin, play_on, registered
from tests.support.shell import Shell

SAME_BYTES = "sends the same bytes"


@pytest.fixture
def game(alice: Shell, bob: Shell) -> str:
    """A game that waits for alice's first move, and that bob has seen so."""
    made = begin(alice.seat, bob.seat)
    alice.seat.position(made)
    bob.seat.position(made)
    return made


def refuse(service: MemoryService) -> None:
    def nothing(_method: str, _path: str) -> None:
        raise NetworkError(URL, "Connection refused", hint=LATER)

    service.before = nothing


def bad_gateway(service: MemoryService) -> None:
    """The answer of a proxy for a service that is down."""
    service.tamper = lambda _method, _path, _answer: HttpAnswer(502, b"<html>Bad Gateway</html>")


@pytest.fixture(params=[refuse, bad_gateway])
def down(request: pytest.FixtureRequest, service: MemoryService) -> Callable[[], None]:
    """Takes the service down."""
    return lambda: request.param(service)


def asked(service: MemoryService) -> int:
    """How often the service is asked from now on, as long as it is up: counted from here."""
    return len(service.requests)


# --- one game ---------------------------------------------------------------------------------------------------------


def test_a_game_is_shown_as_it_is_kept(alice: Shell, game: str, down: Callable[[], None]) -> None:
    board, value = alice("show", game), alice("show", game, "--json").json
    os.utime(alice.seat.folder(game) / "lock", (1_700_000_000, 1_700_000_000))
    down()
    shown = alice("show", game)
    assert shown.code == 7
    assert shown.out == board.out
    assert "cannot reach" in shown.err
    assert local_time("2023-11-14T22:13:20Z", seconds=True) in shown.err  # when the service last answered
    assert f"recorded at {local_time(AT, seconds=True)}" in shown.err
    assert SAME_BYTES not in shown.err
    told = alice("show", game, "--json")
    assert told.code == 7
    assert told.error["code"] == "network"
    assert told.json == {
        **value,
        "offline": True,
        "as_of": "2023-11-14T22:13:20Z",
        "recorded": AT,
        "unsent": [],
    }
    assert value["hand"]  # the own cards are there, and no others
    assert set(value["state"]["hands"][1]) == {"X"}


def test_offline_asks_no_service(alice: Shell, game: str, service: MemoryService) -> None:
    board, before = alice("show", game).out, asked(service)
    shown = alice("show", game, "--offline")
    assert (shown.code, shown.out) == (0, board)
    assert "saved cop" in shown.err
    assert "cannot reach" not in shown.err
    told = alice("show", game[:6], "--offline", "--json").json
    assert told["offline"] is True
    assert alice("log", game, "--offline").code == 0
    assert alice("games", "--offline").code == 0
    assert alice("next", "--offline").code == 0
    assert asked(service) == before


def test_with_the_service_there_nothing_is_said_of_it(alice: Shell, game: str) -> None:
    for words in (["show", game], ["log", game], ["games"], ["next"]):
        done = alice(*words)
        assert (done.code, done.err) == (0, "")
    assert "offline" not in alice("show", game, "--json").json
    assert "offline" not in alice("games", "--json").json[0]


def test_the_service_confirms_again_whatever_it_answers(alice: Shell, game: str) -> None:
    """The time is that of the last answer, also of one without news."""
    os.utime(alice.seat.folder(game) / "lock", (1_700_000_000, 1_700_000_000))
    assert alice("show", game).code == 0
    assert alice("show", game, "--offline", "--json").json["as_of"] > "2026"


@pytest.mark.parametrize("words", [["show"], ["show", "--json"], ["log"]], ids=" ".join)
@pytest.mark.parametrize(
    ("lang", "said"),
    [
        ("en", "warning: the kept log of game {} ended in an incomplete line; it has been completed from the service"),
        (
            "it",
            "attenzione: il registro della partita {} conservato qui finiva con una riga incompleta: è stato "
            "completato dal servizio",
        ),
    ],
)
def test_an_incomplete_line_is_completed_with_a_warning(
    alice: Shell, game: str, words: list[str], lang: str, said: str
) -> None:
    before = alice(*words, game)
    path = alice.seat.folder(game) / "log.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    done = alice(*words, game, "--lang", lang)
    assert (done.code, done.err) == (0, said.format(game[:8]) + "\n")
    assert path.read_bytes() == whole
    assert alice(*words, game) == before


def test_a_log_is_printed_as_it_is_kept(alice: Shell, game: str, down: Callable[[], None]) -> None:
    whole = alice("log", game).out
    down()
    done = alice("log", game)
    assert (done.code, done.out) == (7, whole)
    assert "saved cop" in done.err
    offline = alice("log", game, "--offline")
    assert (offline.code, offline.out) == (0, whole)


@pytest.mark.parametrize("command", ["show", "log"])
def test_a_game_that_is_not_kept(command: str, bob: Shell, alice: Shell, down: Callable[[], None]) -> None:
    other = str(alice("new", "--json").json["game"])
    done = bob(command, other, "--offline", "--json")
    assert done.code == 2
    assert done.error["code"] == "not-found"
    assert bob(command, other[:8], "--offline").code == 2
    down()
    failed = bob(command, other)
    assert failed.code != 0
    assert failed.out == ""
    assert not bob.seat.folder(other).exists()


def test_a_lie_is_not_taken_for_silence(alice: Shell, game: str, service: MemoryService) -> None:
    """A service that answers falsely is not down: nothing is shown."""
    service.tamper = lambda _method, _path, answer: answer._replace(body=b"{}")
    done = alice("show", game)
    assert (done.code, done.out) == (1, "")


# --- what waits to be sent --------------------------------------------------------------------------------------------


def test_an_own_move_that_waits_is_named(alice: Shell, game: str, service: MemoryService) -> None:
    notation = next(each for each in alice.seat.position(game).legal if each[0] == "2")

    def cut(method: str, path: str) -> None:
        if path.endswith("/entries"):
            refuse(service)
            service.before(method, path)

    service.before = cut
    sent = alice("move", game, notation)
    assert sent.code == 7
    assert SAME_BYTES in sent.err
    shown = alice("show", game, "--json")
    assert shown.code == 7
    assert shown.json["unsent"] == [{"seq": 5, "kind": "move", "action": notation}]
    assert shown.json["seq"] == 4
    plain = alice("show", game)
    assert notation in plain.err
    assert SAME_BYTES in plain.err
    offline = alice("show", game, "--offline")
    assert offline.code == 0
    assert SAME_BYTES in offline.err
    listed = alice("games", "--offline", "--json").json
    assert listed[0]["unsent"] == [{"seq": 5, "kind": "move", "action": notation}]
    assert SAME_BYTES in alice("games", "--offline").err
    service.before = lambda _method, _path: None
    assert alice("show", game, "--json").json["seq"] == 5


def test_a_move_signed_for_later_is_named(alice: Shell, game: str) -> None:
    notation = alice.seat.position(game).legal[0]
    assert alice("sign", game, notation).code == 0
    shown = alice("show", game, "--offline", "--json").json
    assert shown["unsent"] == [{"seq": 5, "kind": "move", "action": notation}]
    said = alice("show", game, "--offline").err
    assert notation in said
    assert SAME_BYTES not in said


def test_an_entry_that_is_on_record_is_not_unsent(alice: Shell, game: str) -> None:
    """Its answer was lost with the power, after the log had been kept."""
    submission = alice.seat.sign(game, alice.seat.position(game).legal[0])
    vault = Vault(alice.seat.folder(game))
    alice.seat.client.submit(submission)
    alice.seat.position(game)
    vault.keep_outbox(submission)
    assert alice("show", game, "--offline", "--json").json["unsent"] == []


@pytest.mark.parametrize("words", [["show", "GAME"], ["log", "GAME"], ["games"], ["next"], ["wait", "GAME"]])
def test_reads_do_not_promise_to_send_anything(
    words: list[str], alice: Shell, game: str, service: MemoryService
) -> None:
    """There is nothing to send."""
    registered(service, "carol", alice.seat.path.parent / "carol")
    refuse(service)
    done = alice(*[game if word == "GAME" else word for word in words])
    assert SAME_BYTES not in done.err


# --- lists ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["games", "next", "games --status playing", "games --status open"])
def test_lists_are_made_of_what_is_kept(command: str, alice: Shell, bob: Shell, down: Callable[[], None]) -> None:
    begun = [begin(alice.seat, bob.seat) for _ in range(2)]
    play_on((alice.seat, bob.seat), begun[1], 2)
    ended = begin(alice.seat, bob.seat)
    alice.seat.resign(ended)
    opened = str(alice("new", "--json").json["game"])
    invited = str(bob("new", "--invite", "alice", "--json").json["game"])
    watched = str(bob("new", "--json").json["game"])
    for each in (*begun, ended, opened, invited, watched):
        alice.seat.position(each)
    words = command.split()
    true = {each["game"]: each for each in alice(*words, "--json").json}
    assert {tuple(each.pop("news")) for each in true.values()} <= {(), ("over",)}  # which only the service could know
    offline = alice(*words, "--offline", "--json").json
    down()
    done = alice(*words, "--json")
    assert done.code == 7
    assert done.error["code"] == "network"
    assert done.json == offline
    assert all(each["offline"] is True and each["recorded"] == each["updated"] for each in offline)
    added = ("offline", "as_of", "recorded", "unsent")
    kept = {each["game"]: {name: each[name] for name in each if name not in added} for each in offline}
    assert kept == true
    assert watched not in kept
    people = alice(*words)
    assert people.code == 7
    assert "saved cop" in people.err
    for each in true:
        assert each[:8] in people.out


@pytest.mark.parametrize("option", ["--open", "--all"])
def test_everybodys_games_are_not_kept(option: str, alice: Shell, game: str, down: Callable[[], None]) -> None:
    done = alice("games", option, "--offline", "--json")
    assert done.code == 2
    assert "not kept" in done.error["message"]
    down()
    assert alice("games", option).out == ""


def test_a_game_whose_files_are_damaged_is_left_out(alice: Shell, bob: Shell, game: str) -> None:
    other = begin(alice.seat, bob.seat)
    (alice.seat.folder(game) / "log.jsonl").write_bytes(b"no log\n")
    listed = alice("games", "--offline", "--json")
    assert listed.code == 0
    assert [each["game"] for each in listed.json] == [other]
    assert game[:8] in listed.err


# --- scripts ----------------------------------------------------------------------------------------------------------


def test_a_batch_answers_with_both(alice: Shell, game: str, down: Callable[[], None]) -> None:
    down()
    done = alice("batch", stdin=f"show {game}\nshow {game} --offline\nnext\n")
    first, second, third = map(json.loads, done.out.splitlines())
    assert done.code == 7
    assert (first["ok"], first["error"]["exit_code"], first["result"]["offline"]) == (False, 7, True)
    assert (second["ok"], second["result"]["offline"]) == (True, True)
    assert third["result"][0]["offline"] is True


def test_a_kept_summary_has_the_fields_of_the_services(alice: Shell, game: str) -> None:
    from hkoji.wire import SummaryModel

    (listed,) = alice("games", "--offline", "--json").json
    added = {"annul", "clock", "offline", "as_of", "recorded", "unsent"}
    assert set(listed) - {"v"} - added == set(SummaryModel.__annotations__) - {"v"}
