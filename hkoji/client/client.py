"""A player's client as a library: the commands are thin wrappers around `Client`. docs/library.md.

docs/spec/log.md, "Client rules". Entries, and statements about a new key, are on disk before they are sent. Lines of a
log are verified before they are added to the log kept here. One thread at a time may use a client; several processes
may use one home.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Self

from hkoji.client.agenda import Agenda, urgency
from hkoji.client.game import ClientGame
from hkoji.client.identity import Identity, load
from hkoji.client.kept.evidence import WrittenEvidence, write_evidence
from hkoji.client.kept.game import GameNote, Vault
from hkoji.client.kept.home import Home, silent
from hkoji.client.kept_game import KeptGame, readable
from hkoji.client.requests import naming_new_address
from hkoji.client.service import Service
from hkoji.client.transport import Transport
from hkoji.errors import HkojiError, LoginError, NotFoundError, TrustError, UsageError
from hkoji.game import entry_kinds
from hkoji.game.agreement import UNTIMED, Agreement
from hkoji.game.course import OVER
from hkoji.game.dealer import SEALED_V1
from hkoji.game.position import Position
from hkoji.game.submission import Submission
from hkoji.log.canonical import begins_hex
from hkoji.log.line import Line
from hkoji.log.public_key import PublicKey
from hkoji.messages.text import tell
from hkoji.rules.protocol import Ruleset
from hkoji.service_url import parse_url

if TYPE_CHECKING:
    from hkoji.client.key_changes import KeyChanges
    from hkoji.client.news import PlayerNews
    from hkoji.client.seats import SealedWish

_LISTED: Final = 8


class Client:
    """One player's client over the files of `home`. As a context manager it closes its connections at the end.

    `say` gets short remarks for people, `entropy` returns random bytes, and `connect` a transport for a URL.
    """

    def __init__(
        self,
        home: Home | None = None,
        *,
        entropy: Callable[[int], bytes] = secrets.token_bytes,
        connect: Callable[[str], Transport] = Transport,
        say: Callable[[str], None] = silent,
    ) -> None:
        self.home: Final = home or Home()
        self._entropy = entropy
        self._connect = connect
        self.say = say
        self._identity: Identity | None = None
        self._services: dict[str, Service] = {}
        self._games: dict[str, ClientGame] = {}
        self._locked: set[str] = set()
        self._warned: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def another(self) -> Client:
        """Returns another client of the same player, for another thread."""
        other = Client(self.home, entropy=self._entropy, connect=self._connect, say=self.say)
        other._warned = self._warned
        return other

    def close(self) -> None:
        """Closes the connections; the next request opens one again."""
        for service in self._services.values():
            service.close()

    @property
    def identity(self) -> Identity:
        """The player. Raises `LoginError` before `hkoji init`."""
        if self._identity is None:
            self._identity = load(self.home)
            self._identity.say = self.say
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
        """Returns a service by its URL; by default the player's own."""
        url = parse_url(server) if server else self.server
        if url not in self._services:
            made = Service(self.home, self._connect(url), lambda: self.identity, self.say, warned=self._warned)
            self._services[url] = made
        return self._services[url]

    def register(self, server: str, origin: str | None = None, code: str | None = None) -> Service:
        """Registers at a service, pins its key, and makes it the player's service.

        If the service states another origin than the address `server`, the user must have confirmed it: `origin`.
        Otherwise raises `OtherOriginError`. `code` is the operator's, which some services ask for.
        """
        _ = self.identity
        service = self.service(server)
        service.register(origin, code)
        self.home.update_config(server=service.url)
        return service

    def move_games(self) -> tuple[str, ...]:
        """Binds the games of its earlier addresses to the player's service: see `hkoji.client.moving.move_games`."""
        from hkoji.client.moving import move_games

        self._games.clear()
        return move_games(self.home, self.service())

    @property
    def keys(self) -> KeyChanges:
        """Changes of the player's key. This client forgets what it has read with the old key, and reads it again."""
        from hkoji.client.key_changes import KeyChanges

        self._identity = None
        self._games.clear()
        return KeyChanges(self.home, self.service, self._entropy)

    def server_of(self, game: str) -> str:
        """Returns the URL of the service that keeps a game."""
        return self._vault(game).server or self.server

    def pins(self, server: str) -> dict[str, tuple[PublicKey, ...]]:
        """Returns all keys pinned for a service: the players' by name, and its own under `server`."""
        pins = self.service(server).pins
        found = pins.every
        if pins.server_key is not None:
            found["server"] = (pins.server_key,)
        return found

    @cached_property
    def news(self) -> PlayerNews:
        """The news that the player has not been told yet."""
        from hkoji.client.news import PlayerNews

        return PlayerNews(self)

    # --- lists ----------------------------------------------------------------------------------------------------

    def games(self, *, everybody: bool = False, status: str | None = None) -> list[dict[str, Any]]:  # Any: JSON
        """Returns the player's games, or everybody's, most recently changed first, each with its `clock`.

        Those with the status `finished` are all that are over, also the cancelled ones.
        """
        if status == "finished":
            over = [each for one in OVER for each in self._listed(one, everybody=everybody)]
            return sorted(over, key=lambda each: str(each["updated"]), reverse=True)
        return self._listed(status, everybody=everybody)

    def _listed(self, status: str | None, *, everybody: bool) -> list[dict[str, Any]]:  # Any: JSON
        if everybody:
            return Agenda(self).stated(self.service().list_games(status=status))
        return Agenda(self).known(self._own_games(status=status))

    def joinable(
        self, *, ruleset: str | None = None, rated: bool | None = None, clock: str | None = None
    ) -> list[dict[str, Any]]:  # Any: JSON
        """Returns everybody's open games that this player can join, of a ruleset, rated or not, by the sort of clock.

        `clock` is `none`, `fast` (the first turn takes less than a day), `days` (at most 31) or `slow`.
        """
        filters = {"ruleset": ruleset, "rated": None if rated is None else str(rated).lower(), "clock": clock}
        return Agenda(self).stated(self.service().joinable(**filters))

    def waiting(self) -> list[dict[str, Any]]:  # Any: JSON
        """Returns the games whose next entry this player owes, invitations included; the most urgent first.

        Looks also at the games that wait for the opponent, for a signed head of each.
        """
        agenda, me = Agenda(self), self.identity.name
        found = agenda.waiting(self._own_games(waiting="true", order="deadline"))
        agenda.look_at_others(each for each in self.service().own_games(status="playing") if each["to_move"] != me)
        return found

    def _own_games(self, **filters: str | None) -> list[dict[str, Any]]:  # Any: JSON
        service = self.service()
        found = service.own_games(**filters)
        revealed = [summary for summary in found if self._reveal(summary)]
        Agenda(self).keep_invitations(each for each in found if each["to_move"] == self.identity.name)
        return service.own_games(**filters) if revealed else found

    def _reveal(self, summary: dict[str, Any]) -> bool:  # Any: JSON
        """Returns whether a game waited for what this program sends by itself: the player's entropy, or a card."""
        starts = summary["status"] == "playing" and (summary["round"] == 0 or self._may_owe_card(summary))
        if not starts or summary["to_move"] != self.identity.name or not self._vault(summary["game"]).exists:
            return False
        try:
            with self.game(summary["game"]) as game:
                game.current()
        except HkojiError as error:
            self.say(tell("game {game}: {reason}", game=summary["game"][:8], reason=error))
            return False
        return True

    def _may_owe_card(self, summary: dict[str, Any]) -> bool:  # Any: JSON
        """Returns whether the player may owe a card in a game, as far as is known here: only in a sealed one."""
        if summary.get("dealer") != SEALED_V1:
            return False
        with suppress(HkojiError):
            course = self.stored(summary["game"]).course
            return course.head != summary["head"] or course.debtor is not None
        return True

    def find(self, prefix: str, *, offline: bool = False) -> str:
        """Returns the full id of a game from a unique prefix; with `offline` only of games known here.

        Raises `NotFoundError` or `UsageError`.
        """
        wanted = prefix.lower()
        if not begins_hex(wanted, 32):
            raise NotFoundError(
                tell("game"),
                prefix,
                hint=tell("a game is named by the first digits of its id; {known}", known=self._known()),
            )
        if len(wanted) == 32:
            return wanted
        found = self._here(wanted)
        if not found and len(wanted) >= 4 and not offline:
            service = self.service()
            listed = service.list_games(prefix=wanted)
            if not listed and service.registered:  # games by link are in no public list
                listed = service.own_games(prefix=wanted)
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
        """Returns the games known here whose id begins with `prefix`, also those of which everything was refused."""
        refused = {file.parent.name for file in self.home.path.glob("games/*/refused*.signed")}
        return {game for game in (*self.home.games(), *refused) if game.startswith(prefix)}

    def _known(self) -> str:
        """Returns the games known here, for a hint."""
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

    def new(
        self,
        ruleset: Ruleset,
        invite: entry_kinds.Invite | None = None,
        agreement: Agreement = UNTIMED,
        *,
        expires_in: int | None = None,
        series: int | None = None,
        by_link: bool = False,
        sealed: SealedWish | None = None,
    ) -> Position:
        """Asks the service for a game and opens it. If the last command for such a game broke off, continues it.

        With `by_link`, and without `invite`, whoever has the link can join: see `hkoji.client.links`. With `sealed` the
        two players deal the cards themselves, and nobody else sees any.

        With `expires_in` the offer expires so many seconds from now, and `agreement` names no time itself: the time of
        a repeated command is another one. With `series` the game is the first of at most so many, and the id of the
        series is drawn here for the same reason. Raises `TrustError`, and signs nothing, if the service offers another
        game or agreement than this.
        """
        from hkoji.client.new_game import GameRequest, open_game

        assert expires_in is None or agreement.expires is None
        assert series is None or agreement.series is None
        assert invite is None or not by_link
        request = GameRequest(ruleset, invite, agreement, expires_in, series, by_link, sealed)
        return open_game(request, self.home, self.service(), self._entropy, self._hold)

    @contextmanager
    def game(self, game: str) -> Iterator[ClientGame]:
        """Gives a game by its full id. While the block runs no other command changes the game's files.

        Raises `NotFoundError` if neither this home nor the service has the game, and `RuntimeError` for a game that
        this client holds already.
        """
        found = self._game(game)
        if not found.vault.exists:
            found.service.log(game, 0)  # a game that the service does not have leaves no folder here
        with self._hold(game) as held:
            yield held

    def stored(self, game: str) -> Position:
        """Returns a game as last seen, without asking the service. Raises `NotFoundError` if it never was."""
        return self._game(game).stored()

    def kept_game(self, game: str) -> KeptGame:
        """Returns a game as last seen, with its age, without asking the service. Raises `NotFoundError`."""
        return self._game(game).kept()

    def try_move(self, game: str, notation: str) -> tuple[Position, str]:
        """Returns the position after a move in a game as last seen, and the move in canonical notation.

        Sends and writes nothing. Raises `NotFoundError` for a game that was never seen, and what `Position.choose`
        raises.
        """
        return self._game(game).try_move(notation)

    def note(self, game: str) -> str | None:
        """Returns what the player has noted about a game; None if that is nothing."""
        return GameNote(self._vault(game)).text()

    def kept_games(self, *, waiting: bool = False, status: str | None = None) -> list[KeptGame]:
        """Returns the player's games as last seen, most recently changed first, without asking the service.

        With `waiting` only those in which the player owed the next entry or was invited.
        """
        me = self.identity.name
        found = [each for each in readable(self.home.games(), self.kept_game, self.say) if each.concerns(me)]
        if waiting:
            found = [each for each in found if each.position.course.to_move == me]
            found.sort(key=lambda each: urgency(each.summary))
        wanted = OVER if status == "finished" else (status,)
        return [each for each in found if status is None or each.position.course.status in wanted]

    def submit(self, submission: Submission, server: str | None = None, origin: str | None = None) -> tuple[Line, ...]:
        """Sends a signed move of any player and checks its receipt. Needs no identity.

        The openings of its cards go with it, so the service must be at its own address, or at one that the user has
        confirmed, as in `register`.
        """
        vault = self._vault(submission.entry.game)
        service = self.service(server or vault.server or self.server)
        if origin is not None or (server is not None and service.pins.server_key is None):
            service.pins.pin_server(service.meet(origin).key)
        lines = service.submit(submission)
        try:
            service.verify_submitted(submission, lines)
        except TrustError as error:
            if vault.exists:
                from hkoji.client.refused import keep_refused  # most answers are accepted

                with vault.locked():
                    keep_refused(vault, service.pins, error, vault.readable_lines(), lines)
            raise
        return lines

    def kept(self, game: str) -> tuple[Line, ...]:
        """Returns the log kept here, as far as it can be read. Asks no service. Raises `NotFoundError`."""
        vault = self._vault(game)
        if not vault.exists:
            raise NotFoundError(tell("game"), game, hint=self._known())
        return vault.readable_lines()

    def evidence(self, game: str, *, cards: bool = False) -> WrittenEvidence:
        """Returns the evidence of a game as one file. While the game runs, views are included only if `cards` is true.

        Asks no service. Raises `NotFoundError`.
        """
        if game not in self._here(game):
            raise NotFoundError(tell("game"), game, hint=self._known())
        vault = self._vault(game)
        return write_evidence(vault, self.service(self.server_of(game)).pins, cards=cards)

    # --- games ----------------------------------------------------------------------------------------------------

    def _vault(self, game: str) -> Vault:
        held = self._games.get(game)
        return Vault(self.home.game_folder(game)) if held is None else held.vault

    def _game(self, game: str) -> ClientGame:
        if game not in self._games:
            try:
                identity = self.identity
            except LoginError:
                identity = None
            service = self.service(self.server_of(game))
            made = ClientGame(self._vault(game), service, identity, self._entropy, self.say)
            if not made.vault.exists:  # a link may still bring it, from another service
                return made
            self._games[game] = made
        return self._games[game]

    @contextmanager
    def _hold(self, game: str) -> Iterator[ClientGame]:
        found = self._game(game)
        if game in self._locked:  # the second lock would wait for the first for ever
            raise RuntimeError(f"this client holds game {game} already")
        with found.vault.locked(), naming_new_address(self.home, found.service.url):
            self._locked.add(game)
            try:
                yield found
            finally:
                self._locked.discard(game)
