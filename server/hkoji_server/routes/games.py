"""The endpoints of the service and of games that few requests go to; `game_log` and `lists` have the others.

Answers are built as JSON directly. The models document them, and tests check that both agree.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse

from hkoji import __version__
from hkoji.game.agreement import read_agreement
from hkoji.log import sshsig
from hkoji.log.line import line_to_json
from hkoji.log.private_key import Signer
from hkoji.log.statement import make_origin
from hkoji.rules.registry import RULESETS, parse_ruleset
from hkoji_server.routes import answer_json, models
from hkoji_server.routes.game_page import game_page, wants_page
from hkoji_server.routes.players import NO_STORE, logged_in
from hkoji_server.routes.problems import problem_responses
from hkoji_server.service.games.games import Games
from hkoji_server.service.games.views import GameViews
from hkoji_server.service.players.players import Players
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.settings import Registration


def make_games_router(
    players: Players,
    games: Games,
    views: GameViews,
    sources: ClockAndEntropy,
    *,
    origin: str,
    signer: Signer,
    registration: Registration,
    mail: str | None,
    slack: int,
) -> APIRouter:
    """Returns the endpoints over these use cases."""
    router = APIRouter(prefix="/v1")

    me = Annotated[str, Depends(logged_in(players))]

    @router.get("/service", response_model=models.ServiceModel, tags=["service"])
    async def service() -> Any:
        """The service's name, version and key, who may register, and how it keeps time."""
        return {
            "name": "hkoji",
            "version": __version__,
            "origin": origin,
            "key": signer.public.text,
            "registration": registration,
            "mail": mail,
            "rulesets": sorted(RULESETS),
            "slack": slack,
            "time": sources.at(),
        }

    @router.get("/service/proof", response_model=models.Signed, responses=problem_responses(400), tags=["service"])
    async def prove(nonce: models.Nonce) -> Any:
        """The service's signature on its origin and on what the caller has drawn."""
        statement = make_origin(nonce=nonce, origin=origin)
        sig = signer.sign(sshsig.ORIGIN, statement.message)
        return JSONResponse(answer_json.signed_json(statement.text, sig), headers=NO_STORE)

    @router.post(
        "/offers",
        status_code=201,
        response_model=models.OfferModel,
        responses=problem_responses(400, 401, 422),
        tags=["games"],
    )
    async def offer(request: models.OfferRequest, player: me) -> Any:
        """Creates a game for the caller to open."""
        line = await games.offer(parse_ruleset(dict(request.ruleset)), read_agreement(request.agreement), player)
        return JSONResponse({"game": line.entry.game, "line": line_to_json(line)}, 201)

    @router.get(
        "/games/{game}", response_model=models.SpectatorModel, responses=problem_responses(400, 404), tags=["games"]
    )
    async def spectate(game: models.GameId, request: Request) -> Any:
        """A game as a spectator sees it. A browser gets a page."""
        summary, state = await views.spectate(game)
        if wants_page(request.headers.get("accept", "")):
            return HTMLResponse(game_page(summary), headers={**NO_STORE, "Vary": "Accept"})
        shown = answer_json.spectator_bytes(summary, sources.at(-slack), state.to_json(), state.shape())
        return Response(shown, media_type="application/json", headers={**NO_STORE, "Vary": "Accept"})

    @router.post(
        "/games/{game}/recovery",
        status_code=201,
        response_model=models.SubmittedModel,
        responses={
            200: {"model": models.SubmittedModel, "description": "Done before"},
            **problem_responses(400, 401, 403, 404, 409, 422),
        },
        tags=["games"],
    )
    async def recover_seat(game: models.GameId, player: me, request: models.ProofRequest) -> Any:
        """Replaces the caller's revoked key in the game by their new one, while they owe the next entry."""
        lines, fresh = await games.recover(game, player, request.proof)
        return Response(answer_json.submitted_bytes(lines), 201 if fresh else 200, media_type="application/json")

    return router
