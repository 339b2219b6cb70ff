"""Measures the audit of one log, on one core and on two, against raw verification of its signatures on one core by the
same library, OpenSSL or libsodium; and `hkoji audit DIR` as a program, with its start.

The processor that other work uses distorts ratios less than absolute figures, because all contenders take turns.
`HKOJI_BENCH_OLD` may name the folder of another version of the program, whose audits are measured in turn with these.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from hkoji.audit.log_audit import audit
from hkoji.cli.audit.command import map_in_two_threads
from hkoji.log import sshsig
from hkoji.log.line import SERVER_NAME
from hkoji.log.sshsig import Libsodium, OpenSSL, SignatureLibrary, Verify
from scripts.bench.page import record_speed
from scripts.bench.timing import Contender, report, speeds
from tests.support.table import Table, whole_game

_GAMES = 30
_ARCHIVE = 160
_LIBRARIES: dict[str, SignatureLibrary] = {"libsodium": Libsodium(), "OpenSSL": OpenSSL()}
_PROGRAM = "import sys; sys.argv[0] = 'hkoji'; from hkoji.cli.main import main; main()"
_OTHER = """
import sys
from hkoji.audit.log_audit import audit
from hkoji.log import sshsig
forget = getattr(sshsig, "forget_verdicts", lambda: None)  # older versions remember none
log = sys.stdin.buffer
while size := log.readline():
    texts = log.read(int(size)).split(b"\\0")
    forget()
    for text in texts:
        assert audit(text).ok
    print(flush=True)
"""


def run() -> None:
    """Prints entries a second, and for an archive also games a second."""
    tables = [whole_game(seed) for seed in range(_GAMES)]
    # The collector would look at the games in memory again and again, which a process that audits does not have.
    gc.collect()
    gc.freeze()
    for name, library in _LIBRARIES.items():
        with _using(library):
            _one_by_one(name, tables)
    _absolute(tables)
    _archive()


@contextmanager
def _using(library: SignatureLibrary) -> Iterator[None]:
    before = sshsig.library()
    sshsig.use(library)
    try:
        yield
    finally:
        sshsig.use(before)


def _one_by_one(name: str, tables: list[Table]) -> None:
    texts = [table.text for table in tables]
    raw = _signatures(tables)
    entries = len(raw) // 2

    def verify_raw() -> int:
        _verify(raw)
        return entries

    def audit_all() -> int:
        sshsig.forget_verdicts()
        for text in texts:
            assert audit(text).ok
        return entries

    def audit_in_two_threads() -> int:
        sshsig.forget_verdicts()
        for text in texts:
            assert audit(text, map_checks=map_in_two_threads).ok
        return entries

    contenders = {"raw verification": verify_raw, "audit": audit_all, "audit, two threads": audit_in_two_threads}
    found = speeds(contenders)
    report(f"Audit by {name}, per entry with its receipt", "/s", found, "raw verification")
    one = "entries with their receipts a second, by" if name == "libsodium" else "by"
    record_speed(f"audit of one log on one core, {one} {name}", found, "audit", "raw verification")
    record_speed(f"audit of one log on two cores, by {name}", found, "audit, two threads", "raw verification")


def _absolute(tables: list[Table]) -> None:
    """Audits by the fastest library, in turn with those of another version, which runs in a process of its own."""
    folder = os.environ.get("HKOJI_BENCH_OLD")
    if folder is None:
        return
    texts = [table.text.encode() for table in tables]
    entries = sum(len(table.lines) for table in tables)
    given = b"\0".join(texts)
    given = b"%d\n%b" % (len(given), given)
    environment = {**os.environ, "PYTHONPATH": folder}
    with (
        _using(_LIBRARIES["libsodium"]),
        subprocess.Popen(
            [sys.executable, "-c", _OTHER], cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as other,
    ):
        assert other.stdin is not None
        assert other.stdout is not None
        asked, answered = other.stdin, other.stdout

        def audit_other() -> int:
            asked.write(given)
            asked.flush()
            assert answered.readline()
            return entries

        def audit_all() -> int:
            sshsig.forget_verdicts()
            for text in texts:
                assert audit(text).ok
            return entries

        contenders: dict[str, Contender] = {"the other version": audit_other, "audit": audit_all}
        report("Audit against another version", "/s", speeds(contenders), "the other version")
        asked.close()


def _archive() -> None:
    """`hkoji audit DIR` as a program, with its start, against a loop over the same signatures in memory."""
    tables = [whole_game(seed) for seed in range(_ARCHIVE)]
    with TemporaryDirectory() as folder, _using(_LIBRARIES["libsodium"]):
        raw = _signatures(tables)
        logs = Path(folder, "logs")
        logs.mkdir()
        for number, table in enumerate(tables):
            (logs / f"{number:04}.jsonl").write_text(table.text)

        def audit_with(*options: str) -> int:
            command = [sys.executable, "-c", _PROGRAM, "audit", str(logs), *options]
            subprocess.run(command, check=True, capture_output=True)
            return _ARCHIVE

        def verify_raw() -> int:
            _verify(raw)
            return _ARCHIVE

        contenders: dict[str, Callable[[], int]] = {
            "raw verification by libsodium": verify_raw,
            "hkoji audit DIR": audit_with,
            "hkoji audit DIR --jobs 1": lambda: audit_with("--jobs", "1"),
        }
        found = speeds(contenders)
    report(
        f"Archive of {_ARCHIVE} games, {len(raw) // 2} entries with receipts",
        "games/s",
        found,
        "raw verification by libsodium",
    )
    floor = "raw verification by libsodium"
    record_speed(
        f"`hkoji audit DIR`, {_ARCHIVE} games, start included, games a second", found, "hkoji audit DIR", floor
    )
    record_speed("`hkoji audit DIR --jobs 1`", found, "hkoji audit DIR --jobs 1", floor)
    for name, speed in found.items():
        print(f"  {name:44} {speed * len(raw) / 2 / _ARCHIVE:12,.0f} entries/s")


Signature = tuple[Verify, bytes, bytes]


def _signatures(tables: list[Table]) -> list[Signature]:
    """Verifier, signature and signed bytes of every entry and receipt."""
    raw: list[Signature] = []
    for table in tables:
        keys = {"alice": table.keys[0].public, "bob": table.keys[1].public, SERVER_NAME: table.server.public}
        loaded = {name: sshsig.library().verifier(key.raw) for name, key in keys.items()}
        for line in table.lines:
            assert line.receipt is not None
            namespace = sshsig.SERVER if line.entry.by == SERVER_NAME else sshsig.ENTRY
            raw.append((loaded[line.entry.by], line.sig[-64:], sshsig.signed_data(namespace, line.entry.message)))
            message = line.receipt.receipt.message
            raw.append((loaded[SERVER_NAME], line.receipt.sig[-64:], sshsig.signed_data(sshsig.RECEIPT, message)))
    return raw


def _verify(raw: list[Signature]) -> None:
    for fits, signature, data in raw:
        assert fits(signature, data)
