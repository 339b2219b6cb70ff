"""The endpoints of a game: its offer, view, log and entries, its clocks, statements and signed heads, its talk.

docs/spec/http.md, "Games" and "Talk". View, log, entries and signed head are plain endpoints, because nearly all
requests ask for them. Answers are built as JSON directly. The models document them, and tests check that both agree.
"""

import inspect
from typing import Annotated, ClassVar, Final

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from fastapi.responses import JSONResponse, RedirectResponse
from starlette.types import Receive, Scope

from hkoji import __version__, wire
from hkoji.errors import ClockError, GameOverError, NotYourTurnError, StorageError, TimeOverError
from hkoji.game.agreement import read_agreement
from hkoji.game.submission import parse_submission
from hkoji.log import sshsig
from hkoji.log.game_statements import AnnulStatement, GiftStatement, SignedHead, make_annul, make_gift
from hkoji.log.line import format_signed, format_stored, line_to_json
from hkoji.log.statement import make_origin
from hkoji.rules.registry import RULESETS, parse_ruleset
from hkoji_server.routes import answer_json, models
from hkoji_server.routes.event_streams import LongPoll
from hkoji_server.routes.plain import (
    GAME,
    LOGIN,
    Parameter,
    PlainEndpoint,
    logged_in,
    read_login,
    read_query,
    tagged_answer,
    wants_page,
)
from hkoji_server.routes.problems import answering, problem, problem_responses, reference
from hkoji_server.routes.service import UseCases
from hkoji_server.service.players.limits import dealers

JSON_LINES: Final = "application/jsonl"
ONLY_REPEATS: Final = "hkoji.only-repeats"
"""Key in the scope of a request that is refused unless its entry was accepted before. The value is the refusal."""

_AFTER: Final = Parameter("after", models.After, -1)
_CLOCK: Final = Parameter("clock", models.WithClock, False)
_WAIT: Final = Parameter("wait", models.Wait, 0)
_KNOWN: Final = inspect.Parameter(
    "if_none_match", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[str | None, Header()]
)


class ViewEndpoint(PlainEndpoint):
    """The game as the caller sees it: own cards, signed, and the log's new lines."""

    path = "/v1/games/{game}/view"
    name = "view"
    parameters = (GAME, LOGIN, _AFTER, _CLOCK)
    declared = answering(wire.ViewModel, 200, 400, 401, 403, 404)

    async def answer(self, scope: Scope, receive: Receive) -> Response:  # noqa: ARG002 # a GET has no body
        """Returns the view with the lines after entry number `after`, and on request with what the clocks show.

        With the clock a caller who waits for somebody else gets a signed head, which they would ask for next.
        """
        player = await read_login(self._cases.players, scope)
        query = read_query(scope)
        game, after, timed = GAME.read(scope["path_params"]), _AFTER.read(query), _CLOCK.read(query)
        body, lines = await self._cases.views.view(game, player, after, answer_json.view_bytes)
        # If an entry comes between the two reads, the clock names a later head than the view.
        clock = await self._cases.statements.clock(game) if timed else None
        waits = clock is not None and clock.deadline is not None and clock.to_move != player
        head = await self._head(game) if waits else None
        shown = answer_json.view_with(body, lines, clock, self._cases.late(), head)
        return Response(shown, media_type="application/json")

    async def _head(self, game: str) -> SignedHead | None:
        try:
            return await self._cases.views.head(game)
        except (ClockError, StorageError):  # the caller still gets the view, and is told why when asking for the head
            return None


class LogEndpoint(PlainEndpoint):
    """The public log, as one JSON object a line. Its `ETag` is its head."""

    path = "/v1/games/{game}/log"
    name = "log"
    parameters = (GAME, _AFTER, _WAIT, _KNOWN)
    declared: ClassVar = {
        "response_class": Response,
        "responses": {
            200: {"content": {JSON_LINES: {"schema": {"type": "string"}}}, "description": "Lines with receipts"},
            304: {"description": "Nothing since a head of `If-None-Match`"},
            **problem_responses(400, 404),
        },
    }

    async def answer(self, scope: Scope, receive: Receive) -> Response:  # noqa: ARG002 # a GET has no body
        """Returns the lines after entry number `after`; if there are none, waits `wait` seconds for some."""
        query = read_query(scope)
        game, after, wait = GAME.read(scope["path_params"]), _AFTER.read(query), _WAIT.read(query)
        head, lines = await self._cases.views.log(game, after)
        answer = tagged_answer(scope, head, "".join(f"{format_stored(each)}\n" for each in lines), JSON_LINES)
        if lines or not wait:
            return answer
        return LongPoll(
            self._cases.hub,
            game,
            after,
            wait,
            lambda head, text: tagged_answer(scope, head, text, JSON_LINES) if head else answer,
        )


class EntriesEndpoint(PlainEndpoint):
    """Appends a signed entry to the game, or refuses it with the reason."""

    path = "/v1/games/{game}/entries"
    method = "POST"
    name = "submit"
    parameters = (GAME,)
    declared: ClassVar = {
        "openapi_extra": {
            "requestBody": {
                "required": True,
                "content": {"application/json": {"schema": reference(wire.SubmissionModel)}},
            }
        },
        **answering(wire.SubmittedModel, 201, 400, 403, 404, 409, 422, again="The same entry again: its first receipt"),
    }

    async def answer(self, scope: Scope, receive: Receive) -> Response:
        """Returns the receipt, and all lines that the submission added to the log."""
        game = GAME.read(scope["path_params"])
        message = await receive()  # `BodyLimit` has put the body together
        try:
            submission = parse_submission(message.get("body", b""))
            lines, fresh = await self._cases.games.submit(game, submission, refused=scope.get(ONLY_REPEATS))
        except (NotYourTurnError, GameOverError, TimeOverError) as error:
            return problem(error, last=await self._cases.store.head(game))
        return Response(answer_json.submitted_bytes(lines), 201 if fresh else 200, media_type="application/json")


class HeadEndpoint(PlainEndpoint):
    """The last entry of a game, by the service's signature in namespace `hkoji.head.v1`."""

    path = "/v1/games/{game}/head"
    name = "head"
    parameters = (GAME,)
    declared = answering(wire.Signed, 200, 400, 404)

    async def answer(self, scope: Scope, receive: Receive) -> Response:  # noqa: ARG002 # a GET has no body
        """Returns the signed head."""
        signed = await self._cases.views.head(GAME.read(scope["path_params"]))
        shown = format_signed(signed.statement.text, signed.sig)
        return Response(shown, media_type="application/json")


def make_games_router(cases: UseCases) -> APIRouter:
    """Returns the endpoints over these use cases."""
    router = APIRouter(prefix="/v1")

    me = Annotated[str, Depends(logged_in(cases))]

    @router.get("/service", tags=["service"], **answering(wire.ServiceModel, 200))
    async def service() -> Response:
        """The service's name, version and key, who may register, and how it keeps time."""
        shown = wire.ServiceModel(
            name="hkoji",
            version=__version__,
            origin=cases.origin,
            key=cases.key.public.text,
            registration=cases.settings.registration,
            rulesets=sorted(RULESETS),
            dealers=dealers(cases.settings),
            operators=sorted(cases.settings.operators),
            mail=cases.settings.mail,
            web=cases.settings.web,
            push=cases.push.public if cases.settings.web else None,
            slack=cases.settings.slack,
            time=cases.sources.at(),
        )
        return JSONResponse(shown)

    @router.get("/service/proof", tags=["service"], **answering(wire.Signed, 200, 400))
    async def prove(nonce: models.Nonce) -> Response:
        """The service's signature on its origin and on what the caller has drawn."""
        statement = make_origin(nonce=nonce, origin=cases.origin)
        sig = cases.key.sign(sshsig.ORIGIN, statement.message)
        return JSONResponse(answer_json.signed_json(statement.text, sig))

    @router.post("/offers", tags=["games"], **answering(wire.OfferModel, 201, 400, 401, 422))
    async def offer(request: models.OfferRequest, player: me) -> Response:
        """Creates a game for the caller to open."""
        ruleset, agreement = parse_ruleset(dict(request.ruleset)), read_agreement(request.agreement)
        line = await cases.offers.offer(ruleset, agreement, player, dealer=request.dealer)
        return JSONResponse({"game": line.entry.game, "line": line_to_json(line)}, 201)

    @router.get("/games/{game}", tags=["games"], **answering(wire.SpectatorModel, 200, 400, 404))
    async def spectate(game: models.GameId, request: Request) -> Response:
        """A game as a spectator sees it. A browser is sent to its page."""
        summary, state = await cases.views.spectate(game)
        if wants_page(request.headers.get("accept", "")):
            return RedirectResponse(f"/g/{game}", 303, {"Vary": "Accept"})
        shown = answer_json.spectator_bytes(summary, cases.late(), state.to_json(), state.shape())
        return Response(shown, media_type="application/json", headers={"Vary": "Accept"})

    @router.post(
        "/games/{game}/recovery",
        tags=["games"],
        **answering(wire.SubmittedModel, 201, 400, 401, 403, 404, 409, 422, again="Done before"),
    )
    async def recover_seat(game: models.GameId, player: me, request: models.ProofRequest) -> Response:
        """Replaces the caller's revoked key in the game by their new one, while they owe the next entry."""
        lines, fresh = await cases.games.recover(game, player, request.proof)
        return Response(answer_json.submitted_bytes(lines), 201 if fresh else 200, media_type="application/json")

    @router.post(
        "/games/{game}/statements",
        tags=["games"],
        **answering(wire.StatedModel, 201, 400, 403, 404, 409, 422, again="The same statement again"),
    )
    async def state(game: models.GameId, request: models.StatementRequest) -> Response:
        """Keeps a signed statement about the last entry. The second wish to call a game off ends it."""
        statement: GiftStatement | AnnulStatement
        if request.kind == "give":
            assert request.seconds is not None
            statement = make_gift(game=game, head=request.head, name=request.name, seconds=request.seconds)
        else:
            statement = make_annul(game=game, head=request.head, name=request.name)
        stated = await cases.statements.state(statement, request.sig)
        return Response(answer_json.stated_bytes(stated), 201 if stated.fresh else 200, media_type="application/json")

    @router.delete("/games/{game}/statements/annul", tags=["games"], **answering(None, 204, 400, 401, 403, 404, 409))
    async def withdraw(game: models.GameId, player: me) -> None:
        """Forgets the caller's wish to call the game off. Its signature can be used until the head moves."""
        await cases.statements.withdraw(game, player)

    @router.get("/games/{game}/clock", tags=["games"], **answering(wire.ClockModel, 200, 400, 404))
    async def clock(game: models.GameId) -> Response:
        """The agreement of a game, and what its clocks show."""
        return JSONResponse(answer_json.clock_json(await cases.statements.clock(game), cases.late()))

    @router.get("/outages", tags=["games", "service"], **answering(wire.OutagesModel, 200))
    async def outages() -> Response:
        """All times in which the service took no entries."""
        found = [outage.to_json() for outage in sorted(await cases.store.outages())]
        return JSONResponse({"outages": found})

    return router


_TALK: Final = "/games/{game}/talk"
_TALK_PAGE: Final = 100
_MessageNumber = Annotated[int, Path(ge=1, le=2**31 - 1, description="The number of the message")]


def make_talk_router(cases: UseCases) -> APIRouter:
    """Returns the endpoints over these use cases."""
    router = APIRouter(prefix="/v1", tags=["talk"])
    me = Annotated[str, Depends(logged_in(cases))]

    @router.get(_TALK, **answering(wire.TalkModel, 200, 400, 401, 404))
    async def heard(
        game: models.GameId,
        player: me,
        after: Annotated[int, Query(ge=0, le=2**31 - 1, description="Only messages with greater numbers")] = 0,
        limit: Annotated[int, Query(ge=1, le=_TALK_PAGE)] = _TALK_PAGE,
    ) -> Response:
        """The messages of a game, for its two players."""
        found = await cases.talk.heard(game, player, after, limit + 1)
        following = found[limit - 1].number if len(found) > limit else None
        shown = [answer_json.message_json(each) for each in found[:limit]]
        return JSONResponse({"messages": shown, "next": following})

    @router.post(_TALK, **answering(wire.MessageModel, 201, 400, 401, 403, 404, 409, again="The same message again"))
    async def say(game: models.GameId, player: me, signed: models.SignedRequest) -> Response:
        """Keeps a signed message for the other player."""
        kept, fresh = await cases.talk.say(game, player, signed.text, signed.sig)
        return JSONResponse(answer_json.message_json(kept), 201 if fresh else 200)

    @router.delete(f"{_TALK}/{{number}}", **answering(None, 204, 400, 401, 403, 404))
    async def take_back(game: models.GameId, player: me, number: _MessageNumber) -> None:
        """Deletes the text and the signature of a message of the caller."""
        await cases.talk.take_back(game, player, number)

    @router.get("/me/talk", **answering(wire.LastMessagesModel, 200, 401))
    async def last_heard(player: me) -> Response:
        """The last message of the opponent in each of the caller's games in which there is one."""
        found = [each._asdict() for each in await cases.talk.last_heard(player)]
        return JSONResponse({"games": found})

    return router
