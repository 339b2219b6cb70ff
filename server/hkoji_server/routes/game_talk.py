"""The endpoints of talk: messages of the two players of a game to each other. docs/spec/http.md, "Talk"."""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import JSONResponse

from hkoji_server.routes import answer_json, models
from hkoji_server.routes.players import NO_STORE, logged_in
from hkoji_server.routes.problems import problem_responses
from hkoji_server.service.games.talk import Talk
from hkoji_server.service.players.players import Players

_PATH: Final = "/v1/games/{game}/talk"
_PAGE: Final = 100
_Number = Annotated[int, Path(ge=1, le=2**31 - 1, description="The number of the message")]


def make_talk_router(players: Players, talk: Talk) -> APIRouter:
    """Returns the endpoints over these use cases."""
    router = APIRouter(tags=["talk"])
    me = Annotated[str, Depends(logged_in(players))]

    @router.get(_PATH, response_model=models.TalkModel, responses=problem_responses(400, 401, 404))
    async def heard(
        game: models.GameId,
        player: me,
        after: Annotated[int, Query(ge=0, le=2**31 - 1, description="Only messages with greater numbers")] = 0,
        limit: Annotated[int, Query(ge=1, le=_PAGE)] = _PAGE,
    ) -> Any:
        """The messages of a game, for its two players."""
        found = await talk.heard(game, player, after, limit + 1)
        following = found[limit - 1].number if len(found) > limit else None
        shown = [answer_json.message_json(each) for each in found[:limit]]
        return JSONResponse({"messages": shown, "next": following}, headers=NO_STORE)

    @router.post(
        _PATH,
        status_code=201,
        response_model=models.MessageModel,
        responses={
            200: {"model": models.MessageModel, "description": "The same message again"},
            **problem_responses(400, 401, 403, 404, 409),
        },
    )
    async def say(game: models.GameId, player: me, signed: models.Signed) -> Any:
        """Keeps a signed message for the other player."""
        kept, fresh = await talk.say(game, player, signed.text, signed.sig)
        return JSONResponse(answer_json.message_json(kept), 201 if fresh else 200, NO_STORE)

    @router.delete(f"{_PATH}/{{number}}", status_code=204, responses=problem_responses(400, 401, 403, 404))
    async def take_back(game: models.GameId, player: me, number: _Number) -> None:
        """Deletes the text and the signature of a message of the caller."""
        await talk.take_back(game, player, number)

    @router.get("/v1/me/talk", response_model=models.LastMessagesModel, responses=problem_responses(401))
    async def last_heard(player: me) -> Any:
        """The last message of the opponent in each of the caller's games in which there is one."""
        found = [each._asdict() for each in await talk.last_heard(player)]
        return JSONResponse({"games": found}, headers=NO_STORE)

    return router
