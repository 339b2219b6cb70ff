"""The messages of games: as a service shows them, and as they are kept here. docs/spec/http.md, "Talk".

Of answers only the form is checked here, as in `answers`; whose word a message is, is checked in `talk`. A game's file
has the verified messages, the one that waits, and the last one that was sent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hkoji.client.answers import LONGEST_PAGE, read, read_text, understood
from hkoji.client.kept.files import intact, read_json, text_or_none, write_json
from hkoji.client.kept.game import Vault
from hkoji.client.requests import same_bytes
from hkoji.client.service import Service
from hkoji.errors import HkojiError
from hkoji.log.canonical import is_hex, is_name, is_time
from hkoji.log.talk import TalkStatement, hash_of, parse_talk
from hkoji.messages.text import tell

if TYPE_CHECKING:
    from hkoji.wire import MessageModel, TalkModel

_MOST_MESSAGES: Final = 5000
"""How many messages of a game a client reads. A service takes fewer."""
_AGAIN: Final = 10
"""For so many seconds after a message was sent the same words are the same message."""


class TalkMessage(NamedTuple):
    """A message as a service shows it or as it is kept; `text` and `sig`, in base64, are None if it was deleted.

    `at` is the time by the service's clock. Once the message is verified, `hash` is that of its text.
    """

    number: int
    name: str
    at: str
    text: str | None
    sig: str | None
    hash: str = ""


class TalkRequests:
    """Requests about the messages of games. All need a login, and raise the errors of the service's refusals."""

    def __init__(self, service: Service) -> None:
        self._requests: Final = service.requests

    def messages(self, game: str) -> tuple[TalkMessage, ...]:
        """Returns all messages of a game of the player, page by page, as the service shows them."""
        found: list[TalkMessage] = []
        last: int | None = 0
        while last is not None:
            path = f"/v1/games/{game}/talk?after={last}"
            answer = self._requests.as_player("GET", path, game=game, most=LONGEST_PAGE)
            with understood(answer):
                page: TalkModel = answer.json()
                for each in map(_read_message, page["messages"]):
                    if each.number <= last:
                        raise ValueError("messages are not in the order of their numbers")
                    last = each.number
                    found.append(each)
                if page["next"] is not None and (not page["messages"] or page["next"] != last):
                    raise ValueError("the next page is not the one that follows")
                last = page["next"]
                if len(found) > _MOST_MESSAGES:
                    raise HkojiError(tell("its list of messages does not end"))
        return tuple(found)

    def say(self, game: str, text: str, sig: str) -> TalkMessage:
        """Sends a signed message; sent again it is the same one. Returns it as the service keeps it."""
        value, path = {"text": text, "sig": sig}, f"/v1/games/{game}/talk"
        with same_bytes():
            return read(self._requests.as_player("POST", path, value, game=game), _read_message)

    def delete(self, game: str, number: int) -> None:
        """Asks the service to delete a message of the player."""
        self._requests.as_player("DELETE", f"/v1/games/{game}/talk/{number}", game=game)


def _read_message(value: MessageModel) -> TalkMessage:
    number, name, at = value["number"], read_text(value["name"]), read_text(value["at"])
    if type(number) is not int or number < 1 or not is_name(name) or not is_time(at):
        raise ValueError("a message has a number, a name and a time")
    # Another text in place of a signed one is no fault of the form: it is shown as not signed.
    text, sig = value["text"], value["sig"]
    if text is None and sig is None:
        return TalkMessage(number, name, at, None, None)
    if not isinstance(text, str) or not isinstance(sig, str):
        raise TypeError("a message has a text and a signature, or neither")
    return TalkMessage(number, name, at, text, sig)


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
    def kept(self) -> dict[int, TalkMessage]:
        """The verified messages, by their numbers."""
        with intact(self._path):
            found = [TalkMessage(**each) for each in self._read().get("kept", ())]
            for each in found:
                if type(each.number) is not int or not is_hex(each.hash, 64):
                    raise TypeError("it is not a message")
                if each.text is not None and hash_of(each.text) != each.hash:
                    raise ValueError("it is another message")
            return {each.number: each for each in found}

    def keep(self, words: Iterable[TalkMessage]) -> None:
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

    def confirm(self, statement: TalkStatement, words: Iterable[TalkMessage]) -> None:
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
