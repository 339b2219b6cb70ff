"""A rematch that both players may ask for at once: opens one, or joins the one that the opponent has opened.

However the steps of both players' clients fall between each other, and wherever one of them breaks off and is given
again, at most one rematch of a game is played:

- A client looks before it opens a rematch, and again after that. Of two that were opened, the later client sees both.
- The host of the larger id cancels it, and joins the other one only when the receipt for that is here.
- The host of the smaller id waits for this a little. If nothing happens, the opponent's client had looked before there
  were two, and is gone. Then this client joins the opponent's rematch, and cancels its own after that. Either this join
  or the opponent's cancellation is taken, because both would follow the same entry.
- Open games are asked for before those that go on. So a rematch that is joined meanwhile is in one of the two lists.

Series of games are read from this player's logs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hkoji.client.kept.game import Vault
from hkoji.client.kept_game import KeptGame
from hkoji.errors import (
    ConflictError,
    ForbiddenError,
    GameOverError,
    HkojiError,
    IllegalError,
    TimeOverError,
    TrustError,
    UsageError,
)
from hkoji.game import entry_kinds
from hkoji.game.agreement import Agreement, Series
from hkoji.game.clock import add_seconds
from hkoji.game.course import Course
from hkoji.game.position import Position, time_of_record
from hkoji.game.rematch import (
    Known,
    SeriesScore,
    has_terms,
    next_in_series,
    rematch_agreement,
    rematch_ruleset_of,
    standing_at,
)
from hkoji.log.canonical import JsonValue
from hkoji.log.public_key import PublicKey
from hkoji.messages.text import tell
from hkoji.rules.events import Seat

if TYPE_CHECKING:
    from hkoji.client.client import Client
    from hkoji.client.game import ClientGame
    from hkoji.client.seats import SealedWish

OPENED: Final = "opened"
JOINED: Final = "joined"
FOUND: Final = "found"
_TRIES: Final = 40
_PATIENCE: Final = 10
"""How often the host of the smaller id looks whether the opponent has cancelled the other one."""
_PAUSE: Final = 0.2
_APART: Final = 120
"""How many seconds the clocks of a service's processes may be apart, at most."""
_TOO_LATE: Final = (ConflictError, GameOverError, TimeOverError)
"""The errors of a join or a cancellation if something else has come before it."""


class SeriesPlace(NamedTuple):
    """The place of a game in its series, and the score with it; None where a game before it is not known here."""

    series: Series
    standing: SeriesScore | None

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the place for programs. docs/json.md."""
        return {**self.series.to_json(), "score": None if self.standing is None else self.standing.to_json()}


def kept_place(course: Course, ended: str, kept: Callable[[str], KeptGame]) -> SeriesPlace | None:
    """Returns the place of a game in its series, with the score as far as games are kept here; None without a series.

    Asks no service.
    """
    series = course.setup.agreement.series
    if series is None:
        return None

    def read(game: str) -> Known:
        found = kept(game)
        return found.position.course, found.recorded

    try:
        return SeriesPlace(series, standing_at((course, ended), read))
    except HkojiError:  # a game before it is not kept here
        return SeriesPlace(series, None)


class Rematch(NamedTuple):
    """The rematch of a game: its position, and whether it was `opened` or `joined` now, or `found` as it is.

    `cancelled` are the player's other rematches of the game that were cancelled for it. `decided` is the score of the
    series to which the game before belongs, if that is over.
    """

    position: Position
    how: str
    cancelled: tuple[str, ...]
    decided: SeriesScore | None


class _OtherTermsError(IllegalError):
    """The opponent's rematch has other rules, or another agreement, than the game before."""


class _Wanted(NamedTuple):
    """The rematch that is wanted: of which game, between which players, and what is agreed."""

    course: Course
    seat: Seat
    series: Series | None
    decided: SeriesScore | None
    expires_in: int | None
    since: str
    """No rematch was offered before this time."""

    @property
    def game(self) -> str:
        return self.course.setup.game

    @property
    def opponent(self) -> str:
        name = self.course.setup.names[1 - self.seat]
        assert name is not None
        return name

    @property
    def agreement(self) -> Agreement:
        return rematch_agreement(self.course, self.series)


class _Listed(NamedTuple):
    """The rematches of a game by id: mine that are open, the opponent's, and those that have been joined."""

    mine: list[str]
    theirs: list[str]
    joined: list[str]


class Rematches:
    """Makes rematches for the player of `client`. `pause` waits for so many seconds.

    Unless it `deposits`, no draws are deposited in a rematch that is sealed. Nor are they if they were not before.
    `settle` is called before a sealed rematch is opened or joined, with the wish for it, the opponent, what is agreed,
    and whether it is joined. An error that it raises ends the attempt.
    """

    def __init__(
        self,
        client: Client,
        pause: Callable[[float], None] = time.sleep,
        *,
        deposits: bool = True,
        settle: Callable[[SealedWish, str, Agreement, bool], None] = lambda *_: None,
    ) -> None:
        self._client: Final = client
        self._pause = pause
        self._deposits: Final = deposits
        self._settle = settle
        self._made: dict[str, str] = {}
        """Whether a rematch was opened or joined by this command."""
        self._cancelled: list[str] = []
        self._refused: set[str] = set()
        """The opponent's rematches that this player cannot join."""

    def make(
        self, game: str, expires_in: int | None, agree: Callable[[Course], None] = lambda _course: None
    ) -> Rematch:
        """Opens a rematch of a game, joins the opponent's, or finds the one that there is.

        An offer expires so many seconds from now; None: never. `agree` is called with the opponent's rematch before it
        is joined; what it raises ends the attempt. Raises `IllegalError` if the game goes on, if it is not this
        player's, if nobody had joined it, or if its rematch is over; and what opening and joining raise.
        """
        # The game is locked meanwhile: two commands for one rematch in this home would be two players more.
        with self._client.game(game) as held:
            wanted = self._want(held, expires_in)
            patience = _PATIENCE
            for _ in range(_TRIES):
                found = self._look(wanted)
                if found.joined:
                    for each in found.mine:
                        self._cancel(each)
                    position = self._position(wanted, found.joined[0])
                    if not _is_cancelled(position):
                        return self._result(wanted, position)
                elif not found.theirs:
                    for each in found.mine[1:]:
                        self._cancel(each)
                    if not found.mine:
                        self._open(wanted)
                    elif not found.mine[1:] and not _is_cancelled(position := self._position(wanted, found.mine[0])):
                        return self._result(wanted, position)
                elif found.mine and found.mine[0] < found.theirs[0]:
                    if patience:
                        patience -= 1
                        self._pause(_PAUSE)
                    else:
                        self._join(wanted, found.theirs[0], agree)
                elif all(self._cancel(each) for each in found.mine):
                    self._join(wanted, found.theirs[0], agree)
        raise IllegalError(
            tell("the rematch changed while it was arranged"), hint=tell("give the command again, or see `hkoji games`")
        )

    # --- what a rematch must be -----------------------------------------------------------------------------------

    def _want(self, held: ClientGame, expires_in: int | None) -> _Wanted:
        position = held.current()
        course, seat, short = position.course, position.seat, position.short
        nothing = tell("nothing was sent")
        if seat is None:
            raise ForbiddenError(tell("you are not a player in game {game}", game=short), hint=nothing)
        if not course.finished:
            raise IllegalError(tell("game {game} is not over", game=short), hint=nothing)
        if course.setup.names[1] is None:
            raise IllegalError(
                tell("nobody joined game {game}, so it has no rematch", game=short),
                hint=tell("nothing was sent; open another game with `hkoji new`"),
            )
        server = self._client.server_of(course.setup.game)
        if server != self._client.server:
            raise UsageError(
                tell("game {game} is at {server}, and you play at {mine} now", game=short, server=server,
                     mine=self._client.server),
                hint=tell("nothing was sent; change back with `hkoji register --server {server}`", server=server),
            )  # fmt: skip
        known = course, time_of_record(held.lines()[-1])
        series, decided = next_in_series(known, self._read)
        return _Wanted(course, seat, series, decided, expires_in, add_seconds(known[1], -_APART))

    def _read(self, game: str) -> Known:
        with self._client.game(game) as held:
            return held.current().course, time_of_record(held.lines()[-1])

    # --- what there is --------------------------------------------------------------------------------------------

    def _look(self, wanted: _Wanted) -> _Listed:
        service, me = self._client.service(), self._client.identity.name
        players = {me, wanted.opponent}
        now = service.now()

        def is_rematch(each: dict[str, Any]) -> bool:  # Any: JSON
            agreed = each.get("agreement") or {}
            return agreed.get("rematch") == wanted.game and {each["host"], each["guest"] or each["invite"]} == players

        opened = [each for each in service.own_games(status="open") if is_rematch(each)]
        waiting = [each for each in opened if (each.get("deadline") or now) >= now]
        mine = [each["game"] for each in waiting if each["host"] == me]
        theirs = [each["game"] for each in waiting if each["host"] != me]
        joined = [
            each["game"]
            for status in ("playing", "finished")
            for each in service.own_games(wanted.since, status=status)
            if is_rematch(each)
        ]
        return _Listed(sorted(mine), sorted(game for game in theirs if game not in self._refused), sorted(joined))

    def _position(self, wanted: _Wanted, game: str) -> Position:
        """Returns a listed rematch as it stands now. Raises `TrustError` if it is none."""
        with self._client.game(game) as held:
            position = held.current()
        if position.course.setup.agreement.rematch != wanted.game:
            raise TrustError(
                tell("the service lists game {game} as a rematch, which it is not", game=position.short),
                hint=tell("nothing else was sent"),
            )
        return position

    def _result(self, wanted: _Wanted, position: Position) -> Rematch:
        """Returns the rematch. Raises `IllegalError` if it is over."""
        if position.over:
            raise IllegalError(
                tell(
                    "game {game} has had its rematch, {rematch}, which is over",
                    game=wanted.game[:8],
                    rematch=position.short,
                ),
                hint=tell("no other was opened; for another game: `hkoji rematch {game}`", game=position.short),
            )
        how = self._made.get(position.game, FOUND)
        return Rematch(position, how, tuple(self._cancelled), wanted.decided)

    # --- the steps ------------------------------------------------------------------------------------------------

    def _open(self, wanted: _Wanted) -> None:
        invite = entry_kinds.Invite(wanted.opponent, self._key_of(wanted))
        ruleset = rematch_ruleset_of(wanted.course, wanted.seat)
        sealed = self._wish(wanted)
        if sealed is not None:
            self._settle(sealed, wanted.opponent, wanted.agreement, False)
        made = self._client.new(ruleset, invite, wanted.agreement, expires_in=wanted.expires_in, sealed=sealed)
        self._made[made.game] = OPENED

    def _wish(self, wanted: _Wanted) -> SealedWish | None:
        """Returns the wish for a game that is sealed if the one before is."""
        if wanted.course.sealed is None:
            return None
        from hkoji.client.kept.sealed import SealedNotes
        from hkoji.client.seats import SealedWish

        before = SealedNotes(Vault(self._client.home.game_folder(wanted.game))).deposits
        return SealedWish(None if self._deposits and before is not False else False)

    def _key_of(self, wanted: _Wanted) -> PublicKey | None:
        """Returns the opponent's last key in the game, or the one by which this player knows them since."""
        key = wanted.course.setup.keys[1 - wanted.seat]
        pins, name = self._client.service().pins, wanted.opponent
        return pins.players.get(name) if key in pins.known(name) else key

    def _cancel(self, game: str) -> bool:
        """Cancels an own rematch. Returns False if something else has come before that."""
        try:
            with self._client.game(game) as held:
                held.cancel()
        except (*_TOO_LATE, IllegalError):
            return False
        self._cancelled.append(game)
        return True

    def _join(self, wanted: _Wanted, game: str, agree: Callable[[Course], None]) -> None:
        """Joins the opponent's rematch, if it is still open."""
        sealed = self._wish(wanted)

        def verify(course: Course) -> None:
            if not has_terms(course, wanted.course, 1 - wanted.seat, wanted.series):
                raise _OtherTermsError(
                    tell("{name}'s rematch {game} has other rules or another clock than the game before",
                         name=wanted.opponent, game=game[:8]),
                    hint=tell("nothing was signed; to play it all the same: `hkoji join {game}`", game=game[:8]),
                )  # fmt: skip
            agree(course)
            if sealed is not None:
                self._settle(sealed, wanted.opponent, course.setup.agreement, True)

        try:
            with self._client.game(game) as held:
                held.join(verify, None, sealed)
        except _OtherTermsError:
            raise
        except _TOO_LATE:
            return
        except IllegalError as error:  # it is open to another key than this player has by now
            self._refused.add(game)
            self._client.say(tell("game {game}: {reason}", game=game[:8], reason=error))
        else:
            self._made[game] = JOINED


def _is_cancelled(position: Position) -> bool:
    return position.course.status == "cancelled"
