"""Judges what has arrived, by the log and by what the players have done. It shares no rule with the service."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from hkoji.log.line import Line
from tests.lab.notices.receiver import Arrival

IN_FLIGHT: Final = 4.0
"""The seconds within which something may change while a notice is on its way."""
_OWED: Final = ("turn", "given")
_PLAYED: Final = ("seed", "move", "resign")


@dataclass
class PlayedGame:
    """A game, and what its players have said beside its log. `must` are the events that somebody has to be told of.

    They are (seq, event, player).
    """

    game: str
    names: tuple[str, str]
    must: set[tuple[int, str, str]] = field(default_factory=set)
    gifts: set[int] = field(default_factory=set)
    """The numbers of the entries about which somebody gave time."""
    wishes: set[tuple[int, str]] = field(default_factory=set)
    """The wishes to call the game off: the entry after which each came, and the player."""
    lines: Sequence[Line] = ()


def judged(games: Sequence[PlayedGame], arrivals: Sequence[Arrival], kills: int, left: Sequence[str]) -> Iterator[str]:
    """The faults found. `left` are the ids of notices that still wait, without reminders."""
    arrived = Counter(each.id for each in arrivals)
    known = {each.game: each for each in games}
    for played in games:
        for seq, event, player in sorted(played.must):
            name = f"{played.game}.{seq}.{event}.of-{player}"
            if not arrived[name]:
                yield f"{name} was never sent"
    for each in arrivals:
        game, number, event, channel = each.id.split(".")
        if game not in known:
            yield f"{each.id} is about no game"
            continue
        yield from (f"{each.id} {fault}" for fault in _faults(known[game], int(number), event, channel, each.at))
    more = sum(count - 1 for name, count in arrived.items() if ".given." not in name)
    # A process that is killed has at most ten channels, and sends one notice to each at a time.
    if more > 10 * kills:
        yield f"notices arrived again {more} times, and processes were killed {kills} times"
    for name in left:
        yield f"{name} still waits"


def _faults(played: PlayedGame, seq: int, event: str, channel: str, at: float) -> Iterator[str]:
    player = channel.removeprefix("of-")
    entries = [line.entry for line in played.lines]
    if seq >= len(entries) or player not in played.names:
        yield "is about no entry, or for nobody"
        return
    author = next(each.by for each in reversed(entries[: seq + 1]) if each.by != "server")
    following = next((number for number in range(seq + 1, len(entries)) if entries[number].kind in _PLAYED), None)
    if event in _OWED:
        if following is not None and entries[following].kind != "resign" and entries[following].by != player:
            yield "was for the wrong player"
        ended = seq + 1 < len(entries) and entries[seq + 1].kind != "credit"
        if ended and at > _time(played.lines[seq + 1]) + IN_FLIGHT:
            yield "is stale"
    if event == "turn" and (player == author or entries[seq].kind == "end"):
        yield "tells of what the player has done"
    if event == "given" and seq not in played.gifts:
        yield "tells of no gift"
    if event == "annul" and (seq, next(name for name in played.names if name != player)) not in played.wishes:
        yield "tells of no wish"
    if event == "over" and (entries[seq].kind != "end" or (entries[seq - 1].kind == "resign" and player == author)):
        yield "tells of no end"
    if event == "joined" and (entries[seq].kind != "join" or player != played.names[0]):
        yield "tells of no join"
    if event == "invited" and (seq != 1 or player != played.names[1]):
        yield "tells of no invitation"


def _time(line: Line) -> float:
    assert line.receipt is not None
    return datetime.fromisoformat(line.receipt.receipt.at).timestamp()
