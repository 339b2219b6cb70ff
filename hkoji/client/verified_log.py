"""One game's log as this player has verified it, the signed heads that agree with it, and all that was refused.

docs/spec/log.md, "Client rules"; docs/spec/evidence.md. New lines, views and heads are checked against everything kept
here before they are kept; the lines on disk have been checked and are only replayed. `hkoji.client.log_checks` says
what a new line must be. Refused statements of the service are on disk before the error is raised. Heads convict a
service that backdates a move, or that withholds one and delivers it late. This module does not decide when a head is
fetched. Call `accept` and `refresh` with the vault locked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from hkoji.audit.checks import HEAD_SECONDS
from hkoji.client.answers import ClockAnswer, ViewAnswer
from hkoji.client.identity import Identity
from hkoji.client.kept.evidence import KeptEvidence
from hkoji.client.kept.game import Vault, VaultStamp
from hkoji.client.log_checks import (
    LateLineError,
    verify_game,
    verify_heads,
    verify_lines,
    verify_signed_head,
    verify_signed_view,
    verify_taken,
)
from hkoji.client.service import Service
from hkoji.errors import HkojiError, InvalidError, NotFoundError, NotShownError, StorageError, TooLargeError, TrustError
from hkoji.game.clock import parse_time
from hkoji.game.commitments import Opening
from hkoji.game.course import Course
from hkoji.game.position import Position, read_position
from hkoji.game.replay import (
    KEEP_FOLDER,
    Replay,
    continue_own,
    find_seat,
    is_sealed,
    replay,
    replay_own,
    require_whole,
    verify_growth,
    verify_head,
    verify_view,
)
from hkoji.game.submission import Submission
from hkoji.log.game_statements import HeadStatement, SignedHead
from hkoji.log.line import Line, SignedEntry
from hkoji.log.statement import View
from hkoji.messages.text import tell
from hkoji.rules.events import Seat

if TYPE_CHECKING:
    from hkoji.client.sealed_cards import SealedCards


class KnownGame(NamedTuple):
    """The game on disk, read and replayed."""

    stamp: VaultStamp
    lines: tuple[Line, ...]
    replay: Replay
    seat: Seat | None
    view: View | None
    openings: tuple[Opening, ...]
    """The openings made here for entries of the log."""
    position: Position
    sealed_key_missing: bool = False
    """Whether the player's cards in a sealed game cannot be read here, mostly because its sealed key is not here."""


class VerifiedLog:
    """The game of `vault` at `service`, as `identity` sees it (None: as a spectator). `say` gets warnings."""

    def __init__(self, vault: Vault, service: Service, identity: Identity | None, say: Callable[[str], None]) -> None:
        self.vault: Final = vault
        self.service: Final = service
        self.identity: Final = identity
        self.evidence: Final = KeptEvidence(vault.folder)
        self.say = say
        self._memory: KnownGame | None = None
        self._clock: tuple[str, ClockAnswer] | None = None
        """The clock that came with the last view about the entry that is due, and the head that it is about."""
        self._signed_head: SignedHead | None = None

    @cached_property
    def sealed_cards(self) -> SealedCards:
        """The part that reads the player's cards in a sealed game."""
        from hkoji.client.sealed_cards import SealedCards  # other games need none of it

        return SealedCards(self.vault, self.service.home)

    # --- what is new ----------------------------------------------------------------------------------------------

    def refresh(self, taken: tuple[Line, ...] = (), *, timed: bool = False) -> KnownGame:
        """Fetches, verifies and keeps new lines and views. `taken` are lines that the service has just confirmed.

        If `timed`, a view brings for `take_clock` what the service knows beside the log, and for `fetch_head` a head.
        """
        self._clock = self._signed_head = None
        known = self.known()
        kept = known.lines if known else ()
        shown: ViewAnswer | None = None
        if known is not None and (known.seat is not None or self.lacks_cards(known)):
            try:
                shown = self.service.view(self.vault.game, known.lines[-1].entry.seq, timed=timed)
                new = shown.lines
            except TooLargeError:  # after a long absence the new lines alone can be too much for a view
                new, shown = self._lines_and_view(self._public_lines(kept), known.lines[-1].entry.seq)
        else:
            new = self._public_lines(kept)
            if new and self._seat((*kept, *new)) is not None:
                new, shown = self._lines_and_view(new, -1)
        with self.kept_if_refused(kept, (*taken, *new), shown.view if shown else None):
            if shown is not None:
                verify_head(kept, shown.seq, shown.head)
            if taken:
                verify_taken(taken, new)
            try:
                found = self.accept(known, new, shown)
            except LateLineError as error:
                # Without the service's word on what follows it, a late entry convicts nobody.
                with suppress(HkojiError):
                    head = self.service.head(self.vault.game)
                    verify_signed_head(head, self.vault.game, self.service.key)
                    error.head = head
                raise
        # Only the keys of the game may have shown that a seat in it is the player's.
        if self.lacks_cards(found):
            return self.refresh(timed=timed)
        if shown is not None:
            self._clock = None if shown.clock is None else (shown.head, shown.clock)
            self._signed_head = shown.signed_head
        self.vault.confirm(self.service.clock_ahead)
        return found

    def take_clock(self, head: str) -> ClockAnswer | None:
        """Returns once the answer of the last `refresh` about the entry that is due after `head`; None without one."""
        said, self._clock = self._clock, None
        return said[1] if said is not None and said[0] == head else None

    def lacks_cards(self, known: KnownGame) -> bool:
        """Returns whether a game is known only as a spectator sees it, although the player has a seat in it."""
        return known.seat is None and self._seat(known.lines) is not None

    def _lines_and_view(self, new: tuple[Line, ...], after: int) -> tuple[tuple[Line, ...], ViewAnswer]:
        """Returns new lines after the entry `after`, with those that the view brings, and the view."""
        shown = self.service.view(self.vault.game, new[-1].entry.seq if new else after)
        return (*new, *shown.lines), shown

    def _public_lines(self, kept: tuple[Line, ...]) -> tuple[Line, ...]:
        """Returns new lines of the public log. Fetches the last kept one again, to check that it is unchanged."""
        if not kept:
            return self.service.log(self.vault.game)
        last = kept[-1].entry
        lines = self.service.log(self.vault.game, last.seq - 1)
        with self.kept_if_refused(kept, lines):
            verify_head(kept, lines[0].entry.seq if lines else -1, lines[0].entry.head if lines else "")
        return lines[1:]

    def accept(
        self,
        known: KnownGame | None,
        new: tuple[Line, ...],
        shown: ViewAnswer | None,
        own: Submission | None = None,
    ) -> KnownGame:
        """Verifies new lines and a view, and keeps them. `own` has just been sent, and its receipt verified."""
        same = shown is None or (known and known.seat is not None and known.view and shown.view.text == known.view.text)
        if known is not None and not new and same:
            return known
        lines = (*(known.lines if known else ()), *new)
        if not lines:
            raise NotFoundError(tell("game"), self.vault.game)
        verify_game(new, self.vault.game)
        seat = known.seat if known is not None and known.seat is not None else self._seat(lines)
        view = self._read_view(known, shown) if shown else known.view if known else None
        openings = (*self.vault.openings(), *(shown.openings if shown else ()))
        result = self._replay(known, lines, len(new), seat, view, openings)
        verify_lines(result, lines, len(new), self.service.key, own)
        verify_heads((each.statement for each in self.evidence.heads()), lines, len(new))
        result, missing = self._with_own_cards(lines, result, seat)
        if shown is not None:
            assert seat is not None
            assert view is not None
            verify_view(view, result.steps[-1].course, seat)
        setup = result.steps[-1].course.setup
        if new:
            self.service.known_keys.meet(setup, self.identity.name if self.identity else None, seat)
        self.vault.begin(self.service.url)
        if shown is not None:
            self.vault.keep_openings(_own(shown.openings, result.steps[-1].course))
            # A view with new cards is synced in one of the two files, before the log that needs the cards.
            kept = self.evidence.keep_view(shown.view)
            self.vault.keep_view(shown.view, durable=not kept)
        if new and self.vault.append(new):
            self.say(
                tell(
                    "warning: the kept log of game {short} ended in an incomplete line; it has been completed from the "
                    "service",
                    short=self.vault.game[:8],
                )
            )
        return self._remember(self.vault.stamp(), lines, result, seat, view, self.vault.openings(), missing=missing)

    def _seat(self, lines: Sequence[Line]) -> Seat | None:
        """Returns the player's seat, found by a key that is here or by one that the player has lost."""
        identity = self.identity
        if identity is None:
            return None
        keys = {own.public for own in identity.keys} | self.service.pins.known(identity.name)
        return find_seat(lines, identity.name, keys)

    def _read_view(self, known: KnownGame | None, shown: ViewAnswer) -> View:
        """Returns the view, after checking that the service has signed it and that it takes nothing back."""
        view = verify_signed_view(shown.view, self.service.key)
        # If the log here had to be fetched again, the kept views may know more than it does.
        for before in (known.view if known else None, self.evidence.last_view()):
            if before is not None:
                verify_growth(before, view)
        return view

    def _replay(
        self,
        known: KnownGame | None,
        lines: tuple[Line, ...],
        new: int,
        seat: Seat | None,
        view: View | None,
        openings: tuple[Opening, ...],
    ) -> Replay:
        """Replays the new lines. Replays the known lines again if the new ones may reveal cards in them.

        Returns a sealed game as everybody knows it: see `_with_own_cards`.
        """
        fresh = lines[len(lines) - new :]
        if is_sealed(lines):
            return self.sealed_cards.replay_public(lines)
        if known is not None and seat == known.seat and not any(line.entry.kind in ("end", "unseal") for line in fresh):
            return continue_own(known.replay, fresh, seat, view, openings)
        if seat is not None:
            return replay_own(lines, seat, view, openings)
        return require_whole(replay(lines))

    def _with_own_cards(self, lines: tuple[Line, ...], public: Replay, seat: Seat | None) -> tuple[Replay, bool]:
        """Returns a sealed game with the player's cards, and whether they cannot be read; any other game as it is."""
        if seat is None or not is_sealed(lines):
            return public, False
        return self.sealed_cards.replay_own(lines, public, seat)

    # --- signed heads ---------------------------------------------------------------------------------------------

    def fetch_head(self, deadline: str | None = None) -> HeadStatement:
        """Fetches a signed head, checks it against the log kept here, and keeps it. Call it with the vault locked.

        One that has come with the last view is not fetched again. `deadline` is that of the entry which is due. If the
        head is later than the log, new lines are fetched first.
        Raises `TrustError`, and `NotFoundError` if no line of the game is kept here, or if the service has no heads.
        """
        known = self.require()
        signed, self._signed_head = self._signed_head or self.service.head(self.vault.game), None
        verify_signed_head(signed, self.vault.game, self.service.key)
        head = signed.statement
        if head.seq >= len(known.lines):
            known = self.refresh()
        with self.kept_if_refused(known.lines, (), head=signed):
            if head.seq >= len(known.lines):
                raise TrustError(
                    tell(
                        "the service's log ends at entry {last}, and it has signed that entry {seq} was there before",
                        last=len(known.lines) - 1,
                        seq=head.seq,
                    ),
                    hint=KEEP_FOLDER,
                )
            verify_heads((head,), known.lines, len(known.lines))
        self.evidence.keep_head(signed, deadline)
        ahead = parse_time(head.at) - parse_time(self.service.now())
        if ahead > HEAD_SECONDS:
            self.say(
                tell(
                    "warning: the service has signed a time {seconds} seconds later than the time of its answers",
                    seconds=ahead,
                )
            )
        return head

    # --- what is refused ------------------------------------------------------------------------------------------

    @contextmanager
    def kept_if_refused(
        self,
        known: Sequence[Line],
        sent: Sequence[Line],
        view: SignedEntry | None = None,
        head: SignedHead | None = None,
    ) -> Iterator[None]:
        """Keeps `sent`, `view` and `head` if the block, which checks them, refuses them; the error then says so."""
        try:
            yield
        except (TrustError, InvalidError) as error:
            from hkoji.client.refused import keep_refused  # most answers are accepted

            keep_refused(self.vault, self.service.pins, error, known, sent, view, head)
            raise

    # --- what is on disk ------------------------------------------------------------------------------------------

    def known(self) -> KnownGame | None:
        """Returns the game kept here; None if there is none. Raises `StorageError` if its files disagree.

        If the player's cards are missing here, as after a log was kept for a spectator or in a folder that is copied
        file by file, returns what a spectator sees: see `lacks_cards`.
        """
        # The stamp is taken before reading: what another command writes meanwhile is read the next time. Writers
        # replace the view before the log, so a log that is read first never needs cards that the view read next lacks.
        stamp = self.vault.stamp()
        if self._memory is not None and self._still_so(self._memory, stamp):
            return self._memory
        lines = self.vault.lines()
        if not lines:
            return None
        seat = self._seat(lines)
        view = self._kept_view()
        openings = self.vault.openings()
        try:
            try:
                result = self._replay(None, lines, len(lines), seat, view, openings)
            except NotShownError:
                seat, result = None, self._replay(None, lines, len(lines), None, view, openings)
            result, missing = self._with_own_cards(lines, result, seat)
        except TrustError as error:
            raise StorageError(
                tell("the files in {folder} contradict each other: {reason}", folder=self.vault.folder, reason=error),
                hint=tell("move log.jsonl and view.json out of that folder: they are fetched and verified again"),
            ) from error
        return self._remember(stamp, lines, result, seat, view, openings, missing=missing)

    def _kept_view(self) -> View | None:
        """Returns the later one of the two views that are kept: a power failure may take the latest."""
        views = [each for each in (self.vault.view(), self.evidence.last_view()) if each is not None]
        return max(views, key=lambda view: view.seq, default=None)

    def _still_so(self, memory: KnownGame, stamp: VaultStamp) -> bool:
        """Returns whether the files still say what is in memory. Openings of later entries make no difference."""
        if memory.stamp == stamp:
            return True
        if memory.stamp._replace(secrets=stamp.secrets, outbox=stamp.outbox) != stamp:
            return False
        if _made_for(memory.lines, self.vault.openings()) != memory.openings:
            return False
        self._memory = memory._replace(stamp=stamp)
        return True

    def require(self) -> KnownGame:
        """Returns the game kept here. Raises `NotFoundError` if there is none."""
        known = self.known()
        if known is None:
            game = self.vault.game
            raise NotFoundError(tell("game"), game, hint=tell("fetch it first with `hkoji show {game}`", game=game[:8]))
        return known

    def _remember(
        self,
        stamp: VaultStamp,
        lines: tuple[Line, ...],
        result: Replay,
        seat: Seat | None,
        view: View | None,
        openings: tuple[Opening, ...],
        *,
        missing: bool,
    ) -> KnownGame:
        made = _made_for(lines, openings)
        if missing:
            position = Position(result.steps[-1].course, seat, result.events, (), result)
        else:
            position = read_position(result, seat, self.identity.name if self.identity else None)
        self._memory = KnownGame(stamp, lines, result, seat, view, made, position, missing)
        return self._memory


def _made_for(lines: Sequence[Line], openings: Iterable[Opening]) -> tuple[Opening, ...]:
    """Returns the openings that may belong to entries in the log."""
    return tuple(each for each in openings if each.seq <= lines[-1].entry.seq)


def _own(openings: tuple[Opening, ...], course: Course) -> tuple[Opening, ...]:
    """Returns the openings that open face-down cards of the log."""
    commits = {(card.seq, card.part): card.commit for card in course.face_down}
    game = course.setup.game
    return tuple(each for each in openings if commits.get((each.seq, each.part)) == each.commitment(game))
