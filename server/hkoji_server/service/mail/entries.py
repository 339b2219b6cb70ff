"""The commands of a mail to a game that exists, and how they become entries and statements of a held seat.

It is signed here, and written when the mail is closed, in one transaction: with the mail as its evidence, the salt of
the commitment to it, and the player's entropy. So a mail makes at most one entry, whatever is killed when. A mail that
is processed again is signed anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from hkoji.errors import IllegalError, StorageError
from hkoji.game import entry_kinds
from hkoji.game.agreement import Agreement, format_duration, parse_duration
from hkoji.game.commitments import SALT_BYTES, entropy_commit
from hkoji.game.held_keys import Gateway
from hkoji.game.submission import EntryDraft, Submission, draft_entry, draft_move
from hkoji.log import sshsig
from hkoji.log.canonical import encode, encode_base64
from hkoji.log.game_statements import MAX_GIFT_SECONDS, AnnulStatement, GiftStatement, make_annul, make_gift
from hkoji.log.mail_claim import MailClaim, MailGrade
from hkoji.log.private_key import PrivateKey
from hkoji.mail.commands import OrderKind
from hkoji.mail.message import READER_VERSION
from hkoji.mail.tokens import mail_commitment
from hkoji.messages.text import tell
from hkoji.rules.protocol import Ruleset
from hkoji_server.service.games.games import Games, MailArrival
from hkoji_server.service.games.invitations import Invitations
from hkoji_server.service.games.loaded_games import LoadedGame, LoadedGames
from hkoji_server.service.games.offers import Offers
from hkoji_server.service.games.statements import GameStatements
from hkoji_server.service.mail.cases import AnswerKind, AnswerPart, OrderWork, on_record, part
from hkoji_server.service.mail.commands import NotDoneError, Step, accept
from hkoji_server.service.mail.rights import SIGNS_NO_MORE, has_dkim
from hkoji_server.service.players.held_players import HeldPlayers, read_certificate
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.store.closing import Closing
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_tables import HeldEntropy, MailEvidence
from hkoji_server.store.tables import row_of

_ENTROPY_BYTES: Final = 32


class MailEntries:
    """Signs for held seats what mails order, and leaves the write to the end of the mail."""

    def __init__(
        self,
        store: Store,
        held: LoadedGames,
        games: Games,
        offers: Offers,
        statements: GameStatements,
        invitations: Invitations,
        players: HeldPlayers,
        sources: ClockAndEntropy,
    ) -> None:
        self._store = store
        self._held = held
        self._games = games
        self._offers = offers
        self._statements = statements
        self._invitations = invitations
        self._players = players
        self._sources = sources

    @property
    def steps(self) -> Mapping[OrderKind, Step]:
        """The step of each command to a game that exists."""
        return {
            OrderKind.MOVE: self._enter,
            OrderKind.RESIGN: self._enter,
            OrderKind.CANCEL: self._enter,
            OrderKind.CALL_OFF: self._call_off,
            OrderKind.GIVE: self._give,
            OrderKind.ACCEPT: self._accept,
            OrderKind.DECLINE: self._decline,
        }

    # --- entries --------------------------------------------------------------------------------------------------

    async def _enter(self, work: OrderWork) -> AnswerPart:
        held, gateway = _turn(work)
        evidence = await self._evidence(work, held, gateway)
        claim = _claim(evidence)
        match work.order.kind:
            case OrderKind.MOVE:
                by, at, entropy = work.case.mailbox.name, work.case.mail.received, self._sources.entropy
                course, seen = held.refereed.course, held.refereed.at
                entry = draft_move(course, work.order.action, entropy, by=by, at=at, seen=seen, mail=claim)
            case OrderKind.RESIGN:
                entry = _entry(work, held, entry_kinds.Resign(claim))
            case _:
                entry = _entry(work, held, entry_kinds.Cancel(claim))
        submission = await self._sign(entry, gateway)
        work.outcome.close(evidence=evidence)
        return self._submits(work, submission)

    async def _accept(self, work: OrderWork) -> AnswerPart:
        game, seen = work.case.mail.game, work.case.game
        if game and seen is not None and seen.seat is None and not seen.signs:
            raise NotDoneError(
                tell(
                    "this invitation is to the key with which the service signed for you, and that has been revoked: "
                    "ask to be invited again"
                )
            )
        new = not game or work.case.mailbox.state == "invited"
        if new:
            await accept(self._players, work)
        joined = await self.join(work, game) if game else part(AnswerKind.WELCOME)
        return part(AnswerKind.WELCOME, **joined.values) if new else joined

    async def _decline(self, work: OrderWork) -> AnswerPart:
        game, mailbox = work.case.mail.game, work.case.mailbox
        if game:
            why = "later" if work.order.words else None

            async def write(closing: Closing, _: Closing | None) -> bool:
                return (await self._invitations.decline(game, mailbox.name, why, closing)).fresh

            work.outcome.write = write
        if mailbox.state == "invited":
            work.outcome.close(answered=work.case.now)
        return part(AnswerKind.DECLINED)

    async def join(self, work: OrderWork, game: str) -> AnswerPart:
        """Signs the `join` of a player who is invited to a game, and returns what the letter says about it."""
        held = await self._held.read(game)
        submission, evidence, entropy = await self._take_seat(work, held, None)
        work.outcome.close(evidence=evidence, entropy=entropy)
        return self._submits(work, submission)

    def open(
        self, work: OrderWork, game: str, ruleset: Ruleset, agreement: Agreement, invite: entry_kinds.Invite
    ) -> None:
        """Has the player open a new game that invites somebody, when the mail is closed."""

        async def write(closing: Closing, _: Closing | None) -> bool:
            async def sign(offered: LoadedGame) -> tuple[Submission, Closing]:
                submission, evidence, entropy = await self._take_seat(work, offered, invite)
                return submission, replace(closing, evidence=evidence, entropy=entropy)

            await self._offers.open(game, ruleset, agreement, work.case.mailbox.name, sign)
            return True

        work.outcome.write = write

    def _submits(self, work: OrderWork, submission: Submission) -> AnswerPart:
        received = work.case.mail.received

        async def write(closing: Closing, _: Closing | None) -> bool:
            arrival = MailArrival(received, closing)
            return (await self._games.submit(submission.entry.game, submission, arrival=arrival)).fresh

        work.outcome.write = write
        return on_record(submission.entry.seq)

    async def _take_seat(
        self, work: OrderWork, held: LoadedGame, invite: entry_kinds.Invite | None
    ) -> tuple[Submission, MailEvidence, HeldEntropy]:
        """Returns the entry by which the player takes a seat: with `invite` that of the host."""
        game, name = held.refereed.course.setup.game, work.case.mailbox.name
        gateway = await self._gateway(work.case.mailbox.held_key)
        entropy = self._sources.entropy(_ENTROPY_BYTES).hex()
        evidence = await self._evidence(work, held, gateway)
        claim = _claim(evidence)
        body: entry_kinds.EntryBody
        if invite is None:
            body = entry_kinds.Join(entropy_commit(game, 1, entropy), gateway.key, None, gateway, claim)
        else:
            body = entry_kinds.Open(entropy_commit(game, 0, entropy), gateway.key, invite, gateway, claim)
        submission = await self._sign(_entry(work, held, body), gateway)
        return submission, evidence, row_of(HeldEntropy, game=game, name=name, entropy=entropy)

    # --- statements -----------------------------------------------------------------------------------------------

    async def _call_off(self, work: OrderWork) -> AnswerPart:
        held, gateway = _turn(work)
        evidence = await self._evidence(work, held, gateway)
        course = held.refereed.course
        wish = make_annul(game=course.setup.game, head=course.head, name=work.case.mailbox.name, mail=_claim(evidence))
        work.outcome.ended = on_record(course.seq + 1)
        await self._states(work, wish, sshsig.ANNUL, evidence, gateway)
        return part(AnswerKind.CALLED_OFF)

    async def _give(self, work: OrderWork) -> AnswerPart:
        seconds = parse_duration(work.order.words[0])
        if seconds > MAX_GIFT_SECONDS:
            raise NotDoneError(tell("you can give {most} at a time at most", most=format_duration(MAX_GIFT_SECONDS)))
        held, gateway = _turn(work)
        evidence = await self._evidence(work, held, gateway)
        course, name = held.refereed.course, work.case.mailbox.name
        claim = _claim(evidence)
        gift = make_gift(game=course.setup.game, head=course.head, name=name, seconds=seconds, mail=claim)
        await self._states(work, gift, sshsig.GIVE, evidence, gateway)
        return part(AnswerKind.GAVE, seconds=seconds)

    async def _states(
        self,
        work: OrderWork,
        statement: AnnulStatement | GiftStatement,
        namespace: str,
        evidence: MailEvidence,
        gateway: Gateway,
    ) -> None:
        sig = encode_base64((await self._signer(gateway.key.text)).sign(namespace, statement.message))
        received = work.case.mail.received

        async def write(closing: Closing, ended: Closing | None) -> bool:
            stated = await self._statements.state(statement, sig, MailArrival(received, closing, ended))
            if ended is None or stated.fresh or not stated.lines:
                return stated.fresh
            # By an earlier wish of the player the game has just ended so.
            await self._store.close_incoming(replace(ended, evidence=None))
            return True

        work.outcome.close(evidence=evidence)
        work.outcome.write = write

    # --- what both need -------------------------------------------------------------------------------------------

    async def _gateway(self, key: str) -> Gateway:
        """Returns the newest certificate of a held key."""
        found = await self._store.certificates(key)
        if not found:
            raise StorageError(tell("the certificate of a held key is missing"), hint=tell("nothing was changed"))
        return read_certificate(found[0])

    async def _signer(self, key: str) -> PrivateKey:
        """Returns a held key."""
        found = await self._store.held_key(key)
        if found is None:
            raise StorageError(tell("a held key is missing"), hint=tell("nothing was changed"))
        return PrivateKey.from_openssh(found.private.encode())

    async def _sign(self, entry: EntryDraft, gateway: Gateway) -> Submission:
        return entry.sign(await self._signer(gateway.key.text))

    async def _evidence(self, work: OrderWork, held: LoadedGame, gateway: Gateway) -> MailEvidence:
        """Returns the mail as evidence for what follows the last entry of a game, and all that opens its commitment."""
        case, course, salt = work.case, held.refereed.course, self._sources.entropy(SALT_BYTES)
        grade = await self._grade(work, held, gateway)
        fields = case.fields._replace(game=course.setup.game, head=course.head)
        raw, dns = case.mail.raw, case.dns
        return row_of(
            MailEvidence,
            commit=mail_commitment(fields, case.nonce, reader=READER_VERSION, raw=raw, dns=dns, salt=salt),
            game=course.setup.game,
            head=course.head,
            name=case.mailbox.name,
            raw=raw,
            dns=dns,
            salt=salt.hex(),
            nonce=case.nonce,
            purpose=case.fields.purpose.value,
            about=case.fields.about,
            grade=grade.value,
            reader=READER_VERSION,
        )

    async def _grade(self, work: OrderWork, held: LoadedGame, gateway: Gateway) -> MailGrade:
        """Returns the grade that the log may claim: `dkim` only at its T, and for the mailbox that is certified there.

        In another game the entry before may be later than in that by which the mail was judged. A mailbox that the
        player has moved to is certified in new games only.
        """
        case = work.case
        if work.grade is not MailGrade.DKIM:
            return work.grade
        judged = case.game is not None and case.game.held is held
        text = encode(gateway.to_json())
        found = await self._store.certificates(gateway.key.text)
        certified = any(each.text == text and each.mailbox == case.mailbox.address.lower() for each in found)
        return work.grade if certified and (judged or has_dkim(case, held.refereed.at)) else MailGrade.TOKEN


def _turn(work: OrderWork) -> tuple[LoadedGame, Gateway]:
    """Returns the game of a mail as it was judged, and the certificate of the key that the service holds there.

    If the game has moved on since, what is signed for it is refused. Raises `IllegalError` if no key is held.
    """
    game = work.case.game
    assert game is not None
    setup = game.course.setup
    held_key = setup.held_key(setup.require_seat(work.case.mailbox.name))
    if held_key is None:
        raise IllegalError(SIGNS_NO_MORE, hint=tell("nothing was changed; play on with your own key"))
    return game.held, held_key.gateway


def _claim(evidence: MailEvidence) -> MailClaim:
    return MailClaim(evidence.commit, MailGrade(evidence.grade))


def _entry(work: OrderWork, held: LoadedGame, body: entry_kinds.EntryBody) -> EntryDraft:
    by, at = work.case.mailbox.name, work.case.mail.received
    return draft_entry(held.refereed.course, body, by=by, at=at, seen=held.refereed.at)
