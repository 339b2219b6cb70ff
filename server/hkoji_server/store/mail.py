"""Tokens, letters, drafts and evidence of play by mail, as statements in an open transaction. See `MailStore`."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from dataclasses import asdict
from typing import Final, Literal

from sqlalchemy import ColumnElement, Connection, Table, delete, exists, func, insert, select, update

from hkoji.errors import StorageError
from hkoji.mail.tokens import Purpose
from hkoji.messages.text import tell
from hkoji_server.store.mail_tables import DRAFT, EVIDENCE, IMAP_PLACE, INCOMING, LETTER_COUNT, REPLY
from hkoji_server.store.mail_values import ImapPlace, MailDraft, MailEvidence, ReplyToken
from hkoji_server.store.tables import GAME, OUTBOX, SERVICE

_DAY: Final = len("2026-01-01")
_HOUR: Final = len("2026-01-01T00")


def mail_secret(connection: Connection) -> str:
    """Returns the secret from which tokens are made, which it makes if there is none."""
    row = connection.execute(select(SERVICE.c.mail_secret).with_for_update()).first()
    if row is None:
        raise StorageError(tell("the database has no service yet"), hint=tell("start it with `hkoji serve`"))
    if row[0] is not None:
        return str(row[0])
    made = secrets.token_hex(32)
    connection.execute(update(SERVICE).values(mail_secret=made))
    return made


# --- tokens -----------------------------------------------------------------------------------------------------------


def add_reply(connection: Connection, reply: ReplyToken) -> None:
    """Keeps a token unless it is known: see `MailStore.add_reply`."""
    known = REPLY.c.digest == reply.digest
    made = connection.execute(select(REPLY.c.made).where(known)).scalar_one_or_none()
    if made is None:
        connection.execute(insert(REPLY).values(asdict(reply)))
    elif made < reply.made:
        connection.execute(update(REPLY).where(known).values(made=reply.made))


def change_reply(connection: Connection, reply: ReplyToken, was: str | None = None) -> bool:
    """Changes a token that is known: see `MailStore.change_reply`."""
    values = {"expires": reply.expires, "spent": reply.spent, "answers": reply.answers}
    known = [REPLY.c.digest == reply.digest] + ([] if was is None else [REPLY.c.answers == was])
    return connection.execute(update(REPLY).where(*known).values(values)).rowcount == 1


def spend_replies(connection: Connection, channel: str, game: str, now: str, until: str) -> None:
    """Ends the tokens of a game: see `MailStore.spend_replies`."""
    good = (REPLY.c.channel == channel, REPLY.c.game == game, REPLY.c.spent.is_(None))
    of_game = REPLY.c.purpose == Purpose.GAME.value
    connection.execute(update(REPLY).where(*good, ~of_game).values(spent=now))
    connection.execute(update(REPLY).where(*good, of_game, REPLY.c.expires.is_(None)).values(expires=until))


# --- a mailbox that is read by IMAP -----------------------------------------------------------------------------------


def imap_place(connection: Connection, mailbox: str) -> ImapPlace | None:
    """Returns up to which mail a mailbox has been read: see `MailStore.imap_place`."""
    columns = (IMAP_PLACE.c[name] for name in ImapPlace._fields)
    row = connection.execute(select(*columns).where(IMAP_PLACE.c.mailbox == mailbox)).first()
    return None if row is None else ImapPlace(*row)


def keep_imap_place(connection: Connection, mailbox: str, place: ImapPlace) -> None:
    """Notes up to which mail a mailbox has been read: see `MailStore.keep_imap_place`."""
    noted = update(IMAP_PLACE).where(IMAP_PLACE.c.mailbox == mailbox).values(place._asdict())
    if connection.execute(noted).rowcount == 0:
        connection.execute(insert(IMAP_PLACE).values(mailbox=mailbox, **place._asdict()))


# --- letters ----------------------------------------------------------------------------------------------------------


def drop_waiting(connection: Connection, game: str, event: str, channel: str) -> int:
    """Deletes notices that were not sent: see `MailStore.drop_waiting`."""
    gone = (OUTBOX.c.game == game, OUTBOX.c.event == event, OUTBOX.c.channel == channel)
    return connection.execute(delete(OUTBOX).where(*gone)).rowcount


def count_letter(
    connection: Connection, channel: str, now: str, per_day: int, per_hour: int
) -> Literal["counted", "day", "hour"]:
    """Counts a letter: see `MailStore.count_letter`."""
    hour, day = now[:_HOUR], now[:_DAY]
    total = func.coalesce(func.sum(LETTER_COUNT.c.letters), 0)
    same_day = (LETTER_COUNT.c.channel == channel, LETTER_COUNT.c.hour >= day, LETTER_COUNT.c.hour < f"{day}U")
    if connection.execute(select(total).where(*same_day)).scalar_one() >= per_day:
        return "day"
    if connection.execute(select(total).where(LETTER_COUNT.c.hour == hour)).scalar_one() >= per_hour:
        return "hour"
    place = (LETTER_COUNT.c.hour == hour, LETTER_COUNT.c.channel == channel)
    counted = update(LETTER_COUNT).where(*place).values(letters=LETTER_COUNT.c.letters + 1)
    if connection.execute(counted).rowcount == 0:
        connection.execute(insert(LETTER_COUNT).values(hour=hour, channel=channel, letters=1))
    return "counted"


# --- drafts and evidence ----------------------------------------------------------------------------------------------


def add_draft(connection: Connection, draft: MailDraft, evidence: MailEvidence | None) -> MailDraft:
    """Keeps a draft and its evidence unless there is a draft: see `MailStore.add_draft`."""
    place = (DRAFT.c.game == draft.game, DRAFT.c.source == draft.source)
    row = connection.execute(select(*DRAFT.c).where(*place)).first()
    if row is not None:
        return MailDraft(*row)
    connection.execute(insert(DRAFT).values(asdict(draft)))
    if evidence is not None:
        connection.execute(insert(EVIDENCE).values(asdict(evidence)))
    return draft


def forget_entropy(connection: Connection, game: str, source: str) -> None:
    """Forgets the entropy of a draft."""
    place = (DRAFT.c.game == game, DRAFT.c.source == source)
    connection.execute(update(DRAFT).where(*place).values(entropy=None))


def remove_drafts(connection: Connection, game: str, sources: Collection[str]) -> None:
    """Removes drafts of a game."""
    connection.execute(delete(DRAFT).where(DRAFT.c.game == game, DRAFT.c.source.in_(sources)))


def drop_draft(
    connection: Connection, game: str, source: str, submission: str, commit: str, *, closed: bool = False
) -> None:
    """Removes a draft with that submission, and its evidence: see `MailStore.drop_draft`."""
    same = [DRAFT.c.game == game, DRAFT.c.source == source, DRAFT.c.submission == submission]
    if closed:
        same.append(~exists().where(INCOMING.c.digest == source, INCOMING.c.state == "new"))
    if connection.execute(delete(DRAFT).where(*same)).rowcount:
        connection.execute(delete(EVIDENCE).where(EVIDENCE.c.commit == commit))


# --- what is no longer needed -----------------------------------------------------------------------------------------


def remove_old(connection: Connection, now: str, spent_before: str, ended_before: str, most: int) -> int:
    """Removes what is over: see `MailStore.remove_old_mail`. Mailboxes are not removed here."""
    return sum(
        (
            _remove(connection, REPLY, REPLY.c.spent < spent_before, most),
            _remove(connection, REPLY, REPLY.c.expires < spent_before, most),
            _remove(connection, LETTER_COUNT, LETTER_COUNT.c.hour < now[:_DAY], most),
            _remove_of_games(connection, DRAFT, GAME.c.ended.is_not(None), most),
            _remove_of_games(connection, EVIDENCE, GAME.c.ended < ended_before, most),
        )
    )


def _remove_of_games(connection: Connection, table: Table, over: ColumnElement[bool], most: int) -> int:
    """Removes the rows of those games of a table that are over: of at most `most` games."""
    found = select(table.c.game).distinct().where(exists().where(GAME.c.game == table.c.game, over)).limit(most)
    games = [row[0] for row in connection.execute(found)]
    return connection.execute(delete(table).where(table.c.game.in_(games))).rowcount if games else 0


def _remove(connection: Connection, table: Table, over: ColumnElement[bool], most: int) -> int:
    keys = [table.c[column.name] for column in table.primary_key]
    found = connection.execute(select(*keys).where(over).limit(most)).all()
    for row in found:
        connection.execute(delete(table).where(*(key == value for key, value in zip(keys, row, strict=True))))
    return len(found)
