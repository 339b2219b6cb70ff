"""A game as one of its players knows it, for players whose client is the service itself.

It is the same projection as over HTTP: the public log, the cards that the seat has been dealt, and the openings of the
cards that it has put face down. The mails file of a player has the mails
that the log commits to (docs/spec/mails.md, "Mails files"); it is for that player and for the operator, for nobody
else.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from hkoji.game.commitments import Opening
from hkoji.game.course import Course, Stage
from hkoji.game.entry_kinds import Invite
from hkoji.game.held_keys import Gateway
from hkoji.game.knowledge import FullKnowledge, Knowledge, SeatKnowledge
from hkoji.game.position import ClockReading, Position, read_clock, read_position, sealed_position
from hkoji.game.replay import public_knowledge, replay, require_whole
from hkoji.log.canonical import encode
from hkoji.log.line import Line
from hkoji.mail.claimed_mails import certificates_of, claimed_mails
from hkoji.mail.letters.game_words import GameRow, SeatFacts
from hkoji.mail.mails_file import ProvedMailbox, ProvingMail, format_mails
from hkoji.mail.tokens import Purpose, TokenPlace, place_of
from hkoji.rules.events import Seat
from hkoji_server.service.games.loaded_games import LoadedGame, LoadedGames
from hkoji_server.service.time.service_time import ServiceTime
from hkoji_server.store.contract import Store
from hkoji_server.store.game_values import GameSummary, Query
from hkoji_server.store.mail_tables import MailEvidence
from hkoji_server.store.mail_values import Mailbox

_MOST_ROWS: Final = 50
_MOST_GAMES: Final = 64
"""Of how many games the lines are kept in memory."""


@dataclass(frozen=True, slots=True)
class SeatTurn:
    """A game at one moment, with all cards in `held`, as far as the orders of the player `name` depend on it.

    `seat` is None for a player who has none yet. `place` is what tokens of this turn name. `signs` says whether the
    service can sign for the seat: it holds a key of it, and neither that nor the player's is revoked. For a person who
    is invited, and has no seat yet, it says whether the key with which they are to join is not revoked.
    """

    name: str
    held: LoadedGame
    course: Course
    """The same with all cards, as the service knows it."""
    lines: tuple[Line, ...]
    seat: Seat | None
    place: TokenPlace
    signs: bool

    @property
    def owes_move(self) -> bool:
        """Whether the player owes a move."""
        return self.seat is not None and self.course.stage is Stage.PLAY and self.course.actor == self.seat

    @property
    def owes_own_seed(self) -> bool:
        """Whether the player owes entropy that only their own client has."""
        return self.seat is not None and self.course.seed_seat == self.seat and not self.course.setup.held(self.seat)

    @property
    def opponent(self) -> str | None:
        """The other player, or who is invited to be that; None while there is none."""
        setup = self.course.setup
        return next((each for each in (*setup.names, setup.invited) if each is not None and each != self.name), None)


@dataclass(frozen=True, slots=True)
class SeatGame(SeatTurn):
    """A game with all its lines, and in `position` as its player knows it."""

    position: Position
    clock: ClockReading


class SeatGames:
    """Reads games for their players."""

    def __init__(self, store: Store, games: LoadedGames, time: ServiceTime) -> None:
        self._store = store
        self._games = games
        self._time = time
        self._lines: dict[str, tuple[Line, ...]] = {}
        """The lines of the games that were read last. A log only grows."""

    async def read(self, game: str, name: str) -> SeatGame:
        """Returns a game as the store has it now, as the player `name` knows it. Raises `NotFoundError`."""
        turn = await self.turn(game, name)
        course, at, seat = turn.course, turn.held.refereed.at, turn.seat
        seen = require_whole(replay(turn.lines, knowledge_of(turn)))
        clock = read_clock(course, at)._replace(deadline=turn.held.due(self._time.outages))
        position = read_position(seen, seat, name) if course.sealed is None else sealed_position(seen, seat, name)
        return SeatGame(turn.name, turn.held, course, turn.lines, seat, turn.place, turn.signs, position, clock)

    async def turn(self, game: str, name: str) -> SeatTurn:
        """Returns a game as the store has it now, with all its lines. Raises `NotFoundError`."""
        while True:
            held = await self._games.read(game)
            course, lines = held.refereed.course, self._lines.pop(game, ())
            self._lines[game] = lines = lines + await self._store.lines(game, len(lines) - 1)
            if len(self._lines) > _MOST_GAMES:
                del self._lines[next(iter(self._lines))]
            if lines and lines[-1].entry.head == course.head:
                place = place_of([line.entry for line in lines])
                assert place is not None  # the first entry is an offer
                seat = course.setup.seat_of(name)
                return SeatTurn(name, held, course, lines, seat, place, await self._signs(course, seat, name))

    async def _signs(self, course: Course, seat: Seat | None, name: str) -> bool:
        setup = course.setup
        if seat is None:
            invite = setup.invite
            keys = {invite.key} if isinstance(invite, Invite) and invite.name == name else set()
        else:
            held, key = setup.held_key(seat), setup.keys[seat]
            if held is None:
                return False
            keys = {held.gateway.key, key}
        retired = [await self._store.retired(each.text) for each in keys if each is not None]
        return not any(each is not None and each.revoked for each in retired)

    # --- what letters say of games ------------------------------------------------------------------------------------

    async def facts(self, mailbox: Mailbox, game: SeatGame, now: str) -> SeatFacts:
        """Returns what letters say about a game, as the owner of a mailbox knows it."""
        seat, opponent, setup = game.seat, game.opponent, game.course.setup
        by_mail = opponent is not None and setup.is_by_mail(opponent)
        other = await self._store.mailbox_of(opponent, now) if opponent is not None and by_mail else None
        held = seat is None or setup.held(seat)
        return SeatFacts(
            game.position,
            game.clock,
            now,
            cards=mailbox.cards,
            held=held,
            opponent_held=seat is not None and setup.held(1 - seat),
            silent=mailbox.paused,
            opponent_silent=None if other is None else other.paused,
            signs=game.signs and (held or (mailbox.orders and not game.owes_own_seed)),
            own=not game.signs and await self._store.has_own_key(mailbox.name),
            zone=mailbox.zone,
        )

    async def rows(self, name: str) -> tuple[GameRow, ...]:
        """Returns the running games of a player, as lists show them."""
        found = await self.running(name)
        return tuple(
            GameRow(
                each.game,
                next((one for one in (each.host, each.guest, each.invite) if one is not None and one != name), None),
                json.loads(each.ruleset)["name"],
                each.to_move == name,
                each.deadline,
            )
            for each in found
        )

    async def running(self, name: str) -> tuple[GameSummary, ...]:
        """Returns the summaries of a player's running games."""
        return await self._store.games(Query(player=name, status="playing", limit=_MOST_ROWS, own=True))


def knowledge_of(turn: SeatTurn) -> Knowledge:
    """Returns what a player knows of their game: the cards of their seat, and after its end all of them.

    Of a sealed game the service knows no cards.
    """
    known, course, seat = public_knowledge(turn.lines), turn.course, turn.seat
    if seat is None or course.sealed is not None or isinstance(known, FullKnowledge):
        return known
    own: dict[int, list[Opening]] = {line.entry.seq: [] for line in turn.lines if line.entry.by == turn.name}
    for opening in turn.held.refereed.openings:
        if opening.seq in own:
            own[opening.seq].append(opening)
    dealt = tuple(map(course.setup.ruleset.pack.split, course.shown_to(seat)))
    return SeatKnowledge(seat, dealt, {seq: tuple(openings) for seq, openings in own.items()})


async def mails_of(store: Store, lines: Sequence[Line], name: str) -> bytes:
    """Returns the mails file of the player `name` in the game with these lines; empty if no mail of theirs is kept."""
    kept = await store.evidence(lines[0].entry.game, name)
    certificates = certificates_of(lines, name)
    if not kept or not certificates:
        return b""
    behind = {claim.commit: claim.gateway for claim in claimed_mails(lines)}
    found = []
    for gateway in certificates:
        # A mail behind no entry, like a wish that was not shared, is proved with the newest certificate.
        mails = [each for each in kept if behind.get(each.commit, certificates[-1]) == gateway]
        mailbox = await _mailbox(store, gateway, name)
        if mails and mailbox is not None:
            found.append(mailbox._replace(mails=tuple(map(_line, mails))))
    return format_mails(found)


async def _mailbox(store: Store, gateway: Gateway, name: str) -> ProvedMailbox | None:
    """Returns the mailbox of a certificate; None if it was erased."""
    text = encode(gateway.to_json())
    for each in await store.certificates(gateway.key.text):
        if each.text == text and each.mailbox:
            return ProvedMailbox(each.salt, each.mailbox, name)
    return None


def _line(kept: MailEvidence) -> ProvingMail:
    return ProvingMail(
        about=kept.about,
        dns=kept.dns,
        game=kept.game,
        head=kept.head,
        nonce=kept.nonce,
        purpose=Purpose(kept.purpose),
        raw=kept.raw,
        reader=kept.reader,
        salt=kept.salt,
    )
