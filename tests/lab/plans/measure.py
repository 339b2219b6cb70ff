"""Plays games with plans that are disturbed in every way, and judges each move that a plan has made.

    python -m tests.lab.plans.measure 10000                        ten thousand plans
    python -m tests.lab.plans.measure 3000 --seed 3 --planted "the head is not compared"      must find it

Bob plays from two homes with one key, each with plans of its own; alice and bob also move by hand. Commands are killed
at any request and any write, and at other requests somebody else is faster. Half of the games are Geisha's Road. In
the end each move of a plan must be legal, must be what the plan says at that place by a naive reading of docs/plans.md,
and must not be early; no home may have sent two entries for one place; and a trial with what was seen must play what
was played. Exits with 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from hkoji.errors import HkojiError
from hkoji.game.commitments import Opening
from hkoji.game.knowledge import FullKnowledge
from hkoji.game.position import action_of
from hkoji.game.replay import Replay, replay
from hkoji.log.line import parse_entry
from hkoji.plans.trial import try_plan
from hkoji.rules.events import Event, Seat, project
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.lab.plans.planted import PLANTED
from tests.lab.plans.story import MadePlan, Signed, Story
from tests.support.plans import naive_choice, naive_tokens

_RULESETS = (Hanamikoji(), GeishasRoad())


class Done(NamedTuple):
    """The counts, and the complaints."""

    counts: Counter[str]
    wrong: list[str]


def measured(plans: int, *, seed: int = 1, fault: str | None = None) -> Done:
    """Plays games until so many plans have been made, and judges each game."""
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    while counts["plans"] < plans:
        number = counts["games"]
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            if fault is not None:
                stack.enter_context(PLANTED[fault].plant())
            story = Story(Path(folder), _RULESETS[number % 2], seed * 1_000_003 + number)
            story.play()
            wrong += [f"game {number}: {each}" for each in judged(story)]
        counts += story.counts
        counts["games"] += 1
        counts["plans"] += len(story.plans)
        if fault is not None and any(re.search(PLANTED[fault].found_as, each) for each in wrong):
            break
    return Done(counts, wrong)


def main() -> int:
    """Runs the measurement of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plans", type=int, help="how many plans are made")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--planted", choices=sorted(PLANTED), help="a fault that must be found")
    wanted = parser.parse_args()
    done = measured(wanted.plans, seed=wanted.seed, fault=wanted.planted)
    for name, count in sorted(done.counts.items()):
        print(f"{count:>9,}  {name}")
    for each in done.wrong[:20]:
        print(each)
    print(f"{len(done.wrong)} wrong")
    return int(bool(done.wrong) is (wanted.planted is None))


if __name__ == "__main__":
    sys.exit(main())


_BOB: Seat = 1


def judged(story: Story) -> Iterator[str]:
    """Yields what is wrong: moves of plans that are illegal, stale, too early or made twice, and trials that lie."""
    yield from story.wrong
    table = story.service.games[story.game]
    openings: dict[int, list[Opening]] = {}
    for opening in table.refereed.openings:
        openings.setdefault(opening.seq, []).append(opening)
    assert table.refereed.seed is not None
    known = FullKnowledge(table.refereed.seed, {seq: tuple(each) for seq, each in openings.items()})
    whole = replay(table.lines, known)
    if whole.stop is not None:
        raise whole.stop
    yield from _refused(story)
    yield from _early(story)
    yield from _twice(story)
    for step in whole.steps:
        made = [each for each in _signers(story, step.entry.head) if each.by_plan]
        if step.entry.kind == "move" and made:
            yield from min((list(_stale(story, whole, each)) for each in made), key=len)
    for plan in story.plans:
        yield from _tried(story, whole, plan)


def _refused(story: Story) -> Iterator[str]:
    """Moves of plans that the service does not find legal."""
    for _, body, status in story.sent:
        if status == 422:
            yield f"the service refused {body[:300]!r} as illegal"


def _early(story: Story) -> Iterator[str]:
    """Replies that came before they were due, and due times that were drawn again."""
    for (home, head), dues in story.dues.items():
        if any(later > earlier for earlier, later in itertools.pairwise(dues)):
            yield f"home {home} has put off a reply to {head[:8]}: {dues}"
    for made in story.signed.values():
        dues = story.dues.get((made.home, made.submission.entry.prev or ""), [])
        if made.by_plan and made.submission.entry.kind == "move" and (not dues or made.now < dues[-1]):
            yield f"entry {made.submission.entry.seq} was made at {made.now}, but was due at {dues}"


def _twice(story: Story) -> Iterator[str]:
    """Different entries that one home has sent for one place, where the first was not refused."""
    open_: dict[tuple[int, str], str] = {}
    for home, body, status in story.sent:
        entry = parse_entry(json.loads(body)["entry"])
        if entry.kind != "move" or entry.by != "bob":
            continue
        place = (home, entry.prev or "")
        if open_.get(place, entry.text) != entry.text:
            yield f"home {home} has sent two entries {entry.seq} after one head"
        if status >= 400:
            open_.pop(place, None)
        else:
            open_[place] = entry.text


def _seen(whole: Replay, begin: int, end: int) -> tuple[str, ...]:
    """The events that bob has seen in the entries from `begin` up to `end`."""
    return naive_tokens([_as_bob(whole, event) for step in whole.steps[begin:end] for event in step.events], _BOB)


def _as_bob(whole: Replay, event: Event) -> Event:
    return project(event, _BOB, whole.steps[-1].course.setup.ruleset.public)


def _stale(story: Story, whole: Replay, made: Signed) -> Iterator[str]:
    """A move of a plan that the plan, read naively, does not make at that place."""
    entry = made.submission.entry
    before = whole.steps[entry.seq - 1].course
    state = before.state.project(_BOB)
    legal, action = state.legal_actions(), _action(whole, entry.seq)
    if action not in legal:
        yield f"entry {entry.seq} of {story.game} is illegal: {action}"
    plan, expected = made.plan, legal[0] if len(legal) == 1 else None
    if plan is not None and _lives(story, whole, plan, entry.seq):
        seen = _seen(whole, plan.armed.seq + 1, entry.seq)
        expected = naive_choice(plan.lines, seen, legal, state) or expected
    if action != expected:
        yield f"entry {entry.seq} of {story.game} is {action}, and the plan says {expected}: {plan and plan.lines}"


def _lives(story: Story, whole: Replay, plan: MadePlan, seq: int) -> bool:
    """Whether a plan has not ended before an entry by the round or by an own entry that it did not make."""
    for step in whole.steps[plan.armed.seq + 1 : seq]:
        if step.entry.by == "bob" and not _made_by(story, step.entry.head, plan):
            return False
    return whole.steps[seq - 1].course.state.round == plan.armed.round


def _made_by(story: Story, head: str, plan: MadePlan) -> bool:
    return any(made.plan is not None and made.plan.number == plan.number for made in _signers(story, head))


def _signers(story: Story, head: str) -> list[Signed]:
    return [story.signed[head, home] for home in range(2) if (head, home) in story.signed]


def _action(whole: Replay, seq: int) -> str:
    return action_of(whole.steps[seq])


def _tried(story: Story, whole: Replay, plan: MadePlan) -> Iterator[str]:
    """A trial with all that was seen while the plan lived must begin with the moves that the plan has made."""
    begin, end = plan.armed.seq + 1, len(whole.steps)
    moves: list[str] = []
    for seq in range(begin, end):
        step = whole.steps[seq]
        if step.entry.by == "bob" and not _made_by(story, step.entry.head, plan):
            end = seq
            break
        if step.course.state.round != plan.armed.round or step.course.finished or step.entry.kind != "move":
            end = seq if step.course.state.round != plan.armed.round else seq + 1
            break
        if step.entry.by == "bob":
            moves.append(_action(whole, seq))
    try:
        trial = try_plan(plan.armed, plan.position, _seen(whole, begin, end))
    except HkojiError as error:
        if moves:
            yield f"plan {plan.number} cannot be tried, though it has played {moves}: {error}"
        return
    tried = [each.choice.action for each in trial.moves]
    if tried[: len(moves)] != moves:
        yield f"plan {plan.number} has played {moves}, and a trial plays {tried}"
    story.counts["trials with moves"] += bool(moves)
