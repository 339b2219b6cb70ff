"""Signed statements beside the log: a seat's private view, a registration, a login, and statements about keys.

docs/spec/log.md, "Statements" and "Other keys". Each has its own namespace, so none can be taken for another or for an
entry. The reader decides whether their content (a time, a nonce, an origin, a hand) is true, whether the signer may
make the statement, and what follows from it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from hkoji.errors import MalformedError
from hkoji.log.canonical import (
    GAME,
    HASH,
    LIST,
    MAX_DEPTH,
    NAME,
    NUMBER,
    ORIGIN,
    SEAT,
    TEXT,
    TIME,
    VERSION,
    JsonValue,
    TextForm,
    decode,
    decode_base64,
    encode,
    fields,
    message,
)
from hkoji.log.line import MAX_ENTRY_BYTES, SIGNED, SignedEntry, format_signed, unquote
from hkoji.log.public_key import PublicKey, parse_public_key
from hkoji.messages.text import tell

MAX_STATEMENT_BYTES: Final = MAX_ENTRY_BYTES
"""The limit. The longest statement is a view of a long game, with the cards of each of its rounds."""

_VIEW: Final = TextForm(
    "view", MAX_STATEMENT_BYTES, {"dealt": LIST, "game": GAME, "head": HASH, "seat": SEAT, "seq": NUMBER}
)
_REGISTRATION: Final = TextForm(
    "registration", MAX_STATEMENT_BYTES, {"at": TIME, "key": TEXT, "name": NAME, "origin": ORIGIN}
)
_LOGIN: Final = TextForm("login", MAX_STATEMENT_BYTES, {"expires": TIME, "nonce": HASH, "origin": ORIGIN})
_ORIGIN: Final = TextForm("origin", MAX_STATEMENT_BYTES, {"nonce": HASH, "origin": ORIGIN})
_VIEW_LINE: Final = re.compile(rf'\{{"view":{SIGNED}\}}')
_CARDS = re.compile(r"[A-Z0-9]+")


@dataclass(frozen=True, slots=True)
class Dealt:
    """The cards of one seat in one round, in order: its deal, then its draws. Rounds count from 1."""

    cards: str
    round: int


@dataclass(frozen=True, slots=True)
class View:
    """The cards that the service shows `seat` (0 or 1) of its own hand, at entry `seq` with that `head`."""

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


class SignedView(NamedTuple):
    """A view with the SSHSIG blob that came with it."""

    view: View
    sig: bytes


@dataclass(frozen=True, slots=True)
class Registration:
    """The statement that the holder of `key` wants the name `name` at the service of `origin`."""

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
    """A challenge of the service of `origin`, valid until `expires`; `nonce` is 64 hex digits."""

    expires: str = field(compare=False)
    nonce: str = field(compare=False)
    origin: str = field(compare=False)
    text: str

    @property
    def message(self) -> bytes:
        """The signed bytes, in namespace `hkoji.login.v1`."""
        return message(self.text)


class OriginStatement(NamedTuple):
    """The service's statement that its origin is `origin`, for whoever has drawn `nonce`, 64 hex digits."""

    nonce: str
    origin: str
    text: str

    @property
    def message(self) -> bytes:
        """The signed bytes, in namespace `hkoji.origin.v1`."""
        return message(self.text)


@lru_cache(maxsize=16)  # a client keeps its latest view in two files, and reads both
def parse_view(text: str) -> View:
    """Reads a view's exact text. Raises `MalformedError` or `NotUnderstoodError`."""
    encoded, game, head, seat, seq = _VIEW.read(text)
    dealt = decode(encoded, "dealt of a view", MAX_DEPTH - 1)
    assert isinstance(dealt, list)
    rounds = tuple(_read_dealt(item, number) for number, item in enumerate(dealt, 1))
    return View(rounds, game, head, _VIEW.number(seat), _VIEW.number(seq), text)


def make_view(*, dealt: tuple[Dealt, ...], game: str, head: str, seat: int, seq: int) -> View:
    """A view from its fields. Raises what `parse_view` raises."""
    rounds: list[JsonValue] = [{"cards": each.cards, "round": each.round} for each in dealt]
    return parse_view(encode({"dealt": rounds, "game": game, "head": head, "seat": seat, "seq": seq, "v": VERSION}))


def read_view(signed: SignedEntry) -> SignedView:
    """Parses a view as the service sent it. Raises `MalformedError` or `NotUnderstoodError`."""
    return SignedView(parse_view(signed.text), signed.sig)


def parse_view_line(text: str) -> SignedView:
    """Reads a view's line. Raises `MalformedError` or `NotUnderstoodError`."""
    match = _VIEW_LINE.fullmatch(text)
    if match is None:
        raise MalformedError(tell("line"), tell("it is not a signed view in canonical form"))
    sig, wrapped = match.groups()
    return SignedView(parse_view(unquote(wrapped)), decode_base64(sig, "signature"))


def format_view(shown: SignedView) -> str:
    """A view's line, without the newline."""
    return f'{{"view":{format_signed(shown.view.text, shown.sig)}}}'


def parse_registration(text: str) -> Registration:
    """Reads a registration's exact text. Raises `MalformedError`, `WeakKeyError` or `NotUnderstoodError`."""
    at, key, name, origin = _REGISTRATION.read(text)
    return Registration(at, parse_public_key(key), name, origin, text)


def make_registration(*, at: str, key: PublicKey, name: str, origin: str) -> Registration:
    """A registration from its fields. Raises what `parse_registration` raises."""
    return parse_registration(encode({"at": at, "key": key.text, "name": name, "origin": origin, "v": VERSION}))


def parse_login(text: str) -> Login:
    """Reads a login challenge's exact text. Raises `MalformedError` or `NotUnderstoodError`."""
    expires, nonce, origin = _LOGIN.read(text)
    return Login(expires, nonce, origin, text)


def make_login(*, expires: str, nonce: str, origin: str) -> Login:
    """A login challenge from its fields; `nonce` is 64 fresh hex digits. Raises what `parse_login` raises."""
    return parse_login(encode({"expires": expires, "nonce": nonce, "origin": origin, "v": VERSION}))


def parse_origin(text: str) -> OriginStatement:
    """Reads a statement's exact text. Raises `MalformedError` or `NotUnderstoodError`."""
    nonce, origin = _ORIGIN.read(text)
    return OriginStatement(nonce, origin, text)


def make_origin(*, nonce: str, origin: str) -> OriginStatement:
    """A statement from its fields. Raises what `parse_origin` raises."""
    return parse_origin(encode({"nonce": nonce, "origin": origin, "v": VERSION}))


def _read_dealt(value: JsonValue, number: int) -> Dealt:
    dealt = fields(value, "view", "cards", "round")
    cards = dealt["cards"]
    if not isinstance(cards, str) or not _CARDS.fullmatch(cards):
        raise MalformedError(
            tell("view"), tell("the cards of round {number} are not capital letters and digits", number=number)
        )
    if type(dealt["round"]) is not int or dealt["round"] != number:
        raise MalformedError(tell("view"), tell("round {number} is not in its place", number=number))
    return Dealt(cards, number)


# --- about keys -------------------------------------------------------------------------------------------------------

MAX_KEY_STATEMENT_BYTES: Final = 1024

_NEW_KEY: Final = TextForm(
    "new key", MAX_KEY_STATEMENT_BYTES, {"at": TIME, "key": TEXT, "name": NAME, "old": TEXT, "origin": ORIGIN}
)
_KEY_FIELDS: Final = {"at": TIME, "key": TEXT, "name": NAME, "origin": ORIGIN}
_REVOCATION: Final = TextForm("revocation", MAX_KEY_STATEMENT_BYTES, _KEY_FIELDS)
_RECOVERY: Final = TextForm("recovery", MAX_KEY_STATEMENT_BYTES, _KEY_FIELDS)


class Proof(NamedTuple):
    """A signature inside the body of an entry: its key, its namespace and the message that it signs."""

    key: PublicKey
    namespace: str
    sig: bytes
    message: bytes


class NewKey(NamedTuple):
    """The statement that `key` follows `old` as the key of `name` at the service of `origin`, signed by both keys."""

    at: str
    key: PublicKey
    name: str
    old: PublicKey
    origin: str
    text: str

    @property
    def message(self) -> bytes:
        """The signed bytes, in namespace `hkoji.newkey.v1`."""
        return message(self.text)


class Revocation(NamedTuple):
    """The statement that `key` no longer counts for `name` at the service of `origin`, signed by that key."""

    at: str
    key: PublicKey
    name: str
    origin: str
    text: str

    @property
    def message(self) -> bytes:
        """The signed bytes, in namespace `hkoji.revoke.v1`."""
        return message(self.text)


class Recovery(NamedTuple):
    """The statement that `key` replaces a revoked key of `name` at the service of `origin`, signed by `key`."""

    at: str
    key: PublicKey
    name: str
    origin: str
    text: str

    @property
    def message(self) -> bytes:
        """The signed bytes, in namespace `hkoji.recover.v1`."""
        return message(self.text)


def proof_message(*, game: str, key: PublicKey, name: str, old: PublicKey, prev: str, seq: int) -> bytes:
    """The bytes that a new key signs, in namespace `hkoji.rekey.v1`, to replace `old` in a game at entry `seq`."""
    value: dict[str, JsonValue] = {
        "game": game,
        "key": key.text,
        "name": name,
        "old": old.text,
        "prev": prev,
        "seq": seq,
        "v": VERSION,
    }
    return message(encode(value))


def make_new_key(*, at: str, key: PublicKey, name: str, old: PublicKey, origin: str) -> NewKey:
    """A statement from its fields. Raises what `parse_new_key` raises."""
    value: dict[str, JsonValue] = {
        "at": at,
        "key": key.text,
        "name": name,
        "old": old.text,
        "origin": origin,
        "v": VERSION,
    }
    return parse_new_key(encode(value))


def parse_new_key(text: str) -> NewKey:
    """Reads the exact text. Raises `MalformedError`, `WeakKeyError` or `NotUnderstoodError`."""
    at, key, name, old, origin = _NEW_KEY.read(text)
    return NewKey(at, parse_public_key(key), name, parse_public_key(old), origin, text)


def make_revocation(*, at: str, key: PublicKey, name: str, origin: str) -> Revocation:
    """A revocation from its fields. Raises what `parse_revocation` raises."""
    return parse_revocation(encode({"at": at, "key": key.text, "name": name, "origin": origin, "v": VERSION}))


def parse_revocation(text: str) -> Revocation:
    """Reads the exact text. Raises `MalformedError`, `WeakKeyError` or `NotUnderstoodError`."""
    at, key, name, origin = _REVOCATION.read(text)
    return Revocation(at, parse_public_key(key), name, origin, text)


def make_recovery(*, at: str, key: PublicKey, name: str, origin: str) -> Recovery:
    """A recovery from its fields. Raises what `parse_recovery` raises."""
    return parse_recovery(encode({"at": at, "key": key.text, "name": name, "origin": origin, "v": VERSION}))


def parse_recovery(text: str) -> Recovery:
    """Reads the exact text. Raises `MalformedError`, `WeakKeyError` or `NotUnderstoodError`."""
    at, key, name, origin = _RECOVERY.read(text)
    return Recovery(at, parse_public_key(key), name, origin, text)
