"""Missing parts of the installation: what installs them, for each way in which the program can be installed."""

from __future__ import annotations

import json
import os
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

import hkoji
from hkoji import extras
from hkoji.extras import install_command
from tests.support.shell import run

ROOT = Path(hkoji.__file__).parents[1]


class Installed:
    """A distribution with this record of its source."""

    def __init__(self, record: dict[str, object] | None) -> None:
        self.record = record

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self.record is None else json.dumps(self.record)


@pytest.mark.parametrize(
    ("record", "command"),
    [
        (None, "pip install 'hkoji[server]'"),
        ({"url": "file:///opt/hko%20ji", "dir_info": {}}, "pip install '/opt/hko ji[server]'"),
        ({"url": "file:///opt/hkoji", "dir_info": {"editable": True}}, "pip install -e '/opt/hkoji[server]'"),
        (
            {"url": "https://example/hkoji.git", "vcs_info": {"vcs": "git", "commit_id": "0" * 40}},
            "pip install 'hkoji[server] @ git+https://example/hkoji.git'",
        ),
        ({"url": "https://example/hkoji.whl", "archive_info": {}}, "pip install 'hkoji[server]'"),
    ],
)
def test_the_command_fits_the_installation(
    record: dict[str, object] | None, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "distribution", lambda _: Installed(record))
    assert install_command("server") == command


@pytest.mark.parametrize(
    ("record", "mark", "command"),
    [
        (None, "pipx_metadata.json", "pipx inject hkoji 'hkoji[server]'"),
        ({"url": "file:///opt/hkoji", "dir_info": {}}, "pipx_metadata.json", "pipx inject hkoji '/opt/hkoji[server]'"),
        (None, "uv-receipt.toml", "uv tool install 'hkoji[server]'"),
        (None, "pyvenv.cfg", "pip install 'hkoji[server]'"),
    ],
)
def test_the_command_fits_the_installer(
    record: dict[str, object] | None, mark: str, command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    prefix = tmp_path / "hkoji"
    prefix.mkdir()
    (prefix / mark).write_text("")
    monkeypatch.setattr(extras, "distribution", lambda _: Installed(record))
    monkeypatch.setattr(sys, "prefix", str(prefix))
    assert install_command("server") == command


@pytest.mark.parametrize(
    ("receipt", "wanted"),
    [
        (
            '[tool]\nrequirements = [{ name = "hkoji", extras = ["server", "png"] }, { name = "x", extras = ["y"] }]',
            "mail,png,server",
        ),
        ('[tool]\nrequirements = [{ name = "hkoji", extras = ["mail"], editable = "/opt/hkoji" }]', "mail"),
        ('[tool]\nrequirements = [{ name = "hkoji" }]', "mail"),
        ('[tool]\nrequirements = [{ name = "hkoji", extras = 1 }]', "mail"),
        ('[tool]\nrequirements = ["hkoji"]', "mail"),
        ("tool = 1", "mail"),
        ("]", "mail"),
    ],
)
def test_uv_is_told_also_the_extras_that_it_would_remove(
    receipt: str, wanted: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "uv-receipt.toml").write_text(receipt)
    monkeypatch.setattr(extras, "distribution", lambda _: Installed(None))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert install_command("mail") == f"uv tool install 'hkoji[{wanted}]'"


def test_in_a_clone_the_command_names_the_clone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def missing(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(extras, "distribution", missing)
    monkeypatch.chdir(ROOT)
    assert install_command("png") == "pip install -e '.[png]'"
    monkeypatch.chdir(tmp_path)
    assert install_command("png") == f"pip install -e '{ROOT}[png]'"


def test_errors_name_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: ())
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    log = ROOT / "tests" / "data"
    for words, extra in ((("admin", "stats"), "server"), (("replay", str(a_log(log)), "--png", "x.png"), "png")):
        done = run(*words)
        assert f"install it with: {install_command(extra)}" in done.err
    assert not os.path.exists("x.png")


def a_log(folder: Path) -> Path:
    return next(path for path in sorted(folder.rglob("*.jsonl")) if '\\"kind\\":\\"end\\"' in path.read_text())
