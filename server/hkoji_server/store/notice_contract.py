"""The part of the store's contract that is about notices: the channels of players, and the outbox.

A notice tells a player that something has happened. It is a row of the outbox, written in the same transaction as
what has happened, and deleted when it has been sent. So a notice is sent at least once.

- *A notice is written exactly if its entry, statement or message is.* It is written for each of the player's channels
  that works and wants the event, as they are in that transaction.
- *Whoever sends a notice has leased it.* A lease is the time until which nobody else takes it. It ends by itself, so
  a process that dies with a lease only delays the notice.
- *What has changed meanwhile is not deleted.* A notice that was written anew after it was leased (a larger gift) is
  another one: the holder of the lease neither deletes it nor puts it off.

The rows hold references and times, no cards and no texts. Times are texts of the log.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from hkoji.errors import ExistsError
from hkoji.messages.text import tell

MOST_CHANNELS: Final = 3
"""How many channels a player may have."""


def channel_exists(channel: str) -> ExistsError:
    """Returns the error about an address for which the player has a channel, with its id."""
    return ExistsError(
        tell("channel"),
        channel,
        hint=tell("nothing was changed; to change what it is told, remove it and add it again"),
    )


@dataclass(frozen=True, slots=True)
class Channel:
    """A way in which a player wants to be told of events: `kind` is such as `webhook`, `target` its address.

    `settings` is canonical text. Nothing but a first notice with a code is sent before the player has `confirmed` it;
    `code` is the digest of that code. `failures` is how many notices in a row were given up. Since `off`, if that is
    not None, nothing is sent.
    """

    id: str
    player: str
    kind: str
    target: str
    events: tuple[str, ...]
    settings: str
    created: str
    confirmed: str | None = None
    code: str | None = None
    failures: int = 0
    off: str | None = None

    @property
    def works(self) -> bool:
        """Whether notices are sent to it."""
        return self.confirmed is not None and self.off is None


@dataclass(frozen=True, slots=True)
class NewNotice:
    """Something of which `player` is told, not before that time: an event at entry `seq` of a game.

    Of a message `seq` is its number. One with the same game, number, event and channel takes the place of an earlier
    one that has not been sent.
    """

    game: str
    seq: int
    event: str
    player: str
    not_before: str


class LeasedNotice(NamedTuple):
    """A row of the outbox that this process may send until `until`.

    It was to be sent at the time `due`, and this is lease number `tries` of it.
    """

    game: str
    seq: int
    event: str
    channel: str
    due: str
    until: str
    tries: int


class DueChannel(NamedTuple):
    """A channel to which a notice is to be sent now. Of one that was removed, player and target are empty."""

    channel: str
    kind: str
    player: str
    target: str


class NoticeStore(Protocol):
    """The methods of a store that are about notices."""

    # --- channels -------------------------------------------------------------------------------------------------

    async def add_channel(self, channel: Channel) -> bool:
        """Adds a channel of a registered player. Returns False if the player has `MOST_CHANNELS`; nothing changes.

        One of the player with the same kind and target that was not confirmed makes way for it. Raises `ExistsError`,
        and changes nothing, if there is one that was. Of several calls at once the last one counts.
        """

    async def channel(self, channel: str) -> Channel | None:
        """Returns a channel."""

    async def channels(self, player: str) -> tuple[Channel, ...]:
        """Returns the channels of a player, the oldest first."""

    async def confirm_channel(self, player: str, channel: str, digest: str, at: str) -> bool:
        """Confirms a channel of the player with the code of this digest, and uses the code up.

        Returns False, and changes nothing, if there is no such channel, or it does not wait for that code.
        """

    async def reset_channel(self, player: str, channel: str) -> bool:
        """Forgets the failures of a player's channel, and sends to it again. Returns False if there is none."""

    async def set_channel_settings(self, channel: str, settings: str) -> bool:
        """Replaces the settings of a channel. Returns False if there is none."""

    async def remove_channel(self, player: str, channel: str) -> bool:
        """Removes a channel of the player and what was to be sent to it. Returns False if there is none.

        A mailbox whose owner wants no letters stays blocked.
        """

    # --- the outbox -----------------------------------------------------------------------------------------------

    async def next_notice(self, kinds: Collection[str]) -> str | None:
        """Returns when the first notice to channels of these kinds is to be sent; None if there is none."""

    async def due_channels(self, kinds: Collection[str], now: str, most: int) -> tuple[DueChannel, ...]:
        """Returns at most `most` channels of each kind to which something is to be sent by now.

        Those come first for which it has waited longest. Notices that another process holds do not count.
        """

    async def lease_notices(
        self, kinds: Collection[str], now: str, until: str, most: int, *, of: Collection[str] | None = None
    ) -> tuple[LeasedNotice, ...]:
        """Leases notices that are to be sent by now, those that have waited longest first: at most `most`.

        They are those `of` some channels, or of all channels of these kinds. Notices that another process holds are
        left out.
        """

    async def lease_channel(self, channel: str, now: str, until: str, most: int) -> tuple[LeasedNotice, ...]:
        """Leases further notices of one channel likewise."""

    async def delete_notice(self, leased: LeasedNotice, *, sent: bool) -> bool:
        """Deletes a notice. If it was `sent`, the failures of its channel are forgotten.

        Returns False if it is no longer as it was leased; then it stays.
        """

    async def put_off_notice(
        self, leased: LeasedNotice, not_before: str, *, anew: bool = False, tried: bool = True
    ) -> bool:
        """Gives a lease back: the notice is sent at that time or later.

        With `anew` it counts as due only then, and as not tried before. If it was not `tried`, this lease does not
        count. Returns False, and changes nothing, if it is no longer as it was leased.
        """

    async def give_up_notice(self, leased: LeasedNotice, now: str, most: int) -> bool:
        """Deletes a notice that could not be sent, and counts a failure of its channel.

        After `most` failures in a row the channel is off: what was to be sent to it is deleted, and a notice of the
        event `failing` for each other channel of its player that wants it is written, at the same game and number.
        Returns whether the channel has been turned off by this. A notice that is no longer as it was leased stays.
        """

    async def remove_stray_notices(self) -> int:
        """Deletes the notices to channels that were removed. Returns how many there were."""
