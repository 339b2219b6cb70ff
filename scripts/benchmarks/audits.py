"""The full audit per entry against raw verification of the same signatures; and with two workers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from hkoji.game.audit import audit
from hkoji.log import sshsig
from hkoji.log.entry import SERVER_NAME
from scripts.benchmarks.measure import report, speeds
from tests.support.table import whole_game

_GAMES = 30


def run() -> None:
    """Prints entries a second."""
    tables = [whole_game(seed) for seed in range(_GAMES)]
    texts = [table.text for table in tables]
    raw: list[tuple[Ed25519PublicKey, bytes, bytes]] = []
    for table in tables:
        keys = {"alice": table.keys[0].public, "bob": table.keys[1].public, SERVER_NAME: table.server.public}
        loaded = {name: Ed25519PublicKey.from_public_bytes(key.raw) for name, key in keys.items()}
        for line in table.lines:
            assert line.receipt is not None
            namespace = sshsig.SERVER if line.entry.by == SERVER_NAME else sshsig.ENTRY
            raw.append((loaded[line.entry.by], line.sig[-64:], sshsig.signed_data(namespace, line.entry.message)))
            message = line.receipt.receipt.message
            raw.append((loaded[SERVER_NAME], line.receipt.sig[-64:], sshsig.signed_data(sshsig.RECEIPT, message)))
    entries = len(raw) // 2

    def verify_raw() -> int:
        for key, signature, data in raw:
            key.verify(signature, data)
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
