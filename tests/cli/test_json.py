"""docs/json.md lists what commands print with `--json`: every command, field and type, compared with real output."""

from __future__ import annotations

import json
import os
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import pytest

from hkoji.cli.app import root_command, whole
from hkoji.cli.games.watch import message_json
from hkoji.cli.output import Exit, error_json, out, versioned
from hkoji.client.news import UnreadMessage
from hkoji.errors import TooManyError
from hkoji.log.line import format_log
from hkoji.mail.mails_file import format_mails
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.docs import JsonPage, read_json_page
from tests.support.forgery import changed_body, entry_number, rewrite
from tests.support.mail.proved_table import proved_game
from tests.support.mail.servers import name_server
from tests.support.receiver import receiver
from tests.support.service import Service, serving
from tests.support.shell import Done, run
from tests.support.table import held_game, new_game, whole_game

ROOT: Final = Path(__file__).parents[2]
GAMES: Final = ROOT / "tests" / "data" / "vectors" / "games"

SPECIFIED: Final = {"log", "export", "evidence", "sign"}
"""Commands whose output has the format of the specification, with its version in signed texts."""

Outputs = dict[str, list[Any]]
"""The printed JSON, by the heading of the page that describes it."""


class Recorder:
    """Runs commands of several players against a service, and keeps what they print."""

    def __init__(self, folder: Path, service: Service) -> None:
        self.folder, self.service = folder, service
        self.outputs: Outputs = defaultdict(list)

    def __call__(
        self, who: str, *words: str, stdin: str = "", title: str = "", code: int | None = 0
    ) -> Any:  # Any: JSON
        """The result of a command with `--json`; None without one. `title` is the page's if it is not the command."""
        done = self.run(who, *words, "--json", stdin=stdin)
        assert code in (None, done.code), done
        for line in done.err.splitlines():
            if line.startswith("{"):
                self.outputs["Errors"].append(json.loads(line))
        if not done.out:
            return None
        lines = [json.loads(line) for line in done.out.splitlines()]
        title = title or next(name for name in (" ".join(words[:2]), words[0]) if name in COMMANDS)
        for value in lines:
            self.outputs[title].extend(value if isinstance(value, list) else [value])
        return lines[-1]

    def run(self, who: str, *words: str, stdin: str = "") -> Done:
        """A command as it is given."""
        environment = {
            "HKOJI_HOME": str(self.folder / who),
            "HKOJI_CONFIG": str(self.folder / "settings.toml"),
            "XDG_STATE_HOME": str(self.folder / "state"),
        }
        with patch.dict(os.environ, environment):
            done = run(*words, stdin=stdin)
        if out.client is not None:
            out.client.close()
        return done


def _commands(command: Any, words: tuple[str, ...] = ()) -> Iterator[str]:  # Any: Typer does not export the type
    """The commands that have `--json`."""
    for name, each in getattr(command, "commands", {}).items():
        yield from _commands(each, (*words, name))
    if any("--json" in each.opts for each in command.params):
        yield " ".join(words)


COMMANDS: Final = frozenset(_commands(root_command(whole())))


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Outputs:
    folder = tmp_path_factory.mktemp("json")
    with serving(
        folder / "data", forked=True, settings={"webhook_private": "true", "mail": "play@hkoji.example"}
    ) as service:
        record = Recorder(folder, service)
        identities(record)
        channels(record)
        mailboxes(record)
        sealed(record)
        game = games(record)
        studies(record, game)
        keys(record)
        operators(record)
    offline(record, game)
    mails(record)
    record.outputs["Errors"].append(versioned({"error": error_json(TooManyError(7))}))  # a service at its limit
    # No player of the games above plays by mail.
    grades = {name: grade.value for name, grade in held_game(1).course.setup.by_mail.items()}
    record.outputs["show"].append({**record.outputs["show"][0], "by_mail": grades})
    return record.outputs


def identities(record: Recorder) -> None:
    for who in ("alice", "bob"):
        record(who, "init", who)
        record(who, "register", "--server", record.service.url)
    record("alice", "whoami")
    record("alice", "key")
    record("alice", "doctor")
    record("nobody", "doctor", code=Exit.FAILURE)
    record("alice", "config")
    record("alice", "config", "lang", "en")
    record("alice", "config", "invites", "known")
    record("alice", "config", "invites", "--unset")
    record("alice", "block", "bob")
    record("alice", "block", "--list", title="block --list")
    record("alice", "block", "bob", "--remove")


def channels(record: Recorder) -> None:
    with receiver() as hook:
        options = ("--events", "turn", "--digest", "08:00", "--quiet", "22:00-07:00", "--zone", "+01:00")
        made = record("alice", "notify", "add", "webhook", f"http://127.0.0.1:{hook.port}/", *options)
        record("alice", "notify", "confirm", made["id"], json.loads(hook.posts[0].body)["code"])
        record("alice", "notify", "test", made["id"])
        with closing(sqlite3.connect(record.service.data / "hkoji.sqlite3")) as connection:
            connection.execute("UPDATE channel SET off = created")
            connection.commit()
        record("alice", "notify", "add", "webhook", f"http://127.0.0.1:{hook.port}/two")
        record("alice", "notify", "list")
        record("alice", "notify", "remove", made["id"])


def sealed(record: Recorder) -> None:
    """A sealed game in which the guest owes a release, and cannot give it."""
    game = record("alice", "new", "--sealed", "--keep-draws", "--invite", "bob")["game"]
    record("bob", "join", game, "--sealed", "--keep-draws")
    record("alice", "show", game)
    gift = next(move for move in record("alice", "show", game)["legal"] if move.startswith("3"))
    record("alice", "move", game, gift)
    record("bob", "move", game, record("bob", "show", game)["legal"][0])
    (record.folder / "alice" / "sealed.key").unlink()
    assert record("bob", "show", game)["due"] == "release"
    record("alice", "release", code=Exit.MOVE)
    record("alice", "resign", game, "--yes")


def games(record: Recorder) -> str:
    """Plays some games; returns one in progress."""
    game = record("alice", "new", "--invite", "bob")["game"]
    record("bob", "next")
    record("bob", "show", game)
    record("bob", "join", game)
    record("alice", "show", game)
    refusals(record, game)
    clocks(record, game)
    for why in ((), ("--why", "later")):
        declined = record("alice", "new", "--invite", "bob")["game"]
        record("bob", "decline", declined, *why)
        record("alice", "watch", declined, "--after", "-1")
    plans(record)
    record("alice", "games")
    record("alice", "games", "--all")
    given_up = record("alice", "new", "--ruleset", "geishas-road")["game"]
    record("bob", "games", "--open")
    record("bob", "join", given_up)
    record("alice", "show", given_up)
    record("bob", "show", given_up)
    record("bob", "show", given_up, "--plain")
    shown = record("alice", "show", given_up)
    mover = "alice" if shown["legal"] else "bob"
    legal = record(mover, "show", given_up)["legal"]
    signed = record.run(mover, "sign", given_up, legal[0])
    record(mover, "submit", "-", stdin=signed.out)
    record("bob", "resign", given_up, "--yes")
    record("alice", "wait", given_up)
    record("alice", "watch", given_up, "--after", "-1")
    record("alice", "watch", given_up, "--after", "-1")
    rematches(record, given_up)
    cancelled = record("alice", "new")["game"]
    record("alice", "cancel", cancelled)
    by_link = record("alice", "new", "--link")
    record("alice", "show", by_link["game"])
    record("bob", "join", by_link["link"])
    record("bob", "keys")
    record("alice", "audit", given_up)
    record("alice", "evidence", given_up, "--output", str(record.folder / "evidence.jsonl"), title="evidence --output")
    record("alice", "replay", given_up)
    lines = (f"show {game}", "games", "nix", "show 0000", "move", "help show", "'", "watch --all", f"log {given_up}")
    done = record.run("alice", "batch", stdin="\n".join(lines))
    record.outputs["batch"].extend(map(json.loads, done.out.splitlines()))
    record.run("alice", "play", "--level", "beginner")
    record.run("alice", "play", "--level", "beginner", stdin="resign\ny\nn\n")
    record.run("alice", "play", "--level", "beginner", "--new")
    record("alice", "play", "--list", title="play --list")
    while not record("alice", "show", game)["legal"]:
        record("bob", "bot", "run", game, "--bot", "random", "--once")
    record.run("alice", "sign", game, record("alice", "show", game)["legal"][0])
    return str(game)


def plans(record: Recorder) -> None:
    """A plan that answers a gift, one that ends, and one that is dropped."""
    game = record("alice", "new")["game"]
    record("bob", "join", game)
    gift = next(each for each in record("alice", "show", game)["legal"] if each[0] == "3")
    record("bob", "plan", game, "-", "--yes", stdin="** : -G -F -E -D -C -B -A 3ABC # any gift\n** : only\n")
    record("bob", "plan", game, "--try", gift, title="plan --try")
    record("bob", "plans", "run")
    record("alice", "move", game, gift)
    record("bob", "plans", "run")
    record("bob", "plan", "--list")
    record("bob", "plans", "run", "--delay", "0")
    record("alice", "plan", game, "-", "--yes", stdin="* : -B -C\n: only", code=Exit.MOVE)
    if legal := record("bob", "show", game)["legal"]:  # else the plan has played 3ABC too
        record("bob", "move", game, legal[0])
    record("bob", "plan", game, "-", "--yes", stdin="** : only\n")
    record("bob", "plan", game, "--drop", title="plan --drop")
    record("bob", "resign", game, "--yes")


def clocks(record: Recorder, game: str) -> None:
    mover, other = ("alice", "bob") if record("alice", "show", game)["legal"] else ("bob", "alice")
    record(mover, "talk", game, "hello")
    record(other, "show", game)
    record.outputs["new message"].append(versioned(message_json(UnreadMessage(game, 1, mover))))
    record(other, "talk", game)
    record(other, "note", game, "a note")
    record(other, "show", game)
    record(mover, "note", game)
    legal = record(mover, "show", game)["legal"]
    record(mover, "move", game, legal[0], "--dry-run", title="move --dry-run")
    record(other, "give", game, "1h")
    record(mover, "clock", game)
    record(mover, "annul", game)
    record(mover, "annul", game, "--withdraw")
    record(mover, "audit", game, "--clock")


def rematches(record: Recorder, game: str) -> None:
    """A rematch, and a series that is decided after two games."""
    record("alice", "rematch", game)
    record("bob", "rematch", game)
    record("alice", "games", "--with", "bob", title="games --with")
    first = record("alice", "new", "--invite", "bob", "--series", "3")["game"]
    record("bob", "join", first)
    record("bob", "resign", first, "--yes")
    second = record("alice", "rematch", first)
    record("bob", "rematch", first)
    record("alice", "show", second["game"])
    record("bob", "resign", second["game"], "--yes")
    record("alice", "games", "--series", second["series"]["id"], title="games --series")
    last = record("alice", "rematch", second["game"])["game"]
    record("alice", "cancel", last)


def refusals(record: Recorder, game: str) -> None:
    """Tries moves that are refused, and makes one."""
    mover, other = ("alice", "bob") if record("alice", "show", game)["legal"] else ("bob", "alice")
    legal = record(mover, "show", game)["legal"]
    record(other, "move", game, legal[0], code=Exit.TURN)
    record(mover, "move", game, "z", code=Exit.MOVE)
    record(
        mover, "move", game, next(f"2{kind * 2}" for kind in "ABCDEFG" if f"2{kind * 2}" not in legal), code=Exit.MOVE
    )
    signed = record.run(mover, "sign", game, legal[0])
    record(mover, "move", game, legal[1])
    record(mover, "submit", "-", stdin=signed.out, code=Exit.CONFLICT)
    record(other, "bot", "run", game, "--bot", "random", "--once")


def studies(record: Recorder, game: str) -> None:
    whole, broken = record.folder / "whole.jsonl", record.folder / "broken.jsonl"
    table = whole_game(1, Hanamikoji("random"))
    whole.write_text(table.text)
    lines = list(table.lines)
    lines[7] = lines[7]._replace(sig=lines[8].sig)
    broken.write_text(format_log(lines))
    copy = record.folder / "copy.jsonl"
    copy.write_text(table.text)
    one, other = (new_game(2, Hanamikoji("random")).play(3) for _ in range(2))
    other.random.seed("another course")
    for name, each in (("one", one), ("other", other)):
        (record.folder / f"{name}.jsonl").write_text(each.play().text)
    files = [str(record.folder / f"{name}.jsonl") for name in ("whole", "copy", "one", "other", "missing")]
    record("alice", "audit", str(whole))
    record("alice", "audit", str(broken), code=Exit.AUDIT)
    broken.write_text(rewrite(table, changed_body(table, entry_number(table, "end"), openings=[])))
    server = table.server.public.text
    record("alice", "audit", str(broken), "--key", f"server={server}", code=Exit.AUDIT)
    record("alice", "audit", *files, code=Exit.AUDIT, title="audit of many logs")
    record("alice", "stats", *files, code=None)
    record("alice", "stats", str(GAMES), code=None)
    record("alice", "replay", str(whole))
    record("alice", "replay", str(whole), "--step", "--eyes", "guest")
    record("alice", "replay", str(GAMES / "road-resigned.jsonl"), "--step")
    record("alice", "replay", str(whole), "--at", "9", "--svg", str(record.folder / "x.svg"), title="replay --svg")
    record("alice", "rules")
    record("alice", "rules", "geishas-road")
    record("alice", "rules", "--list", title="rules --list")
    record("alice", "deck")
    record("alice", "bot", "list")
    record("alice", "arena", "random", "greedy", "--games", "4", "--seed", "x")
    record("alice", "arena", "random", "random", "--games", "2", "--export", str(record.folder / "match"))


def keys(record: Recorder) -> None:
    record("alice", "rekey")
    record("alice", "whoami")
    for who in ("carol", "dave"):
        record(who, "init", who)
        record(who, "register", "--server", record.service.url)
    record("carol", "revoke", "--prepare", title="revoke --prepare")
    record("carol", "revoke", "--yes")
    record("carol", "next", code=Exit.KEY)
    data = ("--data", str(record.service.data))
    made = record("operator", "admin", "revoke", "dave", *data)
    record("dave", "recover", "dave", "--yes", "--server", record.service.url, stdin=made["code"])
    fingerprint = record("alice", "key")["fingerprint"]
    record("bob", "trust", "alice", fingerprint)


def mailboxes(record: Recorder) -> None:
    record("alice", "mail", "on", "alice@example.org")
    shown = record("alice", "mail", "show")
    record("alice", "mail", "off")
    # No game of alice's runs in which the service signs for her too.
    game = {"game": "85" * 32, "opponent": "bob", "grade": "token"}
    record.outputs["mail show"].append({**shown, "games": [game]})


def mails(record: Recorder) -> None:
    table = proved_game(5)
    log, kept = record.folder / "mailed.jsonl", record.folder / "bob.mails"
    log.write_text(table.text)
    kept.write_bytes(format_mails([table.mailbox()]))
    with pytest.MonkeyPatch.context() as patched, name_server({}, patched):
        record("bob", "audit", str(log), "--mails", str(kept), "--dns", code=None)


def operators(record: Recorder) -> None:
    data = ("--data", str(record.service.data))
    copy = record("operator", "admin", "backup", str(record.folder / "copy.sqlite3"), *data)
    record("operator", "admin", "restore", copy["file"], "--data", str(record.folder / "restored"))
    restored = ("--data", str(record.folder / "restored"))
    record("operator", "admin", "invite", *restored)
    listed = record("operator", "admin", "invite", "--list", *restored, title="admin invite --list")
    withdrawn = ("--withdraw", listed[0]["digest"], *restored)
    record("operator", "admin", "invite", *withdrawn, title="admin invite --withdraw")
    settings = record.folder / "service.toml"
    settings.write_text('mail = "play@hkoji.example"\n')
    invited = ("frida", "frida@example.org", "--config", str(settings))
    record("operator", "admin", "mail", "add", *invited, *restored, title="admin mail add")
    for word, more in (("show", ()), ("erase", ("--yes",))):
        record("operator", "admin", "mail", word, "frida", *more, *restored, title=f"admin mail {word}")
    record("operator", "admin", "mail", "queue", *restored, title="admin mail queue")
    record("operator", "admin", "tidy", *restored)
    record("operator", "admin", "outage", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z", *restored)
    record("operator", "admin", "check", *restored, code=None)
    record("operator", "admin", "stats", *restored)
    record("operator", "admin", "vacuum", *restored)
    record("operator", "doctor", *data, code=None)
    (database,) = (record.folder / "restored").glob("*.sqlite3")
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("UPDATE player SET sig = (SELECT sig FROM player WHERE name = 'bob') WHERE name = 'alice'")
        connection.commit()
    record("operator", "admin", "check", *restored, code=Exit.AUDIT)


def offline(record: Recorder, game: str) -> None:
    """The service is down."""
    record("alice", "show", game, code=Exit.NETWORK)
    for words in (("show", game), ("clock", game), ("games",), ("next",)):
        record("alice", *words, "--offline")


@pytest.fixture(scope="module")
def page() -> JsonPage:
    return read_json_page((ROOT / "docs" / "json.md").read_text())


def _anchor(page: JsonPage, command: str) -> str:
    """The shape whose title names a command."""
    (found,) = [anchor for anchor, shape in page.shapes.items() if command in (shape.title, *_named(shape.title))]
    return found


def _named(title: str) -> list[str]:
    return [part.strip("`") for part in title.split(", ") if part.startswith("`")]


def test_every_output_has_the_shape_on_the_page_and_every_field_occurs(outputs: Outputs, page: JsonPage) -> None:
    assert outputs["Errors"]
    for command, values in outputs.items():
        for value in values:
            assert page.problems(value, _anchor(page, command)) == [], command
            assert value["v"] == 1
    assert sorted(page.unseen()) == []


def test_the_page_has_every_command_with_json(page: JsonPage) -> None:
    named = {name for shape in page.shapes.values() for name in _named(shape.title)}
    assert {name.partition(" --")[0] for name in named} == COMMANDS - SPECIFIED | {"evidence"}


def test_every_object_of_a_result_list_and_every_line_of_a_batch_has_the_version(outputs: Outputs) -> None:
    for answer in outputs["batch"]:
        assert answer["v"] == 1
        if isinstance(answer.get("result"), dict):
            assert answer["result"]["v"] == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("show",), "usage"),
        (("show", "x", "--nothing"), "usage"),
        (("nothing",), "usage"),
        (("--lang",), "usage"),
        (("--lang", "xx", "games"), "usage"),
        (("audit", "x", "--jobs", "many"), "usage"),
        (("games",), "login-required"),
        (("bot", "nothing"), "usage"),
        (("help", "nothing"), "usage"),
    ],
)
def test_an_error_is_one_line_of_json(
    words: tuple[str, ...], code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: JsonPage
) -> None:
    monkeypatch.setenv("HKOJI_HOME", str(tmp_path))
    done = run("--json", *words) if words[0] == "--lang" else run(*words, "--json")
    assert done.out == ""
    (line,) = done.err.splitlines()
    value = json.loads(line)
    assert page.problems(value, "errors") == []
    assert (value["v"], value["error"]["code"], value["error"]["exit_code"]) == (1, code, done.code)


def test_an_interruption_is_json_too(page: JsonPage) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    with patch("hkoji.cli.play.rulebook.show_deck", stopped):
        done = run("deck", "--json")
    assert done.code == Exit.INTERRUPTED
    value = json.loads(done.err)
    assert page.problems(value, "errors") == []
    assert value["error"]["code"] == "interrupted"


def test_json_for_another_program_is_not_for_this_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HKOJI_HOME", str(tmp_path))
    done = run("bot", "run", "2714", "--", "program", "--json")
    assert done.err.startswith("hkoji: ")
