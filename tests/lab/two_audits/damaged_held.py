"""Logs with held keys and logs by link, damaged in many ways.

Anybody who holds all keys could publish these logs: each is chained and signed anew. `OF_HELD` has the sorts of damage.
"""

from __future__ import annotations

import base64
import random
from collections.abc import Callable
from functools import cache
from typing import Any

from hkoji.game import entry_kinds
from hkoji.game.agreement import Agreement
from hkoji.game.clock import Outage, Way
from hkoji.log import sshsig
from hkoji.log.link_key import link_key
from hkoji.log.mail_claim import MailGrade
from hkoji.log.private_key import PrivateKey
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.curve import encode_point, encodings, small_order
from tests.support.drafts import Draft, sign_for_link
from tests.support.table import CODE, Table, held_game
from tests.support.timed_table import MINUTES, TimedTable, later

_ODD: tuple[Any, ...] = ("", "A", "AAAA", "U1NI", 1, None, {}, [], "ssh-ed25519 AAAA", True)


def linked() -> Table:
    """A resigned game that was opened by link, with a new key of the guest."""
    table = Table(Hanamikoji("random", 1, "charm"), 16).open_by_link()
    table.join()
    table.reveal_seeds()
    while table.course.actor == 0:
        table.play(1)
    table.rekey(1)
    table.play(2)
    table.send(table.entry(0, entry_kinds.Resign()))
    return table


def _entries(drafts: list[Draft]) -> list[Draft]:
    return [it for it in drafts if it.linker is not None]


def _another_signature(rng: random.Random, drafts: list[Draft]) -> None:
    """By another key, of another entry, for another purpose, of odd form, or none."""
    it = rng.choice(_entries(drafts))
    holder, name = (it.body["invite"], "sig") if it.kind == "open" else (it.body, "link_sig")
    match rng.randrange(5):
        case 0:
            it.linker = rng.choice([*(each.signer for each in drafts), link_key(CODE[::-1])])
        case 1:
            it.linker = None  # it stays that of the unchanged game
            rng.choice(drafts[:3]).body["ext"] = {"comment": "x"}
        case 2:
            it.linker, holder[name] = None, rng.choice(_ODD)
        case 3:
            other = rng.choice([sshsig.INVITE, sshsig.JOIN, sshsig.ENTRY, sshsig.REKEY, "file"])
            it.linker, holder[name] = None, sign_for_link(link_key(CODE), other, it.value)
        case _:
            it.linker = None
            del holder[name]


def _another_link(rng: random.Random, drafts: list[Draft]) -> None:
    """The invitation names another key, a weak or an odd one, has other keys, or is another one."""
    it, guest = _entries(drafts)
    keys = [each.signer.public.text for each in drafts]
    weak = sorted({*map(encode_point, small_order()), *encodings()})
    other = b"\x00\x00\x00\x0bssh-ed25519\x00\x00\x00\x20" + rng.choice([rng.choice(weak), rng.randbytes(32)])
    match rng.randrange(5):
        case 0:
            it.body["invite"]["link"] = rng.choice([*keys, *_ODD])
        case 1:
            it.body["invite"]["link"] = "ssh-ed25519 " + base64.b64encode(other).decode()
        case 2:
            it.body["invite"][rng.choice(["key", "name", "ext", "links"])] = rng.choice(["bob", None, *keys])
        case 3:
            it.body["invite"] = rng.choice([None, {"key": None, "name": "bob"}, {"sig": "U1NI"}, {"link": keys[0]}, []])
        case _:  # all of it by another code
            new = link_key(CODE[::-1])
            it.body["invite"]["link"], it.linker = new.public.text, new
            guest.linker = rng.choice([new, guest.linker])


def _second_open(rng: random.Random, drafts: list[Draft]) -> None:
    """Somebody else opens the game too, by link or not, before or after the `join`; the first `open` counts."""
    key, new = PrivateKey.from_seed(rng.randbytes(32)), link_key(CODE[::-1])
    first = _entries(drafts)[0]
    invite: dict[str, Any] | None = {"link": new.public.text, "sig": "U1NI"} if rng.random() < 0.7 else None
    body = {**first.body, "invite": invite, "key": key.public.text}
    it = Draft({**first.value, "body": body, "by": "carol"}, key, sshsig.ENTRY, first.service)
    it.linker = new if invite else None
    drafts.insert(rng.choice([1, 2, 2, 3]), it)
    if rng.random() < 0.5:
        _entries(drafts)[-1].linker = new
    if rng.random() < 0.3:
        first.body["invite"], first.linker = None, None
    for seq, each in enumerate(drafts):
        each.value["seq"] = seq


def _signature_of_no_link(rng: random.Random, drafts: list[Draft]) -> None:
    """A `link_sig` in a game that was not opened by link, or where none belongs."""
    it, guest = _entries(drafts)
    if rng.random() < 0.5:
        it.body["invite"], it.linker = rng.choice([None, {"key": None, "name": "bob"}]), None
    else:
        rng.choice(drafts).body["link_sig"] = guest.body["link_sig"]


OF_LINKS: dict[str, Callable[[random.Random, list[Draft]], None]] = {
    "another signature of the link": _another_signature,
    "another link": _another_link,
    "a second open": _second_open,
    "a signature of no link": _signature_of_no_link,
}


STRANGER = PrivateKey.from_seed(b"\x09" * 32)


@cache
def held_tables() -> tuple[Table, ...]:
    """One held seat and two, a delegation, gifts by mail, and a game called off by mail."""
    resigned = held_game(21, GeishasRoad("random", "random"), held=(0,), grade=MailGrade.DKIM).play(6)
    resigned.send(resigned.entry(0, entry_kinds.Resign()))
    return (
        held_game(20, Hanamikoji("random", 1, "charm")).play(),
        resigned,
        held_game(22, held=(0, 1)).play(4),
        delegated(),
        with_gifts(),
        called_off(),
        given_back(),
        out_both_ways(),
    )


def delegated() -> Table:
    """A seat with its own key lets the service sign too; then only it signs again."""
    table = held_game(23, held=()).play(2)
    seat = _actor(table)
    table.delegate(seat, MailGrade.DKIM)
    table.send(table.by_mail(seat, _next_move(table), table.mail(MailGrade.DKIM)))
    while table.course.actor != seat:
        table.play(1)
    table.play(1)
    while table.course.actor != seat:
        table.play(1)
    table.end_delegation(seat)
    return table.play(1)


def with_gifts() -> Table:
    """Each player gives the other time; the guest's key is held."""
    table = TimedTable(Hanamikoji("random", 1, "charm"), 24, agreement=Agreement(MINUTES), held=(1,)).begin()
    for _ in range(4):
        table.give(60)
        table.play(1)
    return table


def called_off() -> Table:
    """A game that both have called off, with the host's key held, and a gift for the entry that was due."""
    table = TimedTable(GeishasRoad(), 25, agreement=Agreement(MINUTES), held=(0,)).begin().play(3)
    return table.give(30).call_off()


def given_back() -> Table:
    """A held key gives way to one of the player's own."""
    table = held_game(26).play(1)
    while table.course.actor != 1:
        table.play(1)
    table.revoke(1)
    table.held = ()
    return table.play(3)


def out_both_ways() -> Table:
    """Outages of both ways, some within a turn of the other way; a gift on both sides of a delegation."""
    table = TimedTable(Hanamikoji("random", 1, "charm"), 27, agreement=Agreement(MINUTES), held=(1,)).begin()
    for number in range(6):
        way = (Way.HTTP, Way.MAIL)[number % 2]
        table.outages = (*table.outages, Outage(later(table.now, 1), later(table.now, 20), way))
        table.wait(10).give(30 + number)
        if _actor(table) == 0 and not table.delegated:
            table.delegate(0)
            table.give(20)
        table.wait(20).play(1)
    return table


def _actor(table: Table) -> int:
    assert table.course.actor is not None
    return table.course.actor


def _next_move(table: Table) -> entry_kinds.EntryBody:
    """A move that hides no cards, so that nothing must be kept for it."""
    state, ruleset = table.course.state, table.ruleset
    actions = (action for action in state.legal_actions() if not ruleset.hidden(action))
    return entry_kinds.Move(next(actions))


# --- damage -----------------------------------------------------------------------------------------------------------


def _certificates(drafts: list[Draft]) -> list[Draft]:
    return [it for it in drafts if isinstance(it.body.get("gateway"), dict)]


def _mailed(drafts: list[Draft]) -> list[Draft]:
    return [it for it in drafts if "mail" in it.body]


def _by_players(drafts: list[Draft]) -> list[Draft]:
    return [it for it in drafts if it.value["by"] != "server"]


def _another_certificate(rng: random.Random, drafts: list[Draft]) -> None:
    """A certificate of another signer, place, mailbox or time, signed for other values; or none."""
    for it in _certificates(drafts)[:1]:
        match rng.randrange(5):
            case 0:
                it.certifier = rng.choice([STRANGER, it.signer])
            case 1:
                it.certifier = None
                it.body["gateway"].update(rng.choice([{"address": "ab" * 32}, {"origin": "http://y"}, {"sig": "U1NI"}]))
            case 2:
                it.certifier = None
                it.body["gateway"]["at"] = rng.choice(["2026-11-20T12:00:01Z", "2026-11-20", 1])
            case 3:
                it.body["gateway"]["key"] = STRANGER.public.text
            case _:
                del it.body["gateway"]


def _certificate_elsewhere(rng: random.Random, drafts: list[Draft]) -> None:
    """A certificate in the entry of somebody else, or in an entry of another kind."""
    found = _certificates(drafts)
    if found:
        gateway = dict(found[0].body["gateway"])
        it = rng.choice([it for it in drafts if it.kind in ("open", "join", "move", "seed")])
        if it.kind in ("open", "join") and rng.random() < 0.7:
            gateway["key"], it.certifier = it.body["key"], found[0].certifier
            it.namespace = rng.choice([it.namespace, sshsig.GATEWAY])
        it.body["gateway"] = gateway


def _without_mail(rng: random.Random, drafts: list[Draft]) -> None:
    """An entry of a held key that names no mail, signed as it was or as players sign."""
    for it in rng.sample(_mailed(drafts), min(1, len(_mailed(drafts)))):
        del it.body["mail"]
        it.namespace = rng.choice([sshsig.ENTRY, sshsig.ENTRY, sshsig.GATEWAY])


def _with_mail(rng: random.Random, drafts: list[Draft]) -> None:
    """A mail in an entry of a key of the player's own, or of the service."""
    it = rng.choice(drafts)
    it.body["mail"] = {"commit": "ab" * 32, "grade": rng.choice(["dkim", "token"])}
    if it.value["by"] != "server" and rng.random() < 0.8:
        it.namespace = sshsig.GATEWAY


def _another_mail(rng: random.Random, drafts: list[Draft]) -> None:
    values: list[Any] = [
        *({"commit": None, "grade": "none"}, {"commit": "ab" * 32, "grade": "none"}, {"commit": None, "grade": "dkim"}),
        *({"commit": "ab" * 32, "grade": "token"}, {"commit": "ab" * 32, "grade": "spf"}, {"grade": "dkim"}),
        *({"commit": "ab" * 32, "grade": "dkim", "more": 1}, {"commit": "AB" * 32, "grade": "dkim"}, None, [], {}, 1),
        *({"commit": "ab" * 32, "grade": 1}, {"commit": 1, "grade": "arc"}),
    ]
    places = [it.body for it in _mailed(drafts)]
    places += [it.body["gift"] for it in drafts if isinstance(it.body.get("gift"), dict)]
    if places:
        rng.choice(places)["mail"] = rng.choice(values)


def _namespaces_exchanged(rng: random.Random, drafts: list[Draft]) -> None:
    it = rng.choice(_by_players(drafts))
    it.namespace = {sshsig.ENTRY: sshsig.GATEWAY, sshsig.GATEWAY: sshsig.ENTRY}[it.namespace]


def _statement_mails(rng: random.Random, drafts: list[Draft]) -> None:
    """A gift or wish that names a mail and should not, or the other way round; signed as it reads then."""
    mail = {"commit": "cd" * 32, "grade": rng.choice(["dkim", "token"])}
    for it in drafts:
        gift = it.body.get("gift")
        if isinstance(gift, dict) and rng.random() < 0.7 and gift.pop("mail", None) is None:
            gift["mail"] = mail
        if it.kind == "annul" and rng.random() < 0.7:
            odd: list[Any] = [None, [], [None, None], [mail], [mail, mail], [None, mail], [mail, 1], {"0": mail}, "x"]
            it.body["mails"] = rng.choice(odd)
            if rng.random() < 0.3:
                del it.body["mails"]


def _another_delegation(rng: random.Random, drafts: list[Draft]) -> None:
    """A delegation with another grade, certificate or author, or one that ends nothing."""
    found = [it for it in drafts if it.kind == "delegate"]
    if not found:
        it = rng.choice(_by_players(drafts))
        it.value["kind"], it.value["body"] = "delegate", {"gateway": None, "grade": None}
        return
    it = rng.choice(found)
    match rng.randrange(4):
        case 0:
            it.body["grade"] = rng.choice(["dkim", "token", "none", None, "arc", 1])
        case 1:
            it.body["gateway"] = rng.choice([None, {}, "x", {**(it.body["gateway"] or {}), "more": 1}])
        case 2:
            other = rng.choice(drafts)
            it.value["by"], it.signer, it.namespace = other.value["by"], other.signer, other.namespace
        case _:
            it.signer, it.namespace = rng.choice(drafts).signer, rng.choice([sshsig.ENTRY, sshsig.GATEWAY])


def _signed_by_the_other_key(rng: random.Random, drafts: list[Draft]) -> None:
    """An own key signs an entry that names a mail, or a held key one that names none."""
    keys = {it.signer for it in _by_players(drafts)}
    it = rng.choice(_by_players(drafts))
    it.signer = rng.choice(sorted(keys, key=lambda key: key.public.raw))


def _another_way(rng: random.Random, drafts: list[Draft]) -> None:
    """An outage of another way, or one that begins or ends at another time."""
    found = [outage for it in drafts for outage in it.body.get("outages") or ()]
    if found:
        it = rng.choice(found)
        for key in rng.choice((["way"], ["way"], ["from"], ["until"], ["way", "from"], ["way", "until"])):
            it[key] = (
                rng.choice(["http", "mail", "post"]) if key == "way" else later(it[key], rng.choice([-11, -1, 1, 9]))
            )


OF_HELD: dict[str, Callable[[random.Random, list[Draft]], None]] = {
    "another certificate": _another_certificate,
    "a certificate elsewhere": _certificate_elsewhere,
    "a mail less": _without_mail,
    "a mail more": _with_mail,
    "another mail": _another_mail,
    "held namespaces exchanged": _namespaces_exchanged,
    "mails of statements": _statement_mails,
    "another delegation": _another_delegation,
    "another way of an outage": _another_way,
    "signed by another key of the game": _signed_by_the_other_key,
}
