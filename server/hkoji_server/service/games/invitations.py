"""Invitations: whom a player accepts and whom they block, and how an invited player declines.

docs/spec/http.md, "Choices of players", and docs/spec/log.md, "How an open game ends". Choices are read from the store
each time, so they hold at once, in every process. Games that go on are not touched. A decline ends the game with a
`lapse` of the service. It needs no signature: a service can refuse to referee any game.
"""

from __future__ import annotations

import json
from typing import Final, Literal, NamedTuple

from hkoji import referee
from hkoji.errors import BlockedError, ConflictError, ForbiddenError, GameOverError, IllegalError, NotAcceptedError
from hkoji.game.course import Course, Stage
from hkoji.game.entry_kinds import Lapse, parse_body
from hkoji.game.entry_kinds.time import WHY_DECLINED, LapseReason
from hkoji.log.canonical import encode
from hkoji.log.private_key import Signer
from hkoji.messages.text import shorten, tell
from hkoji_server.service.games.loaded_games import TRIES, LoadedGames, Submitted, undecided, write_own
from hkoji_server.service.time.service_time import ServiceTime
from hkoji_server.store.closing import Closing
from hkoji_server.store.contract import Store
from hkoji_server.store.time_contract import StaleDecisionError

Invites = Literal["everyone", "known", "nobody"]

MOST_KNOWN: Final = 400
"""How many players a player may name as known: their names fit into one request."""


class Choices(NamedTuple):
    """The hosts from whom a player accepts invitations.

    `known` are the names that count as known beside those of past opponents.
    """

    invites: Invites = "everyone"
    known: tuple[str, ...] = ()


class Invitations:
    """Use cases about declines, settings and blocks, and the checks that follow. `signer` is the service's key."""

    def __init__(self, store: Store, held: LoadedGames, time: ServiceTime, signer: Signer) -> None:
        self._store = store
        self._held = held
        self._time = time
        self._signer = signer

    async def decline(
        self, game: str, player: str, why: str | None = None, closing: Closing | None = None
    ) -> Submitted:
        """Ends a game to which `player` is invited by name. A second call changes nothing, whatever its reason.

        `closing` closes the mail that declines.

        Raises `IllegalError` for another reason than those of `WHY_DECLINED`, `NotFoundError`, `ForbiddenError` for
        everybody else, `ConflictError` if the player has joined, `GameOverError`, `ClockError`.
        """
        if why is not None and why not in WHY_DECLINED:
            raise IllegalError(
                tell("{word!r} is no reason to decline", word=shorten(why)),
                hint=tell("nothing was changed; reasons: {words}", words=", ".join(WHY_DECLINED)),
            )
        for _ in range(TRIES):
            held = await self._held.read(game)
            course = held.refereed.course
            _verify_invited(course, player)
            if course.finished:
                return await self._declined_before(course)
            if course.stage is not Stage.JOIN:
                raise ConflictError(
                    game,
                    seq=course.seq,
                    head=course.head,
                    reason=tell("you have joined game {game} already", game=game[:8]),
                    hint=tell("nothing was changed; you can give it up with `hkoji resign {game}`", game=game[:8]),
                )
            at, outages = await self._time.time_of_record(), self._time.outages
            accepted = referee.lapse(held.refereed, LapseReason.DECLINED, signer=self._signer, at=at, why=why)
            try:
                await write_own(self._store, self._held, held, accepted, outages, closing=closing)
            except (ConflictError, StaleDecisionError):
                await self._time.read_outages()
            else:
                return Submitted(accepted.lines, fresh=True)
        raise undecided()

    async def _decline_all(self, host: str, player: str) -> None:
        """Declines all invitations of `host` to `player` that are open now."""
        for game in await self._store.open_invitations(host, player):
            try:
                await self.decline(game, player)
            except (ConflictError, GameOverError):  # it has begun or ended meanwhile
                continue

    async def _declined_before(self, course: Course) -> Submitted:
        """Returns the lines of the decline that has ended a game. Raises `GameOverError` if none has."""
        lines = await self._store.lines(course.setup.game, course.seq - 2)
        body = parse_body(lines[0].entry.kind, lines[0].entry.body)
        if isinstance(body, Lapse) and body.reason == LapseReason.DECLINED:
            return Submitted(lines, fresh=False)
        raise GameOverError(course.setup.game)

    async def settings(self, player: str) -> Choices:
        """Returns what a player has set, or the defaults."""
        text = await self._store.settings(player)
        if text is None:
            return Choices()
        kept = json.loads(text)
        return Choices(kept["invites"], tuple(kept["known"]))

    async def set_settings(self, player: str, choices: Choices) -> Choices:
        """Replaces what a player has set, and returns it: each name once, in order."""
        known = tuple(sorted(set(choices.known)))
        await self._store.set_settings(player, encode({"invites": choices.invites, "known": list(known)}))
        return Choices(choices.invites, known)

    async def block(self, player: str, other: str) -> None:
        """Blocks another player, and declines that player's open invitations.

        Raises `IllegalError` for the player's own name or too many blocks, and `NotFoundError`.
        """
        if other == player:
            raise IllegalError(tell("you cannot block yourself"), hint=tell("nothing was changed"))
        await self._store.add_block(player, other)
        await self._decline_all(other, player)

    async def verify_may_invite(self, host: str, name: str) -> None:
        """Checks that the player `name` accepts invitations of `host`.

        Raises `BlockedError`, `NotAcceptedError`, and `IllegalError` if it is the host who has blocked the player.
        """
        unchanged = tell("the game was not opened; invite somebody else, or leave it open for anyone")
        if await self._store.is_blocked(name, host):
            raise BlockedError(tell("{name} has blocked you", name=name), hint=unchanged)
        if await self._store.is_blocked(host, name):
            raise IllegalError(
                tell("you have blocked {name}, who could not join", name=name),
                hint=tell("the game was not opened; remove the block with `hkoji block {name} --remove`", name=name),
            )
        choices = await self.settings(name)
        if choices.invites == "everyone":
            return
        if choices.invites == "known" and (host in choices.known or await self._store.have_finished(name, host)):
            return
        raise NotAcceptedError(tell("{name} does not accept your invitation", name=name), hint=unchanged)

    async def verify_may_join(self, host: str, guest: str) -> None:
        """Checks that the host has not blocked the guest. Raises `BlockedError`."""
        if await self._store.is_blocked(host, guest):
            raise BlockedError(
                tell("{name} has blocked you", name=host), hint=tell("nothing was accepted; join another game")
            )


def _verify_invited(course: Course, player: str) -> None:
    """Raises `ForbiddenError` unless a game invites `player` by name."""
    invited, short = course.setup.invited, course.setup.game[:8]
    if invited is None:
        raise ForbiddenError(
            tell("game {game} invites nobody by name, so nobody can decline it", game=short),
            hint=tell("nothing was changed; its host can cancel it")
            if course.stage is Stage.JOIN
            else tell("nothing was changed"),
        )
    if invited != player:
        raise ForbiddenError(
            tell("game {game} invites {name}, and only {name} can decline it", game=short, name=invited),
            hint=tell("nothing was changed"),
        )
