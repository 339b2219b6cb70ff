"""One game of one player: looks at it, and makes what the player decides into entries.

docs/spec/log.md, "Client rules". `Client.game` locks the game's folder; every method that sends relies on that.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from hkoji.client.answers import REFUSALS
from hkoji.client.identity import Identity
from hkoji.client.kept.game import Vault
from hkoji.client.kept_game import GameTime, KeptGame, TimeKeeper, read_kept
from hkoji.client.sending import EntrySender, not_joined
from hkoji.client.service import Service, utc_now
from hkoji.client.verified_log import KnownGame, VerifiedLog
from hkoji.errors import ConflictError, IllegalError, NetworkError, StorageError, TrustError
from hkoji.game import entry_kinds
from hkoji.game.course import Course, Stage
from hkoji.game.position import Position, action_of, time_of_record
from hkoji.game.submission import Submission, draft_move
from hkoji.log.line import Line
from hkoji.messages.text import tell
from hkoji.rules.events import Seat

if TYPE_CHECKING:
    from hkoji.client.sealed_play import SealedPlayer
    from hkoji.client.seats import SealedWish, SeatTaker
    from hkoji.client.talk import GameTalk


class MadeMove(NamedTuple):
    """The position after the player's entry has its receipt, and the number of that entry in the log."""

    position: Position
    seq: int


class ClientGame:
    """The game of `vault` at `service`. `identity` is None for a spectator without one.

    Its methods raise the service's errors, `NetworkError` without an answer, and `TrustError` for an answer that does
    not hold.
    """

    def __init__(
        self,
        vault: Vault,
        service: Service,
        identity: Identity | None,
        entropy: Callable[[int], bytes],
        say: Callable[[str], None],
    ) -> None:
        self.vault: Final = vault
        self.service: Final = service
        self._entropy = entropy
        self._say = say
        self.record: Final = VerifiedLog(vault, service, identity, say)
        self._sender: Final = EntrySender(self.record)
        self.time: Final = TimeKeeper(self._sender)

    @cached_property
    def talk(self) -> GameTalk:
        """The messages of the two players."""
        from hkoji.client.talk import GameTalk

        return GameTalk(self._sender)

    @cached_property
    def seats(self) -> SeatTaker:
        """The part that opens and joins the game."""
        from hkoji.client.seats import SeatTaker

        return SeatTaker(self._sender, self._entropy, lambda: self.sealed)

    @cached_property
    def sealed(self) -> SealedPlayer:
        """The part that makes entries of a sealed game."""
        from hkoji.client.sealed_play import SealedPlayer

        return SealedPlayer(self._sender)

    # --- looking --------------------------------------------------------------------------------------------------

    def stored(self) -> Position:
        """Returns the game as last seen. Raises `NotFoundError` if it never was, `StorageError` without its cards."""
        return self._last_seen().position

    def kept(self) -> KeptGame:
        """Returns the game as last seen, with its age. Raises what `stored` raises."""
        known = self._last_seen()
        return read_kept(self.vault, known, self.service.now(), lambda made: self.sealed.signed_action(known, made))

    def _last_seen(self) -> KnownGame:
        known = self.record.require()
        if self.record.lacks_cards(known):
            raise StorageError(
                tell("your cards are not in {folder}", folder=self.vault.folder),
                hint=tell("the service has them: `hkoji show {short}`", short=known.position.short),
            )
        return known

    def lines(self) -> tuple[Line, ...]:
        """Returns the verified log as last seen."""
        known = self.record.known()
        return known.lines if known else ()

    def log(self) -> tuple[Line, ...]:
        """Returns the log as it stands now, verified."""
        self.current()
        return self.lines()

    def current(self, *, timed: bool = False) -> Position:
        """Sends a waiting entry, fetches new lines, reveals the player's entropy if due, and returns the game.

        If `timed`, it also fetches what `TimeKeeper.current` shows.
        """
        self._deliver_waiting()
        return self._settle(timed=timed)

    def unsettled(self) -> Position:
        """Returns the game like `current`, but sends nothing that is due: what is said about the last entry counts."""
        self._deliver_waiting()
        return self.record.refresh().position

    def _deliver_waiting(self) -> None:
        try:
            self._sender.deliver_pending()
        except REFUSALS as error:
            self._say(tell("the service did not accept the entry that waited here: {reason}", reason=error))

    def look(self) -> tuple[Position, GameTime]:
        """Returns the game as it stands now, and its time: see `current` and `TimeKeeper.current`."""
        self.current(timed=True)
        time = self.time.current()
        return self.record.require().position, time

    def _settle(self, *, timed: bool = False, deals: bool = True) -> Position:
        """Fetches new lines, and sends what needs no decision of the player: a new key, a `delegate`, entropy.

        Unless it `deals`, it gives and turns up no cards of a sealed game.
        """
        try:
            return self._settled(timed=timed, deals=deals)
        except ConflictError as error:  # another home of the player has been faster
            return self.moved_on(self.record.require().position.course.head, error)

    def moved_on(self, head: str, error: ConflictError) -> Position:
        """Returns the game after a refusal because it has moved on from `head`. Raises `TrustError` if it has not."""
        position = self.record.refresh().position
        if position.course.head == head:
            # Nothing was faster. Silence would cost the player the game: the clock runs.
            raise TrustError(
                tell("the service refuses what follows entry {seq}, and shows no later one", seq=error.seq),
                hint=tell("nothing was changed; try again, or compare your log with your opponent's"),
            ) from error
        return position

    def _settled(self, *, timed: bool, deals: bool = True) -> Position:
        known = self.record.refresh(timed=timed)
        if self._sender.bring_key(known):
            known = self._fresh()
        if self._sender.delegate(known):
            known = self._fresh()
        course, seat = known.position.course, known.seat
        if seat is None or seat not in (course.debtor, course.seed_seat) or (course.sealed is not None and not deals):
            return known.position
        if course.sealed is None:
            return self._reveal(known, seat)
        return self.sealed.settle(known, lambda: self._reveal(known, seat), lambda: self._settled(timed=False))

    def _reveal(self, known: KnownGame, seat: Seat) -> Position:
        """Sends the player's `seed`, and returns the game. Says why if it cannot."""
        if not self.seats.reveal(known.position.course, seat):
            self._say(
                tell(
                    "game {short} waits for your entropy, but it is not in {folder}",
                    short=known.position.short,
                    folder=self.vault.folder,
                )
            )
            return known.position
        return self._fresh().position

    def release_here(self) -> Position:
        """Goes on in this home with a round that the player has locked on another machine, and returns the game.

        Raises `IllegalError` if there is no such round.
        """
        self._deliver_waiting()
        self.sealed.allow_here(self.record.refresh())
        return self._settle()

    # --- own entries ----------------------------------------------------------------------------------------------

    def open(
        self, invite: entry_kinds.Invite | None, *, by_link: bool = False, sealed: SealedWish | None = None
    ) -> Position:
        """Opens the offered game, unless it is open already; `by_link` for whoever has the link with its code.

        A sealed game is opened only with a `sealed` wish, and another one only without.
        """
        self.seats.open(invite, by_link=by_link, sealed=sealed)
        return self._fresh().position

    def join(
        self,
        agree: Callable[[Course], None] = lambda _course: None,
        code: str | None = None,
        sealed: SealedWish | None = None,
    ) -> Position:
        """Joins the game, unless the player has joined already, and reveals the player's entropy.

        `agree` is called with the game before anything is signed; what it raises ends the attempt. `code` is that of
        the link by which the player joins. With a `sealed` wish only a sealed game is joined (else `TrustError`), and
        without it none (else `SealedGameError`). Raises `LoginError` if there is no player here, `ConflictError` if
        somebody else has joined, `GameOverError`, and `TrustError` if the game was not opened by this link.
        """
        self.seats.join(agree, code, sealed)
        return self._settle()

    def decline(self, why: str | None = None) -> Position:
        """Declines the invitation to this game, perhaps with a reason, and returns the game, which is over.

        Raises `ForbiddenError` if nobody, or somebody else, is invited, and `ConflictError` or `GameOverError` if the
        game has begun or ended.
        """
        self._sender.player()
        self.service.decline(self.vault.game, why)
        position = self.record.refresh().position
        if not position.over:
            raise TrustError(
                tell("the service says that you have declined, and its log of the game does not have that"),
                hint=tell("try again; if it goes on, ask its operator"),
            )
        return position

    def move(
        self, notation: str, *, head: str | None = None, note: Callable[[Submission], None] | None = None
    ) -> MadeMove:
        """Makes a move. It is checked here first, and again by the service.

        If the last command broke off, its move is sent first; if that is the same move, no other is made. With `head`
        the move is made only directly after the entry with that hash. `note` gets the signed move before it is kept.
        Raises the errors of `Position.choose`, and `ConflictError` if another move was waiting and has arrived now, or
        if the game has moved on from `head`.
        """
        position, done = self._after_pending("move")
        course = position.course
        if head not in (None, course.head):
            raise ConflictError(course.setup.game, seq=course.seq, head=course.head)
        if done is not None:
            return self._made_before(position, done, notation)
        known = self.record.require()
        submission = self._make_move(known, notation)
        if note is not None:
            note(submission)
        if known.position.course.sealed is None:
            self._sender.send(submission, known)
        else:
            self.sealed.send_move(submission, known)
        return MadeMove(self._fresh().position, submission.entry.seq)

    def try_move(self, notation: str) -> tuple[Position, str]:
        """Returns the position after a move, and the move in canonical notation, by the game as last seen.

        Sends and writes nothing; needs no lock. Raises the errors of `Position.choose`.
        """
        known = self._last_seen()
        self.require_cards()
        action = _choose(known.position, notation)
        if known.position.course.sealed is not None:
            return self.sealed.try_move(known, action), action
        from hkoji.client.tried_move import after_move

        return after_move(known, self.vault.openings(), action, self._sender.player().name), action

    def require_cards(self) -> None:
        """Raises `MissingSealedKeyError` or `NoSodiumError` if the player's cards in a sealed game cannot be read."""
        known = self.record.require()
        if known.sealed_key_missing:
            assert known.seat is not None
            self.record.sealed_cards.sealer(known.position.course, known.seat)

    def resign(self) -> MadeMove:
        """Gives the game up. It opens no card of a sealed game. Raises `IllegalError` before anyone has joined."""
        position, done = self._after_pending("resign", deals=False)
        if done is not None:
            return MadeMove(position, done)
        position.verify_player(hint=tell("nothing was sent"))
        if position.course.stage is Stage.JOIN:
            raise not_joined(position.short)
        return self._leave(position.course, entry_kinds.Resign())

    def cancel(self) -> MadeMove:
        """Takes back a game that nobody has joined. Raises `IllegalError` for any other."""
        position, done = self._after_pending("cancel")
        if done is not None:
            return MadeMove(position, done)
        hint = tell("nothing was sent")
        if position.invited:
            hint = tell("nothing was sent; to decline the invitation: `hkoji decline {short}`", short=position.short)
        position.verify_player(hint=hint)
        if position.course.stage is not Stage.JOIN or position.seat != 0:
            hint = tell("nothing was sent; you can give the game up with `hkoji resign {short}`", short=position.short)
            raise IllegalError(tell("a game can be cancelled only by its host, and before anyone joins"), hint=hint)
        return self._leave(position.course, entry_kinds.Cancel())

    def sign(self, notation: str) -> Submission:
        """Signs a move without sending it, and keeps the entry and the openings of its commitments.

        Uses the game as last seen; asks the service only if no move was due then.
        """
        known = self.record.require()
        if not known.position.legal and not known.position.over:
            try:
                self.current()
                known = self.record.require()
            except NetworkError as error:
                self._say(tell("{reason}; using the game as last seen", reason=error))
        submission = self._make_move(known, notation)
        self._sender.warn(submission)
        if known.position.course.sealed is not None:
            self.vault.keep_made(submission)
        self.vault.keep_signed(submission)
        return submission

    # --- the steps ------------------------------------------------------------------------------------------------

    def _leave(self, course: Course, body: entry_kinds.Resign | entry_kinds.Cancel) -> MadeMove:
        self._sender.post(course, body)
        return MadeMove(self._fresh().position, course.seq + 1)

    def _make_move(self, known: KnownGame, notation: str) -> Submission:
        course = known.position.course
        self.require_cards()
        action = _choose(known.position, notation)
        if course.sealed is not None:
            return self.sealed.move(known, action)
        seen, player = time_of_record(known.lines[-1]), self._sender.player()
        draft = draft_move(course, action, self._entropy, by=player.name, at=utc_now(), seen=seen)
        return draft.sign(self._sender.signer(course))

    def _fresh(self) -> KnownGame:
        """Returns the known game, with a new view if this player may have been dealt cards since the last one."""
        known = self.record.require()
        view, course = known.view, known.position.course
        if course.sealed is not None:  # no view has a card
            return known
        if known.seat is not None and (view is None or (known.position.mine and view.seq != course.seq)):
            return self.record.refresh()
        return known

    def _after_pending(self, kind: str, *, deals: bool = True) -> tuple[Position, int | None]:
        """Returns the current game, and the number of a waiting entry of a kind if it is in the log now."""
        pending = self.vault.outbox()
        self._deliver_waiting()
        position = self._settle(deals=deals)
        if pending is None or pending.entry.kind != kind:
            return position, None
        lines, seq = self.lines(), pending.entry.seq
        return position, seq if seq < len(lines) and lines[seq].entry.text == pending.entry.text else None

    def _made_before(self, position: Position, seq: int, notation: str) -> MadeMove:
        """Checks that the move of a command that broke off, which has arrived now, is the requested one."""
        steps = position.replay.steps
        made = action_of(steps[seq])
        if steps[seq - 1].course.state.parse_action(notation) == made:
            return MadeMove(position, seq)
        raise ConflictError(
            position.course.setup.game,
            seq=position.course.seq,
            head=position.course.head,
            hint=tell("your earlier move {made} has arrived as entry {seq}; nothing else was sent", made=made, seq=seq),
        )


def _choose(position: Position, notation: str) -> str:
    short = position.short
    return position.choose(notation, wait=f"hkoji wait {short}", show=f"hkoji show {short}", join=f"hkoji join {short}")
