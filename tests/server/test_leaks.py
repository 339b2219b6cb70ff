"""Nothing leaks by mail: letters are the same for all hidden cards. The laboratory of leaks has the worlds for that."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hkoji_server.service.held_games import HeldGame
from hkoji_server.service.seat_games import SeatGame, SeatGames

from hkoji.log.line import Line
from hkoji.rules.protocol import State
from hkoji.show.brief import Brief
from hkoji.show.games import brief_type
from hkoji.show.geishas_road.brief import GeishasRoadBrief
from hkoji.show.hanamikoji.brief import HanamikojiBrief
from tests.lab.leaks.comparison import Comparison, Tally, comparing
from tests.lab.leaks.letters import look


@pytest.fixture(scope="module")
def worlds() -> Iterator[Comparison]:
    with comparing(7, look=look, every=1) as found:
        yield found


def written(tally: Tally) -> int:
    """How many pairs of letters were compared."""
    return sum(number for kind, number in tally.kinds.items() if kind.startswith("letter "))


def shown(tally: Tally) -> bool:
    """Whether a letter was found that shows what it must not."""
    return any(leak.place.startswith("letter") for leak in tally.leaks)


def test_letters_by_mail_are_equal_for_all_that_their_reader_cannot_know(worlds: Comparison) -> None:
    tally = worlds.sample(40, until=lambda tally: written(tally) > 300)
    assert tally.leaks == []
    kinds = {kind.removeprefix("letter ") for kind in tally.kinds if kind.startswith("letter ")}
    assert kinds >= {"turn", "remind2", "given", "show", "moves", "log", "on-record", "turn-over", "not-understood"}
    assert written(tally) > 300


@pytest.mark.parametrize("brief", [HanamikojiBrief, GeishasRoadBrief])
def test_a_letter_by_mail_that_shows_a_little_of_the_other_hand_is_found(
    worlds: Comparison, brief: type[Brief], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole: dict[str, State] = {}
    read, left = SeatGames._seat_game, brief.left

    def reading(self: SeatGames, held: HeldGame, lines: tuple[Line, ...], name: str) -> SeatGame:
        whole[held.refereed.course.head] = held.refereed.course.state
        return read(self, held, lines, name)

    def leaking(self: Brief) -> Iterator[str]:
        yield from left(self)
        yield f"{whole[self.position.course.head].hands[1 - self.me] % 3}"

    monkeypatch.setattr(SeatGames, "_seat_game", reading)
    monkeypatch.setattr(brief, "left", leaking)
    monkeypatch.setattr(worlds, "wanted", lambda story: bool(story.events) and brief_type(story.ruleset.name) is brief)
    # Which stories come depends on the tests before this one, and not every story has such a letter.
    assert shown(worlds.sample(320, until=shown))
