"""Couriers, which send notices through one kind of channel: a notice, their answers, their places, its sentence.

A receiver that is slow keeps its place until it has answered. So a player has few places, and so have all who are told
at one host: they wait for each other, and nobody else waits for them.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, NamedTuple, Protocol

from hkoji_server.service.games.notice_rules import NoticeEvent
from hkoji_server.store.mail_values import LetterRows
from hkoji_server.store.notices import DueChannel
from hkoji_server.store.tables import Channel

MOST_OF_PLAYER: Final = 2
"""To how many channels of one player a process sends at the same time."""
MOST_OF_HOST: Final = 10
"""To how many channels at one host."""
_SAID: Final = {
    NoticeEvent.TURN: "it is your turn in {game}{until}.",
    NoticeEvent.REMIND1: "it is still your turn in {game}{until}.",
    NoticeEvent.REMIND2: "your time is nearly over in {game}{until}.",
    NoticeEvent.OVER: "{game} is over.",
    NoticeEvent.INVITED: "{opponent} invites you to {game}{until}.",
    NoticeEvent.JOINED: "{opponent} has joined {game}.",
    NoticeEvent.DECLINED: "{opponent} has declined {game}.",
    NoticeEvent.GIVEN: "{opponent} has given you time in {game}{until}.",
    NoticeEvent.ANNUL: "{opponent} wishes to call {game} off{until}.",
    NoticeEvent.TALK: "{opponent} has written to you about {game}.",
    NoticeEvent.FAILING: "notices could not be delivered, so the service has turned off the channel {channels}.",
}
_SAID_OF_RELEASE: Final = (
    "your program owes {opponent} a card in {game}{until}: run `hkoji release`, or leave `hkoji watch` running."
)
_WITH_NAME: Final = (NoticeEvent.TURN, NoticeEvent.REMIND1, NoticeEvent.REMIND2, NoticeEvent.OVER)
"""The events whose sentence does not name the opponent otherwise."""


class Notice(NamedTuple):
    """A notice as a courier gets it: a player is told of an event at entry `seq` of a game.

    `head` is the hash of that entry; of a message, whose number `seq` is, and of `failing`, that of the last entry.
    `opponent` is None while the game has none. `ruleset` is canonical text. `deadline` is until when the player can do
    what they are told to do, or None. `url` is where the game is. `channels_off` are the ids of the player's channels
    that were given up, for `failing`. `release` says that only the player's program owes something, in a sealed game. A
    notice about a mail or a mailbox has no head, opponent or ruleset.
    """

    id: str
    """The same when it is sent again: game, seq, event and channel, with points between."""
    event: NoticeEvent
    player: str
    game: str
    seq: int
    head: str
    opponent: str | None
    ruleset: str
    deadline: str | None
    url: str
    channels_off: tuple[str, ...] = ()
    release: bool = False


class Later(Exception):  # noqa: N818 # not an error, but an answer of the receiver
    """The receiver asks to send the notices again in so many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"again in {seconds:g} s")
        self.seconds = seconds


class NotNow(Later):
    """The notices have to wait for so many seconds, and others to the same receiver need not."""


class Never(Exception):  # noqa: N818
    """The receiver will never take these notices; `reason` says why, for the operator."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Gone(Never):
    """The receiver wants nothing more at all: the channel is off."""


class Ended(Never):
    """There is no such receiver any more, and there will be none: the channel is removed."""


class Sending(NamedTuple):
    """How a notice is sent when it is leased."""

    send: Callable[[], Awaitable[None]]
    """Sends it. When this returns, the receiver has it.

    The same notice may be sent again. Raises `Later`, `NotNow`, `Never`, `Gone`, `Ended`, or any other exception if it
    has to be sent again. It is cancelled after a minute.
    """
    letter: LetterRows | None = None
    """The rows that are written with its lease, if it is a letter."""


class Courier(Protocol):
    """Sends notices through channels of one kind."""

    @property
    def lasting(self) -> bool:
        """Whether a channel of this kind stays on, whatever happens to its notices."""

    @property
    def places(self) -> int:
        """To how many channels a process sends at the same time."""

    def host_of(self, target: str) -> str:
        """Returns the host of a channel's target: those who are told at one host share places."""

    async def plan(self, channel: Channel, notice: Notice) -> Sending | None:
        """Returns how to send a notice to the target of a channel; None if there is nothing to say.

        It writes nothing, as somebody else may lease the notice. Raises `NotNow` if it has to wait.
        """


class DirectCourier(ABC):
    """A courier that sends each notice as it is."""

    async def plan(self, channel: Channel, notice: Notice) -> Sending:
        """Returns how to send a notice: see `Courier.plan`."""
        return Sending(partial(self.send, channel, notice))

    @abstractmethod
    async def send(self, channel: Channel, notice: Notice) -> None:
        """Sends a notice to the target of a channel: see `Sending.send`."""


def notice_id(game: str, seq: int, event: str, channel: str) -> str:
    """Returns the id of a notice."""
    return f"{game}.{seq}.{event}.{channel}"


class _Share(NamedTuple):
    """Those who share places: all channels of a kind, those of a player, or those at a host."""

    kind: str
    of: str = ""
    name: str = ""


class SendingPlaces:
    """The places of this process, by the channels that have them."""

    def __init__(self) -> None:
        self._shares: dict[str, tuple[_Share, ...]] = {}
        self._taken: Counter[_Share] = Counter()

    def take(self, due: DueChannel, courier: Courier) -> bool:
        """Gives a channel a place. Returns False if it has one, or has to wait for one."""
        if due.channel in self._shares:
            return False
        # One that was removed has no target: its notices are only deleted.
        host = courier.host_of(due.target) if due.target else ""
        most = {
            _Share(due.kind): courier.places,
            _Share(due.kind, "player", due.player): MOST_OF_PLAYER,
            _Share(due.kind, "host", host): MOST_OF_HOST,
        }
        if any(self._taken[share] >= number for share, number in most.items()):
            return False
        self._shares[due.channel] = tuple(most)
        self._taken.update(most.keys())
        return True

    def leave(self, channel: str) -> None:
        """Takes the place of a channel back."""
        self._taken.subtract(self._shares.pop(channel))
        self._taken = +self._taken


def notice_text(notice: Notice) -> str:
    """Returns the sentence. It is printable ASCII without quotes and backslashes, as canonical text needs."""
    opponent = notice.opponent or "your opponent"
    game = f"game {notice.game[:8]} ({json.loads(notice.ruleset)['name']})"
    if notice.opponent is not None and notice.event in _WITH_NAME and not notice.release:
        game += f" against {opponent}"
    until = "" if notice.deadline is None else f", until {notice.deadline}"
    said = (_SAID_OF_RELEASE if notice.release else _SAID[notice.event]).format(
        game=game, opponent=opponent, until=until, channels=", ".join(each[:8] for each in notice.channels_off)
    )
    return f"{notice.player}: {said}"
