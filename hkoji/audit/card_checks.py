"""Steps 6 to 9 of the audit: commitments and their openings, what chance has decided, the rules, and the result.

docs/spec/log.md, "Commitments", "Audit" and "Who is named". Whether an entry may stand where it does, and opens what is
due there, is step 8, the replay.

Once the seed is known, each play is compared with the hand that the deal gave, so it is judged by itself. Without the
seed two plays may exclude each other, and nothing says which of them is false. That convicts no player, whichever play
comes first. An honest service, which knows the hands, does not take both.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from hkoji.audit.checks import verify_all_opened, verify_new_salt
from hkoji.errors import HkojiError, IllegalEventError
from hkoji.game import entry_kinds
from hkoji.game.commitments import Opening, verify_entropy, verify_opening
from hkoji.game.course import Course
from hkoji.game.dealer import Dealer, Publishes, Terms, verify_end, verify_seed
from hkoji.game.entry_kinds import EntryBody, begin
from hkoji.game.knowledge import SpectatorKnowledge
from hkoji.game.replay import public_knowledge, replay
from hkoji.log.line import Entry, Line
from hkoji.messages.text import tell


class Commitments:
    """The commitments of a log so far; `opened` of them have been opened."""

    def __init__(self) -> None:
        self.opened = 0
        self.unopened = False
        """Whether the game has ended and its seed has not been published."""
        self._terms: Terms | None = None
        self._entropy: dict[str, tuple[int, str]] = {}
        self._commits: dict[tuple[int, int], str] = {}
        self._salts: set[str] = set()

    @property
    def closed(self) -> int:
        """How many groups of face-down cards are still closed."""
        return len(self._commits)

    def read(self, entry: Entry, body: entry_kinds.EntryBody) -> None:
        """Reads the next entry. Raises `CommitmentError` if it breaks a commitment."""
        match body:
            case entry_kinds.Move():  # first, because most entries are moves
                for part, commit in enumerate(body.commit):
                    self._commits[entry.seq, part] = commit
            case entry_kinds.Offer(terms):
                self._terms = terms
            case entry_kinds.Open(commit) | entry_kinds.Join(commit):
                self._entropy[entry.by] = (int(isinstance(body, entry_kinds.Join)), commit)
            case entry_kinds.Seed(value):
                seat, commit = self._entropy.get(entry.by, (0, ""))
                verify_entropy(entry.game, seat, value, commit, entry.seq)
                self.opened += 1
            case entry_kinds.RevealBody(openings):
                self._open(entry.game, openings)
            case entry_kinds.End(openings, _, seed):
                if self._terms is not None:
                    verify_end(self._terms, entry.game, entry.seq, seed)
                self.unopened = self._terms is not None and self._terms.publishes is Publishes.LATE
                self.opened += seed is not None
                self._open(entry.game, openings)
                verify_all_opened(self._commits)
            case entry_kinds.Unseal(seed):
                if self._terms is not None:
                    verify_seed(self._terms, entry.game, entry.seq, seed)
                self.unopened = False
                self.opened += 1
            case _:
                pass

    def _open(self, game: str, openings: tuple[Opening, ...]) -> None:
        for opening in openings:
            verify_opening(game, opening, self._commits.pop((opening.seq, opening.part), None))
            verify_new_salt(opening, self._salts)
            self.opened += 1


class CardFault(NamedTuple):
    """Why an entry does not hold. If `excludes`, it is that plays exclude each other, of which any may be false."""

    entry: int
    error: HkojiError
    excludes: bool = False


class Replayed(NamedTuple):
    """The game as far as it holds, None if not even the offer does; and why it does not go on, if that is so."""

    course: Course | None
    fault: CardFault | None = None


class PlayedCards:
    """The entries of a log that hold in the steps before, with all that the log itself says of the cards.

    `dealer` is None if the seed or a player's entropy is not known.
    """

    def __init__(self, lines: Sequence[Line], bodies: Sequence[EntryBody]) -> None:
        self._lines: Final = tuple(lines)
        self._bodies: Final = tuple(bodies)
        self._knowledge: Final = public_knowledge(lines, bodies)
        self.dealer: Final = self._find_dealer()
        self.proofs = 0
        """How many proofs of a sealed game have been checked, and hold."""

    @property
    def seed_known(self) -> bool:
        """Whether the seed is known."""
        return self._knowledge.seed is not None

    def find_chance_fault(self) -> CardFault | None:
        """The first `chance` that does not follow from seed and entropy, if these are known."""
        for number, body in enumerate(self._bodies):
            if isinstance(body, entry_kinds.ChanceBody):
                try:
                    body.verify(self.dealer, number)
                except HkojiError as error:
                    return CardFault(number, error)
        return None

    @property
    def sealed(self) -> bool:
        """Whether the log is that of a sealed game."""
        offer = self._bodies[0] if self._bodies else None
        return isinstance(offer, entry_kinds.Offer) and offer.terms.publishes is Publishes.NEVER

    def find_deal_fault(self) -> CardFault | None:
        """The first lock or share in a sealed game whose proof does not hold, as far as the rules of step 8 reach."""
        course: Course | None = None
        for number, (line, body) in enumerate(zip(self._lines, self._bodies, strict=True)):
            try:
                if course is None:
                    course = begin(line.entry, body)
                    continue
                after, _ = course.apply(line.entry, body, self._knowledge)
            except HkojiError:
                return None
            try:
                self._verify_proofs(course, number, of_deal=True)
            except HkojiError as error:
                return CardFault(number, error)
            course = after
        return None

    def _verify_proofs(self, course: Course, number: int, *, of_deal: bool) -> None:
        """Checks the proofs of an entry that follows `course`. Raises `ProofError` or `MalformedError`."""
        from hkoji.game.proving import proofs_of  # other games need none of it
        from hkoji.sealed.sodium import quickest

        combine = quickest()
        proofs = proofs_of(course, self._lines[number].entry, self._bodies[number])
        for check in proofs.deal if of_deal else proofs.cards:
            check(combine)
            self.proofs += 1

    def replay(self) -> Replayed:
        """Replays the entries by the rules, up to the first that breaks one."""
        course: Course | None = None
        # Without the seed, a face-down card counts only from the entry on that opens it.
        known = self._knowledge if self.seed_known else SpectatorKnowledge()
        for number, (line, body) in enumerate(zip(self._lines, self._bodies, strict=True)):
            try:
                if course is None:
                    course = begin(line.entry, body)
                    continue
                if not self.seed_known:
                    self._verify_opened(course, number)
                after, _ = course.apply(line.entry, body, known)
                if self.sealed:
                    self._verify_proofs(course, number, of_deal=False)
                course = after
            except HkojiError as error:
                # The rules raise another error for a play that is not legal by itself.
                excludes = not self.seed_known and not self.sealed and isinstance(error, IllegalEventError)
                return Replayed(course, CardFault(number, error, excludes))
        return Replayed(course)

    def _find_dealer(self) -> Dealer | None:
        names: dict[type[EntryBody], str] = {}
        entropy: dict[str, str] = {}
        for line, body in zip(self._lines, self._bodies, strict=True):
            if isinstance(body, entry_kinds.Open | entry_kinds.Join):
                names.setdefault(type(body), line.entry.by)
            elif isinstance(body, entry_kinds.Seed):
                entropy[line.entry.by] = body.entropy
        host, guest = (entropy.get(names.get(kind, "")) for kind in (entry_kinds.Open, entry_kinds.Join))
        seed, offer = self._knowledge.seed, self._bodies[0] if self._bodies else None
        if not isinstance(offer, entry_kinds.Offer) or host is None or guest is None:
            return None
        return offer.terms.dealer(self._lines[0].entry.game, offer.ruleset, seed, (host, guest))

    def _verify_opened(self, course: Course, number: int) -> None:
        """Checks face-down cards that the log opens, at entry `number`, which follows `course`.

        The cards of a move must make it an action. Whether it can stand beside the other plays is found at the `end`,
        which opens the cards that are still closed. Raises what the rules raise.
        """
        body, entry = self._bodies[number], self._lines[number].entry
        if isinstance(body, entry_kinds.Move) and body.commit:
            with suppress(IllegalEventError):
                course.apply(entry, body, self._knowledge)
        elif isinstance(body, entry_kinds.End):
            whole = replay(self._lines[:number], self._knowledge)
            if whole.stop is not None:
                reason = tell(
                    "the cards that it opens and other plays exclude each other, as entry {entry} shows: {reason}",
                    entry=len(whole.steps),
                    reason=whole.stop,
                )
                raise IllegalEventError(reason, due=course.state.due.value)
