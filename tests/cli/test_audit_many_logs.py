"""`hkoji audit` of many logs reports each once and in order, and names faults and contradictions between logs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hkoji import referee
from hkoji.audit.evidence_file import EvidenceFile, format_evidence
from hkoji.audit.log_audit import audit
from hkoji.cli.audit import command, many_logs
from hkoji.cli.files import LogBytes, UnreadableLog, split
from hkoji.cli.long_work import map_in_processes
from hkoji.cli.output import Exit
from hkoji.game.agreement import Agreement, TimeControl
from hkoji.game.clock import Outage, Way
from hkoji.log import sshsig
from hkoji.log.line import MAX_LINE_BYTES, SignedReceipt, format_log, make_receipt
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.forgery import later_receipt
from tests.support.shell import Done, run
from tests.support.table import Table, new_game, whole_game

ROW, ROAD = Hanamikoji("random"), GeishasRoad("random")
VECTORS = Path(__file__).parents[1] / "data" / "vectors"
DEAL = "9bf9c4c1d6a24a0c8d0d7bd5fb2c1e77"


@pytest.fixture(scope="module")
def games() -> list[Table]:
    return [whole_game(seed, ROAD if seed % 3 == 0 else ROW) for seed in range(8)]


@pytest.fixture
def folder(games: list[Table], tmp_path: Path) -> Path:
    """Eight games in two folders."""
    top = tmp_path / "games"
    (top / "below").mkdir(parents=True)
    for number, game in enumerate(games):
        (top / ("below" if number % 2 else ".") / f"{number}.jsonl").write_text(game.text)
    (top / "notes.txt").write_text("no log\n")
    return top


def told(done: Done) -> tuple[list[Any], Any]:
    """The JSON of each log, and the summary."""
    *each, last = map(json.loads, done.out.splitlines())
    return each, last["summary"]


def outage_and_entry(seed: int) -> tuple[Table, Table]:
    """A game whose log credits an outage, and one of the same service with an entry in that outage."""
    outage = Outage("2026-11-20T12:00:05Z", "2026-11-20T12:00:15Z", Way.HTTP)
    credited = Table(seed=seed, agreement=Agreement(TimeControl(600, 0, 0, 0))).begin()
    move = credited.move(credited.course.state.legal_actions()[0])
    late = "2026-11-20T12:00:20Z"
    credited.lines += referee.accept(credited.refereed, move, signer=credited.server, at=late, outages=(outage,)).lines
    other = Table(seed=-seed, host_key=credited.server).begin()
    other.send(other.move(other.course.state.legal_actions()[0]), outage.begin)
    return credited, other


def fork_of(seed: int, moves: int = 3) -> tuple[Table, Table]:
    """One game, which its service continues in two ways after so many moves."""
    one, other = (new_game(seed, ROW).play(moves) for _ in range(2))
    other.random.seed("another course")
    return one.play(), other.play()


def damaged(game: Table, number: int) -> str:
    """The log with the signature of one entry put under another."""
    lines = list(game.lines)
    lines[number] = lines[number]._replace(sig=lines[number + 1].sig)
    return format_log(lines)


# --- all of it, once, in order ----------------------------------------------------------------------------------------


def test_every_log_of_a_folder_is_told_as_it_would_be_alone(folder: Path) -> None:
    done = run("audit", str(folder), "--json")
    assert (done.code, done.err) == (0, "")
    logs, summary = told(done)
    files = [*sorted(folder.glob("*.jsonl")), *sorted((folder / "below").glob("*.jsonl"))]
    assert [(log["file"], log["line"]) for log in logs] == [(str(file), 1) for file in files]
    for log in logs:
        alone = run("audit", log["file"], "--json").json
        assert {**alone, "file": log["file"], "line": 1} == log
    entries = sum(len(file.read_text().splitlines()) for file in files)
    assert summary == {
        **dict.fromkeys(("running", "broken", "not_understood", "repeated", "contradictions", "unreadable"), 0),
        "ok": True,
        "logs": 8,
        "finished": 8,
        "entries": entries,
        "holds": entries,
        "unpinned": 8,
        "interrupted": False,
    }


def test_it_does_not_matter_in_how_many_processes(folder: Path, games: list[Table]) -> None:
    (folder / "broken.jsonl").write_text(damaged(games[0], 7))
    (folder / "several.jsonl").write_text("".join(whole_game(seed).text for seed in range(20, 60)))
    (folder / "again.jsonl").write_text(games[5].text)
    for form in ((), ("--json",)):
        one, two = (run("audit", str(folder), str(folder / "no"), *form, "--jobs", jobs) for jobs in ("1", "2"))
        assert one == two
        assert one.code == Exit.AUDIT
    assert told(two)[1]["logs"] == 49
    assert told(two)[1]["repeated"] == 1


def test_logs_may_follow_one_another_in_a_file_or_on_standard_input(folder: Path) -> None:
    files = sorted(folder.rglob("*.jsonl"))
    texts = [file.read_text() for file in files]
    together, expected = "".join(texts), told(run("audit", *map(str, files), "--json"))
    (folder / "all").write_text(together)
    starts = [1 + sum(text.count("\n") for text in texts[:number]) for number in range(len(texts))]
    for done in (
        run("audit", str(folder / "all"), "--json"),
        run("audit", "-", "--json", stdin=together),
        run("audit", "-", "--json", "--jobs", "2", stdin=together),
    ):
        assert done.code == 0
        logs, summary = told(done)
        assert summary == expected[1]
        assert [log["line"] for log in logs] == starts
        assert [{**log, "file": "", "line": 1} for log in logs] == [{**log, "file": ""} for log in expected[0]]
    mixed = run("audit", str(files[0]), "-", str(files[1]), "--json", "--jobs", "2", stdin=texts[2])
    assert [log["file"] for log in told(mixed)[0]] == [str(files[0]), "-", str(files[1])]


def test_a_log_is_told_once(folder: Path, games: list[Table]) -> None:
    """As the same bytes, without its receipts, or cut after a line: it contains nothing new."""
    extra = folder / "z"
    extra.mkdir()
    (extra / "copy.jsonl").write_text(games[0].text)
    (extra / "bare.jsonl").write_text(format_log(games[0].lines, receipts=False))
    (extra / "cut.jsonl").write_text(format_log(games[0].lines[:9]))
    done = run("audit", str(folder), str(folder / "0.jsonl"), "--json")
    assert done.code == 0
    logs, summary = told(done)
    assert (summary["logs"], summary["repeated"]) == (8, 4)
    repeats = [Path(log["file"]).name for log in logs if "repeats" in log]
    assert repeats == ["bare.jsonl", "copy.jsonl", "cut.jsonl", "0.jsonl"]
    assert {log["repeats"]["file"] for log in logs if "repeats" in log} == {str(folder / "0.jsonl")}
    # In the other order the longer log has news, and no contradiction.
    grown = told(run("audit", str(extra / "cut.jsonl"), str(folder / "0.jsonl"), "--json"))[1]
    assert (grown["running"], grown["finished"], grown["repeated"], grown["contradictions"]) == (1, 1, 0, 0)


# --- what is wrong ----------------------------------------------------------------------------------------------------


def test_a_log_that_does_not_hold_is_named_with_the_reason_and_the_rest_goes_on(
    folder: Path, games: list[Table]
) -> None:
    (folder / "1-cut.jsonl").write_text(whole_game(30).text[:-9])
    (folder / "1-empty.jsonl").write_text("")
    (folder / "1-forged.jsonl").write_text(damaged(whole_game(31), 8))
    (folder / "1-running.jsonl").write_text(new_game(32, ROAD).play(5).text)
    (folder / "1-strange.jsonl").write_text("no log\n")
    done = run("audit", str(folder), "--json")
    assert done.code == Exit.AUDIT
    assert '"exit_code": 8' in done.err
    logs = {Path(log["file"]).stem: log for log in told(done)[0]}
    assert {name: log["ok"] for name, log in logs.items()} == {
        **{str(number): True for number in range(len(games))},
        "1-cut": False,
        "1-empty": False,
        "1-forged": False,
        "1-running": True,
        "1-strange": False,
    }
    cut = logs["1-cut"]
    assert (cut["holds"], cut["findings"][0]["name"]) == (cut["entries"] - 1, "parse")
    assert (logs["1-forged"]["holds"], logs["1-forged"]["findings"][0]["name"]) == (8, "signatures")
    assert not logs["1-running"]["finished"]
    summary = told(done)[1]
    assert (summary["finished"], summary["running"], summary["broken"], summary["ok"]) == (8, 1, 4, False)
    shown = run("audit", str(folder))
    assert shown.code == Exit.AUDIT
    assert f"{folder / '1-cut.jsonl'}: {cut['holds']} of {cut['entries']} entries hold: step 1 (parse)" in shown.out
    assert "it does not end in LF: the file is cut short" in shown.out
    assert f"{folder / '1-forged.jsonl'}: 8 of " in shown.out
    assert f"{folder / '1-running.jsonl'}: all " in shown.out
    assert "the game is still running" in shown.out
    assert str(folder / "0.jsonl") not in shown.out
    assert "4 logs do not hold" in shown.err


def test_a_signer_whose_word_is_broken_is_named(tmp_path: Path) -> None:
    """The service gives a receipt with a time before that of the last."""
    game = whole_game(3, ROW)
    lines = list(game.lines)
    entry = lines[9].entry
    early = make_receipt(at="2026-11-20T11:59:59Z", game=entry.game, head=entry.head, seq=entry.seq)
    lines[9] = lines[9]._replace(receipt=SignedReceipt(early, game.server.sign(sshsig.RECEIPT, early.message)))
    (tmp_path / "a.jsonl").write_text(format_log(lines))
    (tmp_path / "b.jsonl").write_text(whole_game(4).text)
    pin = f"server={game.server.public.text}"
    done = run("audit", str(tmp_path / "a.jsonl"), str(tmp_path / "missing"), "--key", pin)
    assert "step 5 (times), entry 9: server: the receipt's time 2026-11-20T11:59:59Z is before" in done.out
    (finding,) = told(run("audit", str(tmp_path), "--json"))[0][0]["findings"]
    assert finding["signer"] == f"server with the unpinned key {game.server.public.fingerprint}"
    unpinned = {"fingerprint": game.server.public.fingerprint, "pinned": False, "vouched": False, "held": False}
    assert finding["signers"] == [{"name": "server", **unpinned}]


def test_a_log_that_cannot_be_read_is_named_and_is_no_finding(folder: Path) -> None:
    done = run("audit", str(folder), str(folder / "missing"), "--json")
    assert done.code == Exit.FAILURE
    logs, summary = told(done)
    assert logs[-1] == {
        "v": 1,
        "file": str(folder / "missing"),
        "line": None,
        "ok": False,
        "read": False,
        "reason": "No such file or directory",
    }
    assert (summary["unreadable"], summary["broken"], summary["finished"], summary["ok"]) == (1, 0, 8, False)
    assert f"{folder / 'missing'}: No such file or directory" in run("audit", str(folder), str(folder / "missing")).out
    (folder / "bad.jsonl").write_text("no log\n")
    assert run("audit", str(folder), str(folder / "missing")).code == Exit.AUDIT


def test_no_log_is_no_success(tmp_path: Path) -> None:
    done = run("audit", str(tmp_path))
    assert done.code == Exit.FAILURE
    assert "there is no log to audit" in done.err
    assert told(run("audit", str(tmp_path), "--json"))[1]["ok"] is False


# --- against one another ----------------------------------------------------------------------------------------------


def test_a_fork_is_found_and_names_the_service(folder: Path) -> None:
    one, other = fork_of(70)
    (folder / "a.jsonl").write_text(one.text)
    (folder / "below" / "z.jsonl").write_text(other.text)
    pin = f"server={one.server.public.text}"
    for words in ((), ("--jobs", "2")):
        done = run("audit", str(folder / "a.jsonl"), str(folder / "below" / "z.jsonl"), "--key", pin, "--json", *words)
        assert done.code == Exit.AUDIT
        logs, summary = told(done)
        assert all(log["ok"] for log in logs[:2])
        (found,) = logs[2:]
        assert (found["contradiction"], found["game"], found["signer"]) == ("fork", one.game, "server")
        (signer,) = found["signers"]
        assert (signer["fingerprint"], signer["pinned"]) == (one.server.public.fingerprint, True)
        assert [Path(log["file"]).name for log in found["logs"]] == ["a.jsonl", "z.jsonl"]
        assert (summary["contradictions"], summary["broken"], summary["ok"]) == (1, 0, False)
    shown = run("audit", str(folder))
    assert shown.code == Exit.AUDIT
    line = next(line for line in shown.out.splitlines() if " against " in line)
    assert line.startswith(f"{folder / 'a.jsonl'} against {folder / 'below' / 'z.jsonl'}: server with the unpinned key")
    assert "1 contradiction between logs" in shown.err


@pytest.mark.parametrize("first", ["credit", "entry"])
def test_an_entry_in_a_credited_outage_is_found_in_any_order_and_names_the_service(tmp_path: Path, first: str) -> None:
    credited, other = outage_and_entry(73)
    tables = (credited, other) if first == "credit" else (other, credited)
    for name, table in zip("az", tables, strict=True):
        (tmp_path / f"{name}.jsonl").write_text(format_log(table.lines))
    done = run("audit", str(tmp_path), "--key", f"server={other.server.public.text}", "--json")
    assert done.code == Exit.AUDIT
    logs, summary = told(done)
    assert all(log["ok"] for log in logs[:2])
    (found,) = logs[2:]
    assert (found["contradiction"], found["game"], found["entry"]) == ("outage", other.game, 5)
    assert found["signer"] == "server"
    assert [Path(log["file"]).name for log in found["logs"]] == ["a.jsonl", "z.jsonl"]
    assert (summary["contradictions"], summary["broken"], summary["ok"]) == (1, 0, False)


def test_an_outage_of_another_service_is_nobody_s(tmp_path: Path) -> None:
    credited, _ = outage_and_entry(74)
    _, other = outage_and_entry(75)
    for name, table in (("a", credited), ("z", other)):
        (tmp_path / f"{name}.jsonl").write_text(format_log(table.lines))
    assert run("audit", str(tmp_path)).code == Exit.OK


def test_a_fork_is_told_once_and_with_receipts_if_there_are_any(tmp_path: Path) -> None:
    one, other = fork_of(71)
    texts = {
        "1": format_log(one.lines, receipts=False),
        "2": other.text,
        "3": other.text,
        "4": format_log(other.lines[:-1]),
        "5": one.text,
        "6": format_log(one.lines[:-1]),
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.jsonl").write_text(text)
    logs = told(run("audit", str(tmp_path), "--json"))[0]
    found = [
        ([Path(place["file"]).stem for place in log["logs"]], log["signer"] is not None)
        for log in logs
        if "contradiction" in log
    ]
    # Without receipts nobody is convicted; the log that has them convicts.
    assert found == [(["1", "2"], False), (["2", "5"], True)]


def test_two_receipts_of_one_entry_are_found_and_told_once(tmp_path: Path) -> None:
    """Regardless of the number of copies of either, and of where they end."""
    table = new_game(73, ROW).play(3)
    late = format_log(later_receipt(table))
    texts = {
        "1": format_log(table.lines[:-1]),
        "2": table.text,
        "3": late,
        "4": format_log(table.lines, receipts=False),
        "5": late,
        "6": table.play(1).text,
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.jsonl").write_text(text)
    logs, summary = told(run("audit", str(tmp_path), "--key", f"server={table.server.public.text}", "--json"))
    (found,) = [log for log in logs if "contradiction" in log]
    assert [Path(place["file"]).stem for place in found["logs"]] == ["2", "3"]
    assert (found["contradiction"], found["entry"], found["signer"]) == ("receipt", late.count("\n") - 1, "server")
    assert [Path(log["file"]).stem for log in logs if "repeats" in log] == ["4", "5"]
    assert (summary["contradictions"], summary["broken"], summary["repeated"], summary["ok"]) == (1, 0, 2, False)


def test_a_log_that_goes_on_without_receipts_brings_no_news_of_a_fork(tmp_path: Path) -> None:
    one, other = fork_of(72)
    (tmp_path / "1.jsonl").write_text(format_log(one.lines[:-1]))
    (tmp_path / "2.jsonl").write_text(other.text)
    (tmp_path / "3.jsonl").write_text(format_log(one.lines, receipts=False))
    logs, summary = told(run("audit", str(tmp_path), "--json"))
    (found,) = (log for log in logs if "contradiction" in log)
    assert [Path(place["file"]).stem for place in found["logs"]] == ["1", "2"]
    assert (found["signer"] is not None, summary["logs"], summary["repeated"]) == (True, 3, 0)


def test_two_seeds_for_one_deal_are_found(tmp_path: Path) -> None:
    """Two tables of one deal, of two games, each flawless, with different cards."""

    class Elsewhere(Table):
        """The same service offers another game."""

        def bytes(self, count: int) -> bytes:
            return bytes(reversed(super().bytes(count))) if count == 16 else super().bytes(count)

    one = Table(ROW, 5, (DEAL, "1" * 64)).begin().play().unseal()
    for seed, fine in (("1", True), ("2", False)):
        other = Elsewhere(ROW, 5, (DEAL, seed * 64)).begin().play().unseal()
        assert other.game != one.game
        assert other.server.public == one.server.public
        (tmp_path / "one.jsonl").write_text(one.text)
        (tmp_path / "other.jsonl").write_text(other.text)
        done = run("audit", str(tmp_path), "--json", "--key", f"server={one.server.public.text}")
        logs, summary = told(done)
        assert (summary["finished"], summary["contradictions"]) == (2, 0 if fine else 1)
        assert done.code == (0 if fine else Exit.AUDIT)
    assert (logs[2]["contradiction"], logs[2]["signer"]) == ("deal", "server")
    assert DEAL in logs[2]["reason"]


def test_logs_of_a_later_version_have_an_exit_code_of_their_own(tmp_path: Path) -> None:
    """Unless another log is at fault."""
    logs = {each["what"]: each["log"] for each in json.loads((VECTORS / "logs.json").read_text())["logs"]}
    (tmp_path / "good.jsonl").write_text(whole_game(1).text)
    (tmp_path / "later.jsonl").write_text(logs["the kind 'offer2'"])
    done = run("audit", str(tmp_path), "--json")
    summary = told(done)[1]
    assert (summary["broken"], summary["not_understood"], summary["ok"]) == (1, 1, False)
    assert (done.code, done.error["code"], done.error["exit_code"]) == (3, "not-understood", 3)
    assert "1 log is not understood" in run("audit", str(tmp_path)).err
    (tmp_path / "forged.jsonl").write_text(logs["the kind 'offEr'"])
    done = run("audit", str(tmp_path), "--json")
    assert (done.code, told(done)[1]["not_understood"]) == (Exit.AUDIT, 1)
    alone = run("audit", str(tmp_path / "later.jsonl"), "--json")
    assert (alone.code, alone.error["code"], alone.error["step"], alone.error["seq"]) == (3, "not-understood", 1, 5)


# --- keys -------------------------------------------------------------------------------------------------------------


def test_keys_of_a_file_hold_for_all_logs(tmp_path: Path) -> None:
    folder = tmp_path / "match"
    assert run("arena", "random", "greedy", "--games", "4", "--seed", "5", "--export", str(folder)).code == 0
    done = run("audit", str(folder), "--keys", str(folder / "keys.txt"), "--json")
    logs, summary = told(done)
    assert (done.code, summary["finished"], summary["unpinned"]) == (0, 4, 0)
    assert all(party["pinned"] for log in logs for party in log["parties"])
    assert "not expected" not in run("audit", str(folder), "--keys", str(folder / "keys.txt")).out
    assert "4 logs have keys that were not expected" in run("audit", str(folder)).out
    single = run("audit", logs[0]["file"], "--keys", str(folder / "keys.txt"), "--json")
    assert all(party["pinned"] for party in single.json["parties"])
    other = tmp_path / "other.txt"
    other.write_text(f"# not the one\n\nserver {whole_game(1).server.public.text}\n")
    wrong = run("audit", str(folder), "--keys", str(other), "--json")
    assert wrong.code == Exit.AUDIT
    assert {log["findings"][0]["name"] for log in told(wrong)[0]} == {"keys"}


KEY = whole_game(1).keys[0].public.text


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ("", "there is no key in"),
        ("# nothing\n", "there is no key in"),
        (f"alice {KEY}\nbob\n", "line 2: a line has three words"),
        (f"alice {KEY} alice@home\n", "line 1: a line has three words"),
        (f'alice namespaces="x" {KEY}\n', "line 1: a line has three words"),
        (f"Alice {KEY}\n", "line 1: 'Alice' is not a player's name"),
        (f"alice={KEY}\n", "is not a player's name"),
        ("alice ssh-rsa AAAA\n", "line 1: malformed key"),
        ("\n\nalice ssh-ed25519 AAAA\n", "line 3: malformed key"),
    ],
)
def test_a_file_of_keys_is_read_strictly(folder: Path, tmp_path: Path, held: str, said: str) -> None:
    keys = tmp_path / "keys.txt"
    keys.write_text(held)
    done = run("audit", str(folder), "--keys", str(keys), "--json")
    assert (done.code, done.out) == (Exit.USAGE, "")
    assert said in done.error["message"]
    assert done.error["hint"]


def test_a_file_of_keys_must_be_there(folder: Path, tmp_path: Path) -> None:
    missing = run("audit", str(folder), "--keys", str(tmp_path / "missing"))
    assert missing.code == Exit.FAILURE
    assert "cannot read" in missing.err


def test_of_several_keys_for_a_name_any_is_expected(folder: Path, games: list[Table], tmp_path: Path) -> None:
    log, keys = str(folder / "0.jsonl"), tmp_path / "keys.txt"
    own, other = games[0].keys[0].public.text, games[1].keys[0].public.text
    keys.write_text(f"alice {other}\n")
    assert run("audit", log, "--keys", str(keys)).code == Exit.AUDIT
    for given in ([f"alice={own}"], [f"alice={other}", f"alice={own}"]):
        arguments = [word for key in given for word in ("--key", key)]
        done = run("audit", log, "--keys", str(keys), *arguments, "--json")
        assert done.code == 0
        (alice,) = [party for party in json.loads(done.out)["parties"] if party["name"] == "alice"]
        assert (alice["pinned"], alice["since"], alice["vouched"]) == (True, 1, False)


# --- how it is told ---------------------------------------------------------------------------------------------------


def test_the_bar_is_for_a_terminal_and_results_stay_on_standard_output(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    (folder / "1-running.jsonl").write_text(new_game(32).play(5).text)
    quiet = run("audit", str(folder))
    assert quiet.err == ""
    seen = run("audit", str(folder), terminal=True)
    assert "━" in seen.err or "\x1b[" in seen.err
    assert run("audit", str(folder), "--plain", terminal=True).err == ""
    assert run("audit", str(folder), "--json", terminal=True).out == run("audit", str(folder), "--json").out


def test_in_a_batch_there_is_the_summary(folder: Path) -> None:
    done = run("batch", stdin=f"audit {folder}\naudit {folder} -\n")
    first, second = map(json.loads, done.out.splitlines())
    assert first["ok"]
    assert first["result"]["summary"]["finished"] == 8
    assert second["error"]["exit_code"] == Exit.USAGE


def test_usage() -> None:
    assert run("audit").code == Exit.USAGE
    assert run("audit", "-", "-").code == Exit.USAGE
    assert run("audit", "x", "y", "--jobs", "0").code == Exit.USAGE


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or os.name != "posix", reason="sends a signal")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupt_gives_what_there_is(tmp_path: Path, jobs: str) -> None:
    for seed in range(120):  # more than are read ahead
        (tmp_path / f"{seed:03}.jsonl").write_text(new_game(seed).text)
    pipe = tmp_path / "999.jsonl"  # the last file never ends
    os.mkfifo(pipe)
    words = [str(Path(sys.executable).with_name("hkoji")), "audit", str(tmp_path), "--json", "--jobs", jobs]
    with subprocess.Popen(
        words, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = json.loads(process.stdout.readline())
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to every process
        rest, said = process.stdout.read(), process.stderr.read()
    assert process.returncode == Exit.INTERRUPTED
    *logs, last = map(json.loads, rest.splitlines())
    summary = last["summary"]
    assert first["ok"]
    assert summary["interrupted"]
    assert not summary["ok"]
    assert summary["logs"] == 1 + len(logs)
    assert "Interrupted" in said
    assert "Traceback" not in said


# --- where one log ends -----------------------------------------------------------------------------------------------


class _Endless:
    """A stream that never ends, and counts what was read."""

    def __init__(self, start: bytes, line: bytes) -> None:
        self.start, self.line, self.given = start.splitlines(keepends=True), line, 0

    def readline(self, size: int) -> bytes:
        line = (self.start.pop(0) if self.start else self.line)[:size]
        self.given += len(line)
        return line


def test_of_an_endless_stream_no_more_is_held_than_a_log_may_have() -> None:
    text = whole_game(1).text.encode()
    stream = _Endless(text, b"x" * 1000 + b"\n")
    first, second = split(stream, "endless", 10**6), split(_Endless(text, b"x" * 10**8), "long")  # type: ignore[arg-type] # a stream as far as it is read
    assert [type(each) for each in first] == [UnreadableLog]
    assert stream.given < 2 * 10**6
    (log,) = second
    assert isinstance(log, LogBytes)
    assert len(log.text) < len(text) + 2 * MAX_LINE_BYTES
    result = audit(log.text)
    assert result.holds == text.count(b"\n")
    assert "it is longer than" in result.findings[0].reason


def test_a_line_that_cannot_be_read_ends_only_its_own_log(tmp_path: Path) -> None:
    one, other = whole_game(1), whole_game(2)
    file = tmp_path / "both"
    file.write_bytes(format_log(one.lines[:5]).encode() + b"\xff\n\n" + other.text.encode())
    logs, summary = told(run("audit", str(file), "--json"))
    assert [(log["line"], log["ok"], log["holds"]) for log in logs] == [(1, False, 5), (8, True, len(other.lines))]
    assert summary["broken"] == 1


def test_an_entry_begins_a_log_by_its_own_number_alone() -> None:
    """Openings, receipts and extensions of a body have numbers as well."""
    for seed in range(12):
        text = whole_game(seed, ROAD if seed % 2 else ROW).text.encode()
        for start in (text, format_log(whole_game(seed).lines, receipts=False).encode()):
            (log,) = split(_Ended(start), "one")  # type: ignore[arg-type] # a stream as far as it is read
            assert isinstance(log, LogBytes)
            assert log.text == start


@pytest.mark.parametrize("receipts", [True, False])
def test_a_line_that_repeats_the_one_before_it_begins_no_log(tmp_path: Path, *, receipts: bool) -> None:
    first, *others = format_log(whole_game(1).lines, receipts=receipts).splitlines(keepends=True)
    for times in (2, 3):
        file = tmp_path / "doubled"
        file.write_text(first * times + "".join(others))
        done = run("audit", str(file), "--json")
        assert done.code == Exit.AUDIT
        (log,) = map(json.loads, done.out.splitlines())
        assert (log["ok"], log["holds"]) == (False, 1)
        assert [(each["step"], each["entry"]) for each in log["findings"]] == [(2, 1)]
    file.write_text(whole_game(2).text + first * 2)
    logs, _ = told(run("audit", str(file), "--json"))
    assert [(log["ok"], log["entries"]) for log in logs] == [(True, len(whole_game(2).lines)), (False, 2)]


def test_a_file_of_evidence_with_two_headers_is_refused(tmp_path: Path) -> None:
    table = whole_game(1)
    text = format_evidence(EvidenceFile(table.game, {}, table.text))
    header, _ = text.split("\n", 1)
    file = tmp_path / "evidence"
    file.write_text(text)
    assert run("audit", str(file), "--json").code == Exit.OK
    file.write_text(f"{header}\n{text}")
    done = run("audit", str(file), "--json")
    assert done.code == Exit.AUDIT
    (log,) = map(json.loads, done.out.splitlines())
    assert not log["ok"]


class _Ended(_Endless):
    """A stream with only its start."""

    def __init__(self, start: bytes) -> None:
        super().__init__(start, b"")


def test_other_processes_audit_only_if_there_is_enough_for_them(
    games: list[Table], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[int] = []

    def noted(groups: Any, work: Any, jobs: int, *, here: Any) -> Any:  # Any: passed on as they come
        used.append(jobs)
        return map_in_processes(groups, work, jobs, here=here)

    monkeypatch.setattr(many_logs, "map_in_processes", noted)
    monkeypatch.setattr(command, "processors", lambda: 2)
    for number, table in enumerate(games):
        (tmp_path / f"{number}.jsonl").write_text(table.text)
    few = told(run("audit", str(tmp_path), "--json"))[1]
    assert (few["logs"], used) == (8, [])
    (tmp_path / "8.jsonl").write_text(whole_game(8).text)
    for options, jobs in (((), [2]), (("--jobs", "1"), []), (("--jobs", "3"), [3])):
        used.clear()
        many = told(run("audit", str(tmp_path), *options, "--json"))[1]
        assert (many["logs"], many["ok"], used) == (9, True, jobs)
