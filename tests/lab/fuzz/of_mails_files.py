"""Target: mails files of any bytes. A file that is read is written the same again, and convicts no honest service."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

from hkoji.log.mail_claim import MailGrade
from hkoji.mail.mails_audit import index_mails
from hkoji.mail.mails_file import ProvedMailbox, format_mails, parse_mails
from tests.lab.fuzz.target import Target, refusals
from tests.support.mail.framed_mails import accused_by
from tests.support.mail.proved_table import MAILBOX, SALT, ProvedTable, proved_game

_WORDS: Final = (
    *('{"about":', '"dns":', '"game":', '"head":', '"nonce":', '"purpose":', '"raw":', '"reader":1', '"salt":'),
    *('"address_salt":', '"mailbox":', '"name":"bob"', '"turn"', '"again"', '"game"', MAILBOX, SALT, "}\n", "RnJvbTog"),
)


@cache
def _honest() -> ProvedTable:
    return proved_game(3, grade=MailGrade.TOKEN, lie=lambda mail: mail._replace(signed=False))


def mails_files(data: bytes) -> None:
    """A mails file beside the log of an honest service."""
    with refusals():
        found = parse_mails(data)
        assert format_mails(found) == data
        assert len(index_mails(found).by_commit) <= sum(len(each.mails) for each in found)
        assert not accused_by(_honest(), data)


def seeds() -> Iterator[bytes]:
    """The mails of an honest game, all and one by one; and a mailbox without any."""
    mailbox = _honest().mailbox()
    yield format_mails([mailbox])
    for each in mailbox.mails:
        yield format_mails([mailbox._replace(mails=(each,))])
    yield format_mails([ProvedMailbox(SALT, "eve@example.org", "eve"), mailbox])


TARGETS: Final = (Target("mails-file", "mails files", mails_files, seeds, 100_000, 4096, _WORDS),)
