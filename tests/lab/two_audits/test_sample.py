"""The shell script of the specification finds what `hkoji audit` finds, and treats a log as data.

A sample; `python -m tests.lab.two_audits.measure` compares the two on any number of logs.
"""

from __future__ import annotations

import itertools
import os
import random
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hkoji.audit.keyring import ExpectedKeys
from hkoji.game import entry_kinds
from hkoji.game.replay import replay
from hkoji.log import sshsig
from hkoji.log.canonical import encode_base64
from hkoji.log.line import parse_log
from hkoji.log.private_key import PrivateKey
from tests.lab.two_audits.damaged_held import STRANGER, delegated, linked
from tests.lab.two_audits.damaged_logs import BYTES, Case, damaged, forged, golden, tables
from tests.support.drafts import Draft, draft, pins, write_log
from tests.support.shell_audit import SCRIPT, by_hkoji, by_script, parsed_by_script, run, tools
from tests.support.table import Table, new_game

__all__ = ["tools"]

NOBODY: ExpectedKeys = {}
WEAK = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA" + "A" * 42


def _differences(logs: list[Case], folder: Path) -> list[str]:
    def compare(number: int) -> str:
        case = logs[number]
        path = folder / f"{number}.jsonl"
        path.write_bytes(case.log)
        script, hkoji = by_script(path, case.pins), by_hkoji(case.log, case.pins)
        return "" if script.agrees(hkoji) else f"{case.name}: the script says {script}, hkoji says {hkoji}"

    with ThreadPoolExecutor(4) as pool:
        return [words for words in pool.map(compare, range(len(logs))) if words]


def test_it_is_short_enough_to_be_read() -> None:
    lines = SCRIPT.read_text(encoding="utf-8").splitlines()
    assert len(lines) < 100
    assert max(map(len, lines)) <= 120


def test_it_agrees_on_damage_that_each_step_finds(tmp_path: Path) -> None:
    """Of each step the shortest log among forty; the times of step 5 have their own sample.

    No key is expected, because a weak one would be unexpected too.
    """
    chosen = {
        "a DEL after": (19, 1),
        "a later version": (19, 1),
        "another chain": (37, 2),
        "a weak key": (19, 3),
        "another signer": (27, 4),
        "another opening": (15, 6),
        "another chance": (9, 7),
    }
    made = [(damaged if name in BYTES else forged)(name, random.Random(seed)) for name, (seed, _) in chosen.items()]
    logs = [Case(case.name, case.log, NOBODY) for case in made]
    found = [by_hkoji(case.log, NOBODY).found for case in logs]
    assert [step for ((step, _), *_) in found] == [step for _, step in chosen.values()]
    assert _differences(logs, tmp_path) == []


def test_an_invite_of_another_type_is_found_also_in_the_last_entry() -> None:
    logs, verdicts = [], []
    for kind, invite in itertools.product(("open", "move"), ("link", 1, True, [], [{"link": 1}], {})):
        drafts = draft(linked())
        number = next(seq for seq, it in enumerate(drafts) if it.kind == kind)
        drafts[number].body["invite"], drafts[number].linker = invite, None
        logs.append(write_log(drafts[: number + 1]))
        verdicts.append(by_hkoji(logs[-1], NOBODY))
        assert verdicts[-1].found == ((1, number),), (kind, invite)
    assert parsed_by_script(logs) == verdicts


def test_a_second_key_that_is_refused_takes_nothing_from_the_first(tmp_path: Path) -> None:
    drafts = draft(tables()[2])
    drafts[2].value["by"] = "server"
    case = Case("a second key of the service", write_log(drafts), pins(tables()[2]))
    assert by_hkoji(case.log, case.pins).found == ((3, 2),)
    assert _differences([case], tmp_path) == []


def test_it_finds_what_is_wrong_where_keys_change(tmp_path: Path) -> None:
    """A proof or revocation by another key, a key out of force, and signatures by the key before or after."""
    rekeyed, revoked = tables()[5], tables()[6]
    stranger = PrivateKey.from_seed(b"\x07" * 32)
    cases_: list[Case] = []

    def case(name: str, table: Table, kind: str, change: Callable[[Draft], None], behind: int = 0) -> None:
        drafts = draft(table)
        number = next(n for n, it in enumerate(drafts) if it.kind == kind)
        change(drafts[number + behind])
        cases_.append(Case(name, write_log(drafts[: number + 2]), pins(table)))

    def proved_by_another(it: Draft) -> None:
        it.prover = stranger

    def revoked_by_another(it: Draft) -> None:
        it.body["revocation"]["sig"] = encode_base64(stranger.sign(sshsig.REVOKE, b"{}\n"))

    def of_another(it: Draft) -> None:
        it.body["old"] = stranger.public.text

    def signed_by_the_new(it: Draft) -> None:
        assert it.prover is not None
        it.signer = it.prover

    old = draft(rekeyed)[next(n for n, it in enumerate(draft(rekeyed)) if it.kind == "rekey")].signer

    def signed_by_the_old(it: Draft) -> None:
        it.signer = old

    for table, kind in ((rekeyed, "rekey"), (revoked, "revoke")):
        case("proved by another", table, kind, proved_by_another)
        case("of another key", table, kind, of_another)
    case("revoked by another", revoked, "revoke", revoked_by_another)
    case("signed by the new key", rekeyed, "rekey", signed_by_the_new)
    case("the next by the old key", rekeyed, "rekey", signed_by_the_old, 1)
    steps = []
    for each in cases_:
        (tmp_path / "log").write_bytes(each.log)
        said = by_script(tmp_path / "log", each.pins)
        assert said.agrees(by_hkoji(each.log, each.pins)), each.name
        steps.append([step for step, _ in said.found])
    assert steps == [[4], [3], [4], [3], [4], [4], [4]]


def test_it_agrees_on_a_game_cut_anywhere(tmp_path: Path) -> None:
    logs = [case for case in golden() if case.name.endswith("of resigned.jsonl")]
    assert len(logs) > 10
    assert _differences(logs[2::12], tmp_path) == []


def resigned() -> Table:
    """A short game of which each step has something to say."""
    table = new_game(1)
    table.send(table.entry(0, entry_kinds.Resign()))
    return table


@pytest.mark.parametrize("table", [resigned(), tables()[4]], ids=["hanamikoji", "geishas-road"])
def test_it_deals_the_cards_that_the_replay_deals(tmp_path: Path, table: Table) -> None:
    path = tmp_path / "game.jsonl"
    path.write_text(table.text)
    done = run(path, pins(table))
    assert done.returncode == 0, done
    course = replay(parse_log(table.text)).course
    assert course is not None
    width = course.setup.ruleset.pack.width
    rounds = [line for line in done.stdout.splitlines() if line.startswith("7 round")]
    assert len(rounds) == len(course.dealt)
    for line, dealt in zip(rounds, course.dealt, strict=True):
        said = line.split("aside ", 1)[1].split(", ")
        hands = dict(words.split(" ") for words in said[1:3])
        first, drawn = said[3].split(" first ")
        names = ("alice", "bob") if first == "alice" else ("bob", "alice")
        draws = [drawn[at : at + width] for at in range(0, len(drawn), width)]
        for name, cards in zip(("alice", "bob"), dealt, strict=True):
            everything = hands[name] + "".join(draws[names.index(name) :: 2])
            assert everything.startswith(cards), (name, line)
        assert len(draws) == 8


def test_the_words_of_a_log_are_never_run_printed_as_a_format_or_expanded(tmp_path: Path) -> None:
    drafts = draft(tables()[2])
    texts = [
        "$(touch pwned)",
        "`touch pwned`",
        "%s%n%99999999d",
        "-n hkoji",
        "; touch pwned #",
        "*",
        "a[$(touch pwned)]",
    ]
    drafts[1].body["ext"] = {"comment": texts}
    for it, text in zip(drafts[5:], texts, strict=False):
        it.body["action"] = text
    log = tmp_path / "log"
    log.write_bytes(write_log(drafts))
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    done = subprocess.run(
        ["bash", str(SCRIPT), str(log)], cwd=folder, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done
    assert not done.stderr
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    "log",
    [
        b"\x00\x00\n",
        b"\x00" * 5000,
        b"\xff\xfe\n",
        b"{}\r\n",
        b"[" * 100_000 + b"\n",
        b'{"entry":' + b'{"a":' * 50_000 + b"\n",
        b'{"entry":"' + b"9" * 2_200_000 + b'","sig":"AAAA"}\n',
        b'{"entry":"' + b'\\"' * 900_000 + b'","sig":"AAAA"}\n',
        b'{"entry":"' + b"[" * 900_000 + b'","sig":"AAAA"}\n',
        b'{"entry":"' + b"9" * 900_000 + b'","sig":"' + b"A" * 1_000_000 + b'"}\n',
        b"a" * 10_000_000,
    ],
    ids=["NULs", "only NULs", "no UTF-8", "CR", "deep", "deeper", "long", "quotes", "nested", "digits", "10 MB"],
)
def test_hostile_bytes_are_a_finding_like_any_other(tmp_path: Path, log: bytes) -> None:
    path = tmp_path / "log"
    path.write_bytes(log)
    script = by_script(path, NOBODY)
    assert script.found == ((1, 0),)
    assert script.agrees(by_hkoji(log, NOBODY))


def test_usage(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(tables()[2].text.encode())
    for arguments in (
        [],
        [tmp_path],
        [tmp_path / "none"],
        [path, "alice"],
        [path, "alice=nothing"],
        [path, f"a={WEAK}"],
    ):
        done = subprocess.run(["bash", SCRIPT, *arguments], capture_output=True, encoding="utf-8", check=False)
        assert done.returncode == 2, done
        assert done.stderr.startswith("audit.sh: ")
        assert not done.stdout
    key = tmp_path / "alice.pub"
    key.write_text(f"{tables()[2].keys[0].public.text} alice@home\n")
    done = subprocess.run(["bash", SCRIPT, path, f"alice={key}"], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done
    assert "alice as expected" in done.stdout


def test_a_tool_that_fails_is_no_audit_and_no_finding(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(resigned().text)
    for tool in ("jq", "openssl", "ssh-keygen", "sha256sum", "cut", "paste", "head", "sort"):
        broken = tmp_path / tool
        broken.mkdir()
        (broken / tool).write_text("#!/bin/sh\necho a reason >&2\nexit 1\n")
        (broken / tool).chmod(0o755)
        path = f"{broken}:{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", SCRIPT, log], env={**os.environ, "PATH": path}, capture_output=True, encoding="utf-8", check=False
        )
        assert done.returncode == 2, (tool, done)
        assert "FINDING" not in done.stdout, (tool, done)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize("name", ["sig", "key", "0", "sums", "hashed", "found", "A1"])
def test_a_temporary_folder_that_is_full_is_no_audit_and_no_finding(tmp_path: Path, name: str) -> None:
    log = tmp_path / "log"
    log.write_text(resigned().text)
    full = tmp_path / "full"
    full.mkdir()
    (full / name).symlink_to("/dev/full")
    (tmp_path / "mktemp").write_text(f"#!/bin/sh\necho {full}\n")
    (tmp_path / "mktemp").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", SCRIPT, log], env=environment, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 2, done
    assert "FINDING" not in done.stdout, done


def test_exported_shell_functions_do_not_replace_tools(tmp_path: Path) -> None:
    """Each of them would show: without the script's precautions one that stays keeps the others."""
    log = tmp_path / "log"
    log.write_bytes(BYTES["the first line twice"](random.Random(1), tables()[2].text.encode()))
    functions = {f"BASH_FUNC_{name}%%": "() { exit 0 ; }" for name in ("jq", "unset", "exit", "compgen")}
    environment = {**os.environ, **functions}
    done = subprocess.run(["bash", SCRIPT, log], env=environment, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 1, done
    assert "2 chain        FINDING at entry 1: it does not follow" in done.stdout


def test_a_tool_that_is_missing_is_no_audit(tmp_path: Path) -> None:
    done = subprocess.run(
        ["/bin/bash", SCRIPT, SCRIPT], env={"PATH": str(tmp_path)}, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 2, done
    assert "jq is missing" in done.stderr


def _delegation(grade: str, key: str, by: str = "") -> list[Draft]:
    """The log of a game up to its delegation, with another grade, key or author."""
    drafts = draft(delegated())
    number = next(seq for seq, it in enumerate(drafts) if it.kind == "delegate")
    it = drafts[number]
    it.body["grade"], it.body["gateway"]["key"] = grade, key
    it.value["by"] = by or it.value["by"]
    return drafts[: number + 1]


@pytest.mark.parametrize(
    ("grade", "step", "status"), [("none", 1, 1), ("arc", 1, 3), ("token", 3, 1)], ids=["form", "later", "weak"]
)
def test_the_form_of_a_delegation_is_judged_before_the_strength_of_its_key(
    grade: str, step: int, status: int, tmp_path: Path
) -> None:
    drafts = _delegation(grade, WEAK)
    case = Case(f"a weak key for mails of grade {grade}", write_log(drafts), NOBODY)
    verdict = by_hkoji(case.log, NOBODY)
    assert (verdict.exit, verdict.found) == (status, ((step, len(drafts) - 1),))
    assert _differences([case], tmp_path) == []


def test_a_delegation_by_somebody_without_a_key_is_audited(tmp_path: Path) -> None:
    drafts = _delegation("token", STRANGER.public.text, by="carol")
    case = Case("a delegation by a stranger", write_log(drafts), NOBODY)
    assert by_hkoji(case.log, NOBODY).found == ((4, len(drafts) - 1),)
    assert _differences([case], tmp_path) == []
