"""The endpoint that says whether letters to the players of a game arrive. docs/spec/http.md, "Letters of a game"."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from hkoji_server.routes import models
from hkoji_server.routes.players import NO_STORE, logged_in
from hkoji_server.routes.problems import problem_responses
from hkoji_server.service.letter_states import LetterStates
from hkoji_server.service.players import Players


class _LetterBase(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class LetterStateModel(_LetterBase):
    """Letters to a player do not arrive, or their mailbox is locked."""

    name: models.Name
    since: str
    why: Literal["not arriving", "locked"]


class LettersModel(_LetterBase):
    """What is wrong with letters to the players of a game; usually nothing."""

    letters: list[LetterStateModel] = Field(description="Each player by mail with whose letters something is wrong")


def make_letters_router(players: Players, states: LetterStates) -> APIRouter:
    """Returns the endpoint over these use cases."""
    router = APIRouter(prefix="/v1/games/{game}/letters", tags=["mail"])
    me = Annotated[str, Depends(logged_in(players))]

    @router.get("", response_model=LettersModel, responses=problem_responses(400, 401, 403, 404))
    async def letters(game: models.GameId, player: me) -> Any:
        """Whether letters to the players of a game arrive, for these players."""
        found = [each._asdict() for each in await states.of(game, player)]
        return JSONResponse({"letters": found}, headers=NO_STORE)

    return router
