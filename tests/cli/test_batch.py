"""`hkoji batch` shares some work between lines: the answers are those that each line would get alone."""

from __future__ import annotations

import json
import shlex

from hypothesis import given
from hypothesis import strategies as st

from hkoji.cli.batch import _split
from hkoji.cli.output import encode
from hkoji.errors import UsageError
from tests.support.memory_service import begin
from tests.support.shell import Shell


@given(st.text(st.sampled_from("a-1~ !\"'\\#$é\t\v"), max_size=12))
def test_a_line_is_read_like_a_shells(line: str) -> None:
    line = line.strip()
    try:
        wanted = shlex.split(line)
    except ValueError:
        wanted = None
    try:
        words = _split(line)
    except UsageError:
        words = None
    assert words == wanted


def test_a_result_that_is_shown_again_is_written_the_same_and_a_changed_one_anew(alice: Shell, bob: Shell) -> None:
    games = [begin(alice.seat, bob.seat) for _ in range(2)]
    moves = [alice("show", game, "--json").json["legal"][0] for game in games]
    lines = [f"show {game}" for game in (*games, *games)] + [f"move {games[0]} {moves[0]}"]
    lines += [f"show {game}" for game in games]
    answers = alice("batch", stdin="\n".join(lines)).out.splitlines()
    assert all(encode(json.loads(answer)) == answer for answer in answers)
    assert answers[:2] == answers[2:4]
    assert answers[6] == answers[1]
    made, then = (json.loads(answer)["result"] for answer in answers[4:6])
    move = made.pop("move")
    assert made == then
    assert move["seq"] == then["seq"]
    for game, answer in zip(games, answers[5:], strict=True):
        assert json.loads(answer)["result"] == alice("show", game, "--json").json
