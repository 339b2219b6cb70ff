"""How an order becomes an entry or a statement of a held seat, in steps that can be repeated after any crash.

A draft is kept before anything is submitted: the signed bytes, the openings, the player's entropy, and the salt of the
commitment to the mail. A mail that is processed again submits the same bytes, and the game says that it has them. So a
mail makes at most one entry, whatever is killed when.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from hkoji.errors import ConflictError, IllegalError, StorageError
from hkoji.game import entry_kinds
from hkoji.game.commitments import SALT_BYTES, entropy_commit
from hkoji.game.held_keys import Gateway
from hkoji.game.submission import EntryDraft, draft_entry, draft_move, read_submission
from hkoji.log import sshsig
from hkoji.log.canonical import encode, encode_base64
from hkoji.log.game_statements import AnnulStatement, GiftStatement, make_annul, make_gift, parse_annul, parse_gift
from hkoji.log.line import Entry
from hkoji.log.mail_claim import MailClaim, MailGrade
from hkoji.log.private_key import PrivateKey
from hkoji.mail.claimed_mails import claimed_mails
from hkoji.mail.commands import OrderKind
from hkoji.mail.message import READER_VERSION
from hkoji.mail.tokens import mail_commitment
from hkoji.messages.text import tell
from hkoji_server.service.games.games import Games, MailArrival
from hkoji_server.service.games.loaded_games import TRIES, LoadedGame, LoadedGames, undecided
from hkoji_server.service.games.statements import GameStatements
from hkoji_server.service.mail.cases import DraftText, MailCase, OrderWork, read_draft
from hkoji_server.service.mail.rights import SIGNS_NO_MORE, has_dkim
from hkoji_server.service.mail.tokens import answered_by
from hkoji_server.service.players.held_players import read_certificate
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_tables import IncomingMail, MailDraft, MailEvidence
from hkoji_server.store.mail_values import NO_GAME
from hkoji_server.store.tables import row_of

_ENTROPY_BYTES: Final = 32


class MailEntries:
    """Signs for held seats what mails order, and submits it."""

    def __init__(
        self, store: Store, held: LoadedGames, games: Games, statements: GameStatements, sources: ClockAndEntropy
    ) -> None:
        self._store = store
        self._held = held
        self._games = games
        self._statements = statements
        self._sources = sources

    async def kept(self, game: str, source: str) -> DraftText | None:
        """Returns the draft that a mail has led to before; None if it has not."""
        found = [each for each in await self._store.drafts(game) if each.source == source]
        return read_draft(found[0]) if found else None

    async def keep(self, game: str, case: MailCase, draft: DraftText, entropy: str | None = None) -> DraftText:
        """Keeps a draft of a mail, and returns it, or the one that is kept already.

        With a draft that commits to the mail, the mail is kept as its evidence. So whatever comes on record has it.
        """
        draft = draft._replace(dns=encode_base64(case.dns))
        new = row_of(
            MailDraft,
            game=game,
            source=case.mail.digest,
            name=case.mailbox.name,
            submission=draft.text,
            entropy=entropy,
        )
        evidence = self._evidence(case, game, draft) if draft.commit else None
        return read_draft(await self._store.add_draft(new, evidence))

    # --- entries --------------------------------------------------------------------------------------------------

    async def enter(self, work: OrderWork) -> int:
        """Puts a `move`, `resign` or `cancel` of the player on record, once, and returns the number of its entry.

        A `resign` or `cancel` is signed anew if the game has moved on before it was on record. Raises what
        `Games.submit` raises.
        """
        game, source = work.case.mail.game, work.case.mail.digest
        for _ in range(TRIES):
            draft = await self.kept(game, source) or await self._sign(work)
            try:
                return await self.submit(work.case, game, draft)
            except ConflictError:
                if work.order.kind is OrderKind.MOVE:
                    raise
                # Another process may have signed it anew already, and its draft has the proof of what it enters.
                await self._store.drop_draft(game, source, draft.text, draft.commit)
        raise undecided()

    async def submit(self, case: MailCase, game: str, draft: DraftText) -> int:
        """Submits the entry of a draft, also one that is on record already, and returns its number.

        Raises what `Games.submit` raises.
        """
        assert draft.entry is not None
        submission = read_submission(draft.entry)
        arrival = MailArrival(case.mail.number, case.mail.received)
        await self._games.submit(game, submission, arrival=arrival)
        return submission.entry.seq

    async def take_seat(
        self, case: MailCase, game: str, draft: DraftText, invite: entry_kinds.Invite | None = None
    ) -> DraftText:
        """Keeps the `join` of a player who is invited to a game, with fresh entropy, and returns the draft.

        With `invite` it is the `open` of a game that was offered to the player.
        """
        held = await self._held.read(game)
        gateway = await self.gateway(case.mailbox.held_key)
        entropy = self._sources.entropy(_ENTROPY_BYTES).hex()
        claim, draft = await self._claim(case, held, draft, gateway)
        body: entry_kinds.EntryBody
        if invite is None:
            body = entry_kinds.Join(entropy_commit(game, 1, entropy), gateway.key, None, gateway, claim)
        else:
            body = entry_kinds.Open(entropy_commit(game, 0, entropy), gateway.key, invite, gateway, claim)
        return await self._keep_entry(case, self._draft(held, body, case), draft, gateway, entropy)

    async def gateway(self, key: str) -> Gateway:
        """Returns the newest certificate of a held key."""
        found = await self._store.certificates(key)
        if not found:
            raise StorageError(tell("the certificate of a held key is missing"), hint=tell("nothing was changed"))
        return read_certificate(found[0])

    async def _sign(self, work: OrderWork) -> DraftText:
        case, order = work.case, work.order
        held, gateway = await self._turn(case)
        claim, draft = await self._claim(case, held, DraftText(work.orders, work.grade), gateway)
        if order.kind is OrderKind.MOVE:
            by, at, entropy = case.mailbox.name, case.mail.received, self._sources.entropy
            course, seen = held.refereed.course, held.refereed.at
            entry = draft_move(course, order.action, entropy, by=by, at=at, seen=seen, mail=claim)
        else:
            body = entry_kinds.Resign(claim) if order.kind is OrderKind.RESIGN else entry_kinds.Cancel(claim)
            entry = self._draft(held, body, case)
        return await self._keep_entry(case, entry, draft, gateway, None)

    def _draft(self, held: LoadedGame, body: entry_kinds.EntryBody, case: MailCase) -> EntryDraft:
        by, at = case.mailbox.name, case.mail.received
        return draft_entry(held.refereed.course, body, by=by, at=at, seen=held.refereed.at)

    async def _keep_entry(
        self, case: MailCase, entry: EntryDraft, draft: DraftText, gateway: Gateway, entropy: str | None
    ) -> DraftText:
        submission = entry.sign(await self.signer(gateway.key.text))
        return await self.keep(submission.entry.game, case, draft._replace(entry=submission.to_json()), entropy)

    # --- statements -----------------------------------------------------------------------------------------------

    async def call_off(self, work: OrderWork) -> int | None:
        """Keeps the player's wish to call the game off, or ends the game if the other one wishes it too.

        Returns the number of the entry that ends the game. Raises what `GameStatements.state` raises.
        """
        mail, name = work.case.mail, work.case.mailbox.name
        draft = await self._state(work, partial(make_annul, game=mail.game, name=name), sshsig.ANNUL)
        arrival = MailArrival(mail.number, mail.received)
        stated = await self._statements.state(parse_annul(draft.statement), draft.sig, arrival)
        return stated.lines[0].entry.seq if stated.lines else None

    async def give(self, work: OrderWork, seconds: int) -> None:
        """Gives the opponent time for the entry that they owe. Raises what `GameStatements.state` raises."""
        mail, name = work.case.mail, work.case.mailbox.name
        draft = await self._state(work, partial(make_gift, game=mail.game, name=name, seconds=seconds), sshsig.GIVE)
        arrival = MailArrival(mail.number, mail.received)
        try:
            await self._statements.state(parse_gift(draft.statement), draft.sig, arrival)
        except ConflictError:
            # The opponent may have used it before the mail was closed.
            if draft.sig not in gifts_in_log([line.entry for line in await self._store.lines(mail.game)]):
                raise

    async def _state(
        self, work: OrderWork, make: Callable[..., AnnulStatement | GiftStatement], namespace: str
    ) -> DraftText:
        """Keeps a signed statement about the last entry, and returns the draft, or the one that is kept already."""
        case = work.case
        kept = await self.kept(case.mail.game, case.mail.digest)
        if kept is not None:
            return kept
        held, gateway = await self._turn(case)
        claim, draft = await self._claim(case, held, DraftText(work.orders, work.grade), gateway)
        statement = make(head=draft.head, mail=claim)
        sig = encode_base64((await self.signer(gateway.key.text)).sign(namespace, statement.message))
        return await self.keep(case.mail.game, case, draft._replace(statement=statement.text, sig=sig))

    # --- what has come to nothing ---------------------------------------------------------------------------------

    async def forget_refused(self, mail: IncomingMail, name: str) -> None:
        """Removes drafts and mails of a player that no log and no statement names, in the game of a closed mail.

        An order that is refused, or a gift that is smaller than another, can come again and again, each time with a
        large mail.
        """
        kept = [await self.kept(game, mail.digest) for game in (NO_GAME, mail.game)]
        for game in {mail.game, *(each.offered for each in kept if each is not None)} - {NO_GAME}:
            # In this order: a statement that becomes an entry meanwhile is found in one place or the other.
            stated = [each.claim for each in await self._store.statements(game)]
            needed = {each.commit for each in claimed_mails(await self._store.lines(game))}
            needed |= {each.commit for each in stated if each is not None and each.commit is not None}
            for draft in await self._store.drafts(game):
                commit = read_draft(draft).commit
                if draft.name == name and commit and commit not in needed:
                    # Another process may have begun with the player's next mail.
                    await self._store.drop_draft(game, draft.source, draft.submission, commit, closed=True)

    # --- what both need -------------------------------------------------------------------------------------------

    async def _turn(self, case: MailCase) -> tuple[LoadedGame, Gateway]:
        """Returns the game of a mail, and the certificate of the key that the service holds for its player.

        Raises `ConflictError` if the turn is over for which the token of the mail was made. DNS may have been asked
        since the game was read. A player with a key of their own, or another mail process, may have ended the turn
        meanwhile; the orders could be carried out on a later one too. Raises `IllegalError` if no key is held.
        """
        held = await self._held.read(case.mail.game)
        seq, course = case.fields.seq, held.refereed.course
        if seq is not None and answered_by(await self._store.lines(case.fields.game, seq), seq) is not None:
            raise ConflictError(course.setup.game, seq=course.seq, head=course.head)
        held_key = course.setup.held_key(course.setup.require_seat(case.mailbox.name))
        if held_key is None:
            raise IllegalError(SIGNS_NO_MORE, hint=tell("nothing was changed; play on with your own key"))
        return held, held_key.gateway

    async def _claim(
        self, case: MailCase, held: LoadedGame, draft: DraftText, gateway: Gateway
    ) -> tuple[MailClaim, DraftText]:
        """Returns the claim of an entry or a statement after the last entry, and the draft with its opening."""
        course, salt = held.refereed.course, self._sources.entropy(SALT_BYTES)
        grade = await self._grade(case, draft.grade, held, gateway)
        fields = case.fields._replace(game=course.setup.game, head=course.head)
        raw, dns = case.mail.raw, case.dns
        commit = mail_commitment(fields, case.nonce, reader=READER_VERSION, raw=raw, dns=dns, salt=salt)
        draft = draft._replace(grade=grade, salt=salt.hex(), head=course.head, commit=commit)
        return MailClaim(commit, grade), draft

    async def signer(self, key: str) -> PrivateKey:
        """Returns a held key."""
        found = await self._store.held_key(key)
        if found is None:
            raise StorageError(tell("a held key is missing"), hint=tell("nothing was changed"))
        return PrivateKey.from_openssh(found.private.encode())

    async def _grade(self, case: MailCase, grade: MailGrade, held: LoadedGame, gateway: Gateway) -> MailGrade:
        """Returns the grade that the log may claim: `dkim` only at its T, and for the mailbox that is certified there.

        The entry before may be later than what was known when the mail was judged first. A mailbox that the player has
        moved to is certified in new games only.
        """
        if grade is not MailGrade.DKIM:
            return grade
        text = encode(gateway.to_json())
        found = await self._store.certificates(gateway.key.text)
        certified = any(each.text == text and each.mailbox == case.mailbox.address.lower() for each in found)
        return grade if certified and has_dkim(case, held.refereed.at) else MailGrade.TOKEN

    def _evidence(self, case: MailCase, game: str, draft: DraftText) -> MailEvidence:
        return row_of(
            MailEvidence,
            commit=draft.commit,
            game=game,
            head=draft.head,
            name=case.mailbox.name,
            raw=case.mail.raw,
            dns=case.dns,
            salt=draft.salt,
            nonce=case.nonce,
            purpose=case.fields.purpose.value,
            about=case.fields.about,
            grade=draft.grade.value,
            reader=READER_VERSION,
        )


def gifts_in_log(entries: Iterable[Entry]) -> set[str]:
    """Returns the signatures of the gifts of time that entries have helped, as the log has them."""
    gifts = (
        each.body.get("gift") for each in entries if each.kind in (entry_kinds.Credit.KIND, entry_kinds.Annul.KIND)
    )
    return {str(each["sig"]) for each in gifts if isinstance(each, dict)}
