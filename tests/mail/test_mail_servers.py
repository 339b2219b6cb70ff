"""The mail servers of tests are those of the machine, or Debian's packages in a layer of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.mail import mail_servers


def test_the_packages_that_are_missing_are_named(tmp_path: Path) -> None:
    """A folder stands for the machine, so that it does not matter which packages this one has."""
    assert mail_servers.missing_packages(tmp_path) == sorted(set(mail_servers.PACKAGES.values()))
    for name, package in mail_servers.PACKAGES.items():
        if package != "dovecot-core":
            place = Path(f"{tmp_path}{name if name.startswith('/') else f'/usr/sbin/{name}'}")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch(mode=0o755)
    assert mail_servers.missing_packages(tmp_path) == ["dovecot-core"]


def test_servers_of_the_machine_need_no_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail_servers, "layer", lambda: None)
    assert mail_servers.command(["dovecot", "-F"]) == ["dovecot", "-F"]


def test_a_program_runs_in_the_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail_servers, "layer", lambda: Path("/venv/layer"))
    words = mail_servers.command(["dovecot", "-F"])
    assert words[:2] == ["unshare", "--mount"]
    assert words[-4:] == ["sh", "/venv/layer", "dovecot", "-F"]
