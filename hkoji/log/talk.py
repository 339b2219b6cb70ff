"""Signed messages of one player of a game to the other.

docs/spec/log.md, "Talk". A message stands beside the log, and nothing of a game depends on it. It names the last
message that its author has seen, so that its reader notices if one is missing or the order is another. This module does
not know whether the author plays in the game, and which key is theirs.
"""

from __future__ import annotations

import unicodedata
from hashlib import sha256
from typing import Final, NamedTuple

from hkoji.errors import MalformedError
from hkoji.log.canonical import (
    GAME,
    HASH,
    NAME,
    TEXT,
    TIME,
    VERSION,
    TextForm,
    decode_base64,
    encode,
    encode_base64,
    message,
)
from hkoji.messages.text import tell

MAX_WORDS_BYTES: Final = 1000
"""The most bytes of UTF-8 that one message may have."""
MAX_TALK_BYTES: Final = 2048
"""The most bytes that the signed text may have."""
NOTHING_SEEN: Final = "0" * 64
"""The `after` of an author who has seen no message of the game."""

_FORM: Final = TextForm(
    "message", MAX_TALK_BYTES, {"after": HASH, "at": TIME, "game": GAME, "name": NAME, "text": TEXT}
)


class TalkStatement(NamedTuple):
    """Player `name` says `words` in `game`, after the message with the hash `after`. `text` is the exact line.

    `at` is the time by the author's clock.
    """

    after: str
    at: str
    game: str
    name: str
    words: str
    text: str

    @property
    def message(self) -> bytes:
        """The signed bytes, in namespace `hkoji.talk.v1`."""
        return message(self.text)

    @property
    def hash(self) -> str:
        """The hash by which a later message names this one."""
        return hash_of(self.text)


def hash_of(text: str) -> str:
    """Returns the hash of a signed message: the SHA-256 of its text and one LF."""
    return sha256(message(text)).hexdigest()


def verify_words(words: str) -> bytes:
    """Returns the bytes of what a message says. Raises `MalformedError` if no message may say it.

    Control characters except LF are refused. Marks for the direction of writing are not: some languages need them. So
    whoever shows a message sees to it that they, and its lines, change nothing beside it.
    """
    try:
        data = words.encode()
    except UnicodeEncodeError:
        raise MalformedError(tell("message"), tell("it is not UTF-8")) from None
    if not 1 <= len(data) <= MAX_WORDS_BYTES:
        raise MalformedError(
            tell("message"), tell("it has {count} bytes, not 1 to {most}", count=len(data), most=MAX_WORDS_BYTES)
        )
    for each in words:
        if unicodedata.category(each) == "Cc" and each != "\n":
            raise MalformedError(tell("message"), tell("it has the control character U+{code:04X}", code=ord(each)))
    return data


def parse_talk(text: str) -> TalkStatement:
    """Reads the exact text. Raises `MalformedError` or `NotUnderstoodError`."""
    after, at, game, name, encoded = _FORM.read(text)
    try:
        words = decode_base64(encoded, tell("message")).decode()
    except UnicodeDecodeError:
        raise MalformedError(tell("message"), tell("it is not UTF-8")) from None
    verify_words(words)
    return TalkStatement(after, at, game, name, words, text)


def make_talk(*, after: str, at: str, game: str, name: str, words: str) -> TalkStatement:
    """A message from its fields. Raises what `parse_talk` raises."""
    said = encode_base64(verify_words(words))
    return parse_talk(encode({"after": after, "at": at, "game": game, "name": name, "text": said, "v": VERSION}))
