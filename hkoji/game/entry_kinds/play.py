"""The kinds of entry of play: move, reveal and release. docs/spec/log.md, "Kinds"; docs/spec/sealed.md, "Entries"."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from hkoji.errors import IllegalActionError, IllegalError, MalformedError
from hkoji.game.clock import Effect
from hkoji.game.commitments import Opening, parse_openings
from hkoji.game.course import Applied, Author, Course, EntryBody, FaceDown, Stage, parts_of
from hkoji.game.knowledge import Knowledge
from hkoji.game.parts import NO_PARTS, PART_KEYS, Parts
from hkoji.log.canonical import JsonValue, read_hex
from hkoji.log.line import SERVER_NAME, Entry, read_fields
from hkoji.log.mail_claim import MAIL, MailClaim, read_mail
from hkoji.messages.text import plural, tell
from hkoji.rules.events import Event, Reveal
from hkoji.rules.protocol import DECISION_KINDS, Due, Hidden


class _MoveFields(NamedTuple):
    action: str
    commit: tuple[str, ...] = ()
    mail: MailClaim | None = None
    parts: Parts = NO_PARTS


class Move(_MoveFields, EntryBody):
    """A decision in public form, with a commitment for each group of hidden cards."""

    __slots__ = ()

    KIND: ClassVar = "move"
    AUTHOR: ClassVar = Author.ACTOR
    EFFECT: ClassVar = Effect.PLAYS

    @classmethod
    def parse(cls, body: dict[str, JsonValue]) -> Move:
        """Reads a body."""
        fields = read_fields(body, cls.KIND, ("action",), ("commit", MAIL, *PART_KEYS))
        action = fields["action"]
        if not isinstance(action, str) or not 0 < len(action) <= 32:
            raise MalformedError(tell("move"), tell("action is not a move's text"))
        mail = read_mail(fields[MAIL]) if MAIL in fields else None
        parts = parts_of(fields)
        if "commit" not in fields:
            return cls(action, (), mail, parts)
        commit = fields["commit"]
        if not isinstance(commit, list) or not 0 < len(commit) <= 2:
            raise MalformedError(tell("move"), tell("commit is not a list of one or two commitments"))
        commits = [read_hex(item, "commitment") for item in commit]
        return cls(action, tuple(commits), mail, parts)

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the body."""
        body: dict[str, JsonValue] = {"action": self.action}
        if self.commit:
            body["commit"] = list(self.commit)
        if self.mail is not None:
            body[MAIL] = self.mail.to_json()
        return body if self.parts is NO_PARTS else body | self.parts.to_json()

    def apply(self, course: Course, entry: Entry, knowledge: Knowledge) -> Applied:
        """Plays the decision, with its hidden cards face down."""
        course.expect(self.KIND, Stage.PLAY)
        ruleset, state, seat = course.setup.ruleset, course.state, course.actor
        assert seat is not None
        if course.debtor is not None:
            raise IllegalError(tell("{by} owes a release before any move", by=entry.by))
        hidden: tuple[Hidden, ...] = ()
        if state.due is Due.ACT:
            hidden = ruleset.hidden(self.action)
            if ruleset.public(self.action) != self.action:
                raise MalformedError(tell("move"), tell("hidden cards are written as X in an entry"))
        if course.sealed is None and len(hidden) != len(self.commit):
            raise MalformedError(
                tell("move"),
                plural(
                    "{action} takes {n} commitment, not {given}",
                    "{action} takes {n} commitments, not {given}",
                    len(hidden),
                    action=self.action,
                    given=len(self.commit),
                ),
            )
        if len(set(self.commit)) != len(self.commit):
            raise MalformedError(tell("move"), tell("a commitment is repeated"))
        sealed = course.sealed
        if sealed is not None:
            from hkoji.game import sealed_entries

            if self.commit:
                raise MalformedError(tell("move"), tell("a sealed game has no commitments"))
            sealed = sealed_entries.shown(sealed, course, entry, self.action, self.parts)
        event = DECISION_KINDS[state.due](seat, knowledge.complete(ruleset, seat, entry.seq, self.action))
        try:
            applied = state.apply(event)
        except IllegalActionError as error:
            canonical = state.parse_action(self.action)
            if canonical != self.action:
                raise MalformedError(
                    tell("move"),
                    tell("the canonical form of {action} is {canonical}", action=self.action, canonical=canonical),
                ) from error
            raise
        if sealed is not None:
            sealed = sealed_entries.moved(sealed, course, entry, self.parts, applied)
            return course.advance(knowledge, (event,), applied, sealed=sealed)
        face_down = [
            FaceDown(entry.seq, part, seat, state.round, commit, group.counts)
            for part, (group, commit) in enumerate(zip(hidden, self.commit, strict=True))
        ]
        return course.advance(knowledge, (event,), applied, (*course.face_down, *face_down))


class Release(NamedTuple("Release", [("parts", Parts)]), EntryBody):
    """A player gives the cards that are due in a sealed game, or the service one that it keeps; nobody decides."""

    __slots__ = ()

    KIND: ClassVar = "release"
    AUTHOR: ClassVar = Author.GIVER_OR_SERVICE
    EFFECT: ClassVar = Effect.RELEASES

    @classmethod
    def parse(cls, body: dict[str, JsonValue]) -> Release:
        """Reads a body."""
        fields = read_fields(body, cls.KIND, (), ("close", "deposit", "give"))
        if "close" not in fields and "give" not in fields:
            raise MalformedError(tell("release"), tell("it brings nothing"))
        return cls(parts_of(fields))

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the body."""
        return self.parts.to_json()

    @property
    def effect(self) -> Effect:
        """At the end of a round it ends the turn, as a `reveal` does."""
        return Effect.SETTLES if self.parts.close is not None else Effect.RELEASES

    def apply(self, course: Course, entry: Entry, knowledge: Knowledge) -> Applied:
        """Takes in the cards. At the end of a round both secrets are revealed with it."""
        course.expect(self.KIND, Stage.PLAY)
        sealed, seat = course.sealed, course.debtor
        if sealed is None or (seat is None and entry.by != SERVER_NAME):
            raise IllegalError(tell("{by} owes no release", by=entry.by))
        from hkoji.game import sealed_entries

        if seat is not None and entry.by != SERVER_NAME:
            return sealed_entries.released(sealed, course, self.parts, seat, knowledge)
        return course.advance(knowledge, (), sealed=sealed_entries.deposit_released(sealed, course, self.parts))


class RevealBody(NamedTuple("RevealBody", [("openings", tuple[Opening, ...])]), EntryBody):
    """The service opens the round's face-down cards that count."""

    __slots__ = ()

    KIND: ClassVar = "reveal"
    AUTHOR: ClassVar = Author.SERVICE
    EFFECT: ClassVar = Effect.BREAKS

    @classmethod
    def parse(cls, body: dict[str, JsonValue]) -> RevealBody:
        """Reads a body."""
        return cls(parse_openings(read_fields(body, cls.KIND, ("openings",))["openings"]))

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the body."""
        return {"openings": [opening.to_json() for opening in self.openings]}

    def apply(self, course: Course, entry: Entry, knowledge: Knowledge) -> Applied:  # noqa: ARG002
        """Turns the cards up; the rules then score the round."""
        due = course.open_cards(self.openings)
        cards = {card.seat: opening.cards for card, opening in zip(due, self.openings, strict=True)}
        state = course.state
        events: list[Event] = []
        for seat in state.due_reveals():
            events.append(Reveal(seat, cards[seat]))
            state = state.apply(events[-1])
        left = tuple(card for card in course.face_down if card not in due)
        return course.advance(knowledge, tuple(events), state, left)
