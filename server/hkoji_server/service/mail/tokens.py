"""The tokens in the addresses of letters, and the ids of letters.

docs/spec/log.md, "Held keys". A token is made from a secret and from what it is for, so a letter that is rendered
again has the same. The database has only its digest, with what it is for.

By its id a mail program puts a letter in order, and shows a letter that is sent twice once. An id holds the token of
the letter. If a letter is rendered again after a crash, the game may have moved on, and with it the token: so the
first rendering is remembered. All of it is kept beside the tokens, under digests that no token has, so that a mail can
never name it.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any, Final, NamedTuple

from hkoji.game.course import Course
from hkoji.log.line import Entry, Line
from hkoji.mail.addresses import OwnAddress
from hkoji.mail.letters.composing import Facts, LetterHeaders
from hkoji.mail.tokens import (
    LEAVES_TURN,
    Purpose,
    TokenFields,
    TokenPlace,
    is_resign_again,
    make_nonce,
    make_token,
    token_digest,
)
from hkoji_server.service.notices.couriers import Notice
from hkoji_server.service.players.held_players import can_confirm
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_values import LetterRows, Mailbox, ReplyToken

CODE_DIGITS: Final = 40
"""How many hex digits a code for a key of a player's own has, like one of the operator's."""
_LETTERS: Final = "letters"
"""Marks the row of a game's letters among the rows of tokens."""
_REMEMBERED: Final = 20
"""How many letters of a game to a mailbox are remembered."""


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


class LetterTokens:
    """The tokens that a letter to a mailbox shows. `rows` are to be kept when it is sent."""

    def __init__(self, tokens: MailTokens, mailbox: Mailbox, now: str) -> None:
        self._tokens = tokens
        self._mailbox = mailbox
        self._now = now
        self.rows: dict[str, ReplyToken] = {}

    async def issue(self, fields: TokenFields, expires: str | None = None) -> str:
        """Returns the text of the token of these fields, which is good from then on if it has not been before."""
        issued = await self._tokens.make(fields)
        kept = kept_token(issued, self._mailbox, self._now, expires)
        self.rows.setdefault(kept.digest, kept)
        return issued.text


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
            # An order that was asked back in a game that is over is a rematch.
            return fields.seq == place.seq or (is_resign_again(fields) and not course.finished)
    return True


class LetterIds(NamedTuple):
    """The id of a letter, the time that its Date states, and the id of what it answers."""

    message_id: str
    at: str
    in_reply_to: str | None


def thread_id(game: str, own: OwnAddress) -> str | None:
    """Returns the one id that all letters of a game refer to; None for letters without a game."""
    return f"<hkoji.{game}@{own.host}>" if game else None


class LetterThread(NamedTuple):
    """The letters of a game to a mailbox, as one row has them: `kept` is the row, and `new` an empty one."""

    new: ReplyToken
    kept: ReplyToken | None

    @property
    def _letters(self) -> dict[str, Any]:  # Any: JSON
        letters: dict[str, Any] = json.loads((self.kept or self.new).answers)
        return letters

    def versions(self, notice: Notice) -> tuple[str, ...]:
        """Returns the versions in which the letter of a notice has been rendered before."""
        place = _place(notice)
        keys = self._letters.get("sent", {})
        return tuple(key[len(place) + 1 :] for key in keys if key == place or key.startswith(f"{place}."))

    def add(
        self, own: OwnAddress, notice: Notice, token: str, answers: str | None, version: str
    ) -> tuple[LetterIds, ReplyToken]:
        """Returns the ids of a version of the letter of a notice, always the same, and the row with that letter.

        `own` is the service's address. `answers` is the id of the mail that it answers. A letter that answers no mail
        stands behind our last letter.
        """
        place, letters, now = _place(notice), self._letters, self.new.made
        key = f"{place}.{version}" if version else place
        row = self.kept or self.new
        sent: dict[str, list[str]] = letters.get("sent", {})
        if key in sent:
            message_id, at, before = sent[key]
            return LetterIds(message_id, at, before or None), row
        before, number = answers or letters.get("last", ""), len(self.versions(notice)) + 1
        # The text of another version is another one, so its id is.
        event = notice.event.value if number == 1 else f"{notice.event.value}-{number}"
        message_id = own.message_id(event, notice.seq, token)
        sent = dict([*sent.items(), (key, [message_id, now, before])][-_REMEMBERED:])
        # JSON keeps the order of the letters, so the keys are not sorted.
        row = replace(row, answers=json.dumps({"sent": sent, "last": message_id}))
        return LetterIds(message_id, now, before or None), row


async def read_thread(store: Store, mailbox: Mailbox, game: str, now: str) -> LetterThread:
    """Returns the letters of a game to a mailbox. Raises `StorageError`."""
    digest = token_digest(f"{_LETTERS} {mailbox.channel} {game}")
    new = ReplyToken(digest, mailbox.channel, mailbox.name, game, "", Purpose.GAME.value, about=_LETTERS, made=now)
    return LetterThread(new, await store.reply(digest))


def _place(notice: Notice) -> str:
    return f"{notice.event.value}.{notice.seq}"


class LetterPlan(NamedTuple):
    """A letter that is to be sent now (`hkoji_server.service.mail.letter_facts`).

    `facts`, and a speaker of `language`, are for `write_letter`, and `headers` for `compose`. `envelope` is the address
    that bounces go to. The one recipient is `headers.to`. `rows` are written before it is sent.
    """

    facts: Facts
    language: str
    headers: LetterHeaders
    envelope: str
    rows: LetterRows
