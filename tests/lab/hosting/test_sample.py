"""The example files of docs/hosting.md use settings that exist, and agree with each other."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
import tomllib
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]
from hkoji_server.mail_settings import MailDelimiter, SmtpTls, read_imap, read_smtp
from hkoji_server.settings import PREFIX, Settings, load

from hkoji.mail.fields import LONGEST_MAIL
from tests.lab.hosting import followed_guide

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "hosting"
GUIDE = (ROOT / "docs" / "hosting.md").read_text()


def unit(name: str) -> dict[str, list[str]]:
    """A unit's settings in [Service]."""
    lines = (EXAMPLES / name).read_text().partition("[Service]")[2].partition("\n[")[0].splitlines()
    found: dict[str, list[str]] = {}
    for line in lines:
        if "=" in line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


def test_the_settings_file_is_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{PREFIX}CONFIG", "")
    settings = load(EXAMPLES / "service.toml")
    assert settings.model_fields_set == set(tomllib.loads((EXAMPLES / "service.toml").read_text()))
    assert settings.data == Path("/var/lib/hkoji")
    proxied = f"{settings.host}:{settings.port}"
    assert f"server {proxied};" in (EXAMPLES / "nginx.conf").read_text()
    assert f"reverse_proxy {proxied} " in (EXAMPLES / "Caddyfile").read_text()
    assert proxied in GUIDE
    assert settings.host in settings.trusted_proxy
    assert settings.metrics
    assert settings.metrics.startswith("127.0.0.1:")
    size = re.search(r"client_max_body_size (\d+)k;", (EXAMPLES / "nginx.conf").read_text())
    assert size
    assert int(size[1]) * 1024 >= settings.max_body  # the service's own answer is the better one


def test_the_lines_for_a_mailbox_at_a_provider_are_understood(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(f"{PREFIX}CONFIG", "")
    lines = (EXAMPLES / "mailbox.toml").read_text()
    (tmp_path / "both.toml").write_text((EXAMPLES / "service.toml").read_text() + lines)
    settings = load(tmp_path / "both.toml")
    assert read_smtp(settings.mail_smtp).tls is SmtpTls.IMPLICIT
    assert settings.mail_imap
    assert read_imap(settings.mail_imap).tls
    assert settings.mail_imap_password_file == settings.mail_smtp_password_file == Path("/etc/hkoji/mailbox")
    (tmp_path / "both.toml").write_text(re.sub("^# (mail_delimiter)", r"\1", lines, flags=re.MULTILINE))
    assert load(tmp_path / "both.toml").mail_delimiter is MailDelimiter.NONE


def test_the_container_sets_what_can_be_set() -> None:
    text = (EXAMPLES / "Containerfile").read_text()
    named = {name.lower() for name in re.findall(rf"{PREFIX}([A-Z_]+)", text)}
    assert {"data", "host", "port", "origin", "trusted_proxy"} <= named
    assert named <= set(Settings.model_fields)
    for copied in re.findall(r"^COPY (.+) \S+$", text, re.MULTILINE):
        assert all((ROOT / each).exists() for each in copied.split())


def test_compose_runs_the_service_and_the_mail_process_on_one_volume(monkeypatch: pytest.MonkeyPatch) -> None:
    made = yaml.safe_load((EXAMPLES / "compose.yaml").read_text())
    serve, mail = made["services"]["serve"], made["services"]["mail"]
    assert (EXAMPLES / serve["build"]["context"]).resolve() == ROOT
    assert (ROOT / serve["build"]["dockerfile"]).is_file()
    assert serve["image"] == mail["image"]
    assert serve["volumes"] == mail["volumes"] == ["data:/data", "/var/backups/hkoji:/backups"]
    assert "data" in made["volumes"]
    assert mail["depends_on"] == {"serve": {"condition": "service_healthy"}}
    container = dict(re.findall(rf"({PREFIX}\w+)=(\S+)", (EXAMPLES / "Containerfile").read_text()))
    assert serve["ports"] == [f"127.0.0.1:8000:{container[f'{PREFIX}PORT']}"]
    # The bounds are those of the unit.
    bounds = unit("hkoji-mail.service")
    assert ([f"{mail['mem_limit']}".upper()], [f"{mail['cpus']:.0%}"]) == (bounds["MemoryMax"], bounds["CPUQuota"])
    closed = {
        "ProtectSystem": ["strict"],
        "CapabilityBoundingSet": [""],
        "NoNewPrivileges": ["yes"],
        "PrivateTmp": ["yes"],
    }
    assert closed.items() <= bounds.items()
    assert isinstance(serve["healthcheck"]["test"], str)  # podman-compose 1.3 breaks the quotes of a list
    for service in (serve, mail):
        assert service["read_only"] is True
        assert (service["cap_drop"], service["security_opt"]) == (["ALL"], ["no-new-privileges"])
        assert service["tmpfs"] == ["/tmp"]  # the supervisor has its socket there
        with monkeypatch.context() as patch:
            for name, value in {**container, **service["environment"]}.items():
                patch.setenv(name, str(value))
            settings = load()
        assert settings.data == Path("/data")
        assert settings.mail == "club@example.org"
        named = {name.removeprefix(PREFIX).lower() for name in service["environment"]}
        assert named <= settings.model_fields_set
    gateway = made["networks"]["hkoji"]["ipam"]["config"][0]["gateway"]
    assert serve["environment"][f"{PREFIX}TRUSTED_PROXY"] == gateway
    files = {str(value) for name, value in mail["environment"].items() if name.endswith("PASSWORD_FILE")}
    assert files == {f"/run/secrets/{name}" for name in mail["secrets"]} == {"/run/secrets/password"}
    assert made["secrets"]["password"] == {"file": "/etc/hkoji/mailbox"}


def test_the_unit_runs_what_is_told_to_systemd() -> None:
    service = unit("hkoji.service")
    assert service["Type"] == ["notify"]  # see `tell_systemd` in the service
    assert service["KillMode"] == ["mixed"]  # the supervisor stops its workers itself
    assert service["ExecStart"] == ["/opt/hkoji/bin/hkoji serve --config /etc/hkoji/service.toml"]
    assert service["UMask"] == ["0077"]
    assert unit("hkoji-backup.service")["ExecStart"] == [
        "/opt/hkoji/bin/hkoji admin backup /var/backups/hkoji --data /var/lib/hkoji"
    ]


def test_the_unit_of_mail_is_bounded_and_starts_after_the_service() -> None:
    mail = unit("hkoji-mail.service")
    assert mail["ExecStart"] == ["/opt/hkoji/bin/hkoji admin mail run --config /etc/hkoji/service.toml"]
    assert (mail["MemoryMax"], mail["CPUQuota"], mail["Type"]) == (["512M"], ["50%"], ["notify"])
    bounds = {"MemoryMax", "CPUQuota", "ExecStart", "Description", "After", "Wants", "KillMode", "LimitNOFILE"}
    service = unit("hkoji.service")
    assert {name: mail[name] for name in mail if name not in bounds} == {
        name: service[name] for name in service if name not in bounds
    }


def main_cf() -> dict[str, str]:
    lines = re.sub(r"^#.*\n", "", (EXAMPLES / "postfix-main.cf").read_text(), flags=re.MULTILINE)
    return dict(re.findall(r"^(\w+) = (.*)$", lines, re.MULTILINE))


def test_postfix_gives_the_mail_of_the_domain_to_the_service_and_letters_to_opendkim() -> None:
    lines = main_cf()
    assert "hanamikoji.example" not in lines["mydestination"].split(",")  # else it looks for mailboxes of its own
    assert lines["relay_domains"] == lines["myhostname"].removeprefix("mail.") == "hanamikoji.example"
    assert int(lines["message_size_limit"]) > LONGEST_MAIL
    assert lines["relay_transport"] == f"lmtp:inet:{Settings.model_fields['mail_lmtp'].default}"
    host, port = lines["smtpd_milters"].removeprefix("inet:").split(":")
    assert re.search(rf"^Socket +inet:{port}@{host}$", (EXAMPLES / "opendkim.conf").read_text(), re.MULTILINE)


def test_the_laboratory_reads_the_page() -> None:
    mail = followed_guide.section("Mail")
    commands = followed_guide.commands(mail)
    assert [
        each for each in re.findall(r"^ *((?:sudo|hkoji admin) .*)$", mail, re.MULTILINE) if each not in commands
    ] == []
    assert "0 letters wait to be sent" in followed_guide.printed(mail)
    assert [row[1] for row in followed_guide.rows(mail)] == ["A", "MX", "TXT", "TXT", "TXT"]
    assert followed_guide.packages(commands[0]) == ["postfix", "opendkim", "opendkim-tools"]
    container = followed_guide.section("A container")
    inside = re.findall(r"^ *(sudo .*)$", container, re.MULTILINE)
    assert inside == followed_guide.commands(container)
    assert sum(each.endswith("compose build") for each in inside) == 1
    with pytest.raises(LookupError):
        followed_guide.section("No such heading")


@pytest.mark.skipif(shutil.which("find") is None, reason="needs find")
def test_old_copies_and_what_a_killed_one_has_left_are_removed(tmp_path: Path) -> None:
    days = {
        "hkoji-1.sqlite3": 29,
        "hkoji-2.sqlite3": 32,
        ".hkoji-3.sqlite3.77.part": 0,
        ".hkoji-4.sqlite3.77.part": 3,
        ".hkoji-4.sqlite3.77.part-wal": 3,
        "notes": 99,
    }
    for name, age in days.items():
        (tmp_path / name).touch()
        then = time.time() - age * 86_400
        os.utime(tmp_path / name, (then, then))
    for line in unit("hkoji-backup.service")["ExecStartPost"]:
        subprocess.run(line.replace("/usr/bin/find /var/backups/hkoji", f"find {tmp_path}").split(), check=True)
    assert {path.name for path in tmp_path.iterdir()} == {"hkoji-1.sqlite3", ".hkoji-3.sqlite3.77.part", "notes"}


def test_every_example_is_in_the_guide_and_the_other_way_round() -> None:
    named = set(re.findall(r"examples/hosting/([\w.-]+)", GUIDE))
    assert named | {"service.toml"} == {path.name for path in EXAMPLES.iterdir()}
    for name in re.findall(
        r"`(max_\w+|limit_\w+|request_timeout|keep_alive|log_\w+|metrics|workers|trusted_proxy)`", GUIDE
    ):
        assert name in Settings.model_fields, name
