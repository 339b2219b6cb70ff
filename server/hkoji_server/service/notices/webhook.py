"""The courier of webhooks: posts each notice, signed by the service's key. docs/spec/http.md, "Webhooks".

A post says nothing that is not public: its bytes depend on the log, on statements and on the channel only. There is no
secret that the service shares with a receiver, so a database that is stolen cannot be used to deceive receivers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final, NamedTuple

from hkoji.log import sshsig
from hkoji.log.canonical import VERSION, JsonValue, encode, encode_base64
from hkoji.log.private_key import Signer
from hkoji_server.service.notices.couriers import Gone, Never, Notice, notice_text
from hkoji_server.service.notices.guarded_post import PostAnswer, parse_webhook_url
from hkoji_server.service.notices.posting import PostCourier, verify_taken
from hkoji_server.service.players.channel_settings import ChannelSettings
from hkoji_server.store.tables import Channel

_SLACK_ESCAPES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


class WebhookPost(NamedTuple):
    """A post that is ready to be sent: its id, and its body."""

    id: str
    body: bytes


def notice_post(notice: Notice, form: str) -> WebhookPost:
    """Returns the post of a notice in a format of `FORMATS`."""
    value: dict[str, JsonValue] = {
        "deadline": notice.deadline,
        "event": notice.event.value,
        "game": notice.game,
        "head": notice.head,
        "id": notice.id,
        "opponent": notice.opponent,
        "seq": notice.seq,
        "text": notice_text(notice),
        "url": notice.url,
        "v": VERSION,
    }
    return WebhookPost(notice.id, _format(value, form))


def code_post(channel: Channel, code: str, origin: str, form: str) -> WebhookPost:
    """Returns the first post to a channel, which shows whoever reads it the code."""
    said = (
        f"The player {channel.player} of the service {origin} wants to be told here of their games. If that is you, "
        f"type: hkoji notify confirm {channel.id} {code} - otherwise do nothing, and nothing more is sent."
    )
    return _other_post(f"confirm.{channel.id}", "confirm", said, form, code=code)


def check_post(channel: Channel, number: str, origin: str, form: str) -> WebhookPost:
    """Returns a post by which a player sees that their channel works. `number` is another one each time."""
    said = f"{channel.player}: notices of the service {origin} arrive here."
    return _other_post(f"test.{number}.{channel.id}", "test", said, form)


def _other_post(name: str, event: str, said: str, form: str, **more: str) -> WebhookPost:
    """Returns a post about no game."""
    value: dict[str, JsonValue] = dict.fromkeys(("deadline", "game", "head", "opponent", "seq", "url"))
    value |= {"event": event, "id": name, "text": said, "v": VERSION, **more}
    return WebhookPost(name, _format(value, form))


def _format(value: Mapping[str, JsonValue], form: str) -> bytes:
    """Returns the body. Chats take an object with the text alone."""
    if form == "json":
        return encode(dict(value)).encode()
    said = " ".join(str(value[name]) for name in ("text", "url") if value[name])
    if form == "slack":
        return encode({"text": said.translate(_SLACK_ESCAPES)}).encode()
    return encode({"content": said}).encode()


def signed_headers(post: WebhookPost, at: int, signer: Signer) -> dict[str, str]:
    """Returns the headers that say which post this is and when it was sent, with a signature over both and the body."""
    message = f"{post.id}.{at}.".encode() + post.body
    return {
        "webhook-id": post.id,
        "webhook-timestamp": str(at),
        "hkoji-signature": encode_base64(signer.sign(sshsig.NOTICE, message)),
    }


class WebhookCourier(PostCourier):
    """Posts notices to webhooks."""

    refusals: ClassVar[Mapping[int, type[Never]]] = {410: Gone}

    def read_target(self, text: str) -> str:
        """Returns the address of a webhook in its one form. Raises `MalformedError`."""
        return parse_webhook_url(text, private=self._poster.private).text

    async def send_code(self, channel: Channel, code: str) -> None:
        """Sends the first post, which shows the code to its reader. Raises `NotDeliveredError`."""
        form = ChannelSettings.parse(channel.settings).format
        verify_taken(await self._post_signed(channel, code_post(channel, code, self._origin, form)))

    async def send_test(self, channel: Channel) -> None:
        """Sends a post that says only that it arrives. Raises `NotDeliveredError`."""
        form = ChannelSettings.parse(channel.settings).format
        post = check_post(channel, self._sources.entropy(8).hex(), self._origin, form)
        verify_taken(await self._post_signed(channel, post))

    async def _post_notice(self, channel: Channel, notice: Notice) -> PostAnswer:
        return await self._post_signed(channel, notice_post(notice, ChannelSettings.parse(channel.settings).format))

    async def _post_signed(self, channel: Channel, post: WebhookPost) -> PostAnswer:
        return await self._post(channel, post.body, signed_headers(post, self._seconds(), self._signer))
