"""Games with clocks, gifts, outages and every end that time can make, and damage to their times.

Anybody who holds all keys could publish these logs: each is chained and signed anew, its gifts and wishes too. So
nothing but its times can be wrong. `TIMES` has the sorts of damage, by name.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from hkoji.game import entry_kinds
from hkoji.game.agreement import Agreement, TimeControl, parse_time_control
from hkoji.game.clock import parse_time
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.lab.two_audits.damaged_logs import Case
from tests.support.drafts import Draft, draft, pins, write_log
from tests.support.table import AT
from tests.support.timed_table import TimedTable, later

Times = list[str]
"""The time of record of each entry."""
TimeDamage = Callable[[random.Random, list[Draft]], None]

SHORT = Hanamikoji("random", 1, "charm")
DAY = 86400
CONTROLS = (
    ("3d/14d", "", "+00:00"),
    ("1d", "67", "+01:00"),
    ("/30d+1d^45d", "135", "-05:45"),
    ("2h/1h+10m", "", "+00:00"),
    ("1h/2d", "123456", "+14:45"),
)
EXPIRES = "2026-12-01T12:00:00Z"


# --- games ---------------------------------------------------------------------------------------------------------


def control(number: int) -> TimeControl:
    """One of the controls of these games."""
    parsed = parse_time_control(*CONTROLS[number])
    assert parsed is not None
    return parsed


def timed(seed: int, clock: TimeControl | None, ruleset: Ruleset = SHORT) -> TimedTable:
    """A table whose offer expires, with this clock."""
    return TimedTable(ruleset, seed, agreement=Agreement(clock, EXPIRES, rated=clock is not None))


def ready(table: TimedTable) -> TimedTable:
    """The game up to its first decision."""
    table.wait(table.random.randrange(DAY)).open()
    table.wait(table.random.randrange(DAY)).join()
    for seat in (1, 0):
        spend(table)
        table.reveal_seed(seat)
    return table


def spend(table: TimedTable) -> None:
    """Lets the time of the seat that owes an entry pass, with gifts, outages and new keys on the way."""
    rng, actor = table.random, table.course.actor
    assert actor is not None
    if rng.random() < 0.15:
        table.wait(rng.randrange(60))
        table.revoke(actor) if rng.random() < 0.5 else table.rekey(actor)
    if rng.random() < 0.3:
        table.give(rng.choice([1, 600, DAY, 30 * DAY]))
    if rng.random() < 0.15:
        table.give(rng.choice([1, 3600]))
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        table.fail(rng.choice([1, 500, 5000, 2 * DAY]))
    deadline = table.deadline()
    assert deadline is not None
    left = parse_time(deadline) - parse_time(table.now)
    if left > 0:
        table.wait(rng.choice([0, 1, left // 9, rng.randrange(left + 1), left]))


def decide(table: TimedTable, moves: int) -> TimedTable:
    """Plays random legal moves at random times, each in time; ends sooner with the game."""
    for _ in range(moves):
        if table.course.finished:
            break
        spend(table)
        table.send(table.move(table.random.choice(table.course.state.legal_actions())))
    return table


def overdue(table: TimedTable) -> TimedTable:
    """Lets the time of the seat that owes an entry run out."""
    deadline = table.deadline()
    assert deadline is not None
    return table.wait(max(0, parse_time(deadline) - parse_time(table.now)) + table.random.choice([1, 120, DAY]))


@cache
def timed_tables() -> tuple[TimedTable, ...]:
    """Games of every control, end and kind of entry about time."""
    resigned = decide(ready(timed(21, control(1))), 6)
    resigned.send(resigned.entry(0, entry_kinds.Resign()))
    off = decide(ready(timed(22, control(2), GeishasRoad("random", "random"))), 5)
    off.give(DAY)
    off.fail(7000).wait(50).call_off()
    silent = overdue(ready(timed(23, control(3))))
    lost = decide(ready(timed(24, control(4))), 3)
    lost.give(600)
    overdue(lost.fail(900)).time_out()
    silent.time_out()
    untimed, at_once = timed(25, None), ready(timed(30, control(1)))
    untimed.begin().play(3)
    untimed.wait(900).call_off()
    at_once.wait(60).call_off()
    expired, declined = timed(26, control(0)), timed(27, None)
    for table, reason in ((expired, "expired"), (declined, "declined")):
        table.open(entry_kinds.Invite("bob", None))
        table.now = later(EXPIRES, 1)
        table.lapse(reason)
    return (
        decide(ready(timed(20, control(0))), 99),
        resigned,
        off,
        silent,
        lost,
        untimed,
        expired,
        declined,
        decide(ready(timed(28, control(2))), 5),
        decide(ready(timed(29, control(3))), 99),
        at_once,
    )


def timed_draft(table: TimedTable) -> list[Draft]:
    """The lines of a table, for changing; each with its time of record in its receipt."""
    drafts = draft(table)
    for each, line in zip(drafts, table.lines, strict=True):
        assert line.receipt
        each.receipt = {"at": line.receipt.receipt.at}
    return drafts


# --- damage --------------------------------------------------------------------------------------------------------


def times_of(drafts: list[Draft]) -> Times:
    """The time of record of each entry, by its receipt."""
    return [str(each.receipt["at"]) if each.receipt else AT for each in drafts]


def retime(drafts: list[Draft], times: Times) -> None:
    """Gives entries these times of record, wherever they are stated."""
    for number, (each, at) in enumerate(zip(drafts, times, strict=True)):
        each.receipt = {"at": at}
        if each.value["by"] == "server":
            each.value["at"] = at
        each.value["seen"] = times[number - 1] if number else None


def _seconds(rng: random.Random) -> int:
    return rng.choice([-1, 1]) * rng.choice([1, 1, 60, 3600, DAY, 40 * DAY])


def _any(rng: random.Random, drafts: list[Draft], *kinds: str) -> int:
    """The number of an entry of one of these kinds; of any entry but the first, if there is none."""
    found = [number for number, each in enumerate(drafts) if number and (not kinds or each.kind in kinds)]
    return rng.choice(found or list(range(1, len(drafts))))


def _seen(rng: random.Random, drafts: list[Draft]) -> None:
    """An entry repeats another time than that before it, or so do the last ones, without the service's word on them."""
    number = _any(rng, drafts)
    for each in rng.choice([drafts[number : number + 1], drafts[-rng.choice([1, 2, 3]) :]]):
        each.value["seen"] = later(each.value["seen"] or AT, _seconds(rng))


def _one_time(rng: random.Random, drafts: list[Draft]) -> None:
    """One entry has another time of record, wherever it is stated."""
    times = times_of(drafts)
    number = _any(rng, drafts)
    times[number] = later(times[number], _seconds(rng))
    retime(drafts, times)


def _later_times(rng: random.Random, drafts: list[Draft]) -> None:
    """From one entry on everything comes later, so an entry may be late, or sooner."""
    times = times_of(drafts)
    number, seconds = _any(rng, drafts), rng.choice([1, 60, 3600, DAY, 40 * DAY, -1, -60])
    retime(drafts, [*times[:number], *(later(at, seconds) for at in times[number:])])
    if rng.random() < 0.7:  # outages move with the entries
        for each in drafts[number:]:
            for outage in each.body.get("outages", ()):
                outage.update({key: later(outage[key], seconds) for key in ("from", "until")})


def _one_receipt(rng: random.Random, drafts: list[Draft]) -> None:
    """A receipt has another time than the next entry repeats, or the service's entry has."""
    each = drafts[_any(rng, drafts)]
    assert each.receipt is not None
    each.receipt = {"at": later(str(each.receipt["at"]), _seconds(rng))}


def _own_time(rng: random.Random, drafts: list[Draft]) -> None:
    """A service's entry has another time; that of its receipt and of the next entry may follow it."""
    number = rng.choice([number for number, each in enumerate(drafts) if each.value["by"] == "server"])
    each = drafts[number]
    each.value["at"] = later(each.value["at"], _seconds(rng))
    if rng.random() < 0.6:
        each.receipt = {"at": each.value["at"]}
        if rng.random() < 0.7 and number + 1 < len(drafts):
            drafts[number + 1].value["seen"] = each.value["at"]


def _dependent(rng: random.Random, drafts: list[Draft]) -> None:
    """An entry of the same transaction has a time of its own, and so all that follows."""
    times = times_of(drafts)
    number = _any(rng, drafts, "credit", "chance", "reveal", "end")
    retime(drafts, [*times[:number], *(later(at, 1) for at in times[number:])])


def _helping(rng: random.Random, drafts: list[Draft], part: str) -> Draft | None:
    found = [each for each in drafts if each.kind in ("credit", "annul") and each.body[part]]
    return rng.choice(found) if found else None


def _gift(rng: random.Random, drafts: list[Draft]) -> None:
    """A gift of other seconds, about another head, by somebody else, or signed for something else."""
    each = _helping(rng, drafts, "gift")
    if each is None or each.giver is None:
        return
    name, key = each.giver
    match rng.randrange(6):
        case 0:
            each.body["gift"]["seconds"] = rng.choice([1, 60, 30 * DAY])
        case 1:
            each.body["gift"]["seconds"] += 1
            each.giver = None
        case 2:
            each.given_at = rng.randrange(len(drafts))
        case 3:
            each.given_at = max(0, each.given_at - 1)
        case 4:
            each.giver = rng.choice([it.value["by"] for it in drafts]), key
        case _:
            each.giver = name, rng.choice(drafts).signer


def _outage(rng: random.Random, drafts: list[Draft]) -> None:
    """An outage that begins or ends at another time, or one that was there and is left out."""
    each = _helping(rng, drafts, "outages")
    if each is None:
        return
    outages = each.body["outages"]
    one = rng.choice(outages)
    if rng.random() < 0.2 and (len(outages) > 1 or each.body["gift"]):
        outages.remove(one)
        return
    key = rng.choice(["from", "until"])
    one[key] = later(one[key], _seconds(rng))


def _outage_more(rng: random.Random, drafts: list[Draft]) -> None:
    """One outage more, which touches the time of some entry."""
    times = times_of(drafts)
    found = [each for each in drafts if each.kind in ("credit", "annul")]
    if found:
        begin = later(rng.choice(times), rng.choice([-60, -1, 0, 0, 1]))
        each = rng.choice(found)
        each.body["outages"] = sorted(
            [*each.body["outages"], {"from": begin, "until": later(begin, rng.choice([1, 60, 3600])), "way": "http"}],
            key=lambda outage: str(outage["from"]),
        )


def _renumber(drafts: list[Draft], number: int, more: int) -> None:
    """Gives entries their numbers, after one has gone or come before entry `number`."""
    for seq, each in enumerate(drafts):
        each.value["seq"] = seq
        if each.giver is not None and each.given_at >= number:
            each.given_at += more
        for opening in each.body.get("openings", ()):
            if opening["seq"] >= number:
                opening["seq"] += more


def _no_credit(rng: random.Random, drafts: list[Draft]) -> None:
    """A log without one of its credits, or with one twice."""
    times = times_of(drafts)
    number = _any(rng, drafts, "credit")
    if rng.random() < 0.6:
        del drafts[number], times[number]
        _renumber(drafts, number, -1)
    else:
        put_in(drafts, times, number + rng.randrange(2), copy.deepcopy(drafts[number]), times[number])
    retime(drafts, times)


def put_in(drafts: list[Draft], times: Times, number: int, new: Draft, at: str) -> None:
    """Puts a line, with its time of record, before entry `number`."""
    drafts.insert(number, new)
    times.insert(number, at)
    _renumber(drafts, number, 1)


def made(drafts: list[Draft], kind: str, body: dict[str, Any]) -> Draft:
    """An entry of the service, which has no place yet."""
    value = {**copy.deepcopy(drafts[0].value), "body": body, "by": "server", "kind": kind}
    return Draft(value, drafts[0].signer, drafts[0].namespace, drafts[0].service)


def _one_more(rng: random.Random, drafts: list[Draft]) -> None:
    """A credit, timeout, annul, lapse or resignation anywhere."""
    times = times_of(drafts)
    number = rng.randrange(1, len(drafts) + 1)
    at = later(times[number - 1], rng.choice([0, 0, 1, DAY, 90 * DAY]))
    outages = [] if rng.random() < 0.5 else [{"from": later(at, -61), "until": later(at, -1), "way": "http"}]
    empty = base64_of_nothing()
    body: dict[str, dict[str, Any]] = {
        "credit": {"gift": None, "outages": outages or [{"from": later(at, -10), "until": at, "way": "http"}]},
        "timeout": {"seat": rng.randrange(2)},
        "annul": {"gift": None, "outages": outages, "seat": rng.randrange(2), "sigs": [empty, empty]},
        "lapse": {"reason": rng.choice(["expired", "declined"])},
        "resign": {},
    }
    kind = rng.choice(sorted(body))
    new = made(drafts, kind, body[kind])
    authors = [each for each in drafts if each.kind in ("open", "join")]
    if kind == "annul" and len(authors) > 1:
        new.callers = tuple((each.value["by"], each.signer) for each in authors)
    if kind == "resign" and authors:
        author = rng.choice(authors)
        new.value["by"], new.signer, new.namespace = author.value["by"], author.signer, author.namespace
    put_in(drafts, times, number, new, at if kind != "credit" else times[number - 1])
    retime(drafts, [*times[: number + 1], *(max(at, each) for each in times[number + 1 :])])


def base64_of_nothing() -> str:
    """Text in the form of a signature."""
    return "U1NI"


def _clock(rng: random.Random, drafts: list[Draft]) -> None:
    """Another clock was agreed on, or none, or one beyond the limits."""
    agreement = drafts[0].body["agreement"]
    clock = agreement["clock"]
    match rng.randrange(4) if clock else 0:
        case 0:
            other = rng.choice([None, *(control(number).to_json() for number in range(len(CONTROLS)))])
            agreement.update({"clock": other, "rated": other is not None})
        case 1:
            number = rng.choice([0, 1, 600, DAY, 30 * DAY, 60 * DAY, 60 * DAY + 1, 366 * DAY, 366 * DAY + 1])
            clock.update({rng.choice(["add", "bank", "cap", "move"]): number})
        case 2:
            number = rng.choice([0, 600, DAY])
            clock.update({"bank": number, "cap": number, "add": 0, "move": rng.choice([0, 1, 60, 3600])})
        case _:
            rest = rng.choice(["", "1", "67", "76", "11", "1234567", "123456", "8", 6])
            clock.update({"rest": rest, "zone": rng.choice(["+00:00", "-00:00", "+14:45", "+15:00", "-01:10", 1])})


def _agreement(rng: random.Random, drafts: list[Draft]) -> None:
    """The rest of the agreement, in its form or not; or a key of a later version."""
    agreement = drafts[0].body["agreement"]
    series = {"games": 3, "id": "ab" * 16, "number": 2}
    match rng.randrange(5):
        case 0:
            agreement["series"] = rng.choice(
                [series, {**series, "number": 4}, {**series, "games": 4}, {**series, "best": 1}, {**series, "id": "x"}]
            )
        case 1:
            agreement["rematch"] = rng.choice(["ab" * 16, "AB" * 16, 1])
        case 2:
            agreement["rated"] = rng.choice([not agreement["rated"], None, 1])
        case 3:
            place = rng.choice([agreement, agreement["clock"] or agreement])
            place["later"] = 1
        case _:
            place = rng.choice([agreement, agreement["clock"] or agreement])
            del place[rng.choice(sorted(place))]


def _expires(rng: random.Random, drafts: list[Draft]) -> None:
    """The offer expires at another time, near that of the join or lapse; or the invitation has no name."""
    times = times_of(drafts)
    near = times[min(2, len(times) - 1)]
    if rng.random() < 0.3:
        drafts[1].body["invite"] = rng.choice([None, {"key": None, "name": "bob"}])
    else:
        drafts[0].body["agreement"]["expires"] = rng.choice([None, near, later(near, 1), later(near, -1), "soon"])


def _calling_off(rng: random.Random, drafts: list[Draft]) -> None:
    """Signatures of an annul that are exchanged, by one player, or about another entry; or it names another seat."""
    for each in drafts:
        if each.kind in ("annul", "timeout") and (each.kind == "timeout" or rng.random() < 0.3):
            each.body["seat"] = 1 - each.body["seat"]
        elif each.kind == "annul":
            host, guest = each.callers
            signers = [it.signer for it in drafts]
            each.callers = rng.choice(
                [(guest, host), (host, host), (host, (guest[0], rng.choice(signers))), ((guest[0], host[1]), guest), ()]
            )
            each.body["gift"] = each.body["gift"] if rng.random() < 0.7 else None
            if not each.callers:  # they stay those of the unchanged game
                rng.choice(drafts).body["ext"] = {"comment": "x"}


def _form(rng: random.Random, drafts: list[Draft]) -> None:
    """Values that have the form of no time, gift, outage or entry about time."""
    odd = [None, 0, "", "1999-12-31T23:59:59Z", "9000-01-01T00:00:00Z", "2100-02-29T00:00:00Z", "2400-02-29T00:00:00Z"]
    each = rng.choice(drafts)
    places: list[tuple[dict[str, Any], str]] = [(each.value, "seen"), (each.value, "at")]
    for it in drafts:
        if it.kind in ("credit", "annul"):
            places += [(outage, key) for outage in it.body["outages"] for key in (*outage, "later")]
            places += [(it.body["gift"], key) for key in (it.body["gift"] or ())]
            places += [(it.body, key) for key in it.body]
        if it.kind in ("lapse", "timeout"):
            places += [(it.body, key) for key in it.body]
    place, key = rng.choice(places)
    place[key] = rng.choice([*odd, 2592001, [], {}, [1], "expired", "sold"])


TIMES: dict[str, TimeDamage] = {
    "another seen": _seen,
    "another time of one entry": _one_time,
    "all later or sooner": _later_times,
    "another time of a receipt": _one_receipt,
    "another time of a service's entry": _own_time,
    "a transaction at two times": _dependent,
    "another gift": _gift,
    "another outage": _outage,
    "an outage more": _outage_more,
    "a credit less or twice": _no_credit,
    "an entry about time more": _one_more,
    "another clock": _clock,
    "another agreement": _agreement,
    "another expiry": _expires,
    "another calling off": _calling_off,
    "no form of times": _form,
}


def damaged_time(name: str, rng: random.Random, *, receipts: bool) -> Case:
    """One timed game with one damage to its times, or with none (`name` is empty); it may end sooner."""
    table = rng.choice(timed_tables())
    drafts = timed_draft(table)
    if name:
        TIMES[name](rng, drafts)
    if not receipts:
        for each in drafts:
            each.receipt = None
    log = write_log(drafts)
    if rng.random() < 0.3:
        log = b"".join(log.splitlines(keepends=True)[: rng.randrange(3, len(drafts) + 1)])
    return Case(name or "nothing", log, pins(table))


def time_cases(rng: random.Random) -> Iterator[Case]:
    """One log of every sort of damage to times, and one without, each with receipts and without."""
    for name in ("", *TIMES):
        for receipts in (True, False):
            yield damaged_time(name, rng, receipts=receipts)
