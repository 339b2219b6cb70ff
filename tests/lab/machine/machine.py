"""The possible events between players and a service, in any order: a state machine for Hypothesis.

Each rule acts through a real client or a handmade request. `world` compares every answer with the model's, and
`operations` checks the state of the clients afterwards.
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from hkoji import errors
from hkoji.client import Position
from hkoji.game.submission import Submission
from tests.lab.machine import handmade_entries, handmade_statements
from tests.lab.machine.operations import MOST_LIVE, STEPS, OperationsOfTime, attempt, pick
from tests.lab.machine.world import NAMES

small = st.integers(0, 255)
number = st.integers(0, 2**16 - 1)


class Machine(OperationsOfTime):
    """The rules."""

    @initialize(who=small, options=small, invited=small)
    def first_game(self, who: int, options: int, invited: int) -> None:
        self.start(who, options, invited)

    @precondition(lambda self: len(self.live) < MOST_LIVE)
    @rule(who=small, options=small, invited=small)
    def new(self, who: int, options: int, invited: int) -> None:
        self.start(who, options, invited)

    @precondition(lambda self: self.games)
    @rule(who=small, which=small)
    def join(self, who: int, which: int) -> None:
        waiting = [game for game in self.live if game.stage == "join"]
        self.sit_down(who, pick(waiting, which // 8) if waiting and which % 8 else self.game(which))

    @rule(which=small, choice=number, times=st.integers(1, 8))
    def play(self, which: int, choice: int, times: int) -> None:
        for at in range(times):
            self.step_on(which, choice + 7 * at)

    @rule(which=small, choice=number)
    def play_once(self, which: int, choice: int) -> None:
        self.step_on(which, choice)

    @precondition(lambda self: self.games)
    @rule(who=small, which=small, choice=number)
    def move_anything(self, who: int, which: int, choice: int) -> None:
        """A move that is nearly always illegal, or made out of turn."""
        STEPS["move anything"] += 1
        game = self.game(which)
        device = self.device_of(game.to_move, who // 2) if game.to_move in NAMES and who % 2 else self.device(who)
        self.move_in(device, game, pick(handmade_entries.NOTATIONS[game.ruleset["name"]], choice))

    @precondition(lambda self: self.games)
    @rule(who=small, which=small, often=small)
    def leave(self, who: int, which: int, often: int) -> None:
        """Tries to resign or cancel. A player who may does so one time in eight, else looks at the game."""
        game, device = self.game(which), self.device(who)
        if often % 8 and game.seat_of(device.name) is not None and game.status in ("open", "playing"):
            self.look_at(device, game)
            return
        self.quit(device, game, pick(["resign", "cancel"], often // 8))

    @precondition(lambda self: self.games)
    @rule(who=small, which=small, choice=number)
    def sign_for_later(self, who: int, which: int, choice: int) -> None:
        STEPS["sign"] += 1
        game = self.game(which)
        device = self.device_of(game.to_move, who) if game.to_move in NAMES else self.device(who)
        moves = sorted(game.moves()) if game.stage == "play" else ["1A"]
        result = self.act(device, game, lambda: device.sign(game.game, pick(moves, choice)))
        if isinstance(result, Submission):
            self.signed.append((device, result))
        assert not any(each.entry and each.entry["kind"] == "move" for each in device.trace if not device.waits)

    @precondition(lambda self: self.signed)
    @rule(who=small, which=small)
    def submit_signed(self, who: int, which: int) -> None:
        """An entry signed earlier is sent, perhaps twice, perhaps by somebody else."""
        STEPS["submit"] += 1
        device, (_, submission) = self.device(who), pick(self.signed, which)
        game = self.model.games[submission.entry.game]
        device.bare = True
        result = self.act(device, game, lambda: device.client.submit(submission))
        device.bare = False
        posted = self.posted(device)
        if device.lost or (posted and posted.expected.code):
            assert isinstance(result, errors.HkojiError)
            self.check_refusal(device, result)
        else:
            assert isinstance(result, tuple), result
            assert result[0].entry.text == submission.entry.text

    @precondition(lambda self: self.games)
    @rule(who=small, which=small)
    def look(self, who: int, which: int) -> None:
        """Anybody looks at anything: players, and spectators of games that are not theirs."""
        STEPS["look"] += 1
        self.look_at(self.device(who), self.game(which))

    @rule(who=small, waiting=st.booleans())
    def list_games(self, who: int, waiting: bool) -> None:
        self.list_of(self.device(who), waiting=waiting)

    @precondition(lambda self: self.games)
    @rule(who=small, which=small)
    def look_at_what_is_stored(self, who: int, which: int) -> None:
        STEPS["stored"] += 1
        device, game = self.device(who), self.game(which)
        asked = len(device.trace)
        result = attempt(lambda: device.client.stored(game.game))
        assert len(device.trace) == asked, "what is stored needs no service"
        texts = device.kept_texts(game.game)
        if texts:
            assert isinstance(result, Position), result
            assert (result.course.seq, result.seat) == (len(texts) - 1, self.stored_seat(device, texts))
        else:
            assert isinstance(result, errors.NotFoundError), result

    @precondition(lambda self: self.games)
    @rule(who=small, which=small)
    def audit_game(self, who: int, which: int) -> None:
        STEPS["audit"] += 1
        self.check_audit(self.device(who), self.game(which))

    @precondition(lambda self: self.games)
    @rule(which=small, what=small, choice=number)
    def ask(self, which: int, what: int, choice: int) -> None:
        """A handmade request: lists, logs, views, with all sorts of tokens."""
        STEPS["ask"] += 1
        handmade_statements.ask(self.world, self.game(which), what, choice)

    @precondition(lambda self: self.games)
    @rule(which=small, sort=small, choice=number)
    def submit_by_hand(self, which: int, sort: int, choice: int) -> None:
        """Sends a handmade entry, such as one with a stale head; see `handmade_entries`."""
        name = pick(handmade_entries.SORTS, sort)
        STEPS[f"raw: {name}"] += 1
        handmade_entries.submit(self.world, self.game(which), name, choice)

    @precondition(lambda self: self.games)
    @rule(which=small, sort=small, choice=number)
    def submit_more_by_hand(self, which: int, sort: int, choice: int) -> None:
        self.submit_by_hand(which, sort, choice)

    @precondition(lambda self: self.live)
    @rule(who=small, answer=st.booleans(), at=st.integers(0, 4))
    def cut_the_wire(self, who: int, answer: bool, at: int) -> None:
        """The device's next operation loses a request, or an answer."""
        STEPS["cut"] += 1
        self.device(who).fault = ("answer" if answer else "request", at)

    @precondition(lambda self: any(game.actor is not None for game in self.live))
    @rule(which=small, one=number, other=number)
    def race(self, which: int, one: int, other: int) -> None:
        """While a move is on its way, another device of the player moves, or the opponent resigns or looks."""
        game = pick([game for game in self.live if game.actor is not None], which)
        mover = self.device_of(game.to_move or "", which // 4)
        rivals = [each for each in self.world.devices if each is not mover and each.name in game.names]
        if game.stage != "play":
            return
        STEPS["race"] += 1
        rival, moves = pick(rivals, other), sorted(game.moves())

        def meanwhile() -> None:
            if rival.name == mover.name:
                self.move_in(rival, game, pick(moves, one if other % 3 == 0 else other))
            elif other % 4 == 0:
                attempt(lambda: rival.resign(game.game))
            else:
                self.look_at(rival, game)

        mover.meanwhile = meanwhile
        self.move_in(mover, game, pick(moves, one))

    @precondition(lambda self: self.live)
    @rule(who=small, times=st.integers(1, 2))
    def change_key(self, who: int, times: int) -> None:
        """A player changes keys: from now on for new games, and in running ones when it is their turn."""
        device = pick([each for each in self.world.devices if each.name != "alice"], who)  # players with one device
        for _ in range(times):
            self.rekey(device)

    @precondition(lambda self: self.live)
    @rule(often=small)
    def restart(self, often: int) -> None:
        """The service ends and starts on the same database, or a client is a new process over the same files."""
        if often % 8 == 0:
            STEPS["restart"] += 1
            self.world.restart()
        else:
            STEPS["reread"] += 1
            self.device(often // 8).reread()

    @precondition(lambda self: self.live)
    @rule(how=st.sampled_from([1, 1, 10, 61, 61, 400, 3700]), absent=small)
    def pass_time(self, how: int, absent: int) -> None:
        """Time passes, perhaps while the service is stopped; logins, challenges, offers and turns come to their end."""
        STEPS["time"] += 1
        self.world.pass_time(how, absent=absent % 4 == 0)

    @precondition(lambda self: any(game.deadline() for game in self.live))
    @rule(which=small, off=st.sampled_from([-1, 0, 1, 119, 121, 300]))
    def pass_to_a_deadline(self, which: int, off: int) -> None:
        """Time passes to somebody's deadline, or a little before or after it."""
        STEPS["deadline"] += 1
        game = pick([game for game in self.live if game.deadline()], which)
        self.world.pass_until(game.deadline() or "", off)

    @precondition(lambda self: self.live)
    @rule(how=st.sampled_from([-1, -29, 29, -30, 31, -61, -4000, 4000]), which=small, choice=number)
    def set_clock(self, how: int, which: int, choice: int) -> None:
        """Somebody sets the clock of the service; then something is tried, and mostly it is soon set right again."""
        STEPS["clock"] += 1
        self.world.set_clock(how)
        self.world.beat()
        if choice % 8 == 0:
            STEPS["restart"] += 1
            self.world.restart()
        if choice % 3 == 0:
            self.submit_by_hand(which, choice // 3, choice // 7)
        elif choice % 3 == 1:
            self.state_by_hand(which, choice // 3, choice // 7)
        else:
            self.step_on(which, choice)
        if choice % 5:
            self.world.set_right()

    @precondition(lambda self: self.world.wrong)
    @rule()
    def set_right(self) -> None:
        STEPS["clock set right"] += 1
        self.world.set_right()

    # --- statements and clocks ------------------------------------------------------------------------------------

    @precondition(lambda self: any(game.actor is not None for game in self.live))
    @rule(who=small, which=small, choice=small)
    def give(self, who: int, which: int, choice: int) -> None:
        """A player gives time, mostly one who may."""
        game = pick([game for game in self.live if game.actor is not None], which)
        device = self.device(who)
        if choice % 5 and game.actor is not None:
            device = self.device_of(game.names[1 - game.actor] or "", who)
        self.give_time(device, game, 1 + choice * 20 + game.seq)

    @precondition(lambda self: any(game.actor is not None for game in self.live))
    @rule(who=small, which=small, often=small)
    def call_off(self, who: int, which: int, often: int) -> None:
        """A player wishes to call a game off, or wishes so no more."""
        game = pick([game for game in self.live if game.actor is not None], which)
        device = self.device_of(pick([name for name in game.names if name], who), who // 2)
        self.wish(device if often % 4 else self.device(who), game, withdraw=often % 3 == 0)

    @precondition(lambda self: self.games)
    @rule(who=small, which=small)
    def look_at_the_clock(self, who: int, which: int) -> None:
        self.look_at_time(self.device(who), self.game(which))

    @precondition(lambda self: self.games)
    @rule(which=small, sort=small, choice=number)
    def state_by_hand(self, which: int, sort: int, choice: int) -> None:
        """Sends a handmade statement; see `handmade_statements`."""
        name = pick(handmade_statements.SORTS, sort)
        STEPS[f"raw: {name}"] += 1
        handmade_statements.submit(self.world, self.game(which), name, choice)
