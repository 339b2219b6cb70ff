"""The keys of the players of a game, compared with those that are pinned here, before anything is accepted.

docs/spec/log.md, "Client rules", "Other keys" and "Held keys".
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, NamedTuple

from hkoji.client.answers import PlayerAnswer
from hkoji.client.kept.home import Pins
from hkoji.errors import HkojiError, TrustError
from hkoji.game.setup import Setup
from hkoji.log import sshsig
from hkoji.log.canonical import decode_base64
from hkoji.log.public_key import PublicKey
from hkoji.log.statement import parse_new_key
from hkoji.messages.text import tell
from hkoji.rules.events import Seat


class LearnedKey(NamedTuple):
    """A key that was not known before; `counts` says whether it is now the player's current key."""

    key: PublicKey
    counts: bool


class KnownKeys:
    """The keys of one service's players, as this player knows them. `say` gets a remark when a key has changed.

    `ask` returns what the service says of a player's keys.
    """

    def __init__(self, pins: Pins, ask: Callable[[str], PlayerAnswer], say: Callable[[str], None]) -> None:
        self._pins: Final = pins
        self._ask = ask
        self._say = say

    def meet(self, setup: Setup, me: str | None, seat: Seat | None = None) -> None:
        """Pins the new keys of a game's players. Raises `TrustError` before anything is pinned.

        `me` is the player's own name, and `seat` theirs, found by their key. In a game by link that a guest has joined,
        the link has introduced the other player's first key.
        """
        found: list[tuple[str, LearnedKey]] = []
        verify_held_keys(self._pins, setup, me)
        for number in (0, 1):
            name = setup.names[number]
            if name is not None:
                found += [(name, learnt) for learnt in self._learn(setup, number, name, mine=name == me)]
        for name, learnt in found:
            if not learnt.counts:
                self._pins.remember(name, learnt.key)
                continue
            if name in self._pins.players:
                self._say(
                    tell("{name} has another key now: {fingerprint}", name=name, fingerprint=learnt.key.fingerprint)
                )
            self._pins.pin_player(name, learnt.key)
        for held in setup.held_keys:
            name, key = setup.names[held.seat], held.gateway.key
            assert name is not None
            if held.only:
                if not self._pins.said_held(name, key):
                    self._pins.note_held(name, key)
            elif not self._pins.said_delegated(name, key):
                self._pins.note_delegated(name, key)
                if name != me:
                    self._say(
                        tell(
                            "from entry {entry} on the service signs for {name} too, by mail, as {name} has signed",
                            entry=held.since + 1,
                            name=name,
                        )
                    )
        if setup.link is not None and seat is not None:
            other = setup.names[1 - seat]
            if other is not None:
                self._pins.introduce(other, setup.all_keys(1 - seat)[0])

    def _learn(self, setup: Setup, seat: int, name: str, *, mine: bool) -> list[LearnedKey]:
        """Returns the new keys of a seat, in order."""
        known, current = self._pins.known(name), self._pins.players.get(name)
        changes = [change for change in setup.replaced if change.seat == seat]
        first, *later = setup.all_keys(seat)
        new: list[LearnedKey] = []
        proved = _before_known((first, *later), known)
        if current is None:
            new.append(LearnedKey(first, counts=True))
            current = first
        elif first not in known and proved:
            new += [LearnedKey(key, counts=False) for key in proved]
            known = {*known, *proved}
        elif first not in known and mine and self._pins.trusted(name, first):
            new.append(LearnedKey(first, counts=False))
        elif first not in known:
            steps = self._successors(name)
            followed, before = _follow(steps, current, first), _follow(steps, first, current)
            if followed or self._pins.trusted(name, first):
                new += [*(LearnedKey(key, counts=False) for key in followed[:-1]), LearnedKey(first, counts=True)]
                current = first
            elif before:  # an old game: the current key has signed that it follows this one
                new += [LearnedKey(key, counts=False) for key in (first, *before[:-1]) if key not in known]
            else:
                raise _another(name, first, current, mine=mine)
        for change, key in zip(changes, later, strict=True):
            if key in known:
                continue
            if change.vouched and not self._pins.trusted(name, key):
                if mine:
                    raise _taken_over(setup, key)
                held = any(each.only and each.gateway.key == change.old for each in setup.held_keys)
                raise _vouched(name, key, change.old, held=held)
            # An old game may show how an earlier key was introduced. That does not make it the current key again.
            counts = change.old == current
            current = key if counts else current
            new.append(LearnedKey(key, counts))
        return new

    def _successors(self, name: str) -> dict[PublicKey, PublicKey]:
        """Returns the changes of a player's key, from the old key to the new, that both have signed.

        There is none without an answer, or if one does not hold.
        """
        found = {}
        try:
            for each in self._ask(name).earlier:
                if each.text is None or each.sig is None or each.new_sig is None:
                    continue
                step = parse_new_key(each.text)
                if step.name != name or step.old != each.key or not self._pins.certifies(step.origin):
                    continue
                for key, sig in ((step.old, each.sig), (step.key, each.new_sig)):
                    sshsig.verify(decode_base64(sig, "signature"), key, sshsig.NEW_KEY, step.message, name)
                found[step.old] = step.key
        except HkojiError:
            return {}
        return found


def verify_held_keys(pins: Pins, setup: Setup, me: str | None) -> None:
    """Checks the keys that the service says it holds for players of a game. Raises `TrustError`.

    A certificate must be of the origin of this service. A player who is known with a key of their own must have let the
    service sign themselves, by a `delegate`.
    """
    for held in setup.held_keys:
        name, key = setup.names[held.seat], held.gateway.key
        assert name is not None
        if me is not None and not pins.certifies(held.gateway.origin):
            raise TrustError(
                tell(
                    "the key that signs for {name} is certified by another service, {origin}",
                    name=name,
                    origin=held.gateway.origin,
                ),
                hint=tell("nothing was accepted; only this service can hold a key for a player here"),
            )
        own = pins.players.get(name)
        # The player knows themselves that it was held: the recovery has kept it as an earlier key of theirs.
        expected = pins.said_held(name, key) or pins.trusted(name, key) or (name == me and key in pins.known(name))
        if held.only and own is not None and not expected:
            raise TrustError(
                tell(
                    "the service says that it signs for {name} with the key {shown}, and you know {name} with {known}",
                    name=name,
                    shown=key.fingerprint,
                    known=own.fingerprint,
                ),
                hint=tell(
                    "nothing was accepted; ask {name}, over another channel than this service; if they play by mail "
                    "now: hkoji trust {name} {shown}",
                    name=name,
                    shown=key.fingerprint,
                ),
            )


def _before_known(keys: Sequence[PublicKey], known: Collection[PublicKey]) -> tuple[PublicKey, ...]:
    """Returns the keys of a seat before its first known one, which are the player's, too.

    Each key has signed in the game that it replaces the one before, also where the service has declared the change.
    """
    place = next((number for number, key in enumerate(keys) if key in known), 0)
    return tuple(keys[:place])


def _follow(steps: Mapping[PublicKey, PublicKey], start: PublicKey, end: PublicKey) -> list[PublicKey]:
    """Returns the keys after `start` up to `end`, if a chain of steps leads there. Both keys have signed each step."""
    left, key, passed = dict(steps), start, list[PublicKey]()
    while key != end and key in left:
        key = left.pop(key)
        passed.append(key)
    return passed if key == end else []


def _another(name: str, key: PublicKey, known: PublicKey, *, mine: bool) -> TrustError:
    if mine:
        hint = tell(
            "nothing was accepted; if it is an earlier key of yours, of before a recovery: hkoji trust {name} {shown}; "
            "if not, ask the operator of the service whose it is",
            name=name,
            shown=key.fingerprint,
        )
    else:
        hint = tell(
            "nothing was accepted; ask {name}, over another channel than this service, which key is right; "
            "if it is the new one: hkoji trust {name} {shown}",
            name=name,
            shown=key.fingerprint,
        )
    return TrustError(
        tell(
            "{name} plays with another key than before: {shown}, not {known}",
            name=name,
            shown=key.fingerprint,
            known=known.fingerprint,
        ),
        hint=hint,
    )


def _vouched(name: str, key: PublicKey, old: PublicKey, *, held: bool) -> TrustError:
    return TrustError(
        tell(
            "the service says that {name}, for whom it has signed until now, has a key of their own: {shown}",
            name=name,
            shown=key.fingerprint,
        )
        if held
        else tell(
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
