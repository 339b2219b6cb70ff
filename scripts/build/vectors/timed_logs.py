"""Logs with times, credits, timeouts, lapses and games that are called off; most of them with a finding of step 5.

A player has 60 s a turn and 120 s in reserve. The guest joins at 10 s, the seeds come at 70 s and 100 s, and the host's
turn goes on: D is 250 s. With a move at 250 s the guest's D is 430 s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import Final, NamedTuple

from scripts.build.vectors.formulas import UNTIMED, Vector
from scripts.build.vectors.log_builder import Log, after, enter, offered, reveal_entropy
from scripts.build.vectors.time_entries import CLOCK, annul, credit, end, gift, lapse, move, outage, timeout

WEEKEND: Final[Vector] = {"add": 0, "bank": 1000, "cap": 1000, "move": 0, "rest": "6", "zone": "+11:45"}
"""Saturday begins 900 s after the offer."""
BOB: Final[Vector] = {"key": None, "name": "bob"}

Change = Callable[[Log], Log]


class Bare(Enum):
    """The finding without receipts."""

    SAME = "the same"
    HOLDS = "nothing"
    UNPROVEN = "the same, and nobody is convicted"


class Case(NamedTuple):
    """A log: what is added to its beginning, and the entry that does not hold; None if all do.

    `names` is who is convicted.
    """

    what: str
    change: Change
    entry: int | None = None
    error: str = "illegal"
    step: int = 5
    names: str | None = "server"
    bare: Bare = Bare.SAME


def timed_logs() -> Iterator[Vector]:
    """Every case with receipts and without."""
    for begin, cases in _CASES:
        for case in cases:
            for receipts in (True, False):
                log = case.change(begin(receipts))
                how = "with receipts" if receipts else "without receipts"
                finding: Vector | None = None
                if case.entry is not None and (receipts or case.bare is not Bare.HOLDS):
                    names = None if not receipts and case.bare is Bare.UNPROVEN else case.names
                    finding = {"step": case.step, "entry": case.entry, "error": case.error, "names": names}
                holds = finding["entry"] if finding else len(log.texts)
                yield {"what": f"{case.what}, {how}", "log": log.text, "holds": holds, "finding": finding}


# --- parts ------------------------------------------------------------------------------------------------------------


def _open(receipts: bool, agreement: Vector, invite: Vector | None = None) -> Log:
    return enter(offered(agreement, receipts=receipts), 0, invite=invite)


def _timed(receipts: bool) -> Log:
    return _begun(receipts, {**UNTIMED, "clock": CLOCK})


def _untimed(receipts: bool) -> Log:
    return _begun(receipts, UNTIMED)


def _begun(receipts: bool, agreement: Vector) -> Log:
    log = enter(_open(receipts, agreement), 1, at=10)
    return reveal_entropy(reveal_entropy(log, 1, at=70), 0, at=100)


def helped(log: Log, at: int, given: Vector | None, *outages: Vector) -> Log:
    """The host's move and its `credit`, and the guest's timeout one second after D."""
    return timeout(credit(move(log, "alice", at=at), given, *outages), 1, at=at + 181)


LOST: Final[Vector] = {"reason": "timeout", "winner": 1}
OFF: Final[Vector] = {"reason": "cancel", "winner": None}


def rekeyed(log: Log, at: int) -> Log:
    """A new key of the host."""
    return log.change_key("rekey", "alice", "alice 2", at=at)


# --- the cases --------------------------------------------------------------------------------------------------------

_HOLDS: Final = Bare.HOLDS

_RECORD: Final = (
    Case("seen is not the receipt's time", lambda log: move(log, "alice", at=110, seen=101), 5, bare=_HOLDS),
    Case(
        "seen is not the receipt's time, and the service goes on",
        lambda log: timeout(move(log, "alice", at=110, seen=101), 1, at=300),
        5,
        bare=_HOLDS,
    ),
    Case("seen goes back", lambda log: move(log, "alice", at=110, seen=69), 5, bare=Bare.UNPROVEN),
    Case(
        "seen goes back, and the service goes on",
        lambda log: timeout(move(log, "alice", at=110, seen=69), 1, at=300),
        5,
    ),
    Case(
        "seen is not the time of an entry of the service",
        lambda log: move(log.change_key("revoke", "alice", "alice 2", at=105), "alice", at=110, seen=104),
        6,
        bare=Bare.UNPROVEN,
    ),
    Case("the receipts go back", lambda log: move(log, "alice", at=99), 5, bare=_HOLDS),
    Case("the service's time is not its receipt's", lambda log: timeout(log, 0, at=251, receipt=252), 5, bare=_HOLDS),
    Case("the service's time is before seen", lambda log: timeout(log, 0, at=99), 5),
    Case("an end with the time of the timeout", lambda log: end(timeout(log, 0, at=251), LOST)),
    Case("an end with a time of its own", lambda log: end(timeout(log, 0, at=251), LOST, at=252), 6),
    Case(
        "a credit with a time of its own",
        lambda log: move(log, "alice", at=200).add(
            "credit", "server", {"gift": None, "outages": [outage(110, 120)]}, at=201
        ),
        6,
    ),
)

_CLOCKS: Final = (
    Case("a move at D", lambda log: timeout(move(log, "alice", at=250), 1, at=431)),
    Case("a late move", lambda log: timeout(move(log, "alice", at=251), 1, at=432), 5),
    Case("a late move as the last entry", lambda log: move(log, "alice", at=251)),
    Case(
        "a late move before another player's move",
        lambda log: move(move(log, "alice", at=251), "bob", at=260),
        5,
        bare=_HOLDS,
    ),
    Case(
        "the second of three moves is late",
        lambda log: (
            move(log, "alice", at=250)
            .add("move", "bob", {"action": "3ABC"}, at=431)
            .add("move", "alice", {"action": "-A"}, at=432)
        ),
        6,
        bare=_HOLDS,
    ),
    Case(
        "a late resignation",
        lambda log: end(log.add("resign", "alice", {}, at=251), {"reason": "resign", "winner": 1}),
    ),
    Case("a late new key", lambda log: rekeyed(log, 251)),
    Case("a timeout at D", lambda log: timeout(log, 0, at=250), 5),
    Case("a timeout after D", lambda log: end(timeout(log, 0, at=251), LOST)),
    Case("a timeout at D, after a new key", lambda log: timeout(rekeyed(log, 240), 0, at=250), 6),
    Case("a timeout after D, after a new key", lambda log: timeout(rekeyed(log, 240), 0, at=251)),
    Case("a timeout of the seat that owes nothing", lambda log: timeout(log, 1, at=281), 5, step=8),
    Case(
        "a timeout after the game was given up",
        lambda log: timeout(log.add("resign", "alice", {}, at=110), 0, at=500),
        6,
    ),
    Case(
        "a timeout without a seat",
        lambda log: log.add("timeout", "server", {}, at=251),
        5,
        "malformed",
        step=1,
        names=None,
    ),
)

_GIFTS: Final = (
    Case("a gift, and a move at D", lambda log: helped(log, 280, gift(log.prev, 30))),
    Case("a gift that is a second too small", lambda log: helped(log, 280, gift(log.prev, 29)), 5),
    Case(
        "a gift, and an early move",
        lambda log: timeout(credit(move(log, "alice", at=160), gift(log.head(4), 30)), 1, at=341),
    ),
    Case(
        "a gift with other seconds than were signed",
        lambda log: helped(log, 280, {**gift(log.prev, 29), "seconds": 30}),
        6,
        "bad-signature",
    ),
    Case("a gift of the mover's own", lambda log: helped(log, 280, gift(log.prev, 30, "alice")), 6, "bad-signature"),
    Case(
        "a gift in the mover's own name",
        lambda log: helped(log, 280, gift(log.prev, 30, name="alice")),
        6,
        "bad-signature",
    ),
    Case("a gift in another game", lambda log: helped(log, 280, gift(log.prev, 30, game="0" * 32)), 6, "bad-signature"),
    Case("a gift at a head that has passed", lambda log: helped(log, 280, gift(log.head(3), 30)), 6),
    Case("a gift, and a new key before the move", lambda log: helped(rekeyed(log, 200), 280, gift(log.head(4), 30))),
    Case("a gift after the new key", lambda log: helped(rekeyed(log, 200), 280, gift(log.prev, 30))),
    Case(
        "a gift for the entry before the last",
        lambda log: timeout(
            credit(move(move(log, "alice", at=250), "bob", at=300), gift(log.head(4), 30, "alice")), 0, at=900
        ),
        7,
    ),
    Case(
        "a gift twice",
        lambda log: credit(credit(move(log, "alice", at=200), gift(log.head(4), 30)), gift(log.head(4), 30)),
        7,
    ),
    Case("a credit after a new key", lambda log: credit(rekeyed(log, 200), gift(log.head(4), 30)), 6),
    Case("an empty credit", lambda log: helped(log, 200, None), 6, "malformed", step=1, names=None),
    Case(
        "a gift of no seconds",
        lambda log: helped(log, 200, gift(log.prev, 0)),
        6,
        "malformed",
        step=1,
        names=None,
    ),
    Case(
        "a gift of over 30 days",
        lambda log: helped(log, 200, gift(log.prev, 2592001)),
        6,
        "malformed",
        step=1,
        names=None,
    ),
)

_OUTAGES: Final = (
    Case("an outage, and a move at D", lambda log: helped(log, 280, None, outage(110, 140))),
    Case("an outage that is a second too short", lambda log: helped(log, 280, None, outage(110, 139)), 5),
    Case(
        "two outages and a gift", lambda log: helped(log, 280, gift(log.prev, 10), outage(101, 111), outage(270, 280))
    ),
    Case("an outage from since on", lambda log: helped(log, 200, None, outage(100, 110)), 6),
    Case("an outage that begins before since", lambda log: helped(log, 200, None, outage(99, 110)), 6),
    Case("an outage that ends after T", lambda log: helped(log, 200, None, outage(190, 201)), 6),
    Case(
        "an entry within an outage",
        lambda log: helped(rekeyed(log, 120), 200, None, outage(110, 121)),
        7,
    ),
    Case(
        "an outage of mail, and the player has a key of their own",
        lambda log: helped(log, 200, None, outage(110, 120, "mail")),
        6,
    ),
    Case(
        "an outage of another way",
        lambda log: helped(log, 200, None, outage(110, 120, "pigeon")),
        6,
        "not-understood",
        step=1,
        names=None,
    ),
    Case("an entry at the end of an outage", lambda log: helped(rekeyed(log, 120), 200, None, outage(110, 120))),
    Case(
        "two outages that touch",
        lambda log: helped(log, 200, None, outage(110, 120), outage(120, 130)),
        6,
        "malformed",
        step=1,
        names=None,
    ),
    Case(
        "outages that are not sorted",
        lambda log: helped(log, 200, None, outage(130, 140), outage(110, 120)),
        6,
        "malformed",
        step=1,
        names=None,
    ),
    Case(
        "an outage of no time",
        lambda log: helped(log, 200, None, outage(110, 110)),
        6,
        "malformed",
        step=1,
        names=None,
    ),
)

_ANNULLED: Final = (
    Case("called off at D", lambda log: end(annul(log, at=250), OFF)),
    Case("called off after D", lambda log: annul(log, at=251), 5),
    Case("called off at D with a gift", lambda log: annul(log, gift(log.prev, 30), at=280)),
    Case("called off after D with a gift", lambda log: annul(log, gift(log.prev, 29), at=280), 5),
    Case("called off at D with an outage", lambda log: annul(log, None, outage(110, 140), at=280)),
    Case("called off at D with an outage of mail", lambda log: annul(log, None, outage(110, 140, "mail"), at=280), 5),
    Case("called off in an outage", lambda log: annul(log, None, outage(110, 281), at=280), 5),
    Case(
        "called off, and the gift is of the seat itself",
        lambda log: annul(log, gift(log.prev, 30, "alice"), at=280),
        5,
        "bad-signature",
    ),
    Case("called off by the host alone", lambda log: annul(log, at=200, by=("alice", "alice")), 5, "bad-signature"),
    Case(
        "called off, the signatures exchanged", lambda log: annul(log, at=200, by=("bob", "alice")), 5, "bad-signature"
    ),
    Case(
        "called off after a new key, with the old one", lambda log: annul(rekeyed(log, 150), at=200), 6, "bad-signature"
    ),
    Case("called off after a new key", lambda log: annul(rekeyed(log, 150), at=200, by=("alice 2", "bob"))),
)

_UNTIMED: Final = (
    Case("no clock, and a timeout", lambda log: timeout(log, 0, at=100000), 5),
    Case("no clock, and called off", lambda log: end(annul(log, at=100000), OFF)),
    Case("no clock, and called off with an outage", lambda log: annul(log, None, outage(110, 140), at=200), 5),
    Case("no clock, and a gift", lambda log: helped(log, 200, gift(log.prev, 30)), 6),
    Case("no clock, and a late move", lambda log: move(move(log, "alice", at=10**8), "bob", at=2 * 10**8)),
    Case("no clock, and seen goes back", lambda log: move(log, "alice", at=110, seen=69), 5, bare=Bare.UNPROVEN),
)

_EXPIRING: Final = (
    Case("a join when the offer expires", lambda log: timeout(enter(log, 1, at=20), 1, at=201)),
    Case("a join after the offer has expired", lambda log: timeout(enter(log, 1, at=21), 1, at=300), 2),
    Case("a join after the offer has expired, as the last entry", lambda log: enter(log, 1, at=21), 2, bare=_HOLDS),
    Case("expired too early", lambda log: lapse(log, "expired", at=20), 2),
    Case("expired", lambda log: end(lapse(log, "expired", at=21), OFF)),
    Case("declined by nobody", lambda log: lapse(log, "declined", at=5), 2),
    Case("a lapse for a new reason", lambda log: lapse(log, "moved", at=21), 2, "not-understood", step=1, names=None),
)

_INVITED: Final = (
    Case("declined", lambda log: end(lapse(log, "declined", at=5), OFF)),
    Case("an offer that does not expire has expired", lambda log: lapse(log, "expired", at=10**8), 2),
)

_WEEKENDS: Final = (
    Case("a timeout at D, after a rest day", lambda log: timeout(enter(log, 1, at=10), 1, at=1010 + 86400), 3),
    Case("a timeout after D, after a rest day", lambda log: timeout(enter(log, 1, at=10), 1, at=1011 + 86400)),
    Case("a timeout in a rest day", lambda log: timeout(enter(log, 1, at=10), 1, at=80000), 3),
)

_CASES: Final = (
    (_timed, _RECORD + _CLOCKS + _GIFTS + _OUTAGES + _ANNULLED),
    (_untimed, _UNTIMED),
    (lambda receipts: _open(receipts, {**UNTIMED, "clock": CLOCK, "expires": after(20)}), _EXPIRING),
    (lambda receipts: _open(receipts, UNTIMED, BOB), _INVITED),
    (lambda receipts: _open(receipts, {**UNTIMED, "clock": WEEKEND}), _WEEKENDS),
)
