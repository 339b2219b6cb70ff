"""How an order becomes an entry or a statement of a held seat.

It is signed here, and written when the mail is closed, in one transaction: with the mail as its evidence, the salt of
the commitment to it, and the player's entropy. So a mail makes at most one entry, whatever is killed when. A mail that
is processed again is signed anew.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from hkoji.errors import IllegalError, StorageError
from hkoji.game import entry_kinds
from hkoji.game.agreement import Agreement
from hkoji.game.commitments import SALT_BYTES, entropy_commit
from hkoji.game.held_keys import Gateway
from hkoji.game.submission import EntryDraft, Submission, draft_entry, draft_move
from hkoji.log import sshsig
from hkoji.log.canonical import encode, encode_base64
from hkoji.log.game_statements import AnnulStatement, GiftStatement, make_annul, make_gift
from hkoji.log.mail_claim import MailClaim, MailGrade
from hkoji.log.private_key import PrivateKey
from hkoji.mail.commands import OrderKind
from hkoji.mail.message import READER_VERSION
from hkoji.mail.tokens import mail_commitment
from hkoji.messages.text import tell
from hkoji.rules.protocol import Ruleset
from hkoji_server.service.games.games import Games, MailArrival
from hkoji_server.service.games.loaded_games import LoadedGame, LoadedGames
from hkoji_server.service.games.offers import Offers
from hkoji_server.service.games.statements import GameStatements
from hkoji_server.service.mail.cases import OrderWork, on_record
from hkoji_server.service.mail.rights import SIGNS_NO_MORE, has_dkim
from hkoji_server.service.players.held_players import read_certificate
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
        sources: ClockAndEntropy,
    ) -> None:
        self._store = store
        self._held = held
        self._games = games
        self._offers = offers
        self._statements = statements
        self._sources = sources

    # --- entries --------------------------------------------------------------------------------------------------

    async def enter(self, work: OrderWork) -> int:
        """Signs a `move`, `resign` or `cancel` of the player, and returns the number of its entry.

        Raises `IllegalError`.
        """
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

    async def join(self, work: OrderWork, game: str) -> int:
        """Signs the `join` of a player who is invited to a game, and returns the number of its entry."""
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

    def _submits(self, work: OrderWork, submission: Submission) -> int:
        received = work.case.mail.received

        async def write(closing: Closing, _: Closing | None) -> bool:
            arrival = MailArrival(received, closing)
            return (await self._games.submit(submission.entry.game, submission, arrival=arrival)).fresh

        work.outcome.write = write
        return submission.entry.seq

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

    async def call_off(self, work: OrderWork) -> None:
        """Signs the player's wish to call the game off, which ends it if the other one wishes it too.

        Raises `IllegalError`.
        """
        held, gateway = _turn(work)
        evidence = await self._evidence(work, held, gateway)
        course = held.refereed.course
        wish = make_annul(game=course.setup.game, head=course.head, name=work.case.mailbox.name, mail=_claim(evidence))
        work.outcome.ended = on_record(course.seq + 1)
        await self._states(work, wish, sshsig.ANNUL, evidence, gateway)

    async def give(self, work: OrderWork, seconds: int) -> None:
        """Signs a gift of time for the entry that the opponent owes. Raises `IllegalError`."""
        held, gateway = _turn(work)
        evidence = await self._evidence(work, held, gateway)
        course, name = held.refereed.course, work.case.mailbox.name
        claim = _claim(evidence)
        gift = make_gift(game=course.setup.game, head=course.head, name=name, seconds=seconds, mail=claim)
        await self._states(work, gift, sshsig.GIVE, evidence, gateway)

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
            return (await self._statements.state(statement, sig, MailArrival(received, closing, ended))).fresh

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

        The entry before may be later than what was known when the mail was judged first. A mailbox that the player has
        moved to is certified in new games only.
        """
        case = work.case
        if work.grade is not MailGrade.DKIM:
            return work.grade
        text = encode(gateway.to_json())
        found = await self._store.certificates(gateway.key.text)
        certified = any(each.text == text and each.mailbox == case.mailbox.address.lower() for each in found)
        return work.grade if certified and has_dkim(case, held.refereed.at) else MailGrade.TOKEN


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
