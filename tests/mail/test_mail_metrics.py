"""The mail process shows Prometheus figures of mails and letters, and nobody's name, address or game."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from hkoji_server import mail_app
from hkoji_server.mail.courier import SmtpAnswer, SmtpRefusal
from hkoji_server.process.metrics import MailMetrics, watch_queue
from hkoji_server.service.mail.cases import AnswerKind, MailOutcome, part
from hkoji_server.service.players.held_players import HeldPlayers
from hkoji_server.service.players.limits import RateLimits
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.settings import Settings
from hkoji_server.store.closing import Closing
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_values import MailQueue, WaitingSum

from hkoji.errors import StorageError
from hkoji.log.private_key import PrivateKey
from hkoji.mail.commands import MailOrder, OrderKind
from hkoji.mail.mail import read_mail
from tests.mail.test_receiving import BOB, OWN, a_mail, report
from tests.support.loops import run
from tests.support.mail.list_world import ListedDns
from tests.support.metrics import free_port, read
from tests.support.new_database import copy_new_database
from tests.support.stores import sqlite_at

KEY = PrivateKey.from_seed(bytes(32))


class Pigeonhole:
    """Takes letters, and refuses those to some addresses."""

    def __init__(self) -> None:
        self.letters: list[tuple[str, bytes]] = []
        self.refused: set[str] = set()

    async def submit(self, sender: str, recipient: str, letter: bytes) -> None:
        if recipient in self.refused:
            raise SmtpRefusal(SmtpAnswer(550, "5.1.1"), of_recipient=True)
        self.letters.append((sender, letter))


class Counted:
    """A mail process on a store, in which the operator has invited bob. `figures` are without `hkoji_mail_`."""

    def __init__(self, store: Store) -> None:
        self.store, self.taker, self.metrics = store, Pigeonhole(), MailMetrics()
        sources, settings = ClockAndEntropy(), Settings(mail=OWN.mailbox)
        players = HeldPlayers(store, sources, KEY, settings, origin="https://h.example")
        run(players.invite("bob", BOB, "en", None))
        self.parts = mail_app.assemble(
            store,
            settings,
            sources,
            key=KEY,
            origin="https://h.example",
            limits=RateLimits(),
            submission=self.taker,
            look_up=ListedDns().look_up,
            metrics=self.metrics,
        )

    def deliver(self) -> bytes:
        """Sends what is due, and returns the last letter."""

        async def work() -> None:
            await self.parts.delivery.look()
            await self.parts.delivery.settle()

        run(work())
        return self.taker.letters[-1][1]

    def take(self, raw: bytes, to: str, *, null: bool = False) -> None:
        """Takes a mail by LMTP, and processes it."""

        async def work() -> None:
            await self.parts.receiving.receive(to, read_mail(raw), "lmtp", null_sender=null)
            await self.parts.worker.look()

        run(work())

    def figures(self) -> dict[str, float]:
        """The counters; those that are zero are left out."""
        port = free_port()
        hide = self.metrics.serve("127.0.0.1", port)
        found = read(port)
        hide()
        prefix = "hkoji_mail_"
        return {name.removeprefix(prefix): value for name, value in found.items() if value and "_created" not in name}


def test_each_figure_is_counted_where_it_happens_and_none_names_anybody(tmp_path: Path) -> None:
    def identity(store: Store) -> None:
        run(store.add_identity(KEY.to_openssh().decode(), "https://h.example"))

    copy_new_database(tmp_path / "hkoji.sqlite3", identity)
    with sqlite_at(tmp_path / "hkoji.sqlite3") as store:
        counted = Counted(store)
        invitation = counted.deliver().decode()
        found = re.search(r"Reply-To: hkoji <(play\+(\w+)@\S+)>", invitation)
        assert found
        to, token = found[1], found[2]
        counted.take(a_mail(b"accept\r\n\r\nhelp\r\n", To=to), to)
        counted.take(a_mail(b"nonsense bob\r\n", To=to, Message_ID="<3@x>"), to)
        counted.take(a_mail(b"help\r\n", To=to, From="mallory@evil.example", Message_ID="<4@x>"), to)
        counted.take(a_mail(To=to, Auto_Submitted="auto-replied"), to)
        counted.deliver()
        bounces = counted.taker.letters[-1][0]
        counted.take(report("5.2.2"), bounces, null=True)
        counted.take(a_mail(b"show\r\n", To=to, Message_ID="<5@x>"), to)
        counted.taker.refused.add(BOB)
        counted.deliver()
        figures = counted.figures()
    shown = {
        'received_total{result="kept",via="lmtp"}': 4,
        'received_total{result="automatic",via="lmtp"}': 1,
        'received_total{result="bounce",via="lmtp"}': 1,
        'orders_total{command="accept",result="welcome"}': 1,
        'orders_total{command="none",result="not done"}': 1,
        'orders_total{command="help",result="asked back"}': 1,
        'grade_total{grade="token"}': 2,
        'sent_total{event="invited",result="sent"}': 1,
        'bounces_total{class="failed"}': 1,
        'bounces_total{class="permanent"}': 1,
    }
    assert {name: figures.get(name) for name in shown} == shown, figures
    told = " ".join(figures).lower()
    for secret in ("bob", "mallory", "example", "nonsense", token):
        assert secret not in told


@pytest.mark.parametrize(
    ("orders", "parts", "counted"),
    [
        ([], [AnswerKind.SILENT], {("none", "silent"): 1}),
        ([], [AnswerKind.NOT_DONE], {("none", "not done"): 1}),
        (
            [OrderKind.MOVE, OrderKind.HELP],
            [AnswerKind.ON_RECORD, AnswerKind.HELP],
            {("move", "on record"): 1, ("help", "help"): 1},
        ),
        (
            [OrderKind.MOVE, OrderKind.HELP],
            [AnswerKind.ASKED_BACK],
            {("move", "asked back"): 1, ("help", "asked back"): 1},
        ),
        ([OrderKind.SHOW], [AnswerKind.SHOW, AnswerKind.HELP], {("show", "show"): 1}),
    ],
)
def test_commands_are_counted_with_what_is_said_of_them(
    orders: list[OrderKind], parts: list[AnswerKind], counted: dict[tuple[str, str], int]
) -> None:
    metrics = MailMetrics()
    metrics.processed(
        "lmtp",
        MailOutcome(Closing(1), [part(each) for each in parts], orders=[MailOrder(each, "x") for each in orders]),
    )
    samples = [each for family in metrics._orders.collect() for each in family.samples]
    totals = [each for each in samples if each.name.endswith("_total")]
    assert {(each.labels["command"], each.labels["result"]): each.value for each in totals} == counted


def test_waiting_letters_are_shown_with_their_age_and_a_store_that_fails_is_asked_again() -> None:
    metrics, asked = MailMetrics(), 0

    class Queues:
        """A store that fails the first time."""

        async def mail_queue(self, now: str) -> MailQueue:
            nonlocal asked
            asked += 1
            if asked == 1:
                raise StorageError("the disk is full")
            return MailQueue(WaitingSum(2, "2026-03-01T00:00:00Z"), WaitingSum(0, None), WaitingSum(1, now))

    class Moment(ClockAndEntropy):
        """A clock that stands."""

        def at(self, seconds: float = 0) -> str:
            return "2026-03-01T00:01:30Z"

    async def pause(_: float) -> None:
        if asked == 2:
            raise asyncio.CancelledError

    store: Any = Queues()
    with pytest.raises(asyncio.CancelledError):
        run(watch_queue(store, Moment(), metrics, pause=pause))
    shown = {
        (name, of): gauge.labels(of)._value.get()
        for name, gauge in (("number", metrics._queue), ("oldest", metrics._oldest))
        for of in MailQueue._fields
    }
    assert shown == {
        ("number", "mails"): 2,
        ("number", "letters"): 0,
        ("number", "set_aside"): 1,
        ("oldest", "mails"): 90,
        ("oldest", "letters"): 0,
        ("oldest", "set_aside"): 0,
    }
