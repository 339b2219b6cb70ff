"""The courier of letters, and what a mailbox that takes none changes: nothing about the clock."""

from __future__ import annotations

import smtplib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hkoji_server.mail.courier import MailCourier, NoTlsError, SmtpAnswer, SmtpRefusal
from hkoji_server.mail.receiving import Bounces, Received, Receiving

from hkoji.game.agreement import DAY
from hkoji.mail.mail import read_mail
from tests.mail.test_receiving import report
from tests.support.mail.list_world import OWN, ListWorld, list_world
from tests.support.service import Player


@dataclass
class Server:
    """A mail server of the test: takes letters, or raises the next of its `errors`."""

    taken: list[tuple[str, str, bytes]] = field(default_factory=list)
    errors: list[Exception] = field(default_factory=list)
    tried: int = 0

    async def submit(self, sender: str, recipient: str, letter: bytes) -> None:
        self.tried += 1
        if self.errors:
            raise self.errors.pop(0)
        self.taken.append((sender, recipient, letter))

    def events(self) -> list[str]:
        """The events of the letters, in order."""
        return [(read_mail(letter).header.message_id or "").strip("<").partition(".")[0] for _, _, letter in self.taken]


class Sent:
    """A service with one mail player, and the courier of letters on top of a mail server of the test."""

    def __init__(self, world: ListWorld, data: Path) -> None:
        self.world = world
        self.data = data
        self.server = Server()
        self.bounces = Bounces(world.store, world.time)
        self.courier = MailCourier(world.parts.letters, self.server, self.bounces)
        world.delivery.couriers = {"mail": self.courier}
        self.receiving = Receiving(world.store, world.time, OWN, self.bounces)
        self.alice = Player(world.service, "alice").register()
        self.game = world.invite(self.alice, "bob", "bob@example.org")

    def deliver(self, seconds: float = 0) -> list[str]:
        """Lets time pass and sends what is due. Returns the events of the letters that were taken."""
        before = len(self.server.events())
        self.world.clock.pass_by(seconds)

        async def work() -> None:
            for _ in range(4):
                await self.world.delivery.look()
                await self.world.delivery.settle()

        self.world.run(work())
        return self.server.events()[before:]

    def clock(self) -> dict[str, str]:
        """The players who do not get their letters, as anybody sees it."""
        silent: dict[str, str] = self.world.service.ask("GET", f"/v1/games/{self.game}/clock").json["silent"]
        return silent

    def bounce(self, status: str) -> Received:
        """A report comes about the last letter."""
        sender, _, letter = self.server.taken[-1]
        raw = report(status, (read_mail(letter).header.message_id or "").strip("<>"))
        return self.world.run(self.receiving.receive(sender, read_mail(raw), "lmtp", null_sender=True))


@pytest.fixture
def sent(tmp_path: Path) -> Iterator[Sent]:
    with list_world(tmp_path) as world:
        yield Sent(world, tmp_path)


def refusal(code: int, status: str = "", *, of_recipient: bool = True) -> SmtpRefusal:
    return SmtpRefusal(SmtpAnswer(code, status), of_recipient=of_recipient)


def test_a_letter_goes_to_the_player_with_an_envelope_to_which_bounces_come_back(sent: Sent) -> None:
    assert sent.deliver() == ["invited"]
    ((sender, recipient, letter),) = sent.server.taken
    assert recipient == "bob@example.org"
    found = OWN.find_in_address(sender)
    assert found is not None
    assert found.bounce
    assert b"\r\nAuto-Submitted: auto-" in letter
    assert sent.deliver() == []


def test_the_outbox_has_references_and_times_only(sent: Sent) -> None:
    sent.deliver()
    join(sent)
    with closing(sqlite3.connect(sent.data / "hkoji.sqlite3")) as database:
        rows = database.execute("select game, seq, event, channel, kind, due, not_before, tries from outbox").fetchall()
        assert len(database.execute("select * from outbox limit 1").fetchone()) == len(rows[0])
    for game, _, event, channel, kind, *rest in rows:
        assert (game, kind) == (sent.game, "mail")
        assert event in {"answer", "turn", "remind1", "remind2"}
        assert len(channel) == 16
        assert all(isinstance(each, int) or (len(each) == 20 and each.endswith("Z")) for each in rest)


@pytest.mark.parametrize(
    "error",
    [
        refusal(451, "4.3.0"),
        refusal(450, "4.2.0"),
        refusal(550, "5.7.1", of_recipient=False),
        NoTlsError(),
        ConnectionRefusedError(),
        TimeoutError(),
        smtplib.SMTPServerDisconnected("x"),
        smtplib.SMTPAuthenticationError(535, b"no"),
    ],
    ids=lambda error: f"{type(error).__name__} {error}",
)
def test_a_failure_that_is_not_the_letters_is_tried_again_with_the_same_id(sent: Sent, error: Exception) -> None:
    sent.server.errors = [error, error]
    assert sent.deliver() == []
    assert sent.deliver(10) == []
    assert sent.server.tried == 1  # not at once
    assert sent.deliver(40) == []
    assert sent.server.tried == 2
    assert sent.deliver(90) == ["invited"]
    assert sent.clock() == {}
    assert sent.deliver(3 * DAY) == []


def test_a_letter_that_may_have_been_taken_is_sent_again_with_the_same_id(sent: Sent) -> None:
    taken = sent.server.taken

    async def lost(sender: str, recipient: str, letter: bytes) -> None:
        taken.append((sender, recipient, letter))
        sent.server.submit = kept  # type: ignore[method-assign] # only the first answer is lost
        raise TimeoutError

    kept = sent.server.submit
    sent.server.submit = lost  # type: ignore[method-assign]
    sent.deliver()
    sent.deliver(40)
    first, second = (read_mail(letter).header.message_id for _, _, letter in taken)
    assert first == second


def test_an_unknown_mailbox_pauses_letters_and_both_players_see_since_when(sent: Sent) -> None:
    sent.server.errors = [refusal(550, "5.1.1")]
    assert sent.deliver() == []
    since = sent.clock()["bob"]
    assert since <= sent.world.run(sent.world.time.now())
    assert sent.deliver(DAY) == []
    assert sent.server.tried == 1  # dropped, and nothing else is tried


def test_a_report_that_comes_later_pauses_them_too(sent: Sent) -> None:
    assert sent.deliver() == ["invited"]
    assert sent.bounce("5.1.10") is Received.BOUNCE
    assert list(sent.clock()) == ["bob"]


def test_refusals_that_say_nothing_about_the_mailbox_pause_nothing(sent: Sent) -> None:
    sent.server.errors = [refusal(554, "5.7.1")]
    assert sent.deliver() == []
    assert sent.clock() == {}


def join(sent: Sent) -> None:
    """Bob joins by mail, and it is his turn or alice's."""
    bob = sent.world.player("bob@example.org")
    bob.mailbox.letters.extend(letter for _, _, letter in sent.server.taken)  # type: ignore[attr-defined] # a list
    bob.answer(bob.next_letter(0), "accept")
    sent.world.run(sent.world.seeds.look())
    sent.alice.lines(sent.game)


def test_while_letters_are_paused_reminders_are_tried_and_a_mail_ends_the_pause(sent: Sent) -> None:
    assert sent.deliver() == ["invited"]
    join(sent)
    sent.deliver(61)
    assert sent.bounce("5.1.1") is Received.BOUNCE
    assert list(sent.clock()) == ["bob"]
    before = sent.world.service.ask("GET", f"/v1/games/{sent.game}/clock").json
    assert sent.bounce("5.1.1") is Received.BOUNCE
    after = sent.world.service.ask("GET", f"/v1/games/{sent.game}/clock").json
    assert {**before, "silent": 0} == {**after, "silent": 0}  # the clock goes on as it was
    letters: Sequence[str] = sent.deliver(16 * DAY)
    assert set(letters) <= {"remind1", "remind2"}
    channel = sent.world.run(sent.world.store.mailbox_at("bob@example.org"))
    assert channel is not None
    kept = sent.world.run(sent.world.store.channel(channel.channel))
    assert kept is not None
    assert kept.works
    bob = sent.world.player("bob@example.org")
    bob.mailbox.letters.append(sent.server.taken[-1][2])  # type: ignore[attr-defined]
    bob.answer(bob.next_letter(0), "show")
    assert sent.clock() == {}
