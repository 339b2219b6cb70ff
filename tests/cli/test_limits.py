"""Commands at a service that limits requests: they wait for a while, and then fail with a clear message."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hkoji.cli.output import Exit
from tests.support.home_shell import arrive
from tests.support.service import serving


def test_a_batch_waits_for_a_limit_that_allows_more_soon(tmp_path: Path) -> None:
    with serving(tmp_path / "data", settings={"limit_player": "2/second"}, forked=True) as service:
        done = arrive(service, tmp_path / "alice", "alice").run("batch", stdin="games\n" * 12)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        assert [answer["ok"] for answer in answers] == [True] * 12
        assert '"status": 429' in service.log.read_text()


@pytest.mark.parametrize("limit", ["limit_player", "limit_address"])
def test_a_limit_that_lasts_too_long_ends_commands_with_a_message_and_the_failure_code(
    tmp_path: Path, limit: str
) -> None:
    with serving(tmp_path / "data", settings={limit: "9/hour"}, forked=True) as service:
        alice = arrive(service, tmp_path / "alice", "alice")
        answers = alice.run("batch", stdin="games\n" * 10 + "whoami\n", code=Exit.FAILURE).stdout.splitlines()
        assert json.loads(answers[0])["ok"]
        assert json.loads(answers[-1])["ok"]  # what needs no service
        error = json.loads(answers[-2])["error"]
        assert (error["code"], error["exit_code"]) == ("too-many-requests", Exit.FAILURE)
        assert error["retry_after"] > 60
        said = alice.run("new", code=Exit.FAILURE).stderr
        assert said.startswith("hkoji: too many requests\n  try again in ")
