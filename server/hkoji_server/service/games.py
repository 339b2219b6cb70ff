"""Games: offers, submissions, logs and views.

docs/spec/http.md, "Games". The referee is `hkoji.referee`; this module gives it a store. It keeps games it has seen
lately as values, and never trusts them: the store's compare-and-swap decides, so any number of processes may run this
code at once. A game that is behind is brought up to date from the store, and the submission is tried again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from hkoji import referee
from hkoji.errors import (
    ConflictError,
    ForbiddenError,
    HkojiError,
    MalformedError,
    NotFoundError,
    StorageError,
    TooManyError,
)
from hkoji.game import entry_kinds
from hkoji.game.agreement import Agreement
from hkoji.game.course import Course, Stage
from hkoji.game.entry_kinds import NEWCOMER_KINDS, parse_body
from hkoji.game.entry_kinds.key_changes import Revoke, Revoked
from hkoji.game.submission import Submission
from hkoji.log import sshsig
from hkoji.log.canonical import decode_base64
from hkoji.log.entry import SERVER_NAME, Entry
from hkoji.log.line import Line, StoredLine
from hkoji.log.private_key import Signer
from hkoji.log.public_key import PublicKey, parse_public_key
from hkoji.log.statement import parse_revocation
from hkoji.messages.text import tell
from hkoji.rules.protocol import Ruleset, State
from hkoji_server.service.clock_and_entropy import ClockAndEntropy
from hkoji_server.service.decision import Decision, append_of, summarise
from hkoji_server.service.rate_limits import RateLimits
from hkoji_server.service.view_cache import OwnView, ViewCache
from hkoji_server.store.contract import GameSummary, NewGame, RetiredKey, Store
from hkoji_server.store.player_keys import verify_not_revoked


class Submitted(NamedTuple):
    """The lines that a submission added to the log; `fresh` is False if it was accepted earlier."""

    lines: tuple[Line, ...]
    fresh: bool


class Games:
    """Use cases about games. `signer` is the service's key; at most `cached` games are kept in memory."""

    def __init__(
        self, store: Store, sources: ClockAndEntropy, signer: Signer, *, cached: int, limits: RateLimits | None = None
    ) -> None:
        self._limits = limits or RateLimits()
        self._store = store
        self._sources = sources
        self._signer = signer
        self._cached = cached
        self._cache: OrderedDict[str, referee.RefereedGame] = OrderedDict()
        self._views = ViewCache(cached)

    async def offer(self, ruleset: Ruleset, agreement: Agreement, player: str) -> Line:
        """Creates a game that only `player` may open, and returns its first line."""
        game, seed = self._sources.entropy(16).hex(), self._sources.entropy(32).hex()
        accepted = referee.offer(game, ruleset, seed, signer=self._signer, at=self._sources.at(), agreement=agreement)
        (line,) = accepted.lines
        summary = summarise(accepted.refereed, created=accepted.refereed.at)
        await self._store.add_game(NewGame(summary, line, seed, player, accepted.refereed.at, outages=0))
        return line

    async def submit(self, game: str, submission: Submission, *, refused: TooManyError | None = None) -> Submitted:
        """Accepts a submission, or repeats the answer to one; with `refused` it only repeats answers.

        Raises what `referee.accept` raises, `NotFoundError`, and `ConflictError` with the head when the game has
        moved on.
        """
        entry = submission.entry
        if entry.game != game:
            raise MalformedError(tell("submission"), tell("the entry does not belong to the game in the address"))
        refereed, current = await self._recall(game)
        counted = False
        while True:
            before = refereed
            try:
                if entry.seq <= refereed.course.seq:
                    return await self._repeat(refereed, submission)
                if refused is not None:
                    raise refused
                decision = Decision(
                    refereed, submission, self._signer, self._sources.at(), _key_text(refereed, submission)
                )
                if entry.kind in NEWCOMER_KINDS:
                    await self._check_registered(refereed.course, entry, decision.key)
                if self._limits.of_players and not counted:
                    await self._verify_not_revoked(decision.key)
                    decision()
                    await self._limits.admit_player(entry.by)
                    counted = True
                await self._append(decision)
            except ConflictError:
                refereed, current = await self._refresh(refereed), True
                if refereed.course.head == before.course.head:
                    raise
            except HkojiError:
                if current:
                    raise
                refereed, current = await self._refresh(refereed), True
            else:
                self._remember(decision.accepted.refereed)
                return Submitted(decision.accepted.lines, fresh=True)

    async def recover(self, game: str, player: str, proof: str) -> Submitted:
        """Replaces a player's revoked key by their new one, if they owe the next entry. A second call changes nothing.

        `proof` is the new key's, for the next entry. Raises what `referee.revoke` raises, `NotFoundError`, and
        `ForbiddenError` if there is no key to replace, or the player does not play in the game.
        """
        while True:
            refereed = await self._current(game)
            setup = refereed.course.setup
            seat = setup.require_seat(player)
            old, registered = setup.keys[seat], await self._store.player(player)
            assert old is not None
            assert registered is not None  # only registered players get a seat, and none is ever removed
            if old.text == registered.key:
                return await self._recovered(refereed, seat)
            retired = await self._store.retired(old.text)
            if retired is None or not retired.revoked:
                raise ForbiddenError(
                    tell("the key of {name} in game {game} has not been revoked", name=player, game=game[:8]),
                    hint=tell("a valid key signs its own replacement: look at the game again"),
                )
            body = Revoke(
                parse_public_key(registered.key), player, old, decode_base64(proof, "proof"), _revocation(retired)
            )
            accepted = referee.revoke(refereed, body, signer=self._signer, at=self._sources.at())
            try:
                await self._store.append(append_of(refereed, accepted, registered.key))
            except ConflictError:
                if (await self._refresh(refereed)).course.head == refereed.course.head:
                    raise
            else:
                self._remember(accepted.refereed)
                return Submitted(accepted.lines, fresh=True)

    async def _recovered(self, refereed: referee.RefereedGame, seat: int) -> Submitted:
        changes = [change for change in refereed.course.setup.replaced if change.seat == seat and change.vouched]
        if not changes:
            raise ForbiddenError(tell("the game already uses the registered key"))
        lines = await self._store.lines(refereed.course.setup.game, changes[-1].seq - 1)
        return Submitted(lines[:1], fresh=False)

    async def summary(self, game: str) -> GameSummary:
        """Returns a game's summary. Raises `NotFoundError`."""
        summary = await self._store.summary(game)
        if summary is None:
            raise NotFoundError(tell("game"), game)
        return summary

    async def spectate(self, game: str) -> tuple[GameSummary, State]:
        """Returns a game as a spectator sees it; when it is over, with everything that its log has revealed.

        Summary and position are of one moment. Raises `NotFoundError`.
        """
        summary = await self.summary(game)
        course = (await self._recall(game))[0].course
        while course.head != summary.head:  # moved on meanwhile, here or in another process
            course = (await self._current(game)).course
            summary = await self.summary(game)
        return summary, _visible_state(course, None)

    async def log(self, game: str, after: int) -> tuple[str, tuple[StoredLine, ...]]:
        """Returns the head and the lines after entry number `after`. Raises `NotFoundError`."""
        while True:
            lines = await self._store.written(game, after)
            if lines:
                return lines[-1].head, lines
            head = await self._store.head(game)
            if head is None:
                raise NotFoundError(tell("game"), game)
            if head[0] <= after:  # else an entry came between the two reads
                return head[1], ()

    async def view(
        self, game: str, player: str, after: int, encode: Callable[[OwnView], bytes]
    ) -> tuple[bytes, tuple[StoredLine, ...]]:
        """Returns what `player` may see of their game, as bytes made by `encode`, and the lines after number `after`.

        The bytes are cached for one head. The lines end where the view does. Raises `NotFoundError`, and
        `ForbiddenError` if the player does not play in the game.
        """
        at = await self._store.head(game)
        if at is None:
            raise NotFoundError(tell("game"), game)
        seq, head = at
        body = self._views.get(game, head, player)
        if body is None:
            refereed = await self._game_at(game, head)
            seq, head = refereed.course.seq, refereed.course.head
            body = encode(self._own_view(refereed, player))
            self._views.keep(game, head, player, body)
        return body, (await self._store.written(game, after))[: seq - after] if after < seq else ()

    def _own_view(self, refereed: referee.RefereedGame, player: str) -> OwnView:
        course = refereed.course
        seat = course.setup.require_seat(player, hint=tell("anyone may see its public log"))
        view = referee.view(refereed, seat)
        state = _visible_state(course, seat)
        decides = course.stage is Stage.PLAY and course.actor == seat
        return OwnView(
            view=view,
            sig=self._signer.sign(sshsig.VIEW, view.message),
            course=course,
            state=state,
            legal=state.legal_actions() if decides else (),
            openings=referee.own_openings(refereed, seat),
        )

    # --- games in memory -----------------------------------------------------------------------------------------

    async def _recall(self, game: str) -> tuple[referee.RefereedGame, bool]:
        """Returns a game as this process last saw it, and whether it has just been read."""
        refereed = self._cache.get(game)
        if refereed is not None:
            self._cache.move_to_end(game)
            return refereed, False
        history = await self._store.history(game)
        if history is None:
            raise NotFoundError(tell("game"), game)
        refereed = referee.resume(history.lines, history.secrets.seed, history.secrets.openings)
        self._remember(refereed)
        return refereed, True

    async def _current(self, game: str) -> referee.RefereedGame:
        """Returns a game as the store has it now."""
        refereed, current = await self._recall(game)
        if current or await self._store.head(game) == (refereed.course.seq, refereed.course.head):
            return refereed
        return await self._refresh(refereed)

    async def _game_at(self, game: str, head: str) -> referee.RefereedGame:
        """Returns a game at `head`, which the store has just returned, or later."""
        refereed, current = await self._recall(game)
        return refereed if current or refereed.course.head == head else await self._refresh(refereed)

    async def _refresh(self, refereed: referee.RefereedGame) -> referee.RefereedGame:
        game = refereed.course.setup.game
        history = await self._store.history(game, refereed.course.seq)
        if history is None:  # the same
            self._cache.pop(game, None)
            raise NotFoundError(tell("game"), game)
        if not history.lines:
            return refereed
        refereed = referee.catch_up(refereed, history.lines, history.secrets.openings)
        self._remember(refereed)
        return refereed

    def _remember(self, refereed: referee.RefereedGame) -> None:
        game = refereed.course.setup.game
        held = self._cache.get(game)
        if held is None or held.course.seq < refereed.course.seq:
            self._cache[game] = refereed
        self._cache.move_to_end(game)
        while len(self._cache) > self._cached:
            self._cache.popitem(last=False)

    # --- one submission -------------------------------------------------------------------------------------------

    async def _append(self, decision: Decision) -> None:
        """Appends the decision, for which the store asks in its own thread. Raises `RevokedError` for a revoked key.

        The store checks the key in the transaction of every move. After any other error the key is checked here, so
        that the author of a refused entry learns first that the key is revoked.
        """
        try:
            await self._store.append(decision)
        except StorageError:
            raise
        except NotFoundError:  # an offer that was removed because nobody had opened it
            self._cache.pop(decision.game, None)
            raise
        except HkojiError:
            await self._verify_not_revoked(decision.key)
            raise

    async def _repeat(self, refereed: referee.RefereedGame, submission: Submission) -> Submitted:
        """Repeats the first answer if the log has `submission` at its place; else raises `ConflictError`."""
        entry = submission.entry
        stored = await self._store.lines(entry.game, entry.seq - 1)
        if not stored or stored[0].entry.text != entry.text or entry.by == SERVER_NAME:
            raise ConflictError(entry.game, seq=refereed.course.seq, head=refereed.course.head)
        key = _author_key(refereed.course, submission, entry.seq)
        sshsig.verify(submission.sig, key, sshsig.ENTRY, entry.message, entry.by)
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

    async def _check_registered(self, course: Course, entry: Entry, key: str) -> None:
        """Checks that a newcomer's key is registered, and that the game was offered to the one who opens it."""
        verify_not_revoked(await self._store.retired(key))
        player = await self._store.player(entry.by)
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
        key = None if seat is None else setup.keys[seat]
    return "" if key is None else key.text


def _author_key(course: Course, submission: Submission, seq: int) -> PublicKey:
    """Returns the key with which the author must sign entry `seq`."""
    key = course.setup.key_at(course.setup.require_seat(submission.entry.by), seq)
    assert key is not None
    return key


def _revocation(retired: RetiredKey) -> Revoked | None:
    """Returns the revocation that the lost key has signed itself, if there is one."""
    if retired.text is None or retired.sig is None or retired.new_sig is not None:
        return None
    statement = parse_revocation(retired.text)
    return Revoked(statement.at, statement.origin, decode_base64(retired.sig, "signature"))


def _visible_state(course: Course, seat: int | None) -> State:
    return course.state if course.stage is Stage.OVER else course.state.project(seat)
