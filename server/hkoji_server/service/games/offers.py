"""Offers of games, each to one player who may open it. docs/spec/http.md, "Games"."""

from __future__ import annotations

from hkoji import referee
from hkoji.game.agreement import Agreement
from hkoji.game.dealer import SEALED_V1, SERVER_V1
from hkoji.log.line import Line
from hkoji.log.private_key import Signer
from hkoji.rules.protocol import Ruleset
from hkoji_server.service.games.loaded_games import TRIES, summarise, undecided
from hkoji_server.service.players.held_players import HeldPlayers
from hkoji_server.service.players.limits import offer_quota, verify_agreement, verify_dealer
from hkoji_server.service.time.service_time import ClockAndEntropy, ServiceTime
from hkoji_server.settings import Settings
from hkoji_server.store.contract import Store
from hkoji_server.store.game_values import NewGame
from hkoji_server.store.time_contract import StaleDecisionError


class Offers:
    """Creates games within the limits of the settings. `signer` is the service's key."""

    def __init__(
        self,
        store: Store,
        time: ServiceTime,
        sources: ClockAndEntropy,
        signer: Signer,
        held_players: HeldPlayers,
        settings: Settings,
    ) -> None:
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
        game_id: str | None = None,
        dealer: str = SERVER_V1,
    ) -> Line:
        """Creates a game that only `player` may open, by default with a random id, and returns its first line.

        Raises `IllegalError` for an agreement beyond the limits, or a dealer that is not offered here,
        `TooManyGamesError`, `ClockError`, and `StorageError` also if there is a game with that id.
        """
        verify_dealer(dealer, self._settings)
        sealed = dealer == SEALED_V1
        await self._held_players.verify_offer(agreement, player, sealed=sealed)
        for _ in range(TRIES):
            at = await self._time.time_of_record()
            verify_agreement(agreement, at, self._settings)
            game = game_id or self._sources.entropy(16).hex()
            seed = None if sealed else self._sources.entropy(32).hex()
            outages = self._time.outages
            accepted = referee.offer(game, ruleset, seed, signer=self._signer, at=at, agreement=agreement)
            (line,) = accepted.lines
            summary = summarise(accepted.refereed, created=accepted.refereed.at)
            try:
                quota = offer_quota(self._settings, at)
                await self._store.add_game(NewGame(summary, line, seed, player, at, len(outages), quota))
            except StaleDecisionError:
                await self._time.read_outages()
            else:
                return line
        raise undecided()
