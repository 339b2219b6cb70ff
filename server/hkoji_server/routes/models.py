"""The JSON of requests and answers, for validation and for the API's documentation."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field, model_validator

from hkoji.game.entry_kinds.time import WHY_DECLINED
from hkoji.log.game_statements import MAX_GIFT_SECONDS
from hkoji_server.service.games.invitations import MOST_KNOWN, Invites
from hkoji_server.settings import Registration

GameId = Annotated[str, Field(pattern="^[0-9a-f]{32}$", examples=["2714f3b33c7ecb05393f34920c14fec3"])]
Name = Annotated[str, Field(pattern="^[a-z0-9][a-z0-9_-]{1,31}$", examples=["alice"])]
Nonce = Annotated[str, Query(pattern="^[0-9a-f]{64}$", description="64 hex digits that the caller has drawn")]
Status = Literal["open", "playing", "finished", "cancelled"]
After = Annotated[int, Query(ge=-1, le=2**31, description="Only entries after the one with this number")]
WithClock = Annotated[bool, Query(description="Whether `clock` is in the answer")]
Wait = Annotated[int, Query(ge=0, description="Wait for a new entry for this many seconds, at most 60")]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Signed(_Model):
    """A signed text: `sig` is the base64 SSHSIG blob of the text and a newline."""

    text: str = Field(max_length=4096)
    sig: str = Field(max_length=2048)


class LoginRequest(Signed):
    """A signed login challenge."""

    name: Name


class OfferRequest(_Model):
    """The ruleset with every option and the whole agreement, as the log has them."""

    agreement: dict[str, Any] = Field(  # Any: JSON, read like the body of an offer
        examples=[
            {
                "clock": {"add": 0, "bank": 1209600, "cap": 1209600, "move": 259200, "rest": "", "zone": "+00:00"},
                "expires": "2026-12-05T12:00:00Z",
                "rated": True,
                "rematch": None,
                "series": None,
            }
        ]
    )
    ruleset: dict[str, str | int | None] = Field(
        examples=[{"first": "host", "max_rounds": 0, "name": "hanamikoji", "tiebreak": "geisha", "version": 1}]
    )


class StatementRequest(_Model):
    """A signed statement about the last entry of a game; `sig` is base64, in the namespace of its kind."""

    head: str = Field(pattern="^[0-9a-f]{64}$")
    kind: Literal["give", "annul"]
    name: Name
    seconds: int | None = Field(default=None, ge=1, le=MAX_GIFT_SECONDS, description="Of a gift, and only of one")
    sig: str = Field(max_length=2048)

    @model_validator(mode="after")
    def _check_seconds(self) -> Self:
        if (self.kind == "give") != (self.seconds is not None):
            raise ValueError("a gift has seconds, and nothing else has")
        return self


class OpeningModel(_Model):
    """The opening of one commitment."""

    cards: str
    part: int
    salt: str
    seq: int


class SubmissionModel(_Model):
    """An entry's exact text, its signature, and the openings of the cards it hides."""

    entry: str
    sig: str
    opening: list[OpeningModel] = Field(default_factory=list)


class LineModel(_Model):
    """A line of a log."""

    entry: str
    sig: str
    receipt: Signed


class SubmittedModel(_Model):
    """The receipt of the entry, and all lines that the submission added to the log."""

    receipt: Signed
    lines: list[LineModel]


class StatedModel(_Model):
    """What has become of a statement: the deadline now, and the lines that it has added to the log."""

    deadline: str | None
    lines: list[LineModel]


class GivenModel(_Model):
    """A gift of time that counts for the entry that is due."""

    head: str
    name: Name
    seconds: int
    sig: str


class OutageModel(_Model):
    """A time in which the service took no entries that came some way: from its first second to before `until`."""

    model_config = ConfigDict(populate_by_name=True)

    begin: str = Field(alias="from")
    until: str
    way: Literal["http", "mail"]


class OutagesModel(_Model):
    """All outages, in order of time."""

    outages: list[OutageModel]


class ClockModel(_Model):
    """The agreement of a game, and what its clocks show."""

    game: GameId
    seq: int
    head: str
    agreement: dict[str, Any]  # Any: JSON, like the body of an offer
    seat: int | None = Field(description="The seat that owes the next entry")
    since: str | None = Field(description="Since when its time runs, without what it has `spent` before in this turn")
    spent: int | None = Field(description="Seconds")
    deadline: str | None = Field(description="The last second for that entry, or for a guest to join")
    overdue: bool
    reserve: list[int] | None = Field(description="Seconds of host and guest; in a turn, those at its beginning")
    gifts: list[GivenModel]
    outages: list[OutageModel] = Field(description="Those that help this seat, since the time runs")
    annul: list[Name] = Field(description="Who wishes to call the game off")
    silent: dict[Name, str] = Field(description="Whose mailbox does not take letters, and since when")


class MessageModel(_Model):
    """A message of one player of a game to the other."""

    number: int = Field(description="1 for the first message of the game")
    name: Name = Field(description="Its author")
    at: str = Field(description="When the service kept it")
    text: str | None = Field(description="The signed text; null if its author has deleted it")
    sig: str | None = Field(description="In namespace `hkoji.talk.v1`, by the author's key in the game")


class TalkModel(_Model):
    """A page of messages; `next`, as `after`, asks for the page that follows."""

    messages: list[MessageModel]
    next: int | None


class LastMessageModel(_Model):
    """The last message in a game that the caller has not written."""

    game: GameId
    number: int
    name: Name = Field(description="Its author")


class LastMessagesModel(_Model):
    """The last message of the opponent in each of the caller's games in which there is one."""

    games: list[LastMessageModel]


class OfferModel(_Model):
    """A new game and its first line."""

    game: GameId
    line: LineModel


class ServiceModel(_Model):
    """The service: `key` is what players pin."""

    name: Literal["hkoji"]
    version: str
    origin: str
    key: str
    registration: Registration = Field(
        description="Who may register: anyone, those with a code from the operator, nobody"
    )
    rulesets: list[str]
    mail: str | None = Field(description="The service's mail address; null if nobody can play by mail here")
    slack: int = Field(description="Seconds after a deadline before the service writes a `timeout`")
    time: str


class NewKeyRequest(Signed):
    """A replacement of a key: `sig` is by the new key, `old_sig` by the old one."""

    old_sig: str = Field(max_length=2048)


class RegistrationRequest(Signed):
    """A signed registration, with the operator's code where one is needed."""

    code: str | None = Field(default=None, max_length=256)


class RecoveryRequest(Signed):
    """A replacement of a revoked key, with the operator's code for it."""

    code: str = Field(max_length=256)


class DeclineRequest(_Model):
    """A decline of an invitation, perhaps with a reason."""

    why: str | None = Field(
        default=None, max_length=64, examples=["later"], description="One of " + ", ".join(WHY_DECLINED)
    )


class SettingsModel(_Model):
    """What a player has set at the service."""

    invites: Invites = Field(default="everyone", description="Whose invitations the player accepts")
    known: list[Name] = Field(
        default_factory=list,
        max_length=MOST_KNOWN,
        description="With `invites` `known`: players who count as known beside those of finished games",
    )


class BlocksModel(_Model):
    """The names of the players whom a player has blocked."""

    blocks: list[Name]


class ProofRequest(_Model):
    """A new key's proof for the next entry of a game, base64."""

    proof: str = Field(max_length=2048)


class EarlierKeyModel(_Model):
    """An earlier key of a player, and the statement about it."""

    key: str
    until: str
    revoked: bool
    text: str | None = Field(description="The signed statement; null if the operator has revoked the key")
    sig: str | None = Field(description="By this key")
    new_sig: str | None = Field(description="By the key that replaced it")


class GatewayModel(_Model):
    """The certificate of a key that the service holds for a player who plays by mail, as the log has it."""

    address: str = Field(pattern="^[0-9a-f]{64}$", description="A salted hash of the mailbox")
    at: str
    key: str
    origin: str
    sig: str = Field(description="By the service's key, in namespace `hkoji.held.v1`, also over the player's name")


class PlayerModel(_Model):
    """A registered player; `statement` is the text that made `key` their key, signed by `key`."""

    name: Name
    key: str
    registered: str
    revoked: bool = Field(description="Whether `key` is revoked and not replaced yet")
    statement: Signed
    held: GatewayModel | None = Field(description="The newest certificate of `key` if the service holds it, else null")
    earlier: list[EarlierKeyModel]


class ChallengeModel(_Model):
    """A login challenge: sign `text` and a newline in namespace `hkoji.login.v1`."""

    text: str


class TokenModel(_Model):
    """A login."""

    token: str
    expires: str


class ResultModel(_Model):
    """How a game ended."""

    reason: str
    winner: int | None = Field(description="The winning seat; null for a shared win and for a cancelled game")


class SummaryModel(_Model):
    """A game in a list."""

    game: GameId
    ruleset: dict[str, Any]  # Any: each game has options of its own
    agreement: dict[str, Any]  # Any: JSON, like the body of an offer
    status: str
    host: str | None
    guest: str | None
    invite: str | None
    by_link: bool = Field(description="Whether the game waits for whoever has its link; then no public list has it")
    seq: int
    head: str
    round: int
    actor: int | None
    to_move: str | None = Field(description="The player who owes the next entry or is invited to join")
    created: str
    updated: str
    deadline: str | None = Field(
        description="Until when the next entry can come, or a guest; too early after an outage, until it is corrected"
    )
    overdue: bool = Field(description="Whether deadline and `slack` have passed, and the game goes on all the same")
    by_mail: dict[Name, Literal["checked", "claimed", "word"]] = Field(
        description="The players for whom the service has signed, with the grades of their seats"
    )
    result: ResultModel | None


class GamesModel(_Model):
    """A page of games; `next` asks for the page after it."""

    games: list[SummaryModel]
    next: str | None


class FinishedModel(SummaryModel):
    """A game that is over."""

    ended: str = Field(description="The time of record of its last entry")


class FinishedPageModel(_Model):
    """A page of the games that are over, in the order of their end."""

    games: list[FinishedModel]
    next: str | None = Field(description="`after` of the next page; null if there is no more now")
    last: str | None = Field(
        description="`after` of what comes later: the place of the last game here, or the one that was asked for"
    )
    before: str = Field(description="Every game that ended before this time can be listed; no other is")


class SpectatorModel(SummaryModel):
    """A game as a spectator sees it."""

    state: dict[str, Any] = Field(description="The position with every hidden card as X")  # Any: each game's own
    shape: list[str] = Field(description="What a legal decision looks like now, ? for a card")


class ViewModel(_Model):
    """A game as one of its players sees it."""

    game: GameId
    seat: int
    seq: int
    head: str
    status: str
    actor: int | None
    legal: list[str]
    state: dict[str, Any]  # Any: each game's own
    view: Signed
    openings: list[OpeningModel]
    lines: list[LineModel]
    clock: ClockModel | None = Field(
        default=None, description="What the clocks show; left out unless the request asks for it"
    )
    signed_head: Signed | None = Field(
        default=None, description="What `…/head` answers; only beside a clock that runs for somebody else"
    )
