"""The judgement of the laboratory of mail finds what is wrong, and its players read letters rightly."""

from __future__ import annotations

import copy
import itertools
import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.lab.mail.kept import lost_or_doubled
from tests.lab.mail.play import Transcript, faults_of
from tests.support.mail.post_office import Letter
from tests.support.mail.reading import LetterReader, offered

MAIL = {"commit": "41d2", "grade": "token"}
ENTRIES: list[dict[str, Any]] = [  # Any: JSON
    {"seq": 0, "kind": "offer", "by": "server", "body": {}},
    {"seq": 1, "kind": "open", "by": "alice", "body": {}},
    {"seq": 2, "kind": "join", "by": "bob", "body": {"gateway": {}, "mail": MAIL}},
    {"seq": 3, "kind": "seed", "by": "bob", "body": {"mail": {"commit": None, "grade": "none"}}},
    {"seq": 4, "kind": "seed", "by": "alice", "body": {}},
    {"seq": 5, "kind": "move", "by": "bob", "body": {"mail": {**MAIL, "commit": "52e3"}}},
    {"seq": 6, "kind": "move", "by": "alice", "body": {}},
    {"seq": 7, "kind": "end", "by": "server", "body": {}},
]
LETTER = """\
Subject: x
Message-ID: <turn.1@hkoji.example>

It is your turn.
----------------
On the table:
  D3   alice 2, you 0
To trade off B and C, write:
  2bc
To take D and E, write:
  take de
Other words:  show  rules
  stop (no more letters)
"""


def test_a_good_game_has_no_faults() -> None:
    assert faults_of(ENTRIES, {"alice": {"token"}, "bob": {"token"}}) == []


@pytest.mark.parametrize(
    ("seq", "body", "fault"),
    [
        (5, {}, "it lacks the field mail"),
        (6, {"mail": MAIL}, "it has the field mail"),
        (5, {"mail": {"commit": None, "grade": "none"}}, "the grade is none"),
        (3, {"mail": {**MAIL, "commit": "1"}}, "the grade is token"),
        (5, {"mail": MAIL}, "behind two entries"),
        (2, {"mail": MAIL}, "no seat is held"),
    ],
)
def test_a_wrong_entry_is_a_fault(seq: int, body: dict[str, Any], fault: str) -> None:  # Any: JSON
    changed = copy.deepcopy(ENTRIES)
    changed[seq]["body"] = body
    assert any(fault in each for each in faults_of(changed, {"alice": {"token"}, "bob": {"token"}}))


@pytest.mark.parametrize(("dropped", "fault"), [(7, "no end"), (6, "only {'bob'}")])
def test_a_missing_entry_is_a_fault(dropped: int, fault: str) -> None:
    assert any(
        fault in each
        for each in faults_of(ENTRIES[:dropped] + ENTRIES[dropped + 1 :], {"alice": {"token"}, "bob": {"token"}})
    )


def database(folder: Path, ids: list[tuple[str, str]], behind: list[str]) -> None:
    with closing(sqlite3.connect(folder / "hkoji.sqlite3")) as made, made:
        made.execute("CREATE TABLE incoming (number INTEGER, name TEXT, message_id TEXT, state TEXT, result TEXT)")
        made.execute("CREATE TABLE evidence (raw BLOB)")
        made.executemany("INSERT INTO incoming VALUES (1, 'bob', ?, ?, '')", ids)
        made.executemany(
            "INSERT INTO evidence VALUES (?)", [(f"Message-ID: {each}\r\n\r\n".encode(),) for each in behind]
        )


def test_lost_waiting_and_doubled_mails_are_found(tmp_path: Path) -> None:
    database(tmp_path, [("<1>", "done"), ("<2>", "new"), ("<3>", "done"), ("<3>", "done")], ["<1>", "<3>", "<3>"])
    assert lost_or_doubled(tmp_path, ["<1>", "<2>", "<3>", "<4>"]) == [
        "<3> was kept 2 times",
        "<4> was kept 0 times",
        "<2> of bob is new: ",
        "<3> is behind 2 entries",
    ]


def test_a_player_finds_what_can_be_written() -> None:
    assert offered(Letter(LETTER.encode())) == ["2bc", "take de"]


def test_a_player_writes_what_is_offered_and_asks_once_for_all_moves() -> None:
    letter = Letter(LETTER.encode())
    reader = LetterReader("it", random.Random(3), slips=0)
    written = [line for _ in range(200) for line in reader.answer_to(letter)]
    assert set(written) == {"2bc", "take de", "mosse"}
    assert not any(pair == ("mosse", "mosse") for pair in itertools.pairwise(written))
    assert reader.answer_to(Letter(b"Subject: x\n\nThe game is over.\n")) == ()


def test_wide_lines_and_encoded_ids_are_noted() -> None:
    said = Transcript(printed=False)
    said.letter("bob", Letter(LETTER.replace("\n", "\r\n").encode()))
    assert said.wrong == []
    wide = LETTER + "x" * 73 + "\n"
    encoded = wide.replace("<turn.1@hkoji.example>", "\n =?utf-8?q?=3Cturn=2E1?=")
    said.letter("bob", Letter(encoded.replace("\n", "\r\n").encode()))
    assert [each.partition(":")[0] for each in said.wrong] == ["a line of 73 columns", "encoded"]
