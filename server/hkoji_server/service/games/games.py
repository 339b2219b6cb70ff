"""Games: submissions, and seats whose key was revoked.

docs/spec/http.md, "Games". The referee is `hkoji.referee`; this module gives it a store. It keeps games it has seen
lately as values, and never trusts them: the store's compare-and-swap decides, so any number of processes may run this
code at once. A game that is behind is brought up to date from the store, and the submission is decided anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hkoji import referee
from hkoji.errors import (
    BlockedError,
    BusyError,
    ClockError,
    ConflictError,
    ForbiddenError,
    HkojiError,
    IllegalError,
    MalformedError,
    NotAcceptedError,
    NotFoundError,
    RevokedError,
    StorageError,
    TimeOverError,
    TooManyError,
)
from hkoji.game import entry_kinds
from hkoji.game.clock import Way
from hkoji.game.course import Course, Stage
from hkoji.game.entry_kinds import NEWCOMER_KINDS, parse_body
from hkoji.game.entry_kinds.key_changes import Delegate, Revoke, Revoked
from hkoji.game.entry_kinds.time import LapseReason
from hkoji.game.submission import Submission
from hkoji.log import sshsig
from hkoji.log.canonical import decode_base64
from hkoji.log.line import SERVER_NAME, Entry, Line, entry_namespace
from hkoji.log.mail_claim import MAIL
from hkoji.log.private_key import Signer
from hkoji.log.public_key import PublicKey, parse_public_key
from hkoji.log.statement import parse_revocation
from hkoji.messages.text import tell
from hkoji_server.service.games.invitations import Invitations
from hkoji_server.service.games.loaded_games import (
    TRIES,
    LoadedGame,
    LoadedGames,
    Submitted,
    append_of,
    undecided,
    write_own,
)
from hkoji_server.service.games.proof_worker import ProofWorker
from hkoji_server.service.games.submitted_proofs import SubmittedProofs
from hkoji_server.service.players.held_players import HeldPlayers
from hkoji_server.service.players.limits import AuthorCount, RateLimits, UncountedError
from hkoji_server.service.time.service_time import ServiceTime
from hkoji_server.store.closing import Closing
from hkoji_server.store.contract import Store
from hkoji_server.store.game_values import Append
from hkoji_server.store.player_tables import Player, RetiredKey
from hkoji_server.store.players import verify_not_revoked
from hkoji_server.store.time_contract import StaleDecisionError


class MailArrival(NamedTuple):
    """The mail that has led to what the service submits for its player: when it was received, and how it is closed.

    `ended` closes it if a statement ends the game.
    """

    received: str
    closing: Closing
    ended: Closing | None = None


class Games:
    """Use cases that write to games that were offered. `signer` is the service's key."""

    def __init__(
        self,
        store: Store,
        held: LoadedGames,
        time: ServiceTime,
        signer: Signer,
        invitations: Invitations,
        held_players: HeldPlayers,
        limits: RateLimits,
        proofs: ProofWorker,
        seed_due: Callable[[str], None],
    ) -> None:
        """`seed_due` is called with each game in which a held seat owes its `seed` after what this process appends."""
        self._proofs = proofs
        self._held_players = held_players
        self._seed_due = seed_due
        self._limits = limits
        self._invitations = invitations
        self._store = store
        self._held = held
        self._time = time
        self._signer = signer

    async def submit(
        self,
        game: str,
        submission: Submission,
        *,
        refused: TooManyError | None = None,
        arrival: MailArrival | None = None,
    ) -> Submitted:
        """Accepts a submission, or repeats the answer to one; with `refused` it only repeats answers.

        A submission by mail has come at its `arrival`. Raises what `referee.accept` raises, `NotFoundError`,
        `ClockError`, and `ConflictError` with the head when the game has moved on.
        """
        entry = submission.entry
        if entry.game != game:
            raise MalformedError(tell("submission"), tell("the entry does not belong to the game in the address"))
        held, current = await self._held.recall(game)
        count = AuthorCount(self._limits, entry.by) if arrival is None else None
        sealed = held.refereed.course.sealed is not None
        proofs = SubmittedProofs(self._proofs, submission, count) if sealed and count is not None else None
        late = False
        tries = 0
        while True:
            try:
                course = held.refereed.course
                if entry.seq <= course.seq and arrival is not None:  # it is on record only if its mail is closed
                    raise ConflictError(game, seq=course.seq, head=course.head)
                if entry.seq <= course.seq:
                    return await self._repeat(held.refereed, submission)
                if refused is not None:
                    raise refused
                lines, after = await self._append(held, submission, arrival, count, proofs, current=current)
            except ConflictError:
                before, held, current = held, await self._held.refresh(held), True
                if held.refereed.course.head == before.refereed.course.head:
                    raise
                continue
            except StaleDecisionError as error:
                tries += 1
                if tries == TRIES:
                    raise undecided() from error
                await self._time.read_outages()
            except TimeOverError:
                if late:
                    raise
                # Another process may have kept a gift of time, or recorded an outage.
                late = True
                await self._time.read_outages()
            except HkojiError as error:
                if current or isinstance(error, BusyError | ClockError):
                    raise
            else:
                self._held.keep(after)
                course = after.refereed.course
                if (seat := course.seed_seat) is not None and course.setup.held(seat):
                    self._seed_due(game)
                return Submitted(lines, fresh=True)
            held, current = await self._held.refresh(held), True

    async def opening(self, offered: LoadedGame, submission: Submission, closing: Closing, at: str) -> Append:
        """Returns the append that opens a game which is added together with it, at the time `at`.

        `closing` closes the mail that asks for the game. Raises what `submit` raises for an `open`.
        """
        entry, outages = submission.entry, self._time.outages
        invited = await self._way_of_invited(entry)
        await self._check_choices(offered.refereed.course, entry)
        accepted = referee.accept(offered.refereed, submission, signer=self._signer, at=at)
        key = _key_text(offered.refereed, submission)
        return append_of(offered, accepted, outages, key=key, closing=closing, invited=invited)[0]

    async def recover(self, game: str, player: str, proof: str) -> Submitted:
        """Replaces a player's revoked key by their new one, if they owe the next entry. A second call changes nothing.

        `proof` is the new key's, for the next entry. Raises what `referee.revoke` raises, `NotFoundError`, `ClockError`
        and `ForbiddenError` if there is no key to replace, or the player does not play in the game.
        """
        for _ in range(TRIES):
            held = await self._held.read(game)
            setup = held.refereed.course.setup
            seat = setup.require_seat(player)
            old, registered = setup.keys[seat], await self._store.player(player)
            assert old is not None
            assert registered is not None  # only registered players get a seat, and none is ever removed
            if old.text == registered.key:
                return await self._recovered(held.refereed, seat)
            retired = await self._store.retired(old.text)
            if retired is None or not retired.revoked:
                raise ForbiddenError(
                    tell("the key of {name} in game {game} has not been revoked", name=player, game=game[:8]),
                    hint=tell("a valid key signs its own replacement: look at the game again"),
                )
            body = Revoke(
                parse_public_key(registered.key), player, old, decode_base64(proof, "proof"), _revocation(retired)
            )
            at, outages = await self._time.time_of_record(), self._time.outages
            accepted = referee.revoke(held.refereed, body, signer=self._signer, at=at)
            try:
                await write_own(self._store, self._held, held, accepted, outages, key=registered.key, by=player)
            except (ConflictError, StaleDecisionError):
                await self._time.read_outages()
            else:
                return Submitted(accepted.lines, fresh=True)
        raise undecided()

    async def _recovered(self, refereed: referee.RefereedGame, seat: int) -> Submitted:
        changes = [change for change in refereed.course.setup.replaced if change.seat == seat and change.vouched]
        if not changes:
            raise ForbiddenError(tell("the game already uses the registered key"))
        lines = await self._store.lines(refereed.course.setup.game, changes[-1].seq - 1)
        return Submitted(lines[:1], fresh=False)

    # --- one submission -------------------------------------------------------------------------------------------

    async def _way_of_invited(self, entry: Entry) -> Way:
        """Returns the way that is open to the player whom an `open` invites: mail if their key is held here."""
        match entry.body.get("invite"):
            case {"key": str(key)} if await self._store.held_key(key) is not None:
                return Way.MAIL
            case _:
                return Way.HTTP

    async def _append(
        self,
        held: LoadedGame,
        submission: Submission,
        arrival: MailArrival | None,
        count: AuthorCount | None,
        proofs: SubmittedProofs | None,
        *,
        current: bool,
    ) -> tuple[tuple[Line, ...], LoadedGame]:
        """Appends a submission, for which the store asks in its own thread.

        Returns the lines that it adds, and the game after them. The store checks the author's key in the transaction of
        every append. After any other error the key is checked here, so that the author of a refused entry learns first
        that the key is revoked. An entry that a revoked key has signed does not count for its player.
        """
        course, entry = held.refereed.course, submission.entry
        now = await self._time.now()
        if proofs is not None:
            now = proofs.came(now)
        at, closing = (now, None) if arrival is None else (arrival.received, arrival.closing)
        outages, key = self._time.outages, _key_text(held.refereed, submission)
        try:
            if entry.kind in NEWCOMER_KINDS:
                await self._check_registered(course, entry, key, None if closing is None else closing.registers)
            invited = await self._way_of_invited(entry) if entry.kind == entry_kinds.Open.KIND else None

            made: list[tuple[Append, LoadedGame]] = []

            def decided() -> tuple[Append, LoadedGame]:
                if not made:  # by hand: a cache that is made for each entry takes as long as reading it
                    counting = held.counting(outages, at)
                    accepted = referee.accept(
                        held.refereed,
                        submission,
                        signer=self._signer,
                        at=at,
                        gifts=held.gifts,
                        outages=counting,
                        verify=None if proofs is None else proofs.verify,
                    )
                    made.append(append_of(held, accepted, outages, key=key, closing=closing, invited=invited))
                return made[0]

            unproven = () if proofs is None else proofs.wanting(decided)
            if entry.kind in (*NEWCOMER_KINDS, Delegate.KIND):
                if proofs is None:
                    decided()
                # Only an entry that is signed and in its place: nobody else learns who has blocked whom.
                await self._check_beside_log(course, entry, current=current)
            if proofs is not None and unproven:
                if not current and await self._store.head(entry.game) != (course.seq, course.head):
                    raise ConflictError(entry.game, seq=course.seq, head=course.head)
                await self._verify_not_revoked(key)
                await proofs.check(unproven, at, joined=course.actor is not None)
            try:
                await self._store.append(lambda: decided()[0] if count is None else count.counted(decided()[0]))
            except UncountedError:
                assert count is not None
                await self._verify_not_revoked(key)
                await count.ask()
                await self._store.append(decided()[0])
        except (StaleDecisionError, StorageError):
            raise
        except NotFoundError:  # an offer that was removed because nobody had opened it
            self._held.forget(entry.game)
            raise
        except HkojiError:
            try:
                await self._verify_not_revoked(key)
            except RevokedError:
                if count is not None:
                    count.give_back()
                raise
            raise
        append, after = decided()
        return append.lines, after

    async def _check_beside_log(self, course: Course, entry: Entry, *, current: bool) -> None:
        """Checks what no log shows: with whom players and the service have to do.

        If `course` is `current`, a refusal is the answer, and an offer that must not be opened like this is removed.
        """
        if entry.kind == Delegate.KIND:
            await self._held_players.verify_delegation(Delegate.parse(entry.body), entry.by)
            return
        try:
            await self._check_choices(course, entry)
        except (BlockedError, NotAcceptedError, IllegalError):
            if current and entry.kind == entry_kinds.Open.KIND:
                await self._store.withdraw_offer(entry.game, entry.by)
            raise

    async def _repeat(self, refereed: referee.RefereedGame, submission: Submission) -> Submitted:
        """Repeats the first answer if the log has `submission` at its place; else raises `ConflictError`.

        Raises `TimeOverError` if the log has there what the author's delay has brought.
        """
        entry = submission.entry
        stored = await self._store.lines(entry.game, entry.seq - 1)
        if stored:
            _verify_not_ended_instead(refereed.course, entry, stored[0])
        if not stored or stored[0].entry.text != entry.text or entry.by == SERVER_NAME:
            raise ConflictError(entry.game, seq=refereed.course.seq, head=refereed.course.head)
        key = _author_key(refereed.course, submission, entry.seq)
        sshsig.verify(submission.sig, key, entry_namespace(entry), entry.message, entry.by)
        added = [stored[0]]
        for line in stored[1:]:
            if line.entry.by != SERVER_NAME:
                break
            added.append(line)
        return Submitted(tuple(added), fresh=False)

    async def _verify_not_revoked(self, key: str) -> None:
        """Raises `RevokedError` for a revoked key. An empty key is not checked."""
        if key:
            verify_not_revoked(await self._store.retired(key))

    async def _check_choices(self, course: Course, entry: Entry) -> None:
        """Checks that the invited player accepts this invitation, or that the host has not blocked this guest."""
        body = parse_body(entry.kind, entry.body)
        host = course.setup.names[0]
        if isinstance(body, entry_kinds.Open):
            await self._held_players.verify_opening(
                course.setup.agreement, body, entry.by, sealed=course.sealed is not None
            )
            if isinstance(body.invite, entry_kinds.Invite):
                await self._invitations.verify_may_invite(entry.by, body.invite.name)
        elif host is not None:
            await self._invitations.verify_may_join(host, entry.by)

    async def _check_registered(self, course: Course, entry: Entry, key: str, registers: Player | None) -> None:
        """Checks that a newcomer's key is registered, and that the game was offered to the one who opens it.

        `registers` is the player who is registered with this entry.
        """
        verify_not_revoked(await self._store.retired(key))
        player = registers or await self._store.player(entry.by)
        if player is None or player.key != key:
            raise ForbiddenError(
                tell("{by} is not registered here with that key", by=entry.by),
                hint=tell("register with `hkoji register --server URL`"),
            )
        if entry.kind == entry_kinds.Open.KIND and course.stage is Stage.OPEN:
            history = await self._store.history(entry.game)
            if history is None or history.secrets.offered_to != entry.by:
                raise ForbiddenError(tell("game {game} was offered to another player", game=entry.game[:8]))


def _key_text(refereed: referee.RefereedGame, submission: Submission) -> str:
    """Returns the key that must have signed a submission.

    It is empty for an author who does not play in the game. The referee reports that, but faults of form and place
    first.
    """
    entry = submission.entry
    if entry.kind in NEWCOMER_KINDS:
        key = parse_body(entry.kind, entry.body).newcomer_key()
    else:
        setup = refereed.course.setup
        seat = setup.seat_of(entry.by)
        key = None if seat is None else setup.key_at(seat, entry.seq, by_mail=MAIL in entry.body)
    return "" if key is None else key.text


def _verify_not_ended_instead(course: Course, entry: Entry, line: Line) -> None:
    """Raises `TimeOverError` if `line`, at the place of `entry`, says that the time for `entry` was over."""
    body = parse_body(line.entry.kind, line.entry.body) if line.entry.by == SERVER_NAME else None
    owed = (entry_kinds.Seed.KIND, entry_kinds.Move.KIND, entry_kinds.Release.KIND)
    if isinstance(body, entry_kinds.Timeout) and entry.kind in owed:
        if course.setup.seat_of(entry.by) == body.seat:
            raise TimeOverError(entry.game, None)
    elif isinstance(body, entry_kinds.Lapse) and entry.kind == entry_kinds.Join.KIND:
        expires = course.setup.agreement.expires
        if body.reason == LapseReason.EXPIRED and expires is not None:
            raise TimeOverError(entry.game, expires)


def _author_key(course: Course, submission: Submission, seq: int) -> PublicKey:
    """Returns the key with which the author must sign entry `seq`."""
    entry = submission.entry
    key = course.setup.key_at(course.setup.require_seat(entry.by), seq, by_mail=MAIL in entry.body)
    assert key is not None
    return key


def _revocation(retired: RetiredKey) -> Revoked | None:
    """Returns the revocation that the lost key has signed itself, if there is one."""
    if retired.text is None or retired.sig is None or retired.new_sig is not None:
        return None
    statement = parse_revocation(retired.text)
    return Revoked(statement.at, statement.origin, decode_base64(retired.sig, "signature"))
