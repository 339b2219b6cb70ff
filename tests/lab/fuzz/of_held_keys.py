"""Target: certificates of held keys, mails of entries and statements, and delegations, in any JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from hkoji.errors import HkojiError, WeakKeyError
from hkoji.game.entry_kinds import parse_body
from hkoji.game.held_keys import certify, read_gateway, verify_gateway
from hkoji.log.canonical import decode, encode
from hkoji.log.game_statements import parse_annul, parse_gift
from hkoji.log.mail_claim import read_mail
from hkoji.log.private_key import PrivateKey
from tests.lab.fuzz.target import Target, chosen, refusals, split_off, text

_SERVER: Final = PrivateKey.from_seed(b"s" * 32)
_HELD: Final = PrivateKey.from_seed(b"h" * 32)
_HEX: Final = "ab" * 32
_GATEWAY: Final = certify(
    _SERVER, address=_HEX, at="2026-11-22T07:00:00Z", key=_HELD.public, name="bob", origin="https://hkoji.example"
)
_KINDS: Final = ("open", "join", "seed", "move", "resign", "cancel", "credit", "annul", "delegate")
_WORDS: Final = (
    *('"mail":', '"gateway":', '"commit":', '"grade":', '"dkim"', '"token"', '"none"', "null", _HEX),
    *('"address":', '"at":', '"key":', '"origin":', '"sig":', '"mails":', _GATEWAY.key.text, "ssh-ed25519 AAAA"),
)


def held(data: bytes) -> None:
    """An accepted value gives the same JSON again, and no other certificate than the true one verifies."""
    number, rest = split_off(data, 12)
    given = text(rest)
    if number >= len(_KINDS):
        for parse in (parse_gift, parse_annul):
            with refusals():
                assert parse(given).text == given
        return
    value: Any = None  # Any: JSON
    with refusals():
        value = decode(given, "value")
    with refusals():
        gateway = read_gateway(value)
        if not isinstance(gateway, WeakKeyError):
            assert gateway.to_json() == value
            _verifies_only_the_true_one(gateway == _GATEWAY, value)
    for none in (True, False):
        with refusals():
            assert read_mail(value, none=none).to_json() == value
    if isinstance(value, dict):
        with refusals():
            body = parse_body(_KINDS[number], value)
            told = {key: each for key, each in value.items() if key != "ext"}
            assert encode(body.to_json()) == encode(told)


def _verifies_only_the_true_one(true: bool, value: Any) -> None:  # Any: JSON
    gateway = read_gateway(value)
    assert not isinstance(gateway, WeakKeyError)
    try:
        verify_gateway(gateway, "bob", _SERVER.public)
    except HkojiError:
        assert not true
    else:
        assert true


def held_seeds() -> Iterator[bytes]:
    """A certificate, mails, and a body and a statement of each kind."""
    mail = {"commit": _HEX, "grade": "token"}
    gateway, key, sig = _GATEWAY.to_json(), _GATEWAY.key.text, "U1NI"
    gift = {"head": _HEX, "mail": mail, "seconds": 60, "sig": sig}
    bodies: dict[str, Any] = {  # Any: JSON
        "open": {"entropy_commit": _HEX, "gateway": gateway, "invite": None, "key": key, "mail": mail},
        "join": {"entropy_commit": _HEX, "gateway": gateway, "key": key, "mail": mail},
        "seed": {"entropy": _HEX, "mail": {"commit": None, "grade": "none"}},
        "move": {"action": "1X", "commit": [_HEX], "mail": mail},
        "resign": {"mail": mail},
        "cancel": {"mail": mail},
        "credit": {"gift": gift, "outages": []},
        "annul": {"gift": gift, "mails": [mail, None], "outages": [], "seat": 0, "sigs": [sig, sig]},
        "delegate": {"gateway": gateway, "grade": "dkim"},
    }
    for value in (gateway, mail):
        yield chosen(0, _text(value))
    for number, kind in enumerate(_KINDS):
        yield chosen(number, _text(bodies[kind]))
    said = {"game": "cd" * 16, "head": _HEX, "mail": mail, "name": "bob", "v": 1}
    for statement in (said, {**said, "seconds": 60}):
        yield chosen(len(_KINDS), _text(statement))


def _text(value: Any) -> bytes:  # Any: JSON
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


TARGETS: Final = (
    Target("mail-certificate", "certificates of held keys, and mails", held, held_seeds, 500_000, 2048, _WORDS),
)
