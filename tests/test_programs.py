"""Programs for tests are fetched from Debian's packages if they are not here; CI runs what contributors run."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]


def ci(folder: Path, *present: str) -> subprocess.CompletedProcess[str]:
    """Runs `.ci/run` in a copy whose gates say that they ran, on a machine that has only the `present` programs."""
    programs = folder / "bin"
    programs.mkdir()
    for name in ("bash", "dirname"):
        (programs / name).symlink_to(str(shutil.which(name)))
    said = dict.fromkeys(present, 'echo "$(basename "$0") $*"') | {"id": "echo 1000"}
    for name, does in said.items():
        (programs / name).write_text(f"#!/bin/bash\n{does}\n")
        (programs / name).chmod(0o755)
    for name, text in (".ci/run", (ROOT / ".ci" / "run").read_text()), ("scripts/check", "#!/bin/bash\necho all gates"):
        (folder / name).parent.mkdir()
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    env = {"PATH": str(programs)}
    return subprocess.run([folder / ".ci" / "run"], env=env, capture_output=True, text=True, check=False)


BROWSERS = ("chromium", "chromium-headless-shell", "firefox-esr", "WebKitWebDriver", "Xvfb", "xauth", "node", "npm")


def test_ci_runs_what_contributors_run(tmp_path: Path) -> None:
    assert (ROOT / ".ci" / "run").read_text().endswith("\nexec scripts/check\n")
    done = ci(tmp_path, *BROWSERS)
    assert (done.returncode, done.stdout, done.stderr) == (0, "all gates\n", "")


def test_ci_names_the_command_that_installs_what_is_missing(tmp_path: Path) -> None:
    done = ci(tmp_path, *BROWSERS[3:-2], "apt-get")
    assert (done.returncode, done.stdout) == (1, "")
    packages = "chromium chromium-headless-shell firefox-esr nodejs npm"
    assert done.stderr.endswith(f"apt-get install --yes --no-install-recommends {packages}\n")
