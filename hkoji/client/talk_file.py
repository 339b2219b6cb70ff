"""The messages that are kept of one game: the verified ones, the one that waits, and the last one that was sent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from hkoji.client.files import intact, read_json, text_or_none, write_json
from hkoji.client.vault import Vault
from hkoji.log.canonical import is_hex
from hkoji.log.talk import TalkStatement, hash_of, parse_talk

_AGAIN: Final = 10
"""For so many seconds after a message was sent the same words are the same message."""


class KeptWord(NamedTuple):
    """A verified message as it is kept here; `text` and `sig` are None once its author has deleted it."""

    number: int
    name: str
    at: str
    hash: str
    text: str | None
    sig: str | None


class LastSent(NamedTuple):
    """The last message that the service has confirmed, and when the player was told so, in seconds of the epoch."""

    statement: TalkStatement
    told: int | None

    def is_repeated(self, words: str, now: float) -> bool:
        """Returns whether a command with `words` is the one that sent it, given again because it broke off."""
        return self.statement.words == words and (self.told is None or 0 <= now - self.told < _AGAIN)


class TalkFile:
    """The file of one game's messages: those that were verified, the one that was not confirmed yet, and `muted`."""

    def __init__(self, vault: Vault) -> None:
        self._path: Final = vault.folder / "talk.json"

    def _read(self) -> dict[str, Any]:  # Any: JSON
        return read_json(self._path)

    def _update(self, **changes: Any) -> None:  # Any: JSON
        before = self._read()
        after = {**before, **changes}
        if after != before:
            write_json(self._path, after)

    @property
    def kept(self) -> dict[int, KeptWord]:
        """The verified messages, by their numbers."""
        with intact(self._path):
            found = [KeptWord(**each) for each in self._read().get("kept", ())]
            for each in found:
                if type(each.number) is not int or not is_hex(each.hash, 64):
                    raise TypeError("it is not a message")
                if each.text is not None and hash_of(each.text) != each.hash:
                    raise ValueError("it is another message")
            return {each.number: each for each in found}

    def keep(self, words: Iterable[KeptWord]) -> None:
        """Keeps messages in place of those that are kept."""
        self._update(kept=[each._asdict() for each in sorted(words)])

    @property
    def pending(self) -> tuple[TalkStatement, str] | None:
        """The message that was not confirmed yet, with its signature in base64."""
        with intact(self._path):
            found = self._read().get("pending")
            if found is None:
                return None
            return parse_talk(found["text"]), text_or_none(found["sig"]) or ""

    @property
    def last(self) -> LastSent | None:
        """The last message that the service has confirmed; None once the player has read the messages after that."""
        with intact(self._path):
            found = self._read().get("last")
            if found is None:
                return None
            told = found["told"]
            return LastSent(parse_talk(found["text"]), None if told is None else int(told))

    def confirm(self, statement: TalkStatement, words: Iterable[KeptWord]) -> None:
        """Keeps that the service has confirmed the message that was pending, among all messages that are kept."""
        kept = [each._asdict() for each in sorted(words)]
        self._update(kept=kept, pending=None, last={"text": statement.text, "told": None})

    def tell(self, at: int | None) -> None:
        """Notes that the player has been told of the last message, at a time; None: by reading them."""
        last = self._read().get("last")
        self._update(last=None if at is None or last is None else {**last, "told": at})

    def set_pending(self, statement: TalkStatement | None, sig: str = "") -> None:
        """Keeps a message before it is sent; None once the service has answered."""
        self._update(pending=None if statement is None else {"text": statement.text, "sig": sig})

    @property
    def muted(self) -> bool:
        """Whether the reader does not want to see the opponent's messages."""
        return self._read().get("muted") is True

    def mute(self, *, muted: bool) -> None:
        """Sets `muted`."""
        self._update(muted=muted)
