"""A mail that a provider has signed counts once, also where its signature leaves the Message-ID open.

A reader of a mail, in a forwarded thread or on a mailing list, can send it again. Some large providers sign no
Message-ID, so anybody can give such a mail another one, and its signature holds.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from hkoji.game.agreement import DAY
from tests.mail.test_mail_gifts import first, gifts
from tests.support.mail.list_world import list_world
from tests.support.mail.mail_table import MailTable
from tests.support.mail.reading import command_address, offered
from tests.support.mail.signing import SigningProvider, seconds_of, sign
from tests.support.service_in_process import Clock

__all__ = ["first"]  # a fixture

YAHOO = ("date", "from", "to", "subject", "references", "in-reply-to", "from", "subject", "reply-to")
"""The fields that a large provider signs: no Message-ID, and no Content-Type."""


@dataclass
class LooseProvider(SigningProvider):
    """A provider that signs twice, and the Message-ID only with the first signature."""

    def __call__(self, raw: bytes, now: str) -> bytes:
        strict = super().__call__(raw, now)
        loose = sign(raw, names=YAHOO, key=self.key, tags={"t": str(seconds_of(now))})
        return strict.partition(b"From: ")[0] + loose


@pytest.fixture
def table(first: MailTable, tmp_path: Path) -> Iterator[MailTable]:
    copied = shutil.copytree(first.world.service.data, tmp_path / "data")
    with list_world(copied, seed="later", clock=Clock(first.world.clock.now), mail="play@hkoji.example") as world:
        world.mailbox("bob@example.org").signs = LooseProvider(world.dns.records)
        yield first.in_world(world)


def with_another_id(raw: bytes) -> bytes:
    return raw.replace(b"Message-ID: <", b"Message-ID: <again.")


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "another Message-ID": with_another_id,
    "passed on by a server": lambda raw: b"Received: from mx.example\r\nX-Spam: no\r\n" + with_another_id(raw),
    "one signature less": lambda raw: with_another_id(raw[raw.index(b"DKIM-Signature", 1) :]),
    "other spaces": lambda raw: with_another_id(raw).replace(b"\r\nDate: ", b"\r\nDate:  \r\n\t") + b"\r\n\r\n",
}


def signed(table: MailTable, raw: bytes) -> bytes:
    """The mail as the provider has sent it."""
    provider = table.world.mailbox("bob@example.org").signs
    assert provider is not None
    return provider(raw, table.world.incoming().received)


def play_on(table: MailTable) -> None:
    """Both play, until alice owes an entry again."""
    table.move()
    while table.alice.course(table.game).actor == 1:
        table.world.deliver(61)
        turn = table.bob.next_letter(0, lambda letter: bool(offered(letter)))
        table.bob.answer(turn, offered(turn)[0])
        assert table.result()["answer"] == "on record"


@pytest.mark.parametrize("change", CHANGES)
def test_a_gift_that_is_sent_again_by_somebody_else_gives_nothing(table: MailTable, change: str) -> None:
    raw = signed(table, table.bob.answer(table.letter, "give 2d"))
    assert (table.result()["answer"], table.world.box("bob").dkim_seen) == ("gave", 3)
    assert len(table.answers()) == 1
    play_on(table)
    before, kept = table.head(), len(table.world.run(table.world.store.evidence(table.game, "bob")))
    assert gifts(table) == []
    table.answers()
    table.world.take(CHANGES[change](raw), table.to)
    assert table.result()["answer"] == "silent"
    assert (table.head(), gifts(table)) == (before, [])
    assert table.answers() == []
    assert len(table.world.run(table.world.store.evidence(table.game, "bob"))) == kept


def test_a_game_that_is_begun_again_by_somebody_else_is_not_begun(table: MailTable) -> None:
    world, bob = table.world, table.bob
    bob.answer(table.letter, "new address")
    (letter,) = table.answers()
    to = command_address(letter)
    raw = signed(table, bob.write(to, "a game", "new hanamikoji alice alice@example.com"))
    assert table.result()["answer"] == "on record"
    table.answers()
    before = set(world.games_of("bob"))
    world.take(with_another_id(raw), to)
    assert table.result()["answer"] == "silent"
    assert set(world.games_of("bob")) == before
    assert table.answers() == []


def test_settings_are_not_set_again_by_somebody_else(table: MailTable) -> None:
    world, bob = table.world, table.bob
    raw = signed(table, bob.answer(table.letter, "stop"))
    assert world.box("bob").state == "stopped"
    bob.answer(table.letter, "start")
    table.answers()
    world.take(with_another_id(raw), table.to)
    assert (table.result()["answer"], world.box("bob").state) == ("silent", "active")


def test_an_order_that_the_player_writes_again_counts_again(table: MailTable) -> None:
    first = signed(table, table.bob.answer(table.letter, "cards off"))
    table.bob.answer(table.letter, "cards on")
    date = next(line for line in first.split(b"\r\n") if line.startswith(b"Date: "))
    later = first[first.index(b"From: ") :].replace(date, b"Date: Fri, 20 Nov 2026 12:00:01 +0000")
    table.world.take(signed(table, with_another_id(later)), table.to)
    assert (table.result()["answer"], table.world.box("bob").cards) == ("setting", False)


def test_a_sender_with_a_token_and_no_signature_does_not_keep_a_mailbox_in_use(table: MailTable) -> None:
    """After a long silence cards are shown only when the owner has said that the mailbox is still theirs."""
    world = table.world
    raw = signed(table, table.bob.answer(table.letter, "help"))
    heard = world.box("bob").heard
    assert (heard, world.box("bob").dkim_seen) == (world.incoming().received, 3)
    world.clock.pass_by(DAY)
    assert table.send("give 2d") == "asked back"
    assert table.send("thanks") == "not done"
    world.take(with_another_id(raw), table.to)
    assert table.result()["answer"] == "silent"
    assert world.box("bob").heard == heard
    table.bob.answer(table.letter, "rules")
    assert world.box("bob").heard == world.incoming().received > (heard or "")
    # Where no provider signs, nobody can tell.
    world.run(world.store.change_mailbox(replace(world.box("bob"), dkim_seen=0)))
    world.clock.pass_by(DAY)
    assert table.send("thanks") == "not done"
    assert world.box("bob").heard == world.incoming().received


def test_a_mail_that_is_processed_again_is_no_replay(table: MailTable) -> None:
    world = table.world
    world.processes = False
    table.bob.answer(table.letter, "give 2d")

    async def killed(*_: object, **__: object) -> bool:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(world.store, "add_statement", killed)
        with pytest.raises(KeyboardInterrupt):
            world.run(world.parts.orders.process(world.taken[-1]))
    assert world.process() == ["gave"]
    assert len(gifts(table)) == 1
