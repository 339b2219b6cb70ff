"""The ids by which mail programs put letters in order, and by which a letter that is sent twice is shown once.

An id holds the token of the letter. If a letter is rendered again after a crash, the game may have moved on, and with
it the token: so the first rendering is remembered. All of it is kept beside the tokens, under digests that no token
has, so that a mail can never name it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final, NamedTuple

from hkoji.mail.addresses import OwnAddress
from hkoji.mail.tokens import Purpose, token_digest
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_values import Mailbox, ReplyToken

_LETTERS: Final = "letters"
"""What marks the row of a game's letters among the rows of tokens."""
_REMEMBERED: Final = 20
"""How many letters of a game to a mailbox are remembered."""


class LetterIds(NamedTuple):
    """The id of a letter, the time that its Date states, and the id of what it answers."""

    message_id: str
    at: str
    in_reply_to: str | None


def thread_id(game: str, own: OwnAddress) -> str | None:
    """Returns the one id that all letters of a game refer to; None for letters without a game."""
    return f"<hkoji.{game}@{own.host}>" if game else None


class LetterThreads:
    """Finds the ids of letters. `own` is the service's address."""

    def __init__(self, store: Store, own: OwnAddress) -> None:
        self._store = store
        self._own = own

    async def versions(self, mailbox: Mailbox, game: str, event: str, seq: int) -> tuple[str, ...]:
        """Returns the versions in which the letter of an outbox row has been rendered before."""
        row = await self._store.reply(_digest(mailbox, game))
        return () if row is None else _versions(json.loads(row.answers).get("sent", {}), f"{event}.{seq}")

    async def ids(
        self,
        mailbox: Mailbox,
        game: str,
        event: str,
        seq: int,
        token: str,
        now: str,
        *,
        answers: str | None,
        version: str = "",
    ) -> LetterIds:
        """Returns the ids of a version of the letter of an outbox row, always the same.

        `answers` is the id of the mail that it answers. A letter that answers no mail stands behind our last letter.
        """
        place = f"{event}.{seq}"
        key = f"{place}.{version}" if version else place
        await self._store.add_reply(_kept(mailbox, game, now, {}))
        while True:
            row = await self._store.reply(_digest(mailbox, game))
            if row is None:  # the mailbox has been erased
                return LetterIds(self._own.message_id(event, seq, token), now, answers or None)
            kept: dict[str, Any] = json.loads(row.answers)  # Any: JSON
            sent: dict[str, list[str]] = kept.get("sent", {})
            if key in sent:
                message_id, at, before = sent[key]
                return LetterIds(message_id, at, before or None)
            before, number = answers or kept.get("last", ""), len(_versions(sent, place)) + 1
            # The text of another version is another one, so its id is.
            message_id = self._own.message_id(event if number == 1 else f"{event}-{number}", seq, token)
            sent = dict([*sent.items(), (key, [message_id, now, before])][-_REMEMBERED:])
            new = _kept(mailbox, game, now, {"sent": sent, "last": message_id})
            # Another process may render the same letter, or another one of this game. The first one counts.
            if await self._store.change_reply(replace(row, answers=new.answers), row.answers):
                return LetterIds(message_id, now, before or None)


def _versions(sent: Iterable[str], place: str) -> tuple[str, ...]:
    return tuple(key[len(place) + 1 :] for key in sent if key == place or key.startswith(f"{place}."))


def _digest(mailbox: Mailbox, game: str) -> str:
    return token_digest(f"{_LETTERS} {mailbox.channel} {game}")


def _kept(mailbox: Mailbox, game: str, now: str, value: dict[str, Any]) -> ReplyToken:  # Any: JSON
    made = ReplyToken(
        digest=_digest(mailbox, game),
        channel=mailbox.channel,
        name=mailbox.name,
        game=game,
        seq="",
        purpose=Purpose.GAME.value,
        about=_LETTERS,
        made=now,
    )
    # JSON keeps the order of the letters, so the keys are not sorted.
    return replace(made, answers=json.dumps(value))
