"""Reads a service's answers strictly: values in their types, and problem documents as the errors they stand for.

docs/spec/http.md. `hkoji.wire` has the fields of the answers. Only their form is checked here; their content is
checked where it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from hkoji import errors
from hkoji.client.transport import PROXY_LOGIN, HttpAnswer
from hkoji.game.agreement import read_agreement
from hkoji.game.clock import Outage, read_outage
from hkoji.game.commitments import Opening, parse_opening
from hkoji.game.course import OVER, STATUSES
from hkoji.game.dealer import SERVER_V1
from hkoji.game.entry_kinds import GivenTime
from hkoji.game.held_keys import Gateway, read_gateway, require_strong_gateway
from hkoji.game.position import SLACK_SECONDS
from hkoji.log.canonical import decode_base64, is_hex, is_name, is_time
from hkoji.log.game_statements import SignedHead, read_signed_head
from hkoji.log.line import MAX_LINE_BYTES, Line, SignedEntry, read_line, read_signed
from hkoji.log.public_key import PublicKey, parse_public_key
from hkoji.log.statement import Login, make_login, parse_login
from hkoji.messages.text import Text, assemble, quoted, shorten, tell
from hkoji.rules.events import SEATS, Outcome

if TYPE_CHECKING:
    from hkoji.wire import (
        ChallengeModel,
        ClockModel,
        GatewayModel,
        PlayerModel,
        ResultModel,
        ServiceModel,
        SubmittedModel,
        SummaryModel,
        TokenModel,
        ViewModel,
    )

REFUSALS: Final = (
    errors.ConflictError,
    errors.IllegalError,
    errors.InvalidError,
    errors.ForbiddenError,
    errors.TooManyGamesError,
)
"""The errors by which a service refuses a submission. After any other error it may have accepted the submission."""

SHORT_ANSWER: Final = 64 * 1024
"""The longest answer, in bytes, to requests about the service, logins and offers."""
LONGEST_PAGE: Final = 512 * 1024
"""The longest page of a list of games, where 200 games have a fifth of it, and the longest list of a player's keys."""
LONGEST_LIST: Final = 8 * 1024 * 1024
"""The longest list of games, all pages together: some 16,000 games."""
LONGEST_VIEW: Final = 2 * MAX_LINE_BYTES
"""The longest view or answer to an entry. Either may hold one text of the greatest length, and some short ones."""

_Read = TypeVar("_Read")
_NEVER: Final = "8999-12-31T23:59:59Z"


class ServiceDescription(NamedTuple):
    """A service's key, the origin for which logins there are signed, its `slack`, and whether it has pages.

    The slack are the seconds after a deadline before it writes a `timeout`. `operators` are the players who run it.
    """

    key: PublicKey
    origin: str
    slack: int = SLACK_SECONDS
    web: bool = False
    operators: tuple[str, ...] = ()


class ClockAnswer(NamedTuple):
    """The words of a service beside the log about the entry that is due.

    `gifts` and `outages` may count for it, and `annul` has the names of the players who wish to call the game off.
    `silent` has the players whose mailbox does not take letters, each with the time since when.
    """

    gifts: tuple[GivenTime, ...]
    outages: tuple[Outage, ...]
    annul: tuple[str, ...]
    silent: tuple[tuple[str, str], ...] = ()


class EarlierKey(NamedTuple):
    """A key that a player had before, and what has been signed about it."""

    key: PublicKey
    revoked: bool
    text: str | None
    sig: str | None
    new_sig: str | None


class PlayerAnswer(NamedTuple):
    """A player as a service reports them: the current key, whether that is revoked, and earlier keys.

    `held` is the certificate of the current key, which is not verified yet, if the service says that it holds it.
    """

    key: PublicKey
    revoked: bool
    earlier: tuple[EarlierKey, ...]
    held: Gateway | None = None

    def had(self, key: PublicKey) -> bool:
        """Whether a key was the player's before the current one."""
        return any(each.key == key for each in self.earlier)

    def why_not(self, key: PublicKey, name: str) -> Text:
        """Says why a key is not that of the player with that name, who has another one."""
        names = {"name": name, "old": key.fingerprint, "fingerprint": self.key.fingerprint}
        if not self.had(key):
            return tell("the service knows {name} by another key, {fingerprint}", **names)
        if any(each.key == key and each.revoked for each in self.earlier):
            return tell(
                "your key {old} has been revoked; the service knows {name} by another key, {fingerprint}", **names
            )
        return tell("your key {old} has been replaced; the service knows {name} by another key, {fingerprint}", **names)


class ViewAnswer(NamedTuple):
    """A seat's view: the log's length and head, the signed view, the player's openings, and the log's new lines.

    `clock` is there if it was asked for, unless the head moved meanwhile or the service is older than such requests.
    `signed_head` comes with it if the player waits; it is not verified yet.
    """

    seq: int
    head: str
    view: SignedEntry
    openings: tuple[Opening, ...]
    lines: tuple[Line, ...]
    clock: ClockAnswer | None = None
    signed_head: SignedHead | None = None


def problem(answer: HttpAnswer) -> errors.HkojiError:
    """Returns the error that a problem document stands for: by its code, else by its status."""
    value = answer.json()
    if not isinstance(value, dict):
        value = {}
    code, game, seq, head, wait = (value.get(name) for name in ("code", "game", "seq", "head", "retry_after"))
    if value.get("detail") is None:
        detail: str = tell("the service answered with status {status}", status=answer.status)
    else:
        detail = _quoted(value, "detail")
    hint = _quoted(value, "hint")
    if not hint and answer.status >= 500:
        hint = tell("nothing was changed here: try again later, or ask its operator")
    if answer.status == 407:
        hint = PROXY_LOGIN
    if 300 <= answer.status < 400:
        where = shorten(answer.location, 200) or "nowhere"
        return errors.ServiceError(
            answer.status,
            tell("the service redirects to {where}", where=where),
            hint=tell("nothing was changed here; if its operator confirms that it has moved there, register there"),
        )
    if code == "conflict" and isinstance(game, str) and type(seq) is int and isinstance(head, str):
        return errors.ConflictError(shorten(game, 32), seq=seq, head=head)
    if code == "not-your-turn":
        actor = value.get("actor")
        return errors.NotYourTurnError(detail, actor=actor if actor in (0, 1) else None, hint=hint)
    if code == "game-over" and isinstance(game, str):
        return errors.GameOverError(shorten(game, 32))
    named = shorten(str(game or ""), 32)  # a service need not say in which game
    if code == errors.TimeOverError.code and answer.status == 409:
        late = errors.TimeOverError(named, shorten(str(value.get("deadline") or "")) or None)
        late.message, late.hint, late.args = detail, hint or late.hint, (detail,)
        return late
    if (kind := _BY_CODE.get((answer.status, str(code)))) is not None:
        return _in_its_words(kind, detail, hint)
    seconds = wait if type(wait) is int and wait >= 0 else None
    if answer.status == 429:
        return errors.TooManyError(1 if seconds is None else seconds, detail if value.get("detail") else None)
    if code == errors.BusyError.code and answer.status == 503:
        return errors.BusyError(5 if seconds is None else seconds, detail if value.get("detail") else None)
    if code == errors.ClockError.code and answer.status == 503:
        return errors.ClockError(detail, 30 if seconds is None else seconds)
    if code == errors.TalkClosedError.code and answer.status == 409:
        return errors.TalkClosedError(named, detail)
    kind = _BY_STATUS.get(answer.status)
    return _in_its_words(kind, detail, hint) if kind else errors.ServiceError(answer.status, detail, hint=hint)


def _quoted(value: dict[str, Any], name: str) -> str:  # Any: JSON
    """Returns a problem's text under `name`, which is shown in the reader's language where it can be translated."""
    english = shorten(str(value.get(name, "")), 300)
    parts = value.get("parts")
    made = assemble(english, parts.get(name)) if isinstance(parts, dict) else english
    return quoted(english) if made is english else made


def _in_its_words(kind: type[errors.HkojiError], detail: str, hint: str) -> errors.HkojiError:
    """Returns an error in the words of the service, also of a class that has words of its own."""
    error = kind.__new__(kind)
    errors.HkojiError.__init__(error, detail, hint=hint)
    return error


_BY_CODE: Final[dict[tuple[int, str], type[errors.HkojiError]]] = {
    (403, errors.BlockedError.code): errors.BlockedError,
    (403, errors.NotAcceptedError.code): errors.NotAcceptedError,
    (403, errors.RevokedError.code): errors.RevokedError,
    (409, errors.TooManyChannelsError.code): errors.TooManyChannelsError,
    (422, errors.NotDeliveredError.code): errors.NotDeliveredError,
    (429, errors.TooManyGamesError.code): errors.TooManyGamesError,
}
_BY_STATUS: Final[dict[int, type[errors.HkojiError]]] = {
    400: errors.InvalidError,
    401: errors.LoginError,
    403: errors.ForbiddenError,
    409: errors.ExistsError,
    422: errors.IllegalError,
}


@contextmanager
def understood(answer: HttpAnswer) -> Iterator[None]:
    """Raises `ServiceError` if the answer does not have the form that the block reads."""
    try:
        yield
    except (errors.HkojiError, KeyError, TypeError, ValueError, RecursionError) as error:
        reason = shorten(str(error), 120) if isinstance(error, errors.HkojiError) else tell("its form is wrong")
        raise errors.ServiceError(
            answer.status,
            tell("the service's answer is not understood: {reason}", reason=reason),
            hint=tell("is it an hkoji service, and of this version? Nothing was changed here"),
        ) from error


def read(answer: HttpAnswer, reader: Callable[[Any], _Read]) -> _Read:  # Any: JSON
    """Returns what `reader` makes of the JSON of an answer. Raises `ServiceError` if that has another form.

    The readers take forms of `hkoji.wire`, and may raise all that `understood` expects.
    """
    with understood(answer):
        return reader(answer.json())


def read_description(value: ServiceModel) -> ServiceDescription:
    """Reads a service's description."""
    origin = value["origin"]
    make_login(expires=_NEVER, nonce="0" * 64, origin=origin)  # refuses an origin that no statement can hold
    slack = value.get("slack", SLACK_SECONDS)
    if type(slack) is not int or slack < 0:
        raise TypeError("slack is not a number of seconds")
    operators = tuple(map(read_text, value.get("operators", [])))  # not in the answer of an older service
    return ServiceDescription(parse_public_key(value["key"]), origin, slack, value.get("web") is True, operators)


def read_challenge(value: ChallengeModel) -> Login:
    """Reads a login statement to sign."""
    return parse_login(value["text"])


def read_token(value: TokenModel) -> str:
    """Reads the token of a login."""
    token = read_text(value["token"])
    if not token.isalnum() and not token.replace("-", "").replace("_", "").isalnum():
        raise ValueError("a token is letters, digits, - and _")
    return token


def read_lines(value: SubmittedModel) -> tuple[Line, ...]:
    """Reads the lines that an entry has added."""
    return tuple(map(read_line, value["lines"]))


def read_view_answer(value: ViewModel) -> ViewAnswer:
    """Reads a view."""
    if type(value["seq"]) is not int:
        raise TypeError("seq is not a number")
    openings: Any = value["openings"]  # Any: JSON, which `parse_opening` checks
    clock = value.get("clock")
    if clock is None and "clock" in value:
        raise TypeError("a clock is not left out")
    return ViewAnswer(
        value["seq"],
        read_text(value["head"]),
        read_signed(value["view"], "view"),
        tuple(map(parse_opening, openings)),
        tuple(map(read_line, value["lines"])),
        read_clock(clock) if clock is not None and clock["head"] == value["head"] else None,
        read_signed_head(value["signed_head"]) if "signed_head" in value else None,
    )


def read_clock(value: ClockModel) -> ClockAnswer:
    """Reads what a service says about the entry that is due."""
    gifts = tuple(
        GivenTime(read_text(each["head"]), _read_seconds(each["seconds"]), decode_base64(each["sig"], "signature"))
        for each in value["gifts"]
    )
    outages = tuple(read_outage({name: each[name] for name in ("from", "until", "way")}) for each in value["outages"])
    names = tuple(read_text(name) for name in value.get("annul", ()))
    silent = tuple((read_text(name), read_text(since)) for name, since in value.get("silent", {}).items())
    if not all(map(is_name, (*names, *(name for name, _ in silent)))):
        raise ValueError("a name is not one of a player")
    if not all(is_time(since) for _, since in silent):
        raise ValueError("a time is none")
    return ClockAnswer(gifts, outages, names, silent)


def _read_seconds(value: object) -> int:
    if type(value) is not int or value < 1:
        raise TypeError("it is not a number of seconds")
    return value


def read_player(value: PlayerModel) -> PlayerAnswer:
    """Reads a player's keys."""
    earlier = tuple(
        EarlierKey(
            parse_public_key(each["key"]),
            each["revoked"] is True,
            *(given if given is None else read_text(given) for given in (each["text"], each["sig"], each["new_sig"])),
        )
        for each in value["earlier"]
    )
    key = parse_public_key(value["key"])
    held = None if value.get("held") is None else read_certificate(value["held"])
    if held is not None and held.key != key:
        raise ValueError("the certificate is for another key")
    return PlayerAnswer(key, value["revoked"] is True, earlier, held)


def read_certificate(value: GatewayModel | None) -> Gateway:
    """Reads a certificate."""
    given: Any = value  # Any: JSON, which `read_gateway` checks
    return require_strong_gateway(read_gateway(given))


def read_text(value: object) -> str:
    """Returns a value that is text without control characters. Raises `TypeError`."""
    if not isinstance(value, str) or shorten(value, len(value)) != value:
        raise TypeError("it is not plain text")
    return value


def read_summary(value: SummaryModel) -> dict[str, Any]:  # Any: JSON
    """Returns a game's summary; checks the fields that the client reads, and passes others on."""
    names = value["host"], value["guest"], value["invite"], value["to_move"]
    for text in (value["game"], value["status"], *names, value["updated"]):
        if text is not None:
            read_text(text)
    if type(value["round"]) is not int or not isinstance(value["ruleset"], dict):
        raise TypeError("a game's summary")
    read_text(value["ruleset"]["name"])
    _check_result(value["status"], value["result"])
    if "agreement" in value:
        read_agreement(value["agreement"])
    deadline = value.get("deadline")
    if deadline is not None and not is_time(read_text(deadline)):
        raise ValueError("a deadline is a time")
    by_mail = value.get("by_mail", {})
    if not isinstance(by_mail, dict) or not all(is_name(name) for name in by_mail):
        raise TypeError("grades of players")
    for grade in by_mail.values():
        read_text(grade)
    # The client names a folder after the id, so it must not be a path.
    if not is_hex(value["game"], 32):
        raise ValueError("a game's id is 32 hex digits")
    dealer = read_text(value.get("dealer", SERVER_V1))
    return {**value, "by_mail": by_mail, "dealer": dealer}


def _check_result(status: object, result: ResultModel | None) -> None:
    """Checks that a game has a result if it is over, and that a cancelled game, and no other, was cancelled."""
    if result is None:
        if status in OVER:
            raise ValueError("a game that is over has no result")
        return
    outcome = Outcome(read_text(result["reason"]), result["winner"])
    if outcome.winner is not None and (type(outcome.winner) is not int or outcome.winner not in SEATS):
        raise TypeError("the winner is not a seat")
    if status in STATUSES and (status not in OVER or outcome.cancelled != (status == "cancelled")):
        raise ValueError("its result does not fit its status")
