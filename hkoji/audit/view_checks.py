"""The checks of the views that a service has shown to the seats.

A view is compared with the number of cards dealt, with earlier views, with the other seat's views and, once the seed is
known, with the cards themselves. docs/spec/evidence.md, "Judgement". The deal follows from the seed, and the draws from
the public log, which says who has drawn when. So a view can be checked even while cards are face down, and even if a
move does not fit the deal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from hkoji.audit.evidence_file import EntryTree
from hkoji.audit.service_statements import StatementFault
from hkoji.errors import HkojiError
from hkoji.game import entry_kinds
from hkoji.game.course import Course
from hkoji.game.dealer import Dealer
from hkoji.game.knowledge import SeatKnowledge, SpectatorKnowledge
from hkoji.game.replay import Step, changed_round, changed_view, player_knowledge, replay, shown_cards
from hkoji.log.line import Line
from hkoji.log.statement import View
from hkoji.messages.text import tell
from hkoji.rules.cards import UNKNOWN
from hkoji.rules.events import Deal, Draw, Seat

MOST_COURSES: Final = 64
"""The most courses of one game that are replayed. An honest game has one."""


class ViewChecks:
    """The signed `views` of one game, and the entries to compare them with."""

    def __init__(self, entries: EntryTree, views: Sequence[View]) -> None:
        self._entries: Final = entries
        self._views: Final = sorted(views, key=lambda view: (view.seat, view.seq, view.text))
        self._courses: Final[dict[str, tuple[tuple[Step, ...], int]]] = {}
        self._replayed = 0
        self._seeds: Final = tuple(
            (entry.seq, body.seed)
            for entry in entries
            if isinstance(body := entries.body(entry), entry_kinds.End | entry_kinds.Unseal) and body.seed is not None
        )

    def faults(self) -> list[StatementFault]:
        """For each seat one fault of its views; if there is none, the first fault between the seats."""
        found: list[StatementFault] = []
        for seat in (0, 1):
            mine = [view for view in self._views if view.seat == seat]
            faults = (fault for view in reversed(mine) if (fault := self.fault(view)))
            found += [fault] if (fault := next(faults, None)) else list(self._growth(mine))[:1]
        return found or list(self._together())[:1]

    # --- one view -------------------------------------------------------------------------------------------------

    def fault(self, view: View) -> StatementFault | None:
        """The fault that the entries show in one view; None if there is none."""
        steps = self._steps(view.head)
        if not steps or steps[-1].entry.seq != view.seq:
            return None
        course = steps[-1].course
        name = course.setup.names[view.seat] or tell("seat {seat}", seat=view.seat)
        pack = course.setup.ruleset.pack
        try:
            shown = shown_cards(view, pack)
            for each in view.dealt:
                pack.encode(each.cards)
        except HkojiError as error:
            reason = tell(
                "showed {name} something that is not cards, view after entry {entry}: {reason}",
                name=name,
                entry=view.seq,
                reason=error,
            )
            return StatementFault(view.seq, reason)
        counts = [len(pack.split(cards)) for cards in course.shown_to(view.seat)]
        if [len(cards) for cards in shown] != counts or any(UNKNOWN in cards for cards in shown):
            reason = tell(
                "showed {name} fewer or more cards than were dealt, view after entry {entry}",
                name=name,
                entry=view.seq,
            )
            return StatementFault(view.seq, reason)
        return self._against_seed(view, steps, name)

    def _against_seed(self, view: View, steps: Sequence[Step], name: str) -> StatementFault | None:
        known = self._seed(steps[-1].course)
        if known is None:
            return None
        number, dealer = known
        given = [cards[view.seat] for cards in dealt(dealer, steps)]
        changed = changed_round([each.cards for each in view.dealt], given, same_entry=True)
        if changed is None:
            return None
        reason = tell(
            "showed {name} cards in round {round} that its committed seed does not give, "
            "view after entry {entry} against the seed of entry {seed}",
            name=name,
            round=changed,
            entry=view.seq,
            seed=number,
        )
        return StatementFault(view.seq, reason)

    def _seed(self, course: Course) -> tuple[int, Dealer] | None:
        """The published seed that matches the commitment of the offer, as (number of its entry, dealer).

        It does not matter who has published it.
        """
        setup = course.setup
        for number, seed in self._seeds:
            if setup.terms.fits(setup.game, seed):
                dealer = setup.dealer(seed)
                return (number, dealer) if dealer else None
        return None

    def _steps(self, head: str) -> tuple[Step, ...]:
        """The game up to an entry as a spectator knows it; empty if entries are missing or do not hold."""
        if head not in self._courses and self._replayed < MOST_COURSES:
            self._replayed += 1
            path = self._entries.path(head) or ()
            steps = replay((self._entries.lines(each)[0] for each in path), SpectatorKnowledge()).steps
            self._courses.update({step.entry.head: (steps, number) for number, step in enumerate(steps, 1)})
        steps, number = self._courses.get(head, ((), 0))
        return steps[:number]

    # --- views against one another --------------------------------------------------------------------------------

    def _growth(self, views: Sequence[View]) -> Iterator[StatementFault]:
        """The faults between views of one seat, in order: a later view must show what an earlier one showed."""
        for before, after in pairwise(views):
            if changed_view(before, after) is not None:
                reason = tell(
                    "showed seat {seat} other cards before, view after entry {one} against view after entry {other}",
                    seat=after.seat,
                    one=before.seq,
                    other=after.seq,
                )
                yield StatementFault(after.seq, reason)

    def _together(self) -> Iterator[StatementFault]:
        """The faults between the last views of both seats: together they cannot have more copies than exist."""
        last = [next((view for view in reversed(self._views) if view.seat == seat), None) for seat in (0, 1)]
        host, guest = last
        if host is None or guest is None:
            return
        steps = self._steps(host.head) or self._steps(guest.head)
        if not steps:
            return
        pack = steps[-1].course.setup.ruleset.pack
        for one, other in zip(host.dealt, guest.dealt, strict=False):
            try:
                pack.encode(one.cards + other.cards)
            except HkojiError:
                entry = max(host.seq, guest.seq)
                reason = tell(
                    "showed both seats more cards of a kind in round {round} than there are, "
                    "view after entry {one} and view after entry {other}",
                    round=one.round,
                    one=host.seq,
                    other=guest.seq,
                )
                yield StatementFault(entry, reason)

    # --- what a player could know ---------------------------------------------------------------------------------

    def excuses(self, path: Sequence[Line], number: int, seat: Seat) -> bool:
        """Whether move `number` of `seat` is legal for a wrong hand that the service has shown to this seat.

        `path` is the log, with the later entries that open the move's cards.
        """
        heads = {line.entry.seq: line.entry.head for line in path[:number]}
        before = self._steps(heads.get(number - 1, ""))
        if not before or before[-1].course.sealed is not None:  # there every card of a move is proved
            return False
        pack = before[-1].course.setup.ruleset.pack
        counts = [len(pack.split(cards[seat])) for cards in before[-1].course.dealt]
        for view in self._views:
            if view.seat != seat or heads.get(view.seq) != view.head or self.fault(view) is None:
                continue
            try:
                known = player_knowledge(path, seat, view, (), before[-1].course.setup.ruleset)
            except HkojiError:
                continue
            if [len(cards) for cards in known.dealt] == counts:
                unknown = (UNKNOWN,) * pack.size
                seen = SeatKnowledge(seat, (*(cards + unknown for cards in known.dealt), unknown), known.openings)
                if len(replay(path[: number + 1], seen).steps) > number:
                    return True
        return False


def dealt(dealer: Dealer, steps: Sequence[Step]) -> tuple[tuple[str, str], ...]:
    """For each round and seat the cards that `dealer` gives, in order, where `steps` say who has drawn."""
    pack = steps[-1].course.setup.ruleset.pack
    rounds: list[list[str]] = []
    rest: tuple[str, ...] = ()
    for event in (event for step in steps for event in step.events):
        if isinstance(event, Deal):
            deal = dealer.deal(len(rounds) + 1)
            rounds.append(list(deal.hands))
            rest = pack.split(deal.rest)
        elif isinstance(event, Draw):
            rounds[-1][event.seat] += rest[0]
            rest = rest[1:]
    return tuple((host, guest) for host, guest in rounds)
