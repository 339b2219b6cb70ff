"""`hkoji config`: settings are kept, taken out and read again; what cannot be kept changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from hkoji.cli.output import Exit
from tests.support.shell import run


def test_settings_are_kept_and_taken_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "a folder" / "settings.toml"
    monkeypatch.setenv("HKOJI_CONFIG", str(file))
    assert run("config", "--json").json["settings"]["lang"] == {"value": None, "from": None, "kept": None}
    assert run("config", "deck", "everdeck").code == 0
    assert run("config", "lang", "it").code == 0
    assert file.read_text() == 'lang = "it"\ndeck = "everdeck"\n'
    assert run("rules").out.startswith("HANAMIKOJI\n\nUn gioco")
    assert run("config", "lang", "--json", "--lang", "en").json["settings"] == {
        "lang": {"value": "en", "from": "option", "kept": "it"}
    }
    assert run("config", "lang", "--unset").code == 0
    assert file.read_text() == 'deck = "everdeck"\n'
    assert run("rules").out.startswith("HANAMIKOJI\n\nA game")


@pytest.mark.parametrize(
    "words",
    [
        ["lang", "fr"],
        ["deck", "tarot"],
        ["deposits", "no"],
        ["colour", "red"],
        ["lang", "it", "--unset"],
        ["--unset"],
        ["colour"],
    ],
)
def test_a_setting_that_cannot_be_kept_is_not(
    words: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('deck = "standard"\n')
    monkeypatch.setenv("HKOJI_CONFIG", str(file))
    assert run("config", *words).code == Exit.USAGE
    assert file.read_text() == 'deck = "standard"\n'


def test_a_player_s_folder_holds_their_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HKOJI_CONFIG")
    monkeypatch.setenv("HKOJI_HOME", str(tmp_path))
    assert run("config", "lang", "it").code == 0
    assert (tmp_path / "settings.toml").read_text() == 'lang = "it"\n'


def test_a_value_of_deposits_that_there_is_not_is_told_by_where_it_stands(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "settings.toml"
    monkeypatch.setenv("HKOJI_CONFIG", str(file))
    typed = run("config", "deposits", "no").err
    assert "deposits can be on or off, not 'no'" in typed
    assert "nothing was changed" in typed
    assert "--unset" not in typed
    file.write_text('deposits = "no"\n')
    kept = run("new", "--sealed").err
    assert f"{file}: deposits can be on or off" in kept
    assert "remove it with `hkoji config deposits --unset`" in kept
