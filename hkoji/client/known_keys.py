"""Checks that the keys in a game are those of the players this player knows, and learns their new keys.

docs/spec/log.md, "Client rules" and "Other keys". A new key is accepted if the known one has signed for it, in the game
or at the service. A key that only the service vouches for is refused until the user has compared it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from hkoji.client.pins import Pins
from hkoji.errors import TrustError
from hkoji.game.setup import Setup
from hkoji.log.key_statements import NewKey
from hkoji.log.public_key import PublicKey
from hkoji.messages.text import tell

Successors = Callable[[str], Iterable[NewKey]]
"""Returns the verified statements by which a player's keys replaced one another, the oldest first."""


class LearnedKey(NamedTuple):
    """A key that was not known before; `counts` says whether it is now the player's current key."""

    key: PublicKey
    counts: bool


class KnownKeys:
    """The keys of one service's players, as this player knows them. `say` gets a remark when a key has changed."""

    def __init__(self, pins: Pins, successors: Successors, say: Callable[[str], None]) -> None:
        self._pins: Final = pins
        self._successors = successors
        self._say = say

    def meet(self, setup: Setup, me: str | None) -> None:
        """Pins the new keys of a game's players. Raises `TrustError` before anything is pinned.

        `me` is the player's own name.
        """
        found: list[tuple[str, LearnedKey]] = []
        for seat in (0, 1):
            name = setup.names[seat]
            if name is not None:
                found += [(name, learnt) for learnt in self._learn(setup, seat, name, mine=name == me)]
        for name, learnt in found:
            if not learnt.counts:
                self._pins.remember(name, learnt.key)
                continue
            if name in self._pins.players:
                self._say(
                    tell("{name} has another key now: {fingerprint}", name=name, fingerprint=learnt.key.fingerprint)
                )
            self._pins.pin_player(name, learnt.key)

    def _learn(self, setup: Setup, seat: int, name: str, *, mine: bool) -> list[LearnedKey]:
        """Returns the new keys of a seat, in order."""
        known, current = self._pins.known(name), self._pins.players.get(name)
        changes = [change for change in setup.replaced if change.seat == seat]
        first, *later = setup.all_keys(seat)
        new: list[LearnedKey] = []
        if current is None:
            new.append(LearnedKey(first, counts=True))
            current = first
        elif first not in known:
            steps = {step.old: step.key for step in self._successors(name)}
            followed, before = _follow(steps, current, first), _follow(steps, first, current)
            if followed or self._pins.trusted(name, first):
                new += [*(LearnedKey(key, counts=False) for key in followed[:-1]), LearnedKey(first, counts=True)]
                current = first
            elif before:  # an old game: the current key has signed that it follows this one
                new += [LearnedKey(key, counts=False) for key in (first, *before[:-1]) if key not in known]
            else:
                raise _another(name, first, current)
        for change, key in zip(changes, later, strict=True):
            if key in known:
                continue
            if change.vouched and not self._pins.trusted(name, key):
                raise _taken_over(setup, key) if mine else _vouched(name, key, change.old)
            # An old game may show how an earlier key was introduced. That does not make it the current key again.
            counts = change.old == current
            current = key if counts else current
            new.append(LearnedKey(key, counts))
        return new


def _follow(steps: Mapping[PublicKey, PublicKey], start: PublicKey, end: PublicKey) -> list[PublicKey]:
    """Returns the keys after `start` up to `end`, if a chain of steps leads there. Both keys have signed each step."""
    left, key, passed = dict(steps), start, list[PublicKey]()
    while key != end and key in left:
        key = left.pop(key)
        passed.append(key)
    return passed if key == end else []


def _another(name: str, key: PublicKey, known: PublicKey) -> TrustError:
    return TrustError(
        tell(
            "{name} plays with another key than before: {shown}, not {known}",
            name=name,
            shown=key.fingerprint,
            known=known.fingerprint,
        ),
        hint=tell(
            "nothing was accepted; ask {name}, over another channel than this service, which key is right; "
            "if it is the new one: hkoji trust {name} {shown}",
            name=name,
            shown=key.fingerprint,
        ),
    )


def _vouched(name: str, key: PublicKey, old: PublicKey) -> TrustError:
    return TrustError(
        tell(
            "the service says that {name} has lost the key {old} and now has the key {shown}",
            name=name,
            old=old.fingerprint,
            shown=key.fingerprint,
        ),
        hint=tell(
            "nothing was accepted, because only the service says so; compare the key with {name}, over another "
            "channel; if it is right: hkoji trust {name} {shown}",
            name=name,
            shown=key.fingerprint,
        ),
    )


def _taken_over(setup: Setup, key: PublicKey) -> TrustError:
    return TrustError(
        tell(
            "the service has given your seat in game {game} to another key, {shown}, which you do not have",
            game=setup.game[:8],
            shown=key.fingerprint,
        ),
        hint=tell(
            "nothing was accepted, and what that key signs is not yours; ask the operator of the service whose it is"
        ),
    )
