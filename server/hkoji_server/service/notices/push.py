"""The courier of pushes: encrypts each notice for the browser that wants it. docs/spec/http.md, "Pushes".

The service worker of the page reads a push and words it. It holds what a webhook is told, and no more: no cards. The
push service of the browser's vendor sees neither the text nor the game.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar, Final

from hkoji.game.agreement import DAY
from hkoji.game.clock import parse_time
from hkoji.log.canonical import VERSION, JsonValue, encode
from hkoji_server.service.games.notice_rules import REMINDERS, NoticeEvent
from hkoji_server.service.notices.couriers import Ended, Gone, Never, Notice
from hkoji_server.service.notices.guarded_post import PostAnswer, parse_webhook_url
from hkoji_server.service.notices.posting import PostCourier, verify_taken
from hkoji_server.service.notices.web_push import (
    SALT_BYTES,
    SECRET_BYTES,
    ApplicationServer,
    Subscription,
    encrypt,
    private_key_of,
)
from hkoji_server.store.tables import Channel

LONGEST_KEPT: Final = 28 * DAY
"""The most seconds for which a push service is asked to keep a push for a browser that is not there."""
_RELEASE: Final = "release"
"""The event of a push that tells a player of a turn, if only the player's program owes something in a sealed game."""
_CODE_KEPT: Final = DAY
_TURN: Final = (NoticeEvent.TURN, *REMINDERS)


class PushCourier(PostCourier):
    """Pushes notices to browsers, as the `server` that they know."""

    refusals: ClassVar[Mapping[int, type[Never]]] = {401: Gone, 403: Gone, 404: Ended, 410: Ended, 413: Never}

    @cached_property
    def server(self) -> ApplicationServer:
        """The service as browsers and their push services know it."""
        return ApplicationServer(self._signer)

    def read_target(self, text: str) -> str:
        """Returns a subscription in its one form. Raises `MalformedError`."""
        read = Subscription.parse(text)
        return read._replace(endpoint=parse_webhook_url(read.endpoint, private=self._poster.private).text).text

    async def send_code(self, channel: Channel, code: str) -> None:
        """Pushes the code, which the service worker hands to the page. Raises `NotDeliveredError`."""
        said: dict[str, JsonValue] = {"channel": channel.id, "code": code, "event": "confirm"}
        verify_taken(await self._push(channel, said, {"TTL": str(_CODE_KEPT)}))

    async def send_test(self, channel: Channel) -> None:
        """Pushes what says only that it arrives. Raises `NotDeliveredError`."""
        verify_taken(await self._push(channel, {"event": "test"}, {"TTL": str(_CODE_KEPT)}))

    async def _post_notice(self, channel: Channel, notice: Notice) -> PostAnswer:
        said: dict[str, JsonValue] = {
            "deadline": notice.deadline,
            "event": _RELEASE if notice.release else notice.event.value,
            "game": notice.game,
            "opponent": notice.opponent,
        }
        return await self._push(channel, said, self._urgency(channel, notice))

    def _urgency(self, channel: Channel, notice: Notice) -> dict[str, str]:
        """Returns the headers by which a push service decides what it keeps, for how long, and how soon it tells."""
        left = LONGEST_KEPT
        if notice.deadline is not None:
            left = parse_time(notice.deadline) - parse_time(self._sources.at())
        # Not the same for both players of a game: a push service that both use would learn who plays whom.
        topic = self.server.topic(f"{channel.id} {notice.game} {_class_of(notice.event)}")
        headers = {"TTL": str(max(0, min(left, LONGEST_KEPT))), "Topic": topic}
        return {**headers, "Urgency": "high"} if notice.event is NoticeEvent.REMIND2 else headers

    def _address(self, target: str) -> str:
        return str(json.loads(target)["endpoint"])

    async def _push(self, channel: Channel, said: dict[str, JsonValue], headers: Mapping[str, str]) -> PostAnswer:
        subscription = Subscription.parse(channel.target)
        text = encode({**said, "lang": subscription.lang, "v": VERSION}).encode()
        own = private_key_of(self._sources.entropy(SECRET_BYTES))
        body = encrypt(text, subscription, own, self._sources.entropy(SALT_BYTES))
        url = self._url(channel.target)
        # A push service may write to a subject that is an https address or a mailbox, and some take no other.
        subject = self._origin if self._origin.startswith("https:") else None
        sent = {
            "Authorization": self.server.authorization(f"{url.scheme}://{url.authority}", subject, self._seconds()),
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            **headers,
        }
        return await self._post(channel, body, sent)


def _class_of(event: NoticeEvent) -> str:
    """Returns the class of an event: of each class of a game a push service keeps the last push."""
    if event in _TURN:
        return "turn"
    return "talk" if event is NoticeEvent.TALK else "rest"
