"""The kinds of entry that end a game, except by time: resign, cancel, end, unseal. docs/spec/log.md, "Kinds"."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from hkoji.errors import IllegalError, MalformedError, NotUnderstoodError
from hkoji.game.clock import Effect
from hkoji.game.commitments import Opening, parse_openings
from hkoji.game.course import Applied, Author, Course, EntryBody, Stage
from hkoji.game.dealer import Publishes, verify_end, verify_seed
from hkoji.game.knowledge import Knowledge
from hkoji.log.canonical import JsonValue, exactly, read_hex
from hkoji.log.line import Entry, read_fields
from hkoji.log.mail_claim import MAIL, MailClaim, read_mail
from hkoji.messages.text import tell
from hkoji.rules.events import Outcome
from hkoji.rules.registry import reasons


class _MailFields(NamedTuple):
    mail: MailClaim | None = None


class Resign(_MailFields, EntryBody):
    """A player gives up."""

    __slots__ = ()

    KIND: ClassVar = "resign"
    AUTHOR: ClassVar = Author.SEAT
    EFFECT: ClassVar = Effect.ENDS

    @classmethod
    def parse(cls, body: dict[str, JsonValue]) -> Resign:
        """Reads a body."""
        fields = read_fields(body, cls.KIND, (), (MAIL,))
        return cls(read_mail(fields[MAIL]) if MAIL in fields else None)

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the body."""
        return {} if self.mail is None else {MAIL: self.mail.to_json()}

    def apply(self, course: Course, entry: Entry, knowledge: Knowledge) -> Applied:  # noqa: ARG002
        """Ends the game as a win of the other seat."""
        course.expect(self.KIND, Stage.GUEST_SEED, Stage.HOST_SEED, Stage.PLAY)
        seat = course.setup.seat_of(entry.by)
        assert seat is not None
        return course.close(Outcome(self.KIND, 1 - seat))


class Cancel(_MailFields, EntryBody):
    """The host cancels a game that no one has joined."""

    __slots__ = ()

    KIND: ClassVar = "cancel"
    AUTHOR: ClassVar = Author.SEAT
    EFFECT: ClassVar = Effect.ENDS

    @classmethod
    def parse(cls, body: dict[str, JsonValue]) -> Cancel:
        """Reads a body."""
        fields = read_fields(body, cls.KIND, (), (MAIL,))
        return cls(read_mail(fields[MAIL]) if MAIL in fields else None)

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the body."""
        return {} if self.mail is None else {MAIL: self.mail.to_json()}

    def apply(self, course: Course, entry: Entry, knowledge: Knowledge) -> Applied:  # noqa: ARG002
        """Ends the game without a winner."""
        course.expect(self.KIND, Stage.JOIN)
        return course.close(Outcome(self.KIND, None))


class End(NamedTuple("End", [("openings", tuple[Opening, ...]), ("result", Outcome), ("seed", str | None)]), EntryBody):
    """The result, every opening not published yet, and the seed (None if there is none, or it comes late)."""

    __slots__ = ()

    KIND: ClassVar = "end"
    AUTHOR: ClassVar = Author.SERVICE
    EFFECT: ClassVar = Effect.ENDS

    @classmethod
    def parse(cls, body: dict[str, JsonValue]) -> End:
        """Reads a body."""
        fields = read_fields(body, cls.KIND, ("openings", "result", "seed"))
        result = exactly(fields["result"], "result", ("reason", "winner"))
        reason, winner = result["reason"], result["winner"]
        if not isinstance(reason, str):
            raise MalformedError(tell("result"), tell("reason is not a word"))
        if reason not in reasons():
            raise NotUnderstoodError(tell("result"), reason)
        if winner is not None and (type(winner) is not int or winner not in (0, 1)):
            raise MalformedError(tell("result"), tell("winner is not 0, 1 or null"))
        outcome = Outcome(reason, winner if isinstance(winner, int) else None)
        seed = None if fields["seed"] is None else read_hex(fields["seed"], "seed")
        return cls(parse_openings(fields["openings"]), outcome, seed)

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the body."""
        return {
            "openings": [opening.to_json() for opening in self.openings],
            "result": {"reason": self.result.reason, "winner": self.result.winner},
            "seed": self.seed,
        }

    def apply(self, course: Course, entry: Entry, knowledge: Knowledge) -> Applied:  # noqa: ARG002
        """Publishes the hidden cards. If the seed stays unopened, the game waits for an `unseal`."""
        if self.result != course.state.outcome:
            raise IllegalError(tell("the result is not the one that the game has come to"))
        verify_end(course.setup.terms, course.setup.game, entry.seq, self.seed)
        course.open_cards(self.openings)
        late = course.setup.terms.publishes is Publishes.LATE
        return course._replace(stage=Stage.UNSEAL if late else Stage.OVER, face_down=()), ()


class Unseal(NamedTuple("Unseal", [("seed", str)]), EntryBody):
    """The service publishes the seed that the `end` left unopened, after the games at all tables of the deal."""

    __slots__ = ()

    KIND: ClassVar = "unseal"
    AUTHOR: ClassVar = Author.SERVICE_AFTER_END

    @classmethod
    def parse(cls, body: dict[str, JsonValue]) -> Unseal:
        """Reads a body."""
        return cls(read_hex(read_fields(body, cls.KIND, ("seed",))["seed"], "seed"))

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the body."""
        return {"seed": self.seed}

    def apply(self, course: Course, entry: Entry, knowledge: Knowledge) -> Applied:  # noqa: ARG002
        """Publishes the seed."""
        verify_seed(course.setup.terms, course.setup.game, entry.seq, self.seed)
        return course._replace(stage=Stage.OVER), ()
