"""The example of docs/adding-an-entry.md works as a kind of entry: refereed, replayed by everybody, audited."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from types import ModuleType
from unittest.mock import patch

import pytest

from hkoji.audit.log_audit import AuditStep, audit
from hkoji.errors import ForbiddenError, IllegalError, MalformedError, NotUnderstoodError
from hkoji.game.clock import Effect
from hkoji.game.course import EntryBody
from hkoji.game.entry_kinds import KINDS, Timeout, parse_body
from hkoji.game.replay import replay
from hkoji.log.line import format_log
from hkoji.log.private_key import PrivateKey
from tests.support.adversary import follow
from tests.support.docs import DOCS
from tests.support.table import Table, new_game, refused
from tests.support.timed_table import TimedTable, later

PAGE = DOCS / "adding-an-entry.md"


@pytest.fixture
def remark(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[EntryBody]]:
    """Adds the class of the page to the kinds."""
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    module = ModuleType("remark_example")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(example, str(PAGE), "exec"), module.__dict__)
    kind: type[EntryBody] = module.Remark
    with patch.dict(KINDS, {kind.KIND: kind}):
        yield kind


def played(kind: type[EntryBody]) -> Table:
    """A game in which the host has made a remark out of turn."""
    table = new_game(5).play(3)
    table.send(table.entry(1 - (table.course.actor or 0), kind.parse({"text": "well played"})))
    return table


def test_it_is_refereed_replayed_and_audited(remark: type[EntryBody]) -> None:
    table = played(remark)
    assert table.lines[-1].entry.kind == "remark"
    table.play()
    found = audit(table.text)
    assert (found.ok, found.finished) == (True, True), found.findings
    assert [step.entry.kind for step in replay(table.lines).steps].count("remark") == 1
    body = remark.parse({"text": "x"})
    assert parse_body(remark.KIND, body.to_json()) == body


@pytest.mark.parametrize("seat", [0, 1])
def test_it_has_no_effect_on_the_clock(remark: type[EntryBody], seat: int) -> None:
    """The turn of the seat that is to act goes on, and a gift for it stays good."""
    assert remark.EFFECT is Effect.NONE
    table = TimedTable(seed=5)
    table.begin().play(3)
    actor, due = table.course.actor, table.deadline()
    assert actor is not None
    assert due is not None
    table.wait(30).give_time(10)
    table.send(table.entry(seat, remark.parse({"text": "are you there?"})))
    assert (table.course.actor, table.deadline()) == (actor, later(due, 10))
    table.gifts = ()
    assert table.deadline() == due
    for at, ok in ((due, False), (later(due, 1), True)):
        timeout = follow(table.server, table.lines[-1], Timeout(actor), at=at)
        assert audit(format_log([*table.lines, timeout])).ok is ok


def test_two_new_keys_with_it_in_between_do_not_follow_each_other_directly(remark: type[EntryBody]) -> None:
    table = new_game(5).play(3)
    actor = table.course.actor
    assert actor is not None
    new, again = PrivateKey.from_seed(b"\x01" * 32), PrivateKey.from_seed(b"\x02" * 32)
    table.rekey(actor, new)
    assert table.course.rekeyed
    error = refused(table, table.entry(actor, table.rekeying(actor, again)), IllegalError)
    assert "without a move in between" in error.message
    table.send(table.entry(actor, remark.parse({"text": "a new key"})))
    assert not table.course.rekeyed
    table.rekey(actor, again)
    assert table.course.rekeyed


def test_the_refusals_of_the_page_are_refused(remark: type[EntryBody]) -> None:
    table = Table(seed=5)
    with pytest.raises((IllegalError, ForbiddenError)):
        table.send(table.entry(0, remark.parse({"text": "too early"})))
    table.begin()
    course = table.course
    for wrong in ({"text": ""}, {"text": "x" * 201}, {"text": 7}, {}):
        with pytest.raises(MalformedError):
            parse_body(remark.KIND, wrong)  # type: ignore[arg-type] # wrong on purpose
    with pytest.raises(NotUnderstoodError):
        parse_body(remark.KIND, {"text": "x", "to": "bob"})
    assert table.course is course


def test_a_program_without_it_does_not_understand_the_log(remark: type[EntryBody]) -> None:
    text = played(remark).text
    seq = len(text.splitlines()) - 1
    with patch.dict(KINDS):
        del KINDS[remark.KIND]
        (finding,) = audit(text).findings
    assert (finding.step, finding.entry, finding.signer, finding.understood) == (AuditStep.PARSE, seq, None, False)


def test_the_page_names_files_that_are_there_and_every_kind() -> None:
    page = PAGE.read_text()
    named = set(re.findall(r"`((?:hkoji|tests|scripts|docs)/[\w./-]+)`", page))
    assert {name for name in named if not (DOCS.parent / name).exists()} == set()
    for kind, each in KINDS.items():
        family = each.__module__.rpartition(".")[2]
        assert re.search(rf"\| `{family}\.py` \|.*`{kind}`", page), (kind, family)
