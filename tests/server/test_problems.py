"""Errors as problem documents: one table, all classes, nothing left out and nothing confidential."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hkoji_server.routes.problems import problem
from pydantic import TypeAdapter

from hkoji import errors
from hkoji.wire import Problem

GAME = "2714f3b33c7ecb05393f34920c14fec3"

ANSWERS: list[tuple[errors.HkojiError, int, dict[str, object]]] = [
    (errors.InvalidError("no"), 400, {"code": "invalid"}),
    (errors.NotationError("9Q", "no such action"), 400, {"code": "invalid-notation"}),
    (errors.MalformedError("entry", "not canonical"), 400, {"code": "malformed"}),
    (errors.WeakKeyError("small order"), 400, {"code": "weak-key"}),
    (errors.NotUnderstoodError("kind", "duel"), 400, {"code": "not-understood"}),
    (errors.CommitmentError("it does not fit", seq=7, part=1), 400, {"code": "bad-opening"}),
    (errors.ProofError("the proof does not hold"), 400, {"code": "bad-proof"}),
    (errors.LoginError("log in"), 401, {"code": "login-required"}),
    (errors.SignatureError("alice", "it does not verify"), 403, {"code": "bad-signature"}),
    (errors.ForbiddenError("no"), 403, {"code": "forbidden"}),
    (errors.RevokedError("alice", "SHA256:x"), 403, {"code": "revoked"}),
    (errors.NotFoundError("game", GAME), 404, {"code": "not-found"}),
    (errors.ConflictError(GAME, seq=7, head="ab"), 409, {"code": "conflict", "game": GAME, "seq": 7, "head": "ab"}),
    (errors.ExistsError("player", "alice"), 409, {"code": "exists"}),
    (errors.NotYourTurnError("bob is to move", actor=1), 409, {"code": "not-your-turn", "actor": 1}),
    (errors.NotYourTurnError("nobody is", actor=None), 409, {"code": "not-your-turn", "actor": None}),
    (errors.GameOverError(GAME), 409, {"code": "game-over", "game": GAME}),
    (
        errors.TimeOverError(GAME, "2026-11-20T12:00:00Z"),
        409,
        {"code": "time-over", "game": GAME, "deadline": "2026-11-20T12:00:00Z"},
    ),
    (errors.TooManyGamesError("no"), 429, {"code": "too-many-games"}),
    (errors.BlockedError("no"), 403, {"code": "blocked"}),
    (errors.TalkClosedError(GAME, "no"), 409, {"code": "talk-closed", "game": GAME}),
    (errors.NotAcceptedError("no"), 403, {"code": "not-accepted"}),
    (errors.TooManyChannelsError("no"), 409, {"code": "too-many-channels"}),
    (errors.TooLargeError("it", 16), 413, {"code": "too-large"}),
    (errors.IllegalError("no"), 422, {"code": "illegal"}),
    (errors.NotDeliveredError("no answer came"), 422, {"code": "not-delivered"}),
    (errors.IllegalActionError("1A", "no", shape=("1?",)), 422, {"action": "1A", "shape": ["1?"]}),
    (errors.MissingCardsError("1A", "an A card"), 422, {"action": "1A", "code": "illegal-action"}),
    (errors.IllegalEventError("no", due="draw"), 422, {"code": "illegal-event"}),
    (errors.UnknownHandError(0), 422, {"code": "unknown-hand"}),
    (errors.TooManyError(30), 429, {"code": "too-many-requests", "retry_after": 30}),
    (errors.BusyError(5), 503, {"code": "too-busy", "retry_after": 5}),
    (errors.ClockError("it has jumped", 30), 503, {"code": "clock", "retry_after": 30}),
    (errors.StorageError("the disk is full"), 503, {"code": "storage"}),
]
# Errors that no request brings: they occur only on a player's side, or in the keeper.
ELSEWHERE = {
    errors.InterruptionError,
    errors.KeptDepositError,
    errors.LaterVersionError,
    errors.NotOverdueError,
    errors.NotShownError,
    errors.OtherOriginError,
    errors.OutputError,
    errors.PlanTextError,
    errors.TrustError,
    errors.AuditError,
    errors.UnreadableMailError,
    errors.UsageError,
    errors.WrongValueError,
    errors.CancelledError,
    errors.NetworkError,
    errors.ServiceError,
    errors.BotError,
    errors.SeatedBotError,
}


def classes(kind: type[errors.HkojiError]) -> Iterator[type[errors.HkojiError]]:
    yield kind
    for each in kind.__subclasses__():
        yield from classes(each)


@pytest.mark.parametrize(("error", "status", "members"), ANSWERS, ids=lambda value: getattr(value, "code", ""))
def test_each_error_has_its_answer(error: errors.HkojiError, status: int, members: dict[str, object]) -> None:
    answer = problem(error)
    document = json.loads(bytes(answer.body))
    assert answer.status_code == document["status"] == status
    assert answer.media_type == "application/problem+json"
    assert document["type"] == f"/problems/{error.code}"
    assert document["detail"] == str(error)
    assert {name: document[name] for name in members} == members
    assert ("www-authenticate" in answer.headers) == (status == 401)
    waits = members.get("retry_after")
    assert answer.headers.get("retry-after") == (str(waits) if waits else None)
    TypeAdapter(Problem).validate_python(document, strict=True, extra="forbid")


def test_no_class_is_forgotten() -> None:
    project = {each for each in classes(errors.HkojiError) if each.__module__ == errors.__name__}
    assert {type(error) for error, _, _ in ANSWERS} | ELSEWHERE | {errors.HkojiError} == project


def test_the_place_of_the_game_is_added_where_the_error_lacks_it() -> None:
    document = json.loads(bytes(problem(errors.GameOverError(GAME), last=(20, "cd" * 32)).body))
    assert (document["seq"], document["head"]) == (20, "cd" * 32)
