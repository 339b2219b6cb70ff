"""The replay of a log, by anyone and by a player who has cards of their own.

A replay gives each step with its events and position, up to the first entry that is not valid. It works on complete and
truncated logs, for any knowledge. It checks no signatures; the audit does.

A player's own game is the public log, the player's cards that the service has shown, and the player's openings:
docs/spec/log.md, "Statements" and "Client rules". No I/O: the caller has verified signatures and fetched everything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

from hkoji.errors import HkojiError, NotationError, NotUnderstoodError, TrustError
from hkoji.game import entry_kinds
from hkoji.game.commitments import Opening
from hkoji.game.course import Course, Stage
from hkoji.game.dealer import SEALED_V1
from hkoji.game.entry_kinds import NEWCOMER_KINDS, EntryBody, begin, parse_body
from hkoji.game.knowledge import FullKnowledge, Knowledge, SeatKnowledge, SpectatorKnowledge
from hkoji.log.line import Entry, Line
from hkoji.log.public_key import PublicKey
from hkoji.log.statement import View
from hkoji.messages.text import tell
from hkoji.rules.cards import UNKNOWN, Pack
from hkoji.rules.events import Event, Seat
from hkoji.rules.protocol import Ruleset


class Step(NamedTuple):
    """One entry: its parsed body, the events of the rules that it brings, and the game after it."""

    entry: Entry
    body: EntryBody
    events: tuple[Event, ...]
    course: Course


class Replay(NamedTuple):
    """The valid steps. `stop` is the error of the next one; None at the end of the log."""

    steps: tuple[Step, ...]
    stop: HkojiError | None = None

    @property
    def course(self) -> Course | None:
        """The game after the last valid step."""
        return self.steps[-1].course if self.steps else None

    @property
    def events(self) -> tuple[Event, ...]:
        """All events, in order."""
        return tuple(event for step in self.steps for event in step.events)


NOTHING: Final = Replay(())
"""The replay of no lines."""


def replay(lines: Iterable[Line], knowledge: Knowledge | None = None, *, after: Replay = NOTHING) -> Replay:
    """Replays `lines`, which follow those of `after`, with `knowledge`; by default with all that the lines reveal."""
    lines = tuple(lines)
    known = knowledge or public_knowledge(lines)
    steps = list(after.steps)
    course = after.course
    try:
        for line in lines:
            body = parse_body(line.entry.kind, line.entry.body)
            events: tuple[Event, ...] = ()
            if course is None:
                course = begin(line.entry, body)
            else:
                course, events = course.apply(line.entry, body, known)
            steps.append(Step(line.entry, body, events, course))
    except HkojiError as error:
        return Replay(tuple(steps), error)
    return Replay(tuple(steps))


def public_knowledge(lines: Sequence[Line], bodies: Sequence[EntryBody] | None = None) -> Knowledge:
    """Returns the knowledge that a log itself reveals: only public cards before its `end`, then also face-down cards.

    `bodies` are those of the lines, if they have been parsed. The seed, which the `end` or an `unseal` publishes,
    reveals all cards. Openings published during a game are events of the log and need no knowledge.
    """
    openings: dict[int, list[Opening]] = {}
    ended, seed, offer = False, None, None
    try:
        for number, line in enumerate(lines):
            if line.entry.kind == "offer":
                offer = line.entry
            if line.entry.kind in ("reveal", "end", "unseal"):
                body = bodies[number] if bodies else parse_body(line.entry.kind, line.entry.body)
                if isinstance(body, entry_kinds.RevealBody | entry_kinds.End):
                    for opening in body.openings:
                        openings.setdefault(opening.seq, []).append(opening)
                if isinstance(body, entry_kinds.End) or (isinstance(body, entry_kinds.Unseal) and ended):
                    ended, seed = True, body.seed
        if seed is not None and (offer is None or not _committed(offer, seed)):
            seed = None  # a wrong seed gives other cards, so the first move would fail instead of the entry at fault
    except HkojiError:
        return SpectatorKnowledge()
    if not ended:
        return SpectatorKnowledge()
    by_seq = {seq: tuple(sorted(group)) for seq, group in openings.items()}
    return SpectatorKnowledge(by_seq) if seed is None else FullKnowledge(seed, by_seq)


def _committed(offer: Entry, seed: str) -> bool:
    """Reports whether the offer commits to that seed."""
    body = parse_body(offer.kind, offer.body)
    return isinstance(body, entry_kinds.Offer) and body.terms.fits(offer.game, seed)


KEEP_FOLDER: Final = tell(
    "nothing was accepted; keep the game's folder: what you have seen is signed. Compare with your opponent"
)
"""The hint of an error about a service that contradicts itself."""


def is_sealed(lines: Sequence[Line]) -> bool:
    """Returns whether a log is that of a sealed game."""
    match lines[0].entry.body.get("dealer") if lines else None:
        case {"name": str(name)}:
            return name == SEALED_V1
        case _:
            return False


def find_seat(lines: Iterable[Line], name: str, keys: Collection[PublicKey]) -> Seat | None:
    """Finds the seat that a player, given by name and keys, has taken in a log; None if there is none."""
    for line in lines:
        entry = line.entry
        if entry.by == name and entry.kind in NEWCOMER_KINDS:
            body = parse_body(entry.kind, entry.body)
            if body.newcomer_key() in keys:
                return 0 if isinstance(body, entry_kinds.Open) else 1
    return None


def verify_head(kept: Sequence[Line], seq: int, head: str) -> None:
    """Checks the service's last entry against the log kept here. Raises `TrustError` if they do not agree.

    The service's log must not be shorter. If both have the same length, their last entries must be equal.
    """
    if not kept:
        return
    last = kept[-1].entry
    if seq < last.seq:
        raise TrustError(
            tell("the service's log ends at entry {seq}, and you have seen entry {last}", seq=seq, last=last.seq),
            hint=KEEP_FOLDER,
        )
    if seq == last.seq and head != last.head:
        raise TrustError(tell("the service's entry {seq} is another one than you have seen", seq=seq), hint=KEEP_FOLDER)


def verify_view(view: View, course: Course, seat: Seat) -> None:
    """Checks that a view is of this seat, this game and this head, and shows the cards that `course` has.

    `course` is the game as the seat knows it by that view. Raises `TrustError`.
    """
    if (view.game, view.seat, view.seq, view.head) != (course.setup.game, seat, course.seq, course.head):
        raise TrustError(tell("the service has shown the cards of another seat, game or moment"), hint=KEEP_FOLDER)
    if tuple(each.cards for each in view.dealt) != course.shown_to(seat):
        raise TrustError(tell("the service has shown cards that the game cannot have brought"), hint=KEEP_FOLDER)


def shown_cards(view: View, pack: Pack) -> tuple[tuple[str, ...], ...]:
    """Returns for each round the cards that a view shows. Raises `NotationError` if it shows what is not a card."""
    return tuple(pack.split(each.cards) for each in view.dealt)


def changed_round(shown: Sequence[str], later: Sequence[str], *, same_entry: bool = False) -> int | None:
    """Returns the first round in which `later` are other cards than were `shown`; None if there is none.

    Both are the cards that a seat had got in each round, in order. New cards only follow those of the last round
    (`Course.advance`): earlier rounds stay as they are, and after the same entry all rounds do.
    """
    for number, cards in enumerate(shown, 1):
        grows = number == len(shown) and not same_entry
        now = later[number - 1] if number <= len(later) else None
        if now is None or not (now.startswith(cards) if grows else now == cards):
            return number
    return len(shown) + 1 if same_entry and len(later) > len(shown) else None


def changed_view(before: View, after: View) -> int | None:
    """Returns the first round of which a later view of a seat shows other cards than an earlier one did, or None."""
    shown, later = ([each.cards for each in view.dealt] for view in (before, after))
    return changed_round(shown, later, same_entry=before.seq == after.seq)


def verify_growth(before: View, after: View) -> None:
    """Checks that a later view of a seat still shows the cards of an earlier one. Raises `TrustError`."""
    changed = changed_view(before, after)
    if changed is not None:
        raise TrustError(
            tell("the service has shown you other cards in round {round} before", round=changed), hint=KEEP_FOLDER
        )


def replay_own(lines: Sequence[Line], seat: Seat, view: View | None, openings: Iterable[Opening]) -> Replay:
    """Replays the game as `seat` knows it; after its end, with all cards known.

    `openings` may include those of moves that were signed but not sent: only those that open a commitment in the log
    count. Raises `TrustError` if the log contradicts what the service has shown.
    """
    known = public_knowledge(lines)
    if not isinstance(known, FullKnowledge):
        return require_whole(_replay_seat(lines, seat, view, openings))
    result = replay(lines, known)
    if result.stop is not None:
        # A false opening in the end can make an earlier entry fail, even the player's own. A replay with only the
        # player's knowledge fails at the entry that is false.
        stepwise = _replay_seat(lines, seat, view, openings)
        if stepwise.stop is not None and not isinstance(stepwise.stop, TrustError):
            result = stepwise
    result = require_whole(result)
    course = result.course
    if course is not None and course.stage is Stage.OVER and view is not None:
        _verify_shown(course, seat, view)
    return result


def _replay_seat(lines: Sequence[Line], seat: Seat, view: View | None, openings: Iterable[Opening]) -> Replay:
    """Replays the game with the cards of `seat` only."""
    offered = replay(lines[:1], SpectatorKnowledge())
    if offered.course is None:
        return offered
    known = player_knowledge(lines, seat, view, openings, offered.course.setup.ruleset)
    return replay(lines[1:], known, after=offered)


def require_whole(result: Replay) -> Replay:
    """Returns `result` if it reaches the end of the log.

    Otherwise raises `TrustError` with the entry that is not valid, or `NotUnderstoodError`.
    """
    error = result.stop
    if error is None:
        return result
    if isinstance(error, TrustError | NotUnderstoodError):
        raise error
    number = len(result.steps)
    raise TrustError(
        tell("entry {number} of the log does not hold: {reason}", number=number, reason=error), hint=KEEP_FOLDER
    ) from error


def continue_own(
    before: Replay, lines: Sequence[Line], seat: Seat | None, view: View | None, openings: Iterable[Opening]
) -> Replay:
    """Continues `before`, a game that has not ended, with further lines, as `seat` knows them (None: a spectator).

    For the end of a game use `replay_own`: then all cards are known from the first entry on. Raises `TrustError`.
    """
    if not before.steps:
        raise ValueError("there is nothing to continue")
    ruleset = before.steps[-1].course.setup.ruleset
    known = SpectatorKnowledge() if seat is None else player_knowledge(lines, seat, view, openings, ruleset)
    return require_whole(replay(lines, known, after=before))


def player_knowledge(
    lines: Sequence[Line], seat: Seat, view: View | None, openings: Iterable[Opening], ruleset: Ruleset
) -> SeatKnowledge:
    """Returns the knowledge of `seat`: the cards of moves in `lines` that it can open, and all cards shown to it.

    Raises `TrustError` if the view shows no cards.
    """
    commits: dict[tuple[int, int], str] = {}
    published: list[Opening] = []
    game = lines[0].entry.game if lines else ""
    for line in lines:
        if line.entry.kind not in ("move", "reveal", "end"):
            continue
        body = parse_body(line.entry.kind, line.entry.body)
        if isinstance(body, entry_kinds.Move):
            commits.update({(line.entry.seq, part): commit for part, commit in enumerate(body.commit)})
        elif isinstance(body, entry_kinds.RevealBody | entry_kinds.End):
            published.extend(body.openings)
    by_seq: dict[int, dict[int, Opening]] = {}
    for opening in (*openings, *published):
        if opening.commitment(game) == commits.get((opening.seq, opening.part)):
            by_seq.setdefault(opening.seq, {})[opening.part] = opening
    fitting = {seq: tuple(parts[part] for part in sorted(parts)) for seq, parts in by_seq.items()}
    if view is None:
        return SeatKnowledge(seat, (), fitting)
    try:
        dealt = shown_cards(view, ruleset.pack)
    except NotationError as error:
        raise TrustError(
            tell("the service has shown something that is not cards: {reason}", reason=error), hint=KEEP_FOLDER
        ) from error
    if any(UNKNOWN in cards for cards in dealt):
        raise TrustError(tell("the service has not shown you your own cards"), hint=KEEP_FOLDER)
    return SeatKnowledge(seat, dealt, fitting)


def _verify_shown(course: Course, seat: Seat, view: View) -> None:
    """Checks the cards that the service has shown against the deal, once it is known."""
    changed = changed_round([each.cards for each in view.dealt], [cards[seat] for cards in course.dealt])
    if changed is not None:
        raise TrustError(
            tell("the service showed you other cards in round {round} than its seed gives", round=changed),
            hint=KEEP_FOLDER,
        )
