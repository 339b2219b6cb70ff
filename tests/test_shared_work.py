"""Several processes share the tests: each file is run once, and a failure or a process that dies is reported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[1]
FILES = {
    "test_passing.py": "def test_it(tmp_path): (tmp_path / 'file').touch()\ndef test_next(): pass\n",
    "test_failing.py": "def test_it():\n    print('a hint')\n    assert 1 == 2\n",
    "test_dying.py": "import os\ndef test_before(): pass\ndef test_it(): os._exit(0)\n",
}


@pytest.mark.parametrize(
    ("names", "code", "said"),
    [
        (("test_passing.py",), pytest.ExitCode.OK, ["2 passed"]),
        (("test_failing.py", "test_passing.py"), pytest.ExitCode.TESTS_FAILED, ["1 failed, 2 passed", "a hint"]),
        (
            ("test_dying.py",),
            pytest.ExitCode.INTERNAL_ERROR,
            ["1 passed", "a process that ran tests died after setup of test_dying.py::test_it"],
        ),
    ],
)
def test_every_file_is_run_once_and_what_goes_wrong_is_reported(
    tmp_path: Path, names: tuple[str, ...], code: pytest.ExitCode, said: list[str]
) -> None:
    for name in names:
        (tmp_path / name).write_text(FILES[name])
    sharing = ["-p", "tests.support.shared_work", "--processes", "2"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "--rootdir", tmp_path, *sharing, tmp_path],
        capture_output=True,
        text=True,
        check=False,
        cwd=_ROOT,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert [each for each in said if each not in done.stdout] == [], done.stdout
