"""The kinds of entry before the first card: offer, open, join, seed, chance.

docs/spec/log.md, "Kinds". Reading is strict: a body has exactly the keys of its kind. A kind, dealer, requirement or
key of a later version raises `NotUnderstoodError`; such an entry is neither valid nor forged. Readers ignore only one
object, `ext`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from hkoji.errors import CommitmentError, ForbiddenError, IllegalError, MalformedError, NotUnderstoodError
from hkoji.game.agreement import UNTIMED, Agreement, read_agreement
from hkoji.game.clock import Effect, GameClock
from hkoji.game.commitments import verify_entropy
from hkoji.game.course import Applied, Author, Course, EntryBody, Stage, parts_of
from hkoji.game.dealer import Dealer, Publishes, Terms, parse_terms
from hkoji.game.held_keys import GATEWAY, Gateway, HeldKey, mail_json, read_certified, strong_gateway
from hkoji.game.knowledge import Knowledge
from hkoji.game.parts import NO_PARTS, Parts
from hkoji.game.setup import Invite, LinkInvite, Setup, verify_other_than_link
from hkoji.log import sshsig
from hkoji.log.canonical import JsonValue, encode_base64, exactly, is_name, read_hex, read_signature
from hkoji.log.line import SERVER_NAME, Entry, read_fields, verify_start
from hkoji.log.link_key import LinkStatement, make_link_statement
from hkoji.log.mail_claim import MAIL, MailClaim, read_mail
from hkoji.log.public_key import PublicKey, read_key, read_key_form, require_strong
from hkoji.messages.text import tell
from hkoji.rules.events import Chance
from hkoji.rules.protocol import Ruleset
from hkoji.rules.registry import parse_ruleset

if TYPE_CHECKING:
    from hkoji.log.private_key import Signer


class _OfferFields(NamedTuple):
    terms: Terms
    ruleset: Ruleset
    server_key: PublicKey
    agreement: Agreement = UNTIMED


class Offer(_OfferFields, EntryBody):
    """The service offers a game: the dealer's terms, the ruleset, the service's key, and what the players agree on."""

    __slots__ = ()

    KIND: ClassVar = "offer"
    AUTHOR: ClassVar = Author.SERVICE

    @classmethod
    def parse(cls, body: dict[str, JsonValue]) -> Offer:
        """Reads a body."""
        fields = read_fields(body, cls.KIND, ("agreement", "dealer", "requires", "ruleset", "server_key"))
        dealer = parse_terms(fields["dealer"])
        requires = fields["requires"]
        if not isinstance(requires, list) or not all(isinstance(name, str) for name in requires):
            raise MalformedError(tell("requires"), tell("it is not a list of names"))
        if requires:
            raise NotUnderstoodError(tell("requirement"), str(requires[0]))
        agreement = read_agreement(fields["agreement"])
        ruleset, server_key = parse_ruleset(fields["ruleset"]), read_key(fields["server_key"], "server_key")
        return cls(dealer, ruleset, server_key, agreement)

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the body."""
        return {
            "agreement": self.agreement.to_json(),
            "dealer": self.terms.to_json(),
            "requires": [],
            "ruleset": self.ruleset.to_json(),
            "server_key": self.server_key.text,
        }


def begin(entry: Entry, body: EntryBody) -> Course:
    """Returns the course after a game's first entry.

    Raises `MalformedError` if the entry is not the service's offer at seq 0.
    """
    verify_start(entry)
    if not isinstance(body, Offer) or entry.by != SERVER_NAME:
        raise MalformedError(tell("log"), tell("its first entry is not the service's offer"))
    setup = Setup(entry.game, body.ruleset, body.terms, body.server_key, body.agreement)
    course = Course(setup, 0, entry.head, Stage.OPEN, body.ruleset.initial())
    if body.terms.publishes is not Publishes.NEVER:
        return course
    from hkoji.game.sealing import Sealed

    return course._replace(sealed=Sealed())


class _OpenFields(NamedTuple):
    entropy_commit: str
    key: PublicKey
    invite: Invite | LinkInvite | None = None
    gateway: Gateway | None = None
    mail: MailClaim | None = None
    parts: Parts = NO_PARTS


class Open(_OpenFields, EntryBody):
    """The host takes a seat and opens the game to a guest."""

    __slots__ = ()

    KIND: ClassVar = "open"
    AUTHOR: ClassVar = Author.NEWCOMER

    @classmethod
    def parse(cls, body: dict[str, JsonValue]) -> Open:
        """Reads a body."""
        fields = read_fields(body, cls.KIND, ("entropy_commit", "invite", "key"), (GATEWAY, "lock", MAIL))
        # All forms are checked before a weak key is refused, which an audit reports in a later step.
        commit, key = read_hex(fields["entropy_commit"], "entropy_commit"), read_key_form(fields["key"], "key")
        gateway, mail = read_certified(fields)
        given, parts = fields["invite"], parts_of(fields)
        if given is None:
            return cls(commit, require_strong(key), None, strong_gateway(gateway), mail, parts)
        if isinstance(given, dict) and "link" in given:
            given = exactly(given, "invite", ("link", "sig"))
            link, sig = read_key_form(given["link"], "invite link"), read_signature(given["sig"], "invite")
            held = strong_gateway(gateway)
            return cls(commit, require_strong(key), LinkInvite(require_strong(link), sig), held, mail, parts)
        given = exactly(given, "invite", ("key", "name"))
        if not isinstance(given["name"], str) or not is_name(given["name"]):
            raise MalformedError(tell("invite"), tell("name is not a player's name"))
        other = None if given["key"] is None else read_key_form(given["key"], "invite key")
        held = strong_gateway(gateway)
        invite = Invite(given["name"], None if other is None else require_strong(other))
        return cls(commit, require_strong(key), invite, held, mail, parts)

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the body."""
        invite: JsonValue = None
        if isinstance(self.invite, LinkInvite):
            invite = {"link": self.invite.link.text, "sig": encode_base64(self.invite.sig)}
        elif self.invite:
            invite = {"key": self.invite.key.text if self.invite.key else None, "name": self.invite.name}
        body: dict[str, JsonValue] = {
            "entropy_commit": self.entropy_commit,
            "invite": invite,
            "key": self.key.text,
        }
        body |= mail_json(self.mail, self.gateway)
        return body if self.parts is NO_PARTS else body | self.parts.to_json()

    def apply(self, course: Course, entry: Entry, knowledge: Knowledge) -> Applied:  # noqa: ARG002
        """Seats the host."""
        course.expect(self.KIND, Stage.OPEN)
        if isinstance(self.invite, LinkInvite):
            for key in (course.setup.server_key, self.key):
                verify_other_than_link(key, self.invite.link)
        elif self.invite and self.invite.name == entry.by:
            raise IllegalError(tell("a player cannot invite themselves"))
        if self.gateway is not None and self.key == course.setup.server_key:
            raise IllegalError(tell("a held key cannot be another key of the game"))
        setup = course.setup._replace(
            names=(entry.by, None),
            keys=(self.key, None),
            invite=self.invite,
            entropy_commits=(self.entropy_commit, None),
            held_keys=(HeldKey(0, self.gateway, entry.seq),) if self.gateway else (),
        )
        sealed = course.sealed
        if sealed is not None:
            from hkoji.game import sealed_entries

            sealed = sealed_entries.opened(sealed, course, entry, self.parts)
        return course._replace(setup=setup, stage=Stage.JOIN, sealed=sealed), ()

    @property
    def certificate(self) -> Gateway | None:
        """The certificate of the host's key, if the service holds it."""
        return self.gateway

    def newcomer_key(self) -> PublicKey:
        """Returns the host's key."""
        return self.key


class _JoinFields(NamedTuple):
    entropy_commit: str
    key: PublicKey
    link_sig: bytes | None = None
    gateway: Gateway | None = None
    mail: MailClaim | None = None


class Join(_JoinFields, EntryBody):
    """The guest joins. `link_sig` is the SSHSIG blob by the key of the link, if the game was opened by link."""

    __slots__ = ()

    KIND: ClassVar = "join"
    AUTHOR: ClassVar = Author.NEWCOMER
    EFFECT: ClassVar = Effect.BREAKS

    @classmethod
    def parse(cls, body: dict[str, JsonValue]) -> Join:
        """Reads a body."""
        fields = read_fields(body, cls.KIND, ("entropy_commit", "key"), (GATEWAY, "link_sig", MAIL))
        commit = read_hex(fields["entropy_commit"], "entropy_commit")
        link_sig = read_signature(fields["link_sig"], cls.KIND) if "link_sig" in fields else None
        key = read_key_form(fields["key"], "key")
        gateway, mail = read_certified(fields)
        held = strong_gateway(gateway)
        return cls(commit, require_strong(key), link_sig, held, mail)

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the body."""
        body: dict[str, JsonValue] = {"entropy_commit": self.entropy_commit, "key": self.key.text}
        if self.link_sig is not None:
            body["link_sig"] = encode_base64(self.link_sig)
        return {**body, **mail_json(self.mail, self.gateway)}

    def apply(self, course: Course, entry: Entry, knowledge: Knowledge) -> Applied:  # noqa: ARG002
        """Seats the guest."""
        course.expect(self.KIND, Stage.JOIN)
        setup = course.setup
        if entry.by == setup.names[0] or self.key == setup.keys[0]:
            raise IllegalError(tell("host and guest must differ in name and in key"))
        verify_other_than_link(self.key, setup.link)
        if self.gateway is not None:
            self._verify_held(course)
        if isinstance(setup.invite, Invite) and (reason := setup.invite.refusal(entry.by, self.key)):
            raise ForbiddenError(reason)
        if self.entropy_commit == setup.entropy_commits[0]:
            raise IllegalError(tell("the guest's commitment repeats the host's"))
        setup = setup._replace(
            names=(setup.names[0], entry.by),
            keys=(setup.keys[0], self.key),
            entropy_commits=(setup.entropy_commits[0], self.entropy_commit),
            held_keys=(*setup.held_keys, HeldKey(1, self.gateway, entry.seq)) if self.gateway else setup.held_keys,
        )
        control = setup.agreement.clock
        assert entry.seen is not None  # only the first entry has none
        clock = GameClock.joined(control, entry.head, entry.seen) if control else None
        return course._replace(setup=setup, stage=Stage.GUEST_SEED, clock=clock), ()

    def _verify_held(self, course: Course) -> None:
        """Checks what a guest needs whose key the service holds. Raises `IllegalError`."""
        setup = course.setup
        if self.key in setup.every_key():
            raise IllegalError(tell("a held key cannot be another key of the game"))
        if not isinstance(setup.invite, Invite) or setup.invite.key != self.key:
            raise IllegalError(tell("a key that the service holds joins only a game whose invitation names that key"))
        if course.setup.held(0) and setup.agreement.rated:
            raise IllegalError(tell("a game in which the service holds both keys cannot be rated"))

    @property
    def certificate(self) -> Gateway | None:
        """The certificate of the guest's key, if the service holds it."""
        return self.gateway

    def newcomer_key(self) -> PublicKey:
        """Returns the guest's key."""
        return self.key


def link_statement(entry: Entry, body: Open | Join) -> LinkStatement:
    """Returns what the key of the link signs for an `open` or `join`: the values of the entry."""
    commit = body.entropy_commit
    return make_link_statement(entropy_commit=commit, game=entry.game, key=body.key, name=entry.by, prev=entry.prev)


def open_by_link(link: Signer, course: Course, *, entropy_commit: str, key: PublicKey, name: str) -> Open:
    """Returns the `open` by which `name`, with `key`, opens the game to whoever has the link."""
    sig = link.sign(sshsig.INVITE, _next_statement(course, entropy_commit, key, name).message)
    return Open(entropy_commit, key, LinkInvite(link.public, sig))


def join_by_link(link: Signer, course: Course, *, entropy_commit: str, key: PublicKey, name: str) -> Join:
    """Returns the `join` by which `name`, with `key`, joins a game that was opened by that link."""
    sig = link.sign(sshsig.JOIN, _next_statement(course, entropy_commit, key, name).message)
    return Join(entropy_commit, key, sig)


def _next_statement(course: Course, entropy_commit: str, key: PublicKey, name: str) -> LinkStatement:
    game, prev = course.setup.game, course.head
    return make_link_statement(entropy_commit=entropy_commit, game=game, key=key, name=name, prev=prev)


class _SeedFields(NamedTuple):
    entropy: str
    mail: MailClaim | None = None
    parts: Parts = NO_PARTS


class Seed(_SeedFields, EntryBody):
    """A player reveals their entropy (64 hex digits). For a player by mail the service does it, without a mail."""

    __slots__ = ()

    KIND: ClassVar = "seed"
    AUTHOR: ClassVar = Author.ACTOR
    EFFECT: ClassVar = Effect.PLAYS

    @classmethod
    def parse(cls, body: dict[str, JsonValue]) -> Seed:
        """Reads a body."""
        fields = read_fields(body, cls.KIND, ("entropy",), ("deposit", "give", "lock", MAIL))
        mail = read_mail(fields[MAIL], none=True) if MAIL in fields else None
        return cls(read_hex(fields["entropy"], "entropy"), mail, parts_of(fields))

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the body."""
        body: dict[str, JsonValue] = {"entropy": self.entropy, **mail_json(self.mail)}
        return body if self.parts is NO_PARTS else body | self.parts.to_json()

    def apply(self, course: Course, entry: Entry, knowledge: Knowledge) -> Applied:
        """Adds the entropy. The host's comes second; public chance follows it, if there is any, else the first deal."""
        course.expect(self.KIND, Stage.GUEST_SEED, Stage.HOST_SEED)
        setup, seat = course.setup, course.seed_seat
        assert seat is not None
        verify_entropy(setup.game, seat, self.entropy, setup.entropy_commits[seat], entry.seq)
        host, guest = setup.entropy
        setup = setup._replace(entropy=(self.entropy, guest) if seat == 0 else (host, self.entropy))
        sealed = course.sealed
        if sealed is not None:
            from hkoji.game import sealed_entries

            sealed = sealed_entries.seeded(sealed, course, entry, self.parts, seat)
        course = course._replace(sealed=sealed)
        if seat == 1:
            return course._replace(setup=setup, stage=Stage.HOST_SEED), ()
        if setup.ruleset.chance():
            return course._replace(setup=setup, stage=Stage.CHANCE), ()
        return course._replace(setup=setup, stage=Stage.PLAY).advance(knowledge, ())


class ChanceBody(NamedTuple("ChanceBody", [("first", int | None), ("markers", str | None)]), EntryBody):
    """The service publishes the decision of public chance."""

    __slots__ = ()

    KIND: ClassVar = "chance"
    AUTHOR: ClassVar = Author.SERVICE
    EFFECT: ClassVar = Effect.BREAKS

    @classmethod
    def parse(cls, body: dict[str, JsonValue]) -> ChanceBody:
        """Reads a body."""
        fields = read_fields(body, cls.KIND, (), ("first", "markers"))
        first, markers = fields.get("first"), fields.get("markers")
        if first is None and markers is None:
            raise MalformedError(tell("chance"), tell("it decides nothing"))
        if "first" in fields and (type(first) is not int or first not in (0, 1)):
            raise MalformedError(tell("chance"), tell("first is not 0 or 1"))
        if "markers" in fields and (not isinstance(markers, str) or not markers.isalpha()):
            raise MalformedError(tell("chance"), tell("markers are not letters"))
        return cls(first if isinstance(first, int) else None, markers if isinstance(markers, str) else None)

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the body, with only the fields that chance decides."""
        body: dict[str, JsonValue] = {}
        if self.first is not None:
            body["first"] = self.first
        if self.markers is not None:
            body["markers"] = self.markers
        return body

    def verify(self, dealer: Dealer | None, seq: int) -> None:
        """Checks the decision of entry `seq` against the dealer; None if it is not known. Raises `CommitmentError`."""
        given = dealer.chance() if dealer else None
        if given and (given.first, given.markers) != (self.first, self.markers):
            raise CommitmentError(tell("chance is not what the committed seed gives"), seq=seq, part=0)

    def apply(self, course: Course, entry: Entry, knowledge: Knowledge) -> Applied:
        """Applies the decision to the position, and deals."""
        decided = {name for name in ("first", "markers") if getattr(self, name) is not None}
        if decided != set(course.setup.ruleset.chance()):
            raise IllegalError(tell("the chance entry must decide exactly what the ruleset leaves to chance"))
        self.verify(course.setup.dealer(knowledge.seed), entry.seq)
        event = Chance(self.first, self.markers)
        return course._replace(stage=Stage.PLAY, state=course.state.apply(event)).advance(knowledge, (event,))
