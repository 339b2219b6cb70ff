"""Settings: arguments override the environment, which overrides the file; errors name a setting and never quote it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hkoji_server import settings
from hkoji_server.mail_settings import read_imap, read_lmtp, read_smtp
from hkoji_server.service.clock_and_entropy import ClockAndEntropy
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


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"workers": 0}, "workers: it has to be a whole number from 1 to 128$"),
        ({"workers": "all"}, "workers: it has to be a whole number from 1 to 128, or auto$"),
        ({"registration": "friends"}, "registration: it has to be open or code or closed$"),
        ({"max_address_waiting": -1}, "max_address_waiting: it has to be a whole number of at least 0$"),
        ({"limit_registrations": "none"}, "limit_registrations: a rate is like 600/minute"),
        ({"port": 70000}, "port: it has to be a whole number from 0 to 65535$"),
        ({"log_level": "loud"}, "log_level"),
        ({"log_format": "xml"}, "log_format"),
        ({"trusted_proxy": ["everybody"]}, "trusted_proxy: it has to name addresses or networks"),
        ({"request_timeout": 0}, "request_timeout: it has to be a number greater than 0$"),
        ({"webhook_private": "maybe"}, "webhook_private: it has to be true or false$"),
        ({"host": 3}, "host: it has to be a text, in quotes$"),
        ({"max_body": "s3cret"}, "max_body: it has to be a whole number of at least 1024$"),
        ({"limit_address": "10/day"}, "limit_address: a rate is like 600/minute"),
        ({"limit_player": "0/minute"}, "limit_player: a rate is like 600/minute"),
        ({"metrics": "9464"}, "metrics: an address has the form HOST:PORT"),
        # No statement can contain it: a service of that name would start, and nobody could register or log in.
        ({"origin": "https://hanamikoji example"}, "origin: no host can have this name"),
        ({"origin": 'https://a"b.example'}, "origin: no host can have this name"),
        ({"origin": "https://caffè.example"}, "origin: no host can have this name"),
        ({"origin": "https://" + "a" * 63 + ".bb" * 62}, "origin: an address looks like"),
        # The player's program could not even ask for such a host.
        ({"origin": "http://a..b"}, "origin: no host can have this name"),
        ({"origin": "http://" + "a" * 64}, "origin: no host can have this name"),
        # No player's program takes it as an address: the service would print a command that hkoji refuses.
        ({"origin": "alices-machine:8000"}, "origin: an address looks like"),
        ({"origin": "foo"}, "origin: an address looks like"),
        ({"origin": "ftp://x"}, "origin: an address looks like"),
        ({"origin": "http://:8000"}, "origin: an address looks like"),
        ({"origin": "http://x:99999"}, "origin: an address looks like"),
        ({"origin": "http://x:"}, "origin: an address looks like"),
        ({"origin": "http://x:0"}, "origin: an address looks like"),
        ({"origin": "http://[::1]:"}, "origin: an address looks like"),
        ({"origin": "http://me@x"}, "origin: an address looks like"),
        ({"origin": "http://x?"}, "origin: an address looks like"),
        ({"origin": "https://hanamikoji.example/games"}, "origin: it has no path, .* https://hanamikoji.example$"),
    ],
)
def test_what_is_wrong_is_named(given: dict[str, object], name: str) -> None:
    name, _, reason = name.partition(": ")
    with pytest.raises(UsageError, match=rf"setting {name} is not valid: {reason}") as raised:
        load(**given)
    assert "s3cret" not in str(raised.value) + raised.value.hint


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


def test_what_the_environment_leaves_empty_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"mail": "hkoji.example"}, "mail: an address is like"),
        ({"mail": "play+x@hkoji.example"}, "mail: an address is like"),
        ({"mail": "spiël@hkoji.example"}, "mail: an address is like"),
        ({"mail": "play@hkoji example"}, "mail: an address is like"),
        ({"mail": "play@h\nBcc: x@y"}, "mail: an address is like"),
        ({"mail": f"{'a' * 36}@hkoji.example"}, "mail: the part before the @"),
        ({"mail_lmtp": "2424"}, "mail_lmtp: it is HOST:PORT"),
        ({"mail_lmtp": "run/mail.sock"}, "mail_lmtp: it is HOST:PORT"),
        ({"mail_lmtp": "127.0.0.1:70000"}, "mail_lmtp: it is HOST:PORT"),
        ({"mail_lmtp": "/" + "a" * 108}, "mail_lmtp: the path of a socket"),
        ({"mail_smtp": "127.0.0.1:25"}, "mail_smtp: it is like"),
        ({"mail_smtp": "http://127.0.0.1"}, "mail_smtp: it is like"),
        ({"mail_smtp": "smtp://host:port"}, "mail_smtp: it is like"),
        ({"mail_smtp": "smtp://me:s3cret@host"}, "mail_smtp: a password is read from"),
        ({"mail_imap": "mail.example"}, "mail_imap: it is like"),
        ({"mail_imap": "imaps://mail.example/INBOX"}, "mail_imap: it is like"),
        ({"mail_imap": "imaps://me@mail.example:port/INBOX"}, "mail_imap: it is like"),
        ({"mail_imap": "imaps://me@mail.example/IN%0dBOX"}, "mail_imap: it is like"),
        ({"mail_imap": "imaps://me@mail.example/INBOX?x"}, "mail_imap: it is like"),
        ({"mail_imap": "smtps://me@mail.example"}, "mail_imap: it is like"),
        ({"mail_imap": "imap://me@mail.example/INBOX"}, "mail_imap: off this machine it needs TLS"),
        ({"mail_imap": "imap://me@127.0.0.1.example/INBOX"}, "mail_imap: off this machine it needs TLS"),
        ({"mail_imap": "imap://me@192.168.0.9/INBOX"}, "mail_imap: off this machine it needs TLS"),
        ({"mail_imap": "imaps://me:s3cret@mail.example/INBOX"}, "mail_imap: a password is read from"),
        ({"mail_imap": "imaps://me@mail.example/hkoji-done"}, "mail_imap: that folder is for mails that are done"),
        ({"mail_imap": "imaps://m%20e@mail.example"}, "mail_imap: the name of the user"),
        ({"mail_delimiter": "_"}, r"mail_delimiter: it has to be \+ or - or none$"),
        ({"mail_require": "spf"}, "mail_require: it has to be token or dkim$"),
        ({"mail_shortest_clock": 0}, "mail_shortest_clock: it has to be a whole number of at least 1$"),
        ({"mail_per_day": 0}, "mail_per_day: it has to be a whole number of at least 1$"),
        ({"mail_per_hour": "many"}, "mail_per_hour: it has to be a whole number of at least 1$"),
        ({"mail_register": "s3cret"}, "mail_register: it has to be true or false$"),
        ({"mail_keep_days": 0}, "mail_keep_days: it has to be a whole number from 1 to 36500$"),
        ({"mail_keep_days": 999_999}, "mail_keep_days: it has to be a whole number from 1 to 36500$"),
    ],
)
def test_what_is_wrong_with_the_settings_of_mail_is_named(given: dict[str, object], name: str) -> None:
    name, _, reason = name.partition(": ")
    with pytest.raises(UsageError, match=rf"setting {name} is not valid: {reason}") as raised:
        load(**given)
    assert "s3cret" not in str(raised.value) + raised.value.hint


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


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("127.0.0.1:2424", ("127.0.0.1", 2424, None)),
        ("[::1]:0", ("::1", 0, None)),
        ("/run/hkoji/mail.sock", ("", 0, "/run/hkoji/mail.sock")),
    ],
)
def test_where_mail_is_taken(text: str, place: tuple[str, int, str | None]) -> None:
    assert read_lmtp(text) == place


@pytest.mark.parametrize(
    ("text", "server"),
    [
        ("smtp://127.0.0.1:25", ("127.0.0.1", 25, None, "never")),
        ("smtp://[::1]", ("::1", 25, None, "never")),
        ("smtp://localhost:2525/", ("localhost", 2525, None, "never")),
        ("smtp://mail.example:587", ("mail.example", 587, None, "starttls")),
        ("smtp://127.0.0.1.example", ("127.0.0.1.example", 25, None, "starttls")),
        ("smtp://192.168.0.9", ("192.168.0.9", 25, None, "starttls")),
        ("smtps://me%40club.example@mail.example", ("mail.example", 465, "me@club.example", "implicit")),
    ],
)
def test_letters_leave_this_machine_only_with_tls(text: str, server: tuple[object, ...]) -> None:
    assert read_smtp(text) == server


@pytest.mark.parametrize(
    ("text", "server"),
    [
        ("imaps://me@mail.example/INBOX", ("mail.example", 993, "me", "INBOX", True)),
        ("imaps://club%40x.example@mail.example", ("mail.example", 993, "club@x.example", "INBOX", True)),
        ("imaps://club@x.example@mail.example:1993/", ("mail.example", 1993, "club@x.example", "INBOX", True)),
        ("imaps://me@mail.example/INBOX/Our%20games", ("mail.example", 993, "me", "INBOX/Our games", True)),
        ("imap://me@127.0.0.1/INBOX", ("127.0.0.1", 143, "me", "INBOX", False)),
        ("imap://me@[::1]:1143/INBOX", ("::1", 1143, "me", "INBOX", False)),
        ("imaps://me@localhost", ("localhost", 993, "me", "INBOX", True)),
    ],
)
def test_a_mailbox_is_read_off_this_machine_only_with_tls(text: str, server: tuple[object, ...]) -> None:
    assert read_imap(text) == server


def test_beside_a_mailbox_that_is_read_mail_is_taken_by_lmtp_only_if_that_is_set() -> None:
    assert load().lmtp == "127.0.0.1:2424"
    assert load(mail_imap="imaps://me@mail.example").lmtp is None
    assert load(mail_imap="imaps://me@mail.example", mail_lmtp="127.0.0.1:2424").lmtp == "127.0.0.1:2424"
    assert load(mail_lmtp="off").lmtp is None
