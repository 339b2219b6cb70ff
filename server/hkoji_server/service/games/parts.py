"""Puts together what writes to games: the service and its mail process have the same, with the same limits."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from hkoji.log.private_key import Signer
from hkoji_server.service.games.games import Games
from hkoji_server.service.games.invitations import Invitations
from hkoji_server.service.games.loaded_games import LoadedGames
from hkoji_server.service.games.offers import Offers
from hkoji_server.service.games.proof_worker import ProofWorker
from hkoji_server.service.games.statements import GameStatements
from hkoji_server.service.players.held_players import HeldPlayers
from hkoji_server.service.players.limits import RateLimits
from hkoji_server.service.time.service_time import ClockAndEntropy, ServiceTime
from hkoji_server.settings import Settings
from hkoji_server.store.contract import Store


class GameParts(NamedTuple):
    """`offers` creates games. `games`, `statements` and `invitations` write to the games that `held` has loaded."""

    held: LoadedGames
    invitations: Invitations
    held_players: HeldPlayers
    offers: Offers
    games: Games
    statements: GameStatements
    seed_due: asyncio.Queue[str]
    """The games in which a held seat owes its seed after what this process has appended."""


def make_game_parts(
    store: Store,
    settings: Settings,
    time: ServiceTime,
    sources: ClockAndEntropy,
    key: Signer,
    *,
    origin: str,
    limits: RateLimits,
    proofs: ProofWorker | None = None,
) -> GameParts:
    """Returns the use cases of games. `key` is the service's key, and `origin` its address for browsers.

    `proofs` is for a process that takes entries of sealed games; its caller closes it.
    """
    held = LoadedGames(store, settings.cached_games)
    invitations = Invitations(store, held, time, key)
    held_players = HeldPlayers(store, sources, key, settings, origin=origin)
    seed_due = asyncio.Queue[str]()
    games = Games(
        store,
        held,
        time,
        key,
        invitations,
        held_players,
        limits,
        proofs or ProofWorker(),
        seed_due=seed_due.put_nowait,
    )
    offers = Offers(store, time, sources, key, held_players, games, settings)
    statements = GameStatements(store, held, time, key, limits)
    return GameParts(held, invitations, held_players, offers, games, statements, seed_due)
