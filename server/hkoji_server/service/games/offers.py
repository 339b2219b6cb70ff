"""Offers of games, each to one player who may open it. docs/spec/http.md, "Games"."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from hkoji import referee
from hkoji.game.agreement import Agreement
from hkoji.game.dealer import SEALED_V1, SERVER_V1
from hkoji.game.submission import Submission
from hkoji.log.line import Line
from hkoji.log.private_key import Signer
from hkoji.rules.protocol import Ruleset
from hkoji_server.service.games.games import Games
from hkoji_server.service.games.loaded_games import TRIES, LoadedGame, summarise, undecided
from hkoji_server.service.players.held_players import HeldPlayers
from hkoji_server.service.players.limits import offer_quota, verify_agreement, verify_dealer
from hkoji_server.service.time.service_time import ClockAndEntropy, ServiceTime
from hkoji_server.settings import Settings
from hkoji_server.store.closing import Closing
from hkoji_server.store.contract import Store
from hkoji_server.store.game_values import NewGame
from hkoji_server.store.time_contract import StaleDecisionError

SignOpening = Callable[[LoadedGame], Awaitable[tuple[Submission, Closing]]]
"""Returns the entry that opens a game which is being offered, and how the mail is closed that asks for it."""


class Offers:
    """Creates games within the limits of the settings. `signer` is the service's key."""

    def __init__(
        self,
        store: Store,
        time: ServiceTime,
        sources: ClockAndEntropy,
        signer: Signer,
        held_players: HeldPlayers,
        games: Games,
        settings: Settings,
    ) -> None:
        self._games = games
        self._store = store
        self._time = time
        self._sources = sources
        self._signer = signer
        self._held_players = held_players
        self._settings = settings

    async def verify_invitation(self, agreement: Agreement, host: str) -> None:
        """Checks the agreement of a game to which `host` wants to invite somebody by mail, before that is done.

        Raises `IllegalError` if the game could not be opened with it, `TooManyGamesError`, and `ClockError`.
        """
        await self._held_players.verify_offer(agreement, host, invites=True)
        at = await self._time.time_of_record()
        verify_agreement(agreement, at, self._settings)
        if (quota := offer_quota(self._settings, at)) is not None:
            await self._store.verify_may_offer(host, quota)

    async def offer(
        self,
        ruleset: Ruleset,
        agreement: Agreement,
        player: str,
        *,
        dealer: str = SERVER_V1,
    ) -> Line:
        """Creates a game that only `player` may open, and returns its first line.

        Raises `IllegalError` for an agreement beyond the limits, or a dealer that is not offered here,
        `TooManyGamesError`, `ClockError`, `StorageError`.
        """
        verify_dealer(dealer, self._settings)
        await self._held_players.verify_offer(agreement, player, sealed=dealer == SEALED_V1)
        for _ in range(TRIES):
            new, _ = await self._make(ruleset, agreement, player, self._sources.entropy(16).hex(), dealer)
            try:
                await self._store.add_game(new)
            except StaleDecisionError:
                await self._time.read_outages()
            else:
                return new.line
        raise undecided()

    async def open(self, game: str, ruleset: Ruleset, agreement: Agreement, player: str, sign: SignOpening) -> None:
        """Creates a game that `player` asks for by mail, and opens it, in one append.

        Raises what `offer` and `Games.submit` raise, and `ConflictError` if there is a game with that id.
        """
        await self._held_players.verify_offer(agreement, player)
        for _ in range(TRIES):
            new, offered = await self._make(ruleset, agreement, player, game, SERVER_V1)
            submission, closing = await sign(offered)
            try:
                await self._store.add_game(new, await self._games.opening(offered, submission, closing, new.at))
            except StaleDecisionError:
                await self._time.read_outages()
            else:
                return
        raise undecided()

    async def _make(
        self, ruleset: Ruleset, agreement: Agreement, player: str, game: str, dealer: str
    ) -> tuple[NewGame, LoadedGame]:
        at = await self._time.time_of_record()
        verify_agreement(agreement, at, self._settings)
        seed = None if dealer == SEALED_V1 else self._sources.entropy(32).hex()
        accepted = referee.offer(game, ruleset, seed, signer=self._signer, at=at, agreement=agreement)
        (line,) = accepted.lines
        summary = summarise(accepted.refereed, created=accepted.refereed.at)
        quota = offer_quota(self._settings, at)
        new = NewGame(summary, line, seed, player, at, len(self._time.outages), quota)
        return new, LoadedGame(accepted.refereed, None)
