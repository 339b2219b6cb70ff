"""A player's own cards in a sealed game, which no service shows: they are read from the log with a sealed key.

docs/spec/sealed.md, "How a client makes them". Other games load nothing of this.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

from hkoji.client.kept.game import Vault
from hkoji.client.kept.home import Home
from hkoji.client.kept.sealed import MissingSealedKeyError, SealedKeys
from hkoji.client.sealing import OwnCards, Sealer, rounds_of, seat_knowledge
from hkoji.errors import StorageError
from hkoji.game.course import Course
from hkoji.game.knowledge import SeatKnowledge, SpectatorKnowledge
from hkoji.game.replay import NOTHING, Replay, replay, require_whole
from hkoji.game.sealing import SealedRound
from hkoji.log.line import Line
from hkoji.messages.text import tell
from hkoji.rules.events import Seat
from hkoji.sealed.sodium import NoSodiumError

UNREADABLE: Final = (MissingSealedKeyError, NoSodiumError)
"""The errors that say that the own cards cannot be read here. The game goes on: the player can still resign."""


class SealedCards:
    """Reads the cards of the game in `vault` with the sealed keys of `home`."""

    def __init__(self, vault: Vault, home: Home) -> None:
        self._vault: Final = vault
        self.keys: Final = SealedKeys(home)
        # The last reading: a log only grows, and the cards of a round that is over stay as they are.
        self._public = NOTHING
        self._own = NOTHING
        self._sealers: Final[dict[tuple[bytes, Seat, str], Sealer]] = {}
        self._rounds: tuple[tuple[SealedRound, OwnCards], ...] = ()

    def sealer(self, course: Course, seat: Seat, entropy: str | None = None) -> Sealer:
        """Returns the secrets of a seat in the game that stands as in `course`.

        `entropy` is the player's, if it is not in the log yet. Raises `MissingSealedKeyError` if the sealed key with
        which the game is played is not here, or what gives the entropy; `NoSodiumError` where PyNaCl is not installed.
        """
        setup, sealed = course.setup, course.sealed
        assert sealed is not None
        entropy = entropy or setup.entropy[seat] or self._vault.entropy(seat, setup.entropy_commits[seat])
        own = [each for each in (sealed.now, sealed.coming) if each.keys[seat] is not None]
        try:
            keys = self.keys.all()
        except StorageError as error:
            raise MissingSealedKeyError(error.message, hint=error.hint) from error
        for key in keys:
            if entropy is not None:
                if (key, seat, entropy) not in self._sealers:
                    made = Sealer(key, setup.game, seat, entropy, setup.ruleset, secrets.token_bytes)
                    self._sealers[key, seat, entropy] = made
                found = self._sealers[key, seat, entropy]
                if all(map(found.has_made, own)):
                    return found
        raise MissingSealedKeyError(
            tell("the sealed key of game {game} is not in {file}", game=setup.game[:8], file=self.keys.file),
            hint=tell(
                "nothing was sent; copy `sealed.key` from your other machine or from a backup. Without it you can only "
                "resign, or ask to call the game off"
            ),
        )

    def require_key(self, course: Course, seat: Seat) -> None:
        """Raises what `sealer` raises if the sealed key of a game that goes on is not here.

        Before the entropy of the seat is in the log, another machine may have it. Then any sealed key is accepted.
        """
        kept = course.setup.entropy[seat] or self._vault.entropy(seat, course.setup.entropy_commits[seat])
        if kept is not None or not self.keys.file.exists():
            self.sealer(course, seat)

    def replay_public(self, lines: Sequence[Line]) -> Replay:
        """Returns the game of `lines` as everybody knows it. Raises `TrustError` for an entry that is not valid."""
        before = self._public if _begins(lines, self._public) else NOTHING
        self._public = require_whole(replay(lines[len(before.steps) :], SpectatorKnowledge(), after=before))
        return self._public

    def replay_own(self, lines: Sequence[Line], public: Replay, seat: Seat) -> tuple[Replay, bool]:
        """Returns the game of `lines` as the seat knows it, and whether its cards cannot be read here.

        `public` is how everybody knows the game; it is returned if the cards cannot be read. Raises `TrustError` if a
        card that was given is none of the game.
        """
        course = public.steps[-1].course
        assert course.sealed is not None
        if not course.sealed.now.number:  # no card has been dealt
            return public, False
        try:
            knowledge = self.knowledge(public, seat)
        except UNREADABLE:
            return public, True
        before = self._own if _begins(lines, self._own) else NOTHING
        self._own = require_whole(replay(lines[len(before.steps) :], knowledge, after=before))
        return self._own, False

    def verify_coming(self, course: Course, seat: Seat, sealer: Sealer) -> None:
        """Checks the cards that a seat has got for a round that has not begun. Raises `TrustError` if they are none."""
        assert course.sealed is not None
        if course.sealed.coming.tokens(seat):
            sealer.cards(course.sealed.coming)

    def knowledge(self, public: Replay, seat: Seat) -> SeatKnowledge:
        """Returns all cards that a seat has got. Raises what `sealer` raises, and `TrustError` like `replay_own`."""
        courses = [step.course for step in public.steps]
        sealer, found = self.sealer(courses[-1], seat), list[tuple[SealedRound, OwnCards]]()
        self.verify_coming(courses[-1], seat, sealer)
        for dealt, before in zip_longest(rounds_of(courses), self._rounds):
            if dealt is not None:
                found.append(before if before is not None and before[0] == dealt else (dealt, sealer.own(dealt)))
        self._rounds = tuple(found)
        return seat_knowledge(seat, (own for _, own in found))


def _begins(lines: Sequence[Line], before: Replay) -> bool:
    """Whether `lines` begin with those of `before`, and have not fewer."""
    count = len(before.steps)
    return 0 < count <= len(lines) and lines[count - 1].entry.head == before.steps[-1].entry.head
