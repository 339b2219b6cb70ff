"""The endpoints of what players choose: declining, settings, blocks. docs/spec/http.md, "Choices of players"."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response
from fastapi.responses import JSONResponse

from hkoji_server.routes import answer_json, models
from hkoji_server.routes.players import NO_STORE, logged_in
from hkoji_server.routes.problems import problem_responses
from hkoji_server.service.games.invitations import Choices, InvitationAnswers, PlayerChoices
from hkoji_server.service.players.players import Players
from hkoji_server.store.contract import Store


def make_choices_router(
    players: Players, choices: PlayerChoices, answers: InvitationAnswers, store: Store
) -> APIRouter:
    """Returns the endpoints over these use cases."""
    router = APIRouter(prefix="/v1")
    me = Annotated[str, Depends(logged_in(players))]

    @router.post(
        "/games/{game}/decline",
        status_code=201,
        response_model=models.SubmittedModel,
        responses={
            200: {"model": models.SubmittedModel, "description": "Declined before"},
            **problem_responses(400, 401, 403, 404, 409, 422),
        },
        tags=["games"],
    )
    async def decline(game: models.GameId, player: me, request: models.DeclineRequest) -> Any:
        """Declines an invitation by name, which ends the game."""
        lines, fresh = await answers.decline(game, player, request.why)
        return Response(answer_json.submitted_bytes(lines), 201 if fresh else 200, media_type="application/json")

    def shown(found: Choices) -> Response:
        return JSONResponse({"invites": found.invites, "known": list(found.known)}, headers=NO_STORE)

    @router.get("/me/settings", response_model=models.SettingsModel, responses=problem_responses(401), tags=["players"])
    async def settings(player: me) -> Any:
        """What the caller has set."""
        return shown(await choices.settings(player))

    @router.put(
        "/me/settings", response_model=models.SettingsModel, responses=problem_responses(400, 401), tags=["players"]
    )
    async def set_settings(player: me, request: models.SettingsModel) -> Any:
        """Replaces what the caller has set."""
        return shown(await choices.set_settings(player, Choices(request.invites, tuple(request.known))))

    @router.get("/me/blocks", response_model=models.BlocksModel, responses=problem_responses(401), tags=["players"])
    async def blocks(player: me) -> Any:
        """The players whom the caller has blocked."""
        return JSONResponse({"blocks": list(await store.blocks(player))}, headers=NO_STORE)

    @router.put("/me/blocks/{name}", status_code=204, responses=problem_responses(400, 401, 404, 422), tags=["players"])
    async def block(name: models.Name, player: me) -> None:
        """Blocks a player, and declines that player's open invitations."""
        await choices.block(player, name)

    @router.delete("/me/blocks/{name}", status_code=204, responses=problem_responses(400, 401), tags=["players"])
    async def unblock(name: models.Name, player: me) -> None:
        """Removes a block, if there is one."""
        await store.remove_block(player, name)

    return router
