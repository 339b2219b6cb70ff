"""The bodies of a game's entries as values, one class a kind.

docs/spec/log.md, "Kinds". Reading is strict: exactly the keys of the kind. A kind, dealer, requirement or key of a
later version raises `NotUnderstoodError` and is neither valid nor forged; `ext` is the one object a reader ignores.

Named tuples, like the log's own values: they are made for every entry, and cost little to import.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from hkoji.errors import MalformedError, NotUnderstoodError
from hkoji.game import dealer_terms
from hkoji.game.body_fields import exactly, read_fields, read_hex, read_key
from hkoji.game.dealer_terms import DuplicateTerms, ServerTerms, Terms
from hkoji.game.openings import Opening, parse_openings
from hkoji.game.rekey_entries import Rekey, Revoke, parse_rekey, parse_revoke
from hkoji.log.canonical import JsonValue
from hkoji.log.entry import is_name, is_time
from hkoji.log.private_key import PublicKey
from hkoji.messages.text import tell
from hkoji.rules.events import Outcome
from hkoji.rules.protocol import Ruleset
from hkoji.rules.registry import parse_ruleset, reasons


class Offer(NamedTuple):
    """The service's offer of a game: the dealer's terms, and the ruleset."""

    terms: Terms
    ruleset: Ruleset
    server_key: PublicKey

    def to_json(self) -> dict[str, JsonValue]:
        """The body."""
        return {
            "dealer": self.terms.to_json(),
            "requires": [],
            "ruleset": self.ruleset.to_json(),
            "server_key": self.server_key.text,
        }


class Invite(NamedTuple):
    """Who alone may join: a name, and if `key` is given only with that key."""

    name: str
    key: PublicKey | None = None


class Open(NamedTuple):
    """The host takes up the offer."""

    entropy_commit: str
    key: PublicKey
    invite: Invite | None = None

    def to_json(self) -> dict[str, JsonValue]:
        """The body."""
        invite: JsonValue = None
        if self.invite:
            invite = {"key": self.invite.key.text if self.invite.key else None, "name": self.invite.name}
        return {"entropy_commit": self.entropy_commit, "invite": invite, "key": self.key.text}


class Join(NamedTuple):
    """The guest joins."""

    entropy_commit: str
    key: PublicKey

    def to_json(self) -> dict[str, JsonValue]:
        """The body."""
        return {"entropy_commit": self.entropy_commit, "key": self.key.text}


class Seed(NamedTuple):
    """A player reveals their entropy (64 hex digits)."""

    entropy: str

    def to_json(self) -> dict[str, JsonValue]:
        """The body."""
        return {"entropy": self.entropy}


class ChanceBody(NamedTuple):
    """What public chance decided."""

    first: int | None
    markers: str | None

    def to_json(self) -> dict[str, JsonValue]:
        """The body: only what chance decides."""
        body: dict[str, JsonValue] = {}
        if self.first is not None:
            body["first"] = self.first
        if self.markers is not None:
            body["markers"] = self.markers
        return body


class Move(NamedTuple):
    """A decision in public form, with a commitment for each group of hidden cards."""

    action: str
    commit: tuple[str, ...] = ()

    def to_json(self) -> dict[str, JsonValue]:
        """The body."""
        return {"action": self.action, "commit": list(self.commit)} if self.commit else {"action": self.action}


class RevealBody(NamedTuple):
    """The round's face-down cards that count."""

    openings: tuple[Opening, ...]

    def to_json(self) -> dict[str, JsonValue]:
        """The body."""
        return {"openings": [opening.to_json() for opening in self.openings]}


class Resign(NamedTuple):
    """A player gives up."""

    def to_json(self) -> dict[str, JsonValue]:
        """The body."""
        return {}


class Timeout(NamedTuple):
    """The service says that `seat` has not moved in time since the receipt at `since`."""

    seat: int
    since: str

    def to_json(self) -> dict[str, JsonValue]:
        """The body."""
        return {"seat": self.seat, "since": self.since}


class Cancel(NamedTuple):
    """The host takes back a game that nobody has joined."""

    def to_json(self) -> dict[str, JsonValue]:
        """The body."""
        return {}


class End(NamedTuple):
    """The game is over: its result, every opening not published yet, and the seed (None if an `unseal` is to come)."""

    openings: tuple[Opening, ...]
    result: Outcome
    seed: str | None

    def to_json(self) -> dict[str, JsonValue]:
        """The body."""
        return {
            "openings": [opening.to_json() for opening in self.openings],
            "result": {"reason": self.result.reason, "winner": self.result.winner},
            "seed": self.seed,
        }


class Unseal(NamedTuple):
    """All tables of the deal are done: the seed that the end has left sealed."""

    seed: str

    def to_json(self) -> dict[str, JsonValue]:
        """The body."""
        return {"seed": self.seed}


Body: TypeAlias = (
    Offer
    | Open
    | Join
    | Seed
    | ChanceBody
    | Move
    | RevealBody
    | Rekey
    | Revoke
    | Resign
    | Timeout
    | Cancel
    | End
    | Unseal
)

KINDS: Final[dict[type, str]] = {
    Offer: "offer",
    Open: "open",
    Join: "join",
    Seed: "seed",
    ChanceBody: "chance",
    Move: "move",
    RevealBody: "reveal",
    Rekey: "rekey",
    Revoke: "revoke",
    Resign: "resign",
    Timeout: "timeout",
    Cancel: "cancel",
    End: "end",
    Unseal: "unseal",
}
SERVER_KINDS: Final = frozenset({"offer", "chance", "reveal", "revoke", "timeout", "end", "unseal"})


def parse_body(kind: str, body: dict[str, JsonValue]) -> Body:
    """Reads the body of an entry of `kind`. Raises `NotUnderstoodError`, `WeakKeyError` or `MalformedError`."""
    parse = _PARSERS.get(kind)
    if parse is None:
        raise NotUnderstoodError(tell("entry kind"), kind)
    return parse(body)


def _parse_offer(body: dict[str, JsonValue]) -> Offer:
    fields = read_fields(body, "offer", ("dealer", "requires", "ruleset", "server_key"))
    dealer = _parse_terms(fields["dealer"])
    requires = fields["requires"]
    if not isinstance(requires, list) or not all(isinstance(name, str) for name in requires):
        raise MalformedError(tell("requires"), tell("it is not a list of names"))
    if requires:
        raise NotUnderstoodError(tell("requirement"), str(requires[0]))
    return Offer(dealer, parse_ruleset(fields["ruleset"]), read_key(fields["server_key"], "server_key"))


def _parse_terms(value: JsonValue) -> Terms:
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        raise MalformedError(tell("dealer"), tell("it is not an object with a name"))
    match value["name"]:
        case dealer_terms.SERVER_V1:
            dealer = exactly(value, "dealer", ("name", "seed_commit"))
            return ServerTerms(read_hex(dealer["seed_commit"], "seed_commit"))
        case dealer_terms.DUPLICATE_V1:
            dealer = exactly(value, "dealer", ("deal", "name", "seed_commit"))
            return DuplicateTerms(read_hex(dealer["deal"], "deal", 32), read_hex(dealer["seed_commit"], "seed_commit"))
        case other:
            raise NotUnderstoodError(tell("dealer"), str(other))


def _parse_open(body: dict[str, JsonValue]) -> Open:
    fields = read_fields(body, "open", ("entropy_commit", "invite", "key"))
    invite = None
    if fields["invite"] is not None:
        given = exactly(fields["invite"], "invite", ("key", "name"))
        if not isinstance(given["name"], str) or not is_name(given["name"]):
            raise MalformedError(tell("invite"), tell("name is not a player's name"))
        key = None if given["key"] is None else read_key(given["key"], "invite key")
        invite = Invite(given["name"], key)
    return Open(read_hex(fields["entropy_commit"], "entropy_commit"), read_key(fields["key"], "key"), invite)


def _parse_join(body: dict[str, JsonValue]) -> Join:
    fields = read_fields(body, "join", ("entropy_commit", "key"))
    return Join(read_hex(fields["entropy_commit"], "entropy_commit"), read_key(fields["key"], "key"))


def _parse_seed(body: dict[str, JsonValue]) -> Seed:
    return Seed(read_hex(read_fields(body, "seed", ("entropy",))["entropy"], "entropy"))


def _parse_chance(body: dict[str, JsonValue]) -> ChanceBody:
    fields = read_fields(body, "chance", (), ("first", "markers"))
    first, markers = fields.get("first"), fields.get("markers")
    if first is None and markers is None:
        raise MalformedError(tell("chance"), tell("it decides nothing"))
    if "first" in fields and (type(first) is not int or first not in (0, 1)):
        raise MalformedError(tell("chance"), tell("first is seat 0 or 1"))
    if "markers" in fields and (not isinstance(markers, str) or not markers.isalpha()):
        raise MalformedError(tell("chance"), tell("markers are letters"))
    return ChanceBody(
        first if isinstance(first, int) else None,
        markers if isinstance(markers, str) else None,
    )


def _parse_move(body: dict[str, JsonValue]) -> Move:
    fields = read_fields(body, "move", ("action",), ("commit",))
    action = fields["action"]
    if not isinstance(action, str) or not 0 < len(action) <= 32:
        raise MalformedError(tell("move"), tell("action is not a move's text"))
    if "commit" not in fields:
        return Move(action)
    commit = fields["commit"]
    if not isinstance(commit, list) or not 0 < len(commit) <= 2:
        raise MalformedError(tell("move"), tell("commit is not a list of one or two commitments"))
    return Move(action, tuple(read_hex(item, "commitment") for item in commit))


def _parse_reveal(body: dict[str, JsonValue]) -> RevealBody:
    return RevealBody(parse_openings(read_fields(body, "reveal", ("openings",))["openings"]))


def _parse_resign(body: dict[str, JsonValue]) -> Resign:
    read_fields(body, "resign", ())
    return Resign()


def _parse_timeout(body: dict[str, JsonValue]) -> Timeout:
    fields = read_fields(body, "timeout", ("seat", "since"))
    seat, since = fields["seat"], fields["since"]
    if type(seat) is not int or seat not in (0, 1):
        raise MalformedError(tell("timeout"), tell("seat is 0 or 1"))
    if not isinstance(since, str) or not is_time(since):
        raise MalformedError(tell("timeout"), tell("since is not a time"))
    return Timeout(seat, since)


def _parse_cancel(body: dict[str, JsonValue]) -> Cancel:
    read_fields(body, "cancel", ())
    return Cancel()


def _parse_end(body: dict[str, JsonValue]) -> End:
    fields = read_fields(body, "end", ("openings", "result", "seed"))
    result = exactly(fields["result"], "result", ("reason", "winner"))
    reason, winner = result["reason"], result["winner"]
    if not isinstance(reason, str):
        raise MalformedError(tell("result"), tell("reason is not a word"))
    if reason not in reasons():
        raise NotUnderstoodError(tell("result"), reason)
    if winner is not None and (type(winner) is not int or winner not in (0, 1)):
        raise MalformedError(tell("result"), tell("winner is seat 0 or 1, or null"))
    outcome = Outcome(reason, winner if isinstance(winner, int) else None)
    seed = None if fields["seed"] is None else read_hex(fields["seed"], "seed")
    return End(parse_openings(fields["openings"]), outcome, seed)


def _parse_unseal(body: dict[str, JsonValue]) -> Unseal:
    return Unseal(read_hex(read_fields(body, "unseal", ("seed",))["seed"], "seed"))


_PARSERS: Final[dict[str, Callable[[dict[str, JsonValue]], Body]]] = {
    "offer": _parse_offer,
    "open": _parse_open,
    "join": _parse_join,
    "seed": _parse_seed,
    "chance": _parse_chance,
    "move": _parse_move,
    "reveal": _parse_reveal,
    "rekey": parse_rekey,
    "revoke": parse_revoke,
    "resign": _parse_resign,
    "timeout": _parse_timeout,
    "cancel": _parse_cancel,
    "end": _parse_end,
    "unseal": _parse_unseal,
}
