"""Measures what sealed games cost: locks, whole rounds of one player, and the check of both players' proofs.

The floor is one product of libsodium, so a ratio says how many products a thing costs. Checks are measured by libsodium
and in plain Python, as readers without it make them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from nacl.bindings import crypto_scalarmult_ed25519_noclamp

from hkoji.game.course import Stage
from hkoji.game.proving import EntryProofs, proofs_of
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.sealed import plain, sodium
from hkoji.sealed.cards import card_points
from hkoji.sealed.group import Combine
from hkoji.sealed.lock import make_lock, verify_lock
from hkoji.sealed.seal import Seal
from hkoji.sealed.transcript import Place
from scripts.bench import sealed_moves
from scripts.bench.page import record_speed
from scripts.bench.timing import Contender, report, speeds
from tests.support.sealed_table import SealedTable

_FLOOR = "product of libsodium"
_PRODUCTS = 300


def run() -> None:
    """Prints how many locks and rounds a second, and their cost in products."""
    table, makers = _game(seed=1)
    proofs = [
        proofs_of(before.course, step.entry, step.body)
        for before, step in zip(table.public.steps, table.public.steps[1:], strict=False)
    ]
    rounds = table.course.state.round
    contenders: dict[str, Contender] = {
        _FLOOR: _products,
        **_locks(),
        "a player's round that is made": lambda: _call(makers, rounds),
        "a round of both players that is checked": lambda: _check(proofs, sodium.combine, rounds),
        "a round of both players that is checked in plain Python": lambda: _check(proofs, plain.combine, rounds),
    }
    found = speeds(contenders)
    report("Sealed games", "/s", found, _FLOOR)
    for name in contenders:
        if name != _FLOOR:
            record_speed(f"{name}: time", found, name, _FLOOR)
    sealed_moves.run()


def _products() -> int:
    point = bytes.fromhex("5866666666666666666666666666666666666666666666666666666666666666")
    number = bytes(range(1, 32)) + b"\x01"
    for _ in range(_PRODUCTS):
        crypto_scalarmult_ed25519_noclamp(number, point)
    return _PRODUCTS


def _locks() -> dict[str, Contender]:
    before, place = card_points("hanamikoji", Hanamikoji.pack).points, Place("00" * 16, 0, 1, 1, "00" * 32)
    seal = Seal(bytes(32), place.game, place.seat)
    made_of = (1, place.prev, "00" * 32, "00" * 32)
    number, order = seal.lock_number(*made_of), seal.lock_order(len(before), *made_of)

    def make(combine: Combine) -> int:
        make_lock(combine, place, before, number, order, seal.nonces(bytes))
        return 1

    lock = make_lock(sodium.combine, place, before, number, order, seal.nonces(bytes))

    def check(combine: Combine) -> int:
        verify_lock(combine, place, before, lock)
        return 1

    return {
        "a lock that is made": partial(make, sodium.combine),
        "a lock that is checked": partial(check, sodium.combine),
    }


def _game(seed: int) -> tuple[SealedTable, list[Callable[[], object]]]:
    """A whole game, and what the host has made in it, to be made again."""
    table, makers = SealedTable(Hanamikoji(), seed), list[Callable[[], object]]()
    host = table.sealers[0]
    while not table.course.finished:
        course, (seat, body) = table.course, table.owed()
        if seat == 0 and course.stage in (Stage.OPEN, Stage.HOST_SEED):
            makers.append(partial(host.open if course.stage is Stage.OPEN else host.seed, course))
        elif seat == 0 and course.debtor is not None:
            makers.append(partial(host.release, course))
        elif seat == 0 and course.stage is Stage.PLAY:
            own = table.seen_by(0).course
            assert own is not None
            action = table.random.choice(own.state.legal_actions())
            makers.append(partial(host.move, own, action))
            body = host.move(own, action).body
        table.send(seat, body)
    return table, makers


def _call(makers: list[Callable[[], object]], rounds: int) -> int:
    for make in makers:
        make()
    return rounds


def _check(proofs: list[EntryProofs], combine: Combine, rounds: int) -> int:
    for entry in proofs:
        for check in (*entry.cards, *entry.deal):
            check(combine)
    return rounds
