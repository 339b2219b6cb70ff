"""One game's log as this player has verified it, on disk and in memory.

docs/spec/log.md, "Client rules". New lines and views are checked against everything kept here before they are kept; the
lines on disk have been checked and are only replayed. Call `accept` and `refresh` with the vault locked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from hkoji.client.answers import ViewAnswer
from hkoji.client.identity import Identity
from hkoji.client.incremental_check import verify_game, verify_head, verify_lines, verify_taken
from hkoji.client.kept_evidence import Refusals
from hkoji.client.service import Service
from hkoji.client.vault import Vault, VaultStamp
from hkoji.errors import HkojiError, NotFoundError, StorageError, TrustError
from hkoji.game.course import Course
from hkoji.game.openings import Opening
from hkoji.game.position import Position, read_position
from hkoji.game.replay import Replay, replay
from hkoji.game.view import continue_own, find_seat, replay_own, sound, verify_growth, verify_view
from hkoji.log.line import Line
from hkoji.log.statement import View
from hkoji.messages.text import tell
from hkoji.rules.events import Seat


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


class VerifiedLog:
    """The game of `vault` at `service`, as `identity` sees it (None: as a spectator)."""

    def __init__(self, vault: Vault, service: Service, identity: Identity | None) -> None:
        self.vault: Final = vault
        self.service: Final = service
        self._identity: Final = identity
        self.refusals: Final = Refusals(vault, service.pins)
        self._memory: KnownGame | None = None

    # --- what is new ----------------------------------------------------------------------------------------------

    def refresh(self, taken: tuple[Line, ...] = ()) -> KnownGame:
        """Fetches, verifies and keeps new lines and views. `taken` are lines that the service has just confirmed."""
        known = self.known()
        kept = known.lines if known else ()
        shown: ViewAnswer | None = None
        if known is not None and known.seat is not None:
            shown = self.service.view(self.vault.game, known.lines[-1].entry.seq)
            new = shown.lines
        else:
            new = self._public_lines(kept)
            if new and self._seat(new) is not None:
                shown = self.service.view(self.vault.game, new[-1].entry.seq)
                new = (*new, *shown.lines)
        with self.refusals.kept_if_refused(kept, (*taken, *new), shown.view if shown else None):
            if shown is not None:
                verify_head(kept, shown.seq, shown.head)
            verify_taken(taken, new)
            return self.accept(known, new, shown)

    def _public_lines(self, kept: tuple[Line, ...]) -> tuple[Line, ...]:
        """Returns new lines of the public log. Fetches the last kept one again, to check that it is unchanged."""
        if not kept:
            return self.service.log(self.vault.game)
        last = kept[-1].entry
        lines = self.service.log(self.vault.game, last.seq - 1)
        with self.refusals.kept_if_refused(kept, lines):
            verify_head(kept, lines[0].entry.seq if lines else -1, lines[0].entry.head if lines else "")
        return lines[1:]

    def accept(self, known: KnownGame | None, new: tuple[Line, ...], shown: ViewAnswer | None) -> KnownGame:
        """Verifies new lines and a view, and keeps them."""
        if known is not None and not new and (shown is None or (known.view and shown.view.text == known.view.text)):
            return known
        lines = (*(known.lines if known else ()), *new)
        if not lines:
            raise NotFoundError(tell("game"), self.vault.game)
        verify_game(new, self.vault.game)
        seat = self._seat(lines)
        view = self._read_view(known, shown) if shown else known.view if known else None
        openings = (*self.vault.openings(), *(shown.openings if shown else ()))
        result = self._replay(known, lines, len(new), seat, view, openings)
        verify_lines(result, lines, len(new), self.service.key)
        if shown is not None:
            assert seat is not None
            assert view is not None
            verify_view(view, result.steps[-1].course, seat)
        setup = result.steps[-1].course.setup
        if new:
            self.service.known_keys.meet(setup, self._identity.name if self._identity else None)
        self.vault.begin(self.service.url)
        if shown is not None:
            self.vault.keep_openings(_own(shown.openings, result.steps[-1].course))
            self.refusals.kept.keep_view(shown.view)
            self.vault.keep_view(shown.view)
        if new:
            self.vault.append(new)
        return self._remember(self.vault.stamp(), lines, result, seat, view, self.vault.openings())

    def _seat(self, lines: Sequence[Line]) -> Seat | None:
        """Returns the player's seat, found by a key that is here or by one that the player has lost."""
        identity = self._identity
        if identity is None:
            return None
        keys = {own.public for own in identity.keys} | self.service.pins.known(identity.name)
        return find_seat(lines, identity.name, keys)

    def _read_view(self, known: KnownGame | None, shown: ViewAnswer) -> View:
        """Returns the view, after checking that the service has signed it and that it takes nothing back."""
        from hkoji.log import sshsig
        from hkoji.log.entry import SERVER_NAME
        from hkoji.log.statement import parse_view

        try:
            view = parse_view(shown.view.text)
            sshsig.verify(shown.view.sig, self.service.key, sshsig.VIEW, view.message, SERVER_NAME)
        except HkojiError as error:
            raise TrustError(
                tell("the service's view does not hold: {reason}", reason=error), hint=tell("nothing was accepted")
            ) from error
        # If the log here had to be fetched again, the kept views may know more than it does.
        for before in (known.view if known else None, self.refusals.kept.last_view()):
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
        """Replays the new lines; also the known ones if the new ones may reveal cards of theirs."""
        fresh = lines[len(lines) - new :]
        if known is not None and seat == known.seat and not any(line.entry.kind in ("end", "unseal") for line in fresh):
            return continue_own(known.replay, fresh, seat, view, openings)
        if seat is not None:
            return replay_own(lines, seat, view, openings)
        return sound(replay(lines))

    # --- what is on disk ------------------------------------------------------------------------------------------

    def known(self) -> KnownGame | None:
        """Returns the game kept here; None if there is none. Raises `StorageError` if its files disagree."""
        # The stamp is taken before reading: what another command writes meanwhile is read the next time. Writers
        # replace the view before the log, so a log that is read first never needs cards that the view read next lacks.
        stamp = self.vault.stamp()
        if self._memory is not None and self._still_so(self._memory, stamp):
            return self._memory
        lines = self.vault.lines()
        if not lines:
            return None
        seat = self._seat(lines)
        view = self.vault.view()
        openings = self.vault.openings()
        try:
            result = self._replay(None, lines, len(lines), seat, view, openings)
        except TrustError as error:
            raise StorageError(
                tell("the files in {folder} contradict each other: {reason}", folder=self.vault.folder, reason=error),
                hint=tell("move log.jsonl and view.json out of that folder: they are fetched and verified again"),
            ) from error
        return self._remember(stamp, lines, result, seat, view, openings)

    def _still_so(self, memory: KnownGame, stamp: VaultStamp) -> bool:
        """Returns whether the files still say what is in memory. Openings of later entries make no difference."""
        if memory.stamp == stamp:
            return True
        if memory.stamp._replace(secrets=stamp.secrets) != stamp:
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
    ) -> KnownGame:
        made = _made_for(lines, openings)
        self._memory = KnownGame(stamp, lines, result, seat, view, made, read_position(result, seat))
        return self._memory


def _made_for(lines: Sequence[Line], openings: Iterable[Opening]) -> tuple[Opening, ...]:
    """Returns the openings that may belong to entries in the log."""
    return tuple(each for each in openings if each.seq <= lines[-1].entry.seq)


def _own(openings: tuple[Opening, ...], course: Course) -> tuple[Opening, ...]:
    """Returns the openings that open face-down cards of the log."""
    commits = {(card.seq, card.part): card.commit for card in course.face_down}
    game = course.setup.game
    return tuple(each for each in openings if commits.get((each.seq, each.part)) == each.commitment(game))
