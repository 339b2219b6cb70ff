"""The folder of one player: identity, settings, login tokens, pins, and a folder for each game.

The folder is `HKOJI_HOME`, or the platform's folder for user data. It belongs to one player; another player on the same
machine needs another folder.

Pins are the keys that were seen first. A key that changes later counts as another person's until the user trusts it:
docs/spec/log.md, "Client rules". For each service's address: its key, the origin for which logins there are signed,
and the players' keys by name. In a game, a new key is accepted if the known one has signed for it, in the game or at
the service. A key that only the service vouches for is refused until the user has compared it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from hkoji.client.kept.files import damaged, intact, locked, read_json, text_in, write_json
from hkoji.errors import LoginError, OtherOriginError, TrustError
from hkoji.log.canonical import is_hex
from hkoji.log.line import SERVER_NAME
from hkoji.log.public_key import PublicKey, parse_public_key
from hkoji.messages.text import tell
from hkoji.service_url import same_address

ENVIRONMENT: Final = "HKOJI_HOME"
MAIL_WISHES: Final = "mail"
"""The key of the settings with what `OwnMailbox` keeps there, by the URL of the service."""
_LISTS: Final = ("past", "trusted", "by_link", "held", "delegated")
"""The pins that are lists by the player's name."""


def default_home() -> Path:
    """Returns `HKOJI_HOME`, or else the platform's folder for user data."""
    given = os.environ.get(ENVIRONMENT)
    if given:
        return Path(given).expanduser().absolute()
    from platformdirs import user_data_path

    return user_data_path("hkoji", appauthor=False)


class Home:
    """The files of one player under `path`. A file that does not exist reads as empty."""

    def __init__(self, path: Path | None = None) -> None:
        self.path: Final = path or default_home()
        self._tokens: Final = self.path / "tokens.json"
        self._new: Final = self.path / "new.json"

    @property
    def config_file(self) -> Path:
        """The file with the name, key and server."""
        return self.path / "config.json"

    @property
    def key_file(self) -> Path:
        """The file of the private key that `init` makes."""
        return self.path / "id_ed25519"

    def config(self) -> dict[str, Any]:  # Any: JSON
        """Returns the content of `config_file`. Raises `LoginError` before `hkoji init`."""
        config = read_json(self.config_file)
        if "name" not in config:
            raise LoginError(
                tell("there is no player in {path}", path=self.path), hint=tell("make one with `hkoji init NAME`")
            )
        return config

    def update_config(self, **changes: Any) -> None:  # Any: JSON
        """Changes these values of `config_file`, and keeps all others."""
        with locked(self.path):
            write_json(self.config_file, {**read_json(self.config_file), **changes})

    def token(self, server: str) -> str | None:
        """Returns the login token for a server; None if there is none."""
        return text_in(self._tokens, read_json(self._tokens), server)

    def set_token(self, server: str, token: str) -> None:
        """Keeps a login token."""
        with locked(self.path):
            write_json(self._tokens, {**read_json(self._tokens), server: token})

    def spare_key_file(self) -> Path:
        """Returns the path of a new file for another private key."""
        number = 2
        while (file := self.path / f"{self.key_file.name}-{number}").exists():
            number += 1
        return file

    def started(self) -> dict[str, Any]:  # Any: JSON
        """Returns the game that `new` has asked for but not yet opened; empty if there is none."""
        started = read_json(self._new)
        if not is_hex(started.get("game", "0" * 32), 32):  # the game's folder is named after it
            raise damaged(self._new)
        return started

    def set_started(self, started: dict[str, Any]) -> None:  # Any: JSON
        """Keeps what `started` returns."""
        write_json(self._new, started)

    def game_folder(self, game: str) -> Path:
        """Returns the folder of one game."""
        return self.path / "games" / game

    def games(self) -> tuple[str, ...]:
        """Returns the games whose logs are kept here."""
        return tuple(sorted(log.parent.name for log in self.path.glob("games/*/log.jsonl")))


def silent(_: str) -> None:
    """Says nothing."""


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

    def __init__(self, home: Home, url: str, say: Callable[[str], None] = silent) -> None:
        self._home: Final = home
        self._file: Final = home.path / "pins.json"
        self.url: Final = url
        self._say = say
        self._kept: dict[str, Any] | None = None  # Any: JSON
        self._every: dict[str, tuple[PublicKey, ...]] | None = None

    @property
    def server_key(self) -> PublicKey | None:
        """The service's key, if one is pinned."""
        # A damaged pin must not read as None: then the next key would be accepted as the first.
        key = text_in(self._file, self._pins(), "key")
        with intact(self._file):
            return None if key is None else parse_public_key(key)

    @property
    def origin(self) -> str | None:
        """The origin under which the player registered here."""
        return text_in(self._file, self._pins(), "origin")

    @property
    def clock_ahead(self) -> int:
        """By how many seconds the service's clock was far ahead of this machine's; 0 if they agreed."""
        here = self._pins()
        with intact(self._file):
            return int(here.get("clock_ahead", 0))

    def keep_clock_ahead(self, seconds: int) -> None:
        """Keeps by how many seconds the service's clock is ahead."""
        self._update(clock_ahead=seconds)

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
                    url=self.url,
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
                    url=self.url,
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
                if url != self.url and here.get("origin") == origin and here.get("key") != key.text
            ]
        for url in others:
            raise TrustError(
                tell(
                    "{url} calls itself {origin}, which is the name of another service, {other}",
                    url=self.url,
                    origin=origin,
                    other=url,
                ),
                hint=tell("nothing was signed; one of the two pretends to be the other"),
            )
        if confirmed is not None and confirmed != origin:
            raise TrustError(
                tell(
                    "the service at {url} says its address is {origin}, not {named}",
                    url=self.url,
                    origin=origin,
                    named=confirmed,
                ),
                hint=tell("nothing was signed or kept; ask its operator which address is right"),
            )
        if confirmed is None and origin != self.origin and not same_address(self.url, origin):
            raise OtherOriginError(self.url, origin)

    def pin_origin(self, origin: str) -> None:
        """Keeps the origin for which logins are signed here, after `verify_origin`."""
        if not same_address(self.url, origin):
            self._say(
                tell("{url} calls itself {origin}: logins here are signed for that name", url=self.url, origin=origin)
            )
        self._update(origin=origin)

    def known(self, name: str) -> set[PublicKey]:
        """Returns all pinned keys of a player, the current one and earlier ones."""
        return set(self.every.get(name, ()))

    @property
    def every(self) -> dict[str, tuple[PublicKey, ...]]:
        """All players' keys by name, each with the current one first."""
        if self._every is None:
            pins = self._pins()
            with intact(self._file):
                past = {name: tuple(map(parse_public_key, keys)) for name, keys in pins.get("past", {}).items()}
                now = {name: parse_public_key(key) for name, key in pins.get("players", {}).items()}
            self._every = {name: (key, *(old for old in past.get(name, ()) if old != key)) for name, key in now.items()}
        return dict(self._every)

    def trusted(self, name: str, key: PublicKey) -> bool:
        """Returns whether the user has said that `key` is the player's."""
        return self._has("trusted", name, key)

    @property
    def trusted_names(self) -> tuple[str, ...]:
        """The names of the players of whom the user has confirmed a key, or a link has introduced one, in order."""
        here = self._pins()
        with intact(self._file):
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
        if self._has("by_link", name, key):
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

    def said_held(self, name: str, key: PublicKey) -> bool:
        """Returns whether a game has been seen in which `key`, which the service holds, is a player's only one."""
        return self._has("held", name, key)

    def note_held(self, name: str, key: PublicKey) -> None:
        """Records that the service holds a player's only key."""
        self._rewrite(lambda here: _added(here, "held", name, key.fingerprint))

    def said_delegated(self, name: str, key: PublicKey) -> bool:
        """Returns whether a game has been seen in which a player lets the service sign with `key` too.

        That says nothing about games in which it would be their only key.
        """
        return self._has("delegated", name, key)

    def note_delegated(self, name: str, key: PublicKey) -> None:
        """Records that a player lets the service sign with a key too."""
        self._rewrite(lambda here: _added(here, "delegated", name, key.fingerprint))

    def certifies(self, origin: str) -> bool:
        """Returns whether what was signed for that origin can be of the service at this address."""
        here = self._pins()
        with intact(self._file):
            former = here.get("former", ())
        return origin in (self.origin, *former) or (self.origin is None and same_address(self.url, origin))

    def adopt(self, former: str) -> None:
        """Adds what is pinned for the address `former`, where the service was before; what is pinned here counts.

        All that players have signed for the earlier origin stays valid. Call it only for a service that has proved its
        key.
        """
        with intact(self._file):
            there = read_json(self._file).get(former, {})
            origins = [each for each in (*there.get("former", ()), there.get("origin")) if each]
        kept = Pins(self._home, former, self._say)

        def edit(here: dict[str, Any]) -> dict[str, Any]:  # Any: JSON
            made = {**here, "players": {**there.get("players", {}), **here.get("players", {})}}
            made["former"] = list(dict.fromkeys([*here.get("former", ()), *origins]))
            for what in _LISTS:
                for name, texts in there.get(what, {}).items():
                    for text in texts:
                        made = _added(made, what, name, text)
            for name, keys in kept.every.items():
                for key in keys:
                    if key.text != made["players"][name]:
                        made = _added(made, "past", name, key.text)
            return made

        self._rewrite(edit)

    def remember(self, name: str, key: PublicKey) -> None:
        """Keeps an earlier key of a player, for old games."""
        if key not in self.known(name):
            self._rewrite(lambda here: _added(here, "past", name, key.text))

    def _pins(self) -> dict[str, Any]:  # Any: JSON
        if self._kept is None:
            with intact(self._file):
                self._kept = dict(read_json(self._file).get(self.url, {}))
        return self._kept

    def _has(self, what: str, name: str, key: PublicKey) -> bool:
        """Returns whether a key is in a player's list under `what`."""
        here = self._pins()
        with intact(self._file):
            return key.fingerprint in here.get(what, {}).get(name, ())

    def _update(self, **changes: Any) -> None:  # Any: JSON
        self._rewrite(lambda here: {**here, **changes})

    def _rewrite(self, edit: Callable[[dict[str, Any]], dict[str, Any]]) -> None:  # Any: JSON
        with locked(self._home.path):
            every = read_json(self._file)
            with intact(self._file):
                here = edit({**every.get(self.url, {})})
            write_json(self._file, {**every, self.url: here})
        self._kept, self._every = here, None


def _added(here: dict[str, Any], what: str, name: str, text: str) -> dict[str, Any]:  # Any: JSON
    """Returns the pins with `text` added to a player's list under `what`."""
    lists = here.get(what, {})
    kept = lists.get(name, [])
    return here if text in kept else {**here, what: {**lists, name: [*kept, text]}}
