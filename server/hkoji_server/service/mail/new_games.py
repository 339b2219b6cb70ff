"""The commands of a mail that begin games: `new` and `rematch`.

A mail makes at most one entry. So `new` offers a game, opens it and invites somebody, and `rematch` either opens
another game with the same opponent or joins the one that the opponent has opened. Two mail players who ask at once get
one game: its id follows from the game before, so the second of them finds it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Final, NamedTuple

from hkoji.errors import UsageError
from hkoji.game import entry_kinds
from hkoji.game.agreement import DAY, Agreement, Series, parse_time_control
from hkoji.game.clock import add_seconds
from hkoji.game.course import Course
from hkoji.game.rematch import MOST_GAMES, Known, has_terms, next_in_series, rematch_agreement, rematch_ruleset_of
from hkoji.log.canonical import decode, is_name, name_fault
from hkoji.log.public_key import parse_public_key
from hkoji.mail.addresses import is_mailbox
from hkoji.mail.commands import DEFAULT_CLOCK, OrderKind
from hkoji.messages.text import tell
from hkoji.rules.events import Seat
from hkoji.rules.protocol import Ruleset
from hkoji.rules.registry import RULESETS
from hkoji_server.service.games.loaded_games import LoadedGames
from hkoji_server.service.games.offers import Offers
from hkoji_server.service.mail.cases import AnswerKind, AnswerPart, OrderWork, on_record, part
from hkoji_server.service.mail.commands import NotDoneError, Step
from hkoji_server.service.mail.entries import MailEntries
from hkoji_server.service.mail.tokens import MailTokens
from hkoji_server.service.players.held_players import HeldPlayers
from hkoji_server.store.contract import Store
from hkoji_server.store.game_lists import cursor_of
from hkoji_server.store.game_values import GameSummary, Query
from hkoji_server.store.mail_values import Mailbox

INVITATION_SECONDS: Final = 7 * DAY
"""For how long the invitation of a `new` stands."""
_PAGE: Final = 100
_APART: Final = 120
"""How many seconds the clocks of a service's processes may be apart, at most."""


class _MailRematch(NamedTuple):
    """The game before, the player's seat in it, and the place of the rematch in its series."""

    course: Course
    seat: Seat
    series: Series | None
    since: str
    """No rematch was offered before this time."""

    @property
    def game(self) -> str:
        return self.course.setup.game

    @property
    def name(self) -> str:
        name = self.course.setup.names[self.seat]
        assert name is not None
        return name

    @property
    def opponent(self) -> str:
        name = self.course.setup.names[1 - self.seat]
        assert name is not None
        return name


class NewGames:
    """The commands that begin games: `new` and `rematch`."""

    def __init__(
        self,
        store: Store,
        held: LoadedGames,
        entries: MailEntries,
        offers: Offers,
        players: HeldPlayers,
        tokens: MailTokens,
    ) -> None:
        self._store = store
        self._held = held
        self._entries = entries
        self._offers = offers
        self._players = players
        self._tokens = tokens

    @property
    def steps(self) -> Mapping[OrderKind, Step]:
        """The step of each command."""
        return {
            OrderKind.NEW: self._new,
            OrderKind.REMATCH: self._rematch,
        }

    async def _new(self, work: OrderWork) -> AnswerPart:
        ruleset, name, address, *rest = work.order.words
        host = work.case.mailbox.name
        game_type = RULESETS.get(ruleset)
        if game_type is None:
            raise NotDoneError(
                tell("there is no game {name}; the games are {names}", name=ruleset, names=", ".join(RULESETS))
            )
        if not is_name(name):
            raise NotDoneError(name_fault(name))
        if name == host:
            raise NotDoneError(tell("a player cannot invite themselves"))
        if not is_mailbox(address):  # a clock in its place would be lost without a word, also where nobody needs it
            raise NotDoneError(
                tell("behind the name stands a mail address, as in: new hanamikoji bob bob@example.org 3d/14d")
            )
        await self._verify_host(work.mailbox)
        try:
            control = parse_time_control(rest[0] if rest else DEFAULT_CLOCK)
        except UsageError as error:
            raise NotDoneError(error.message) from error
        agreement = Agreement(control, add_seconds(work.case.mail.received, INVITATION_SECONDS))
        await self._offers.verify_invitation(agreement, host)
        invite = entry_kinds.Invite(name, parse_public_key(await self._key_of(name, address, work)))
        game = await self._tokens.new_game(work.case.mail.digest)
        return self._opens(work, game, game_type(), agreement, invite)

    def _opens(
        self, work: OrderWork, game: str, ruleset: Ruleset, agreement: Agreement, invite: entry_kinds.Invite
    ) -> AnswerPart:
        self._entries.open(work, game, ruleset, agreement, invite)
        work.outcome.games = [game]
        return on_record(1)

    async def _key_of(self, name: str, address: str, work: OrderWork) -> str:
        """Returns the key of whom a `new` invites. The address is for somebody who is new here."""
        player = await self._store.player(name)
        if player is not None:
            return player.key
        lang, host, ordered = work.mailbox.lang, work.case.mailbox.name, work.case.mail.received
        return (await self._players.invite(name, address, lang, host, ordered=ordered)).key.text

    async def _verify_host(self, mailbox: Mailbox) -> None:
        """Raises `NotDoneError` if the owner of a mailbox cannot open a game by mail."""
        if mailbox.state not in ("active", "stopped"):
            # Before anything is made for it, or they would take a name and a mailbox without playing.
            raise NotDoneError(tell("you are invited only: accept the invitation first"))
        retired = await self._store.retired(mailbox.held_key)
        if retired is not None and retired.revoked:
            raise NotDoneError(tell("the key with which the service signs for you has been revoked"))

    # --- `rematch` ------------------------------------------------------------------------------------------------

    async def _rematch(self, work: OrderWork) -> AnswerPart:
        wanted = await self._want(work)
        mine, theirs, joined = await self._look(wanted)
        if joined or (mine and not theirs):
            return await self._found(work, wanted, (joined or mine)[0])
        if theirs:
            return await self._join(work, wanted, theirs[0])
        expires = add_seconds(work.case.mail.received, INVITATION_SECONDS)
        agreement = rematch_agreement(wanted.course, wanted.series)._replace(expires=expires)
        ruleset = rematch_ruleset_of(wanted.course, wanted.seat)
        invite = entry_kinds.Invite(wanted.opponent, parse_public_key(await self._key_of_opponent(wanted)))
        return self._opens(work, await self._new_id(wanted), ruleset, agreement, invite)

    async def _want(self, work: OrderWork) -> _MailRematch:
        game = work.case.game
        assert game is not None  # the token is of one
        course, short = game.course, game.course.setup.game[:8]
        if not course.finished:
            raise NotDoneError(tell("game {game} is not over", game=short))
        if game.seat is None or course.setup.names[1] is None:
            raise NotDoneError(tell("nobody joined game {game}, so it has no rematch", game=short))
        await self._verify_host(work.mailbox)
        ended = game.held.refereed.at
        before = {course.setup.game: (course, ended)}
        async for known in self._before(course):
            before[known[0].setup.game] = known
        series, _ = next_in_series((course, ended), before.__getitem__)
        return _MailRematch(course, game.seat, series, add_seconds(ended, -_APART))

    async def _before(self, course: Course) -> AsyncIterator[Known]:
        """Yields the games before one in its series."""
        for _ in range(MOST_GAMES):
            agreement = course.setup.agreement
            if agreement.series is None or agreement.rematch is None:
                return
            held = await self._held.read(agreement.rematch)
            course = held.refereed.course
            yield course, held.refereed.at

    # --- what there is --------------------------------------------------------------------------------------------

    async def _look(self, wanted: _MailRematch) -> tuple[list[str], list[str], list[str]]:
        """Returns the rematches of a game: mine that are open, the opponent's, and those that were joined."""
        mine: list[str] = []
        theirs: list[str] = []
        joined: list[str] = []
        players = {wanted.name, wanted.opponent}
        for status in ("open", "playing", "finished"):
            async for each in self._listed(wanted, status):
                agreement = decode(each.agreement, tell("agreement"))
                assert isinstance(agreement, dict)  # it is the service's own text
                if agreement.get("rematch") != wanted.game or {each.host, each.guest or each.invite} != players:
                    continue
                (joined if status != "open" else mine if each.host == wanted.name else theirs).append(each.game)
        return sorted(mine), sorted(theirs), sorted(joined)

    async def _listed(self, wanted: _MailRematch, status: str) -> AsyncIterator[GameSummary]:
        """Yields the player's games since the game before has ended."""
        query = Query(player=wanted.name, own=True, status=status, limit=_PAGE)
        while page := await self._store.games(query):
            for each in page:
                if each.created >= wanted.since:
                    yield each
            if page[-1].created < wanted.since or len(page) < _PAGE:
                return
            query = Query(player=wanted.name, own=True, status=status, limit=_PAGE, after=cursor_of(query, page[-1]))

    async def _found(self, work: OrderWork, wanted: _MailRematch, game: str) -> AnswerPart:
        if (await self._held.read(game)).refereed.course.finished:
            raise NotDoneError(
                tell(
                    "game {game} has had its rematch, {rematch}, which is over",
                    game=wanted.game[:8],
                    rematch=game[:8],
                )
            )
        work.outcome.games = [game]
        return part(AnswerKind.CURRENT)

    async def _new_id(self, wanted: _MailRematch) -> str:
        """Returns the id of the rematch that either player opens by mail, if the ones before it came to nothing."""
        number = 0
        while True:
            game = await self._tokens.new_game(f"rematch {wanted.game} {number}")
            if await self._store.head(game) is None or not (await self._held.read(game)).refereed.course.finished:
                return game
            number += 1

    # --- the one entry --------------------------------------------------------------------------------------------

    async def _join(self, work: OrderWork, wanted: _MailRematch, game: str) -> AnswerPart:
        """Joins the opponent's rematch."""
        course = (await self._held.read(game)).refereed.course
        if not has_terms(course, wanted.course, 1 - wanted.seat, wanted.series):
            raise NotDoneError(
                tell(
                    "{name}'s rematch {game} has other rules or another clock than the game before",
                    name=wanted.opponent,
                    game=game[:8],
                )
            )
        work.outcome.games = [game]
        return await self._entries.join(work, game)

    async def _key_of_opponent(self, wanted: _MailRematch) -> str:
        """Returns the opponent's registered key, or else the last one in the game."""
        player = await self._store.player(wanted.opponent)
        if player is not None:
            return player.key
        key = wanted.course.setup.keys[1 - wanted.seat]
        assert key is not None
        return key.text
