"""Settings: arguments override the environment, which overrides the file; errors name a setting and never quote it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hkoji_server import settings
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.settings import Settings, load, parse_bind

from hkoji.errors import StorageError, UsageError
from hkoji.messages.text import Text
from hkoji.processors import processors
from hkoji.service_url import parse_url


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HKOJI_SERVER_CONFIG", "")  # the fixture restores it after the test, even if `load` changes it
    path = tmp_path / "service.toml"
    path.write_text('port = 1\nworkers = 3\nlog_level = "info"\ntrusted_proxy = ["10.0.0.0/8", "::1"]\n')
    return path


def test_argument_before_environment_before_file_before_default(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HKOJI_SERVER_PORT", "2")
    monkeypatch.setenv("HKOJI_SERVER_WORKERS", "4")
    found = load(file, port=5, workers=None)
    assert (found.port, found.workers, found.log_level, found.max_body) == (5, 4, "info", 16_384)
    assert found.trusted_proxy == ("10.0.0.0/8", "::1")
    assert load(None).workers == 4  # `load` has set the variable with the file's path, for processes started from here


def test_a_list_in_the_environment_is_separated_by_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HKOJI_SERVER_TRUSTED_PROXY", "10.0.0.1, 2001:db8::/32")
    assert load().trusted_proxy == ("10.0.0.1", "2001:db8::/32")


def test_auto_is_a_process_for_each_processor_that_this_one_may_use(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load(workers="auto").workers == min(processors(), 128)
    for count, workers in ((1, 1), (6, 6), (500, 128)):
        monkeypatch.setattr(settings, "processors", lambda count=count: count)
        assert load(workers="auto").workers == workers
    monkeypatch.setenv("HKOJI_SERVER_WORKERS", "auto")
    assert load().workers == 128
    monkeypatch.delenv("HKOJI_SERVER_WORKERS")
    file.write_text('workers = "auto"\n')
    assert load(file).workers == 128
    assert load(file, workers="3").workers == 3


@pytest.mark.parametrize("wrong", ["a wrong s3cret", "", -1, 1.5, [1], {"s3cret": 1}], ids=repr)
def test_every_setting_says_what_it_is_in_words_of_this_project(wrong: object) -> None:
    refused = 0
    for name in Settings.model_fields:
        with suppress(UsageError):
            load(**{name: wrong})
            continue
        with pytest.raises(UsageError) as raised:
            load(**{name: wrong})
        told = raised.value.message
        assert isinstance(told, Text)
        assert told.values is not None
        assert isinstance(told.values["reason"], Text)  # so it is in the language of the reader
        assert "s3cret" not in f"{told} {raised.value.hint}"
        refused += 1
    assert refused > len(Settings.model_fields) / 2


def test_the_longest_times_can_be_counted_from_now() -> None:
    found = load(offer_lifetime=3_153_600_000, token_lifetime=3_153_600_000, mail_keep_days=36_500)
    sources = ClockAndEntropy()
    assert sources.at(-found.offer_lifetime) == sources.at(-found.mail_keep_days * 86400) < "1990"
    assert sources.at(found.token_lifetime) > "2100"
    for name in ("offer_lifetime", "token_lifetime", "code_lifetime", "challenge_lifetime", "slack", "outage_after"):
        with pytest.raises(
            UsageError, match=rf"{name} is not valid: it has to be a whole number from \d+ to 3153600000"
        ):
            load(**{name: 3_153_600_001})


def test_a_wrong_setting_is_said_to_be_set_where_it_can_be(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError) as raised:
        load(port="x")
    assert raised.value.hint == "set it by --port, by HKOJI_SERVER_PORT or in a settings file"
    monkeypatch.setenv("HKOJI_SERVER_MAIL_PER_DAY", "x")
    with pytest.raises(UsageError) as raised:
        load(file)
    assert raised.value.hint == f"set it by HKOJI_SERVER_MAIL_PER_DAY or in {file}"


def test_the_longest_origin() -> None:
    longest = "https://" + "a" * 62 + ".bb" * 62
    assert len(longest) == 256
    assert load(origin=longest).origin == longest


def test_a_setting_that_does_not_exist() -> None:
    with pytest.raises(UsageError, match=r"there is no setting hosts$") as raised:
        load(hosts="s3cret")
    assert "--hosts" not in raised.value.hint
    assert "s3cret" not in str(raised.value) + raised.value.hint


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("HKOJI_SERVER_PROT", "HKOJI_SERVER_PORT"),
        ("hkoji_server_prot", "HKOJI_SERVER_PORT"),
        ("HKOJI_SERVERPORT", "HKOJI_SERVER_PORT"),
        ("HKOJI_SEVER_PORT", "HKOJI_SERVER_PORT"),
        ("HKOJI_DATABASES", "HKOJI_DATABASE"),
        ("HKOJI_SERVERDATABASE", "HKOJI_SERVER_DATABASE"),
        ("HKOJI_SERVER_CONFGI", "HKOJI_SERVER_CONFIG"),
    ],
)
def test_a_setting_that_does_not_exist_is_refused_in_the_environment_too(
    name: str, meant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "")  # as good as not set
    load()
    monkeypatch.setenv(name, "s3cret")
    with pytest.raises(UsageError, match=rf"there is no setting {name.upper()}$") as raised:
        load()
    assert raised.value.hint == f"did you mean {meant}? check the environment; docs/cli.md lists all settings"


def test_variables_of_others_are_no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The player's own, those of scripts, and what Kubernetes sets where a service is called hkoji."""
    for name in ("CONFIG", "HOME", "SERVER", "PORT", "SERVICE_HOST", "SERVICE_PORT", "ALICE_HOME", "DNS_SERVER"):
        monkeypatch.setenv(f"HKOJI_{name}", "s3cret")
    load()


def test_an_origin_is_what_players_take_as_an_address(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    for typed, signed in (
        ("http://alices-machine:8000", "http://alices-machine:8000"),
        ("https://[2001:db8::1]:8443", "https://[2001:db8::1]:8443"),
        ("https://hanamikoji.example/", "https://hanamikoji.example"),
        ("http://x:080", "http://x"),
        ("HTTP://LOCALHOST:19406", "http://localhost:19406"),
    ):
        assert load(origin=typed).origin == parse_url(typed) == signed
    monkeypatch.setenv("HKOJI_SERVER_ORIGIN", "alices-machine:8000")
    with pytest.raises(UsageError, match="origin is not valid"):
        load()
    monkeypatch.delenv("HKOJI_SERVER_ORIGIN")
    file.write_text('origin = "alices-machine:8000"\n')
    with pytest.raises(UsageError, match="origin is not valid"):
        load(file)


def test_an_empty_variable_of_the_environment_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATA", "HOST", "ORIGIN", "METRICS", "PORT"):
        monkeypatch.setenv(f"HKOJI_SERVER_{name}", "")
    found = load()
    assert "data" not in found.model_fields_set
    assert (found.host, found.port, found.origin, found.metrics) == ("127.0.0.1", 8000, None, None)


def test_a_file_that_is_wrong(file: Path) -> None:
    file.write_text("port = = 1\n")
    with pytest.raises(UsageError, match="is not TOML"):
        load(file)
    file.write_text("colour = 1\n")
    with pytest.raises(UsageError, match=r"there is no setting colour$") as raised:
        load(file)
    assert raised.value.hint == f"check {file}; docs/cli.md lists all settings"
    file.write_text("prot = 1\n")
    with pytest.raises(UsageError, match=r"there is no setting prot$") as raised:
        load(file)
    assert raised.value.hint == f"did you mean port? check {file}; docs/cli.md lists all settings"
    with pytest.raises(StorageError, match="cannot read"):
        load(file.with_name("missing.toml"))


def test_every_setting_is_explained() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


@pytest.mark.parametrize(
    ("text", "address"),
    [("127.0.0.1:9100", ("127.0.0.1", 9100)), (":9100", ("127.0.0.1", 9100)), ("[::1]:9", ("::1", 9))],
)
def test_addresses(text: str, address: tuple[str, int]) -> None:
    assert parse_bind(text) == address


@pytest.mark.parametrize("text", ["9100", "::1:9", "a:b", "a:70000", "a:9 "])
def test_no_addresses(text: str) -> None:
    with pytest.raises(ValueError, match="HOST:PORT"):
        parse_bind(text)


def test_the_settings_of_mail_that_are_right_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    found = load()
    assert (found.mail, found.mail_lmtp, found.mail_delimiter, found.mail_require) == (
        None,
        "127.0.0.1:2424",
        "+",
        "token",
    )
    assert load(mail=" Play@Hkoji.Example ").mail == "play@hkoji.example"
    assert load(mail=f"{'a' * 35}@h").mail is not None  # a machine without a domain has a mailbox too
    assert load(mail_lmtp="off").mail_lmtp is None
    monkeypatch.setenv("HKOJI_SERVER_MAIL_SHORTEST_CLOCK", "1")
    assert load().mail_shortest_clock == 1


def test_beside_a_mailbox_that_is_read_mail_is_taken_by_lmtp_only_if_that_is_set() -> None:
    assert load().lmtp == "127.0.0.1:2424"
    assert load(mail_imap="imaps://me@mail.example").lmtp is None
    assert load(mail_imap="imaps://me@mail.example", mail_lmtp="127.0.0.1:2424").lmtp == "127.0.0.1:2424"
    assert load(mail_lmtp="off").lmtp is None
