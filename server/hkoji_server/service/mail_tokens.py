"""The tokens in the addresses of letters: how they are made, and whether one is still good.

docs/spec/log.md, "Held keys". A token is made from a secret and from what it is for, so a letter that is rendered again
has the same. The database has only its digest, with what it is for.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from hashlib import sha256
from typing import Final, NamedTuple

from hkoji.game.course import Course
from hkoji.log.entry import Entry
from hkoji.log.line import Line
from hkoji.mail.tokens import (
    LEAVES_TURN,
    Purpose,
    TokenFields,
    TokenPlace,
    is_resign_again,
    make_nonce,
    make_token,
    place_of,
    token_digest,
)
from hkoji_server.service.confirmations import can_confirm
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_values import Mailbox, ReplyToken

CODE_DIGITS: Final = 40
"""How many hex digits a code for a key of a player's own has, like one of the operator's."""
_LATELY: Final = 8
"""How many lines are read first to find the last entry of another kind."""


def answered_by(lines: Sequence[Line], seq: int) -> Entry | None:
    """Returns the entry that ended the turn after entry `seq`; None if the turn goes on."""
    return next((line.entry for line in lines if line.entry.seq > seq and line.entry.kind not in LEAVES_TURN), None)


class IssuedToken(NamedTuple):
    """A token as it stands in a letter, what it is for, and its nonce."""

    text: str
    fields: TokenFields
    nonce: str


def read_fields(reply: ReplyToken, head: str = "") -> TokenFields:
    """Returns what a kept token is for; the head of the entry that it names, if any, is not kept."""
    seq = int(reply.seq) if reply.seq else None
    return TokenFields(Purpose(reply.purpose), reply.name, reply.game, seq, head, reply.about)


class MailTokens:
    """Makes tokens of this service."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._secret: bytes | None = None

    async def make(self, fields: TokenFields) -> IssuedToken:
        """Returns the token of these fields, always the same. Raises `StorageError`."""
        nonce = make_nonce(await self._read_secret(), fields)
        return IssuedToken(make_token(fields, nonce), fields, nonce)

    async def new_game(self, digest: str) -> str:
        """Returns the id of the game that the mail with that digest makes: always the same, and nobody can guess it."""
        return hmac.new(await self._read_secret(), f"hkoji.new.v1\n{digest}\n".encode(), sha256).hexdigest()[:32]

    async def code(self, name: str, digest: str) -> str:
        """Returns the code for a key of the player's own that the mail with that digest has asked for: 40 hex digits.

        It is always the same, so that a letter that is rendered again has it, and no row has it in plain text.
        """
        text = f"hkoji.code.v1\n{name}\n{digest}\n".encode()
        return hmac.new(await self._read_secret(), text, sha256).hexdigest()[:CODE_DIGITS]

    async def _read_secret(self) -> bytes:
        if self._secret is None:
            self._secret = bytes.fromhex(await self._store.mail_secret())
        return self._secret

    async def issue(
        self, fields: TokenFields, mailbox: Mailbox, now: str, *, expires: str | None = None
    ) -> IssuedToken:
        """Returns the token of these fields, which is good from now on if it has not been before."""
        issued = await self.make(fields)
        await self._store.add_reply(kept_token(issued, mailbox, now, expires))
        return issued

    async def place(self, game: str, seq: int) -> TokenPlace:
        """Returns the place for tokens of a turn in a game whose last entry has the number `seq`."""
        for after in (max(-1, seq - _LATELY), -1):
            found = place_of([line.entry for line in await self._store.lines(game, after) if line.entry.seq <= seq])
            if found is not None:
                return found
        raise AssertionError("the first entry of a game is an offer")


def kept_token(issued: IssuedToken, mailbox: Mailbox, now: str, expires: str | None) -> ReplyToken:
    """Returns what is kept of a token that goes to a mailbox."""
    fields = issued.fields
    return ReplyToken(
        digest=token_digest(issued.text),
        channel=mailbox.channel,
        name=fields.name,
        game=fields.game,
        seq="" if fields.seq is None else str(fields.seq),
        purpose=fields.purpose.value,
        about=fields.about,
        made=now,
        expires=expires,
    )


def is_good(reply: ReplyToken, mailbox: Mailbox, now: str, game: tuple[Course, TokenPlace] | None) -> bool:
    """Returns whether a token can still do what it is for. `game` is its game as it is now, None without one."""
    fields = read_fields(reply)
    if reply.spent is not None or (reply.expires is not None and now > reply.expires):
        return False
    if game is None:
        match fields.purpose:
            case Purpose.COMMAND:
                return fields.about == str(mailbox.counter)
            case Purpose.INVITE:
                # Also once it was accepted: who accepts twice, or whose mail is processed again, is welcome again.
                return mailbox.state in ("invited", "active")
            case Purpose.YES:
                return can_confirm(fields.about, mailbox)
        return not fields.game
    course, place = game
    match fields.purpose:
        case Purpose.INVITE:
            return course.joinable and course.setup.invited == fields.name and fields.seq == place.seq
        case Purpose.TURN:
            return not course.finished and fields.seq == place.seq
        case Purpose.AGAIN:
            # What was asked again of a game that is over is a rematch.
            return fields.seq == place.seq or (is_resign_again(fields) and not course.finished)
    return True
