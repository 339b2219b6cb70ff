"""Statements of players about a game beside its log: gifts of time, and wishes to call it off; and its clocks.

docs/spec/log.md, "Statements". A statement is about the last entry. It is kept in a transaction that compares the head,
the deadline and the number of outages, as an append does. The second wish about the same entry ends the game instead.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from hkoji import referee
from hkoji.errors import ConflictError, GameOverError, IllegalError, RevokedError, TimeOverError
from hkoji.game import entry_kinds
from hkoji.game.agreement import Agreement
from hkoji.game.clock import Outage, Pace, outages_between
from hkoji.game.course import Course
from hkoji.game.held_keys import verify_statement_mail
from hkoji.log import sshsig
from hkoji.log.canonical import decode_base64, encode, encode_base64
from hkoji.log.game_statements import AnnulStatement, GiftStatement
from hkoji.log.line import Line
from hkoji.log.private_key import Signer
from hkoji.log.public_key import PublicKey
from hkoji.messages.text import tell
from hkoji.rules.events import Seat
from hkoji_server.service.games.games import MailArrival
from hkoji_server.service.games.loaded_games import TRIES, LoadedGame, LoadedGames, hold, undecided, write_own
from hkoji_server.service.games.notice_rules import notice_of_annul, notices_of_gift
from hkoji_server.service.players.limits import RateLimits
from hkoji_server.service.time.service_time import ServiceTime
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_values import SHUT
from hkoji_server.store.players import verify_not_revoked
from hkoji_server.store.tables import KeptStatement, row_of
from hkoji_server.store.time_contract import StaleDecisionError


class Stated(NamedTuple):
    """The result of a statement: the game's deadline, and the lines that it has added to the log.

    `fresh` is False if it was accepted earlier.
    """

    deadline: str | None
    lines: tuple[Line, ...]
    fresh: bool


class ClockReport(NamedTuple):
    """The clocks of a game as anybody may see them. `pace` is of the running turn; None if no clock runs.

    `to_move` is the name of the player in `seat`, who owes the entry that is due.

    `gifts` and `outages` count for the entry that is due. `annul` are the players who wish to call the game off.
    `silent` has the players whose mailbox does not take letters, each with the time since when.
    """

    game: str
    seq: int
    head: str
    agreement: Agreement
    seat: Seat | None
    to_move: str | None
    deadline: str | None
    pace: Pace | None
    gifts: tuple[KeptStatement, ...]
    outages: tuple[Outage, ...]
    annul: tuple[str, ...]
    silent: dict[str, str]


class GameStatements:
    """Use cases about statements. `signer` is the service's key."""

    def __init__(self, store: Store, held: LoadedGames, time: ServiceTime, signer: Signer, limits: RateLimits) -> None:
        self._store = store
        self._held = held
        self._time = time
        self._signer = signer
        self._limits = limits

    async def withdraw(self, game: str, player: str) -> None:
        """Forgets a player's wish to call a game off. Its signature stays valid until the head moves.

        Raises `NotFoundError`, `ForbiddenError`, `GameOverError`.
        """
        course = (await self._held.read(game)).refereed.course
        course.setup.require_seat(player)
        if course.finished:
            raise GameOverError(game)
        await self._store.remove_statement(game, course.head, "annul", player)

    async def clock(self, game: str) -> ClockReport:
        """Returns what the clocks of a game show. Raises `NotFoundError`."""
        held = await self._held.read(game)
        await self._time.read_outages()
        refereed, outages = held.refereed, self._time.outages
        course = refereed.course
        seat = course.actor
        pace = None
        if course.clock is not None and seat is not None:
            pace = course.clock.settled(refereed.at).due(course.clock.control, seat)
        return ClockReport(
            game=game,
            seq=course.seq,
            head=course.head,
            agreement=course.setup.agreement,
            seat=seat,
            to_move=None if seat is None else course.setup.names[seat],
            deadline=held.due(outages),
            pace=pace,
            gifts=held.given,
            outages=()
            if pace is None or seat is None
            else outages_between(outages, course.setup.way(seat), pace.since),
            annul=tuple(each.name for each in held.wishes),
            silent=await self._silent(course),
        )

    async def _silent(self, course: Course) -> dict[str, str]:
        """Returns the players of a game that goes on who do not get the letters that they answer, and since when."""
        found, setup = {}, course.setup
        for name in () if course.finished else (*setup.names, setup.invited):
            by_mail = name is not None and setup.is_by_mail(name)
            box = await self._store.mailbox_of(name, self._time.shown) if name is not None and by_mail else None
            # Nobody gets letters whose mailbox is locked.
            since = None if box is None else box.since if box.state in SHUT else box.paused
            if box is not None and since is not None:
                found[box.name] = since
        return found

    # --- one statement --------------------------------------------------------------------------------------------

    async def state(
        self, statement: GiftStatement | AnnulStatement, sig: str, arrival: MailArrival | None = None
    ) -> Stated:
        """Keeps a gift of time for the opponent's entry that is due, or the wish to call the game off.

        If both players wish it, the game ends. `sig` is base64. `arrival` is the mail of a player whose key the service
        holds. Raises `MalformedError`, `NotFoundError`, `ConflictError` for another head, and so for another game,
        `ForbiddenError`, `SignatureError`, `RevokedError`, `GameOverError`, `IllegalError` where no time can be given
        or before a guest has joined, `TimeOverError`, `ClockError`.
        """
        blob, game, name = decode_base64(sig, "signature"), statement.game, statement.name
        gives = isinstance(statement, GiftStatement)
        counted = False
        for _ in range(TRIES):
            held = await self._held.read(game)
            course = held.refereed.course
            earlier = None
            if statement.head != course.head:
                # As with an entry, the place comes before the signature. So a statement for another game, whose head
                # is none of this one, is in the wrong place, and not falsely signed.
                await self._verify_not_revoked(course, name)
                earlier = await self._called_off(held, statement)
            seat = course.setup.require_seat(name)
            key = course.setup.keys[seat]
            assert key is not None
            verify_statement_mail(name, statement.mail, held=course.setup.held(seat))
            sshsig.verify(blob, key, sshsig.GIVE if gives else sshsig.ANNUL, statement.message, name)
            verify_not_revoked(await self._store.retired(key.text))
            if not counted and arrival is None:
                await self._limits.admit_player(name)
                counted = True
            if earlier is not None:
                return earlier
            if course.finished:
                raise GameOverError(game)
            now = await self._time.now()
            at = now if arrival is None else arrival.received
            kind: Literal["give", "annul"] = "give" if gives else "annul"
            seconds = statement.seconds if isinstance(statement, GiftStatement) else None
            mail = None if statement.mail is None else encode(statement.mail.to_json())
            new = row_of(
                KeptStatement,
                game=game,
                head=course.head,
                kind=kind,
                name=name,
                seconds=seconds,
                sig=encode_base64(blob),
                at=at,
                mail=mail,
            )
            try:
                keep = self._give if gives else self._annul
                return await keep(held, new, seat, key, arrival)
            except (ConflictError, StaleDecisionError):
                await self._time.read_outages()
        raise undecided()

    async def _give(
        self, held: LoadedGame, new: KeptStatement, seat: Seat, key: PublicKey, arrival: MailArrival | None
    ) -> Stated:
        course = held.refereed.course
        if course.clock is None or course.actor is None:
            raise IllegalError(tell("no clock runs in this game, so no time can be given"))
        if course.actor == seat:
            raise IllegalError(
                tell("you owe the next entry yourself; only your opponent can give time for it"),
                hint=tell("nothing was changed; ask your opponent"),
            )
        self._verify_in_time(held, new.at)
        outages = self._time.outages
        after = hold(held.refereed, None, (*held.statements, new)).due(outages)
        told = notices_of_gift(held.refereed, deadline=after, at=new.at)
        fresh = await self._store.add_statement(
            new,
            deadline=held.deadline,
            after=after,
            outages=len(outages),
            notices=told,
            closing=None if arrival is None else arrival.closing,
            key=key.text,
        )
        return Stated(after, (), fresh)

    async def _annul(
        self, held: LoadedGame, new: KeptStatement, seat: Seat, key: PublicKey, arrival: MailArrival | None
    ) -> Stated:
        refereed, outages = held.refereed, self._time.outages
        course = refereed.course
        if course.actor is None:
            raise IllegalError(
                tell("a game that nobody has joined cannot be called off"),
                hint=tell("nothing was changed; its host can cancel it"),
            )
        self._verify_in_time(held, new.at)
        theirs = await self._wish_of_other(held, seat)
        if theirs is None:
            kept = await self._store.add_statement(
                new,
                deadline=held.deadline,
                after=held.deadline,
                outages=len(outages),
                notices=notice_of_annul(course, new.name, new.at),
                closing=None if arrival is None else arrival.closing,
                key=key.text,
            )
            return Stated(held.due(outages), (), kept)
        blobs = (decode_base64(new.sig, "signature"), decode_base64(theirs.sig, "signature"))
        sigs = blobs if seat == 0 else (blobs[1], blobs[0])
        mails = (new.claim, theirs.claim) if seat == 0 else (theirs.claim, new.claim)
        accepted = referee.annul(
            refereed, sigs, signer=self._signer, at=new.at, gifts=held.gifts, outages=outages, mails=mails
        )
        ended = None if arrival is None else arrival.ended
        await write_own(self._store, self._held, held, accepted, outages, key=key.text, by=new.name, closing=ended)
        return Stated(None, accepted.lines, fresh=True)

    async def _wish_of_other(self, held: LoadedGame, seat: Seat) -> KeptStatement | None:
        """Returns the wish of the other seat about the last entry. One of a key that is revoked by now is forgotten."""
        course = held.refereed.course
        other = course.setup.names[1 - seat]
        for each in held.wishes:
            if each.name != other:
                continue
            key = course.setup.keys[1 - seat]
            assert key is not None
            try:
                verify_not_revoked(await self._store.retired(key.text))
            except RevokedError:
                await self._store.remove_statement(each.game, each.head, each.kind, each.name)
                return None
            return each
        return None

    def _verify_in_time(self, held: LoadedGame, at: str) -> None:
        """Raises `TimeOverError` if the time of the seat that owes the next entry is over."""
        due = held.due(self._time.outages)
        if due is not None and max(at, held.refereed.at) > due:
            raise TimeOverError(held.refereed.course.setup.game, due)

    async def _called_off(self, held: LoadedGame, statement: GiftStatement | AnnulStatement) -> Stated:
        """Returns the answer to a wish that has ended the game before. Raises `ConflictError` if it has not."""
        course = held.refereed.course
        game = course.setup.game
        if isinstance(statement, AnnulStatement) and course.finished:
            lines = await self._store.lines(game, course.seq - 2)
            if lines and lines[0].entry.prev == statement.head and lines[0].entry.kind == entry_kinds.Annul.KIND:
                return Stated(None, lines, fresh=False)
        raise ConflictError(game, seq=course.seq, head=course.head)

    async def _verify_not_revoked(self, course: Course, name: str) -> None:
        """Raises `RevokedError` if player `name` has a seat, and its key is revoked."""
        seat = course.setup.seat_of(name)
        key = None if seat is None else course.setup.keys[seat]
        if key is not None:
            verify_not_revoked(await self._store.retired(key.text))
