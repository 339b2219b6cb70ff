"""Measures the full audit per entry against raw verification of the same signatures; with two workers; and of an
archive."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from hkoji.audit.log_audit import audit
from hkoji.log import sshsig
from hkoji.log.entry import SERVER_NAME
from scripts.bench.timing import report, speeds
from tests.support.table import Table, whole_game

_GAMES = 30
_ARCHIVE = 600
_HKOJI = Path(sys.executable).with_name("hkoji")


def run() -> None:
    """Prints entries a second, and for an archive also games a second."""
    _one_by_one()
    _archive()


def _one_by_one() -> None:
    tables = [whole_game(seed) for seed in range(_GAMES)]
    texts = [table.text for table in tables]
    raw = _signatures(tables)
    entries = len(raw) // 2

    def verify_raw() -> int:
        _verify(raw)
        return entries

    def audit_all() -> int:
        for text in texts:
            assert audit(text).ok
        return entries

    with ThreadPoolExecutor(2) as pool:

        def audit_one(text: str) -> bool:
            return audit(text).ok

        def audit_two() -> int:
            assert all(pool.map(audit_one, texts))
            return entries

        contenders = {"raw verification": verify_raw, "audit": audit_all, "audit, two workers": audit_two}
        report("Audit, per entry with its receipt", "/s", speeds(contenders), "raw verification")


def _archive() -> None:
    """`hkoji audit DIR` as a program, with its start, against a loop over the same signatures in memory."""
    tables = [whole_game(seed) for seed in range(_ARCHIVE)]
    raw = _signatures(tables)
    with TemporaryDirectory() as folder:
        for number, table in enumerate(tables):
            Path(folder, f"{number:04}.jsonl").write_text(table.text)

        def verify_raw() -> int:
            _verify(raw)
            return _ARCHIVE

        def audit_with(jobs: int) -> int:
            subprocess.run([_HKOJI, "audit", folder, "--jobs", str(jobs)], check=True, capture_output=True)
            return _ARCHIVE

        contenders = {
            "raw verification": verify_raw,
            "hkoji audit DIR": lambda: audit_with(1),
            "hkoji audit DIR --jobs 2": lambda: audit_with(2),
        }
        found = speeds(contenders, rounds=3)
    report(f"Archive of {_ARCHIVE} games, {len(raw) // 2} entries with receipts", "games/s", found, "raw verification")
    for name, speed in found.items():
        print(f"  {name:44} {speed * len(raw) / 2 / _ARCHIVE:12,.0f} entries/s")


Signature = tuple[Ed25519PublicKey, bytes, bytes]


def _signatures(tables: list[Table]) -> list[Signature]:
    """Key, signature and signed bytes of every entry and receipt."""
    raw: list[Signature] = []
    for table in tables:
        keys = {"alice": table.keys[0].public, "bob": table.keys[1].public, SERVER_NAME: table.server.public}
        loaded = {name: Ed25519PublicKey.from_public_bytes(key.raw) for name, key in keys.items()}
        for line in table.lines:
            assert line.receipt is not None
            namespace = sshsig.SERVER if line.entry.by == SERVER_NAME else sshsig.ENTRY
            raw.append((loaded[line.entry.by], line.sig[-64:], sshsig.signed_data(namespace, line.entry.message)))
            message = line.receipt.receipt.message
            raw.append((loaded[SERVER_NAME], line.receipt.sig[-64:], sshsig.signed_data(sshsig.RECEIPT, message)))
    return raw


def _verify(raw: list[Signature]) -> None:
    for key, signature, data in raw:
        key.verify(signature, data)
