"""The store on an SQL database: the methods of play by mail. The contract documents them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

from sqlalchemy import Connection

from hkoji.game.clock import add_seconds, parse_time
from hkoji_server.store import (
    asked_mailboxes,
    bounces,
    incoming,
    mail,
    mailboxes,
    operator_codes,
    player_keys,
    probes,
)
from hkoji_server.store.mail_contract import MailStore
from hkoji_server.store.mail_reads import MailReads, reserved_values
from hkoji_server.store.mail_values import (
    NO_GAME,
    PROBE_SECONDS,
    SET_ASIDE,
    AskedMailbox,
    HeldRegistration,
    ImapPlace,
    IncomingMail,
    KeptCertificate,
    KeptHeldKey,
    KeptMail,
    KeyCode,
    Mailbox,
    MailboxMove,
    MailDraft,
    MailEvidence,
    MailQueue,
    NewAnswer,
    NewMail,
    NewMailbox,
    ProbeMail,
    ReplyToken,
    WaitingMail,
)
from hkoji_server.store.mailboxes import newest_first, read_mailbox
from hkoji_server.store.player_contract import OperatorCode
from hkoji_server.store.sql_steps import SqlSteps
from hkoji_server.store.statements import Values
from hkoji_server.store.time_contract import StaleDecisionError


class SqlMailStore(SqlSteps, MailStore):
    """Implements `MailStore` over the steps of a backend."""

    _mail: MailReads
    """The statements of reads of play by mail in the dialect of the backend."""

    async def mail_secret(self) -> str:
        return await self._transaction(mail.mail_secret)

    # --- mailboxes and held keys ----------------------------------------------------------------------------------

    async def invite_mailbox(self, new: NewMailbox) -> KeptCertificate:
        def count(connection: Connection) -> KeptCertificate | None:
            same = mailboxes.repeated(connection, new)
            if same is None:
                mailboxes.count_attempt(connection, new.by, new.at, new.mailbox.address)
            return same

        # An attempt that is refused counts too: so nobody can try many mailboxes.
        same = await self._transaction(count)
        if same is not None:
            return same
        return await self._waking(self._transaction(lambda connection: mailboxes.invite(connection, new)))

    async def ask_mailbox(self, new: AskedMailbox) -> Mailbox:
        def count(connection: Connection) -> Mailbox | None:
            same = asked_mailboxes.repeated(connection, new)
            if same is None:
                mailboxes.count_attempt(connection, new.by, new.mailbox.since, new.mailbox.address)
            return same

        same = await self._transaction(count)
        if same is not None:
            return same
        return await self._waking(self._transaction(lambda connection: asked_mailboxes.ask(connection, new)))

    async def own_mailbox(self, name: str) -> Mailbox | None:
        found = [read_mailbox(row) for row in await self._rows(self._mail.own_mailbox, {"b_name": name})]
        return min(found, key=lambda each: each.state == "asked", default=None)

    async def mailbox(self, channel: str) -> Mailbox | None:
        return await self._one_mailbox(self._mail.mailbox, {"b_channel": channel})

    async def mailbox_of(self, name: str, now: str) -> Mailbox | None:
        return await self._one_mailbox(self._mail.mailbox_of, reserved_values(name, now))

    async def mailbox_at(self, address: str) -> Mailbox | None:
        return await self._one_mailbox(self._mail.mailbox_at, {"b_address": address.lower()})

    async def mailbox_of_key(self, key: str) -> Mailbox | None:
        return await self._one_mailbox(self._mail.mailbox_of_key, {"b_key": key})

    async def _one_mailbox(self, statement: str, values: Values) -> Mailbox | None:
        rows = await self._rows(statement, values)
        return read_mailbox(rows[0]) if rows else None

    async def may_invite(self, name: str, host: str, now: str) -> bool:
        rows = await self._rows(self._mail.reserved, reserved_values(name, now))
        return all(by == host and not used for by, used in rows)

    async def accept_mailbox(self, channel: str, registration: HeldRegistration) -> None:
        await self._transaction(lambda connection: mailboxes.accept(connection, channel, registration))

    async def note_answered(self, channel: str, at: str) -> None:
        await self._transaction(lambda connection: mailboxes.note_answered(connection, channel, at))

    async def change_mailbox(self, mailbox: Mailbox, was: Mailbox | None = None, *, letter: str | None = None) -> bool:
        def work(connection: Connection) -> bool:
            changed = mailboxes.change(connection, mailbox, was)
            if changed and letter is not None:
                at = parse_time(mailbox.since)
                mailboxes.add_letter(connection, NO_GAME, at, letter, mailbox.channel, mailbox.since)
            return changed

        return await self._waking(self._transaction(work))

    async def erase_mailbox(self, channel: str) -> bool:
        return await self._holding(lambda connection: mailboxes.erase(connection, channel))

    async def held_key(self, key: str) -> KeptHeldKey | None:
        rows = await self._rows(self._mail.held_key, {"b_key": key})
        return KeptHeldKey(*rows[0]) if rows else None

    async def held_keys(self, name: str, address: str) -> tuple[str, ...]:
        values = {"b_name": name, "b_address": address.lower()}
        return tuple(key for (key,) in await self._rows(self._mail.held_keys, values))

    async def add_held_key(self, held: KeptHeldKey, certificate: KeptCertificate) -> None:
        await self._transaction(lambda connection: mailboxes.add_held_key(connection, held, certificate))

    async def certificates(self, key: str) -> tuple[KeptCertificate, ...]:
        return newest_first(await self._rows(self._mail.certificates, {"b_key": key}))

    # --- tokens ---------------------------------------------------------------------------------------------------

    async def add_reply(self, reply: ReplyToken) -> None:
        await self._transaction(lambda connection: mail.add_reply(connection, reply))

    async def reply(self, digest: str) -> ReplyToken | None:
        rows = await self._rows(self._mail.reply, {"b_digest": digest})
        return ReplyToken(*rows[0]) if rows else None

    async def change_reply(self, reply: ReplyToken, was: str | None = None) -> bool:
        return await self._transaction(lambda connection: mail.change_reply(connection, reply, was))

    async def spend_replies(self, channel: str, game: str, now: str, *, until: str) -> None:
        await self._transaction(lambda connection: mail.spend_replies(connection, channel, game, now, until))

    # --- mails that have come -------------------------------------------------------------------------------------

    async def add_incoming(self, new: NewMail) -> KeptMail:
        def work(connection: Connection) -> KeptMail:
            return incoming.add_incoming(connection, new, lambda: self._time(connection))

        return await self._waking(self._entering(work))

    async def incoming(self, number: int) -> IncomingMail | None:
        rows = await self._rows(self._mail.incoming, {"b_number": number})
        return IncomingMail(*rows[0]) if rows else None

    async def waiting_mails(self, limit: int) -> tuple[WaitingMail, ...]:
        return tuple(map(WaitingMail._make, await self._rows(self._mail.waiting, {"b_limit": limit})))

    async def oldest_unprocessed_mail(self) -> str | None:
        ((oldest,),) = await self._rows(self._mail.oldest, {})
        found: str | None = oldest
        return found

    async def note_signed(self, number: int, signed: str) -> bool:
        return await self._transaction(lambda connection: incoming.note_signed(connection, number, signed))

    async def count_try(self, number: int, now: str) -> int:
        return await self._holding(lambda connection: incoming.count_try(connection, number, now))

    async def set_aside(self, number: int, result: str = SET_ASIDE, answers: Sequence[NewAnswer] = ()) -> bool:
        ended = self._holding(lambda connection: incoming.end(connection, number, result, answers, done=False))
        return await self._waking(ended)

    async def close_incoming(
        self,
        number: int,
        result: str,
        *,
        answers: Sequence[NewAnswer] = (),
        replies: Sequence[ReplyToken] = (),
        mailbox: Mailbox | None = None,
        was: Mailbox | None = None,
        move: MailboxMove | None = None,
        code: KeyCode | None = None,
    ) -> bool:
        def work(connection: Connection) -> bool:
            if not incoming.end(connection, number, result, answers, done=True):
                return False
            if move is not None and not asked_mailboxes.move(connection, move):
                raise StaleDecisionError
            for each in replies:
                mail.add_reply(connection, each)
                mail.change_reply(connection, each)
            if mailbox is not None:
                mailboxes.change(connection, mailbox, was)
            if code is not None and player_keys.holds(connection, code.name) is not None:
                operator_codes.store_code(connection, OperatorCode(code.digest, code.expires, name=code.name))
            return True

        return await self._waking(self._holding(work))

    # --- letters --------------------------------------------------------------------------------------------------

    async def drop_waiting(self, game: str, event: str, channel: str) -> int:
        return await self._holding(lambda connection: mail.drop_waiting(connection, game, event, channel))

    async def count_letter(
        self, channel: str, now: str, *, per_day: int, per_hour: int
    ) -> Literal["counted", "day", "hour"]:
        return await self._transaction(
            lambda connection: mail.count_letter(connection, channel, now, per_day, per_hour)
        )

    async def note_bounce(self, channel: str, digest: str, at: str, *, since: str, enough: int) -> bool:
        return await self._holding(lambda connection: bounces.note(connection, channel, digest, at, since, enough))

    async def mail_queue(self, now: str) -> MailQueue:
        return await self._transaction(lambda connection: bounces.queue(connection, now))

    # --- mails of the service to itself -------------------------------------------------------------------------------

    async def add_probe(self, digest: str, at: str) -> None:
        forgotten = add_seconds(at, -PROBE_SECONDS)
        await self._transaction(lambda connection: probes.add(connection, digest, at, forgotten))

    async def take_probe(self, digest: str, mail: ProbeMail) -> bool:
        return await self._transaction(lambda connection: probes.take(connection, digest, mail))

    async def probe(self, digest: str) -> ProbeMail | None:
        return await self._transaction(lambda connection: probes.came(connection, digest))

    async def remove_probes(self, digests: Collection[str]) -> None:
        await self._transaction(lambda connection: probes.remove(connection, digests))

    # --- a mailbox that is read by IMAP -------------------------------------------------------------------------------

    async def imap_place(self, mailbox: str) -> ImapPlace | None:
        return await self._transaction(lambda connection: mail.imap_place(connection, mailbox))

    async def keep_imap_place(self, mailbox: str, place: ImapPlace) -> None:
        await self._transaction(lambda connection: mail.keep_imap_place(connection, mailbox, place))

    # --- drafts and evidence --------------------------------------------------------------------------------------

    async def add_draft(self, draft: MailDraft, evidence: MailEvidence | None = None) -> MailDraft:
        return await self._transaction(lambda connection: mail.add_draft(connection, draft, evidence))

    async def drafts(self, game: str) -> tuple[MailDraft, ...]:
        return tuple(MailDraft(*row) for row in await self._rows(self._mail.drafts, {"b_game": game}))

    async def drafts_with_entropy(self, after: tuple[str, str], limit: int) -> tuple[MailDraft, ...]:
        values = {"b_game": after[0], "b_source": after[1], "b_limit": limit}
        return tuple(MailDraft(*row) for row in await self._rows(self._mail.drafts_with_entropy, values))

    async def forget_entropy(self, game: str, source: str) -> None:
        await self._transaction(lambda connection: mail.forget_entropy(connection, game, source))

    async def remove_drafts(self, game: str, sources: Collection[str]) -> None:
        await self._transaction(lambda connection: mail.remove_drafts(connection, game, sources))

    async def drop_draft(self, game: str, source: str, submission: str, commit: str, *, closed: bool = False) -> None:
        await self._transaction(
            lambda connection: mail.drop_draft(connection, game, source, submission, commit, closed=closed)
        )

    async def evidence(self, game: str, name: str) -> tuple[MailEvidence, ...]:
        rows = await self._rows(self._mail.evidence, {"b_game": game, "b_name": name})
        return tuple(MailEvidence(*row) for row in rows)

    # --- what is no longer needed ---------------------------------------------------------------------------------

    async def remove_old_mail(self, now: str, *, spent_before: str, ended_before: str, most: int) -> int:
        def work(connection: Connection) -> int:
            removed = mail.remove_old(connection, now, spent_before, ended_before, most)
            return removed + mailboxes.remove_old(connection, now, most)

        return await self._holding(work)
