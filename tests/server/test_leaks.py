"""Nothing leaks by mail: letters are the same for all hidden cards. The laboratory of leaks has the worlds for that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hkoji_server.log import log
from hkoji_server.process.metrics import MailMetrics
from hkoji_server.service.mail.cases import MailOutcome
from hkoji_server.service.mail.seat_games import SeatGame, SeatGames
from hkoji_server.store.mail_values import MailVia

from hkoji.mail.commands import MailOrder, OrderFault
from hkoji.mail.letters import Facts, write_letter
from hkoji.mail.letters import Letter as MailLetter
from hkoji.mail.orders import read_orders
from hkoji.messages.text import Speaker
from hkoji.rules.protocol import State
from hkoji.show.brief import Brief
from hkoji.show.games import brief_type
from hkoji.show.geishas_road.brief import GeishasRoadBrief
from hkoji.show.hanamikoji.brief import HanamikojiBrief
from tests.lab.leaks.by_mail import compare
from tests.lab.leaks.comparison import Comparison, Tally, comparing
from tests.lab.leaks.letters import look
from tests.lab.leaks.stories import VIEWERS


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
    read, left = SeatGames.read, brief.left

    async def reading(self: SeatGames, game: str, name: str) -> SeatGame:
        found = await read(self, game, name)
        whole[found.course.head] = found.course.state
        return found

    def leaking(self: Brief) -> Iterator[str]:
        yield from left(self)
        yield f"{whole[self.position.course.head].hands[1 - self.me] % 3}"

    monkeypatch.setattr(SeatGames, "read", reading)
    monkeypatch.setattr(brief, "left", leaking)
    monkeypatch.setattr(worlds, "wanted", lambda story: bool(story.events) and brief_type(story.ruleset.name) is brief)
    # Which stories come depends on the tests before this one, and not every story has such a letter.
    assert shown(worlds.sample(320, until=shown))


HIDING = 6
"""A game in which the guest hides a card with the first move."""
STEPS = 5
"""Decisions that are made in a game of the sample."""


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_whole_mail_process_shows_nobody_what_they_cannot_know(seed: int, tmp_path: Path) -> None:
    tally = compare(seed, tmp_path, STEPS)
    assert tally.leaks == []
    kinds = {kind.removeprefix("by mail: ") for kind in tally.kinds}
    assert kinds >= {"header of answer", "first paragraph of answer", "outbox", "log", "metrics"}
    assert ("text of answer" in kinds) == (VIEWERS[seed] == "guest")


def in_subject(facts: Facts, say: Speaker) -> MailLetter:
    letter = write_letter(facts, say)
    return letter._replace(subject=f"{letter.subject} {len(set(letter.text))}")


def in_log(lines: Sequence[str], state: State | None) -> tuple[MailOrder, ...] | OrderFault:
    log.info("a mail was read", lines=list(lines))
    return read_orders(lines, state)


def in_metrics(self: MailMetrics, via: MailVia, outcome: MailOutcome) -> None:
    for each in outcome.orders:
        self._orders.labels(each.line, "").inc()


@pytest.mark.parametrize(
    ("place", "kind", "leaking"),
    [
        ("hkoji_server.mail.courier.write_letter", "header of answer", in_subject),
        ("hkoji_server.service.mail.orders.read_orders", "log", in_log),
        ("hkoji_server.process.metrics.MailMetrics.processed", "metrics", in_metrics),
    ],
)
def test_a_mail_process_that_shows_what_a_mail_says_is_found(
    place: str, kind: str, leaking: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, leaking)
    tally = compare(HIDING, tmp_path, 2)
    assert f"by mail: {kind}" in {leak.place for leak in tally.leaks}
