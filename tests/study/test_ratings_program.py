"""The program on the page about studying games computes ratings from a service's public lists and logs alone."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hkoji.game import entry_kinds
from tests.support.docs import DOCS
from tests.support.service import Player, begin, play, two_players
from tests.support.service_in_process import Inside
from tests.support.timed_games import AN_HOUR, a_wish, inside_with_keeper, state

URL = "http://inside"
K, START = 32, 1500.0


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Inside]:
    with inside_with_keeper(tmp_path / "data") as service:
        yield service


def resign(player: Player, game: str) -> None:
    assert player.send(player.entry(game, player.head(game), entry_kinds.Resign())).status == 201


def printed(
    service: Inside, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], asked: list[str]
) -> list[str]:
    """The output of the program."""
    (program,) = re.findall(r"^```python\n(.*?)^```$", (DOCS / "studying.md").read_text(), re.MULTILINE | re.DOTALL)

    def urlopen(url: str) -> io.BytesIO:
        asked.append(url.removeprefix(URL))
        # Small pages, so that there is more than one.
        answer = service.ask("GET", asked[-1].replace("limit=200", "limit=2"))
        assert answer.status == 200, url
        return io.BytesIO(answer.body)

    monkeypatch.setattr("urllib.request.urlopen", urlopen)
    monkeypatch.setattr(sys, "argv", ["ratings.py", URL])
    capsys.readouterr()
    exec(compile(program, "ratings.py", "exec"), {"__name__": "__main__"})
    return capsys.readouterr().out.splitlines()


def test_the_program_on_the_page_computes_ratings(
    service: Inside, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    alice, bob = two_players(service)
    rated = AN_HOUR._replace(rated=True)
    results: list[float] = []  # of alice
    for host, guest, loser in ((alice, bob, bob), (bob, alice, bob), (bob, alice, alice)):
        game = begin(host, guest, agreement=rated)
        resign(loser, game)
        results.append(float(loser is bob))
        service.clock.pass_by(1)
    outcome = play(alice, bob, begin(alice, bob, agreement=rated)).outcome
    assert outcome is not None
    results.append({0: 1.0, 1: 0.0, None: 0.5}[outcome.winner])
    resign(alice, begin(alice, bob))  # not rated
    called_off = begin(alice, bob, agreement=rated)
    assert [state(each, called_off, a_wish(each, called_off)).status for each in (alice, bob)] == [201, 201]
    service.clock.pass_by(200)

    of_alice, of_bob = START, START
    for score in results:
        gain = K * (score - 1 / (1 + 10 ** ((of_bob - of_alice) / 400)))
        of_alice, of_bob = of_alice + gain, of_bob - gain
    asked: list[str] = []
    told = printed(service, monkeypatch, capsys, asked)
    assert sorted(told) == sorted([f"alice {of_alice:.0f}", f"bob {of_bob:.0f}"])
    ratings = [int(line.split()[1]) for line in told]
    assert ratings == sorted(ratings, reverse=True)
    assert len({path for path in asked if "finished" in path}) > 2
