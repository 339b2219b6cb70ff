"""Files of evidence made by a player who wants honest people convicted, and damage to their lines.

Bob plays two games at an honest service against an honest alice. He has everything that either of them was ever sent:
both logs, every receipt, every signed view of both seats. He has his own key, another key that he presents as the
service's, and every signed head. He cannot sign as the service or as alice. `frame` makes a random file from all that.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from hkoji.audit.evidence_file import EvidenceFile, SignedStatement, format_evidence
from hkoji.game import entry_kinds
from hkoji.game.clock import Outage, Way, format_time, parse_time
from hkoji.game.commitments import Opening
from hkoji.log import sshsig
from hkoji.log.game_statements import HeadStatement, SignedHead, make_head
from hkoji.log.line import Entry, Line, SignedReceipt, entry_namespace, format_log, make_entry, make_receipt
from hkoji.log.statement import Dealt, SignedView
from hkoji.rules.events import Outcome
from tests.support.framing import OWN, Story, changed, gift_of
from tests.support.table import AT, Table


def damages(text: str, rng: random.Random, bytes_changed: int) -> list[str]:
    """The text with each line dropped, doubled or swapped with the next, and with single bytes changed."""
    count = text.count("\n")
    lines = [_WITH_LINE[way](text.splitlines(keepends=True), number) for number in range(count) for way in range(3)]
    return ["".join(some) for some in lines] + [_byte(text, rng) for _ in range(bytes_changed)]


def damage(text: str, rng: random.Random) -> str:
    """One of these, at random."""
    if rng.random() < 0.5:
        return _byte(text, rng)
    lines = text.splitlines(keepends=True)
    return "".join(rng.choice(_WITH_LINE)(lines, rng.randrange(len(lines))))


def _byte(text: str, rng: random.Random) -> str:
    place = rng.randrange(len(text))
    return text[:place] + chr(rng.randrange(32, 127)) + text[place + 1 :]


_WITH_LINE: tuple[Callable[[list[str], int], list[str]], ...] = (
    lambda lines, number: lines[:number] + lines[number + 1 :],
    lambda lines, number: lines[:number] + lines[number : number + 1] * 2 + lines[number + 1 :],
    lambda lines, number: lines[:number] + lines[number : number + 2][::-1] + lines[number + 2 :],
)


@dataclass
class File:
    """The file that bob is putting together from a pair of games."""

    pair: tuple[Story, Story]
    lines: list[Line]
    views: list[SignedView]
    heads: list[SignedHead]
    refused: list[SignedStatement] = field(default_factory=list)


def frame(rng: random.Random, pair: tuple[Story, Story]) -> str:
    """A random file: part of what there is, in some order, changed and extended in some ways."""
    true, other = pair
    file = File(pair, list(true.table.lines), list(true.views), list(true.heads))
    for _ in range(rng.randrange(1, 5)):
        rng.choice(_WAYS)(rng, file)
    if rng.random() < 0.3:
        rng.shuffle(file.refused)
    log = format_log(file.lines, receipts=rng.random() < 0.9)
    keys = {"server": (rng.choice([true.table.server, OWN]).public,)}
    game = rng.choice([true.table.game] * 9 + [other.table.game])
    return format_evidence(EvidenceFile(game, keys, log, tuple(file.views), tuple(file.refused), tuple(file.heads)))


def _drop(rng: random.Random, file: File) -> None:
    for some in (file.lines, file.views, file.heads, file.refused):
        if some and rng.random() < 0.5:
            del some[rng.randrange(len(some))]


def _cut(rng: random.Random, file: File) -> None:
    del file.lines[rng.randrange(len(file.lines) + 1) :]


def _order(rng: random.Random, file: File) -> None:
    if len(file.lines) > 1:
        one, other = rng.sample(range(len(file.lines)), 2)
        file.lines[one], file.lines[other] = file.lines[other], file.lines[one]
    rng.shuffle(file.views)
    rng.shuffle(file.heads)


def _refuse(rng: random.Random, file: File) -> None:
    """Genuine lines, views and heads, of this game or the other, presented as refused."""
    told = rng.choice(file.pair)
    file.refused += rng.sample([*told.table.lines, *told.views, *told.heads], rng.randrange(1, 6))


def _foreign(rng: random.Random, file: File) -> None:
    """Mixes in the other game's lines, views and heads."""
    file.views.insert(rng.randrange(len(file.views) + 1), rng.choice(file.pair[1].views))
    file.heads.insert(rng.randrange(len(file.heads) + 1), rng.choice(file.pair[1].heads))
    if file.lines and rng.random() < 0.5:
        file.lines[rng.randrange(len(file.lines))] = rng.choice(file.pair[1].table.lines)


def _receipts(rng: random.Random, file: File) -> None:
    """Puts a genuine receipt beside another line, of this game or the other."""
    receipt = rng.choice([line.receipt for told in file.pair for line in told.table.lines])
    if file.lines and rng.random() < 0.5:
        number = rng.randrange(len(file.lines))
        file.lines[number] = file.lines[number]._replace(receipt=receipt)
    else:
        file.refused.append(rng.choice(file.pair[0].table.lines)._replace(receipt=receipt))


def _own_entry(rng: random.Random, file: File) -> None:
    """Adds entries by bob anywhere: in his own name, or in others' names under keys that are not theirs."""
    table = file.pair[0].table
    before = rng.choice(table.lines).entry
    for _ in range(rng.randrange(1, 4)):
        body = rng.choice(_contents(rng, table))
        by = rng.choice(["bob", "bob", "alice", "server"])
        entry = make_entry(
            at=AT,
            body=body.to_json(),
            by=by,
            game=table.game,
            kind=body.KIND,
            prev=before.head,
            seen=rng.choice([AT, before.at, table.lines[-1].entry.at, "2026-12-01T00:00:00Z"]),
            seq=before.seq + rng.choice([1, 1, 1, 2]),
        )
        key = table.keys[1] if by == "bob" else rng.choice([OWN, table.keys[1]])
        line = Line(entry, key.sign(entry_namespace(entry), entry.message), _receipt(rng, file, entry))
        file.refused.append(line)
        if rng.random() < 0.3:
            file.lines[entry.seq :] = [line]
        before = entry


def _receipt(rng: random.Random, file: File, entry: Entry) -> SignedReceipt | None:
    """No receipt, one under bob's own key, or a genuine one of another entry."""
    match rng.randrange(3):
        case 0:
            made = make_receipt(at=AT, game=entry.game, head=entry.head, seq=entry.seq)
            return SignedReceipt(made, OWN.sign(sshsig.RECEIPT, made.message))
        case 1:
            return rng.choice(file.pair[0].table.lines).receipt
    return None


def _contents(rng: random.Random, table: Table) -> list[entry_kinds.EntryBody]:
    """Bodies of entries, true and false; the seed of the game is among them."""
    seed = rng.choice([table.server_seed, "77" * 32])
    openings = tuple(sorted(rng.sample(table.refereed.openings, min(2, len(table.refereed.openings)))))
    salt = Opening(rng.randrange(20), 0, "A", "ab" * 32)
    return [
        entry_kinds.Resign(),
        entry_kinds.Cancel(),
        entry_kinds.Move("1X", (rng.randbytes(32).hex(),)),
        entry_kinds.Move("-A"),
        entry_kinds.Move("3ABC"),
        entry_kinds.Seed(table.entropy[1]),
        entry_kinds.Seed("ab" * 32),
        entry_kinds.Timeout(rng.randrange(2)),
        entry_kinds.Lapse("expired"),
        entry_kinds.Credit(None, (Outage(AT, "2026-11-20T12:00:01Z", Way.HTTP),)),
        entry_kinds.Credit(gift_of(table, 1, 60), ()),
        entry_kinds.Annul(None, (), rng.randrange(2), (b"1", b"2")),
        entry_kinds.ChanceBody(rng.randrange(2), None),
        entry_kinds.RevealBody(openings),
        entry_kinds.RevealBody((salt,)),
        entry_kinds.End(openings, Outcome("resign", rng.randrange(2)), seed),
        entry_kinds.End((), Outcome("timeout", rng.randrange(2)), rng.choice([seed, None])),
        entry_kinds.Unseal(seed),
        entry_kinds.Join("cd" * 32, table.keys[1].public),
        entry_kinds.Open("cd" * 32, OWN.public),
        entry_kinds.Offer(table.course.setup.terms, table.ruleset, OWN.public),
    ]


def _view(rng: random.Random, file: File) -> None:
    """A view that the service has not signed: a false one under bob's own key, or under another view's signature."""
    true = rng.choice(file.pair[0].views)
    view = true.view
    cards = view.dealt[-1].cards
    false = rng.choice(
        [
            changed(view, seat=1 - view.seat),
            changed(view, seq=rng.randrange(12)),
            changed(view, head=rng.choice(file.pair[0].table.lines).entry.head),
            changed(view, dealt=(*view.dealt[:-1], Dealt(cards[::-1].lower().upper(), view.dealt[-1].round))),
            changed(view, dealt=(*view.dealt[:-1], Dealt(cards[:-1] + "D", view.dealt[-1].round))),
            changed(rng.choice(file.pair[1].views).view, game=view.game),
        ]
    )
    sig = rng.choice(
        [
            true.sig,
            OWN.sign(sshsig.VIEW, false.message),
            file.pair[0].table.keys[1].sign(sshsig.VIEW, false.message),
            rng.choice(file.pair[0].views).sig,
        ]
    )
    made = SignedView(false, sig)
    if rng.random() < 0.5:
        file.views.append(made)
    else:
        file.refused.append(made)


def _head(rng: random.Random, file: File) -> None:
    """A head that the service has not signed: a false one, or a receipt, whose text is the same as that of a head."""
    true = rng.choice(file.pair[0].heads)
    receipts = [line.receipt for line in file.pair[0].table.lines if line.receipt]
    receipt = rng.choice(receipts)
    fields = true.statement._replace(
        **rng.choice(
            [
                {"at": format_time(parse_time(true.statement.at) + rng.choice([1, 121, 10**6]))},
                {"seq": rng.randrange(12)},
                {"head": rng.choice(file.pair[0].table.lines).entry.head},
                {"at": receipt.receipt.at, "seq": receipt.receipt.seq, "head": receipt.receipt.head},
            ]
        )  # type: ignore[arg-type] # fields by name
    )
    false = _made_head(fields)
    sig = rng.choice(
        [
            true.sig,
            receipt.sig,
            OWN.sign(sshsig.HEAD, false.message),
            file.pair[0].table.keys[1].sign(sshsig.HEAD, false.message),
            rng.choice(file.pair[0].heads).sig,
        ]
    )
    made = SignedHead(false, sig)
    if rng.random() < 0.5:
        file.heads.append(made)
    else:
        file.refused.append(made)


def _made_head(fields: HeadStatement) -> HeadStatement:
    return make_head(at=fields.at, game=fields.game, head=fields.head, seq=fields.seq)


def _signature(rng: random.Random, file: File) -> None:
    """A genuine text under another text's genuine signature."""
    one = rng.choice(file.pair[0].table.lines)
    file.refused.append(one._replace(sig=rng.choice(rng.choice(file.pair).table.lines).sig))


Framing = Callable[[random.Random, File], None]
_WAYS: tuple[Framing, ...] = (
    *(_drop, _cut, _order, _refuse, _foreign, _receipts, _receipts),
    *(_own_entry, _own_entry, _own_entry, _view, _view, _head, _head, _signature),
)
