"""The JSON between a service and its clients: the one table of the fields of its answers. docs/spec/http.md.

The service writes answers of these forms, and makes the page of its API (`/openapi.json`) from them: the names of the
classes and the texts below the fields are in it. Clients read them. A type checker compares both sides with this table.
When a program runs, only that page needs it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final, Literal, NotRequired

from typing_extensions import TypedDict  # pydantic reads that of `typing` from Python 3.12 on

JsonObject = dict[str, Any]  # Any: JSON of which another page says the form, such as that of a game


class Shown:
    """Adds members of JSON Schema to a field on the API's page, beside its type."""

    def __init__(self, **members: object) -> None:
        self._members = members

    def __get_pydantic_json_schema__(self, schema: object, handler: Callable[[object], JsonObject]) -> JsonObject:
        return handler(schema) | self._members


GAME_ID: Final[JsonObject] = {"pattern": "^[0-9a-f]{32}$", "examples": ["2714f3b33c7ecb05393f34920c14fec3"]}
NAME: Final[JsonObject] = {"pattern": "^[a-z0-9][a-z0-9_-]{1,31}$", "examples": ["alice"]}
GameId = Annotated[str, Shown(**GAME_ID)]
Name = Annotated[str, Shown(**NAME)]
CHANNEL_SETTINGS: Final[JsonObject] = {
    "digest": ["08:00", "18:00"],
    "format": "json",
    "quiet": {"from": "22:00", "until": "07:00"},
    "zone": "+01:00",
}
"""An example."""
PARTS: Final[JsonObject] = {"text": "no {what} {name!r}", "values": {"what": "game", "name": "2714"}}
"""An example."""


class Signed(TypedDict):
    """A signed text: `sig` is the base64 SSHSIG blob of the text and a newline."""

    text: str
    sig: str


class OpeningModel(TypedDict):
    """The opening of one commitment."""

    cards: str
    part: int
    salt: str
    seq: int


class DepositModel(TypedDict):
    """A draw of a sealed game that the service is to keep."""

    at: list[int]
    """Its position"""
    round: int
    shares: str
    """Base64"""


class SubmissionModel(TypedDict):
    """An entry's exact text, its signature, the openings of the cards it hides, and the draw that it deposits."""

    entry: str
    sig: str
    opening: NotRequired[list[OpeningModel]]
    deposit: NotRequired[DepositModel]


class LineModel(TypedDict):
    """A line of a log."""

    entry: str
    sig: str
    receipt: Signed


class SubmittedModel(TypedDict):
    """The receipt of the entry, and all lines that the submission added to the log."""

    receipt: Signed
    lines: list[LineModel]


class StatedModel(TypedDict):
    """The result of a statement: the deadline now, and the lines that it has added to the log."""

    deadline: str | None
    lines: list[LineModel]


class GivenModel(TypedDict):
    """A gift of time that counts for the entry that is due."""

    head: str
    name: Name
    seconds: int
    sig: str


OutageModel = TypedDict("OutageModel", {"from": str, "until": str, "way": Literal["http", "mail"]})
OutageModel.__doc__ = (
    "A time in which the service took no entries that came some way: from its first second to before `until`."
)


class OutagesModel(TypedDict):
    """All outages, in order of time."""

    outages: list[OutageModel]


class ClockModel(TypedDict):
    """The agreement of a game, and what its clocks show."""

    game: GameId
    seq: int
    head: str
    agreement: JsonObject
    seat: int | None
    """The seat that owes the next entry"""
    since: str | None
    """Since when its time runs, without what it has `spent` before in this turn"""
    spent: int | None
    """Seconds"""
    deadline: str | None
    """The last second for that entry, or for a guest to join"""
    overdue: bool
    reserve: list[int] | None
    """Seconds of host and guest; in a turn, those at its beginning"""
    gifts: list[GivenModel]
    outages: list[OutageModel]
    """Those that help this seat, since the time runs"""
    annul: list[Name]
    """The players who wish to call the game off"""
    silent: dict[Name, str]
    """The players whose mailbox does not take letters, each with the time since when"""


class MessageModel(TypedDict):
    """A message of one player of a game to the other."""

    number: int
    """1 for the first message of the game"""
    name: Name
    """Its author"""
    at: str
    """When the service kept it"""
    text: str | None
    """The signed text; null if its author has deleted it"""
    sig: str | None
    """In namespace `hkoji.talk.v1`, by the author's key in the game"""


class TalkModel(TypedDict):
    """A page of messages; `next`, as `after`, asks for the page that follows."""

    messages: list[MessageModel]
    next: int | None


class LastMessageModel(TypedDict):
    """The last message in a game that the caller has not written."""

    game: GameId
    number: int
    name: Name
    """Its author"""


class LastMessagesModel(TypedDict):
    """The last message of the opponent in each of the caller's games in which there is one."""

    games: list[LastMessageModel]


class OfferModel(TypedDict):
    """A new game and its first line."""

    game: GameId
    line: LineModel


class ServiceModel(TypedDict):
    """The service: `key` is what players pin."""

    name: Literal["hkoji"]
    version: str
    origin: str
    key: str
    registration: Literal["open", "code", "closed"]
    """The people who may register: anyone, those with a code from the operator, nobody"""
    rulesets: list[str]
    dealers: list[str]
    """The dealers with which a game can be offered"""
    operators: list[Name]
    """The players who run the service, as its operator states"""
    mail: str | None
    """The service's mail address; null if nobody can play by mail here"""
    web: bool
    """Whether the service has pages for people with a browser"""
    push: str | None
    """The key by which push services know the service: a point of P-256, base64url; null if it has no pages"""
    slack: int
    """Seconds after a deadline before the service writes a `timeout`"""
    time: str


class BlocksModel(TypedDict):
    """The names of the players whom a player has blocked."""

    blocks: list[Name]


class EarlierKeyModel(TypedDict):
    """An earlier key of a player, and the statement about it."""

    key: str
    until: str
    revoked: bool
    text: str | None
    """The signed statement; null if the operator has revoked the key"""
    sig: str | None
    """By this key"""
    new_sig: str | None
    """By the key that replaced it"""


class GatewayModel(TypedDict):
    """The certificate of a key that the service holds for a player who plays by mail, as the log has it."""

    address: Annotated[str, Shown(pattern="^[0-9a-f]{64}$")]
    """A salted hash of the mailbox"""
    at: str
    key: str
    origin: str
    sig: str
    """By the service's key, in namespace `hkoji.held.v1`, also over the player's name"""


class PlayerModel(TypedDict):
    """A registered player; `statement` is the text that made `key` their key, signed by `key`."""

    name: Name
    key: str
    registered: str
    revoked: bool
    """Whether `key` is revoked and not replaced yet"""
    statement: Signed
    held: GatewayModel | None
    """The newest certificate of `key` if the service holds it, else null"""
    earlier: list[EarlierKeyModel]


class ChallengeModel(TypedDict):
    """A login challenge: sign `text` and a newline in namespace `hkoji.login.v1`."""

    text: str


class TokenModel(TypedDict):
    """A login."""

    token: str
    expires: str


class ResultModel(TypedDict):
    """How a game ended."""

    reason: str
    winner: int | None
    """The winning seat; null for a shared win and for a cancelled game"""


class SummaryModel(TypedDict):
    """A game in a list."""

    game: GameId
    ruleset: JsonObject
    agreement: JsonObject
    status: str
    host: str | None
    guest: str | None
    invite: str | None
    by_link: bool
    """Whether the game waits for whoever has its link; then no public list has it"""
    seq: int
    head: str
    round: int
    actor: int | None
    to_move: str | None
    """The player who owes the next entry or is invited to join"""
    created: str
    updated: str
    deadline: str | None
    """Until when the next entry can come, or a guest; too early after an outage, until it is corrected"""
    overdue: bool
    """Whether deadline and `slack` have passed, and the game goes on all the same"""
    by_mail: dict[Name, Literal["checked", "claimed", "word"]]
    """The players for whom the service has signed, with the grades of their seats"""
    dealer: Literal["duplicate/v1", "sealed/v1", "server/v1"]
    """`sealed/v1` of a sealed game"""
    result: ResultModel | None


class GamesModel(TypedDict):
    """A page of games; `next` asks for the page after it."""

    games: list[SummaryModel]
    next: str | None


class FinishedModel(SummaryModel):
    """A game that is over."""

    ended: str
    """The time of record of its last entry"""


class FinishedPageModel(TypedDict):
    """A page of the games that are over, in the order of their end."""

    games: list[FinishedModel]
    next: str | None
    """`after` of the next page; null if there is no more now"""
    last: str | None
    """`after` of what comes later: the place of the last game here, or the one that was asked for"""
    before: str
    """Every game that ended before this time can be listed; no other is"""


class SpectatorModel(SummaryModel):
    """A game as a spectator sees it."""

    state: JsonObject
    """The position with every hidden card as X"""
    shape: list[str]
    """The form of a legal decision now, ? for a card"""


class ViewModel(TypedDict):
    """A game as one of its players sees it."""

    game: GameId
    seat: int
    seq: int
    head: str
    status: str
    actor: int | None
    legal: list[str]
    state: JsonObject
    view: Signed
    openings: list[OpeningModel]
    lines: list[LineModel]
    clock: NotRequired[ClockModel | None]
    """The clocks; left out unless the request asks for it"""
    signed_head: NotRequired[Signed | None]
    """The answer of `…/head`; only beside a clock that runs for somebody else"""


class ChannelModel(TypedDict):
    """A channel. `target` is its address without what may be secret in it."""

    id: str
    kind: str
    target: str
    events: list[str]
    settings: Annotated[JsonObject, Shown(examples=[CHANNEL_SETTINGS])]
    created: str
    confirmed: str | None
    """Since when notices are sent to it"""
    failures: int
    """How many notices in a row could not be delivered"""
    off: str | None
    """Since when it is turned off, because too many could not be delivered"""
    orders: NotRequired[bool | None]
    """Only of mail: whether mails from there are orders"""
    certificate: NotRequired[GatewayModel | None]
    """Only of mail: that of the key that the service holds for it"""
    salt: NotRequired[str | None]
    """Only of mail: 64 hex digits, of the hash in the certificate"""


class ChannelsModel(TypedDict):
    """All channels of a player, the oldest first."""

    channels: list[ChannelModel]


class Problem(TypedDict):
    """A problem document."""

    type: Annotated[str, Shown(examples=["/problems/conflict"])]
    """Names the kind of problem; stable"""
    title: Annotated[str, Shown(examples=["Conflict"])]
    status: Annotated[int, Shown(examples=[409])]
    detail: Annotated[str, Shown(examples=["game 2714f3b3 has moved on: its last entry is 7"])]
    """The reason why it failed"""
    code: Annotated[str, Shown(examples=["conflict"])]
    """The kind of problem as one word; stable"""
    hint: NotRequired[str | None]
    """The next thing to do"""
    game: NotRequired[str | None]
    seq: NotRequired[int | None]
    """The number of the game's last entry"""
    head: NotRequired[str | None]
    """The head of the game's last entry"""
    actor: NotRequired[int | None]
    """The seat that owes the next entry"""
    action: NotRequired[str | None]
    """The decision that is not legal"""
    shape: NotRequired[list[str] | None]
    """The form of a legal decision, ? for a card"""
    deadline: NotRequired[str | None]
    """Anything that comes after this time is too late"""
    retry_after: NotRequired[int | None]
    """Seconds to wait"""
    parts: NotRequired[Annotated[JsonObject | None, Shown(examples=[{"detail": PARTS}])]]
    """For readers in other languages: template and values of `detail` and of `hint`"""
