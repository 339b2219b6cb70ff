"""Signed statements beside the log: a seat's private view, a registration, a login.

docs/spec/log.md, "Statements". Each has its own namespace, so none can be taken for another or for an entry. Whether
what they say is true (a time, a nonce, an origin, a hand) is for the reader to judge.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from hkoji.errors import MalformedError
from hkoji.log.canonical import VERSION, JsonValue, decode_signed, encode, fields, is_hex, message
from hkoji.log.entry import MAX_ENTRY_BYTES, is_name, is_time
from hkoji.log.publickey import PublicKey, parse_public_key

MAX_STATEMENT_BYTES: Final = MAX_ENTRY_BYTES
"""No statement is longer. The longest is a view of a long game, with the cards of each of its rounds."""

_VIEW: Final = frozenset({"dealt", "game", "head", "seat", "seq", "v"})
_REGISTRATION: Final = frozenset({"at", "key", "name", "origin", "v"})
_LOGIN: Final = frozenset({"expires", "nonce", "origin", "v"})
_CARDS = re.compile(r"[A-Z0-9]+")
_ORIGIN = re.compile(r"[!#-\[\]-~]{1,256}")


@dataclass(frozen=True, slots=True)
class Dealt:
    """The cards of one seat in one round, in order: its deal, then its draws. Rounds count from 1."""

    cards: str
    round: int


@dataclass(frozen=True, slots=True)
class View:
    """What the service shows `seat` (0 or 1) of its own cards at the entry `seq` with that `head`."""

    dealt: tuple[Dealt, ...] = field(compare=False)
    game: str = field(compare=False)
    head: str = field(compare=False)
    seat: int = field(compare=False)
    seq: int = field(compare=False)
    text: str

    @property
    def message(self) -> bytes:
        """The signed bytes, in namespace `hkoji.view.v1`."""
        return message(self.text)


@dataclass(frozen=True, slots=True)
class Registration:
    """That the holder of `key` wants to be `name` at the service of `origin`."""

    at: str = field(compare=False)
    key: PublicKey = field(compare=False)
    name: str = field(compare=False)
    origin: str = field(compare=False)
    text: str

    @property
    def message(self) -> bytes:
        """The signed bytes, in namespace `hkoji.register.v1`."""
        return message(self.text)


@dataclass(frozen=True, slots=True)
class Login:
    """A challenge of the service of `origin`, good until `expires`; `nonce` is 64 hex digits."""

    expires: str = field(compare=False)
    nonce: str = field(compare=False)
    origin: str = field(compare=False)
    text: str

    @property
    def message(self) -> bytes:
        """The signed bytes, in namespace `hkoji.login.v1`."""
        return message(self.text)


def parse_view(text: str) -> View:
    """Reads a view's exact text. Raises `MalformedError` or `NotUnderstoodError`."""
    value = _decode(text, "view", _VIEW)
    dealt, seat, seq = value["dealt"], value["seat"], value["seq"]
    if not isinstance(dealt, list):
        raise MalformedError("view", "dealt is not a list")
    if type(seat) is not int or seat > 1:
        raise MalformedError("view", "seat is not 0 or 1")
    if type(seq) is not int:
        raise MalformedError("view", "seq is not a number")
    rounds = tuple(_read_dealt(item, number) for number, item in enumerate(dealt, 1))
    game = _text(value, "game", "view", lambda found: is_hex(found, 32), "32 lower case hex digits")
    head = _text(value, "head", "view", lambda found: is_hex(found, 64), "64 lower case hex digits")
    return View(rounds, game, head, seat, seq, text)


def make_view(*, dealt: tuple[Dealt, ...], game: str, head: str, seat: int, seq: int) -> View:
    """A view from its fields. Raises what `parse_view` raises."""
    rounds: list[JsonValue] = [{"cards": each.cards, "round": each.round} for each in dealt]
    return parse_view(encode({"dealt": rounds, "game": game, "head": head, "seat": seat, "seq": seq, "v": VERSION}))


def parse_registration(text: str) -> Registration:
    """Reads a registration's exact text. Raises `MalformedError`, `WeakKeyError` or `NotUnderstoodError`."""
    value = _decode(text, "registration", _REGISTRATION)
    at = _text(value, "at", "registration", is_time, "a time like 2026-11-20T12:00:00Z")
    key = parse_public_key(_text(value, "key", "registration", _is_any, "text"))
    name = _text(
        value, "name", "registration", is_name, "a name: 2 to 32 of a-z, 0-9, _ and -, first a letter or digit"
    )
    return Registration(at, key, name, _origin(value, "registration"), text)


def make_registration(*, at: str, key: PublicKey, name: str, origin: str) -> Registration:
    """A registration from its fields. Raises what `parse_registration` raises."""
    return parse_registration(encode({"at": at, "key": key.text, "name": name, "origin": origin, "v": VERSION}))


def parse_login(text: str) -> Login:
    """Reads a login challenge's exact text. Raises `MalformedError` or `NotUnderstoodError`."""
    value = _decode(text, "login", _LOGIN)
    expires = _text(value, "expires", "login", is_time, "a time like 2026-11-20T12:00:00Z")
    nonce = _text(value, "nonce", "login", lambda found: is_hex(found, 64), "64 lower case hex digits")
    return Login(expires, nonce, _origin(value, "login"), text)


def make_login(*, expires: str, nonce: str, origin: str) -> Login:
    """A login challenge from its fields; `nonce` is 64 fresh hex digits. Raises what `parse_login` raises."""
    return parse_login(encode({"expires": expires, "nonce": nonce, "origin": origin, "v": VERSION}))


def _decode(text: str, what: str, keys: frozenset[str]) -> dict[str, JsonValue]:
    if len(text) > MAX_STATEMENT_BYTES:
        raise MalformedError(what, f"it is longer than {MAX_STATEMENT_BYTES} bytes")
    return decode_signed(text, what, keys)


def _read_dealt(value: JsonValue, number: int) -> Dealt:
    dealt = fields(value, "view", "cards", "round")
    cards = _text(dealt, "cards", "view", _is_cards, "cards")
    if type(dealt["round"]) is not int or dealt["round"] != number:
        raise MalformedError("view", f"round {number} is not in its place")
    return Dealt(cards, number)


def _origin(value: dict[str, JsonValue], what: str) -> str:
    return _text(value, "origin", what, _is_origin, "1 to 256 characters without spaces")


def _text(value: dict[str, JsonValue], name: str, what: str, accepts: Callable[[str], bool], wanted: str) -> str:
    found = value[name]
    if not isinstance(found, str) or not accepts(found):
        raise MalformedError(what, f"{name} is not {wanted}")
    return found


def _is_any(_: str) -> bool:
    return True


def _is_cards(text: str) -> bool:
    return _CARDS.fullmatch(text) is not None


def _is_origin(text: str) -> bool:
    return _ORIGIN.fullmatch(text) is not None
