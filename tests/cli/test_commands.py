"""Commands: results on stdout, messages on stderr, exit codes, and the texts of errors."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji import errors
from hkoji.cli.batch import _split
from hkoji.cli.output import Exit, encode, exit_code
from hkoji.cli.study import replay
from hkoji.client.kept.game import Vault
from hkoji.errors import HkojiError, UsageError
from tests.support.memory_service import URL, LocalPlayer, MemoryService
from tests.support.shell import Shell, run

ROOT = Path(__file__).parents[2]


def begin(alice: Shell, bob: Shell) -> str:
    game = str(alice("new", "--json").json["game"])
    assert bob("join", game).code == 0
    return game


def legal(player: Shell, game: str) -> list[str]:
    return list(player("show", game, "--json").json["legal"])


# --- what may be typed ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form",
    [
        lambda a: [a], lambda a: [a.lower()], lambda a: ["--", a], lambda a: [a, "--json"], lambda a: ["--json", a],
        lambda a: ["-", *a[1:]], lambda a: ["take", *a[1:]], lambda a: [a[:1] + " " + " ".join(a[1:])],
        lambda a: ["--", a, "--json"][:2], lambda a: ["take " + a[1:].lower()], lambda a: ["--plain", a],
    ],
)  # fmt: skip
def test_an_answer_is_never_taken_for_an_option(alice: Shell, bob: Shell, form: object) -> None:
    game = begin(alice, bob)
    offer = next(action for action in legal(alice, game) if action[0] in "34")
    assert alice("move", game, offer).code == 0
    answer = legal(bob, game)[-1]
    done = bob("move", game, *form(answer))  # type: ignore[operator] # one of the lambdas above
    assert (done.code, done.err) == (0, "")
    log = [json.loads(json.loads(line)["entry"]) for line in bob("log", game).out.splitlines()]
    assert log[-1]["body"] == {"action": answer}


@pytest.mark.parametrize("number", ["1", "2", "3", "4"])
def test_actions_may_be_written_in_many_ways(alice: Shell, bob: Shell, number: str) -> None:
    names = {"1": "secret", "2": "Trade-off", "3": "gift", "4": "compete"}
    for way in range(4):
        game = begin(alice, bob)
        action = next(each for each in legal(alice, game) if each[0] == number)
        words = (
            [action.lower()],
            [number, *action[1:]],
            [names[number], *action[1:].lower()],
            [f"{names[number]} {action[1:]}"],
        )[way]
        done = alice("move", game, *words, "--json")
        assert done.code == 0
        assert done.json["move"]["action"] == action


def test_sign_takes_the_same_notation_and_submit_sends_it(
    alice: Shell, bob: Shell, tmp_path: Path, service: MemoryService
) -> None:
    game = begin(alice, bob)
    action = next(each for each in legal(alice, game) if each[0] == "2")
    signed = alice("sign", game, "trade-off", *action[1:])
    assert signed.code == 0
    assert set(json.loads(signed.out)) == {"entry", "opening", "sig"}
    assert "keep it to yourself" in signed.err
    nobody = LocalPlayer(service, "nobody", tmp_path / "nobody")
    sent = run("submit", "-", "--server", URL, "--json", seat=nobody, stdin=signed.out)
    assert sent.code == 0
    assert set(sent.json) == {"at", "entries", "game", "head", "receipt", "seq", "v"}
    assert (sent.json["game"], sent.json["seq"], sent.json["entries"]) == (game, 5, [5])
    again = run("submit", "-", "--server", URL, "--json", seat=nobody, stdin=signed.out)
    assert again.out == sent.out
    unknown = run("submit", "-", seat=nobody, stdin=signed.out)
    assert unknown.code == Exit.KEY
    offer = bob("move", game, next(each for each in legal(bob, game) if each[0] == "3"))
    assert offer.code == 0
    answer = legal(alice, game)[0]
    assert alice("sign", game, answer).code == 0


# --- shapes -----------------------------------------------------------------------------------------------------------


def test_the_id_of_a_new_game_is_all_that_a_script_reads(alice: Shell) -> None:
    made = alice("new")
    assert re.fullmatch(r"[0-9a-f]{32}\n", made.out)
    assert f"hkoji join {made.out[:8]}\n" in made.err
    assert f"hkoji play {made.out[:8]}\n" in made.err


# --- errors -----------------------------------------------------------------------------------------------------------


def test_every_error_has_an_exit_code_and_the_meaning_is_kept() -> None:
    def every(kind: type[HkojiError]) -> Iterator[type[HkojiError]]:
        yield kind
        for below in kind.__subclasses__():
            yield from every(below)

    codes = {kind: exit_code(kind.__new__(kind)) for kind in every(HkojiError)}
    assert all(code is not Exit.OK for code in codes.values())
    expected = {
        errors.NotationError: 5, errors.IllegalActionError: 5, errors.MalformedError: 5, errors.ConflictError: 6,
        errors.NotYourTurnError: 9, errors.GameOverError: 9, errors.LoginError: 4, errors.ForbiddenError: 4,
        errors.NetworkError: 7, errors.AuditError: 8, errors.TrustError: 8, errors.UsageError: 2,
        errors.NotFoundError: 2, errors.CancelledError: 3, errors.StorageError: 1, errors.ExistsError: 1,
        errors.BotError: 10,
    }  # fmt: skip
    assert {kind: int(codes[kind]) for kind in expected} == expected
    assert {int(code) for code in Exit} == {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 130}


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["move", "GAME", "5AA"], 5, "is not a move"),
        (["move", "GAME", "1H"], 5, "cards are A to G"),
        (["move", "GAME"], 2, "NOTATION"),
        (["show", "zz"], 2, "no game 'zz'"),
        (["show", "GAME", "extra"], 2, "extra"),
        (["show", "GAME", "--colour"], 2, "--colour"),
        (["games", "--status", "lost"], 2, "no status 'lost'"),
        (["new", "--ruleset", "chess"], 2, "no ruleset 'chess'"),
        (["new", "--first", "me"], 2, "first player is one of host"),
        (["new", "--tiebreak", "charm"], 2, "a tie-break needs a limit"),
        (["new", "--invite", "B b"], 2, "'B b' cannot be a name: use 2 to 32 of a-z, 0-9, _ and - (try: b-b)"),
        (["new", "--invite", "alice"], 2, "cannot invite yourself"),
        (["join", "GAME"], 5, "you host this game"),
        (["cancel", "GAME"], 5, "before anyone joins"),
        (["export", "GAME"], 5, "not over yet"),
        (["submit", "/no/such/file"], 1, "cannot read /no/such/file"),
        (["replay", "GAME", "--at", "99"], 2, "no entry 99"),
        (["audit", "GAME", "--key", "alice"], 2, "not NAME=KEY"),
        (["init", "carol"], 1, "exists already"),
        (["register", "--server", "ftp://x"], 2, "is not the address of a server"),
        (["frobnicate"], 2, "frobnicate"),
    ],
)
def test_errors_say_what_failed_and_what_next(
    alice: Shell, bob: Shell, monkeypatch: pytest.MonkeyPatch, words: list[str], code: int, said: str
) -> None:
    game = begin(alice, bob)
    alice("show", game)
    monkeypatch.setenv("HKOJI_HOME", str(alice.seat.path))
    words = [game[:8] if word == "GAME" else word for word in words]
    plain = alice(*words)
    assert (plain.code, plain.out) == (code, "")
    assert said in plain.err
    assert "Traceback" not in plain.err
    told = alice(*words, "--json")
    assert (told.code, told.out) == (code, "")
    assert {"code", "exit_code", "message"} <= set(told.error)
    assert told.error["exit_code"] == code
    assert said in told.error["message"]
    assert told.error["hint"]


def test_an_illegal_move_lists_what_is_legal(alice: Shell, bob: Shell) -> None:
    game = begin(alice, bob)
    moves = legal(alice, game)
    absent = next(f"2{card}{card}" for card in "ABCDEFG" if f"2{card}{card}" not in moves)  # no hand has all pairs
    done = alice("move", game, absent)
    assert done.code == Exit.MOVE
    assert "legal moves look like: 1?  2??  3???  4????" in done.err
    assert f"legal moves include {next(each for each in moves if each[0] == '2')}" in done.err
    assert "nothing was sent" in done.err
    told = alice("move", game, absent, "--json").error
    assert told["shape"] == ["1?", "2??", "3???", "4????"]


def test_not_ones_turn(alice: Shell, bob: Shell) -> None:
    game = begin(alice, bob)
    done = bob("move", game, "1A", "--json")
    assert done.code == Exit.TURN
    assert done.error["actor"] == 0
    assert f"hkoji wait {game[:8]}" in done.error["hint"]


def test_an_audit_that_fails_names_step_entry_and_signer(alice: Shell, bob: Shell, tmp_path: Path) -> None:
    game = begin(alice, bob)
    alice("resign", game, "--yes")
    lines = alice("export", game).out.splitlines()
    line = json.loads(lines[5])
    other = json.loads(lines[1])
    line["sig"] = other["sig"]
    lines[5] = json.dumps(line, sort_keys=True, separators=(",", ":"))
    file = tmp_path / "forged.jsonl"
    file.write_text("".join(f"{each}\n" for each in lines))
    done = run("audit", str(file), "--key", f"alice={alice.seat.path / 'id_ed25519.pub'}")
    assert done.code == Exit.AUDIT
    assert "step 4 (signatures), entry 5" in done.err
    told = run("audit", str(file), "--json")
    assert told.code == Exit.AUDIT
    assert told.json["ok"] is False
    assert told.error["step"] == 4
    assert told.error["seq"] == 5
    wrong = run("audit", str(file), "--key", f"alice={bob('key').out.strip()}")
    assert wrong.code == Exit.AUDIT
    assert "step 3 (keys)" in wrong.err
    file.write_text("no log\n")
    assert run("audit", str(file)).code == Exit.AUDIT
    assert run("audit", "-", stdin="").code == Exit.AUDIT


def test_an_existing_file_wins_over_a_game(
    alice: Shell, bob: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    game, other = begin(alice, bob), begin(alice, bob)
    alice("resign", other, "--yes")
    monkeypatch.chdir(tmp_path)
    (tmp_path / game[:8]).write_text(alice("export", other).out)
    assert alice("replay", game[:8], "--json").json["game"] == other
    (tmp_path / game[:8]).unlink()
    assert alice("replay", game[:8], "--json").json["game"] == game


def test_without_a_terminal_what_cannot_be_taken_back_needs_yes(alice: Shell, bob: Shell) -> None:
    game = begin(alice, bob)
    for words in (["resign", game], ["revoke"], ["recover", "alice", "--server", URL]):
        before = alice("show", game, "--json").json
        alone = [] if words[0] == "recover" else [words, [*words, "--json"]]  # whoever gives a code has confirmed it
        for done in (alice(*each, stdin="y\n") for each in alone):
            assert (done.code, done.out) == (Exit.USAGE, "")
            assert "[y/N]" not in done.err
            assert "give the command with --yes" in done.err
        answer = json.loads(alice("batch", stdin=f"{' '.join(words)}\n").out)
        assert (answer["ok"], answer["error"]["exit_code"]) == (False, Exit.USAGE)
        assert alice("show", game, "--json").json == before
    assert alice("whoami").code == 0
    answer = json.loads(alice("batch", stdin=f"resign {game} --yes\n").out)
    assert answer["result"]["status"] == "finished"


def test_the_host_cannot_join_and_is_told_why(alice: Shell, bob: Shell) -> None:
    game = str(alice("new", "--json").json["game"])
    assert "somebody else has to join it" in alice("join", game).err
    assert bob("join", game).code == 0
    playing = alice("join", game)
    assert (playing.code, "bob has joined it" in playing.err) == (Exit.MOVE, True)
    assert alice("resign", game, "--yes").code == 0
    over = alice("join", game)
    assert (over.code, "is over" in over.err, "somebody else" in over.err) == (Exit.TURN, True, False)
    again = bob("join", game)
    assert (again.code, again.out, "is over" in again.err) == (Exit.TURN, "", True)


def test_the_example_of_a_batch_can_be_copied(alice: Shell) -> None:
    example = next(line for line in run("batch", "--help").out.splitlines() if "Example" in line)
    given = re.search(r"printf '(.*)' \|", example)
    assert given is not None
    done = alice("batch", stdin=given[1].replace("\\n", "\n"))
    assert [json.loads(line)["command"] for line in done.out.splitlines()] == ["next", "show 2714"]
    assert example.strip() in (ROOT / "docs" / "cli.md").read_text()


def test_only_with_force_a_result_replaces_a_file(
    alice: Shell, bob: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "_png", str.encode)  # it draws as long as all else takes here
    game = begin(alice, bob)
    log = tmp_path / "game.jsonl"
    log.write_text(alice("log", game).out)
    ways = {
        "a.jsonl": ["evidence", game, "--output"],
        "b.svg": ["replay", game, "--svg"],
        "c.png": ["replay", game, "--png"],
        "d.svg": ["stats", str(log), "--plot"],
    }
    for name, words in ways.items():
        file = tmp_path / name
        made = alice(*words, str(file))
        assert made.code == 0, made.err
        good = file.read_bytes()
        file.write_bytes(b"mine")
        refused = alice(*words, str(file))
        assert (refused.code, refused.out) == (Exit.FAILURE, "")
        assert "exists already" in refused.err
        assert "--force" in refused.err
        assert file.read_bytes() == b"mine"
        link = tmp_path / f"link-{name}"
        link.symlink_to(file)
        assert alice(*words, str(link)).code == Exit.FAILURE
        assert file.read_bytes() == b"mine"
        assert alice(*words, str(link), "--force").code == 0
        assert file.read_bytes() == good
        assert link.is_symlink()
        missing = alice(*words, str(tmp_path / "nowhere" / name))
        assert (missing.code, missing.err.count("cannot write")) == (Exit.FAILURE, 1)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR)
    assert alice(*ways["a.jsonl"], str(pipe)).code == 0  # nothing is replaced
    assert os.read(reader, 65536) == (tmp_path / "a.jsonl").read_bytes()
    os.close(reader)
    assert (tmp_path / "a.jsonl").stat().st_mode & 0o777 == 0o600
    step = alice("replay", game, "--step", stdin=f"s {tmp_path / 'b.svg'}\n")
    assert "exists already" in step.err
    assert sorted(each.name for each in tmp_path.iterdir() if each.name.startswith(".")) == []


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("\n", 3), ("", 3), ("no\n", 3)])
def test_at_a_terminal_resigning_is_asked_about(alice: Shell, bob: Shell, typed: str, code: int) -> None:
    game = begin(alice, bob)
    done = alice("resign", game, stdin=typed, terminal=True)
    assert done.code == code
    assert "cannot be taken back" in done.err
    assert alice("show", game, "--json").json["status"] == ("finished" if code == 0 else "playing")
    assert alice("resign", game, "--yes", terminal=True).code == (Exit.TURN if code == 0 else 0)


def test_no_secret_is_printed_unasked(alice: Shell, bob: Shell) -> None:
    """Neither entropy, salts, tokens nor the private key are in any output but that of `sign`."""
    game = begin(alice, bob)
    printed = [alice("move", game, next(each for each in legal(alice, game) if each[0] == "2"))]
    printed += [
        alice(*words) for words in (("show", game), ("show", game, "--json"), ("games",), ("whoami",), ("key",))
    ]
    text = "".join(done.out + done.err for done in printed)
    folder = alice.seat.folder(game)
    openings = Vault(folder).openings()
    assert openings
    tokens = json.loads((alice.seat.path / "tokens.json").read_text())
    private = (alice.seat.path / "id_ed25519").read_text().splitlines()[2]
    for secret in (*(each.salt for each in openings), *tokens.values(), private):
        assert secret not in text


# --- batch ------------------------------------------------------------------------------------------------------------


@given(st.text(st.sampled_from("a-1~ !\"'\\#$é\t\v"), max_size=12))
def test_a_line_is_read_like_a_shells(line: str) -> None:
    line = line.strip()
    try:
        wanted = shlex.split(line)
    except ValueError:
        wanted = None
    try:
        words = _split(line)
    except UsageError:
        words = None
    assert words == wanted


def test_a_result_that_is_shown_again_is_written_the_same_and_a_changed_one_anew(alice: Shell, bob: Shell) -> None:
    games = [begin(alice, bob) for _ in range(2)]
    moves = [alice("show", game, "--json").json["legal"][0] for game in games]
    lines = [f"show {game}" for game in (*games, *games)] + [f"move {games[0]} {moves[0]}"]
    lines += [f"show {game}" for game in games]
    answers = alice("batch", stdin="\n".join(lines)).out.splitlines()
    assert all(encode(json.loads(answer)) == answer for answer in answers)
    assert answers[:2] == answers[2:4]
    assert answers[6] == answers[1]
    made, then = (json.loads(answer)["result"] for answer in answers[4:6])
    move = made.pop("move")
    assert made == then
    assert move["seq"] == then["seq"]
    for game, answer in zip(games, answers[5:], strict=True):
        assert json.loads(answer)["result"] == alice("show", game, "--json").json
