"""What players are told by notices, and what a courier is: who sends notices through one kind of channel.

`notice_rules` has who is told of what, and `notice_delivery` reads the outbox and calls the couriers. A notice depends
on the public log, statements and messages only. It has no cards, no legal moves and no text of a message.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

from hkoji_server.store.notice_contract import Channel


class NoticeEvent(StrEnum):
    """What a player can be told of. The values are stored, and players choose among them for each channel."""

    TURN = "turn"
    """The player owes the next entry."""
    REMIND1 = "remind1"
    """The player still owes it, 24 hours before its deadline."""
    REMIND2 = "remind2"
    """The same, 4 hours before."""
    OVER = "over"
    """A game of the player has ended, not by what they have just done."""
    INVITED = "invited"
    """Somebody has opened a game for the player by name."""
    JOINED = "joined"
    """Somebody has joined a game that the player hosts."""
    DECLINED = "declined"
    """The invited player has declined a game that the player hosts."""
    GIVEN = "given"
    """The opponent has given the player time."""
    ANNUL = "annul"
    """The opponent wishes to call the game off."""
    TALK = "talk"
    """The opponent has written a message."""
    FAILING = "failing"
    """The service has given up another channel of the player."""
    ANSWER = "answer"
    """The player has written a mail, whose number `seq` is. The game may be empty."""
    CONFIRM = "confirm"
    """The owner of a mailbox is asked to confirm it. There is no game."""
    STOPPED = "stopped"
    """The letters to a mailbox were stopped by one click, at the time `seq`. There is no game."""

    @property
    def has_deadline(self) -> bool:
        """Whether the player has until some time to do what the notice is about."""
        return self in _WITH_DEADLINE


_WITH_DEADLINE: Final = (
    NoticeEvent.TURN,
    NoticeEvent.REMIND1,
    NoticeEvent.REMIND2,
    NoticeEvent.INVITED,
    NoticeEvent.GIVEN,
    NoticeEvent.ANNUL,
)
OF_MAIL: Final = (NoticeEvent.ANSWER, NoticeEvent.CONFIRM, NoticeEvent.STOPPED)
"""What is only told by mail, to a mailbox that has asked for it or is asked; nobody chooses it."""
EVENTS: Final = tuple(event.value for event in NoticeEvent if event not in OF_MAIL)
"""The names of the events that players choose among, in the order of lists."""


class Notice(NamedTuple):
    """What a courier tells a player: an event at entry `seq` of a game.

    `head` is the hash of that entry; of a message, whose number `seq` is, and of `failing`, that of the last entry.
    `opponent` is None while the game has none. `ruleset` is canonical text. `deadline` is until when the player can do
    what they are told to do, or None. `url` is where the game is. `channels_off` are the ids of the player's channels
    that were given up, for `failing`. What is about a mail or a mailbox has no head, opponent or ruleset.
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


class Courier(Protocol):
    """Sends notices through channels of one kind."""

    @property
    def together(self) -> bool:
        """Whether what waits for a digest time is one message. If it is not, each notice is sent by itself."""

    @property
    def lasting(self) -> bool:
        """Whether a channel of this kind stays on, whatever happens to its notices."""

    @property
    def places(self) -> int:
        """To how many channels a process sends at the same time."""

    def host_of(self, target: str) -> str:
        """Returns the host of a channel's target: those who are told at one host share places."""

    async def send(self, channel: Channel, notices: Sequence[Notice]) -> None:
        """Sends notices to the target of a channel; several only if they go `together`.

        When it returns, the receiver has all of them. It may be called again with the same notices. Raises `Later`,
        `NotNow`, `Never`, `Gone`, or any other exception if they have to be sent again. It is cancelled after a minute.
        """


def notice_id(game: str, seq: int, event: str, channel: str) -> str:
    """Returns the id of a notice."""
    return f"{game}.{seq}.{event}.{channel}"
