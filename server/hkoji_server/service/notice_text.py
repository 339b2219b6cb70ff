"""What a notice says to people: one English sentence, from what is public about the game."""

from __future__ import annotations

import json
from typing import Final

from hkoji_server.service.notice import Notice, NoticeEvent

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
