"""The endpoints of channels, through which players are told of events. docs/spec/http.md, "Notices"."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from hkoji.errors import MalformedError
from hkoji.messages.text import tell
from hkoji_server.routes import models
from hkoji_server.routes.players import NO_STORE, logged_in
from hkoji_server.routes.problems import problem_responses
from hkoji_server.service.games.notice_rules import EVENTS
from hkoji_server.service.mail.mailboxes import OwnMailboxes, WishedMailbox
from hkoji_server.service.notices.channels import Channels
from hkoji_server.service.notices.guarded_post import LONGEST_URL
from hkoji_server.service.players.channel_settings import ChannelSettings
from hkoji_server.service.players.players import Players
from hkoji_server.store.mail_values import MAIL_KIND
from hkoji_server.store.notice_contract import Channel

ChannelId = Annotated[str, Path(pattern="^[0-9a-f]{16}$", examples=["5f0c9a1e77b2d430"])]

_SETTINGS: dict[str, Any] = {  # Any: JSON
    "digest": ["08:00", "18:00"],
    "format": "json",
    "quiet": {"from": "22:00", "until": "07:00"},
    "zone": "+01:00",
}


class _ChannelBase(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class ChannelRequest(_ChannelBase):
    """A channel to be made."""

    kind: str = Field(max_length=20, examples=["webhook"])
    # No example: programs that try the examples of this document would post there.
    target: str = Field(max_length=LONGEST_URL, description="The address; of a webhook an https URL, of mail a mailbox")
    events: list[str] | None = Field(
        default=None, max_length=len(EVENTS), examples=[["turn", "over"]], description="All events if it is left out"
    )
    settings: dict[str, Any] = Field(examples=[_SETTINGS])  # Any: JSON, read by `ChannelSettings`
    orders: bool | None = Field(
        default=None,
        description="Of mail: whether mails from there are orders; by default no, and no change",
    )
    lang: str = Field(default="en", max_length=8, description="Of mail: the language of its letters", examples=["en"])


class CodeRequest(_ChannelBase):
    """The code of the first notice."""

    code: str = Field(max_length=64)


class ChannelModel(_ChannelBase):
    """A channel. `target` is its address without what may be secret in it."""

    id: str
    kind: str
    target: str
    events: list[str]
    settings: dict[str, Any] = Field(examples=[_SETTINGS])  # Any: JSON
    created: str
    confirmed: str | None = Field(description="Since when notices are sent to it")
    failures: int = Field(description="How many notices in a row could not be delivered")
    off: str | None = Field(description="Since when it is turned off, because too many could not be delivered")
    orders: bool | None = Field(default=None, description="Only of mail: whether mails from there are orders")
    certificate: models.GatewayModel | None = Field(
        default=None, description="Only of mail: that of the key that the service holds for it"
    )
    salt: str | None = Field(default=None, description="Only of mail: 64 hex digits, of the hash in the certificate")


class ChannelsModel(_ChannelBase):
    """All channels of a player, the oldest first."""

    channels: list[ChannelModel]


def make_channels_router(players: Players, channels: Channels, mailboxes: OwnMailboxes) -> APIRouter:
    """Returns the endpoints over these use cases."""
    router = APIRouter(prefix="/v1/me/channels", tags=["players"])
    me = Annotated[str, Depends(logged_in(players))]

    async def shown(channel: Channel) -> dict[str, Any]:  # Any: JSON
        own = await mailboxes.of(channel.id) if channel.kind == MAIL_KIND else None
        if own is None:
            return plain(channel, channels.shown_target(channel))
        box = own.mailbox
        return {
            **plain(channel, box.address),
            "confirmed": None if box.state in ("asked", "blocked") else box.since,
            "off": box.paused,
            "orders": box.orders,
            "certificate": own.certificate.to_json(),
            "salt": own.salt,
        }

    def plain(channel: Channel, target: str) -> dict[str, Any]:  # Any: JSON
        return {
            "id": channel.id,
            "kind": channel.kind,
            "target": target,
            "events": list(channel.events),
            "settings": ChannelSettings.parse(channel.settings).to_json(),
            "created": channel.created,
            "confirmed": channel.confirmed,
            "failures": channel.failures,
            "off": channel.off,
        }

    @router.get("", response_model=ChannelsModel, responses=problem_responses(401))
    async def list_channels(player: me) -> Any:
        """The caller's channels."""
        return JSONResponse({"channels": [await shown(each) for each in await channels.of(player)]}, headers=NO_STORE)

    @router.post(
        "", status_code=201, response_model=ChannelModel, responses=problem_responses(400, 401, 403, 409, 422, 429)
    )
    async def add(request: ChannelRequest, player: me) -> Any:
        """Makes a channel and sends its first notice, with a code. Nothing else is sent before the code comes back.

        The owner of a mailbox answers `yes` to its first letter instead. A mailbox that the player has is changed.
        """
        if request.kind == MAIL_KIND:
            if request.events is not None:
                raise MalformedError(
                    tell("list of events"),
                    tell("those of a mailbox cannot be chosen"),
                    hint=tell("nothing was changed"),
                )
            wished = WishedMailbox(request.target, request.lang, request.orders, request.settings)
            channel = await channels.find(player, await mailboxes.wish(player, wished))
            return JSONResponse(await shown(channel), 201, NO_STORE)
        events = EVENTS if request.events is None else request.events
        made = await channels.add(player, request.kind, request.target, events, request.settings)
        return JSONResponse(await shown(made), 201, NO_STORE)

    @router.post(
        "/{channel}/confirm", response_model=ChannelModel, responses=problem_responses(400, 401, 403, 404, 429)
    )
    async def confirm(channel: ChannelId, request: CodeRequest, player: me) -> Any:
        """Confirms a channel by the code of its first notice."""
        return JSONResponse(await shown(await channels.confirm(player, channel, request.code)), headers=NO_STORE)

    @router.post("/{channel}/test", response_model=ChannelModel, responses=problem_responses(400, 401, 404, 422, 429))
    async def test(channel: ChannelId, player: me) -> Any:
        """Sends a test notice. A channel that was turned off is on again if it arrives."""
        return JSONResponse(await shown(await channels.test(player, channel)), headers=NO_STORE)

    @router.delete("/{channel}", status_code=204, responses=problem_responses(400, 401, 403, 404))
    async def remove(channel: ChannelId, player: me) -> None:
        """Removes a channel, and what was still to be sent to it."""
        await channels.remove(player, channel)

    return router
