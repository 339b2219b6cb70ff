"""Many letters as files, as they are sent: from random games of both rulesets, in each language.

Each is of one of the kinds that fit a moment of a game, for one of its players, with names of random length. The
standard library reads it back: none of our own code judges it.
"""

from __future__ import annotations

import email
import email.policy
import random
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Final

from hkoji.game.agreement import Agreement
from hkoji.game.course import Stage
from hkoji.game.time_control import parse_time_control
from hkoji.mail.addresses import OwnAddress
from hkoji.mail.letters import LetterHeaders, compose, write_letter
from hkoji.mail.letters.facts import Facts
from hkoji.manual.catalogues import load_speaker
from hkoji.messages.text import LANGUAGES
from hkoji.rules.events import Seat
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.letters import invited_to, letters_of_game, letters_of_invited, letters_of_no_game, seat_of
from tests.support.table import Table

WIDTH: Final = 72
NEVER_CODED: Final = (b"Message-ID", b"In-Reply-To", b"References", b"Reply-To", b"List-")
"""The fields, or what they begin with, in which mail programs do not understand words of RFC 2047."""
_AGREED: Final = Agreement(parse_time_control("3d/14d"), "2026-12-01T12:00:00Z")
_NAME: Final = "abcdefghijklmnopqrstuvwxyz0123456789_-"
_TOKEN: Final = "abcdefghijklmnopqrstuvwxyz234567"
_A_MOMENT: Final = 4
"""How many letters are written about one moment of a game."""


def write_letters(count: int, folder: Path, seed: int) -> list[str]:
    """Writes letters to `folder`, one a file. Returns what is wrong with them."""
    folder.mkdir(parents=True, exist_ok=True)
    chance, wrong = random.Random(seed), list[str]()
    found = _letters(chance)
    for number in range(count):
        kind, raw = next(found)
        name = f"{number:06}-{kind}.eml"
        (folder / name).write_bytes(raw)
        wrong += [f"{name}: {each}" for each in faults(raw)]
    return wrong


def faults(raw: bytes) -> list[str]:
    """Faults in a letter's fields and its columns."""
    message = email.message_from_bytes(raw, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    body = message.get_body(("plain",))
    text = "" if body is None else body.get_content()
    fields = raw.partition(b"\r\n\r\n")[0].split(b"\r\n")
    wrong = [f"a field with =?: {each!r}" for each in fields if each.startswith(NEVER_CODED) and b"=?" in each]
    wrong += [f"over {WIDTH} columns: {each!r}" for each in text.splitlines() if len(each) > WIDTH]
    if not text.strip():
        wrong.append("no text")
    missing = {b"Message-ID", b"Reply-To", b"List-Id", b"List-Unsubscribe"} - {
        each.partition(b":")[0] for each in fields
    }
    return wrong + [f"no field {each.decode()}" for each in sorted(missing)]


def _letters(chance: random.Random) -> Iterator[tuple[str, bytes]]:
    while True:
        ruleset = chance.choice((Hanamikoji("random", 3, "charm"), GeishasRoad("random", "choose")))
        table = Table(ruleset, chance.randrange(10**6), names=_names(chance), agreement=_AGREED).begin()
        while table.course.stage is Stage.PLAY:
            yield from _of_moment(table, chance)
            table.wait(chance.choice((60, 7200, 86400)))
            table.send(table.move(chance.choice(table.course.state.legal_actions())))
        yield from _of_moment(table, chance)


def _names(chance: random.Random) -> tuple[str, str]:
    one, two = ("".join(chance.choices(_NAME, k=chance.choice((1, 5, 31)))) for _ in range(2))
    return f"a{one}", f"b{two}"


def _of_moment(table: Table, chance: random.Random) -> Iterator[tuple[str, bytes]]:
    seat: Seat = chance.choice((0, 1))
    lang = chance.choice([*LANGUAGES])
    name = table.course.setup.names[seat] or ""
    facts = seat_of(table, seat, cards=chance.random() < 0.8)
    fitting: list[tuple[str, Facts]] = [
        *letters_of_game(facts, table.text.encode()),
        *letters_of_no_game(name, facts, lang),
        *letters_of_invited(invited_to(table, name)),
    ]
    for kind, each in chance.sample(fitting, _A_MOMENT):
        letter = write_letter(each, load_speaker(lang))
        yield kind, compose(letter, _headers(kind, table, chance))


def _headers(kind: str, table: Table, chance: random.Random) -> LetterHeaders:
    host = chance.choice(("hkoji.example", "a.very.long.host.of.some.club.of.players.hkoji.example"))
    ours, token = OwnAddress(f"play@{host}"), "".join(chance.choices(_TOKEN, k=26))
    return LetterHeaders(
        to="bob@example.org",
        sender=ours.mailbox,
        reply_to=ours.with_token(token),
        message_id=ours.message_id(kind, chance.randrange(10**6), token),
        at=table.now,
        event=kind,
        stop_url=f"https://{host}/v1/mail/stop/{token}",
        stop_address=ours.with_token(token),
        answer=chance.random() < 0.5,
        in_reply_to=f"<{'x' * chance.choice((5, 60, 150))}@mail.example.org>",
        thread=f"<{table.game[:8]}.game@{host}>",
    )
