"""The couriers that post, one notice after the other, to addresses that players have given: what they have in common.

A post is guarded, counted, and judged by the status of its answer. `webhook` and `push` say what is in it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from typing import ClassVar, Final

from hkoji.errors import NotDeliveredError, TooManyError
from hkoji.log.private_key import Signer
from hkoji.messages.text import tell
from hkoji_server.service.notices.couriers import DirectCourier, Later, Never, Notice
from hkoji_server.service.notices.guarded_post import GuardedPoster, PostAnswer, WebhookUrl, parse_webhook_url
from hkoji_server.service.players.limits import RateLimits
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.store.tables import Channel

LONGEST_WAIT: Final = 6 * 3600
"""The most seconds that a receiver may ask to wait."""
_ASK_TO_WAIT: Final = (429, 503)


class PostCourier(DirectCourier):
    """Posts notices to channels of one kind. `origin` is that of the service."""

    lasting: Final = False
    places: Final = 100
    refusals: ClassVar[Mapping[int, type[Never]]]
    """The statuses that a notice, or the channel, does not outlive."""

    def __init__(
        self, poster: GuardedPoster, signer: Signer, sources: ClockAndEntropy, limits: RateLimits, *, origin: str
    ) -> None:
        self._poster = poster
        self._signer = signer
        self._sources = sources
        self._limits = limits
        self._origin = origin

    async def send(self, channel: Channel, notice: Notice) -> None:
        """Sends a notice as a post. Raises as `Sending.send` does."""
        try:
            await self._limits.admit_post(channel.id)
        except TooManyError as error:
            raise Later(error.retry_after) from error
        answer = await self._post_notice(channel, notice)
        if (refusal := self.refusals.get(answer.status)) is not None:
            raise refusal(f"the receiver answered {answer.status}")
        if answer.status in _ASK_TO_WAIT and answer.retry_after is not None:
            raise Later(min(answer.retry_after, LONGEST_WAIT))
        verify_taken(answer)

    def host_of(self, target: str) -> str:
        """Returns the host of a channel's target, with its port."""
        return _authority_of(self._address(target))

    def show_target(self, target: str) -> str:
        """Returns a target without what may be secret."""
        return self._url(target).shown

    @abstractmethod
    def read_target(self, text: str) -> str:
        """Returns a target in its one form. Raises `MalformedError`."""

    @abstractmethod
    async def send_code(self, channel: Channel, code: str) -> None:
        """Sends the first post, which shows the code to its reader. Raises `NotDeliveredError`."""

    @abstractmethod
    async def send_test(self, channel: Channel) -> None:
        """Sends a post that says only that it arrives. Raises `NotDeliveredError`."""

    # --- for the kinds --------------------------------------------------------------------------------------------

    @abstractmethod
    async def _post_notice(self, channel: Channel, notice: Notice) -> PostAnswer:
        """Posts a notice. Raises `NotDeliveredError` if there is no answer."""

    def _address(self, target: str) -> str:
        """Returns the address to which is posted for a target."""
        return target

    def _url(self, target: str) -> WebhookUrl:
        # Also if private addresses are no longer allowed.
        return parse_webhook_url(self._address(target), private=True)

    async def _post(self, channel: Channel, body: bytes, headers: Mapping[str, str]) -> PostAnswer:
        url = parse_webhook_url(self._address(channel.target), private=self._poster.private)
        return await self._poster.post(url, body, headers)

    def _seconds(self) -> int:
        return int(self._sources.clock().timestamp())


@lru_cache(maxsize=2000)
def _authority_of(address: str) -> str:
    # Each look of the delivery asks for the host of every channel that is due, and these may be a thousand.
    return parse_webhook_url(address, private=True).authority


def verify_taken(answer: PostAnswer) -> None:
    """Raises `NotDeliveredError` unless the receiver has taken the post."""
    if 200 <= answer.status < 300:
        return
    if 300 <= answer.status < 400:
        raise NotDeliveredError(
            tell(
                "the receiver redirects to another address, and the service does not follow (status {status})",
                status=answer.status,
            )
        )
    raise NotDeliveredError(tell("the receiver answered with status {status}", status=answer.status))
