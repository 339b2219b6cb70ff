"""The endpoints of channels, through which players are told of events. docs/spec/http.md, "Notices"."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from hkoji import wire
from hkoji.errors import MalformedError
from hkoji.log.canonical import encode
from hkoji.messages.text import tell
from hkoji_server.routes import models
from hkoji_server.routes.plain import logged_in
from hkoji_server.routes.problems import answering
from hkoji_server.routes.service import UseCases
from hkoji_server.service.games.notice_rules import EVENTS
from hkoji_server.service.mail.mailboxes import WishedMailbox
from hkoji_server.service.notices.guarded_post import LONGEST_URL
from hkoji_server.service.players.channel_settings import ChannelSettings
from hkoji_server.store.choices import PUSH_KIND
from hkoji_server.store.mail_values import MAIL_KIND
from hkoji_server.store.tables import Channel

ChannelId = Annotated[str, Path(pattern="^[0-9a-f]{16}$", examples=["5f0c9a1e77b2d430"])]


class SubscriptionKeys(models.RequestModel):
    """The keys of a browser's subscription, base64url."""

    auth: str = Field(max_length=100)
    p256dh: str = Field(max_length=200)


class ChannelRequest(models.RequestModel):
    """A channel to be made."""

    kind: str = Field(max_length=20, examples=["webhook"])
    # No example: programs that try the examples of this document would post there.
    target: str = Field(
        max_length=LONGEST_URL, description="The address; of webhook and push an https URL, of mail a mailbox"
    )
    events: list[str] | None = Field(
        default=None, max_length=len(EVENTS), examples=[["turn", "over"]], description="All events if it is left out"
    )
    settings: dict[str, Any] = Field(examples=[wire.CHANNEL_SETTINGS])  # Any: JSON, read by `ChannelSettings`
    orders: bool | None = Field(
        default=None,
        description="Of mail: whether mails from there are orders; by default no, and no change",
    )
    lang: str = Field(
        default="en", max_length=8, description="Of mail and push: the language in which is told", examples=["en"]
    )
    keys: SubscriptionKeys | None = Field(default=None, description="Of push: what the browser gave with the address")


class CodeRequest(models.RequestModel):
    """The code of the first notice."""

    code: str = Field(max_length=64)


def make_channels_router(cases: UseCases) -> APIRouter:
    """Returns the endpoints over these use cases."""
    router = APIRouter(prefix="/v1/me/channels", tags=["players"])
    me = Annotated[str, Depends(logged_in(cases))]

    async def shown(channel: Channel) -> dict[str, Any]:  # Any: JSON
        own = await cases.mailboxes.of(channel.id) if channel.kind == MAIL_KIND else None
        if own is None:
            return plain(channel, cases.channels.shown_target(channel))
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
            "events": list(channel.event_names),
            "settings": ChannelSettings.parse(channel.settings).to_json(),
            "created": channel.created,
            "confirmed": channel.confirmed,
            "failures": channel.failures,
            "off": channel.off,
        }

    @router.get("", **answering(wire.ChannelsModel, 200, 401))
    async def list_channels(player: me) -> Response:
        """The caller's channels."""
        found = [await shown(each) for each in await cases.store.channels(player)]
        return JSONResponse({"channels": found})

    @router.post("", **answering(wire.ChannelModel, 201, 400, 401, 403, 409, 422, 429))
    async def add(request: ChannelRequest, player: me) -> Response:
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
            channel = await cases.channels.find(player, await cases.mailboxes.wish(player, wished))
            return JSONResponse(await shown(channel), 201)
        events = EVENTS if request.events is None else request.events
        target = _subscription(request) if request.kind == PUSH_KIND else request.target
        made = await cases.channels.add(player, request.kind, target, events, request.settings)
        return JSONResponse(await shown(made), 201)

    @router.post("/{channel}/confirm", **answering(wire.ChannelModel, 200, 400, 401, 403, 404, 429))
    async def confirm(channel: ChannelId, request: CodeRequest, player: me) -> Response:
        """Confirms a channel by the code of its first notice."""
        return JSONResponse(await shown(await cases.channels.confirm(player, channel, request.code)))

    @router.post("/{channel}/test", **answering(wire.ChannelModel, 200, 400, 401, 404, 422, 429))
    async def test(channel: ChannelId, player: me) -> Response:
        """Sends a test notice. A channel that was turned off is on again if it arrives."""
        return JSONResponse(await shown(await cases.channels.test(player, channel)))

    @router.delete("/{channel}", **answering(None, 204, 400, 401, 403, 404))
    async def remove(channel: ChannelId, player: me) -> None:
        """Removes a channel, and what was still to be sent to it."""
        await cases.channels.remove(player, channel)

    return router


def _subscription(request: ChannelRequest) -> str:
    """Returns the target of a channel to a browser, as text that the courier reads. Raises `MalformedError`."""
    unchanged = tell("nothing was changed")
    if request.keys is None:
        raise MalformedError(tell("push subscription"), tell("{key} is missing", key="keys"), hint=unchanged)
    try:
        return encode({**request.keys.model_dump(), "endpoint": request.target, "lang": request.lang})
    except MalformedError as error:
        error.hint = unchanged
        raise
