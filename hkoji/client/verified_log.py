"""One game's log as this player has verified it, on disk and in memory.

docs/spec/log.md, "Client rules". New lines and views are checked against everything kept here before they are kept; the
lines on disk have been checked and are only replayed. A new line must continue the log kept here, and be signed by the
key that the log names for its author; its receipt must be by the service's pinned key and not earlier than the one
before; no salt may occur twice. Call `accept` and `refresh` with the vault locked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from hkoji.audit.checks import (
    require_receipt,
    verify_new_salt,
    verify_receipt,
    verify_receipt_time,
    verify_same_receipt,
    verify_signatures,
)
from hkoji.audit.times import TimedLine, TimePass, find_time_fault
from hkoji.client.answers import ViewAnswer
from hkoji.client.identity import Identity
from hkoji.client.kept_evidence import Refusals
from hkoji.client.service import Service
from hkoji.client.signed_heads import verify_heads
from hkoji.client.vault import Vault, VaultStamp
from hkoji.errors import HkojiError, NotFoundError, NotShownError, StorageError, TooLargeError, TrustError
from hkoji.game.commitments import Opening
from hkoji.game.course import Course
from hkoji.game.entry_kinds import End, EntryBody, RevealBody
from hkoji.game.position import Position, read_position
from hkoji.game.replay import Replay, replay
from hkoji.game.submission import Submission
from hkoji.game.view import KEEP_FOLDER, continue_own, find_seat, replay_own, require_whole, verify_growth, verify_view
from hkoji.log.line import Line
from hkoji.log.public_key import PublicKey
from hkoji.log.statement import View
from hkoji.messages.text import tell
from hkoji.rules.events import Seat


def verify_game(lines: Sequence[Line], game: str) -> None:
    """Checks that `lines` are of the game that was asked for. Raises `TrustError`."""
    for line in lines:
        if line.entry.game != game:
            raise TrustError(
                tell(
                    "the service answered with game {other} when asked for {game}",
                    other=line.entry.game[:8],
                    game=game[:8],
                ),
                hint=tell("nothing was accepted"),
            )


def verify_lines(
    result: Replay, lines: Sequence[Line], new: int, server: PublicKey, own: Submission | None = None
) -> None:
    """Checks signatures, receipts and salts of the last `new` of `lines`, which are the steps of `result`.

    `own` has been signed here, and the receipt of its line has been verified; both are not verified once more.
    Raises `TrustError`.
    """
    first = len(lines) - new
    if first == 0 and result.steps[0].course.setup.server_key != server:
        raise TrustError(
            tell(
                "the game is signed by another service key than the one you know, {fingerprint}",
                fingerprint=server.fingerprint,
            ),
            hint=tell("nothing was accepted; ask the operator of the service, over another channel, what its key is"),
        )
    salts: set[str] = set()
    if any(_opened(step.body) for step in result.steps[first:]):  # all earlier entries are looked at only then
        salts = {opening.salt for step in result.steps[:first] for opening in _opened(step.body)}
    timed = [TimedLine(line, step.body) for line, step in zip(lines, result.steps, strict=True)]
    for number, line in enumerate(lines[first:], first):
        step = result.steps[number]
        before = result.steps[number - 1].course if number else step.course
        try:
            signer = before.signer(step.entry, step.body)
            if not _is(line, own, signer):
                verify_signatures(line.entry, line.sig, signer, step.body)
                verify_receipt(require_receipt(line), line.entry, server)
            if number and (earlier := lines[number - 1].receipt):
                verify_receipt_time(require_receipt(line).receipt, earlier.receipt)
            for opening in _opened(step.body):
                verify_new_salt(opening, salts)
        except HkojiError as error:
            raise _refusal(number, error) from error
    for which in TimePass:
        # An answer of the service contains whole transactions. So all that belongs to its last entry is there.
        fault = find_time_fault(which, timed, worded=len(lines) - 1, settled=len(lines), first=first)
        if fault is not None:
            raise _refusal(fault.entry, fault.error) from fault.error


def _refusal(number: int, error: HkojiError) -> TrustError:
    reason = tell("the service sent an entry {number} that does not hold: {reason}", number=number, reason=error)
    return TrustError(reason, hint=KEEP_FOLDER)


def _is(line: Line, own: Submission | None, signer: PublicKey) -> bool:
    """Returns whether a line is that of `own`, signed by the key that must have signed it."""
    from hkoji.log import sshsig

    return (
        own is not None
        and (line.entry.text, line.sig) == (own.entry.text, own.sig)
        and sshsig.parse(own.sig).public == signer
    )


def verify_taken(taken: Sequence[Line], lines: Sequence[Line]) -> None:
    """Checks that the log holds the entries for which the service has just given receipts, with the same receipts.

    Raises `TrustError`.
    """
    shown = {line.entry.seq: line for line in lines}
    for line in taken:
        seq, then = line.entry.seq, shown.get(line.entry.seq)
        if then is None or then.entry.head != line.entry.head:
            raise TrustError(
                tell("the service's log does not have the entry {seq} that the service has just confirmed", seq=seq),
                hint=KEEP_FOLDER,
            )
        given, again = line.receipt, then.receipt
        # A receipt for another entry does not hold, and `verify_lines` reports it.
        if given and again and given.receipt.head == line.entry.head:
            try:
                verify_same_receipt(given.receipt, again.receipt)
            except HkojiError as error:
                raise TrustError(error.message, hint=KEEP_FOLDER) from error


def _opened(body: EntryBody) -> tuple[Opening, ...]:
    return body.openings if isinstance(body, RevealBody | End) else ()


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
    """The game of `vault` at `service`, as `identity` sees it (None: as a spectator). `say` gets warnings."""

    def __init__(self, vault: Vault, service: Service, identity: Identity | None, say: Callable[[str], None]) -> None:
        self.vault: Final = vault
        self.service: Final = service
        self._identity: Final = identity
        self.refusals: Final = Refusals(vault, service.pins)
        self._say = say
        self._memory: KnownGame | None = None

    # --- what is new ----------------------------------------------------------------------------------------------

    def refresh(self, taken: tuple[Line, ...] = ()) -> KnownGame:
        """Fetches, verifies and keeps new lines and views. `taken` are lines that the service has just confirmed."""
        known = self.known()
        kept = known.lines if known else ()
        shown: ViewAnswer | None = None
        if known is not None and (known.seat is not None or self.lacks_cards(known)):
            try:
                shown = self.service.view(self.vault.game, known.lines[-1].entry.seq)
                new = shown.lines
            except TooLargeError:  # after a long absence the new lines alone can be too much for a view
                new, shown = self._lines_and_view(self._public_lines(kept), known.lines[-1].entry.seq)
        else:
            new = self._public_lines(kept)
            if new and self._seat((*kept, *new)) is not None:
                new, shown = self._lines_and_view(new, -1)
        with self.refusals.kept_if_refused(kept, (*taken, *new), shown.view if shown else None):
            if shown is not None:
                verify_head(kept, shown.seq, shown.head)
            verify_taken(taken, new)
            found = self.accept(known, new, shown)
        # Only the keys of the game may have shown that a seat in it is the player's.
        if self.lacks_cards(found):
            return self.refresh()
        self.vault.confirm()
        return found

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
        with self.refusals.kept_if_refused(kept, lines):
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
        seat = self._seat(lines)
        view = self._read_view(known, shown) if shown else known.view if known else None
        openings = (*self.vault.openings(), *(shown.openings if shown else ()))
        result = self._replay(known, lines, len(new), seat, view, openings)
        verify_lines(result, lines, len(new), self.service.key, own)
        verify_heads((each.statement for each in self.refusals.kept.heads()), lines, len(new))
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
            # A view with new cards is synced in one of the two files, before the log that needs the cards.
            kept = self.refusals.kept.keep_view(shown.view)
            self.vault.keep_view(shown.view, durable=not kept)
        if new and self.vault.append(new):
            self._say(
                tell(
                    "warning: the kept log of game {short} ended in an incomplete line; it has been completed from the "
                    "service",
                    short=self.vault.game[:8],
                )
            )
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
        """Replays the new lines. Replays the known lines again if the new ones may reveal cards in them."""
        fresh = lines[len(lines) - new :]
        if known is not None and seat == known.seat and not any(line.entry.kind in ("end", "unseal") for line in fresh):
            return continue_own(known.replay, fresh, seat, view, openings)
        if seat is not None:
            return replay_own(lines, seat, view, openings)
        return require_whole(replay(lines))

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
        except TrustError as error:
            raise StorageError(
                tell("the files in {folder} contradict each other: {reason}", folder=self.vault.folder, reason=error),
                hint=tell("move log.jsonl and view.json out of that folder: they are fetched and verified again"),
            ) from error
        return self._remember(stamp, lines, result, seat, view, openings)

    def _kept_view(self) -> View | None:
        """Returns the later one of the two views that are kept: a power failure may take the latest."""
        views = [each for each in (self.vault.view(), self.refusals.kept.last_view()) if each is not None]
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
    ) -> KnownGame:
        made = _made_for(lines, openings)
        position = read_position(result, seat, self._identity.name if self._identity else None)
        self._memory = KnownGame(stamp, lines, result, seat, view, made, position)
        return self._memory


def _made_for(lines: Sequence[Line], openings: Iterable[Opening]) -> tuple[Opening, ...]:
    """Returns the openings that may belong to entries in the log."""
    return tuple(each for each in openings if each.seq <= lines[-1].entry.seq)


def _own(openings: tuple[Opening, ...], course: Course) -> tuple[Opening, ...]:
    """Returns the openings that open face-down cards of the log."""
    commits = {(card.seq, card.part): card.commit for card in course.face_down}
    game = course.setup.game
    return tuple(each for each in openings if commits.get((each.seq, each.part)) == each.commitment(game))
