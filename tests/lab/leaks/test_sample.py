"""Nothing leaks, in a sample of the states of `measure.py`; planted leaks are found.

Each planted leak makes the service reveal a little of what it must not; the comparison has to report it where it
occurs.
"""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, Final
from unittest.mock import patch

import pytest
import structlog
from hkoji_server.routes import answer_json
from hkoji_server.routes import games as api
from hkoji_server.service.games import loaded_games, notice_rules, views
from hkoji_server.service.games.games import Games
from hkoji_server.service.games.invitations import Invitations
from hkoji_server.service.games.statements import GameStatements
from hkoji_server.service.games.talk import Talk
from hkoji_server.service.games.views import GameViews, OwnView
from hkoji_server.service.notices import couriers, delivery, push, web_push, webhook
from hkoji_server.service.notices.delivery import NoticeDelivery
from starlette.responses import Response

from hkoji import referee
from hkoji.errors import ForbiddenError, IllegalError
from hkoji.game.clock import add_seconds
from hkoji.game.course import Course
from hkoji.log import sshsig
from hkoji.log.game_statements import SignedHead, make_head
from hkoji.rules.protocol import State
from tests.lab.leaks import comparison, looking, refused
from tests.lab.leaks.commands import look
from tests.lab.leaks.comparison import ALWAYS, SOMETIMES, Comparison, Tally, comparing
from tests.lab.leaks.looking import Probe
from tests.lab.leaks.receiver import TABLES
from tests.lab.leaks.stories import VIEWERS, Story
from tests.lab.leaks.worlds import TRUTH

Plant = Callable[[], Any]  # Any: a context manager of any kind


@pytest.fixture(scope="module")
def worlds() -> Iterator[Comparison]:
    with comparing(1) as found:
        yield found


def test_nothing_leaks(worlds: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worlds, "look", look)
    monkeypatch.setattr(worlds, "every", 40)
    tally = worlds.sample(120)
    assert tally.leaks == []
    assert tally.states >= 120
    # It has covered the right requests, and deals that really differed.
    assert tally.early < tally.states / 3
    assert tally.alike < tally.states / 20
    asked = {name.split(",")[0].split(":")[0].split()[0] for name in tally.kinds}
    assert asked >= {"view", "game", "log", "games", "own", "illegal", "opening", "misplaced", "intruding", "hkoji"}
    assert asked >= {"clock", "head", "outages", "statement", "withdrawal"}
    assert asked >= {"talk", "message", "decline", "choices", "channels", "finished", "open", "page", "webhook", "push"}
    assert {f"rows of {table}: some" for table in TABLES} <= set(tally.kinds)
    assert {name.rpartition(": ")[2] for name in tally.kinds} >= {
        "200",
        "304",
        "400",
        "401",
        "403",
        "404",
        "409",
        "422",
    }


def test_every_endpoint_is_asked(worlds: Comparison) -> None:
    """A new endpoint needs its own probe in probes.py."""
    if worlds.scene is None:
        worlds.sample(3)
    assert worlds.scene is not None
    document = worlds.worlds[TRUTH].app.api.openapi()
    wanted = {(method.upper(), path) for path, found in document["paths"].items() for method in found}
    asked = set()
    for viewer in VIEWERS:
        eye = worlds.scene.eye(viewer, TRUTH)
        for probe in (*ALWAYS, *SOMETIMES):
            for seed in range(80):
                request = probe(eye, random.Random(seed))
                path = re.sub(r"/games/[0-9a-f]{32}", "/games/{game}", request.path.partition("?")[0])
                path = re.sub(r"/channels/[^/]+", "/channels/{channel}", path)
                path = re.sub(r"/stop/[^/]+", "/stop/{token}", path)
                path = re.sub(r"^/i/[0-9a-f]{32}$", "/i/{game}", re.sub(r"/talk/[0-9]+$", "/talk/{number}", path))
                asked.add((request.method, re.sub(r"/(players|blocks)/[^/]+", r"/\1/{name}", path)))
    assert asked >= wanted


# --- what is planted --------------------------------------------------------------------------------------------------


def hidden(course: Course) -> str:
    """Data that no viewer knows completely: both hands and the deck."""
    state = course.state.to_json()
    return f"{state['hands']} {state['deck']}"


def hands(course: Course) -> list[str]:
    """Both hands."""
    found = course.state.to_json()["hands"] if course.dealt else ("", "")
    assert isinstance(found, Sequence)
    return [str(hand) for hand in found]


def digest(course: Course) -> str:
    """A hash of the hidden data, without a salt."""
    return sha256(hidden(course).encode()).hexdigest()


class Told:
    """A position that reveals more than it should."""

    def __init__(self, state: State, **more: object) -> None:
        self._state, self._more = state, more

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)

    def to_json(self) -> dict[str, object]:
        return {**self._state.to_json(), **self._more}


def seen_with(more: Callable[[Course], dict[str, object]]) -> Any:
    true = views._visible_state
    return patch.object(views, "_visible_state", lambda course, seat: Told(true(course, seat), **more(course)))


def more_in_the_position() -> Any:
    return seen_with(lambda course: {"danger": digest(course)[:1]})


def a_hash_without_salt() -> Any:
    return seen_with(lambda course: {"check": digest(course)})


def the_seed_hashed() -> Any:
    return seen_with(
        lambda course: {"dealt": len(course.dealt), "fair": sha256(repr(course.dealt).encode()).hexdigest()}
    )


def etag_of_the_whole_position() -> Any:
    true = GameViews.log

    async def log(self: GameViews, game: str, after: int) -> Any:
        head, lines = await true(self, game, after)
        course = (await self._held.current(game)).refereed.course
        return digest(course) if course.dealt else head, lines

    return patch.object(GameViews, "log", log)


@contextmanager
def padding() -> Iterator[None]:
    """A body whose length depends on the first card of the deck."""
    true, seen = answer_json.json_bytes, views._visible_state
    last: list[int] = [0]

    def remember(course: Course, seat: int | None) -> State:
        last[0] = int(digest(course)[:1], 16)
        return seen(course, seat)

    with (
        patch.object(views, "_visible_state", remember),
        patch.object(answer_json, "json_bytes", lambda value: true(value) + b" " * (last[0] * isinstance(value, dict))),
    ):
        yield


def a_card_in_the_log() -> Any:
    true = GameViews.view

    async def view(self: GameViews, game: str, *given: Any) -> Any:
        course = (await self._held.current(game)).refereed.course
        structlog.get_logger("hkoji").error("viewed", hands=str(course.state.to_json()["hands"]))
        return await true(self, game, *given)

    return patch.object(GameViews, "view", view)


def the_seed_in_the_log() -> Any:
    true = referee.accept

    def accept(refereed: referee.RefereedGame, submission: Any, **given: Any) -> Any:
        structlog.get_logger("hkoji").error("accepting", seed=refereed.seed)
        return true(refereed, submission, **given)

    return patch.object(referee, "accept", accept)


def legal_actions_in_another_order() -> Any:
    true = GameViews.view

    async def view(self: GameViews, game: str, player: str, after: int, form: Callable[[OwnView], bytes]) -> Any:
        def sorted_form(own: OwnView) -> bytes:
            key = digest(course)
            legal = sorted(own.legal, key=lambda each: sha256((key + each).encode()).digest())
            return form(dataclasses.replace(own, legal=tuple(legal)))

        course = (await self._held.current(game)).refereed.course
        return await true(self, game, player, after, sorted_form)

    return patch.object(GameViews, "view", view)


def the_next_card_in_a_refusal() -> Any:
    true = referee.accept

    def accept(refereed: referee.RefereedGame, submission: Any, **given: Any) -> Any:
        try:
            return true(refereed, submission, **given)
        except IllegalError as error:
            raise IllegalError(str(error), hint=f"the next card is {refereed.course.state.deck[:2]}") from error

    return patch.object(referee, "accept", accept)


@contextmanager
def the_next_card_in_a_receipt() -> Iterator[None]:
    """The answer to an accepted move has one digit that depends on the deck."""
    true, shown = Games.submit, answer_json.submitted_bytes
    last = [""]

    async def submit(self: Games, game: str, submission: Any, **named: Any) -> Any:
        done = await true(self, game, submission, **named)
        last[0] = digest((await self._held.current(game)).refereed.course)[:1]
        return done

    with (
        patch.object(Games, "submit", submit),
        patch.object(
            answer_json, "submitted_bytes", lambda lines: shown(lines)[:-1] + f',"cost":"{last[0]}"}}'.encode()
        ),
    ):
        yield


def another_status() -> Any:
    """The reason of a refusal depends on the deal."""
    true = referee.accept

    def accept(refereed: referee.RefereedGame, submission: Any, **given: Any) -> Any:
        try:
            return true(refereed, submission, **given)
        except IllegalError:
            if int(digest(refereed.course)[:1], 16) % 2:
                raise ForbiddenError("not for you") from None
            raise

    return patch.object(referee, "accept", accept)


def everybodys_openings() -> Any:
    return patch.object(referee, "own_openings", lambda refereed, seat: refereed.openings)


def a_time_that_depends_on_cards() -> Any:
    true = loaded_games.summarise

    def summary(refereed: referee.RefereedGame, **given: Any) -> Any:
        made = true(refereed, **given)
        second = int(digest(refereed.course)[:6], 16) % 60
        return made._replace(updated=f"{made.updated[:17]}{second:02}Z")

    return patch.object(loaded_games, "summarise", summary)


def one_more_header() -> Any:
    """A header has a number that depends on the deck."""
    seen = views._visible_state
    last: list[str] = [""]

    def remember(course: Course, seat: int | None) -> State:
        last[0] = digest(course)[:2]
        return seen(course, seat)

    def response(*given: Any, **named: Any) -> Any:
        made = Response(*given, **named)
        made.headers["X-Cost"] = last[0]
        return made

    @contextmanager
    def planted() -> Iterator[None]:
        with patch.object(views, "_visible_state", remember), patch.object(api, "Response", response):
            yield

    return planted()


def a_deadline_that_depends_on_cards() -> Any:
    true = GameStatements.clock

    async def clock(self: GameStatements, game: str) -> Any:
        made = await true(self, game)
        course = (await self._held.read(game)).refereed.course
        return made._replace(deadline=f"2027-01-01T00:00:{int(digest(course)[:6], 16) % 60:02}Z")

    return patch.object(GameStatements, "clock", clock)


def a_head_that_depends_on_cards() -> Any:
    """The time of a signed head depends on the deck."""
    true = GameViews.head

    async def head(self: GameViews, game: str) -> Any:
        made = (await true(self, game)).statement
        history = await self._store.history(game)
        assert history is not None
        refereed = referee.resume(history.lines, history.secrets.seed, history.secrets.openings)
        at = f"{made.at[:17]}{int(digest(refereed.course)[:6], 16) % 60:02}Z"
        told = make_head(at=at, game=game, head=made.head, seq=made.seq)
        return SignedHead(told, self._signer.sign(sshsig.HEAD, told.message))

    return patch.object(GameViews, "head", head)


# --- beside the log: notices, talk and lists --------------------------------------------------------------------------


@contextmanager
def a_suit_in_a_webhook() -> Iterator[None]:
    """The text of a notice says how many cards of a kind the host holds."""
    true, said = NoticeDelivery._notice, couriers.notice_text
    counts: dict[str, int] = {}

    def notice(self: NoticeDelivery, leased: Any, player: str, told: Any, *more: Any) -> Any:
        made = true(self, leased, player, told, *more)
        counts[made.id] = hands(told.course)[0].count("A")
        return made

    with (
        patch.object(NoticeDelivery, "_notice", notice),
        patch.object(webhook, "notice_text", lambda notice: f"{said(notice)} The host has {counts[notice.id]} of A."),
    ):
        yield


@contextmanager
def a_header_of_a_webhook() -> Iterator[None]:
    """A header of the post depends on the deck; its body does not."""
    true, signed = NoticeDelivery._notice, webhook.signed_headers
    last = [""]

    def notice(self: NoticeDelivery, leased: Any, player: str, told: Any, *more: Any) -> Any:
        last[0] = digest(told.course)[:2]
        return true(self, leased, player, told, *more)

    with (
        patch.object(NoticeDelivery, "_notice", notice),
        patch.object(webhook, "signed_headers", lambda *given: {**signed(*given), "x-cost": last[0]}),
    ):
        yield


@contextmanager
def a_card_in_a_push() -> Iterator[None]:
    """The encrypted text for a browser says which card the host got first; its length does not."""
    true = NoticeDelivery._notice
    last = [""]

    def notice(self: NoticeDelivery, leased: Any, player: str, told: Any, *more: Any) -> Any:
        last[0] = hands(told.course)[0][0]
        return true(self, leased, player, told, *more)

    def encrypt(text: bytes, *given: Any) -> bytes:
        return web_push.encrypt(text.replace(b'"v":1}', f'"v":1,"x":"{last[0]}"}}'.encode()), *given)

    with patch.object(NoticeDelivery, "_notice", notice), patch.object(push, "encrypt", encrypt):
        yield


def a_notice_later_by_cards() -> Any:
    """Whether a notice waits for a minute depends on the deck; its bytes do not."""
    true = notice_rules.judge

    def judge(leased: Any, player: str, game: Any, settings: Any, now: str) -> Any:
        verdict = true(leased, player, game, settings, now)
        odd = int(digest(game.course)[:1], 16) % 2
        return verdict._replace(at=add_seconds(now, 60)) if odd and leased.tries == 1 else verdict

    return patch.object(delivery, "judge", judge)


def a_row_only_if_a_card_is_held() -> Any:
    true = notice_rules.notices_of

    def notices_of(before: Course, after: referee.RefereedGame, *given: Any, **named: Any) -> Any:
        made = true(before, after, *given, **named)
        return made if "A" in hands(after.course)[1] else ()

    return patch.object(loaded_games, "notices_of", notices_of)


def talk_in_an_order_by_cards() -> Any:
    true = Talk.heard

    async def heard(self: Talk, game: str, *given: Any) -> Any:
        key = digest((await self._held.current(game)).refereed.course)
        return sorted(await true(self, game, *given), key=lambda each: sha256(f"{key}{each.number}".encode()).digest())

    return patch.object(Talk, "heard", heard)


def an_end_at_a_time_by_cards() -> Any:
    """The list of finished games has a time of each end that depends on the deck."""
    true = GameViews.finished

    async def finished(self: GameViews, *given: Any) -> Any:
        made = await true(self, *given)
        shown = []
        for each in made.games:
            history = await self._store.history(each.summary.game)
            assert history is not None
            refereed = referee.resume(history.lines, history.secrets.seed, history.secrets.openings)
            second = int(digest(refereed.course)[:6], 16) % 60 if refereed.course.dealt else 0
            shown.append(each._replace(ended=f"{each.ended[:17]}{second:02}Z"))
        return made._replace(games=tuple(shown))

    return patch.object(GameViews, "finished", finished)


def a_hash_when_declining() -> Any:
    """The refusal of a decline has a hash of the cards."""
    true = Invitations.decline

    async def decline(self: Invitations, game: str, player: str, why: str | None = None) -> Any:
        try:
            return await true(self, game, player, why)
        except ForbiddenError as error:
            course = (await self._held.current(game)).refereed.course
            raise ForbiddenError(str(error), hint=digest(course) if course.dealt else "") from error

    return patch.object(Invitations, "decline", decline)


PLANTED: Final[dict[Plant, set[str]]] = {
    more_in_the_position: {"view", "game"},
    a_hash_without_salt: {"view", "game"},
    the_seed_hashed: {"view", "game"},
    etag_of_the_whole_position: {"log"},
    padding: {"view", "game"},
    a_card_in_the_log: {"view"},
    the_seed_in_the_log: {"a secret in the log"},
    legal_actions_in_another_order: {"view"},
    the_next_card_in_a_refusal: {"illegal"},
    the_next_card_in_a_receipt: {"taken"},
    another_status: {"illegal"},
    everybodys_openings: {"view"},
    one_more_header: {"game"},
    a_deadline_that_depends_on_cards: {"clock"},
    a_head_that_depends_on_cards: {"head"},
    a_suit_in_a_webhook: {"webhook"},
    a_header_of_a_webhook: {"webhook"},
    a_card_in_a_push: {"webhook"},
    a_notice_later_by_cards: {"webhook", "rows of outbox"},
    a_row_only_if_a_card_is_held: {"rows of outbox"},
    talk_in_an_order_by_cards: {"talk"},
    an_end_at_a_time_by_cards: {"finished games"},
    a_hash_when_declining: {"decline"},
    a_time_that_depends_on_cards: {"game", "games", "own games"},  # last, because the game stays in the lists
}

PROBES: Final[dict[Plant, tuple[Probe, Probe]]] = {
    talk_in_an_order_by_cards: (looking.talk, looking.talk),
    an_end_at_a_time_by_cards: (looking.finished_games, looking.finished_games),
    a_hash_when_declining: (refused.declined, refused.declined),
    a_deadline_that_depends_on_cards: (looking.clock, looking.clock),
    a_head_that_depends_on_cards: (looking.signed_head, looking.signed_head),
    the_next_card_in_a_refusal: (refused.illegal, refused.illegal),
    another_status: (refused.illegal, refused.illegal),
    a_time_that_depends_on_cards: (looking.games, looking.own_games),
}
"""Leaks that only some probes of `SOMETIMES` can find. Each state makes these probes, so that the sample is short."""


STORIES: Final[dict[Plant, Callable[[Story], bool]]] = {
    the_seed_in_the_log: lambda story: bool(story.events) and len(story.steps) < 12,
    a_notice_later_by_cards: lambda story: len(story.channels) == len(VIEWERS),
    talk_in_an_order_by_cards: lambda story: sum(number < 3 for number, _ in story.words) > 2,
    an_end_at_a_time_by_cards: lambda story: bool(story.last and story.events) and len(story.steps) < 15,
}
"""The stories that come soon to where a leak can be seen, for leaks that others show late or not at all."""


def reported(tally: Tally) -> set[str]:
    """The places where leaks were found, without statuses and details."""
    return {leak.place.rstrip(" 0123456789") for leak in tally.leaks}


@pytest.mark.parametrize(("plant", "places"), PLANTED.items(), ids=[plant.__name__ for plant in PLANTED])
def test_a_planted_leak_is_reported(
    worlds: Comparison, plant: Plant, places: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if plant in PROBES:
        monkeypatch.setattr(comparison, "SOMETIMES", PROBES[plant])
    if plant in STORIES:
        monkeypatch.setattr(worlds, "wanted", STORIES[plant])

    def found_all(tally: Tally) -> bool:
        found = reported(tally)
        return all(any(each.startswith(place) for each in found) for place in places)

    with plant():
        tally = worlds.sample(2000, until=found_all)
    assert found_all(tally), reported(tally)
