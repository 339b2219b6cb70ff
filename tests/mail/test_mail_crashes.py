"""The mail process is killed at every point between two steps, and started again: no order is lost or entered twice."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

from hkoji_server.service.notices.delivery import LEASE

from hkoji.audit.log_audit import audit
from tests.mail.test_mail_games import is_over, move_by_client
from tests.support.mail.fragile_store import FragileStore, KilledError
from tests.support.mail.list_world import ListWorld, list_world, unread
from tests.support.mail.mailbox_player import MailboxPlayer
from tests.support.mail.post_office import letters
from tests.support.mail.reading import offered
from tests.support.service import Player

LEAST_KILLS = 500


class Killer:
    """Does something again and again, killed at one point later each time, until it is done."""

    def __init__(self, world: ListWorld) -> None:
        self.world = world
        self.fragile = FragileStore(world.store)
        self.kills = 0
        world.after_letter = self.fragile.point

    def until_done(self, work: Callable[[], object]) -> None:
        point = 0
        while True:
            self.world.restart(self.fragile.store)
            self.fragile.arm(point)
            try:
                work()
            except KilledError:
                self.kills += 1
                point += 1
                # The leases of the killed process are free again.
                self.world.clock.pass_by(LEASE + 1)
            else:
                self.fragile.arm(None)
                return

    def process(self) -> None:
        """Processes the mail that waits."""
        number = self.world.taken[-1]
        self.until_done(lambda: self.world.run(self.world.parts.orders.process(number)))

    def deliver(self) -> None:
        """Sends what is due."""
        self.until_done(lambda: self.world.deliver(61))


def test_crash_at_every_point_of_games(tmp_path: Path) -> None:
    with list_world(tmp_path / "data", mail="play@hkoji.example") as world:
        world.processes = False
        alice, bob = Player(world.service, "alice").register(), world.player("bob@example.org")
        killer = Killer(world)
        orders: set[int] = set()
        while killer.kills < LEAST_KILLS:
            orders |= play_and_be_killed(killer, alice.login(), bob)
        verify_ids(bob, orders)


def play_and_be_killed(killer: Killer, alice: Player, bob: MailboxPlayer) -> set[int]:
    """Plays a game whose mail process is killed again and again. Returns the numbers of the mails with orders."""
    world, rng = killer.world, random.Random(14)
    game = world.invite(alice, "bob", "bob@example.org")
    orders: set[int] = set()
    answered: set[str] = set()
    while not is_over(world, game):
        killer.deliver()
        # After a crash the letter about a turn may come although an answer has told of it: one of them is answered.
        for letter in unread(bob):
            lines = ["accept"] if letter.id.startswith("<invited.") else offered(letter)
            if not lines or letter.answered_to in answered or letter.id.startswith("<answer.1."):
                continue
            answered.add(letter.answered_to)
            before = alice.head(game)
            bob.answer(letter, rng.choice(lines))
            received = world.incoming().received
            killer.process()
            added = [line for line in alice.lines(game) if line.entry.seq > before[0] and line.entry.by == "bob"]
            kept = world.incoming()
            assert kept.state == "done"
            assert len(added) == 1, kept.result
            receipt = added[0].receipt
            assert receipt is not None
            assert receipt.receipt.at == received
            orders.add(kept.number)
        move_by_client(alice.login(), game)
    killer.deliver()
    raw = world.service.ask("GET", f"/v1/games/{game}/log").body
    assert audit(raw).ok
    by_mail = [line for line in alice.lines(game) if line.entry.by == "bob" and line.entry.kind != "seed"]
    assert len(by_mail) == len(orders)
    assert len(world.run(world.store.evidence(game, "bob"))) == len(orders)
    return orders


def verify_ids(player: MailboxPlayer, orders: set[int]) -> None:
    """A letter that was sent twice has one id, and each mail has one answer."""
    ids: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for letter in letters(player.mailbox):
        event, seq, _ = letter.id.lstrip("<").split(".", 2)
        ids[event, seq, *letter.references[:1]].add(letter.id)
    assert {key for key, found in ids.items() if len(found) > 1} == set()
    assert {("answer", str(number)) for number in orders} <= {key[:2] for key in ids}
    sent = Counter(letter.id for letter in letters(player.mailbox))
    assert sent.most_common(1)[0][1] > 1, "no letter was sent twice, so nothing was tested"


def test_crash_while_a_game_is_opened_asked_back_and_called_off(tmp_path: Path) -> None:
    with list_world(tmp_path / "data", mail="play@hkoji.example") as world:
        bob = world.player("bob@example.org")
        world.run(world.players.invite("bob", bob.mailbox.address, "en", None))
        world.deliver()
        world.processes = False
        killer = Killer(world)
        bob.answer(bob.next_letter(0), "accept")
        killer.process()
        assert world.box("bob").state == "active"
        killer.deliver()
        found = [line.strip() for letter in unread(bob) for line in letter.lines if line.startswith("  play+")]
        commands = found[0]
        bob.write(commands, "a game", "new hanamikoji carol carol@example.com")
        killer.process()
        assert json.loads(world.incoming().result)["answer"] == "on record"
        (game,) = world.games_of("bob")
        killer.deliver()
        carol = world.player("carol@example.com")
        assert len({letter.id for letter in unread(carol)}) == 1
        bob.write(commands, "settings", "new address", "lang it")
        killer.process()
        assert (world.box("bob").counter, world.box("bob").lang) == (1, "it")
        carol.answer(letters(carol.mailbox)[-1], "decline later")
        killer.process()
        assert json.loads(world.incoming().result)["answer"] == "declined"
        assert is_over(world, game)
        killer.deliver()
        assert killer.kills >= 100
