"""News that a player has not been told yet: that an opponent has written, and that a game is over.

Each is told once. `told.json` in the home says what was told: the last message of each game, and the games that are
over. A message that was read counts as told. A command that prints JSON takes nothing away from the player: it marks
nothing as told. A damaged file counts as none, and the next note takes its place: no command fails for news.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hkoji.client.agenda import GameHolder
from hkoji.client.answers import LONGEST_PAGE, read_text, understood
from hkoji.client.kept.files import locked, read_json, write_json
from hkoji.client.kept.game import Vault
from hkoji.client.kept.home import Home
from hkoji.client.kept_game import KeptGame
from hkoji.client.talk_messages import TalkFile
from hkoji.errors import HkojiError, StorageError
from hkoji.game.course import OVER, Stage
from hkoji.log.canonical import is_hex, is_name

if TYPE_CHECKING:
    from hkoji.client.service import Service
    from hkoji.wire import LastMessageModel, LastMessagesModel

_LATELY: Final = 10.0
"""For so many seconds a client does not ask again who has written: a batch shows many games in one."""


class UnreadMessage(NamedTuple):
    """The last message in a game that the player has not written; `name` is its author."""

    game: str
    number: int
    name: str


class Untold(NamedTuple):
    """Messages, the last of each game, and games that are over."""

    messages: tuple[UnreadMessage, ...] = ()
    ended: tuple[KeptGame, ...] = ()


class ToldFile:
    """The note of what the player of `home` was told."""

    def __init__(self, home: Home) -> None:
        self._home: Final = home
        self._path: Final = home.path / "told.json"

    def over(self) -> frozenset[str] | None:
        """Returns the games whose end was told, or that concern nobody here; None before anything was told."""
        found = self._read()
        return None if found is None else found[0]

    def message(self, game: str) -> int:
        """Returns the number of the last message of a game that was told; 0 for none."""
        _, talk = self._read() or (None, {})
        return talk.get(game, 0)

    def add(self, *, over: Iterable[str] = (), messages: Iterable[UnreadMessage] = ()) -> None:
        """Marks games that are over, and messages, as told. Raises `StorageError`."""
        with locked(self._home.path):
            before = self._read()
            known, talk = before or (frozenset(), {})
            after = known.union(over), {**talk}
            for each in messages:
                after[1][each.game] = max(each.number, talk.get(each.game, 0))
            if after != before:
                write_json(self._path, {"over": sorted(after[0]), "talk": after[1]})

    def _read(self) -> tuple[frozenset[str], dict[str, int]] | None:
        """Returns the games that are over and the last messages by game; None for a file that is damaged or missing."""
        with suppress(StorageError):
            found = read_json(self._path)
            over, talk = found.get("over"), found.get("talk")
            if isinstance(over, list) and isinstance(talk, dict):
                numbers = {game: number for game, number in talk.items() if type(number) is int}
                return frozenset(map(str, over)), numbers
        return None


class PlayerNews:
    """The news of the player of `client` at their service."""

    def __init__(self, client: GameHolder) -> None:
        self._client: Final = client
        self._file: Final = ToldFile(client.home)
        self._heard: tuple[UnreadMessage, ...] = ()
        self._asked: float | None = None
        self._before: frozenset[str] | None = None

    def begin(self) -> None:
        """In a home that has no note of what was told, takes the ends that are kept here for told.

        An earlier version has shown them. Call it before anything that may bring new ends. The note is written only by
        a command that succeeds.
        """
        if self._before is None and self._file.over() is None:
            kept = self._kept(self._client.home.games())
            self._before = frozenset(each.position.game for each in kept if each.position.over)

    def untold(self) -> Untold:
        """Returns what the player has not been told: asks who has written, and fetches the ends of games."""
        self.begin()
        return Untold(self.messages(), tuple(self._ended()))

    def tell(self, untold: Untold) -> None:
        """Marks what the player is told now."""
        self.begin()
        self._note((each.position.game for each in untold.ended), untold.messages)

    def tell_end(self, game: str) -> None:
        """Marks a game as one of which the player sees now that it is over."""
        self.begin()
        if game not in self._known_over():
            self._note((game,))

    def messages(self) -> tuple[UnreadMessage, ...]:
        """Returns the last message of each game that the player has neither read nor been told of.

        There is none of a game whose opponent is muted here, and none from a service that cannot be asked.
        """
        return tuple(each for each in self._last_messages() if self._is_new(each))

    def unread(self, game: str) -> UnreadMessage | None:
        """Returns the last message of a game, if the player has neither read it nor been told of it."""
        return next((each for each in self.messages() if each.game == game), None)

    def listed(self, summaries: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:  # Any: JSON
        """Returns summaries of the player's games with their news for programs. docs/json.md."""
        written, over = {each.game for each in self.messages()}, self._known_over()
        here = set(self._client.home.games())

        def news(summary: dict[str, Any]) -> list[str]:  # Any: JSON
            game = summary["game"]
            ended = summary["status"] in OVER and game in here and game not in over
            return [word for word, so in (("message", game in written), ("over", ended)) if so]

        found = [{**each, "news": news(each)} for each in summaries]
        if self._before:
            with suppress(StorageError):  # a list does not fail for it
                self._note()
        return found

    # --- the steps ------------------------------------------------------------------------------------------------

    def _last_messages(self) -> tuple[UnreadMessage, ...]:
        now = time.monotonic()
        if self._asked is None or now - self._asked >= _LATELY:
            self._asked = now
            try:
                self._heard = _last_messages(self._client.service())
            except HkojiError:  # an older service; or it is gone, which the command itself has said
                self._heard = ()
        return self._heard

    def _is_new(self, last: UnreadMessage) -> bool:
        if last.number <= self._file.message(last.game):
            return False
        file = TalkFile(Vault(self._client.home.game_folder(last.game)))
        try:
            return last.number not in file.kept and not file.muted
        except StorageError:  # a player who reads the messages is told that their file is damaged
            return True

    def _known_over(self) -> Collection[str]:
        """Returns the games of whose end nothing more is to be told."""
        noted = self._file.over()
        return noted if noted is not None else self._before or frozenset()

    def _note(self, over: Iterable[str] = (), messages: Iterable[UnreadMessage] = ()) -> None:
        self._file.add(over=(*(self._before or ()), *over), messages=messages)

    def _kept(self, games: Iterable[str]) -> Iterable[KeptGame]:
        for game in games:
            try:
                yield self._client.kept_game(game)
            except HkojiError:  # a command about this game tells it
                continue

    def _ended(self) -> Iterable[KeptGame]:
        """Yields the player's games that are over by now, of those that are kept here."""
        known = self._known_over()
        here = [each for each in self._client.home.games() if each not in known]
        if not here:
            return
        service, me = self._client.service(), self._client.identity.name
        going = {each["game"] for status in ("open", "playing") for each in service.own_games(status=status)}
        foreign = []
        for kept in self._kept(each for each in here if each not in going):
            game, stage = kept.position.game, kept.position.course.stage
            if stage is Stage.OPEN:
                continue
            if kept.position.seat is None and kept.position.course.setup.invited != me:
                foreign += [game] if stage is not Stage.JOIN else []  # nobody takes a seat in it any more
            elif self._client.server_of(game) == service.url:
                yield from self._if_over(kept)
        if foreign:
            self._note(foreign)

    def _if_over(self, kept: KeptGame) -> Iterable[KeptGame]:
        game = kept.position.game
        try:
            if not kept.position.over:
                with self._client.game(game) as held:
                    held.current()
                kept = self._client.kept_game(game)
        except HkojiError:
            return
        if kept.position.over:
            yield kept


def _last_messages(service: Service) -> tuple[UnreadMessage, ...]:
    """Asks for the last message of the opponent in each game of the player that has one."""
    answer = service.requests.as_player("GET", "/v1/me/talk", most=LONGEST_PAGE)
    with understood(answer):
        found: LastMessagesModel = answer.json()
        return tuple(map(_read_unread, found["games"]))


def _read_unread(value: LastMessageModel) -> UnreadMessage:
    game, number, name = value["game"], value["number"], read_text(value["name"])
    if not is_hex(game, 32) or type(number) is not int or number < 1 or not is_name(name):
        raise ValueError("a message has a game, a number and a name")
    return UnreadMessage(game, number, name)
