"""Traces a service, and checks that a completed sync of the write-ahead log precedes every acknowledgement.

    python -m tests.lab.power_cuts.measure_syncs --entries 300                 needs strace
    python -m tests.lab.power_cuts.measure_syncs --planted                     with `synchronous` NORMAL: must complain

`hkoji serve` runs under `strace -f` with several players at once. For every 200 or 201 to a POST that stored something
(registrations, challenges, logins, offers, entries), its identifier (head, key or digest) is looked for in the writes
to the write-ahead log. The first sync of that file that began after this write had ended must have ended before the
first byte of the answer was written to the socket. The folder must have been synced after the log's file was created.

Afterwards the layer that the power cuts rely on (tests/support/sqlite_files.py) is compared with strace on the same
process: both must have seen the same writes, syncs and truncations, in the same order. Exits with 1 if a check fails.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from tests.support.ledger import Ledger
from tests.support.load import AWAY, Pair, Wire, busy
from tests.support.service import HKOJI, UNLIMITED_ENVIRONMENT

_CALLS: Final = "openat,pwrite64,write,writev,sendto,sendmsg,fdatasync,fsync,ftruncate,unlink"
_LINE: Final = re.compile(r"^(\d+) +(.*)$")
_UNFINISHED: Final = " <unfinished ...>"
_RESUMED: Final = re.compile(r"^<\.\.\. (\w+) resumed>")
_CARELESS: Final = """
import sys
from hkoji_server.store.sqlite import durable
durable.PRAGMAS["synchronous"] = 1
from hkoji.cli.main import main
sys.argv[0] = "hkoji"
main()
"""
_RECORDED: Final = """
import json, sys
from pathlib import Path
from tests.lab.power_cuts.measure import record
from hkoji_server.log import configure_logging
configure_logging("error")
made = record(Path(sys.argv[1]), None, 200, 3)
print(json.dumps([[c.what, c.name, c.offset, len(c.data)] for c in made.log]))
"""


class Traced(NamedTuple):
    """A system call: its text, and the numbers of the lines at which it began and ended."""

    text: str
    began: int
    ended: int


def read_trace(path: Path) -> Iterator[Traced]:
    """The calls in the order in which they began."""
    begun: dict[str, int] = {}
    calls: list[Traced] = []
    with path.open(errors="replace") as file:
        for number, line in enumerate(file):
            found = _LINE.match(line)
            if not found:
                continue
            pid, text = found[1], found[2]
            if _RESUMED.match(text):
                if pid in begun:
                    place = begun.pop(pid)
                    calls[place] = calls[place]._replace(ended=number)
                continue
            if text.endswith(_UNFINISHED):
                begun[pid] = len(calls)
                calls.append(Traced(text.removesuffix(_UNFINISHED), number, sys.maxsize))
            else:
                calls.append(Traced(text, number, number))
    yield from calls


def _marks(text: str, *, fresh: bool) -> list[tuple[str, str]]:
    """The data behind an answer that must be on disk: its sort, and the bytes to look for. `fresh` for a 201."""
    text = text.replace('\\"', '"').replace("\\\\", "\\").replace('\\"', '"')
    if '"receipt":' in text and (heads := re.findall(r'"head":"([0-9a-f]{64})"', text)):
        sort = "offers" if '"line":{' in text else "entries" if fresh else "entries again"
        return [(sort, heads[-1])]
    if (token := re.search(r'"token":"([0-9a-f]{64})"', text)) is not None:
        return [("logins", sha256(token[1].encode()).hexdigest())]
    if (nonce := re.search(r'"nonce":"([0-9a-f]{64})"', text)) is not None:
        return [("challenges", sha256(nonce[1].encode()).hexdigest())]
    if '"statement":' in text and (key := re.search(r'"key":"ssh-ed25519 ([^"]+)"', text)) is not None:
        return [("registrations", key[1])]
    return []


def judge(calls: list[Traced]) -> tuple[Counter[str], list[str]]:
    """The number of answers of each sort, and the faults."""
    log = [call for call in calls if call.text.startswith("pwrite64(") and "-wal>" in call.text[:200]]
    syncs = [call for call in calls if call.text.startswith(("fdatasync(", "fsync(")) and "-wal>" in call.text]
    answers: Counter[str] = Counter()
    wrong = []
    # By connection: the line at which the answer began, and whether it is a 201.
    heads: dict[str, tuple[int, bool]] = {}
    for call in calls:
        found = re.match(r"(?:write|writev|sendto|sendmsg)\((\d+<(?:socket|TCP)[^>]*>)", call.text)
        if not found:
            continue
        if "HTTP/1.1 " in call.text:
            heads.pop(found[1], None)
            if posted := re.search(r"HTTP/1\.1 20([01]) ", call.text):
                heads[found[1]] = call.began, posted[1] == "1"
        if found[1] not in heads:
            continue
        began, fresh = heads[found[1]]
        for sort, mark in _marks(call.text, fresh=fresh):
            answers[sort] += 1
            written = next((each for each in log if mark in each.text), None)
            if written is None:
                wrong.append(f"{sort} {mark[:12]}: it is not in the write-ahead log")
                continue
            sync = next((each for each in syncs if each.began > written.ended), None)
            if sync is None or sync.ended >= began:
                wrong.append(f"{sort} {mark[:12]}: the answer went out before its sync had ended")
    made = next((call for call in calls if "-wal" in call.text and "O_CREAT" in call.text), None)
    folder = [call for call in calls if call.text.startswith(("fsync(", "fdatasync(")) and "/data>" in call.text]
    if made is None or not any(call.began > made.ended for call in folder):
        wrong.append("the folder was not synced after the write-ahead log was made")
    return answers, wrong


def _serve(folder: Path, entries: int, *, careless: bool) -> list[Traced]:
    trace, log = folder / "trace", folder / "log"
    program = [sys.executable, "-c", _CARELESS] if careless else [str(HKOJI)]
    command = ["strace", "-f", "-yy", "-s", "30000", "-e", f"trace={_CALLS}", "-o", str(trace), *program]
    with log.open("w") as out:
        process = subprocess.Popen(
            [*command, "serve", "--data", str(folder / "data"), "--port", "0"],
            stderr=out,
            start_new_session=True,
            env={**os.environ, **UNLIMITED_ENVIRONMENT},
        )
    port = _wait_for_port(log, process)
    ledger = Ledger()
    pairs = [Pair(number, Wire(lambda: port), ledger, random.Random(number)) for number in range(6)]
    failures: list[Exception] = []

    def over(_: Pair) -> bool:
        return sum(pair.accepted for pair in pairs) >= entries

    for thread in busy(pairs, over, lambda _, error: failures.append(error)):
        thread.join()
    for pair in pairs:
        assert isinstance(pair.asked, Wire)
        pair.asked.close()
    # strace passes no signals on; the service is its only child.
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(children[0]), signal.SIGTERM)
    process.wait(60)
    if failures:
        raise failures[0]
    return list(read_trace(trace))


def _wait_for_port(log: Path, process: subprocess.Popen[bytes]) -> int:
    end = time.monotonic() + 120
    while time.monotonic() < end and process.poll() is None:
        if found := re.search(r"serving on http://[^:]+:(\d+)", log.read_text()):
            return int(found[1])
        time.sleep(0.05)
    raise AssertionError(f"the service did not start: {log.read_text()}")


def compare(folder: Path) -> tuple[int, list[str]]:
    """Lets the layer and strace watch the same process.

    Returns the number of calls seen by both, and the differences.
    """
    trace = folder / "trace"
    command = ["strace", "-f", "-yy", "-s", "0", "-e", f"trace={_CALLS}", "-o", str(trace)]
    done = subprocess.run(
        [*command, sys.executable, "-c", _RECORDED, str(folder)], check=True, capture_output=True, text=True
    )
    layer = [
        (what, name, offset if what != "sync" else 0, size)
        for what, name, offset, size in json.loads(done.stdout.splitlines()[-1])
        if what in ("write", "sync", "truncate")
    ]
    seen: list[tuple[str, str, int, int]] = []
    for call in read_trace(trace):
        found = re.match(r"(pwrite64|fdatasync|fsync|ftruncate)\(\d+<[^>]*?/(hkoji\.sqlite3[^/>]*)>(.*)", call.text)
        if not found or found[2].endswith("-shm"):
            continue
        numbers = [int(number) for number in re.findall(r", (\d+)(?=[,)]|$)", found[3])]
        if found[1] == "pwrite64":
            seen.append(("write", found[2], numbers[1], numbers[0]))
        elif found[1] == "ftruncate":
            seen.append(("truncate", found[2], numbers[0], 0))
        else:
            seen.append(("sync", found[2], 0, 0))
    # The record ends with the last answer; strace also sees the clean-up that follows.
    wrong = [
        f"call {number}: the layer says {one}, strace {other}"
        for number, (one, other) in enumerate(zip(layer, seen, strict=False))
        if one != other
    ]
    if len(seen) < len(layer):
        wrong.append(f"the layer has {len(layer)} calls, strace {len(seen)}")
    return len(layer), wrong[:5]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--entries", type=int, default=300)
    parser.add_argument("--planted", action="store_true", help="serve with `synchronous` set to NORMAL")
    given = parser.parse_args()
    if not shutil.which("strace"):
        sys.exit("this needs strace")
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        try:
            calls = _serve(Path(folder), given.entries, careless=given.planted)
        except AWAY as error:
            sys.exit(f"the service went away: {error}")
        answers, wrong = judge(calls)
    print(f"{len(calls):,} system calls")
    for sort, count in sorted(answers.items()):
        print(f"{count:8,}  {sort}")
    print(f"{answers.total():,} answers, {len(wrong)} before their sync")
    for line in wrong[:10]:
        print(line)
    if given.planted:
        sys.exit(not wrong)
    with tempfile.TemporaryDirectory() as folder:
        both, differ = compare(Path(folder))
    print(f"{both:,} writes, syncs and truncations seen by the layer and by strace: {len(differ)} differ")
    for line in differ:
        print(line)
    print(f"{time.monotonic() - started:.0f} s")
    sys.exit(bool(wrong or differ))


if __name__ == "__main__":
    main()
