"""Pins: the keys that were seen first. A key that changes later counts as another person's until the user trusts it.

docs/spec/log.md, "Client rules". For each service's address: its key, the origin for which logins there are signed,
and the players' keys by name. In a game, a new key is accepted if the known one has signed for it, in the game or at
the service. A key that only the service vouches for is refused until the user has compared it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

from hkoji.client.files import intact, locked, read_json, text_or_none, write_json
from hkoji.client.home import Home
from hkoji.client.transport import same_address
from hkoji.errors import OtherOriginError, TrustError
from hkoji.game.setup import Setup
from hkoji.log.entry import SERVER_NAME
from hkoji.log.public_key import PublicKey, parse_public_key
from hkoji.log.statement import NewKey
from hkoji.messages.text import tell
from hkoji.rules.events import Seat


def registered(home: Home) -> tuple[str, ...]:
    """Returns the URLs of the services at which the player of a home has registered."""
    file = home.path / "pins.json"
    with intact(file):
        return tuple(sorted(url for url, here in read_json(file).items() if here.get("origin")))


def pinned(home: Home) -> tuple[str, ...]:
    """Returns the URLs of the services of which a home has pins."""
    file = home.path / "pins.json"
    with intact(file):
        return tuple(sorted(read_json(file)))


class KeyStanding(StrEnum):
    """How a player's key is known, from the best way to the least."""

    CONFIRMED = "confirmed"
    """The user has said that it is the player's: `hkoji trust`."""
    LINK = "link"
    """A link has introduced it. It counts as confirmed."""
    FOLLOWED = "followed"
    """The player's earlier key has signed for it."""
    SEEN = "seen"
    """It is the first key that the service has shown."""


class Pins:
    """The pins kept in a home, for one service's `url`. `say` gets a remark when a service's key is new."""

    def __init__(self, home: Home, url: str, say: Callable[[str], None]) -> None:
        self._home: Final = home
        self._file: Final = home.path / "pins.json"
        self._url: Final = url
        self._say = say
        self._kept: dict[str, Any] | None = None  # Any: JSON
        self._every: dict[str, tuple[PublicKey, ...]] | None = None

    @property
    def server_key(self) -> PublicKey | None:
        """The service's key, if one is pinned."""
        # A damaged pin must not read as None: then the next key would be accepted as the first.
        with intact(self._file):
            key = text_or_none(self._pins().get("key"))
            return None if key is None else parse_public_key(key)

    @property
    def origin(self) -> str | None:
        """The origin under which the player registered here."""
        with intact(self._file):
            return text_or_none(self._pins().get("origin"))

    @property
    def players(self) -> dict[str, PublicKey]:
        """The players' current keys by name."""
        return {name: keys[0] for name, keys in self.every.items()}

    def verify_server(self, key: PublicKey) -> None:
        """Checks the service's key. Raises `TrustError` if another one is pinned."""
        known = self.server_key
        if known is not None and known != key:
            raise TrustError(
                tell(
                    "{url} shows another key than before: {shown}, not {known}",
                    url=self._url,
                    shown=key.fingerprint,
                    known=known.fingerprint,
                ),
                hint=tell(
                    "nothing was accepted; ask its operator, over another channel than this service, which key is right"
                ),
            )

    def pin_server(self, key: PublicKey, *, by_link: bool = False) -> PublicKey:
        """Pins the service's key, after `verify_server`; `by_link` if a friend has signed what names it."""
        self.verify_server(key)
        if by_link:
            self.introduce(SERVER_NAME, key)
        if self.server_key is None:
            self._update(key=key.text)
            if by_link:
                return key
            self._say(
                tell(
                    "the key of {url} is {fingerprint}: compare it with the key that the operator gives you",
                    url=self._url,
                    fingerprint=key.fingerprint,
                )
            )
        return key

    def verify_origin(self, origin: str, key: PublicKey, confirmed: str | None = None) -> None:
        """Checks that logins for `origin` may be signed at this address, for the service with `key`.

        A service states its own origin, so anybody who passes its answers on states it too, and gets the logins. Hence
        it must be this address, or the origin that is pinned here, or `confirmed` by the user.
        Raises `OtherOriginError`, and `TrustError` if a service with another key has the same origin.
        """
        with intact(self._file):
            others = [
                url
                for url, here in read_json(self._file).items()
                if url != self._url and here.get("origin") == origin and here.get("key") != key.text
            ]
        for url in others:
            raise TrustError(
                tell(
                    "{url} calls itself {origin}, which is the name of another service, {other}",
                    url=self._url,
                    origin=origin,
                    other=url,
                ),
                hint=tell("nothing was signed; one of the two pretends to be the other"),
            )
        if confirmed is not None and confirmed != origin:
            raise TrustError(
                tell("{url} says that it is {origin}, not {named}", url=self._url, origin=origin, named=confirmed),
                hint=tell("nothing was signed or kept; ask its operator which address is right"),
            )
        if confirmed is None and origin != self.origin and not same_address(self._url, origin):
            raise OtherOriginError(self._url, origin)

    def pin_origin(self, origin: str) -> None:
        """Keeps the origin for which logins are signed here, after `verify_origin`."""
        if not same_address(self._url, origin):
            self._say(
                tell("{url} calls itself {origin}: logins here are signed for that name", url=self._url, origin=origin)
            )
        self._update(origin=origin)

    def known(self, name: str) -> set[PublicKey]:
        """Returns all pinned keys of a player, the current one and earlier ones."""
        return set(self.every.get(name, ()))

    @property
    def every(self) -> dict[str, tuple[PublicKey, ...]]:
        """All players' keys by name, each with the current one first."""
        if self._every is None:
            with intact(self._file):
                pins = self._pins()
                past = {name: tuple(map(parse_public_key, keys)) for name, keys in pins.get("past", {}).items()}
                now = {name: parse_public_key(key) for name, key in pins.get("players", {}).items()}
            self._every = {name: (key, *(old for old in past.get(name, ()) if old != key)) for name, key in now.items()}
        return dict(self._every)

    def trusted(self, name: str, key: PublicKey) -> bool:
        """Returns whether the user has said that `key` is the player's."""
        with intact(self._file):
            return key.fingerprint in self._pins().get("trusted", {}).get(name, ())

    @property
    def trusted_names(self) -> tuple[str, ...]:
        """The names of the players of whom the user has confirmed a key, or a link has introduced one, in order."""
        with intact(self._file):
            here = self._pins()
            return tuple(sorted({*here.get("trusted", {}), *here.get("by_link", {})} - {SERVER_NAME}))

    def trust(self, name: str, fingerprint: str) -> None:
        """Records that the user has confirmed a key of a player."""
        self._rewrite(lambda here: _added(here, "trusted", name, fingerprint))

    def introduce(self, name: str, key: PublicKey) -> None:
        """Records that a link has introduced a key of a player, or of the service under its name in logs.

        The other player of the game knew the code of the link, which came from them by another way than the service.
        """
        self._rewrite(lambda here: _added(here, "by_link", name, key.fingerprint))

    def standing(self, name: str, key: PublicKey) -> KeyStanding:
        """Returns how it is known that `key` is that of a player, or of the service under its name in logs."""
        if self.trusted(name, key):
            return KeyStanding.CONFIRMED
        with intact(self._file):
            if key.fingerprint in self._pins().get("by_link", {}).get(name, ()):
                return KeyStanding.LINK
        current, *earlier = self.every.get(name, (key,))
        return KeyStanding.FOLLOWED if key == current and earlier else KeyStanding.SEEN

    def pin_player(self, name: str, key: PublicKey) -> None:
        """Makes `key` the current one of a player; the previous one is remembered for old games.

        If another command has pinned another one meanwhile, that one stays.
        """
        before = self.players.get(name)

        def edit(here: dict[str, Any]) -> dict[str, Any]:  # Any: JSON
            players = here.get("players", {})
            if players.get(name) != (before.text if before else None):
                return here
            made = {**here, "players": {**players, name: key.text}}
            return _added(made, "past", name, before.text) if before else made

        if before != key:
            self._rewrite(edit)

    def remember(self, name: str, key: PublicKey) -> None:
        """Keeps an earlier key of a player, for old games."""
        if key not in self.known(name):
            self._rewrite(lambda here: _added(here, "past", name, key.text))

    def _pins(self) -> dict[str, Any]:  # Any: JSON
        if self._kept is None:
            with intact(self._file):
                self._kept = dict(read_json(self._file).get(self._url, {}))
        return self._kept

    def _update(self, **changes: Any) -> None:  # Any: JSON
        self._rewrite(lambda here: {**here, **changes})

    def _rewrite(self, edit: Callable[[dict[str, Any]], dict[str, Any]]) -> None:  # Any: JSON
        with locked(self._home.path):
            every = read_json(self._file)
            with intact(self._file):
                here = edit({**every.get(self._url, {})})
            write_json(self._file, {**every, self._url: here})
        self._kept, self._every = here, None


def _added(here: dict[str, Any], what: str, name: str, text: str) -> dict[str, Any]:  # Any: JSON
    """Returns the pins with `text` added to a player's list under `what`."""
    lists = here.get(what, {})
    kept = lists.get(name, [])
    return here if text in kept else {**here, what: {**lists, name: [*kept, text]}}


Successors = Callable[[str], Iterable[NewKey]]
"""Returns the verified statements by which a player's keys replaced one another, the oldest first."""


# --- keys in a game ---------------------------------------------------------------------------------------------------


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

    def meet(self, setup: Setup, me: str | None, seat: Seat | None = None) -> None:
        """Pins the new keys of a game's players. Raises `TrustError` before anything is pinned.

        `me` is the player's own name, and `seat` theirs, found by their key. In a game by link that a guest has joined,
        the link has introduced the other player's first key.
        """
        found: list[tuple[str, LearnedKey]] = []
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
            steps = {step.old: step.key for step in self._successors(name)}
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
                raise _taken_over(setup, key) if mine else _vouched(name, key, change.old)
            # An old game may show how an earlier key was introduced. That does not make it the current key again.
            counts = change.old == current
            current = key if counts else current
            new.append(LearnedKey(key, counts))
        return new


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
