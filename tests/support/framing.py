"""Honest games with all that the service has signed in them, their files of evidence, and who is innocent in them."""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache

from hkoji import referee
from hkoji.audit.evidence_audit import audit_file
from hkoji.audit.evidence_file import EvidenceFile, format_evidence, parse_evidence
from hkoji.audit.log_audit import Audit
from hkoji.game import entry_kinds
from hkoji.game.agreement import Agreement, TimeControl
from hkoji.game.clock import Outage, Way, format_time, parse_time
from hkoji.game.course import Stage
from hkoji.log import sshsig
from hkoji.log.game_statements import SignedHead, make_gift, make_head
from hkoji.log.line import Line
from hkoji.log.private_key import PrivateKey
from hkoji.log.statement import SignedView, View, make_view
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.support.forgery import every_pin
from tests.support.table import AT, Table, new_game

DEAL = ("9bf9c4c1d6a24a0c8d0d7bd5fb2c1e77", "5e" * 32)
OWN = PrivateKey.from_seed(b"\x21" * 32)
"""A key of bob's that he presents as the service's."""


@dataclass(frozen=True)
class Story:
    """An honest game, every view that the service has signed in it, and a head for every answer of the service.

    Each head is as late as an honest one can be: whatever follows may be recorded 120 seconds before it.
    """

    table: Table
    views: tuple[SignedView, ...]
    heads: tuple[SignedHead, ...]

    def seen_by(self, seat: int) -> tuple[SignedView, ...]:
        """The views of one seat."""
        return tuple(shown for shown in self.views if shown.view.seat == seat)


def story(
    seed: int,
    ruleset: Ruleset,
    moves: int | None = None,
    *,
    resigns: bool = False,
    rekeys: bool = False,
    deal: tuple[str, str] | None = None,
) -> Story:
    """A game of `moves` moves (None: to its end), in which both seats get their view after each.

    Its host may first change keys, and may resign at the end. With a `deal` it is a duplicate/v1 game whose seed is
    published.
    """
    table = new_game(seed, ruleset, deal)
    views, heads = list(_shown(table)), [head_of(table)]
    if rekeys:
        table.rekey(0)
        heads.append(head_of(table))
    while table.course.stage is Stage.PLAY and moves != 0:
        table.play(1)
        views += _shown(table)
        heads.append(head_of(table))
        moves = None if moves is None else moves - 1
    if resigns and table.course.stage is Stage.PLAY:
        table.send(table.entry(0, entry_kinds.Resign()))
        views += _shown(table)
        heads.append(head_of(table))
    if deal and table.course.finished:
        table.unseal()
        views += _shown(table)
        heads.append(head_of(table))
    return Story(table, tuple(views), tuple(heads))


def story_on_the_clock(seed: int, ruleset: Ruleset, moves: int, *, times_out: bool = False) -> Story:
    """A game with a clock, 600 seconds a turn and 1200 in reserve, in which time is given and the service fails.

    Before each entry there are two heads: one from right after the entry before, and the latest that is still honest.
    """
    table = Table(ruleset, seed, agreement=Agreement(TimeControl(600, 1200, 0, 1200))).begin()
    rng, views, heads = random.Random(seed), list(_shown(table)), [head_of(table)]
    for _ in range(moves):
        course, before = table.course, table.lines[-1]
        if course.stage is not Stage.PLAY or course.actor is None:
            break
        gifts: tuple[entry_kinds.GivenTime, ...] = ()
        outages: tuple[Outage, ...] = ()
        seconds = rng.choice([0, 5, 300])
        match rng.randrange(3):
            case 0:
                gifts, seconds = (gift_of(table, 1 - course.actor, 3600),), 3000
            case 1:
                outages, seconds = (Outage(_later(before, 10), _later(before, 2010), Way.HTTP),), 2300
        heads.append(head_of(table, after=seconds + 120))
        move, at = table.move(rng.choice(course.state.legal_actions())), _later(before, seconds)
        _take(table, referee.accept(table.refereed, move, signer=table.server, at=at, gifts=gifts, outages=outages))
        views += _shown(table)
        heads.append(head_of(table))
    if times_out and table.course.stage is Stage.PLAY:
        heads.append(head_of(table, after=10_120))
        _take(table, referee.timeout(table.refereed, signer=table.server, at=_later(table.lines[-1], 10_000)))
        views += _shown(table)
        heads.append(head_of(table))
    return Story(table, tuple(views), tuple(heads))


def _later(line: Line, seconds: int) -> str:
    assert line.receipt
    return format_time(parse_time(line.receipt.receipt.at) + seconds)


def gift_of(table: Table, giver: int, seconds: int) -> entry_kinds.GivenTime:
    """The gift of a seat to the other one for the entry that is due."""
    made = make_gift(game=table.game, head=table.course.head, name=table.names[giver], seconds=seconds)
    return entry_kinds.GivenTime(made.head, seconds, table.keys[giver].sign(sshsig.GIVE, made.message))


def _take(table: Table, accepted: referee.Accepted) -> None:
    table.refereed = accepted.refereed
    table.lines.extend(accepted.lines)


def shown(table: Table, of: int, **changes: object) -> SignedView:
    """A seat's view now, with `changes`, signed by the service."""
    view = changed(referee.view(table.refereed, of), **changes)
    return SignedView(view, table.server.sign(sshsig.VIEW, view.message))


def head_of(table: Table, number: int = -1, *, after: int = 120, **changes: object) -> SignedHead:
    """The head of an entry, `after` seconds after its time of record, with `changes`, signed by the service."""
    line = table.lines[number]
    assert line.receipt
    at = format_time(parse_time(line.receipt.receipt.at) + after)
    fields = {"at": at, "game": table.game, "head": line.entry.head, "seq": line.entry.seq}
    made = make_head(**{**fields, **changes})  # type: ignore[arg-type] # fields by name
    return SignedHead(made, table.server.sign(sshsig.HEAD, made.message))


def _shown(table: Table) -> tuple[SignedView, SignedView]:
    return shown(table, 0), shown(table, 1)


@cache
def stories() -> tuple[tuple[Story, Story], ...]:
    """Pairs of games by the same three parties: of both rulesets, complete, resigned and running, with a new key,
    duplicate, on the clock."""
    made = []
    told = (
        story(1, Hanamikoji("random", 1, "charm")),
        story(2, Hanamikoji(), 5, resigns=True),
        story(3, Hanamikoji("random"), 7),
        story(4, GeishasRoad("random", "random"), 9, resigns=True),
        story(5, GeishasRoad(), 6),
        story(6, Hanamikoji(), 4, resigns=True, rekeys=True),
        story(7, GeishasRoad(), 4, resigns=True, deal=DEAL),
        story_on_the_clock(8, Hanamikoji(), 9),
        story_on_the_clock(9, GeishasRoad(), 7, times_out=True),
    )
    for seed, one in enumerate(told, 1):
        ruleset = one.table.ruleset
        # The same seed gives the same keys; the second game has another id, other secrets and other moves.
        other = Table(ruleset, seed)
        other.random.seed(f"another {seed}")
        other.game = other.bytes(16).hex()
        offered = referee.offer(other.game, ruleset, other.bytes(32).hex(), signer=other.server, at=AT)
        other.lines, other.refereed = list(offered.lines), offered.refereed
        other.entropy = (other.bytes(32).hex(), other.bytes(32).hex())
        other.begin().play(4)
        made.append((one, Story(other, _shown(other), (head_of(other),))))
    return tuple(made)


def changed(view: View, **changes: object) -> View:
    fields = {name: getattr(view, name) for name in ("dealt", "game", "head", "seat", "seq")}
    return make_view(**{**fields, **changes})


def evidence(told: Story, seat: int | None = None, **changes: object) -> EvidenceFile:
    """The honest file of a seat (None: with the views of both)."""
    views = told.views if seat is None else told.seen_by(seat)
    return EvidenceFile(told.table.game, {}, told.table.text, views, (), told.heads)._replace(**changes)  # type: ignore[arg-type]


# --- the verdict ------------------------------------------------------------------------------------------------------


def innocents(told: Story, guilty: Collection[str] = ("bob",)) -> set[str]:
    """Everybody but the `guilty`, as an audit names them, with keys from outside and without."""
    who = {name: keys for name, keys in every_pin(told.table).items() if name not in guilty}
    return {*who, *(f"{name} with the unpinned key {key.fingerprint}" for name in who for key in who[name])}


def judged(made: EvidenceFile, table: Table) -> Audit:
    """A stranger's audit of the file's text, with the keys from outside."""
    text = format_evidence(made)
    assert parse_evidence(text) == made
    return audit_file(text, every_pin(table))


def bare(line: Line) -> Line:
    """The line without its receipt."""
    return line._replace(receipt=None)
