"""Inventions of a player alone about times, to blame an honest service: nothing of it convicts anybody.

The player has the public log, everything that the service has signed, and the own key.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

from hkoji.audit.evidence_file import EvidenceFile, format_evidence
from hkoji.audit.log_audit import AuditStep, audit
from hkoji.game import entry_kinds
from hkoji.game.agreement import Agreement
from hkoji.game.clock import Outage, Way
from hkoji.game.entry_kinds import Annul, Credit, EntryBody, parse_body
from hkoji.log import sshsig
from hkoji.log.game_statements import SignedHead, make_annul
from hkoji.log.line import Line, SignedReceipt, format_log, make_receipt
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.adversary import follow
from tests.support.forgery import pins
from tests.support.framing import Story, head_of, shown, story_on_the_clock
from tests.support.shell import run
from tests.support.table import AT, Table
from tests.support.timed_table import later
from tests.trust.clock_lies import bare, names, scripted

DAY = 86_400
BY_ONESELF = {"bob"}
"""Bob can sign what the rules forbid, and then it is he who has done so."""


@cache
def told_of(number: int) -> Story:
    """An honest game with gifts, outages, credits and a head for every answer."""
    if number == 0:
        return story_on_the_clock(8, Hanamikoji(), 9)
    return story_on_the_clock(9, GeishasRoad(), 7, times_out=True)


stories = pytest.mark.parametrize("number", [0, 1])


def time_of(line: Line) -> str:
    assert line.receipt is not None
    return line.receipt.receipt.at


def own(table: Table, before: Line, body: EntryBody, seen: str) -> Line:
    """An entry by bob that was never sent, with any `seen` he likes."""
    entry = table.entry(1, body, prev=before.entry.head, seq=before.entry.seq + 1, seen=seen)
    return Line(entry.entry, entry.sig)


def receipted(table: Table, line: Line) -> Line:
    """The line as a service would have taken it that does not look at times."""
    assert line.entry.seen is not None
    entry = line.entry
    receipt = make_receipt(at=line.entry.seen, game=entry.game, head=entry.head, seq=entry.seq)
    return line._replace(receipt=SignedReceipt(receipt, table.server.sign(sshsig.RECEIPT, receipt.message)))


def files(story: Story, number: int, made: Sequence[Line]) -> Iterator[EvidenceFile]:
    """Files with `made` from entry `number` on, as the log or as what was refused, and with all that is signed."""
    lines, game = story.table.lines, story.table.game
    log = format_log((*bare(lines[:number]), *made))
    yield EvidenceFile(game, {}, log)
    yield EvidenceFile(game, {}, log, story.views, (), story.heads)
    yield EvidenceFile(game, {}, log, story.views, tuple(lines), story.heads)
    yield EvidenceFile(game, {}, format_log(lines[:number]), story.views, tuple(made), story.heads)
    yield EvidenceFile(game, {}, story.table.text, story.views, tuple(made), story.heads)
    yield EvidenceFile(game, {}, "", (), (*made, *lines), story.heads)


def on_the_command_line(folder: Path, story: Story, made: EvidenceFile) -> int:
    """The exit code of `hkoji audit`, which names nobody."""
    file = folder / "e"
    file.write_text(format_evidence(made))
    known = (f"--key={name}={key.text}" for name, key in pins(story.table).items())
    done = run("audit", str(file), *known)
    assert not [line for line in done.out.splitlines() if line.startswith("step ") and ": server: " in line]
    return done.code


# --- what was never sent ----------------------------------------------------------------------------------------------


@stories
def test_a_seen_that_was_never_sent(tmp_path: Path, number: int) -> None:
    """Bob writes entries of his own with false times, so that earlier ones seem late, or told in two ways.

    With a receipt of the service they would convict it.
    """
    story = told_of(number)
    table = story.table
    for place in range(3, len(table.lines), 4):
        before = table.lines[place - 1]
        for seconds in (-3600, -1, 0, 1, 10 * DAY):
            seen = later(time_of(before), seconds)
            first = own(table, before, entry_kinds.Resign(), seen)
            second = own(table, first, entry_kinds.Seed("ab" * 32), later(seen, 20 * DAY))
            third = own(table, second, entry_kinds.Resign(), later(seen, 40 * DAY))
            for made in files(story, place, (first, second, third)):
                assert names(made, table) <= BY_ONESELF, (place, seconds)
    true, last = EvidenceFile(table.game, {}, table.text, story.views, (), story.heads), table.lines[6]
    assert names(true, table) == set()
    assert on_the_command_line(tmp_path, story, true) == 0
    false = own(table, last, entry_kinds.Resign(), later(time_of(last), 1))
    for made in files(story, 7, (false,)):
        on_the_command_line(tmp_path, story, made)
    taken = EvidenceFile(table.game, {}, format_log(table.lines[:7]), (), (receipted(table, false),))
    assert names(taken, table) == {"server"}


@pytest.mark.parametrize("names_the_join", ["head", "view", "receipt", "nothing"])
def test_a_seen_that_makes_a_join_late(names_the_join: str) -> None:
    """The service has named the join; its time is in the receipt, which is not in the file, or not the only time."""
    expires = later(AT, 3600)
    table = Table(seed=3, agreement=Agreement(expires=expires))
    table.open()
    table.join()
    join, head, view = table.lines[2], head_of(table), shown(table, 1)
    for seen in (expires, later(expires, 1), later(expires, DAY)):
        made_up = own(table, join, entry_kinds.Seed(table.entropy[1]), seen)
        log = format_log((*bare(table.lines), made_up))
        made = EvidenceFile(table.game, {}, log)
        match names_the_join:
            case "head":
                made = made._replace(heads=(head,))
            case "view":
                made = made._replace(views=(view,))
            case "receipt":
                made = made._replace(refused=(join,))
        assert names(made, table) == set()
        sent = made._replace(refused=(*made.refused, receipted(table, made_up)))
        assert names(sent, table) == ({"server"} if seen > expires or names_the_join == "receipt" else set())


@stories
def test_an_own_entry_in_the_place_of_a_credit(tmp_path: Path, number: int) -> None:
    story = told_of(number)
    table = story.table
    places = [line.entry.seq for line in table.lines if line.entry.kind == "credit"]
    assert len(places) > 1
    for place in places:
        move = table.lines[place - 1]
        made_up = own(table, move, entry_kinds.Resign(), time_of(move))
        after = own(table, made_up, entry_kinds.Resign(), later(time_of(move), 10 * DAY))
        for lines in ((), (made_up,), (made_up, after)):
            for made in files(story, place, lines):
                assert names(made, table) <= BY_ONESELF, (place, len(lines))
        cut = EvidenceFile(table.game, {}, format_log(table.lines[:place]), (), (made_up,), story.heads[:1])
        assert on_the_command_line(tmp_path, story, cut) == 0
        if place in (places[0], places[-1]):  # no credit is before it, and one was after each turn before
            assert scripted(tmp_path / str(place), (*bare(table.lines[:place]), made_up), pins(table)) == (0, None)
    late = [place for place in places if found_late(table, place)]
    assert late


def found_late(table: Table, place: int) -> bool:
    """Whether a service that had really gone on without the credit `place` would have taken a late move."""
    move = table.lines[place - 1]
    resigned = receipted(table, own(table, move, entry_kinds.Resign(), time_of(move)))
    faults = audit(format_log((*table.lines[:place], resigned)), pins(table)).findings
    return [(each.step, each.entry, each.signer) for each in faults] == [(AuditStep.TIMES, place - 1, "server")]


@pytest.mark.parametrize("lie", ["another time", "a time in an outage"])
def test_a_seen_that_was_never_sent_in_an_archive(tmp_path: Path, lie: str) -> None:
    """Bob adds an own entry to a copy of a log. If the service had taken it, it would be convicted."""
    table = told_of(0).table
    credits = [parse_body("credit", line.entry.body) for line in table.lines if line.entry.kind == "credit"]
    outage = next(each.outages[0] for each in credits if isinstance(each, Credit) and each.outages)
    other = table
    if lie == "a time in an outage":
        other = Table(seed=12, host_key=table.server).begin()
        seen = later(outage.begin, 1)
    else:
        seen = later(time_of(table.lines[5]), 1)
    made_up = own(other, other.lines[5 - (other is not table)], entry_kinds.Resign(), seen)
    before = bare(other.lines[: made_up.entry.seq])
    for name, last, signers in (("made up", made_up, set()), ("taken", receipted(other, made_up), {"server"})):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "a.jsonl").write_text(table.text)
        lines = (*other.lines[: made_up.entry.seq], last) if signers else (*before, last)
        (folder / "b.jsonl").write_text(format_log(lines))
        done = run("audit", str(folder), f"--key=server={table.server.public.text}", "--json")
        told = [json.loads(line) for line in done.out.splitlines()]
        blamed = {each["signer"] for each in told if "contradiction" in each}
        blamed |= {found["signer"] for each in told for found in each.get("findings", ())}
        assert {each for each in blamed if each} == signers, told
        assert done.code == 8 or not signers


@stories
def test_words_put_into_the_services_mouth(tmp_path: Path, number: int) -> None:
    """Bob signs them with his own key; gifts and wishes in them are true. By the service's key they convict it."""
    story = told_of(number)
    table, place = story.table, 6
    owes = next(line.entry.by for line in table.lines[place:] if line.entry.by in table.names)
    before = table.lines[place - 1]
    wishes = [make_annul(game=table.game, head=before.entry.head, name=name) for name in table.names]
    host, guest = (key.sign(sshsig.ANNUL, each.message) for key, each in zip(table.keys, wishes, strict=True))
    late = later(time_of(before), 10 * DAY)
    lies: tuple[tuple[EntryBody, str], ...] = (
        (entry_kinds.Timeout(0), time_of(before)),
        (entry_kinds.Timeout(1), time_of(before)),
        (Annul(None, (), table.names.index(owes), (host, guest)), late),
        (Credit(None, (Outage(later(time_of(before), -9), later(time_of(before), 9), Way.HTTP),)), time_of(before)),
        (entry_kinds.Lapse("expired"), late),
    )
    for body, at in lies:
        true = follow(table.server, before, body, at=at)
        false = follow(table.keys[1], before, body, at=at)
        for made in files(story, place, (false,)):
            assert names(made, table) <= BY_ONESELF, body
        made = EvidenceFile(table.game, {}, format_log((*table.lines[:place], false)))
        assert names(made, table) == set(), body
        assert names(made._replace(log=format_log((*table.lines[:place], true))), table) == {"server"}, body
    last = head_of(table, place - 1, after=10 * DAY)
    forged = SignedHead(last.statement, table.keys[1].sign(sshsig.HEAD, last.statement.message))
    whole = EvidenceFile(table.game, {}, table.text, story.views, (), (*story.heads, forged))
    assert names(whole, table) == set()
    assert on_the_command_line(tmp_path, story, whole) == 0
    assert names(whole._replace(heads=(*story.heads, last)), table) == {"server"}
