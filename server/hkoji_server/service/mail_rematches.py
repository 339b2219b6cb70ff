"""`rematch`: a player opens another game with the same opponent, or joins the one that the opponent has opened.

A mail makes at most one entry, so it either opens a game or joins one. Two mail players who ask at once get one game:
its id follows from the game before, so the second of them finds it offered.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Final, NamedTuple

from hkoji.errors import HkojiError
from hkoji.game import entry_kinds
from hkoji.game.agreement import Series
from hkoji.game.clock import add_seconds
from hkoji.game.course import Course, Stage
from hkoji.game.rematch import MOST_GAMES, Known, has_terms, next_in_series, rematch_agreement, rematch_ruleset_of
from hkoji.log.canonical import decode
from hkoji.log.public_key import parse_public_key
from hkoji.mail.commands import OrderKind
from hkoji.messages.text import tell
from hkoji.rules.events import Seat
from hkoji_server.service.games import Games
from hkoji_server.service.loaded_games import LoadedGames
from hkoji_server.service.mail_cases import DraftText
from hkoji_server.service.mail_entries import MailEntries
from hkoji_server.service.mail_new_games import INVITATION_SECONDS, verify_host
from hkoji_server.service.mail_results import AnswerKind, AnswerPart, part
from hkoji_server.service.mail_tokens import MailTokens
from hkoji_server.service.mail_work import NotDoneError, OrderWork, Step, on_record
from hkoji_server.store.contract import GameSummary, Query, Store
from hkoji_server.store.game_lists import cursor_of
from hkoji_server.store.time_contract import StaleDecisionError

_PAGE: Final = 100
_PATIENCE: Final = 50
"""How often it is looked whether the opponent, who asks at the same time, has opened the game."""
_PAUSE: Final = 0.1
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


class RematchCommands:
    """The command `rematch`."""

    def __init__(self, store: Store, held: LoadedGames, entries: MailEntries, games: Games, tokens: MailTokens) -> None:
        self._store = store
        self._held = held
        self._entries = entries
        self._games = games
        self._tokens = tokens

    @property
    def steps(self) -> Mapping[OrderKind, Step]:
        """What does each command of the module."""
        return {OrderKind.REMATCH: self._rematch}

    async def _rematch(self, work: OrderWork) -> AnswerPart:
        wanted = await self._want(work)
        digest = work.case.mail.digest
        kept = await self._entries.kept(wanted.game, digest)
        if kept is None:
            mine, theirs, joined = await self._look(wanted)
            if joined or (mine and not theirs):
                return await self._found(work, wanted, (joined or mine)[0])
            chosen = theirs[0] if theirs else await self._new_id(wanted)
            made = DraftText(work.orders, work.grade, offered=chosen)
            kept = await self._entries.keep(wanted.game, work.case, made)
        game = kept.offered
        draft = await self._entries.kept(game, digest)
        if draft is None:
            draft = await self._draft(work, wanted, game)
        entered = await self._entries.submit(work.case, game, draft)
        work.outcome.games = [game]
        return on_record(entered)

    async def _want(self, work: OrderWork) -> _MailRematch:
        game = work.case.game
        assert game is not None  # the token is of one
        course, short = game.course, game.course.setup.game[:8]
        if not course.finished:
            raise NotDoneError(tell("game {game} is not over", game=short))
        if game.seat is None or course.setup.names[1] is None:
            raise NotDoneError(tell("nobody joined game {game}, so it has no rematch", game=short))
        await verify_host(self._store, work.mailbox)
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

    async def _draft(self, work: OrderWork, wanted: _MailRematch, game: str) -> DraftText:
        """Keeps the entry that opens the rematch, or that joins the opponent's."""
        if await self._host_of(game) is None:
            agreement = rematch_agreement(wanted.course, wanted.series)._replace(
                expires=add_seconds(work.case.mail.received, INVITATION_SECONDS)
            )
            ruleset = rematch_ruleset_of(wanted.course, wanted.seat)
            try:
                await self._games.offer(ruleset, agreement, wanted.name, game_id=game)
            except HkojiError:
                if await self._host_of(game) is None:
                    raise
        if await self._host_of(game) == wanted.name:
            invite = entry_kinds.Invite(wanted.opponent, parse_public_key(await self._key_of(wanted)))
            return await self._entries.open(work.case, game, invite, work.orders, work.grade)
        course = await self._opened(game, wanted.opponent)
        if not has_terms(course, wanted.course, 1 - wanted.seat, wanted.series):
            raise NotDoneError(
                tell(
                    "{name}'s rematch {game} has other rules or another clock than the game before",
                    name=wanted.opponent,
                    game=game[:8],
                )
            )
        return await self._entries.join(work.case, game, work.orders, work.grade)

    async def _host_of(self, game: str) -> str | None:
        """Returns the player who may open a game, or has opened it."""
        history = await self._store.history(game, -1)
        return None if history is None else history.secrets.offered_to

    async def _opened(self, game: str, opponent: str) -> Course:
        """Returns the opponent's rematch, which they may just be opening.

        Raises `StaleDecisionError` if the opponent's mail still waits, as when its process has died: then this mail is
        processed again later.
        """
        for _ in range(_PATIENCE):
            course = (await self._held.read(game)).refereed.course
            if course.stage is not Stage.OPEN:
                return course
            await asyncio.sleep(_PAUSE)
        if any(each.name == opponent for each in await self._store.waiting_mails(_PAGE)):
            raise StaleDecisionError(game)
        raise NotDoneError(tell("the rematch changed while it was arranged"))

    async def _key_of(self, wanted: _MailRematch) -> str:
        """Returns the opponent's registered key, or else the last one in the game."""
        player = await self._store.player(wanted.opponent)
        if player is not None:
            return player.key
        key = wanted.course.setup.keys[1 - wanted.seat]
        assert key is not None
        return key.text
