"""The kinds of entry that change who may sign for a player in a running game: rekey, revoke and delegate.

docs/spec/log.md, "Other keys". The audit checks who signed these entries and whether the keys are the expected ones.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple, TypeAlias

from hkoji.errors import IllegalError, MalformedError
from hkoji.game.course import Applied, Author, Course, EntryBody
from hkoji.game.held_keys import GATEWAY, Gateway, HeldKey, read_gateway, read_least_grade, require_strong_gateway
from hkoji.game.knowledge import Knowledge
from hkoji.game.setup import Replaced
from hkoji.log import sshsig
from hkoji.log.canonical import JsonValue, encode_base64, exactly, is_name, is_origin, is_time, read_signature
from hkoji.log.line import Entry, read_fields
from hkoji.log.mail_claim import MailGrade
from hkoji.log.public_key import PublicKey, read_key_form, require_strong
from hkoji.log.statement import Proof, make_revocation, proof_message
from hkoji.messages.text import tell


class Rekey(NamedTuple("Rekey", [("key", PublicKey), ("old", PublicKey), ("proof", bytes)]), EntryBody):
    """A player replaces the key `old` by `key`. `proof` is the new key's SSHSIG blob."""

    __slots__ = ()

    KIND: ClassVar = "rekey"
    AUTHOR: ClassVar = Author.ACTOR

    @classmethod
    def parse(cls, body: dict[str, JsonValue]) -> Rekey:
        """Reads a body."""
        fields = read_fields(body, cls.KIND, ("key", "old", "proof"))
        key, old = read_key_form(fields["key"], "key"), read_key_form(fields["old"], "old")
        proof = read_signature(fields["proof"], cls.KIND)
        return cls(require_strong(key), require_strong(old), proof)

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the body."""
        return {"key": self.key.text, "old": self.old.text, "proof": encode_base64(self.proof)}

    def apply(self, course: Course, entry: Entry, knowledge: Knowledge) -> Applied:  # noqa: ARG002
        """The new key counts from the next entry on."""
        _verify_not_repeated(course)
        return _changed(course, entry, self, vouched=False)


class Revoked(NamedTuple):
    """A revocation signed by the lost key: its time, its service's origin, and the SSHSIG blob."""

    at: str
    origin: str
    sig: bytes


class _RevokeFields(NamedTuple):
    key: PublicKey
    name: str
    old: PublicKey
    proof: bytes
    revocation: Revoked | None = None


class Revoke(_RevokeFields, EntryBody):
    """The service replaces the lost key `old` of the player `name` by `key`."""

    __slots__ = ()

    KIND: ClassVar = "revoke"
    AUTHOR: ClassVar = Author.SERVICE_ANY_TURN

    @classmethod
    def parse(cls, body: dict[str, JsonValue]) -> Revoke:
        """Reads a body."""
        fields = read_fields(body, cls.KIND, ("key", "name", "old", "proof", "revocation"))
        key, name, old = read_key_form(fields["key"], "key"), fields["name"], read_key_form(fields["old"], "old")
        if not isinstance(name, str) or not is_name(name):
            raise MalformedError(tell("revoke"), tell("name is not a player's name"))
        proof = read_signature(fields["proof"], cls.KIND)
        revocation = None if fields["revocation"] is None else _parse_revoked(fields["revocation"])
        return cls(require_strong(key), name, require_strong(old), proof, revocation)

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the body."""
        said = self.revocation
        return {
            "key": self.key.text,
            "name": self.name,
            "old": self.old.text,
            "proof": encode_base64(self.proof),
            "revocation": {"at": said.at, "origin": said.origin, "sig": encode_base64(said.sig)} if said else None,
        }

    def apply(self, course: Course, entry: Entry, knowledge: Knowledge) -> Applied:  # noqa: ARG002
        """The new key counts from the next entry on."""
        return _changed(course, entry, self, vouched=True)


class Delegate(NamedTuple("Delegate", [("gateway", Gateway | None), ("grade", MailGrade | None)]), EntryBody):
    """A player lets the service sign for them too, with a key that it holds, by mails of at least `grade`.

    Both are None if the player ends this.
    """

    __slots__ = ()

    KIND: ClassVar = "delegate"
    AUTHOR: ClassVar = Author.ACTOR

    @classmethod
    def parse(cls, body: dict[str, JsonValue]) -> Delegate:
        """Reads a body."""
        fields = read_fields(body, cls.KIND, (GATEWAY, "grade"))
        given, grade = fields[GATEWAY], fields["grade"]
        if given is None:
            if grade is not None:
                raise MalformedError(tell("delegate"), tell("gateway and grade are not both null"))
            return cls(None, None)
        gateway, least = read_gateway(given), read_least_grade(grade)
        return cls(require_strong_gateway(gateway), least)

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the body."""
        return {
            GATEWAY: self.gateway.to_json() if self.gateway else None,
            "grade": self.grade.value if self.grade else None,
        }

    @property
    def certificate(self) -> Gateway | None:
        """The certificate of the key that may sign from now on."""
        return self.gateway

    def apply(self, course: Course, entry: Entry, knowledge: Knowledge) -> Applied:  # noqa: ARG002
        """The held key may sign from the next entry on, or no more."""
        if course.sealed is not None:
            raise IllegalError(tell("no key of a service can play in a sealed game, and no mail"))
        _verify_not_repeated(course)
        seat = course.actor
        assert seat is not None
        if self.gateway is None:
            setup = course.setup.end_delegation(seat, entry.seq)
        else:
            setup = course.setup.delegate(HeldKey(seat, self.gateway, entry.seq, self.grade))
        return course._replace(setup=setup), ()


def _verify_not_repeated(course: Course) -> None:
    """Checks that a `rekey` or `delegate` does not directly follow one. Raises `IllegalError`."""
    if course.rekeyed:
        raise IllegalError(tell("one new key or delegation cannot follow another without a move in between"))


KeyChange: TypeAlias = Rekey | Revoke


def changed_name(entry: Entry, body: KeyChange) -> str:
    """Returns the name of the player whose key changes."""
    return body.name if isinstance(body, Revoke) else entry.by


def proofs(entry: Entry, body: KeyChange) -> tuple[Proof, ...]:
    """Returns the signatures inside an entry."""
    name = changed_name(entry, body)
    said = proof_message(game=entry.game, key=body.key, name=name, old=body.old, prev=entry.prev, seq=entry.seq)
    proof = Proof(body.key, sshsig.REKEY, body.proof, said)
    if not isinstance(body, Revoke) or body.revocation is None:
        return (proof,)
    at, origin, sig = body.revocation
    revocation = make_revocation(at=at, key=body.old, name=name, origin=origin)
    return proof, Proof(body.old, sshsig.REVOKE, sig, revocation.message)


def _changed(course: Course, entry: Entry, body: KeyChange, *, vouched: bool) -> Applied:
    seat = course.setup.seat_of(changed_name(entry, body))
    if seat is None or seat != course.actor:
        raise IllegalError(tell("a key changes only while its seat owes the next entry"))
    replaced = Replaced(entry.seq, seat, body.old, vouched)
    return course._replace(setup=course.setup.change_key(replaced, body.key)), ()


def _parse_revoked(value: JsonValue) -> Revoked:
    fields = exactly(value, "revocation", ("at", "origin", "sig"))
    at, origin = fields["at"], fields["origin"]
    if not isinstance(at, str) or not is_time(at):
        raise MalformedError(tell("revocation"), tell("at is not a time"))
    if not isinstance(origin, str) or not is_origin(origin):
        raise MalformedError(tell("revocation"), tell("origin is not 1 to 256 characters without spaces"))
    return Revoked(at, origin, read_signature(fields["sig"], "revocation"))
