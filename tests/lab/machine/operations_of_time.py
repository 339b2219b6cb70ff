"""Operations of players with their clients about time, and the checks that follow each."""

from __future__ import annotations

from hkoji import errors
from hkoji.client.kept_game import GameTime
from tests.lab.machine.naive_game import NaiveGame
from tests.lab.machine.operations import REFUSALS, STEPS, Operations
from tests.lab.machine.world import Asked, Device


class OperationsOfTime(Operations):
    """Clocks, gifts of time, and wishes to call a game off."""

    def stated(self, device: Device) -> Asked | None:
        """The last statement of the operation just run, or its withdrawal."""
        return next((each for each in reversed(device.trace) if "/statements" in each.path), None)

    def give_time(self, device: Device, game: NaiveGame, seconds: int) -> None:
        STEPS["give"] += 1
        result = self.act(device, game, lambda: device.about_time(game.game, lambda time: time.give(seconds)))
        if isinstance(result, GameTime):
            self.check_time(device, game, result)
        else:
            self.check_statement_refused(device, game, result)

    def wish(self, device: Device, game: NaiveGame, *, withdraw: bool) -> None:
        STEPS["withdraw" if withdraw else "call off"] += 1
        result = self.act(
            device,
            game,
            lambda: device.about_time(game.game, lambda time: time.withdraw() if withdraw else time.annul()),
        )
        if isinstance(result, GameTime):
            self.check_time(device, game, result)
            if game.stage != "over":
                assert withdraw != (device.name in game.time.wishes(game.head))
        else:
            self.check_statement_refused(device, game, result)

    def look_at_time(self, device: Device, game: NaiveGame) -> None:
        STEPS["look at the clock"] += 1
        result = self.act(device, game, lambda: device.look(game.game))
        if isinstance(result, errors.HkojiError):
            self.check_refusal(device, result)
            return
        position, time = result
        self.check_position(device, game, position)
        self.check_time(device, game, time)

    def check_time(self, device: Device, game: NaiveGame, time: GameTime) -> None:
        """Checks that a clock shows what the model's shows."""
        if device.lost:  # it was not told of gifts and outages
            return
        reading = time.reading
        assert (reading.deadline, time.agreement.to_json()) == (game.deadline(), game.agreement)
        clock = game.time.clock
        if clock is not None and game.actor is not None:
            assert (reading.seat, reading.since, reading.spent) == (clock.turn, game.time.since, clock.spent)
            assert list(reading.reserve or ()) == clock.banks
            assert set(time.annul) == set(game.time.wishes(game.head))
            assert len(time.gifts) == len(game.time.gifts())
            assert [each.to_json() for each in time.outages] == game.time.lost()

    def check_statement_refused(self, device: Device, game: NaiveGame, error: errors.HkojiError) -> None:
        """Checks that a statement was refused here, or by the service, or that the operation broke off."""
        said = self.stated(device)
        if said is not None and said.expected.code and isinstance(error, REFUSALS[said.expected.code]):
            return
        # The client may know itself that nothing can be said.
        timeless = game.time.clock is None or game.actor is None or game.seat_of(device.name) in (None, game.actor)
        if timeless and isinstance(error, errors.NotYourTurnError | errors.IllegalError | errors.GameOverError):
            return
        self.check_refusal(device, error)  # it broke off, or an entry before it was refused
