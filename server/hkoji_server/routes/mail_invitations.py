"""The endpoint that invites somebody to play by mail. docs/spec/http.md, "Invitations by mail"."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from hkoji.game.agreement import read_agreement
from hkoji_server.routes import models
from hkoji_server.routes.players import NO_STORE, logged_in
from hkoji_server.routes.problems import problem_responses
from hkoji_server.service.games.games import Games
from hkoji_server.service.players.held_players import HeldPlayers
from hkoji_server.service.players.players import Players


class MailInvitationRequest(BaseModel):
    """Who is invited: a mailbox, the language of its letters, and the name under which its owner will play."""

    model_config = ConfigDict(extra="forbid", strict=True)

    agreement: dict[str, Any] | None = Field(  # Any: JSON, read like the body of an offer
        default=None, description="Of the game to which the player is invited, as in `/v1/offers`"
    )
    # No example: programs that try the examples of this document would write there.
    address: str = Field(max_length=254, description="One ASCII address such as local@domain")
    lang: str = Field(default="en", max_length=8, examples=["en"])
    name: models.Name


def make_mail_invitations_router(players: Players, games: Games, held_players: HeldPlayers) -> APIRouter:
    """Returns the endpoint over these use cases."""
    router = APIRouter(prefix="/v1", tags=["players"])
    me = Annotated[str, Depends(logged_in(players))]

    @router.post(
        "/invitations",
        status_code=201,
        response_model=models.GatewayModel,
        responses=problem_responses(400, 401, 403, 409, 422, 429),
    )
    async def invite(request: MailInvitationRequest, player: me) -> Any:
        """Makes a key for somebody who will play by mail, and reserves the name until a game is opened with it."""
        if request.agreement is not None:
            await games.verify_invitation(read_agreement(request.agreement), player)
        gateway = await held_players.invite(request.name, request.address, request.lang, player)
        return JSONResponse(gateway.to_json(), 201, NO_STORE)

    return router
