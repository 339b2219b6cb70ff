"""Letters of the service: tokens and counts, entropy and evidence, and mails to itself."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from dataclasses import asdict
from typing import Final, Literal

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    Table,
    Text,
    bindparam,
    delete,
    exists,
    func,
    insert,
    literal_column,
    select,
    tuple_,
    update,
)

from hkoji.errors import StorageError
from hkoji.game.clock import add_seconds
from hkoji.mail.tokens import Purpose
from hkoji.messages.text import tell
from hkoji_server.store.mail_tables import (
    EVIDENCE,
    HELD_ENTROPY,
    IMAP_PLACE,
    INCOMING,
    LETTER_COUNT,
    PROBE,
    REPLY,
    HeldEntropy,
    MailEvidence,
)
from hkoji_server.store.mail_values import (
    MAIL_KIND,
    PROBE_SECONDS,
    TURN_EVENT,
    ImapPlace,
    LetterLimits,
    LetterRows,
    MailQueue,
    ProbeMail,
    ReplyToken,
    Unleased,
    WaitingSum,
)
from hkoji_server.store.mailboxes import remove_old_mailboxes
from hkoji_server.store.notices import LeasedNotice, WaitingNotice, lease
from hkoji_server.store.sql_steps import SqlSteps, holding, transaction
from hkoji_server.store.tables import GAME, OUTBOX, SERVICE, rows_of

_DAY: Final = len("2026-01-01")
_HOUR: Final = len("2026-01-01T00")
_REPLY: Final = select(*REPLY.c).where(REPLY.c.digest == bindparam("b_digest"))
_ENTROPY: Final = (
    select(*HELD_ENTROPY.c)
    .where(
        tuple_(HELD_ENTROPY.c.game, HELD_ENTROPY.c.name)
        > tuple_(bindparam("b_game", type_=Text), bindparam("b_name", type_=Text))
    )
    .order_by(HELD_ENTROPY.c.game, HELD_ENTROPY.c.name)
    .limit(bindparam("b_limit", type_=Integer))
    .offset(literal_column("0"))
)
_EVIDENCE: Final = (
    select(*EVIDENCE.c)
    .where(EVIDENCE.c.game == bindparam("b_game"), EVIDENCE.c.name == bindparam("b_name"))
    .order_by(EVIDENCE.c.commit)
)


class LetterStore(SqlSteps):
    """The area of the store that is about letters. `ArrivalStore` documents what is in it too."""

    @transaction
    def mail_secret(self, connection: Connection) -> str:
        """Returns the 64 hex digits from which tokens are made. They are made when they are first asked for."""
        row = connection.execute(select(SERVICE.c.mail_secret).with_for_update()).first()
        if row is None:
            raise StorageError(tell("the database has no service yet"), hint=tell("start it with `hkoji serve`"))
        if row[0] is not None:
            return str(row[0])
        made = secrets.token_hex(32)
        connection.execute(update(SERVICE).values(mail_secret=made))
        return made

    # --- tokens ---------------------------------------------------------------------------------------------------

    async def reply(self, digest: str) -> ReplyToken | None:
        found = await self._read(_REPLY, b_digest=digest)
        return ReplyToken(*found[0]) if found else None

    # --- letters --------------------------------------------------------------------------------------------------

    @holding
    def lease_letter(
        self, connection: Connection, notice: WaitingNotice, until: str, letter: LetterRows
    ) -> LeasedNotice | Unleased:
        """Leases the notice of a letter, and writes all rows of the letter, or changes nothing and returns why.

        Of a token that is known only `made` changes, if it is later.
        """
        # All that may be refused stands before the first write. The letters of a game to a mailbox wait for each other
        # here, and those that are counted for all others that are.
        thread = select(REPLY.c.answers).where(REPLY.c.digest == letter.thread.digest).with_for_update()
        if connection.execute(thread).scalar_one_or_none() != letter.was:
            return "changed"
        refused = None if letter.limits is None else _refuse(connection, letter.limits, letter.at)
        if refused is not None:
            return refused
        leased = lease(connection, notice, until)
        if leased is None:
            return "changed"
        if letter.limits is not None:
            _count(connection, letter.limits.counter, letter.at)
        if letter.was is None:  # fails if another process has made the row by now; then all of this runs again
            connection.execute(insert(REPLY).values(asdict(letter.thread)))
        else:
            change_reply(connection, letter.thread)
        for each in letter.tokens:
            add_reply(connection, each)
        if letter.ends is not None:
            _end_tokens(connection, letter.thread, letter.at, letter.ends)
        if letter.shows is not None:
            of_game = (OUTBOX.c.game == letter.thread.game, OUTBOX.c.channel == letter.thread.channel)
            shown = (OUTBOX.c.event == TURN_EVENT, OUTBOX.c.seq <= letter.shows)
            connection.execute(delete(OUTBOX).where(*of_game, *shown))
        return leased

    @transaction
    def mail_queue(self, connection: Connection, now: str) -> MailQueue:
        """Returns what waits. Letters that are to be sent later than `now`, such as reminders, do not."""

        def mails(state: str) -> WaitingSum:
            # The state is in the text of the statement, so that it can use the index of the few rows that have it.
            found = select(func.count(), func.min(INCOMING.c.received))
            is_so = INCOMING.c.state == literal_column(f"'{state}'")
            return WaitingSum(*connection.execute(found.where(is_so)).one())

        due = (OUTBOX.c.kind == MAIL_KIND, OUTBOX.c.due <= now)
        letters = connection.execute(select(func.count(), func.min(OUTBOX.c.due)).where(*due)).one()
        return MailQueue(mails("new"), WaitingSum(*letters), mails("failed"))

    # --- mails of the service to itself, which show its operator that mail comes in -----------------------------------

    @transaction
    def add_probe(self, connection: Connection, digest: str, at: str) -> None:
        """Begins to wait for a mail of the service to itself. Others that were waited for an hour ago are forgotten."""
        connection.execute(delete(PROBE).where(PROBE.c.since < add_seconds(at, -PROBE_SECONDS)))
        connection.execute(insert(PROBE).values(digest=digest, since=at))

    @transaction
    def take_probe(self, connection: Connection, digest: str, mail: ProbeMail) -> bool:
        if connection.execute(select(PROBE.c.digest).where(PROBE.c.digest == digest)).first() is None:
            return False
        waited_for = update(PROBE).where(PROBE.c.digest == digest, PROBE.c.raw.is_(None))
        connection.execute(waited_for.values(recipient=mail.recipient, raw=mail.raw))
        return True

    async def probe(self, digest: str) -> ProbeMail | None:
        """Returns a mail of the service to itself; None as long as it has not come."""
        found = select(PROBE.c.recipient, PROBE.c.raw).where(PROBE.c.digest == digest, PROBE.c.raw.is_not(None))
        row = await self._transaction(lambda connection: connection.execute(found).first())
        return None if row is None else ProbeMail(row[0], bytes(row[1]))

    async def remove_probes(self, digests: Collection[str]) -> None:
        """Waits for these mails no longer, and forgets what has come."""
        gone = delete(PROBE).where(PROBE.c.digest.in_(digests))
        await self._change(gone)

    # --- a mailbox that is read by IMAP -------------------------------------------------------------------------------

    async def imap_place(self, mailbox: str) -> ImapPlace | None:
        """Returns up to which mail a mailbox has been read; None if it never was."""
        columns = (IMAP_PLACE.c[name] for name in ImapPlace._fields)
        found = select(*columns).where(IMAP_PLACE.c.mailbox == mailbox)
        row = await self._transaction(lambda connection: connection.execute(found).first())
        return None if row is None else ImapPlace(*row)

    @transaction
    def keep_imap_place(self, connection: Connection, mailbox: str, place: ImapPlace) -> None:
        """Notes up to which mail a mailbox has been read, in the place of what was noted."""
        noted = update(IMAP_PLACE).where(IMAP_PLACE.c.mailbox == mailbox).values(place._asdict())
        if connection.execute(noted).rowcount == 0:
            connection.execute(insert(IMAP_PLACE).values(mailbox=mailbox, **place._asdict()))

    # --- entropy and evidence --------------------------------------------------------------------------------------

    async def held_entropy(self, after: tuple[str, str], limit: int) -> tuple[HeldEntropy, ...]:
        """Returns the entropy of held seats, in order of game and name, beginning after that game and name."""
        game, name = after
        return rows_of(HeldEntropy, await self._read(_ENTROPY, b_game=game, b_name=name, b_limit=limit))

    async def forget_entropy(self, game: str, name: str) -> None:
        """Forgets the entropy of a seat, because its `seed` is on record or never will be."""
        await self._change(delete(HELD_ENTROPY).where(HELD_ENTROPY.c.game == game, HELD_ENTROPY.c.name == name))

    async def evidence(self, game: str, name: str) -> tuple[MailEvidence, ...]:
        """Returns the mails of a player that are kept as evidence for a game, by the commitments."""
        return rows_of(MailEvidence, await self._read(_EVIDENCE, b_game=game, b_name=name))

    # --- what is no longer needed ---------------------------------------------------------------------------------

    @holding
    def remove_old_mail(
        self, connection: Connection, now: str, *, spent_before: str, ended_before: str, most: int
    ) -> int:
        """Removes what is over, at most `most` rows of each kind, and returns how many rows.

        Tokens that are spent or have expired before `spent_before`; entropy of games that are over; evidence for games
        that ended before `ended_before`; counts of letters of earlier days; invited mailboxes whose invitation stands
        no longer and is too old to count.
        """
        return sum(
            (
                _remove(connection, REPLY, REPLY.c.spent < spent_before, most),
                _remove(connection, REPLY, REPLY.c.expires < spent_before, most),
                _remove(connection, LETTER_COUNT, LETTER_COUNT.c.hour < now[:_DAY], most),
                _remove_of_games(connection, HELD_ENTROPY, GAME.c.ended.is_not(None), most),
                _remove_of_games(connection, EVIDENCE, GAME.c.ended < ended_before, most),
                remove_old_mailboxes(connection, now, most),
            )
        )


def add_reply(connection: Connection, reply: ReplyToken) -> None:
    """Keeps a token that goes out with a letter. Of a known one only `made` changes, if it is later."""
    known = REPLY.c.digest == reply.digest
    made = connection.execute(select(REPLY.c.made).where(known)).scalar_one_or_none()
    if made is None:
        connection.execute(insert(REPLY).values(asdict(reply)))
    elif made < reply.made:
        connection.execute(update(REPLY).where(known).values(made=reply.made))


def change_reply(connection: Connection, reply: ReplyToken) -> None:
    """Replaces `expires`, `spent` and `answers` of a token."""
    values = {"expires": reply.expires, "spent": reply.spent, "answers": reply.answers}
    connection.execute(update(REPLY).where(REPLY.c.digest == reply.digest).values(values))


def _refuse(connection: Connection, limits: LetterLimits, at: str) -> Literal["day", "hour"] | None:
    """Returns which limit a letter exceeds, if any. Until the transaction ends, nobody else counts letters."""
    connection.execute(select(SERVICE.c.id).with_for_update())
    hour, day = at[:_HOUR], at[:_DAY]
    total = select(func.coalesce(func.sum(LETTER_COUNT.c.letters), 0))
    same_day = (LETTER_COUNT.c.channel == limits.counter, LETTER_COUNT.c.hour >= day, LETTER_COUNT.c.hour < f"{day}U")
    if connection.execute(total.where(*same_day)).scalar_one() >= limits.per_day:
        return "day"
    return (
        "hour" if connection.execute(total.where(LETTER_COUNT.c.hour == hour)).scalar_one() >= limits.per_hour else None
    )


def _count(connection: Connection, counter: str, at: str) -> None:
    place = (LETTER_COUNT.c.hour == at[:_HOUR], LETTER_COUNT.c.channel == counter)
    counted = update(LETTER_COUNT).where(*place).values(letters=LETTER_COUNT.c.letters + 1)
    if connection.execute(counted).rowcount == 0:
        connection.execute(insert(LETTER_COUNT).values(hour=at[:_HOUR], channel=counter, letters=1))


def _end_tokens(connection: Connection, thread: ReplyToken, now: str, until: str) -> None:
    """Notes that the tokens of a game that went to a mailbox are good no longer: see `LetterRows.ends`."""
    good = (REPLY.c.channel == thread.channel, REPLY.c.game == thread.game, REPLY.c.spent.is_(None))
    of_game = REPLY.c.purpose == Purpose.GAME.value
    connection.execute(update(REPLY).where(*good, ~of_game).values(spent=now))
    connection.execute(update(REPLY).where(*good, of_game, REPLY.c.expires.is_(None)).values(expires=until))


def _remove_of_games(connection: Connection, table: Table, over: ColumnElement[bool], most: int) -> int:
    """Removes the rows of those games of a table that are over: of at most `most` games."""
    found = select(table.c.game).distinct().where(exists().where(GAME.c.game == table.c.game, over)).limit(most)
    games = connection.execute(found).scalars().all()
    return connection.execute(delete(table).where(table.c.game.in_(games))).rowcount if games else 0


def _remove(connection: Connection, table: Table, over: ColumnElement[bool], most: int) -> int:
    keys = [table.c[column.name] for column in table.primary_key]
    found = connection.execute(select(*keys).where(over).limit(most)).all()
    for row in found:
        connection.execute(delete(table).where(*(key == value for key, value in zip(keys, row, strict=True))))
    return len(found)
