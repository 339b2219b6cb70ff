"""The addresses of the pages: docs/spec/http.md, "Pages".

They are routes of Starlette, not of the API: they take no JSON, and the API's document does not have them. It has the
page on which letters are stopped, since mail programs post to its address when their user unsubscribes (RFC 8058).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Annotated, Any, Final, NamedTuple

from fastapi import APIRouter, Path
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from hkoji.errors import IllegalError, NotFoundError
from hkoji.game.agreement import Agreement, parse_time_control, read_agreement
from hkoji.game.result_text import result_text
from hkoji.log.canonical import is_name
from hkoji.log.public_key import parse_public_key
from hkoji.manual.rules_pages import parts as rules_parts
from hkoji.messages.text import Speaker, tell
from hkoji.rules.events import Outcome, Seat
from hkoji.rules.protocol import Ruleset
from hkoji.rules.registry import RULESETS, parse_ruleset
from hkoji.show.games import SHOWN_GAMES, board_type, brief_type
from hkoji.show.terms import clock_sentence, length_text
from hkoji.study.stops import ALL, GUEST, HOST, SPECTATOR, Eyes
from hkoji_server.routes.plain import INVITATION_PATH, STOP_PREFIX, wants_page
from hkoji_server.routes.service import UseCases
from hkoji_server.service.mail.commands import stop_by_token
from hkoji_server.settings import Registration
from hkoji_server.store.game_lists import cursor_of
from hkoji_server.store.game_values import GameSummary, OpenFilter, Query
from hkoji_server.web.game_page import example, look
from hkoji_server.web.rendering import CompressedPage, Reader, compressed, edition, html, reader_of, rendered, unchanged
from hkoji_server.web.static_files import PATH as STATIC_PATH
from hkoji_server.web.static_files import SERVICE_WORKER, send_service_worker, send_static

_ID: Final = re.compile("[0-9a-f]{32}")
_NUMBER: Final = re.compile("0|[1-9][0-9]{0,8}")
_CURSOR: Final = re.compile("[0-9TZ:-]{20}~[0-9a-f]{32}(~[012])?")
_SIDES: Final[dict[str | None, Seat | None]] = {None: None, "host": 0, "guest": 1}
_EYES: Final[dict[str | None, Eyes]] = {None: SPECTATOR, "host": HOST, "guest": GUEST, "all": ALL}
_REGISTRATION: Final[dict[Registration, str]] = {
    "open": tell("Anybody can register here."),
    "code": tell("To register here you need a code from the operator."),
    "closed": tell("Nobody can register here now."),
}
_CLOCKS: Final = ("3d/14d", "1d/7d", "none")
"""The clocks of the form as they are typed, the usual one first."""
_LISTED: Final = 20
_OF_PLAYER: Final = 50
_FIRST: Final = "hanamikoji"
"""The game that newcomers read about first: it is the shorter one."""
_KEPT: Final = 300
"""So many pages of 3 KB are kept in memory."""
_TOKEN: Final = Path(pattern="^[A-Za-z2-7]{26}$", examples=["7k2mq4ruapbd3xvn5tczshw6ef"])
_STOP_ROUTE: Final[dict[str, Any]] = {  # Any: FastAPI's own types
    "tags": ["mail"],
    "response_class": HTMLResponse,
    "responses": {200: {"content": {"text/html": {"schema": {"type": "string"}}}, "description": "The page"}},
}


class Pages:
    """The pages over these use cases; with the setting `web` off, only those that say how to play without them."""

    def __init__(self, cases: UseCases) -> None:
        self._cases = cases
        self._web = cases.settings.web
        self._kept: dict[str, CompressedPage] = {}
        """Pages of games by their tags, in the order in which they were last asked for."""

    def routes(self) -> list[Route]:
        """Returns the route of each page, and that of the files that pages load."""
        always = [
            Route("/", self.front),
            Route(INVITATION_PATH, self.invitation),
            Route("/g/{game}", self.game if self._web else self.told_game),
        ]
        if not self._web:
            return always
        return [
            *always,
            Route("/p/{name}", self.player),
            Route("/rules/{ruleset}", self.rules),
            Route("/check", self.check),
            Route("/me", self.me),
            Route(STATIC_PATH, send_static),
            Route(SERVICE_WORKER, send_service_worker),
        ]

    async def front(self, request: Request) -> Response:
        """The front page: what this service is, its public games, and how to play with a friend."""
        reader, cases = reader_of(request), self._cases
        facts = {
            "origin": cases.origin,
            **self._registration(),
            "key": cases.key.public,
            "games": _games(),
            "example": example(_FIRST, reader.language) if self._web else None,
        }
        vary = {"Vary": "Accept, Accept-Language, Accept-Encoding"}
        if not wants_page(request.headers.get("accept", "")):
            return PlainTextResponse(rendered("front.txt", reader, web=False, page="front", **facts), headers=vary)
        lists: dict[str, object] = {}
        if self._web:
            joinable = OpenFilter(joinable=True)
            store, say = cases.store, reader.say
            lists = {
                "open": _listed(await store.games(Query(status="open", limit=_LISTED, wanted=joinable)), say),
                "playing": _listed(await store.games(Query(status="playing", limit=_LISTED)), say),
                "finished": _listed(await store.games(Query(status="finished", limit=_LISTED)), say),
                "offered_games": _offered_games(),
                "offered_clocks": _offered_clocks(),
                "new_offers": cases.settings.daily_offers_of_new,
            }
        return self._page(request, "front.html", page="front", headers=vary, **facts, **lists)

    async def invitation(self, request: Request) -> Response:
        """The page of a link. The same for every game: nobody learns whether there is one."""
        if not _ID.fullmatch(request.path_params["game"]):
            raise NotFoundError(tell("game"), request.path_params["game"])
        language = reader_of(request).language
        return self._page(
            request,
            "invite.html",
            page="invite",
            games=_games(),
            examples={name: example(name, language) for name in SHOWN_GAMES},
            turns={name: RULESETS[name]().most_turns for name in SHOWN_GAMES},
            origin=self._cases.origin,
            install_url=self._cases.settings.install_url,
        )

    async def told_game(self, request: Request) -> Response:
        """A game without its board, for a service without pages: who plays, and what to type."""
        game = _game(request)
        (row,) = _listed([await self._cases.views.summary(game)], reader_of(request).say) or (None,)
        if row is None:
            raise NotFoundError(tell("game"), game)
        return self._page(request, "told_game.html", page="game", row=row)

    async def player(self, request: Request) -> Response:
        """A player: keys, and games a page at a time."""
        cases, name, after = self._cases, request.path_params["name"], request.query_params.get("after")
        if not is_name(name):
            raise NotFoundError(tell("player"), name)
        player = await cases.players.player(name)
        retired = await cases.store.retired_of(name)
        query = Query(player=name, limit=_OF_PLAYER, after=after if after and _CURSOR.fullmatch(after) else None)
        found = await cases.store.games(query)
        return self._page(
            request,
            "player.html",
            page="player",
            player=player,
            key=parse_public_key(player.key),
            revoked=any(each.key == player.key for each in retired),
            earlier=[(parse_public_key(each.key), each.at, each.revoked) for each in retired if each.key != player.key],
            held=await cases.held_players.certificate(name),
            rows=_listed(found, reader_of(request).say),
            following=cursor_of(query, found[-1]) if len(found) == query.limit else None,
        )

    async def rules(self, request: Request) -> Response:
        """The rules of a game."""
        name = request.path_params["ruleset"]
        if name not in RULESETS:
            raise NotFoundError(tell("ruleset"), name)
        blocks = rules_parts(name, reader_of(request).language)
        return self._page(request, "rules.html", page="rules", blocks=blocks, ruleset=name, title=_title(name))

    async def check(self, request: Request) -> Response:
        """The page on which a log is checked. The file stays in the browser."""
        return self._page(request, "check.html", page="check")

    async def me(self, request: Request) -> Response:
        """The page of the reader's own key and settings, which scripts fill in."""
        return self._page(request, "me.html", page="me", headers=None, **self._registration())

    async def game(self, request: Request) -> Response:
        """The page of a game: as it stands, or with `at` as it stood after that entry."""
        reader, game, given = reader_of(request), _game(request), request.query_params
        _, stored = await self._cases.views.log(game, -1)
        last = len(stored) - 1
        at, side, eyes = given.get("at"), given.get("side"), given.get("eyes")
        beyond = at is not None and not (_NUMBER.fullmatch(at) and int(at) <= last)
        if beyond or side not in _SIDES or eyes not in _EYES:
            return self._no_such_place(request, reader, game, last)
        seq = last if at is None else int(at)
        clock = await self._cases.statements.clock(game) if at is None and eyes is None else None
        moved = clock and (clock.to_move, clock.deadline, clock.pace, clock.annul)  # what may change without an entry
        made = edition(at, eyes, side, reader.language, reader.named, moved)
        tag = f"{stored[last if eyes else seq].head}-{made}"
        if (answer := unchanged(request, tag)) is not None:
            return answer
        page = self._kept.pop(tag, None)
        if page is None:
            lines = tuple(each.read() for each in stored)
            if eyes is not None and lines[-1].entry.kind not in ("end", "unseal"):
                raise IllegalError(
                    tell("this game is not over: nobody's cards can be shown"),
                    hint=tell("leave out eyes, and see what a spectator sees"),
                )
            seen = look(lines, reader.say, at=seq, near=_SIDES[side], eyes=_EYES[eyes])
            page = compressed(
                rendered(
                    "game.html",
                    reader,
                    page="game",
                    seen=seen,
                    course=seen.position.course,
                    clock=clock,
                    duration=length_text,
                    origin=self._cases.origin,
                    game=game,
                    seq=seq,
                    last=last if at is None else seq,
                    head=stored[last if at is None else seq].head,
                    current=at is None,
                    side=side,
                    eyes=eyes,
                )
            )
        self._kept[tag] = page
        if len(self._kept) > _KEPT:
            del self._kept[next(iter(self._kept))]
        return html(request, page, tag=tag)

    def _registration(self) -> dict[str, object]:
        how = self._cases.settings.registration
        return {"registration": _REGISTRATION[how], "closed": how == "closed"}

    def _page(
        self, request: Request, template: str, *, page: str, headers: dict[str, str] | None = None, **values: object
    ) -> Response:
        body = rendered(template, reader_of(request), web=self._web, page=page, **values)
        return html(request, body, web=self._web, headers=headers)

    def _no_such_place(self, request: Request, reader: Reader, game: str, last: int) -> Response:
        text = reader.say(tell("the game has no such entry, side or eyes; its last entry is {last}", last=last))
        links = [(reader.link(f"/g/{game}"), reader.say(tell("To the last entry")))]
        body = rendered("error.html", reader, page="error", text=text, hint="", links=links)
        return html(request, body, 404, headers={"Cache-Control": "no-store"})


def make_stop_router(cases: UseCases) -> APIRouter:
    """Returns the endpoints of the page on which letters are stopped.

    The page is the same for every token, so that nobody learns anything by guessing one, and it loads nothing.
    """
    router = APIRouter()

    def page(request: Request, **values: object) -> Response:
        body = rendered("stop.html", reader_of(request), web=False, **values)
        return html(request, body, web=False, headers={"Cache-Control": "no-store"})

    @router.get(STOP_PREFIX + "{token}", **_STOP_ROUTE)
    async def stop_page(request: Request, token: Annotated[str, _TOKEN]) -> Response:  # noqa: ARG001 # see above
        """A page with a button that stops the letters to a mailbox. Reading it changes nothing."""
        return page(request, stopped=False)

    @router.post(STOP_PREFIX + "{token}", **_STOP_ROUTE)
    async def stop_letters(request: Request, token: Annotated[str, _TOKEN]) -> Response:
        """Stops the letters to a mailbox. Any body is ignored, and the answer says nothing about the token."""
        await stop_by_token(cases.store, cases.sources, token)
        return page(request, stopped=True)

    return router


def _game(request: Request) -> str:
    """Returns the id of the game in an address. Raises `NotFoundError` for what cannot be one."""
    game: str = request.path_params["game"]
    if not _ID.fullmatch(game):
        raise NotFoundError(tell("game"), game)
    return game


def _title(ruleset: str) -> str:
    return board_type(ruleset).game


@cache
def _games() -> list[tuple[str, str, str]]:
    """Returns for each game the name of its ruleset, its name for people, and what it is."""
    shown = sorted(SHOWN_GAMES, key=lambda name: name != _FIRST)
    return [(name, _title(name), brief_type(name).about) for name in shown]


class _ListedGame(NamedTuple):
    """A row of a list. `result` is empty until the game is over."""

    summary: GameSummary
    title: str
    terms: str
    result: str


def _listed(found: Iterable[GameSummary], say: Speaker) -> list[_ListedGame]:
    """Returns the rows of games that have been opened."""
    return [_row(each, say) for each in found if each.host is not None]


def _row(summary: GameSummary, say: Speaker) -> _ListedGame:
    ruleset, agreement = _ruleset(summary.ruleset), _agreement(summary.agreement)
    result = ""
    if summary.reason is not None:
        winner = None if summary.winner is None else (summary.host, summary.guest)[summary.winner]
        result = say(result_text(Outcome(summary.reason, summary.winner), ruleset.reasons, winner))
    terms = (*brief_type(ruleset.name).options(ruleset, say), say(clock_sentence(agreement.clock)))
    return _ListedGame(summary, board_type(ruleset.name).game, " ".join(terms), result)


@lru_cache(maxsize=64)
def _ruleset(text: str) -> Ruleset:
    return parse_ruleset(json.loads(text))


@lru_cache(maxsize=256)
def _agreement(text: str) -> Agreement:
    return read_agreement(json.loads(text))


@cache
def _offered_games() -> list[tuple[str, str]]:
    """Returns the name of each game for people, and its ruleset with the usual options as JSON."""
    return [(board_type(name).game, json.dumps(RULESETS[name]().to_json())) for name in RULESETS]


@cache
def _offered_clocks() -> list[tuple[str, str]]:
    """Returns the words of each clock, and the clock as JSON; `null` is no clock."""
    controls = [parse_time_control(typed) for typed in _CLOCKS]
    return [(clock_sentence(each), json.dumps(None if each is None else each.to_json())) for each in controls]
