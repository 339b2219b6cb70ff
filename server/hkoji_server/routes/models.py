"""The JSON of requests, for validation and for the API's documentation. That of answers is in `hkoji.wire`."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field, model_validator

from hkoji import wire
from hkoji.game.dealer import SERVER_V1
from hkoji.game.entry_kinds.time import WHY_DECLINED
from hkoji.log.game_statements import MAX_GIFT_SECONDS
from hkoji_server.service.games.invitations import MOST_KNOWN, Invites

GameId = Annotated[str, Field(**wire.GAME_ID)]
Name = Annotated[str, Field(**wire.NAME)]
Nonce = Annotated[str, Query(pattern="^[0-9a-f]{64}$", description="64 hex digits that the caller has drawn")]
Status = Literal["open", "playing", "finished", "cancelled"]
After = Annotated[int, Query(ge=-1, le=2**31, description="Only entries after the one with this number")]
WithClock = Annotated[bool, Query(description="Whether `clock` is in the answer")]
Wait = Annotated[int, Query(ge=0, description="Wait for a new entry for this many seconds, at most 60")]


class RequestModel(BaseModel):
    """The body of a request, read strictly."""

    model_config = ConfigDict(extra="forbid", strict=True)


class SignedRequest(RequestModel):
    """A signed text: `sig` is the base64 SSHSIG blob of the text and a newline."""

    text: str = Field(max_length=4096)
    sig: str = Field(max_length=2048)


class LoginRequest(SignedRequest):
    """A signed login challenge."""

    name: Name


class OfferRequest(RequestModel):
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
    dealer: str = Field(default=SERVER_V1, description="One of `dealers` of `GET /v1/service`")
    ruleset: dict[str, str | int | None] = Field(
        examples=[{"first": "host", "max_rounds": 0, "name": "hanamikoji", "tiebreak": "geisha", "version": 1}]
    )


class StatementRequest(RequestModel):
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


class NewKeyRequest(SignedRequest):
    """A replacement of a key: `sig` is by the new key, `old_sig` by the old one."""

    old_sig: str = Field(max_length=2048)


class RegistrationRequest(SignedRequest):
    """A signed registration, with the operator's code where one is needed."""

    code: str | None = Field(default=None, max_length=256)


class RecoveryRequest(SignedRequest):
    """A replacement of a revoked key, with the operator's code for it."""

    code: str = Field(max_length=256)


class DeclineRequest(RequestModel):
    """A decline of an invitation, perhaps with a reason."""

    why: str | None = Field(
        default=None, max_length=64, examples=["later"], description="One of " + ", ".join(WHY_DECLINED)
    )


class SettingsModel(RequestModel):
    """The settings of a player at the service."""

    invites: Invites = Field(default="everyone", description="The players whose invitations are accepted")
    known: list[Name] = Field(
        default_factory=list,
        max_length=MOST_KNOWN,
        description="With `invites` `known`: players who count as known beside those of finished games",
    )


class ProofRequest(RequestModel):
    """A new key's proof for the next entry of a game, base64."""

    proof: str = Field(max_length=2048)
