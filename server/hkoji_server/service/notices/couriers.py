"""How notices travel: the places from which a process sends them, and the sentence that each says.

A receiver that is slow keeps its place until it has answered. So a player has few places, and so have all who are told
at one host: they wait for each other, and nobody else waits for them.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Final, NamedTuple

from hkoji_server.service.games.notice_rules import Courier, Notice, NoticeEvent
from hkoji_server.store.notice_contract import DueChannel

MOST_OF_PLAYER: Final = 2
"""To how many channels of one player a process sends at the same time."""
MOST_OF_HOST: Final = 10
"""To how many channels at one host."""


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
        most = {
            _Share(due.kind): courier.places,
            _Share(due.kind, "player", due.player): MOST_OF_PLAYER,
            _Share(due.kind, "host", courier.host_of(due.target)): MOST_OF_HOST,
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


def notice_text(notice: Notice) -> str:
    """Returns the sentence. It is printable ASCII without quotes and backslashes, as canonical text needs."""
    opponent = notice.opponent or "your opponent"
    game = f"game {notice.game[:8]} ({json.loads(notice.ruleset)['name']})"
    if notice.opponent is not None and notice.event in _WITH_NAME:
        game += f" against {opponent}"
    until = "" if notice.deadline is None else f", until {notice.deadline}"
    said = _SAID[notice.event].format(
        game=game, opponent=opponent, until=until, channels=", ".join(each[:8] for each in notice.channels_off)
    )
    return f"{notice.player}: {said}"


_WITH_NAME: Final = (NoticeEvent.TURN, NoticeEvent.REMIND1, NoticeEvent.REMIND2, NoticeEvent.OVER)
"""The events whose sentence does not name the opponent otherwise."""
