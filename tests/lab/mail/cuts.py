"""A mail process is killed at each point on the way of one mail, and another one is started.

The database and the letters that have come are then compared with those of a run without a kill. Only times, random
values and the count of tries may differ. A letter may come twice, with the same Message-ID.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tests.lab.mail.alone import Copies, LoneMail, Rows
from tests.lab.mail.one_mail import STORIES, Before, tell
from tests.lab.mail.points import watch_points
from tests.support.cluster import Cluster
from tests.support.mail.in_process import QueuedMail
from tests.support.mail.post_office import letters
from tests.support.mail.servers import name_server

_QUIET: Final = 1.5
"""For how many seconds nothing must change, so that a run without a kill is over."""
_PATIENCE: Final = 7.0
"""The same after a kill: a letter in hand waits for the end of its lease, and a mail is left alone for five seconds."""
_LONGER: Final = 45.0
"""The same while a mail or a letter waits: a letter that could not be sent in time is put off for half a minute."""
_WAITING: Final = ("incoming: ", "outbox: ", "mails on the way")
_PAUSE: Final = 0.1
_TRIES: Final = ("tries", "tried")
_RANDOM: Final = (
    (re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d(?::\d\d:\d\dZ)?)?"), "TIME"),
    (re.compile(r"[A-Za-z0-9+/_=-]{16,}|\b[0-9a-f]{8,}\b"), "RANDOM"),
    (re.compile(r"<[a-z0-9.]*RANDOM@[a-z.]+>"), "LETTER"),
)
"""Texts that differ from run to run, and letters that a letter follows. They are not compared."""

State = Counter[str]
"""Rows and letters as texts."""


class CutResult(NamedTuple):
    """How it went."""

    counts: Counter[str]
    wrong: list[str]


class _Story(NamedTuple):
    """A story, and what a run without a kill has come to."""

    name: str
    before: Before
    copies: Copies
    points: int
    wanted: State
    wrong: list[str]


def run_cuts(
    stories: Sequence[str], count: int | None, seed: int = 1, server: Cluster | None = None, jobs: int = 4
) -> CutResult:
    """Kills at `count` points of each story, or at all. With a `server` the data is in PostgreSQL."""
    counts, differing = Counter[str](), defaultdict[str, list[str]](list)
    with (
        tempfile.TemporaryDirectory(prefix="hkoji-cuts-") as place,
        pytest.MonkeyPatch.context() as patched,
        ThreadPoolExecutor(jobs) as pool,
    ):
        befores = [tell(STORIES[story].write, Path(place, f"story{each}")) for each, story in enumerate(stories)]
        copies = [Copies(before.database, server) for before in befores]
        with name_server({name: each for before in befores for name, each in before.records.items()}, patched):
            whole = list(pool.map(_without_kill, stories, befores, copies))
            tries = [(story, point) for story in whole for point in _chosen(story, count, seed)]
            for (story, point), (killed, differs) in zip(tries, pool.map(_with_kill, tries), strict=True):
                counts["kills"] += bool(killed)
                counts["kills after which something differs"] += bool(differs)
                if differs:
                    differing[f"{story.name}: {'; '.join(differs)}"].append(f"{point} {killed}")
    counts.update({"stories": len(whole), "points": sum(story.points for story in whole)})
    wrong = [each for story in whole for each in story.wrong]
    return CutResult(counts, wrong + [f"{what}, after kills at {', '.join(at)}" for what, at in differing.items()])


def _chosen(story: _Story, count: int | None, seed: int) -> Sequence[int]:
    """The numbers of points at which a story is tried."""
    numbers = range(1, story.points + 1)
    return numbers if count is None else random.Random(f"{story.name} {seed}").sample(numbers, min(count, len(numbers)))


def _without_kill(name: str, before: Before, copies: Copies) -> _Story:
    with _trial(copies, before) as trial:
        points = trial.run(None)
        wanted, rows = trial.wait_until_quiet(), trial.mail.data.rows()
    answer = json.loads(max(rows["incoming"], key=lambda row: int(row["number"]))["result"])["answer"]
    assert answer == STORIES[name].answer, f"{name}: {answer}"
    return _Story(name, before, copies, len(points), wanted, [f"{name}: {each}" for each in leftovers(rows)])


def _with_kill(at: tuple[_Story, int]) -> tuple[str, list[str]]:
    """Returns what the point was, empty if it was not reached, and what differs."""
    story, point = at
    with _trial(story.copies, story.before) as trial:
        reached = trial.run(point)
        return reached[-1] if len(reached) == point else "", trial.differs_from(story.wanted)


@contextmanager
def _trial(copies: Copies, before: Before) -> Iterator[Trial]:
    with tempfile.TemporaryDirectory(prefix="hkoji-cut-") as place:
        mail = LoneMail(copies.copy(Path(place)), Path(place), before.mailboxes)
        try:
            yield Trial(mail, before, Path(place))
        finally:
            mail.close()
            copies.drop(mail.data)


class Trial:
    """One run of a story."""

    def __init__(self, mail: LoneMail, before: Before, folder: Path) -> None:
        self.mail, self._before, self._folder = mail, before, folder

    def run(self, kill_at: int | None) -> list[str]:
        """Sends the mail. If the process is killed, starts another one. Returns the points that were reached."""
        trace = self._folder / "trace"
        process = self.mail.start(partial(watch_points, kill_at, trace))
        os.kill(process.pid, signal.SIGUSR1)
        self.mail.office.queue(QueuedMail(*self._before.mails[0]))
        if kill_at is None:
            self.wait_until_quiet()
            return trace.read_text().splitlines()
        end = time.monotonic() + _PATIENCE
        while process.poll() is None and time.monotonic() < end:
            time.sleep(_PAUSE)
        process.kill()  # in another order of what is done at the same time, that point may not be reached
        process.wait()
        self.mail.start(partial(watch_points, None, self._folder / "after"))
        return trace.read_text().splitlines()

    def wait_until_quiet(self) -> State:
        """Waits until nothing changes, and returns the state."""
        state, since = self.state(), time.monotonic()
        while time.monotonic() < since + _QUIET:
            time.sleep(_PAUSE)
            if (new := self.state()) != state:
                state, since = new, time.monotonic()
        return state

    def differs_from(self, wanted: State) -> list[str]:
        """Waits until all is as it is wanted, or nothing changes any more. Returns what is not as it is wanted."""
        state, since = self.state(), time.monotonic()
        while state != wanted:
            waits = any(each.startswith(_WAITING) for each in state - wanted)
            if time.monotonic() > since + (_LONGER if waits else _PATIENCE):
                break
            time.sleep(_PAUSE)
            if (new := self.state()) != state:
                state, since = new, time.monotonic()
        return [*(f"not there: {each}" for each in wanted - state), *(f"too much: {each}" for each in state - wanted)]

    def state(self) -> State:
        """The rows and letters that are compared."""
        found: State = Counter()
        for table, rows in self.mail.data.rows().items():
            found.update(f"{table}: {_shown(row)}" for row in rows)
        for address, mailbox in self.mail.mailboxes.items():
            sent = {letter.id: letter for letter in letters(mailbox)}
            found.update(
                f"letter: {address} {letter.id[1:].partition('.')[0]}: {_general(letter.subject)}"
                for letter in sent.values()
            )
        found["mails on the way"] = self.mail.office.waiting
        return found


def _shown(row: dict[str, Any]) -> str:
    return " ".join(f"{name}={_general(value)}" for name, value in row.items() if name not in _TRIES)


def _general(value: object) -> str:
    """A value as a text without what differs from run to run."""
    text = bytes(value).hex() if isinstance(value, bytes | memoryview) else str(value)
    if text.startswith("{"):
        text = json.dumps(json.loads(text), sort_keys=True)
    for pattern, stands in _RANDOM:
        text = pattern.sub(stands, text)
    return text


def leftovers(rows: Rows) -> list[str]:
    """Returns rows of no use: evidence of no entry or statement, a held key of no mailbox, entropy of a known seed."""
    entries = [str(row["text"]) for row in rows["entry"]]
    said = "\n".join([*entries, *(str(row["mail"]) for row in rows["statement"])])
    wrong = [f"evidence for nothing: {row['commit']}" for row in rows["evidence"] if row["commit"] not in said]
    used = {row["held_key"] for row in rows["mailbox"]} | {row["key"] for row in rows["player"]}
    wrong += [f"a held key of no use: {row['name']}" for row in rows["held_key"] if row["key"] not in used]
    for table in rows.values():
        for row in table:
            if row.get("entropy") is not None and any(
                row["game"] in each and '"kind":"seed"' in each and f'"by":"{row["name"]}"' in each for each in entries
            ):
                wrong.append(f"entropy of a seed on record: {row['name']} in {row['game']}")
    return wrong
