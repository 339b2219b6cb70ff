"""Players who want an honest service to look guilty: by what their provider signs and publishes, and by mails files.

Games are played at a service in this process: bob accepts, moves and resigns. His provider signs and his DNS answers as
a row of `SCHEMES` says. Then his mails file is changed at random, and with it logs are audited that he could show.
Everybody who is named is innocent.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from hkoji_server.service.mail.seat_games import mails_of

from hkoji.audit.log_audit import Audit, audit
from hkoji.errors import MalformedError
from hkoji.log.line import Line, format_log
from hkoji.mail.mails_audit import MailsAudit, audit_mails, index_mails
from hkoji.mail.mails_file import parse_mails
from tests.support.mail.framed_mails import frame
from tests.support.mail.list_world import ListWorld, list_world
from tests.support.mail.mail_table import MailTable
from tests.support.mail.post_office import Letter
from tests.support.mail.reading import offered
from tests.support.mail.signing import PrivateKey, record_of, rsa_key, seconds_of, sign

_MOST: Final = 5
"""After so many tries to resign, a game is stuck."""
NAME: Final = "s1._domainkey.example.org"
Tags = dict[str, str | None]


@dataclass(frozen=True)
class Scheme:
    """The choices of a player's provider: the tags of a signature made at a second, and the records of its key."""

    tags: Callable[[int], Tags] = lambda at: {"t": str(at)}
    records: Callable[[bytes], tuple[bytes, ...]] = lambda record: (record,)
    again: Callable[[bytes], bytes] = lambda raw: raw
    """Its change to a mail that is signed."""


SCHEMES: Final[dict[str, Scheme]] = {
    "as providers do": Scheme(),
    "expires at T": Scheme(lambda at: {"t": str(at), "x": str(at)}),
    "expires just after T": Scheme(lambda at: {"t": str(at), "x": str(at + 1)}),
    "expired before T": Scheme(lambda at: {"t": str(at - 9), "x": str(at - 1)}),
    "an hour ahead": Scheme(lambda at: {"t": str(at + 3600)}),
    "more than an hour ahead": Scheme(lambda at: {"t": str(at + 3602)}),
    "a month old": Scheme(lambda at: {"t": str(at - 30 * 86400)}),
    "no times": Scheme(lambda at: {}),  # as the others
    "a part of the body": Scheme(lambda at: {"t": str(at), "l": "1"}),
    "a record with a newline": Scheme(records=lambda record: (record + b"\n",)),
    "a record with a tab and a zero": Scheme(records=lambda record: (record + b";\tn=\0\xff",)),
    "two records": Scheme(records=lambda record: (record, record)),
    "the record of another key": Scheme(records=lambda record: (record.replace(b"p=M", b"p=N"),)),
    "a key for tests": Scheme(records=lambda _: (record_of(rsa_key(), "t=y; "),)),
    "no record": Scheme(records=lambda _: ()),
    "two signatures": Scheme(again=lambda raw: sign(raw, selector="s2")),
    "a second Subject": Scheme(again=lambda raw: b"Subject: stop\r\n" + raw),
    "text below": Scheme(again=lambda raw: raw + b"resign\r\n"),
}


@dataclass
class ChosenProvider:
    """A provider that follows a scheme, in place of an honest one."""

    scheme: Scheme
    dns: dict[str, tuple[bytes, ...]]
    key: PrivateKey = field(default_factory=rsa_key)

    def __call__(self, raw: bytes, now: str) -> bytes:
        """Signs a mail, and publishes what the scheme says."""
        self.dns[NAME] = self.scheme.records(record_of(self.key))
        return self.scheme.again(sign(raw, key=self.key, tags=self.scheme.tags(seconds_of(now))))


@dataclass
class Framed:
    """The result: how many mails files were tried for each grade of bob's seat, and whom they have named."""

    grades: Counter[str] = field(default_factory=Counter)
    tried: int = 0
    wrong: list[str] = field(default_factory=list)


@contextmanager
def framed_world(folder: Path, scheme: Scheme) -> Iterator[ListWorld]:
    """A service in this process, at which bob's provider follows a scheme."""
    with list_world(folder, mail="play@hkoji.example", per_day=1000) as world:
        world.mailbox("bob@example.org").signs = ChosenProvider(scheme, world.dns.records)  # type: ignore[assignment] # it signs
        yield world


def play_to_end(world: ListWorld, moves: int) -> tuple[tuple[Line, ...], bytes]:
    """A game in which bob makes some moves by mail and resigns. Returns its log and bob's mails file."""
    table, made = MailTable(world), 0
    while not table.alice.course(table.game).finished and made < moves + _MOST:
        table.move()
        world.deliver(61)
        can = offered(Letter(table.bob.mailbox.received()[-1]))
        _answer(table, can[0] if can and made < moves else "resign")
        made += 1
    lines = tuple(table.alice.lines(table.game))
    return lines, world.run(mails_of(world.store, lines, "bob"))


def run_frames(folder: Path, tries: int, seed: int) -> Framed:
    """Tries so many mails files for each scheme."""
    done, rng = Framed(), random.Random(seed)
    for name, scheme in SCHEMES.items():
        with framed_world(folder / name.replace(" ", "-"), scheme) as world:
            lines, data = play_to_end(world, 4)
        judge(done, name, lines, data, tries, rng)
    return done


def judge(done: Framed, name: str, lines: tuple[Line, ...], data: bytes, tries: int, rng: random.Random) -> None:
    """Audits every beginning of a log, with and without receipts, with mails files that are changed at random."""
    logs = [audit(format_log(lines[:end], receipts=receipts)) for end in (len(lines), 5) for receipts in (True, False)]
    whole = _audited(logs[0], data)
    claimed, checked = whole.seats[0].claimed, whole.seats[0].checked
    done.grades[whole.audit.grades["bob"].value] += 1
    if checked != claimed:
        done.wrong.append(f"{name}: {checked} of {claimed} mails checked")
    mailbox = parse_mails(data)[0]
    for _ in range(tries):
        text = data if done.tried % 50 == 0 else frame(rng, mailbox)
        done.tried += 1
        for log in logs:
            try:
                result = _audited(log, text)
            except MalformedError:
                break
            named = {each.signer for each in result.audit.findings if each.signer}
            done.wrong += [f"{name}: {each} is named by {text!r}" for each in named]


def _audited(log: Audit, data: bytes) -> MailsAudit:
    return audit_mails(log, index_mails(parse_mails(data)))


def _answer(table: MailTable, wish: str) -> None:
    """Bob answers his last letter, and what asks him again, as long as he is asked."""
    for _ in range(3):
        seq = table.head()[0]
        table.bob.answer(Letter(table.bob.mailbox.received()[-1]), wish)
        table.world.deliver(61)
        if table.head()[0] != seq:
            return
