"""The use cases that endpoints call, and the endpoints of health.

Load balancers and watchdogs ask whether the process answers, and whether it takes moves.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from time import monotonic
from typing import Final

from fastapi import APIRouter

from hkoji.errors import StorageError
from hkoji.log.private_key import Signer
from hkoji.messages.text import tell
from hkoji_server.service.games.games import Games
from hkoji_server.service.games.invitations import Invitations
from hkoji_server.service.games.offers import Offers
from hkoji_server.service.games.statements import GameStatements
from hkoji_server.service.games.talk import Talk
from hkoji_server.service.games.views import GameViews
from hkoji_server.service.games.waiting_hub import WaitingHub
from hkoji_server.service.mail.mailboxes import OwnMailboxes
from hkoji_server.service.notices.channels import Channels
from hkoji_server.service.notices.web_push import ApplicationServer
from hkoji_server.service.players.held_players import HeldPlayers
from hkoji_server.service.players.players import Players
from hkoji_server.service.time.service_time import ClockAndEntropy, ServiceTime
from hkoji_server.settings import Settings
from hkoji_server.store.contract import Store

PATIENCE: Final = 5.0
_FRESH: Final = 1.0


@dataclass(frozen=True, slots=True)
class UseCases:
    """The use cases that the endpoints call, over one store, with the settings and the identity of the service."""

    settings: Settings
    store: Store
    sources: ClockAndEntropy
    origin: str
    key: Signer
    ready: Readiness
    players: Players
    held_players: HeldPlayers
    invitations: Invitations
    offers: Offers
    games: Games
    statements: GameStatements
    views: GameViews
    talk: Talk
    hub: WaitingHub
    channels: Channels
    push: ApplicationServer
    mailboxes: OwnMailboxes

    def late(self) -> str:
        """Returns the time before which a deadline is overdue."""
        return self.sources.at(-self.settings.slack)


class Readiness:
    """Whether the service takes moves. It asks the store at most once a second, however many requests ask."""

    def __init__(self, store: Store, time: ServiceTime) -> None:
        self._store = store
        self._time = time
        self._lock = asyncio.Lock()
        self._asked = float("-inf")
        self._error: StorageError | None = None

    async def verify(self) -> None:
        """Raises `StorageError` or `ClockError` if no move would be taken now."""
        async with self._lock:
            if monotonic() - self._asked > _FRESH:
                self._error = await self._ask()
                self._asked = monotonic()
        if (error := self._error) is not None:
            raise StorageError(error.message, hint=error.hint) from error.__cause__
        await self._time.now()

    async def _ask(self) -> StorageError | None:
        try:
            async with asyncio.timeout(PATIENCE):
                await self._store.verify_ready()
        except StorageError as error:
            return error
        except TimeoutError:
            return StorageError(tell("the database has not answered in {seconds} s", seconds=int(PATIENCE)))
        return None


def make_health_router(cases: UseCases) -> APIRouter:
    """`/healthz` and `/readyz`."""
    router = APIRouter(tags=["service"])

    @router.get("/healthz")
    async def healthz() -> dict[str, str]:
        """Whether the process answers."""
        return {"status": "ok"}

    @router.get("/readyz", response_model=dict[str, str])
    async def readyz() -> dict[str, str]:
        """Whether the service takes moves: the database answers, has the right schema, and a write reaches the disk."""
        await cases.ready.verify()
        return {"status": "ok"}

    for path, check in (("/healthz", healthz), ("/readyz", readyz)):  # load balancers and watchdogs may ask by HEAD
        router.add_api_route(path, check, methods=["HEAD"], include_in_schema=False)
    return router
