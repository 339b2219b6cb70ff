"""The page that checks a log: in a real browser, with files and with a game of the service, in words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from hkoji.game import entry_kinds
from tests.support.service import Service, begin, two_players
from tests.support.visits import Faults

GAMES = Path(__file__).parents[1] / "data" / "vectors" / "games"
LOG = (GAMES / "whole.jsonl").read_bytes()
LINES = LOG.splitlines(keepends=True)
EVIDENCE = b'{"evidence":1,"game":"' + b"ab" * 16 + b'","keys":{}}\n' + LOG


def choose(page: Page, data: bytes | Path) -> None:
    """Chooses a file, and waits for what the page says of it."""
    page.evaluate("document.getElementById('result').replaceChildren()")
    file = {"name": "a.jsonl", "mimeType": "application/jsonl", "buffer": data} if isinstance(data, bytes) else data
    page.set_input_files("#file", file)  # type: ignore[arg-type] # by name
    expect(page.locator("#result")).to_have_text(re.compile(r"^(?!Checking …$)\s*\S"))


@pytest.fixture
def checker(service: Service, onlooker: Page) -> Page:
    onlooker.goto(f"{service.url}/check?lang=en")
    expect(onlooker.locator("#file")).to_be_enabled()
    return onlooker


def states(page: Page) -> list[str | None]:
    return [step.get_attribute("data-state") for step in page.locator("[data-step]").all()]


def test_logs_that_hold(checker: Page) -> None:
    sent: list[str] = []
    checker.on("request", lambda request: sent.append(request.url))
    choose(checker, LOG)
    expect(checker.locator("#result")).to_contain_text(f"All {len(LINES)} entries hold.")
    expect(checker.locator("#result")).to_contain_text("Steps 8 and 9, the rules and the result, are not checked here")
    expect(checker.locator("#result")).to_contain_text("alice: SHA256:")
    assert states(checker) == ["holds"] * 7
    choose(checker, (GAMES / "running.jsonl").read_bytes())
    expect(checker.locator("#result")).to_contain_text("entries hold.")
    assert states(checker) == [*["holds"] * 6, "none"]  # there is no deal yet
    assert [url for url in sent if "/static/" not in url] == []  # the files are sent nowhere


def test_a_finding_says_step_entry_and_who(checker: Page) -> None:
    choose(checker, LOG.replace(b'\\"seconds\\"', b'\\"secunds\\"').replace(LINES[7][-20:], b"A" + LINES[7][-19:]))
    expect(checker.locator("#result")).to_contain_text("step 4, entry 7:")
    expect(checker.locator("#result")).to_contain_text(f"7 of {len(LINES)} entries hold.")
    assert states(checker) == [*["holds"] * 3, "fails", *["none"] * 3]


OTHERS = (
    (b"", "This is not the log of a game."),
    (b"\n", "This is not the log of a game."),
    (b"<svg onload='alert(1)'>\n", "This is not the log of a game."),
    (bytes(range(256)) * 12_000, "This is not the log of a game."),
    (b"\n" * 3_000_000, "This is not the log of a game."),
    (b'{"entry":"' + b'\\"' * 1_000_000 + b'","sig":"AAAA"}\n', "This is not the log of a game."),
    (b"[" * 1_000_000 + b"\n", "This is not the log of a game."),
    (EVIDENCE, "This is a file of evidence."),
    (LOG + LOG, "This file has several logs."),
    (LOG[:-1], "the file is cut short"),
)
"""Files that are no log, and what the page says of them."""


def test_another_file_gets_plain_words(checker: Page, tmp_path: Path) -> None:
    for n, (data, said) in enumerate(OTHERS):
        file = tmp_path / f"{n}.jsonl"  # those of some megabytes are dear to send through the driver
        file.write_bytes(data)
        choose(checker, file)
        assert said in checker.locator("#result").inner_text(), data[:20]
        assert checker.locator("#result svg").count() == 0


def test_expected_keys_are_typed_in(checker: Page) -> None:
    choose(checker, LOG)
    checker.locator("details summary").first.click()
    checker.fill("#pins", "alice ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEcnqkEjgsL42egIUYa53vfenGaB5iD1JtBofYXzyHE0 a@b")
    checker.locator("#pins").blur()
    expect(checker.locator("#result")).to_contain_text("step 3, entry 1: the log names another key of alice")
    checker.fill("#pins", "alice")
    checker.locator("#pins").blur()
    expect(checker.locator("#result")).to_have_text("Line 1 of the expected keys is not a name with a key.")


def test_a_game_of_the_service_by_its_address(service: Service, onlooker: Page, faults: Faults) -> None:
    faults.expect("404")
    onlooker.goto(f"{service.url}/check?game={'0' * 32}&lang=it")
    expect(onlooker.locator("#result")).to_have_text("Questo servizio non ha questa partita.")
    host, guest = two_players(service)
    game = begin(host, guest)
    assert host.send(host.entry(game, host.head(game), entry_kinds.Resign())).status == 201
    onlooker.goto(f"{service.url}/g/{game}?lang=en")
    onlooker.get_by_role("link", name="Check it in this browser").click()
    expect(onlooker.locator("#result")).to_contain_text("entries hold.")
    assert states(onlooker) == ["holds"] * 7
    expect(onlooker.locator("#result [data-role=head]")).to_have_text(re.compile("[0-9a-f]{64}"))
