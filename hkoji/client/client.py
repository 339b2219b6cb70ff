"""What a player can do, as a library: the commands are thin over `Client`.

docs/spec/log.md, "Client rules". Everything that is signed is on disk before it is sent; everything that is received
is verified before it is kept. Not for use by several threads at once; several processes may use one home.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Final

from hkoji.client.files import locked
from hkoji.client.game import ClientGame, Made
from hkoji.client.home import Home
from hkoji.client.identity import Identity, load
from hkoji.client.kept_evidence import Refusals, WrittenEvidence, write_evidence
from hkoji.client.key_changes import KeyChanges
from hkoji.client.service import Service
from hkoji.client.transport import Transport, parse_url
from hkoji.client.vault import Vault
from hkoji.errors import (
    HkojiError,
    LoginError,
    NotFoundError,
    TrustError,
    UsageError,
)
from hkoji.game import entry_kinds
from hkoji.game.position import Position
from hkoji.game.submission import Submission
from hkoji.log.line import Line
from hkoji.log.public_key import PublicKey
from hkoji.messages.text import tell
from hkoji.rules.protocol import Ruleset

if TYPE_CHECKING:
    from hkoji.client.watching import Happened

_LISTED: Final = 8


def _silent(_: str) -> None:
    return


class Client:
    """One player's client over the files of `home`. `say` gets short remarks for people.

    `entropy` gives random bytes, `connect` a transport for a URL.
    """

    def __init__(
        self,
        home: Home | None = None,
        *,
        entropy: Callable[[int], bytes] = secrets.token_bytes,
        connect: Callable[[str], Transport] = Transport,
        say: Callable[[str], None] = _silent,
    ) -> None:
        self.home: Final = home or Home()
        self._entropy = entropy
        self._connect = connect
        self._say = say
        self._identity: Identity | None = None
        self._services: dict[str, Service] = {}
        self._tables: dict[str, ClientGame] = {}

    def close(self) -> None:
        """Closes connections."""
        for service in self._services.values():
            service.close()

    @property
    def identity(self) -> Identity:
        """The player. Raises `LoginError` before `hkoji init`."""
        if self._identity is None:
            self._identity = load(self.home)
        return self._identity

    # --- services -------------------------------------------------------------------------------------------------

    @property
    def server(self) -> str:
        """The URL of the player's service. Raises `UsageError` before `hkoji register`."""
        server = self.home.config().get("server")
        if not isinstance(server, str):
            raise UsageError(
                tell("you are not registered at a service"), hint=tell("do so with `hkoji register --server URL`")
            )
        return server

    def service(self, server: str | None = None) -> Service:
        """A service by its URL; by default the player's own."""
        url = parse_url(server) if server else self.server
        if url not in self._services:
            self._services[url] = Service(self.home, self._connect(url), lambda: self.identity, self._say)
        return self._services[url]

    def register(self, server: str) -> Service:
        """Registers at a service, pins its key, and makes it the player's service."""
        _ = self.identity
        service = self.service(server)
        service.register()
        self.home.update_config(server=service.url)
        return service

    @property
    def keys(self) -> KeyChanges:
        """How the player comes to another key. What this client has read of the old one it reads anew."""
        self._identity = None
        self._tables.clear()
        return KeyChanges(self.home, self.service, self._entropy)

    def trust(self, name: str, fingerprint: str) -> None:
        """Keeps that a key is a player's, because the user says so."""
        self.service().pins.trust(name, fingerprint)

    def server_of(self, game: str) -> str:
        """The URL of the service that keeps a game."""
        return self._vault(game).server or self.server

    def pins(self, server: str) -> dict[str, tuple[PublicKey, ...]]:
        """All pinned keys of a service's world, by name; `server` is its own."""
        pins = self.service(server).pins
        found = pins.every
        if pins.server_key is not None:
            found["server"] = (pins.server_key,)
        return found

    # --- lists ----------------------------------------------------------------------------------------------------

    def games(self, *, everybody: bool = False, status: str | None = None) -> list[dict[str, Any]]:  # Any: JSON
        """The own games, or everybody's, most recently changed first."""
        if everybody:
            return self.service().list_games(status=status)
        return self._own_games(status=status)

    def waiting(self) -> list[dict[str, Any]]:  # Any: JSON
        """The games whose next entry this player owes, invitations included."""
        return self._own_games(waiting="true")

    def _own_games(self, **filters: str | None) -> list[dict[str, Any]]:  # Any: JSON
        service = self.service()
        found = service.own_games(**filters)
        revealed = [summary for summary in found if self._reveal(summary)]
        return service.own_games(**filters) if revealed else found

    def _reveal(self, summary: dict[str, Any]) -> bool:  # Any: JSON
        """Whether a game waited for the own entropy and has it now."""
        starts = summary["status"] == "playing" and summary["round"] == 0
        if not starts or summary["to_move"] != self.identity.name or not self._vault(summary["game"]).exists:
            return False
        try:
            self.position(summary["game"])
        except HkojiError as error:
            self._say(tell("game {game}: {reason}", game=summary["game"][:8], reason=error))
            return False
        return True

    def find(self, prefix: str) -> str:
        """The full id of a game from a unique prefix. Raises `NotFoundError` or `UsageError`."""
        wanted = prefix.lower()
        if not wanted or wanted.strip("0123456789abcdef") or len(wanted) > 32:
            raise NotFoundError(
                tell("game"),
                prefix,
                hint=tell("a game is named by the first digits of its id; {known}", known=self._known()),
            )
        if len(wanted) == 32:
            return wanted
        found = self._here(wanted)
        if not found and len(wanted) >= 4:
            listed = self.service().list_games(prefix=wanted)
            found = {each["game"] for each in listed if each["game"].startswith(wanted)}
        if not found:
            raise NotFoundError(tell("game"), prefix, hint=self._known())
        if len(found) > 1:
            names = ", ".join(sorted(game[: len(wanted) + 4] for game in found)[:_LISTED])
            raise UsageError(
                tell("{prefix} begins more than one game: {names}", prefix=prefix, names=names),
                hint=tell("give more digits"),
            )
        return found.pop()

    def _here(self, prefix: str) -> set[str]:
        """The games known here whose id begins so, also those of which everything was refused."""
        refused = {file.parent.name for file in self.home.path.glob("games/*/refused*.signed")}
        return {game for game in (*self.home.games(), *refused) if game.startswith(prefix)}

    def _known(self) -> str:
        """The candidates, for a hint."""
        games = [game[:8] for game in self.home.games()]
        if not games:
            return tell("list games with `hkoji games` or `hkoji games --open`")
        known = ", ".join(games[:_LISTED])
        if len(games) > _LISTED:
            return tell(
                "games known here: {games} and {n} more; list games with `hkoji games` or `hkoji games --open`",
                games=known,
                n=len(games) - _LISTED,
            )
        return tell("games known here: {games}; list games with `hkoji games` or `hkoji games --open`", games=known)

    # --- playing --------------------------------------------------------------------------------------------------

    def new(self, ruleset: Ruleset, invite: entry_kinds.Invite | None = None) -> Position:
        """Offers a game and opens it; or brings the same to its receipt if the last command could not."""
        service = self.service()
        wanted = {
            "server": service.url,
            "ruleset": ruleset.to_json(),
            "invite": [invite.name, invite.key.text if invite.key else None] if invite else None,
        }
        with locked(self.home.path / "games"):
            started = self.home.started()
            game = started.pop("game", None)
            if game is None or started != wanted or not self._vault(game).exists:
                line = service.offer(ruleset)
                game = line.entry.game
                table = self._table(game)
                with table.vault.locked():
                    offered = table.take_offer(line)
                if offered.course.setup.ruleset != ruleset:
                    raise TrustError(
                        tell("the service offered another game than was asked for"), hint=tell("nothing was signed")
                    )
                self.home.set_started({**wanted, "game": game})
            table = self._table(game)
            with table.vault.locked():
                position = table.open(invite)
            self.home.set_started({})
        return position

    def join(self, game: str) -> Position:
        """Joins a game, and reveals the own entropy on the join's receipt."""
        _ = self.identity
        table = self._existing(game)
        with table.vault.locked():
            return table.join()

    def position(self, game: str) -> Position:
        """A game as it stands now: fetched, verified, and the own entropy revealed if that is due."""
        table = self._existing(game)
        with table.vault.locked():
            return table.current()

    def stored(self, game: str) -> Position:
        """A game as it was seen last, without asking the service. Raises `NotFoundError` if it never was."""
        return self._table(game).stored()

    def move(self, game: str, notation: str) -> Made:
        """Makes a move. Everything is checked here first; the service checks it again."""
        table = self._existing(game)
        with table.vault.locked():
            return table.move(notation)

    def sign(self, game: str, notation: str) -> Submission:
        """Signs a move without sending it, from what was seen last. The openings are kept here."""
        table = self._table(game)
        table.stored()
        with table.vault.locked():
            return table.sign(notation)

    def submit(self, submission: Submission, server: str | None = None) -> tuple[Line, ...]:
        """Sends a signed move, of whomever it is, and checks its receipt. Works without an identity."""
        vault = self._vault(submission.entry.game)
        service = self.service(server or vault.server or self.server)
        lines = service.submit(submission)
        try:
            service.verify_submitted(submission, lines)
        except TrustError as error:
            if vault.exists:
                with vault.locked():
                    Refusals(vault, service.pins).keep(error, vault.readable_lines(), lines)
            raise
        return lines

    def resign(self, game: str) -> Made:
        """Gives a game up."""
        table = self._existing(game)
        with table.vault.locked():
            return table.leave(entry_kinds.Resign())

    def cancel(self, game: str) -> Made:
        """Takes back a game that nobody has joined."""
        table = self._existing(game)
        with table.vault.locked():
            return table.leave(entry_kinds.Cancel())

    def log(self, game: str) -> tuple[Line, ...]:
        """The public log as it stands now, verified."""
        table = self._existing(game)
        with table.vault.locked():
            table.current()
            return table.lines()

    def kept(self, game: str) -> tuple[Line, ...]:
        """The public log as it is kept here, as far as it can be read. Asks no service. Raises `NotFoundError`."""
        vault = self._vault(game)
        if not vault.exists:
            raise NotFoundError(tell("game"), game, hint=self._known())
        return vault.readable_lines()

    def evidence(self, game: str, *, cards: bool = False) -> WrittenEvidence:
        """What is kept of a game as a file for others; while it runs with the views only if `cards` are wanted.

        Asks no service. Raises `NotFoundError`.
        """
        if game not in self._here(game):
            raise NotFoundError(tell("game"), game, hint=self._known())
        vault = self._vault(game)
        return write_evidence(vault, self.service(self.server_of(game)).pins, cards=cards)

    def wait(self, game: str, timeout: float | None = None) -> Position:
        """Returns when it is this player's turn or the game is over; raises `CancelledError` after `timeout` s.

        Once it has begun to wait, a service that cannot be reached is tried again for a minute.
        """
        from hkoji.client.waiting import wait

        return wait(self, game, timeout)

    def watch(self, game: str, after: int | None = None) -> Generator[Happened, None, None]:
        """What happens in a game until it is over, from now on or after an entry: each entry once, verified.

        Does not end when the service cannot be reached, but tries again.
        """
        from hkoji.client.watching import watch_game

        return watch_game(self, game, after, self._say)

    def watch_all(self) -> Generator[Happened, None, None]:
        """What happens in all of the player's games that are not over, from now on, new ones included. Never ends."""
        from hkoji.client.watching import watch_all

        return watch_all(self, self._say)

    # --- tables ---------------------------------------------------------------------------------------------------

    def _vault(self, game: str) -> Vault:
        return Vault(self.home.game_folder(game))

    def _table(self, game: str) -> ClientGame:
        if game not in self._tables:
            try:
                identity = self.identity
            except LoginError:
                identity = None
            service = self.service(self.server_of(game))
            self._tables[game] = ClientGame(self._vault(game), service, identity, self._entropy, self._say)
        return self._tables[game]

    def _existing(self, game: str) -> ClientGame:
        """The table of a game that is here, or else at the service: nothing is kept of one that is not."""
        table = self._table(game)
        if not table.vault.exists:
            table.service.log(game, 0)
        return table
