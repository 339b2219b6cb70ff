"""Traces four ways through the product: `hkoji show`, `hkoji move`, one POST of a move, one mail with a move."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hkoji_server.store.sqlite.writer import SqliteWriter

from hkoji.game.entry_kinds import Invite
from hkoji.log.public_key import parse_public_key
from hkoji.mail import fields as mail_fields
from scripts.rooms.trace import Tracer
from tests.support.mail.assembled import assembled
from tests.support.mail.mailbox_player import MailboxPlayer
from tests.support.mail.post_office import Letter
from tests.support.mail.reading import offered
from tests.support.service import HKOJI, Player, begin, serving, two_players
from tests.support.service_in_process import inside

_MOVES = 2
"""The move that is counted: with the first one some things happen for the first time."""


def _run(home: Path, *words: str, program: tuple[str, ...] = (str(HKOJI),)) -> str:
    environment = {**os.environ, "HKOJI_HOME": str(home)}
    return subprocess.run([*program, *words], env=environment, check=True, capture_output=True, text=True).stdout


def _traced(home: Path, *words: str) -> dict[str, Any]:  # Any: JSON
    target = home.parent / "traced.json"
    _run(home, *words, program=(sys.executable, "-m", "scripts.rooms.trace", str(target)))
    found: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))
    return found


def commands(folder: Path) -> dict[str, dict[str, Any]]:
    """`hkoji show` of a game that the player has looked at before, and `hkoji move` there, with a real service."""
    with serving(folder / "data") as service:
        for name in ("alice", "bob"):
            _run(folder / name, "init", name)
            _run(folder / name, "register", "--server", service.url)
        game = json.loads(_run(folder / "alice", "new", "--json"))["game"]
        _run(folder / "bob", "join", game)
        _run(folder / "alice", "show", game)
        seen = {name: json.loads(_run(folder / name, "show", game, "--json")) for name in ("bob", "alice")}
        actor = next(name for name, position in seen.items() if position["legal"])
        return {
            "show": _traced(folder / actor, "show", game),
            "move": _traced(folder / actor, "move", game, seen[actor]["legal"][0]),
        }


def post(folder: Path) -> dict[str, dict[str, Any]]:
    """A service that takes a move by HTTP. The host has moved before, so that nothing happens for the first time."""
    with Tracer() as tracer, inside(folder / "data") as service:
        host, guest = two_players(service)
        game = begin(host, guest)
        for _ in range(_MOVES):
            player = guest if host.course(game).actor else host
            course = player.course(game)
            submission = player.make_move(course, course.state.legal_actions()[0])
            tracer.begin_again()
            assert player.send(submission).status == 201
        return {"POST": tracer.figures()}


def mail(folder: Path) -> dict[str, dict[str, Any]]:
    """A mail process that takes a mail with a move, obeys it, and hands the answer to the mail server.

    Its write transactions are counted too, and how often a header is split.
    """
    begun: list[str] = []
    split: list[bytes] = []
    split_fields = mail_fields.split_fields
    begin_transaction = SqliteWriter._begin_transaction

    def counted(writer: SqliteWriter, connection: Any) -> None:  # Any: as the writer has it
        begun.append(writer._begin)
        begin_transaction(writer, connection)

    def parsed(header: bytes) -> list[bytes]:
        split.append(header)
        return split_fields(header)

    counting = patch.object(SqliteWriter, "_begin_transaction", counted)
    parsing = patch.object(mail_fields, "split_fields", parsed)
    with counting, parsing, Tracer() as tracer, assembled(folder / "data") as world:
        alice, bob = Player(world.service, "alice").register(), MailboxPlayer(world.mailbox("bob@example.org"))
        world.add("bob", "bob@example.org")
        world.settle()
        bob.answer(bob.next_letter(0), "accept")
        world.settle()
        key = world.service.ask("GET", "/v1/players/bob").json["key"]
        game = alice.new(None, Invite("bob", parse_public_key(key)))
        world.settle()
        bob.answer(Letter(bob.mailbox.received()[-1]), "accept")
        world.settle()
        alice.seed(game)
        moves = 0
        while True:
            while (course := alice.course(game)).actor == 0:
                assert alice.send(alice.make_move(course, course.state.legal_actions()[0])).status == 201
            world.settle()
            letter = Letter(bob.mailbox.received()[-1])
            tracer.begin_again()
            begun.clear()
            split.clear()
            bob.answer(letter, offered(letter)[0])
            world.settle()
            moves += 1
            if moves == _MOVES:
                return {"mail": {**tracer.figures(), "write transactions": len(begun), "parses": len(split)}}


def ways() -> dict[str, dict[str, Any]]:
    """All of them by name: files entered, changes from one file to another, and which files."""
    found: dict[str, dict[str, Any]] = {}
    for way in (commands, post, mail):
        with tempfile.TemporaryDirectory() as folder:
            found |= way(Path(folder))
    return found
