"""Signatures, receipts, views and keys by themselves, read as the project reads them, to damage one byte of each.

Each piece is a text or blob with a function that gives the outcome of reading another in its place. Where several
spellings are allowed (JSON around a receipt, spaces in a file of keys, armour around a private key), some damages
change nothing that matters: they give `SAME` and are counted apart.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from hkoji import referee
from hkoji.audit.checks import verify_receipt, verify_signatures
from hkoji.audit.log_audit import Audit, audit
from hkoji.cli.audit.command import read_expected_keys
from hkoji.errors import HkojiError
from hkoji.log import sshsig
from hkoji.log.canonical import decode_base64, encode_base64
from hkoji.log.line import Line, parse_log, read_signed, read_signed_receipt
from hkoji.log.private_key import PrivateKey
from hkoji.log.public_key import PublicKey, decode_public_key, parse_public_key
from hkoji.log.statement import parse_view
from tests.lab.damage.single_bytes import Sound, sound_logs
from tests.support.table import new_game

SAME: Final = "says the same"
HOLDS: Final = "holds"
REFUSED: Final = "refused"


class Piece(NamedTuple):
    """`read` gives `SAME`, `HOLDS` (a fault) or what was detected; an unexpected exception is a fault too."""

    name: str
    data: bytes
    read: Callable[[bytes], str]


def complaint(piece: Piece, data: bytes) -> tuple[str, str]:
    """The outcome of a damaged piece, and the fault if there is one."""
    try:
        word = piece.read(data)
    except HkojiError:
        return REFUSED, ""
    except Exception as error:
        return "raises", f"raises {error!r}"
    return word, "it holds" if word == HOLDS else ""


def pieces(folder: Path) -> Iterator[Piece]:
    """All pieces; the file of keys is written into `folder` to be read."""
    log = next(each for each in sound_logs() if each.name == "running.jsonl")
    lines = parse_log(log.data)
    for name in ("server", "alice"):
        line = next(line for line in lines if line.entry.by == name)
        yield from _signatures(name, line, log.pins[name][0])
    yield _receipt(lines[-1], log.pins["server"][0])
    yield _view()
    for name in sorted(log.pins):
        yield _key(log, name)
    yield _key_blob(log, "alice")
    yield _key_file(log, folder)
    yield _private_key()


def _signatures(name: str, line: Line, key: PublicKey) -> Iterator[Piece]:
    def verify(blob: bytes) -> str:
        verify_signatures(line.entry, blob, key, None)
        return HOLDS

    def encoded(data: bytes) -> str:
        return verify(decode_base64(data.decode("latin-1"), "signature"))

    def armored(data: bytes) -> str:
        return verify(sshsig.dearmor(data.decode("latin-1")))

    yield Piece(f"signature of {name}, blob", line.sig, verify)
    yield Piece(f"signature of {name}, base64", encode_base64(line.sig).encode(), encoded)
    yield Piece(f"signature of {name}, .sig file", sshsig.armor(line.sig).encode(), armored)


def _receipt(line: Line, server: PublicKey) -> Piece:
    sound = line.receipt
    assert sound

    def read(data: bytes) -> str:
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            return REFUSED
        receipt = read_signed_receipt(value)
        verify_receipt(receipt, line.entry, server)
        return SAME if receipt == sound else HOLDS

    value = {"sig": encode_base64(sound.sig), "text": sound.receipt.text}
    return Piece("receipt", json.dumps(value, separators=(",", ":")).encode(), read)


def _view() -> Piece:
    table = new_game(4).play(5)
    sound = referee.view(table.refereed, 1)
    sig = table.server.sign(sshsig.VIEW, sound.message)

    def read(data: bytes) -> str:
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            return REFUSED
        signed = read_signed(value, "view")
        view = parse_view(signed.text)
        sshsig.verify(signed.sig, table.server.public, sshsig.VIEW, view.message, "server")
        return SAME if (view, signed.sig) == (sound, sig) else HOLDS

    value = {"sig": encode_base64(sig), "text": sound.text}
    return Piece("view", json.dumps(value, separators=(",", ":")).encode(), read)


def _key(log: Sound, name: str) -> Piece:
    def read(data: bytes) -> str:
        return _seen(audit(log.data, {**log.pins, name: parse_public_key(data.decode("latin-1"))}))

    return Piece(f"expected key of {name}", log.pins[name][0].text.encode(), read)


def _key_blob(log: Sound, name: str) -> Piece:
    def read(data: bytes) -> str:
        return _seen(audit(log.data, {**log.pins, name: decode_public_key(data)}))

    return Piece(f"expected key of {name}, blob", log.pins[name][0].blob, read)


def _key_file(log: Sound, folder: Path) -> Piece:
    file = folder / "keys.txt"
    seen: dict[frozenset[tuple[str, tuple[PublicKey, ...]]], str] = {}

    def read(data: bytes) -> str:
        file.write_bytes(data)
        pins = read_expected_keys((), (str(file),))
        if pins == log.pins:
            return SAME
        kept = frozenset(pins.items())
        if kept not in seen:
            seen[kept] = _seen(audit(log.data, pins))
        return seen[kept]

    return Piece("keys.txt", "".join(f"{name} {key.text}\n" for name, (key,) in log.pins.items()).encode(), read)


def _seen(result: Audit) -> str:
    if any(finding.signer for finding in result.findings):
        raise AssertionError(f"it accuses: {result.findings}")
    if result.findings:
        return f"step {result.findings[0].step} {result.findings[0].step.name.lower()}"
    return HOLDS if all(party.pinned for party in result.parties) else "a key not expected"


def _private_key() -> Piece:
    sound = PrivateKey.from_seed(bytes(range(32)))

    def read(data: bytes) -> str:
        return SAME if PrivateKey.from_openssh(data).public == sound.public else HOLDS

    return Piece("private key file", sound.to_openssh(), read)
