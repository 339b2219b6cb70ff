"""The endpoint that lists the games that are over, in the order of their end. docs/spec/http.md, "Finished games"."""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Response

from hkoji_server.routes import answer_json, models
from hkoji_server.routes.lists import Limit
from hkoji_server.routes.players import NO_STORE
from hkoji_server.routes.problems import problem_responses
from hkoji_server.service.games.views import FinishedGames
from hkoji_server.service.time.service_time import ClockAndEntropy

_PLACE: Final = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z~[0-9a-f]{32}$"

Place = Annotated[
    str | None, Query(pattern=_PLACE, description="`last` of an answer, or `ended` and `game` of any game, joined by ~")
]


def make_finished_router(finished: FinishedGames, sources: ClockAndEntropy, *, slack: int) -> APIRouter:
    """Returns the endpoint over this use case."""
    router = APIRouter(prefix="/v1", tags=["games"])

    @router.get("/finished", response_model=models.FinishedPageModel, responses=problem_responses(400))
    async def list_finished(after: Place = None, limit: Limit = 50) -> Any:
        """All games that are over, in the order of their end, each once; also those that ended without a result.

        A game is listed two to three minutes after its end. What comes later stands behind all that is listed now.
        """
        page = await finished.page(after, limit)
        shown = answer_json.finished_bytes(
            page.games, more=page.more, last=page.last, before=page.before, late=sources.at(-slack)
        )
        return Response(shown, media_type="application/json", headers=NO_STORE)

    return router
