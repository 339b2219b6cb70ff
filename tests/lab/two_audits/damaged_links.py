"""Forges games that are opened by link: what only the holder of all keys, with the code, can publish."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable
from typing import Any

from hkoji.game import entry_kinds
from hkoji.log import sshsig
from hkoji.log.link_key import link_key
from hkoji.log.private_key import PrivateKey
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.curve import encode_point, encodings, small_order
from tests.support.drafts import Draft, sign_for_link
from tests.support.table import CODE, Table

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
