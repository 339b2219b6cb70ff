"""Cases of docs/spec/log.md decides where a reader could guess: at which step and entry a log fails, and who is named.

`hkoji audit` judges each log. docs/spec/audit.sh, which takes long to start, judges one log of each case too, as far as
it goes: the one that is wrong, and not the right one beside it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

import pytest

from hkoji.audit.keyring import ExpectedKeys
from hkoji.audit.log_audit import audit
from hkoji.cli.audit.report import ClockAccount
from hkoji.game import entry_kinds
from hkoji.game.agreement import Agreement, TimeControl
from hkoji.game.entry_kinds.key_changes import Delegate
from hkoji.log.mail_claim import MailGrade
from hkoji.log.private_key import PrivateKey
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.lab.two_audits.damaged_held import delegated, linked
from tests.support.adversary import follow
from tests.support.drafts import Draft, draft, pins, write_log
from tests.support.false_plays import DEAL
from tests.support.shell import run
from tests.support.shell_audit import by_hkoji, by_script, parsed_by_script, tools
from tests.support.table import Table, held_game, new_game, whole_game

__all__ = ["tools"]

BOTH = "bob and server"
CAROL = {"key": None, "name": "carol"}
Found = list[tuple[int, int | None, str | None]]


def found(log: bytes, known: ExpectedKeys, folder: Path | None = None) -> Found:
    """The audit's findings: step, entry and signer. With a folder the script judges the log too, and agrees."""
    if folder is not None:
        path = folder / "log.jsonl"
        path.write_bytes(log)
        script, hkoji = by_script(path, known), by_hkoji(log, known)
        assert script.agrees(hkoji), (script, hkoji)
    return [(int(each.step), each.entry, each.signer) for each in audit(log, known).findings]


def edited(table: Table, number: int, change: Callable[[Draft], object], upto: int | None = None) -> bytes:
    """The log with entry `number` changed and all signed anew, up to and including entry `upto`."""
    drafts = draft(table)
    change(drafts[number])
    return write_log(drafts[: None if upto is None else upto + 1])


def with_body(**changes: object) -> Callable[[Draft], object]:
    return lambda it: it.body.update(changes)


def entry_of(table: Table, kind: str, action: str | None = None) -> int:
    """The first entry of a kind."""
    entries = (line.entry for line in table.lines if line.entry.kind == kind)
    return next(each.seq for each in entries if action in (None, each.body.get("action")))


# --- kinds and who may append -----------------------------------------------------------------------------------------


def test_a_host_cannot_invite_herself_and_nobody_is_server(tmp_path: Path) -> None:
    table = new_game(1)
    herself = edited(table, 1, with_body(invite={"key": None, "name": "alice"}))
    assert found(herself, pins(table), tmp_path) == [(8, 1, "alice and server")]
    invites_server = with_body(invite={"key": None, "name": "server"})
    assert found(edited(table, 1, invites_server, 1), pins(table)) == []
    assert found(edited(table, 1, invites_server, 2), pins(table), tmp_path) == [(8, 2, BOTH)]


def test_a_guest_cannot_repeat_the_commitment_of_the_host(tmp_path: Path) -> None:
    table = new_game(1)
    host = table.lines[1].entry.body["entropy_commit"]
    assert found(edited(table, 2, with_body(entropy_commit=host), 2), pins(table), tmp_path) == [(8, 2, BOTH)]


def with_action_or_chance(kind: str) -> tuple[Table, int]:
    """A game and the number of its first entry of the kind, which has all parts that such an entry may have."""
    table = new_game(5, GeishasRoad("host", "random"))
    if kind == "move":
        table = new_game(1)
        table.send(table.move(next(each for each in table.course.state.legal_actions() if each[0] == "1")))
    return table, entry_of(table, kind)


def test_forms_are_for_step_1() -> None:
    wrong: dict[tuple[str, str], list[object]] = {
        ("move", "action"): ["", "1" * 33, 1, None],
        ("move", "commit"): [[], ["ab" * 32] * 3, ["ab"], None, "ab" * 32],
        ("chance", "markers"): ["", "A1", "A B", None, 1],
        ("chance", "first"): [2, -1, None, "0", True],
    }
    logs = []
    for (kind, field), values in wrong.items():
        for value in values:
            table, number = with_action_or_chance(kind)
            logs.append(edited(table, number, with_body(**{field: value}), number))
            (finding,) = audit(logs[-1], pins(table)).findings
            assert (finding.step, finding.entry, finding.signer) == (1, number, None), (field, value)
    assert parsed_by_script(logs) == [by_hkoji(log, {}) for log in logs]


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        *(("move", {"action": action}) for action in ("1" * 32, "zzz", "1Z", "3BA", "-A", " 1X")),
        ("move", {"commit": ["ab" * 32, "cd" * 32]}),
        ("move", {"action": "2XX", "commit": ["ab" * 32] * 2}),
        *(("chance", {"markers": markers}) for markers in ("AA", "ABC", "ab", "AF", "B")),
        ("chance", {"first": 0, "markers": "AB"}),
    ],
)
def test_the_meaning_of_forms_is_for_step_8(kind: str, changes: dict[str, object]) -> None:
    table, number = with_action_or_chance(kind)
    author = table.lines[number].entry.by
    log = edited(table, number, with_body(**changes), number)
    (finding,) = audit(log, pins(table)).findings  # about the rules the script says nothing
    named = author if author == "server" else f"{author} and server"
    assert (finding.step, finding.entry, finding.signer) == (8, number, named)


def test_an_empty_list_of_openings_has_the_form_of_one_and_opens_too_little() -> None:
    table = whole_game(3)
    number = entry_of(table, "reveal")
    openings = table.lines[number].entry.body["openings"]
    assert isinstance(openings, list)
    wrong: list[object] = [[], openings[::-1], openings[:1] * 2]
    logs = [edited(table, number, with_body(openings=each), number) for each in wrong]
    assert [found(log, pins(table)) for log in logs] == [[(8, number, "server")], *[[(1, number, None)]] * 2]
    empty, *others = parsed_by_script(logs)
    assert empty.agrees(by_hkoji(logs[0], {}))
    assert others == [by_hkoji(log, {}) for log in logs[1:]]


def test_no_player_may_append_where_the_service_owes_an_entry(tmp_path: Path) -> None:
    table = new_game(2, Hanamikoji("random"))
    number = entry_of(table, "chance")

    def resigns(it: Draft) -> None:
        it.value.update(by="bob", kind="resign", body={})
        it.signer, it.namespace = table.keys[1], "hkoji.entry.v1"

    assert found(edited(table, number, resigns, number), pins(table), tmp_path) == [(8, number, BOTH)]


# --- keys -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("linked_join", "expected"), [(True, (4, 1, None)), (False, (8, 1, BOTH))])
def test_a_join_before_every_open_has_no_link(
    linked_join: bool, expected: tuple[int, int, str], tmp_path: Path
) -> None:
    table = linked()
    drafts = draft(table)
    offer, opened, joined = drafts[:3]
    opened.value["seq"], joined.value["seq"] = 2, 1
    if not linked_join:
        del joined.body["link_sig"]
    assert found(write_log([offer, joined, opened]), pins(table), tmp_path) == [expected]


def test_of_an_expected_name_every_first_key_and_every_revoke_is_compared_also_held(tmp_path: Path) -> None:
    held = held_game(22, held=(0, 1))
    text = held.text.encode()
    assert found(text, {"server": held.server.public}) == []
    for name, number in (("alice", 1), ("bob", 2)):
        known = {"server": held.server.public, name: PrivateKey.from_seed(bytes(32)).public}
        assert found(text, known, tmp_path) == [(3, number, None)]
    revoked = new_game(15)
    own = {name: key.public for name, key in zip(revoked.names, revoked.keys, strict=True)}
    seat = revoked.course.actor
    assert seat is not None
    number = len(revoked.lines)
    revoked.revoke(seat)
    assert found(revoked.text.encode(), own, tmp_path) == [(3, number, None)]
    assert found(revoked.text.encode(), {}) == []


def test_a_rekey_and_a_delegate_are_not_compared_with_the_expected_keys(tmp_path: Path) -> None:
    table = new_game(14)
    own = {name: key.public for name, key in zip(table.names, table.keys, strict=True)}
    seat = table.course.actor
    assert seat is not None
    table.rekey(seat)
    table.play(1)
    while table.course.actor != seat:
        table.play(1)
    table.delegate(seat)
    assert found(table.play(2).text.encode(), own, tmp_path) == []


@pytest.mark.parametrize("ended", [True, False])
def test_a_held_key_is_delegated_once(ended: bool, tmp_path: Path) -> None:
    """After an end, or with another grade in its place, the service has to make another key."""
    table = held_game(23, held=()).play(2)
    seat = table.course.actor
    assert seat is not None

    def next_turn() -> None:
        table.play(1)
        while table.course.actor != seat:
            table.play(1)

    table.delegate(seat, MailGrade.TOKEN)
    first = Delegate.parse(dict(table.lines[-1].entry.body))
    next_turn()
    if ended:
        table.end_delegation(seat)
        next_turn()
    again = follow(
        table.server, table.lines[-1], Delegate(first.gateway, MailGrade.DKIM), table.names[seat], table.keys[seat]
    )
    table.lines.append(again)
    name = f"{table.names[seat]} and server"
    assert found(table.text.encode(), pins(table), tmp_path) == [(8, again.entry.seq, name)]
    table.lines.pop()
    table.delegate(seat, MailGrade.DKIM)
    assert found(table.text.encode(), pins(table)) == []
    assert len(delegated().course.setup.held_keys) == 1


# --- steps ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ruleset", [Hanamikoji("random"), GeishasRoad("random", "random")], ids=lambda each: each.name)
@pytest.mark.parametrize("carol", [True, False])
def test_a_false_chance_is_found_behind_what_step_8_rejects(ruleset: Hanamikoji, carol: bool, tmp_path: Path) -> None:
    table = new_game(2, ruleset)
    table.send(table.entry(0, entry_kinds.Resign()))
    number = entry_of(table, "chance")
    drafts = draft(table)
    drafts[number].body["first"] = 1 - int(drafts[number].body["first"])
    if carol:
        drafts[1].body["invite"] = CAROL
    expected: Found = [(7, number, "server"), *([(8, 2, BOTH)] if carol else [])]
    assert found(write_log(drafts), pins(table), tmp_path if carol else None) == expected


def test_seats_are_those_of_the_first_open_and_the_first_join_also_for_step_7(tmp_path: Path) -> None:
    """Others take nothing from the entropy of the players."""
    table = new_game(2, Hanamikoji("random"))
    table.send(table.entry(0, entry_kinds.Resign()))
    drafts = draft(table)
    number = entry_of(table, "chance")
    drafts[number].body["first"] = 1 - int(drafts[number].body["first"])
    carol = PrivateKey.from_seed(b"\x0c" * 32)
    for kind, like in (("open", drafts[1]), ("join", drafts[2])):
        other = copy.deepcopy(like)
        other.value["by"], other.body["key"], other.signer = "carol", carol.public.text, carol
        made = [*copy.deepcopy(drafts[:3]), other, *copy.deepcopy(drafts[3:])]
        for seq, it in enumerate(made):
            it.value["seq"] = seq
        named = f"carol with the unpinned key {carol.public.fingerprint} and server"
        assert other.kind == kind
        assert found(write_log(made), pins(table), tmp_path) == [(7, number + 1, "server"), (8, 3, named)]


@pytest.mark.parametrize("deal", [DEAL, None])
@pytest.mark.parametrize("seeds", [(), (3,), (4,)], ids=["neither", "guest", "host"])
def test_step_7_needs_the_entropy_of_both_with_each_dealer(
    deal: tuple[str, str] | None, seeds: tuple[int, ...], tmp_path: Path
) -> None:
    """So a `chance` before it is rejected by step 8, though the seed of a duplicate deal says that it is false.

    The script judges the false one only, because it says nothing about the true one either way.
    """
    table = new_game(2, Hanamikoji("random"), deal)
    table.send(table.entry(0, entry_kinds.Resign()))
    if deal:
        table.unseal()
    drafts = draft(table)
    false = 1 - int(drafts[5].body["first"])
    for first in (0, 1):
        made = [*drafts[:3], *(drafts[seq] for seq in seeds), *drafts[5:]]
        for seq, it in enumerate(made):
            it.value["seq"] = seq
        made[3 + len(seeds)].body["first"] = first
        named = "alice and server" if seeds == (4,) else "server"
        folder = tmp_path if first == false and seeds else None
        assert found(write_log(made), pins(table), folder) == [(8, 3 + (seeds == (3,)), named)]


def test_a_chance_in_a_wrong_place_is_compared_with_the_seed_too(tmp_path: Path) -> None:
    table = new_game(2, Hanamikoji("random")).play(1)
    table.send(table.entry(0, entry_kinds.Resign()))
    drafts = draft(table)
    number = entry_of(table, "chance")
    again = copy.deepcopy(drafts[number])
    place = len(drafts) - 1
    for it, seq in ((again, place), (drafts[-1], place + 1)):
        it.value["seq"] = seq
    true = drafts[number].body["first"]
    for first, step in ((true, 8), (1 - true, 7)):
        again.body["first"] = first
        log = write_log([*drafts[:place], again, drafts[-1]])
        assert found(log, pins(table), tmp_path) == [(step, place, "server")]


@pytest.mark.parametrize("by", ["server", "bob"])
def test_an_end_that_is_not_due_is_found_in_step_9(by: str, tmp_path: Path) -> None:
    table = new_game(3)
    table.send(table.entry(0, entry_kinds.Resign()))
    drafts = draft(table)
    end = drafts.pop()
    del drafts[-1]
    end.value["seq"] = len(drafts)
    if by == "bob":
        end.value["by"], end.signer, end.namespace = "bob", table.keys[1], "hkoji.entry.v1"
    named = BOTH if by == "bob" else "server"
    assert found(write_log([*drafts, end]), pins(table), tmp_path) == [(9, len(drafts), named)]


def test_step_5_takes_kinds_from_any_author_and_own_entries_from_the_service(tmp_path: Path) -> None:
    """A `timeout` of bob's is judged as one, and his `at` is no time of record."""
    table = new_game(3)
    table.lines.append(follow(table.server, table.lines[-1], entry_kinds.Timeout(0), "bob", table.keys[1]))
    assert found(table.text.encode(), pins(table), tmp_path) == [(5, len(table.lines) - 1, "server")]
    timed = Table(Hanamikoji(), 3, agreement=Agreement(TimeControl(600, 1200, 0, 1200))).begin()
    move = timed.move(timed.course.state.legal_actions()[0])
    early = timed.entry(
        timed.course.actor or 0, entry_kinds.parse_body("move", move.entry.body), at="2026-01-01T00:00:00Z"
    )
    timed.send(type(move)(early.entry, early.sig, move.opening))
    assert found(timed.text.encode(), pins(timed), tmp_path) == []


def test_a_finding_before_what_is_not_understood_is_the_exit_code(tmp_path: Path) -> None:
    table = new_game(3).play(3)
    drafts = draft(table)
    drafts[-1].value["kind"] = "plan"
    path = tmp_path / "log.jsonl"
    for finding in (False, True):
        if finding:
            drafts[5].sig = "AAAA"
        path.write_bytes(write_log(drafts))
        last = len(drafts) - 1
        expected: Found = [(1, last, None), *([(4, 5, None)] if finding else [])]
        assert found(path.read_bytes(), pins(table), tmp_path) == expected
        assert by_hkoji(path.read_bytes(), pins(table)).exit == (1 if finding else 3)  # and so is the script's
        assert run("audit", str(path)).code == (8 if finding else 3)


def test_a_log_whose_end_holds_is_finished_whatever_follows(tmp_path: Path) -> None:
    table = new_game(3)
    table.send(table.entry(0, entry_kinds.Resign()))
    table.lines.append(follow(table.server, table.lines[-1], entry_kinds.Timeout(0)))
    last = len(table.lines) - 1
    assert found(table.text.encode(), pins(table), tmp_path) == [(5, last, "server")]
    assert audit(table.text, pins(table)).finished
    assert not audit("".join(table.text.splitlines(keepends=True)[: last - 1]), pins(table)).finished


@pytest.mark.parametrize("played", [False, True])
def test_the_account_of_a_clock_ends_with_the_turn_that_was_not_played(played: bool) -> None:
    """The reserve is the one that the clock leaves, which takes nothing for the entry that did not come."""
    table = Table(Hanamikoji(), 3, agreement=Agreement(TimeControl(600, 1200, 60, 1200))).begin()
    table.wait(700).play(1)
    if played:  # bob's answer or action; he owes the next entry too
        table.wait(700).play(1)
    owes, clock, last = table.course.actor, table.course.clock, table.now
    assert owes is not None
    assert clock is not None
    same = clock.settled(last).seat == owes
    assert same is played
    table.wait(99_999).time_out()
    account = ClockAccount(audit(table.text, pins(table))).to_json()
    turn = account["turns"][-1]
    assert (turn["seat"], turn["until"]) == (owes, table.now)
    assert turn["spent"] == 99_999 + (700 if same else 0)
    assert (turn["begin"] == last) is not same
    assert turn["reserve"] == account["reserve"][owes] == (1100 if same else 1200)
