"""The shell script of the specification, run on a log, and `hkoji audit`'s verdict on the same steps."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from hkoji.audit.keyring import ExpectedKeys
from hkoji.audit.log_audit import AuditStep, audit
from hkoji.cli.files import LogBytes, split
from hkoji.errors import HkojiError
from hkoji.game.dealer import Publishes
from hkoji.game.entry_kinds import Offer, parse_body
from hkoji.log.line import parse_log
from hkoji.log.public_key import PublicKey

SCRIPT = Path(__file__).parents[2] / "docs" / "spec" / "audit.sh"
TOOLS = ("bash", "jq", "openssl", "ssh-keygen", "sha256sum")

_SEALED = "7 deal         NOT UNDERSTOOD: proofs need sealed.py"
_FOUND = re.compile(r"([1-7]) \w+ +(FINDING|NOT UNDERSTOOD) at entry ([0-9]+): .+")


def missing_tools() -> str:
    """A message about the programs that the script needs and this machine lacks; empty if it has all."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    return f"docs/spec/audit.sh needs {', '.join(missing)}: install them to pass its tests" if missing else ""


@pytest.fixture(autouse=True)
def tools() -> None:
    """Fails the tests of files that import it where a tool is missing."""
    if missing := missing_tools():
        pytest.fail(missing)


class Verdict(NamedTuple):
    """An audit's verdict on steps 1 to 7; in a sealed game, of which nobody deals the cards, on steps 1 to 6.

    `exit` is the script's; `found` are (step, entry) in the order of the steps; `rules_end` is the entry at which one
    of the steps after these stops, which the script cannot know. `names` says of each finding whom it convicts, in
    words; the script names nobody.
    """

    exit: int
    found: tuple[tuple[int, int], ...]
    holds: int
    rules_end: int | None = None
    names: tuple[str, ...] | None = None

    def agrees(self, hkoji: Verdict) -> bool:
        """Whether another program's verdict agrees with hkoji's. Where the rules stop hkoji, fewer entries hold."""
        if self.names is not None and self.names != hkoji.names:
            return False
        if hkoji.rules_end is not None:
            return (self.exit, self.found) == (hkoji.exit, hkoji.found) and self.holds >= hkoji.rules_end
        return (self.exit, self.found, self.holds) == (hkoji.exit, hkoji.found, hkoji.holds)


def by_hkoji(log: bytes, pins: ExpectedKeys) -> Verdict:
    """The verdict of `hkoji audit`, without the steps that need the rules."""
    result = audit(_read(log), pins)
    sealed = is_sealed(log)
    last = AuditStep.COMMITMENTS if sealed else AuditStep.DEAL
    known = [finding for finding in result.findings if finding.step <= last]
    rules = [finding.entry for finding in result.findings if finding.step > last]
    stands = not any(finding.entry == 0 for finding in known)
    status = 1 if any(finding.understood for finding in known) else 3 if known or (sealed and stands) else 0
    found = tuple((int(finding.step), finding.entry or 0) for finding in known)
    names = tuple(finding.signer or "" for finding in known)
    return Verdict(status, found, result.holds, rules[0] if rules else None, names)


def is_sealed(log: bytes) -> bool:
    """Whether a log begins with the offer of a sealed game, true or not."""
    try:
        entry = parse_log(log.splitlines(keepends=True)[0])[0].entry
        body = parse_body(entry.kind, entry.body)
    except (HkojiError, IndexError):
        return False
    return isinstance(body, Offer) and body.terms.publishes is Publishes.NEVER


def _read(log: bytes) -> bytes:
    """Returns what the command must audit as one log, because the script takes each file for one log.

    If the command would find several logs in the file, this is the whole file. If the file begins with a repeated line,
    it is the first log that the command finds.
    """
    first, *others = split(io.BytesIO(log), "")
    lines = log.splitlines(keepends=True)
    return log if others and lines[0] != lines[1] else first.text if isinstance(first, LogBytes) else log


def run(path: Path, pins: ExpectedKeys) -> subprocess.CompletedProcess[str]:
    """Runs the script on a file."""
    given = [
        f"{name}={key.text}"
        for name, keys in pins.items()
        for key in ((keys,) if isinstance(keys, PublicKey) else keys)
    ]
    return subprocess.run(
        ["bash", str(SCRIPT), str(path), *given], capture_output=True, encoding="utf-8", timeout=600, check=False
    )


def run_part(name: str, logs: Sequence[Sequence[str]]) -> list[list[str]]:
    """Returns the output of one of the script's jq programs for each of several inputs, given as lines.

    One process reads them all, for the start of jq is long.
    """
    program = SCRIPT.with_name(f"audit-{name}.jq").read_text(encoding="utf-8")
    each = f"def audited($lines): def inputs: $lines[];\n{program};\ninputs | fromjson | [audited(.)] | tojson"
    done = subprocess.run(
        ["jq", "-nRr", each],
        input="".join(json.dumps(lines) + "\n" for lines in logs),
        capture_output=True,
        encoding="utf-8",
        check=True,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "TZ": "UTC0"},
    )
    written = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(written) == len(logs)
    return written


def parsed_by_script(logs: Sequence[bytes]) -> list[Verdict]:
    """The verdict of the script's step 1 on logs of printable characters that end in a newline."""
    verdicts = []
    for rows in run_part("lines", [log.decode().splitlines() for log in logs]):
        *hold, last = rows
        fault = re.match("!([13])", last)
        at = len(hold)
        if fault:
            verdicts.append(Verdict(int(fault[1]), ((1, at),), at, names=("",)))
        else:
            verdicts.append(Verdict(0, (), at + 1, names=()))
    return verdicts


def by_script(path: Path, pins: ExpectedKeys) -> Verdict:
    """The script's verdict. Raises `AssertionError` if its output has another form than an audit's."""
    done = run(path, pins)
    assert done.returncode in (0, 1, 3), done
    assert not done.stderr, done
    lines = done.stdout.splitlines()
    found = tuple((int(m[1]), int(m[3])) for line in lines if (m := _FOUND.fullmatch(line)))
    sealed = lines.count(_SEALED)
    assert done.stdout.count("FINDING") + done.stdout.count("NOT UNDERSTOOD") == len(found) + sealed, done
    assert bool(found or sealed) == bool(done.returncode), done
    gap = " step 7 needs sealed.py;" if sealed else ""
    holds = re.fullmatch(rf"([0-9]+) of [0-9]+ entries hold;{gap} steps 8 and 9, the rules, are left out.", lines[-1])
    assert holds, done
    return Verdict(done.returncode, found, int(holds[1]))
