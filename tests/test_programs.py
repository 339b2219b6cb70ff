"""Programs for tests are fetched from Debian's packages if they are not here; CI runs what contributors run."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_ci_runs_what_contributors_run() -> None:
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    commands = [line for line in lines if not line.startswith("#")]
    assert commands == ["set -euo pipefail", 'cd "$(dirname "$0")/.."', "exec scripts/check"]
