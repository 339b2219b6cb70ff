"""The service's endpoints as functions, and its problem documents as errors.

docs/spec/http.md. Checks the shape of what comes, not its truth: that is the session's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

from hkoji import errors
from hkoji.client.transport import Answer, Transport
from hkoji.game.submission import Submission, format_submission
from hkoji.log.line import Line, parse_log, read_line

_BY_CODE: Final[dict[str, type[errors.HkojiError]]] = {
    kind.code: kind
    for kind in (
        errors.InvalidError,
        errors.IllegalError,
        errors.ForbiddenError,
        errors.LoginError,
        errors.StorageError,
    )
}


def raise_problem(answer: Answer) -> None:
    """Raises the error that a problem document stands for, with the class its code names."""
    problem = answer.json()
    if not isinstance(problem, dict):
        problem = {}
    code = str(problem.get("code", ""))
    detail = errors.shorten(str(problem.get("detail", f"the service answered with status {answer.status}")), 300)
    hint = errors.shorten(str(problem.get("hint", "")), 300)
    game, seq, head = problem.get("game"), problem.get("seq"), problem.get("head")
    if code == "conflict" and isinstance(game, str) and isinstance(seq, int) and isinstance(head, str):
        raise errors.ConflictError(game, seq=seq, head=head)
    if code == "not-your-turn":
        actor = problem.get("actor")
        raise errors.NotYourTurnError(detail, actor=actor if isinstance(actor, int) else None, hint=hint)
    if code == "game-over" and isinstance(game, str):
        raise errors.GameOverError(game)
    kind = _BY_CODE.get(code) or _by_status(answer.status)
    if kind is None:
        raise errors.ServiceError(answer.status, detail, hint=hint)
    raise kind(detail, hint=hint)


def _by_status(status: int) -> type[errors.HkojiError] | None:
    return {
        400: errors.InvalidError,
        401: errors.LoginError,
        403: errors.ForbiddenError,
        409: _Taken,
        422: errors.IllegalError,
    }.get(status)


class _Taken(errors.HkojiError):
    """A name or a key that is taken."""

    code = "exists"


class Api:
    """The endpoints of the service at `transport`. Every call raises `NetworkError` and the service's problems."""

    def __init__(self, transport: Transport) -> None:
        self.transport: Final = transport

    def service(self) -> dict[str, Any]:  # Any: JSON
        """What the service is."""
        return self._get("/v1/service")

    def register(self, text: str, sig: str) -> dict[str, Any]:  # Any: JSON
        """Registers by a signed registration."""
        return self._post("/v1/players", {"text": text, "sig": sig})

    def challenge(self) -> str:
        """A text to sign for a login."""
        return str(self._post("/v1/login/challenge", None)["text"])

    def login(self, name: str, text: str, sig: str) -> str:
        """A token for a signed challenge."""
        return str(self._post("/v1/login", {"name": name, "text": text, "sig": sig})["token"])

    def offer(self, ruleset: dict[str, Any], token: str | None) -> Line:  # Any: JSON
        """Asks for a new game. Its first line."""
        return read_line(self._post("/v1/offers", {"ruleset": ruleset}, token).get("line"))

    def games(
        self, filters: Mapping[str, str | None], token: str | None = None, *, mine: bool = False
    ) -> list[dict[str, Any]]:  # Any: JSON
        """All games that match, page by page: the public list, or the own. Filters that are None do not count."""
        chosen = {name: value for name, value in filters.items() if value is not None}
        found: list[dict[str, Any]] = []
        after: str | None = None
        while True:
            query = urlencode({**chosen, "limit": "200", **({"after": after} if after else {})})
            page = self._get(f"/v1/{'me/' if mine else ''}games?{query}", token)
            found.extend(page["games"])
            after = page.get("next")
            if not after:
                return found

    def log(self, game: str, after: int = -1) -> tuple[Line, ...]:
        """The public log's lines after an entry."""
        answer = self.transport.request("GET", f"/v1/games/{game}/log?after={after}")
        if answer.status != 200:
            self._fail(answer, game)
        return parse_log(answer.body)

    def view(self, game: str, after: int, token: str | None) -> dict[str, Any]:  # Any: JSON
        """The own view, with the log's lines after an entry."""
        return self._get(f"/v1/games/{game}/view?after={after}", token, game)

    def submit(self, submission: Submission) -> tuple[Line, ...]:
        """Sends an entry. All lines that it has brought."""
        game = submission.entry.game
        answer = self.transport.request("POST", f"/v1/games/{game}/entries", format_submission(submission).encode())
        value = self._value(answer, game)
        return tuple(read_line(line) for line in value.get("lines", []))

    def _get(self, path: str, token: str | None = None, game: str = "") -> dict[str, Any]:  # Any: JSON
        return self._value(self.transport.request("GET", path, None, token), game)

    def _post(self, path: str, value: Any, token: str | None = None) -> dict[str, Any]:  # Any: JSON
        body = b"" if value is None else json.dumps(value).encode()
        return self._value(self.transport.request("POST", path, body, token), "")

    def _value(self, answer: Answer, game: str) -> dict[str, Any]:  # Any: JSON
        if answer.status not in (200, 201):
            self._fail(answer, game)
        value = answer.json()
        if not isinstance(value, dict):
            raise errors.ServiceError(answer.status, "the service's answer is not understood", hint="is it hkoji?")
        return value

    def _fail(self, answer: Answer, game: str) -> None:
        if answer.status == 404 and game:
            raise errors.NotFoundError("game", game, hint="list games with `hkoji games`")
        raise_problem(answer)
