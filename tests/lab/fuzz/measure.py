"""Fuzzes every reader of outside input, one target after the other, guided by the branches that inputs take.

    python -m tests.lab.fuzz.measure --scale 0.01                  a hundredth of all inputs, for each target
    python -m tests.lab.fuzz.measure                               more than ten million inputs in all
    python -m tests.lab.fuzz.measure --only line --only entry      some targets
    python -m tests.lab.fuzz.measure --list                        the targets, and how many inputs each gets

atheris (requirements/fuzz.txt) is installed into a temporary folder for the run.

A target fails if it raises an exception that is not a `HkojiError`, if the value that it reads does not match what was
written, if one input takes longer than --seconds, or if the process takes more than --megabytes of memory. Then the
input is kept in the corpus folder, its file name is printed, and the campaign exits with 1 after the other targets have
run. The folder (--corpus) keeps the inputs that took new branches; given again, the next campaign continues from them.
--keep puts the smallest of them into tests/data/fuzz, where the tests read them without atheris.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final, NamedTuple

from tests.lab.fuzz.corpus import keep
from tests.lab.fuzz.target import Target
from tests.lab.fuzz.targets import TARGETS

_MEMORY: Final = Path("/dev/shm")  # files that are read a million times are faster in memory
_REQUIREMENTS: Final = Path(__file__).parents[3] / "requirements" / "fuzz.txt"
_DONE: Final = re.compile(rb"^#([0-9]+)\s+(?:DONE|[A-Za-z]+)\s+cov: ([0-9]+) ft: ([0-9]+) .*?rss: ([0-9]+)Mb", re.M)
_INITED: Final = re.compile(rb"^#[0-9]+\s+INITED cov: ([0-9]+) ft", re.M)
_SLOWEST: Final = re.compile(rb"^stat::slowest_unit_time_sec:\s+([0-9]+)", re.M)


class Ran(NamedTuple):
    """The results for a target: inputs tried, branches taken by the seeds and at the end, memory, and a finding."""

    target: Target
    inputs: int
    seeded: int
    taken: int
    megabytes: int
    slowest: int
    seconds: float
    finding: str


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", action="append", choices=TARGETS, metavar="TARGET")
    parser.add_argument("--scale", type=float, default=1.0, help="part of the inputs of a complete campaign")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=25, help="the longest that one input may take")
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--corpus", type=Path, help="a folder for inputs; a temporary one by default")
    parser.add_argument("--keep", action="store_true", help="put the smallest inputs of each target into tests/data")
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args()
    chosen = [TARGETS[name] for name in given.only or TARGETS]
    if given.list:
        for target in chosen:
            print(f"{target.name:12} {int(target.runs * given.scale):10,}  {target.about}")
        print(f"{'':12} {sum(int(target.runs * given.scale) for target in chosen):10,}")
        return
    with tempfile.TemporaryDirectory() as temporary:
        fuzzer = Path(temporary) / "atheris"
        _install(fuzzer)
        corpus: Path = given.corpus or Path(temporary)
        print(f"{'target':12} {'inputs':>10} {'branches':>9} {'by seeds':>9} {'MB':>5} {'s':>6}", flush=True)
        results = []
        for target in chosen:
            results.append(_run(target, corpus / target.name, fuzzer, given))
            print(_row(results[-1]), flush=True)
            if given.keep:
                keep(target.name, corpus / target.name)
    findings = sum(bool(each.finding) for each in results)
    print(f"{'':12} {sum(each.inputs for each in results):10,} inputs, {findings} targets with a finding")
    sys.exit(bool(findings))


def _row(ran: Ran) -> str:
    row = f"{ran.target.name:12} {ran.inputs:10,} {ran.taken:9,} {ran.seeded:9,} {ran.megabytes:5} {ran.seconds:6.0f}"
    return f"{row}  {ran.finding}".rstrip()


def _install(folder: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    pinned = ["--no-deps", "--require-hashes", "--only-binary", ":all:", "--requirement", str(_REQUIREMENTS)]
    subprocess.run([*pip, *pinned, "--target", str(folder)], check=True)


def _run(target: Target, folder: Path, fuzzer: Path, given: argparse.Namespace) -> Ran:
    inputs, found = folder / "inputs", folder / "findings"
    for each in (inputs, found):
        each.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds()):
        (inputs / f"seed-{number:03}").write_bytes(seed)
    words = folder / "words"
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in sorted(set(target.words)) if word))
    options = {
        "runs": int(target.runs * given.scale),
        "seed": given.seed,
        "timeout": given.seconds,
        "rss_limit_mb": given.megabytes,
        "max_len": target.longest,
        "dict": words,
        "artifact_prefix": f"{found}/",
        "len_control": 20,
        "print_final_stats": 1,
        "verbosity": 1,
    }
    command = [sys.executable, "-m", "tests.lab.fuzz.run_one", target.name]
    command += [f"-{name}={value}" for name, value in options.items()]
    started = time.monotonic()
    log = folder / "log"
    with log.open("wb") as stream:
        code = subprocess.run(
            [*command, str(inputs)],
            stdout=stream,
            stderr=stream,
            env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": str(fuzzer)},
            check=False,
        ).returncode
    said = log.read_bytes()
    done = _DONE.findall(said)
    numbers = tuple(map(int, done[-1])) if done else (0, 0, 0, 0)
    first, slowest = _INITED.search(said), _SLOWEST.search(said)
    return Ran(
        target,
        numbers[0],
        int(first[1]) if first else 0,
        numbers[1],
        numbers[3],
        int(slowest[1]) if slowest else 0,
        time.monotonic() - started,
        _finding(said, found) if code else "",
    )


def _finding(said: bytes, found: Path) -> str:
    lines = said.decode("utf-8", "replace").splitlines()
    raised = [line for line in lines if re.match(r"[A-Za-z_.]+(Error|Exception|Iteration)\b", line)]
    what = raised[-1] if raised else next((line for line in lines if "ERROR: libFuzzer" in line), "it ended early")
    kept = sorted(found.iterdir(), key=lambda path: path.stat().st_mtime)
    return f"FINDING {what} ({kept[-1] if kept else 'no input'})"


def _escaped(word: str) -> str:
    return "".join(
        chr(byte) if 0x20 < byte < 0x7F and byte not in b'"\\' else f"\\x{byte:02x}" for byte in word.encode()
    )


if __name__ == "__main__":
    main()
