"""Bugs to plant in the service or the client; the machine has to find each.

Each is a plausible mistake in one place, a line or two long. Their names read like bug reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final
from unittest.mock import patch

from hkoji_server.service.games import loaded_games
from hkoji_server.service.games.games import Games
from hkoji_server.service.games.keeper import Keeper
from hkoji_server.service.games.loaded_games import Submitted
from hkoji_server.service.players.players import Players
from hkoji_server.service.time import service_time
from hkoji_server.store.sqlite.store import SqliteStore

from hkoji import referee
from hkoji.client.kept.game import Vault
from hkoji.client.sending import EntrySender
from hkoji.errors import TimeOverError
from hkoji.game import course, entry_kinds
from hkoji.game.course import Course
from hkoji.game.entry_kinds.time import find_help
from hkoji.log import sshsig
from hkoji.rules.events import Outcome

Patch = Callable[[], Any]  # Any: a patch that is not yet applied


def _late_is_taken() -> Any:
    real = referee._verify_in_time

    def verify(*given: Any) -> Any:
        try:
            return real(*given)
        except TimeOverError:
            return None

    return patch.object(referee, "_verify_in_time", verify)


def _no_credit() -> Any:
    real = referee._verify_in_time

    def verify(*given: Any) -> None:
        real(*given)

    return patch.object(referee, "_verify_in_time", verify)


def _outage_does_not_count() -> Any:
    real = find_help
    return patch.object(
        referee, "find_help", lambda course, at, until, gifts, outages: real(course, at, until, gifts, ())
    )


def _no_slack() -> Any:
    real = Keeper.look

    async def look(self: Any) -> int:
        self._slack = 0
        return await real(self)

    return patch.object(Keeper, "look", look)


def _every_clock_is_trusted() -> Any:
    return patch.object(service_time, "JUMP", 10**9)


PLANTED_IN_TIME: Final[dict[str, Patch]] = {
    "a late move is taken": _late_is_taken,
    "a gift is not written into the log": _no_credit,
    "an outage moves no deadline": _outage_does_not_count,
    "a timeout comes without slack": _no_slack,
    "a clock that has jumped is trusted": _every_clock_is_trusted,
}


Real = Any  # a function of any signature


def _stale_head() -> Any:
    real = referee.accept

    def accept(refereed: Any, submission: Any, **more: Any) -> Any:
        if submission.entry.seq == refereed.course.seq + 1:
            refereed = refereed._replace(course=refereed.course._replace(head=submission.entry.prev))
        return real(refereed, submission, **more)

    return patch.object(referee, "accept", accept)


def _another_receipt() -> Any:
    real = Games._repeat

    async def repeat(self: Any, refereed: Any, submission: Any) -> Any:
        lines = (await real(self, refereed, submission)).lines
        entry = lines[0].entry
        again = referee._receipted(entry, lines[0].sig, self._signer, await self._time.time_of_record())
        return Submitted((again, *lines[1:]), fresh=False)

    return patch.object(Games, "_repeat", repeat)


def _waiting_for_the_other() -> Any:
    real = loaded_games.summarise

    def summary(refereed: Any, **more: Any) -> Any:
        found = real(refereed, **more)
        if found.round > 1 and found.actor is not None:  # from the second round on, so that finding it takes a while
            return found._replace(to_move=refereed.course.setup.names[1 - found.actor])
        return found

    return patch.object(loaded_games, "summarise", summary)


def _invited_does_not_wait() -> Any:
    real = loaded_games.summarise

    def summary(refereed: Any, **more: Any) -> Any:
        found = real(refereed, **more)
        return found._replace(to_move=None) if found.status == "open" else found

    return patch.object(loaded_games, "summarise", summary)


def _opening_dropped() -> Any:
    real = loaded_games.append_of

    def append_of(*given: Any, **named: Any) -> Any:
        from dataclasses import replace

        append, after = real(*given, **named)
        return replace(append, openings=append.openings[:1]), after

    return patch.object(loaded_games, "append_of", append_of)


def _spectator_resigns() -> Any:
    real_signer, real_author, real_verify = Course.signer, Course._verify_author, sshsig.verify
    real_mail, real_resign = Course._verify_mail, entry_kinds.Resign.apply

    def signer(self: Any, entry: Any, body: Any) -> Any:
        stranger = isinstance(body, entry_kinds.Resign) and self.setup.seat_of(entry.by) is None
        return self.setup.keys[0] if stranger and self.setup.keys[0] else real_signer(self, entry, body)

    def verify_author(self: Any, entry: Any, author: Any) -> Any:
        return self.setup.seat_of(entry.by) if entry.kind == "resign" else real_author(self, entry, author)

    def verify(sig: Any, key: Any, namespace: str, message: bytes, by: str) -> None:
        if b'"kind":"resign"' not in message:
            real_verify(sig, key, namespace, message, by)

    def verify_mail(self: Any, entry: Any, body: Any, seat: Any) -> None:
        if entry.kind != "resign":
            real_mail(self, entry, body, seat)

    def resign(self: Any, at: Any, entry: Any, knowledge: Any) -> Any:
        if at.setup.seat_of(entry.by) is not None:
            return real_resign(self, at, entry, knowledge)
        at.expect("resign", course.Stage.GUEST_SEED, course.Stage.HOST_SEED, course.Stage.PLAY)
        return at.close(Outcome("resign", 1))

    return _all(
        patch.object(Course, "signer", signer),
        patch.object(Course, "_verify_author", verify_author),
        patch.object(sshsig, "verify", verify),
        patch.object(Course, "_verify_mail", verify_mail),
        patch.object(entry_kinds.Resign, "apply", resign),
    )


def _others_hand() -> Any:
    real = referee.view
    return patch.object(
        referee, "view", lambda refereed, seat: real(refereed, 1 - seat if refereed.course.dealt else seat)
    )


def _clock_goes_back() -> Any:
    real = referee.accept

    def accept(refereed: Any, submission: Any, **more: Any) -> Any:
        return real(refereed._replace(at="2000-01-01T00:00:00Z"), submission, **more)

    return patch.object(referee, "accept", accept)


def _login_never_ends() -> Any:
    real = SqliteStore.token
    return patch.object(SqliteStore, "token", lambda self, digest, now: real(self, digest, "2000-01-01T00:00:00Z"))


def _challenge_twice() -> Any:
    real = SqliteStore.take_challenge

    async def take(self: Any, digest: str, now: str) -> bool:
        await real(self, digest, now)
        return True

    return patch.object(SqliteStore, "take_challenge", take)


def _uninvited_guest() -> Any:
    real = entry_kinds.Join.apply

    def join(self: Any, at: Any, entry: Any, knowledge: Any) -> Any:
        after, events = real(self, at._replace(setup=at.setup._replace(invite=None)), entry, knowledge)
        return after._replace(setup=after.setup._replace(invite=at.setup.invite)), events

    return patch.object(entry_kinds.Join, "apply", join)


def _outline_not_written() -> Any:
    """The list always says that a game is being played."""
    return patch.object(loaded_games, "_outline", lambda game: game.course.setup.names)


def _salt_twice() -> Any:
    real = referee._keep

    def keep(refereed: Any, submission: Any, body: Any) -> Any:
        return refereed.openings + real(refereed._replace(openings=()), submission, body)

    return patch.object(referee, "_keep", keep)


def _signed_anew() -> Any:
    """A submission without an answer is forgotten, and the command signs another entry."""

    def deliver(self: Any) -> None:
        self.vault.clear_outbox()

    return patch.object(EntrySender, "deliver_pending", deliver)


def _sent_before_kept() -> Any:
    """The submission is written to disk only after the answer."""
    return patch.object(Vault, "keep_outbox", lambda self, submission: self.keep_openings(submission.opening))


def _racing_move_lost() -> Any:
    """A move overtaken by another counts as made."""

    async def repeat(self: Any, refereed: Any, submission: Any) -> Any:
        stored = await self._store.lines(submission.entry.game, submission.entry.seq - 1)
        return Submitted(stored[:1], fresh=False)

    return patch.object(Games, "_repeat", repeat)


def _known_for_ever() -> Any:
    """A logged-out token stays valid."""

    async def logout(self: Any, token: str) -> None:
        return

    return patch.object(Players, "logout", logout)


@contextmanager
def _all(*patches: Any) -> Iterator[None]:
    with ExitStack() as stack:
        for each in patches:
            stack.enter_context(each)
        yield


PLANTED: Final[dict[str, Patch]] = {
    "the service takes an entry that follows another head": _stale_head,
    "the same entry again gets another receipt": _another_receipt,
    "from the second round on the list waits for the wrong player": _waiting_for_the_other,
    "an invitation is not among the games that wait": _invited_does_not_wait,
    "one of two openings is not stored": _opening_dropped,
    "anybody's resignation is taken": _spectator_resigns,
    "a view shows the opponent's hand": _others_hand,
    "receipts go back in time with the clock": _clock_goes_back,
    "a login does not expire": _login_never_ends,
    "a login challenge is good twice": _challenge_twice,
    "a game by invitation is joined by another": _uninvited_guest,
    "lists do not notice that a game has ended": _outline_not_written,
    "a salt may be used twice": _salt_twice,
    "a client signs a lost move anew": _signed_anew,
    "a client sends before it has kept": _sent_before_kept,
    "an overtaken move gets a receipt": _racing_move_lost,
    "a login that was ended goes on": _known_for_ever,
    **PLANTED_IN_TIME,
}
