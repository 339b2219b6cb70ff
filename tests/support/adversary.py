"""A service that lies and players who cheat: small lies about an honest game, which can be combined.

A lie changes the honest service's answer (log and view) before it is signed; the service then signs it, as a dishonest
service would. Without lies it behaves as `tests.support.memory_service.MemoryService`, and the same calls succeed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import parse_qs, urlsplit

import pytest

from hkoji import errors, referee
from hkoji.audit.evidence_audit import audit_file
from hkoji.audit.evidence_file import is_evidence
from hkoji.audit.log_audit import Audit, AuditStep, audit
from hkoji.client.transport import HttpAnswer
from hkoji.game import entry_kinds
from hkoji.game.commitments import Opening
from hkoji.game.dealer import DuplicateTerms
from hkoji.game.position import time_of_record
from hkoji.log import sshsig
from hkoji.log.canonical import encode_base64
from hkoji.log.game_statements import make_head
from hkoji.log.line import Line, SignedReceipt, format_log, line_to_json, make_entry, make_receipt, sign_entry
from hkoji.log.private_key import PrivateKey
from hkoji.log.public_key import PublicKey, parse_public_key
from hkoji.log.statement import Dealt, make_view
from hkoji.rules.protocol import Ruleset
from tests.support import forgery
from tests.support.memory_service import AT, LocalPlayer, MemoryService
from tests.support.table import Table

# --- answers of a lying service ---------------------------------------------------------------------------------------


@dataclass
class Telling:
    """The answer that the service is about to give about `game`: the log, and the cards if a seat asks for its view.

    After an entry was sent, `lines` are those that it added and `brought` is true. `view` replaces fields of the view
    before it is signed, and `head` those of a signed head.
    """

    service: MemoryService
    game: str
    lines: list[Line]
    dealt: tuple[Dealt, ...] = ()
    brought: bool = False
    view: dict[str, Any] = field(default_factory=dict)  # Any: fields of a view
    head: dict[str, Any] = field(default_factory=dict)  # Any: fields of a signed head


Lie = Callable[[Telling], None]


class HostileService(MemoryService):
    """A service that is honest except for its current `lies`."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.lies: tuple[Lie, ...] = ()

    def answer(self, method: str, path: str, body: bytes | None, token: str | None) -> HttpAnswer:
        """The honest answer with the lies applied."""
        answer = super().answer(method, path, body, token)
        parts = urlsplit(path)
        match parts.path.strip("/").split("/")[1:]:
            case ["games", game, "log" | "view" | "entries" | "head" as what] if self.lies and answer.status < 300:
                after = int(parse_qs(parts.query).get("after", ["-1"])[0])
                return answer._replace(body=self._told(game, what, after, answer))
        return answer

    def _told(self, game: str, what: str, after: int, answer: HttpAnswer) -> bytes:
        kept = self.games[game]
        if what == "entries":
            value = answer.json()
            telling = Telling(self, game, kept.lines[-len(value["lines"]) :], brought=True)
            self._lie(telling)
            value["lines"] = [line_to_json(line) for line in telling.lines]
            return json.dumps(value).encode()
        telling = Telling(self, game, list(kept.lines))
        if what == "log":
            self._lie(telling)
            return format_log(line for line in telling.lines if line.entry.seq > after).encode()
        if what == "head":
            self._lie(telling)
            end = telling.lines[-1]
            true = {"at": max(AT, time_of_record(end)), "game": game, "head": end.entry.head, "seq": end.entry.seq}
            head = make_head(**{**true, **telling.head})
            sig = encode_base64(self.key.sign(sshsig.HEAD, head.message))
            return json.dumps({"text": head.text, "sig": sig}).encode()
        value = answer.json()
        telling.dealt = referee.view(kept.refereed, value["seat"]).dealt
        self._lie(telling)
        last = telling.lines[-1].entry
        fields = {"dealt": telling.dealt, "game": game, "head": last.head, "seat": value["seat"], "seq": last.seq}
        view = make_view(**{**fields, **telling.view})
        value["view"] = {"text": view.text, "sig": encode_base64(self.key.sign(sshsig.VIEW, view.message))}
        value["lines"] = [line_to_json(line) for line in telling.lines if line.entry.seq > after]
        return json.dumps({**value, "seq": last.seq, "head": last.head}).encode()

    def _lie(self, telling: Telling) -> None:
        for lie in self.lies:
            lie(telling)


@contextmanager
def lying(service: HostileService, *lies: Lie) -> Iterator[None]:
    """Makes the service tell `lies` during the block."""
    before, service.lies = service.lies, lies
    try:
        yield
    finally:
        service.lies = before


@contextmanager
def chosen_cards() -> Iterator[None]:
    """The games that are offered in the block have a dealer by which the service alone can choose the cards."""
    honest = referee.offer

    def offer(game: str, ruleset: Ruleset, seed: str, **more: object) -> referee.Accepted:
        return honest(game, ruleset, seed, terms=DuplicateTerms.bind("d0" * 16, seed), **more)  # type: ignore[arg-type] # by name

    with patch.object(referee, "offer", offer):
        yield


# --- lies about the log -----------------------------------------------------------------------------------------------


def ends_at(seq: int) -> Lie:
    """The log ends early, at entry `seq`."""

    def lie(telling: Telling) -> None:
        if not telling.brought:
            del telling.lines[seq + 1 :]

    return lie


def without(seq: int) -> Lie:
    """An entry is left out."""

    def lie(telling: Telling) -> None:
        telling.lines[:] = [line for line in telling.lines if line.entry.seq != seq]

    return lie


def exchanged(seq: int) -> Lie:
    """An entry and the next one are swapped."""

    def lie(telling: Telling) -> None:
        telling.lines[seq : seq + 2] = reversed(telling.lines[seq : seq + 2])

    return lie


def of_game(other: str) -> Lie:
    """The complete, genuine log of another game."""

    def lie(telling: Telling) -> None:
        telling.lines[:] = telling.service.games[other].lines

    return lie


def told(lines: tuple[Line, ...]) -> Lie:
    """Exactly this log."""

    def lie(telling: Telling) -> None:
        telling.lines[:] = lines

    return lie


def instead_of(
    seq: int, body: entry_kinds.EntryBody, by: str = "server", key: PrivateKey | None = None, *, at: str = AT
) -> Lie:
    """The log is replaced from `seq` on by one entry, made for that place and receipted."""

    def lie(telling: Telling) -> None:
        if not telling.brought:
            telling.lines[seq:] = [follow(telling.service.key, telling.lines[seq - 1], body, by, key, at=at)]

    return lie


def resigned(seq: int, player: LocalPlayer) -> Lie:
    """The log is replaced from `seq` on by a resignation of `player`, who colludes. It would be valid there."""
    return instead_of(seq, entry_kinds.Resign(), player.name, key_of(player))


def added(*more: entry_kinds.EntryBody, by: str = "server", key: PrivateKey | None = None, at: str = AT) -> Lie:
    """Additional entries."""

    def lie(telling: Telling) -> None:
        for body in more if not telling.brought else ():
            telling.lines.append(follow(telling.service.key, telling.lines[-1], body, by, key, at=at))

    return lie


def receipt_of(seq: int, other: int) -> Lie:
    """An entry has the receipt of another one."""

    def lie(telling: Telling) -> None:
        first = telling.service.games[telling.game].lines
        telling.lines[:] = [
            line._replace(receipt=first[other].receipt) if line.entry.seq == seq else line for line in telling.lines
        ]

    return lie


def signed_by(seq: int, key: PrivateKey) -> Lie:
    """An entry has another key's signature."""

    def lie(telling: Telling) -> None:
        telling.lines[:] = [
            line._replace(sig=sign_entry(line.entry, key)) if line.entry.seq == seq else line for line in telling.lines
        ]

    return lie


# --- lies about cards -------------------------------------------------------------------------------------------------


def hand(cards: str, round_number: int = 1) -> Lie:
    """A seat is shown `cards` in a round, whatever it was dealt."""

    def lie(telling: Telling) -> None:
        telling.dealt = tuple(
            Dealt(cards, each.round) if each.round == round_number else each for each in telling.dealt
        )

    return lie


def view_of(**fields: Any) -> Lie:  # Any: fields of a view
    """A signed view with other fields."""
    return lambda telling: telling.view.update(fields)


def head_of(**fields: Any) -> Lie:  # Any: fields of a signed head
    """A signed head with other fields."""
    return lambda telling: telling.head.update(fields)


def another_card(cards: str) -> str:
    """A hand like `cards` whose last card differs, one that could have been dealt."""
    return cards[:-1] + next(card for card in "DEFGABC" if card != cards[-1] and cards.count(card) < 2)


# --- writing entries that no referee has seen -------------------------------------------------------------------------


def follow(
    service: PrivateKey,
    before: Line,
    body: entry_kinds.EntryBody,
    by: str = "server",
    key: PrivateKey | None = None,
    *,
    at: str = AT,
) -> Line:
    """The entry after `before`, signed with `key` (the service's by default) and receipted."""
    last = before.entry
    kind = body.KIND
    entry = make_entry(
        at=at,
        body=body.to_json(),
        by=by,
        game=last.game,
        kind=kind,
        prev=last.head,
        seen=time_of_record(before),
        seq=last.seq + 1,
    )
    receipt = make_receipt(at=at, game=entry.game, head=entry.head, seq=entry.seq)
    signed = SignedReceipt(receipt, service.sign(sshsig.RECEIPT, receipt.message))
    return Line(entry, sign_entry(entry, key or service), signed)


def key_of(player: LocalPlayer) -> PrivateKey:
    """The private key of a player who colludes."""
    return PrivateKey.from_openssh((player.path / "id_ed25519").read_bytes())


def other_cards(table: Table, number: int, cards: str) -> dict[int, dict[str, object]]:
    """The changes to a log, for `forgery.rewrite`, that make `cards` a move's first hidden group from the start."""
    old = next(opening for opening in table.refereed.openings if (opening.seq, opening.part) == (number, 0))
    forged = Opening(number, 0, cards, old.salt)
    commit = [forged.commitment(table.game), *table.lines[number].entry.body["commit"][1:]]  # type: ignore[index, misc]
    return {**forgery.changed_body(table, number, commit=commit), **reopened(table, forged)}


def reopened(table: Table, opening: Opening) -> dict[int, dict[str, object]]:
    """The changes to a log that publish `opening` at its place."""
    changes: dict[int, dict[str, object]] = {}
    for line in table.lines:
        given = line.entry.body.get("openings")
        if isinstance(given, list):
            place = (opening.seq, opening.part)
            swapped = [opening.to_json() if (o["seq"], o["part"]) == place else o for o in given]  # type: ignore[index, call-overload]
            changes[line.entry.seq] = {"body": {**line.entry.body, "openings": swapped}}
    return changes


# --- what becomes of it -----------------------------------------------------------------------------------------------


def on_disk(player: LocalPlayer) -> dict[str, bytes]:
    """Every file in a player's home except refused statements: what was seen, pinned, signed and kept."""
    return {
        str(path.relative_to(player.path)): path.read_bytes()
        for path in sorted(Path(player.path).rglob("*"))
        if path.is_file() and path.name != "lock" and not path.name.startswith("refused")
    }


def refused_by(player: LocalPlayer) -> dict[str, bytes]:
    """The files of statements that a player has refused and keeps as evidence."""
    return {
        str(path.relative_to(player.path)): path.read_bytes() for path in sorted(Path(player.path).rglob("refused*"))
    }


def caught(
    service: HostileService,
    player: LocalPlayer,
    game: str,
    reason: str,
    *lies: Lie,
    proof: set[str] | None = None,
) -> errors.TrustError:
    """Checks that a player who looks at a game refuses it under `lies`, and accepts it without them.

    Under the lies it fails each time, with a hint, and changes nothing in the player's home except the evidence, which
    convicts `proof`.
    """
    before = on_disk(player)
    with lying(service, *lies):
        kept: list[dict[str, bytes]] = []
        for _ in range(2):
            with pytest.raises(errors.TrustError, match=reason) as refusal:
                player.position(game)
            assert refusal.value.hint
            assert on_disk(player) == before
            kept.append(refused_by(player))
        assert kept[0] == kept[1]  # a second refusal adds no evidence
    player.position(game)
    assert proof is None or proven(service, player, game) == proof
    return refusal.value


def proven(service: MemoryService, player: LocalPlayer, game: str) -> set[str]:
    """The players and service that a stranger convicts from the player's file of evidence and the public keys."""
    written = player.client.evidence(game, cards=True)
    known = {name: parse_public_key(key) for name, key in service.players.items()}
    result = audit_file(written.text, {**known, "server": service.key.public})
    assert is_evidence(written.text)
    return {finding.signer for finding in result.findings if finding.signer}


def convicted(honest: Table, log: str, step: AuditStep, entry: int, named: str | None) -> Audit:
    """Checks that the audit of `log` has one finding, there, and names exactly `named`; the honest log holds."""
    pins: dict[str, PublicKey] = forgery.pins(honest)
    assert audit(honest.text, pins).ok
    result = audit(log, pins)
    assert forgery.only(result) == (step, entry, named)
    return result
