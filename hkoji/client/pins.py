"""Pins: the keys that were seen first. A key that changes later counts as another person's until the user trusts it.

docs/spec/log.md, "Client rules". For each service's address: its key, the origin for which logins there are signed,
and the players' keys by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from hkoji.client.files import intact, locked, read_json, text_or_none, write_json
from hkoji.client.home import Home
from hkoji.errors import TrustError
from hkoji.log.public_key import PublicKey, parse_public_key
from hkoji.messages.text import tell


def registered(home: Home) -> tuple[str, ...]:
    """Returns the URLs of the services at which the player of a home has registered."""
    file = home.path / "pins.json"
    with intact(file):
        return tuple(sorted(url for url, here in read_json(file).items() if here.get("origin")))


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

    def pin_server(self, key: PublicKey) -> PublicKey:
        """Pins the service's key. Raises `TrustError` if another one is pinned."""
        known = self.server_key
        if known is None:
            self._update(key=key.text)
            self._say(
                tell(
                    "the key of {url} is {fingerprint}: compare it with the key that the operator gives you",
                    url=self._url,
                    fingerprint=key.fingerprint,
                )
            )
        elif known != key:
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
        return key

    def pin_origin(self, origin: str) -> None:
        """Keeps the origin for which logins are signed here.

        Raises `TrustError` if a service with another key has the same origin: a login signed here would be valid there.
        """
        with intact(self._file):
            others = [
                url
                for url, here in read_json(self._file).items()
                if url != self._url and here.get("origin") == origin and here.get("key") != self._pins().get("key")
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
        if origin != self._url:
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

    def trust(self, name: str, fingerprint: str) -> None:
        """Keeps that a key is a player's, because the user says so."""
        self._rewrite(lambda here: _added(here, "trusted", name, fingerprint))

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
