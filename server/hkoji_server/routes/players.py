"""The endpoints of players: registration, keys, logins, what they choose, and invitations to play by mail.

docs/spec/http.md, also "Choices of players" and "Invitations by mail".
"""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials
from pydantic import Field

from hkoji import wire
from hkoji.game.agreement import read_agreement
from hkoji_server.routes import answer_json, models
from hkoji_server.routes.plain import BEARER, client_address, logged_in
from hkoji_server.routes.problems import answering
from hkoji_server.routes.service import UseCases
from hkoji_server.service.games.invitations import Choices
from hkoji_server.store.player_tables import Player


class MailInvitationRequest(models.RequestModel):
    """An invitation: a mailbox, the language of its letters, and the name under which its owner will play."""

    agreement: dict[str, Any] | None = Field(  # Any: JSON, read like the body of an offer
        default=None, description="Of the game to which the player is invited, as in `/v1/offers`"
    )
    # No example: programs that try the examples of this document would write there.
    address: str = Field(max_length=254, description="One ASCII address such as local@domain")
    lang: str = Field(default="en", max_length=8, examples=["en"])
    name: models.Name


def make_players_router(cases: UseCases) -> APIRouter:
    """Returns the endpoints over these use cases."""
    router = APIRouter(prefix="/v1")
    me = Annotated[str, Depends(logged_in(cases))]

    async def answer(player: Player, status: int = 200) -> Response:
        held = await cases.held_players.certificate(player.name)
        return JSONResponse(answer_json.player_json(player, await cases.store.retired_of(player.name), held), status)

    @router.post(
        "/players", tags=["players"], **answering(wire.PlayerModel, 201, 400, 403, 409, again="Registered before")
    )
    async def register(signed: models.RegistrationRequest, request: Request) -> Response:
        """Registers a name and key by a self-signed registration."""
        address = client_address(request.scope)
        player, new = await cases.players.register(signed.text, signed.sig, code=signed.code, address=address)
        return await answer(player, 201 if new else 200)

    @router.get("/players/{name}", tags=["players"], **answering(wire.PlayerModel, 200, 400, 404))
    async def player(name: models.Name) -> Response:
        """A registered player and their key."""
        return await answer(await cases.players.player(name))

    @router.post("/players/{name}/key", tags=["players"], **answering(wire.PlayerModel, 200, 400, 403, 404, 409))
    async def replace_key(name: models.Name, signed: models.NewKeyRequest) -> Response:
        """Replaces a player's key, by a statement that both keys have signed."""
        return await answer(await cases.players.replace(name, signed.text, signed.sig, signed.old_sig))

    @router.post("/players/{name}/revocation", tags=["players"], **answering(wire.PlayerModel, 200, 400, 403, 404))
    async def revoke_key(name: models.Name, signed: models.SignedRequest) -> Response:
        """Revokes a key of a player, by its own signature."""
        return await answer(await cases.players.revoke(name, signed.text, signed.sig))

    @router.post("/players/{name}/recovery", tags=["players"], **answering(wire.PlayerModel, 200, 400, 403, 404, 409))
    async def recover_name(name: models.Name, signed: models.RecoveryRequest) -> Response:
        """Gives a player whose key is revoked another one, with a code from the operator."""
        return await answer(await cases.players.recover(name, signed.text, signed.sig, signed.code))

    @router.post("/login/challenge", tags=["players"], **answering(wire.ChallengeModel, 201))
    async def challenge() -> Response:
        """A fresh text to sign."""
        return JSONResponse({"text": await cases.players.challenge()}, 201)

    @router.post("/login", tags=["players"], **answering(wire.TokenModel, 200, 400, 401, 403, 404))
    async def login(request: models.LoginRequest) -> Response:
        """A token for a signed challenge."""
        token, expires = await cases.players.login(request.name, request.text, request.sig)
        return JSONResponse({"token": token, "expires": expires})

    @router.post("/logout", tags=["players"], **answering(None, 204, 401))
    async def logout(_: me, credentials: Annotated[HTTPAuthorizationCredentials, Depends(BEARER)]) -> None:
        """Ends the login of the token."""
        await cases.players.logout(credentials.credentials)

    @router.post(
        "/games/{game}/decline",
        tags=["games"],
        **answering(wire.SubmittedModel, 201, 400, 401, 403, 404, 409, 422, again="Declined before"),
    )
    async def decline(game: models.GameId, player: me, request: models.DeclineRequest) -> Response:
        """Declines an invitation by name, which ends the game."""
        lines, fresh = await cases.invitations.decline(game, player, request.why)
        return Response(answer_json.submitted_bytes(lines), 201 if fresh else 200, media_type="application/json")

    def shown(found: Choices) -> Response:
        return JSONResponse({"invites": found.invites, "known": list(found.known)})

    @router.get("/me/settings", tags=["players"], **answering(models.SettingsModel, 200, 401))
    async def settings(player: me) -> Response:
        """The settings of the caller."""
        return shown(await cases.invitations.settings(player))

    @router.put("/me/settings", tags=["players"], **answering(models.SettingsModel, 200, 400, 401))
    async def set_settings(player: me, request: models.SettingsModel) -> Response:
        """Replaces what the caller has set."""
        return shown(await cases.invitations.set_settings(player, Choices(request.invites, tuple(request.known))))

    @router.get("/me/blocks", tags=["players"], **answering(wire.BlocksModel, 200, 401))
    async def blocks(player: me) -> Response:
        """The players whom the caller has blocked."""
        return JSONResponse({"blocks": list(await cases.store.blocks(player))})

    @router.put("/me/blocks/{name}", tags=["players"], **answering(None, 204, 400, 401, 404, 422))
    async def block(name: models.Name, player: me) -> None:
        """Blocks a player, and declines that player's open invitations."""
        await cases.invitations.block(player, name)

    @router.delete("/me/blocks/{name}", tags=["players"], **answering(None, 204, 400, 401))
    async def unblock(name: models.Name, player: me) -> None:
        """Removes a block, if there is one."""
        await cases.store.remove_block(player, name)

    @router.post("/invitations", tags=["players"], **answering(wire.GatewayModel, 201, 400, 401, 403, 409, 422, 429))
    async def invite(request: MailInvitationRequest, player: me) -> Response:
        """Makes a key for somebody who will play by mail, and reserves the name until a game is opened with it."""
        if request.agreement is not None:
            await cases.offers.verify_invitation(read_agreement(request.agreement), player)
        gateway = await cases.held_players.invite(request.name, request.address, request.lang, player)
        return JSONResponse(gateway.to_json(), 201)

    return router
