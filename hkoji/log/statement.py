"""Signed statements beside the log: a seat's private view, a registration, a login.

docs/spec/log.md, "Statements". Each has its own namespace, so none can be taken for another or for an entry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hkoji.errors import MalformedError, NotUnderstoodError
from hkoji.log.canonical import JsonValue, decode_object, encode, is_hex
from hkoji.log.entry import VERSION, is_name, is_time
from hkoji.log.keys import PublicKey, parse_public_key

MAX_STATEMENT_BYTES: Final = 65536


@dataclass(frozen=True, slots=True)
class Dealt:
    """The cards of one seat in one round, in order: its deal, then its draws."""

    cards: str
    round: int


@dataclass(frozen=True, slots=True)
class View:
    """What the service shows `seat` of its own cards at the entry `seq` with that `head`."""

    dealt: tuple[Dealt, ...]
    game: str
    head: str
    seat: int
    seq: int
    text: str

    @property
    def message(self) -> bytes:
        """The signed bytes, in namespace `hkoji.view.v1`."""
        return self.text.encode() + b"\n"


@dataclass(frozen=True, slots=True)
class Registration:
    """That the holder of `key` wants to be `name` at the service of `origin`."""

    at: str
    key: PublicKey
    name: str
    origin: str
    text: str

    @property
    def message(self) -> bytes:
        """The signed bytes, in namespace `hkoji.register.v1`."""
        return self.text.encode() + b"\n"


@dataclass(frozen=True, slots=True)
class Login:
    """A challenge of the service of `origin`, good until `expires`."""

    expires: str
    nonce: str
    origin: str
    text: str

    @property
    def message(self) -> bytes:
        """The signed bytes, in namespace `hkoji.login.v1`."""
        return self.text.encode() + b"\n"


def _fields(text: str, what: str, *keys: str) -> dict[str, JsonValue]:
    if len(text) > MAX_STATEMENT_BYTES:
        raise MalformedError(what, f"it is longer than {MAX_STATEMENT_BYTES} bytes")
    fields = decode_object(text, what, frozenset({*keys, "v"}))
    if type(fields["v"]) is not int:
        raise MalformedError(what, "v is not a number")
    if fields["v"] != VERSION:
        raise NotUnderstoodError(f"{what} version", str(fields["v"]))
    return fields


def _text(value: JsonValue, what: str, name: str) -> str:
    if not isinstance(value, str) or len(value) > 256:
        raise MalformedError(what, f"{name} is not text")
    return value


def _moment(value: JsonValue, what: str, name: str) -> str:
    if not isinstance(value, str) or not is_time(value):
        raise MalformedError(what, f"{name} is not a time")
    return value


def _hex(value: JsonValue, digits: int, what: str, name: str) -> str:
    if not isinstance(value, str) or not is_hex(value, digits):
        raise MalformedError(what, f"{name} is not {digits} hex digits")
    return value


def parse_view(text: str) -> View:
    """Reads a view's exact text. Raises `MalformedError` or `NotUnderstoodError`."""
    fields = _fields(text, "view", "dealt", "game", "head", "seat", "seq")
    dealt, seat, seq = fields["dealt"], fields["seat"], fields["seq"]
    if not isinstance(dealt, list):
        raise MalformedError("view", "dealt is not a list")
    if type(seat) is not int or seat not in (0, 1) or type(seq) is not int:
        raise MalformedError("view", "seat and seq are not numbers")
    rounds = tuple(_parse_dealt(item, number) for number, item in enumerate(dealt, 1))
    return View(
        rounds, _hex(fields["game"], 32, "view", "game"), _hex(fields["head"], 64, "view", "head"), seat, seq, text
    )


def _parse_dealt(value: JsonValue, number: int) -> Dealt:
    if not isinstance(value, dict) or value.keys() != {"cards", "round"}:
        raise MalformedError("view", "a round of dealt is not an object with cards and round")
    cards, round_number = value["cards"], value["round"]
    if not isinstance(cards, str) or not cards.isalnum() or type(round_number) is not int or round_number != number:
        raise MalformedError("view", "dealt is not the cards of each round in turn")
    return Dealt(cards, round_number)


def make_view(*, dealt: tuple[Dealt, ...], game: str, head: str, seat: int, seq: int) -> View:
    """A view from its fields. Raises what `parse_view` raises."""
    rounds: list[JsonValue] = [{"cards": each.cards, "round": each.round} for each in dealt]
    return parse_view(encode({"dealt": rounds, "game": game, "head": head, "seat": seat, "seq": seq, "v": VERSION}))


def parse_registration(text: str) -> Registration:
    """Reads a registration's exact text. Raises `MalformedError`, `WeakKeyError` or `NotUnderstoodError`."""
    fields = _fields(text, "registration", "at", "key", "name", "origin")
    name = _text(fields["name"], "registration", "name")
    if not is_name(name):
        raise MalformedError(
            "registration", "name is not 2 to 32 of a-z, 0-9, _ and -, beginning with a letter or digit"
        )
    return Registration(
        _moment(fields["at"], "registration", "at"),
        parse_public_key(_text(fields["key"], "registration", "key")),
        name,
        _text(fields["origin"], "registration", "origin"),
        text,
    )


def make_registration(*, at: str, key: PublicKey, name: str, origin: str) -> Registration:
    """A registration from its fields. Raises what `parse_registration` raises."""
    return parse_registration(encode({"at": at, "key": key.text, "name": name, "origin": origin, "v": VERSION}))


def parse_login(text: str) -> Login:
    """Reads a login challenge's exact text. Raises `MalformedError` or `NotUnderstoodError`."""
    fields = _fields(text, "login", "expires", "nonce", "origin")
    return Login(
        _moment(fields["expires"], "login", "expires"),
        _hex(fields["nonce"], 64, "login", "nonce"),
        _text(fields["origin"], "login", "origin"),
        text,
    )


def make_login(*, expires: str, nonce: str, origin: str) -> Login:
    """A login challenge from its fields; `nonce` is 64 fresh hex digits. Raises what `parse_login` raises."""
    return parse_login(encode({"expires": expires, "nonce": nonce, "origin": origin, "v": VERSION}))
