"""`hkoji doctor --mail`: what it says of a good set-up, and of each that is broken in one place.

The mail server is one in this process, which signs what the service sends and gives it back through the pipe.
"""

from __future__ import annotations

import io
import json
import os
import sqlite3
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import dkim
import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from dns.asyncresolver import Resolver
from hkoji_server import mail_admin
from hkoji_server.mail_doctor import MailTools, dmarc_check, dmarc_names, examine_mail, queue_check, spf_check, tools_of
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.settings import load
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_values import MailQueue, WaitingSum

from hkoji.cli.commands import identity
from hkoji.cli.output import Exit, out
from hkoji.doctor_check import DoctorCheck
from hkoji.game.clock import Way, add_seconds
from hkoji.log.canonical import encode_base64
from hkoji.log.private_key import PrivateKey
from hkoji.mail.dns_answers import DnsAnswers
from tests.lab.mail.names import NameServer, text_record
from tests.mail.test_receiving import report
from tests.support.loops import run
from tests.support.mail.servers import MailServer
from tests.support.metrics import free_port
from tests.support.new_database import copy_new_database
from tests.support.receiver import certified
from tests.support.stores import sqlite_at
from tests.support.times import now

HOST = "hkoji.example"
BARE = f"play@{HOST}"
NOTHING = WaitingSum(0, None)
FIELDS = [b"from", b"to", b"subject", b"date", b"message-id", b"in-reply-to", b"content-type"]
BUTTON = [b"list-unsubscribe", b"list-unsubscribe-post"]


@cache
def signing_key() -> tuple[bytes, bytes]:
    """A private key, and the TXT record of its public one."""
    key = generate_private_key(65537, 2048)
    public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    return private, b"v=DKIM1; k=rsa; p=" + encode_base64(public).encode()


def bare(address: str) -> str:
    """An address without what stands behind the delimiter."""
    local, _, host = address.partition("@")
    return f"{local.partition('+')[0]}@{host}"


@dataclass
class Post:
    """A mail server beside the service. `recipient` says to whom it gives a mail for an address, None: to nobody."""

    data: Path
    recipient: Callable[[str], str | None] = lambda address: address
    signed: Sequence[bytes] = (*FIELDS, *BUTTON)
    refused: Callable[[str], bool] = lambda _: False
    bounced: Callable[[str], bool] = lambda _: False
    taken: list[bytes] = field(default_factory=list)

    def handled(self, sender: str, recipients: list[str], content: bytes) -> str:
        (to,) = recipients
        if self.refused(to):
            return "550 5.1.1 no such mailbox"
        self.taken.append(content)
        if self.bounced(to):
            self._give("", sender, report("5.1.1"))
        elif (recipient := self.recipient(to)) is not None:
            signature = b""
            if self.signed:
                private, _ = signing_key()
                signature = dkim.sign(content, b"hkoji", HOST.encode(), private, include_headers=list(self.signed))
            self._give(sender, recipient, signature + content)
        return "250 2.0.0 queued"

    def _give(self, sender: str, recipient: str, raw: bytes) -> None:
        assert mail_admin.receive(recipient, io.BytesIO(raw), sender=sender, data=self.data) == 0


@dataclass
class SetUp:
    """A service that plays by mail, with what is asked of DNS."""

    data: Path
    post: Post
    monkeypatch: pytest.MonkeyPatch
    answers: dict[str, tuple[bytes, ...]] = field(
        default_factory=lambda: {
            HOST: (b"v=spf1 mx -all", b"another record"),
            f"hkoji._domainkey.{HOST}": (signing_key()[1],),
            f"_dmarc.{HOST}": (b"v=DMARC1; p=reject",),
        }
    )
    context: ssl.SSLContext | None = None
    patience: float = 10

    def set(self, **settings: object) -> None:
        for name, value in settings.items():
            self.monkeypatch.setenv(f"HKOJI_SERVER_{name.upper()}", str(value))

    async def look_up(self, names: Sequence[str]) -> DnsAnswers:
        return {name: self.answers[name] for name in names if name in self.answers}

    def tools(self) -> MailTools:
        return MailTools(ClockAndEntropy(), self.look_up, self.context, self.patience)

    def found(self) -> dict[str, DoctorCheck]:
        """The checks by their names."""
        checks = list(examine_mail(load(data=self.data), self.tools()))
        with closing(sqlite3.connect(self.data / "hkoji.sqlite3")) as database:
            assert database.execute("SELECT count(*) FROM probe").fetchone() == (0,)
        return {check.name: check for check in checks}

    def verdicts(self) -> dict[str, str]:
        """All that is not ok."""
        return {name: check.verdict for name, check in self.found().items() if check.verdict != "ok"}


def with_identity(store: Store) -> None:
    """A store with the key of the service."""
    run(store.add_identity(PrivateKey.from_seed(bytes(32)).to_openssh().decode(), "https://hkoji.example"))


@contextmanager
def set_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, tls: ssl.SSLContext | None = None) -> Iterator[SetUp]:
    """A service whose processes have just noted the time, and its mail server."""
    monkeypatch.setattr("hkoji_server.mail.probe._PACE", 0.01)
    data = tmp_path / "data"
    copy_new_database(data / "hkoji.sqlite3", with_identity)
    with sqlite_at(data / "hkoji.sqlite3") as store:
        for way in Way:
            run(store.beat(way, now()))
    post = Post(data)
    server = MailServer(post.handled, tls=tls)
    made = SetUp(data, post, monkeypatch)
    made.set(
        mail=BARE, mail_smtp=f"smtp://127.0.0.1:{server.port}" if tls is None else f"smtps://localhost:{server.port}"
    )
    try:
        yield made
    finally:
        server.close()


@pytest.fixture
def sound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SetUp]:
    """A set-up in which nothing is wrong."""
    with set_up(tmp_path, monkeypatch) as made:
        yield made


def test_a_good_set_up_is_ok_and_nothing_of_the_mails_to_itself_is_left(sound: SetUp) -> None:
    found = sound.found()
    assert {check.verdict for check in found.values()} == {"ok"}, found
    assert {"mail process", "mail version", "mail queue", "mail tls", "probe", "delimiter", "dkim"} <= set(found)
    assert {"dkim key", "spf", "dmarc"} <= set(found)
    for raw in sound.post.taken:  # as letters have them, so that they are signed like letters
        assert b"\r\nX-Hkoji: probe\r\n" in raw
        assert b"\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n" in raw


def refused(address: str) -> bool:
    return "+" in address


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"recipient": bare}, "comes in without its token"),
        ({"refused": refused}, "takes no mail to play+…@hkoji.example: 550 5.1.1"),
        ({"bounced": refused}, "takes no mail to play+…@hkoji.example: 5.1.1"),
        ({"recipient": lambda to: None if "+" in to else to}, "does not come in; to the bare address it does"),
    ],
    ids=["stripped", "refused", "bounced", "lost"],
)
def test_a_delimiter_that_is_lost(
    sound: SetUp, monkeypatch: pytest.MonkeyPatch, broken: dict[str, Any], said: str
) -> None:
    monkeypatch.setattr("hkoji_server.mail.probe._AFTER_THE_OTHER", 0)
    for name, value in broken.items():
        setattr(sound.post, name, value)
    found = sound.found()
    assert [name for name, check in found.items() if check.verdict != "ok"] == ["delimiter"]
    assert found["delimiter"].verdict == "fail"
    assert said in found["delimiter"].said
    assert "mail_delimiter" in found["delimiter"].hint
    sound.post = Post(sound.data, recipient=bare)
    sound.set(mail_delimiter="none")
    sound.post.recipient = bare
    assert "delimiter" not in sound.verdicts()


def test_a_message_id_that_is_replaced_where_there_is_no_delimiter(
    sound: SetUp, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound.set(mail_delimiter="none")
    assert sound.verdicts() == {}
    give = Post._give

    def replacing(post: Post, sender: str, recipient: str, raw: bytes) -> None:
        give(post, sender, recipient, raw.replace(b"\r\nMessage-ID: <probe.0.", b"\r\nMessage-ID: <"))

    monkeypatch.setattr(Post, "_give", replacing)
    sound.post.signed = [each for each in sound.post.signed if each != b"message-id"]
    assert sound.verdicts() == {"delimiter": "fail"}


def test_mail_that_does_not_come_in(sound: SetUp) -> None:
    sound.patience, sound.post.recipient = 0.2, lambda _: None
    found = sound.found()
    assert found["probe"].verdict == "fail"
    assert "did not come in" in found["probe"].said
    assert "delimiter" not in found
    sound.post.bounced = lambda _: True
    assert "takes no mail to play@hkoji.example: 5.1.1" in sound.found()["probe"].said
    assert len(sound.post.taken) == 4


@pytest.mark.parametrize(
    ("signed", "said"),
    [
        ((*FIELDS, b"list-unsubscribe"), "does not cover list-unsubscribe-post"),
        (FIELDS, "does not cover list-unsubscribe, list-unsubscribe-post"),
        ((), "have no signature of hkoji.example that holds: it has no DKIM signature"),
    ],
    ids=["half", "neither", "unsigned"],
)
def test_a_signature_without_the_fields_of_the_button(sound: SetUp, signed: Sequence[bytes], said: str) -> None:
    sound.post.signed = signed
    found = sound.found()
    assert found["dkim"].verdict == "fail"
    assert said in found["dkim"].said
    assert found["dkim key"].verdict == ("ok" if signed else "warn")
    assert all(check.verdict == "ok" for name, check in found.items() if name not in ("dkim", "dkim key"))


def test_records_that_are_missing_or_wrong(sound: SetUp) -> None:
    key = sound.answers.pop(f"hkoji._domainkey.{HOST}")
    assert sound.verdicts() == {"dkim": "fail", "dkim key": "fail"}
    other = generate_private_key(65537, 2048).public_key()
    wrong = encode_base64(other.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).encode()
    sound.answers = {f"hkoji._domainkey.{HOST}": (b"v=DKIM1; k=rsa; p=" + wrong,)}
    assert sound.verdicts() == {"dkim": "fail", "spf": "warn", "dmarc": "warn"}
    sound.answers = {f"hkoji._domainkey.{HOST}": key, HOST: (b"v=spf1 -all", b"v=spf1 mx"), "_dmarc.example": (b"x",)}
    assert sound.verdicts() == {"spf": "fail", "dmarc": "warn"}

    sound.answers = {}
    found = sound.found()
    # Nobody knows what DNS would have said of the records.
    assert found["dns"].verdict == "fail"
    assert not {"dkim", "dkim key", "spf", "dmarc"} & found.keys()


def test_tls_with_a_certificate_that_is_trusted_and_with_one_that_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served, trusting = certified(tmp_path, "localhost")
    with set_up(tmp_path, monkeypatch, tls=served) as made:
        made.context = trusting
        found = made.found()
        assert all(check.verdict == "ok" for check in found.values()), found
        assert "TLSv1" in found["mail tls"].said
        made.post.signed = FIELDS  # the provider signs, not the operator
        assert made.verdicts() == {"dkim": "warn"}
        before = len(made.post.taken)
        made.context = None
        found = made.found()
        assert {name: check.verdict for name, check in found.items() if check.verdict != "ok"} == {
            "mail tls": "fail",
            "probe": "warn",
        }
        assert "is not trusted" in found["mail tls"].said
        assert len(made.post.taken) == before
        made.set(mail_smtp=f"smtps://127.0.0.1:{free_port()}")
        assert "cannot be reached" in made.found()["mail tls"].said


def test_password_files(sound: SetUp, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("secret\n")
    file.chmod(0o600)
    sound.set(mail_imap_password_file=file)
    assert sound.found()["passwords"].verdict == "ok"
    file.chmod(0o644)
    found = sound.found()
    assert found["passwords"].verdict == "fail"
    assert found["passwords"].hint.endswith(f"chmod 600 {file}")
    assert "secret" not in str(found)
    file.unlink()
    assert sound.found()["passwords"].verdict == "fail"


def test_a_mail_process_that_does_not_run_is_not_waited_for(sound: SetUp) -> None:
    change(sound, "UPDATE beat SET at = ? WHERE way = 'mail'", add_seconds(now(), -181))
    found = sound.found()
    assert {name: check.verdict for name, check in found.items() if check.verdict != "ok"} == {
        "mail process": "fail",
        "probe": "warn",
    }
    assert sound.post.taken == []
    change(sound, "DELETE FROM beat WHERE way = ?", "mail")
    found = sound.found()
    assert (found["mail process"].verdict, found["mail process"].said) == ("fail", "it has never run")


def test_processes_of_two_versions(sound: SetUp) -> None:
    change(sound, "UPDATE beat SET version = ? WHERE way = 'http'", "0.0.9")
    assert sound.verdicts() == {"mail version": "fail"}
    change(sound, "DELETE FROM beat WHERE way = ?", "http")
    assert sound.verdicts() == {"mail version": "warn"}


def test_a_service_without_a_mail_address(sound: SetUp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HKOJI_SERVER_MAIL")
    assert sound.verdicts() == {"mail address": "fail"}
    assert sound.post.taken == []


@pytest.mark.parametrize(
    ("queue", "verdict"),
    [
        (MailQueue(NOTHING, NOTHING, NOTHING), "ok"),
        (MailQueue(WaitingSum(1, "2026-03-01T00:05:00Z"), WaitingSum(9, "2026-02-28T23:10:00Z"), NOTHING), "ok"),
        (MailQueue(WaitingSum(1, "2026-03-01T00:04:59Z"), NOTHING, NOTHING), "fail"),
        (MailQueue(NOTHING, WaitingSum(1, "2026-02-28T23:09:59Z"), NOTHING), "warn"),
        (MailQueue(NOTHING, NOTHING, WaitingSum(1, "2026-01-01T00:00:00Z")), "warn"),
    ],
)
def test_the_age_of_the_queue(queue: MailQueue, verdict: str) -> None:
    assert queue_check(queue, "2026-03-01T00:10:00Z").verdict == verdict


@pytest.mark.parametrize(
    ("records", "verdict"),
    [
        ((b"v=spf1",), "ok"),
        ((b"v=spf10 mx", b"v=spf1 a -all"), "ok"),
        ((b"v=spf1 mx +all",), "warn"),
        ((b"V=SPF1 MX", b"spf2.0/pra"), "warn"),
        ((), "warn"),
    ],
)
def test_spf_records(records: tuple[bytes, ...], verdict: str) -> None:
    assert spf_check(HOST, {HOST: records}).verdict == verdict


def test_a_dmarc_record_may_be_that_of_the_domain_above() -> None:
    assert dmarc_names("a.mail.example") == ("_dmarc.a.mail.example", "_dmarc.mail.example")
    assert dmarc_names("localhost") == ("_dmarc.localhost",)
    above = {"_dmarc.mail.example": (b"v=DMARC1; p=none",), "_dmarc.example": (b"v=DMARC1",)}
    assert dmarc_check("a.mail.example", above).verdict == "ok"
    assert dmarc_check("a.other.example", above).verdict == "warn"
    assert dmarc_check("mail.example", {"_dmarc.mail.example": (b"v=DMARC1;p=x", b"v=DMARC1")}).verdict == "fail"


def change(made: SetUp, statement: str, *values: str) -> None:
    """Changes the database behind the back of the program."""
    with closing(sqlite3.connect(made.data / "hkoji.sqlite3")) as database, database:
        assert database.execute(statement, values).rowcount == 1


def test_the_command_reads_the_settings_file_and_has_the_checks_of_the_database_too(
    sound: SetUp, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("hkoji_server.mail_doctor.tools_of", sound.tools)
    server = os.environ["HKOJI_SERVER_MAIL_SMTP"]
    for name in ("MAIL", "MAIL_SMTP"):
        monkeypatch.delenv(f"HKOJI_SERVER_{name}")
    config = sound.data.with_name("service.toml")
    config.write_text(f'data = "{sound.data}"\nmail = "{BARE}"\nmail_smtp = "{server}"\n')
    monkeypatch.setenv("HKOJI_SERVER_CONFIG", "")  # the command sets it
    monkeypatch.setattr(out, "json", True)
    assert identity.doctor(config=config, mail=True) is Exit.OK
    shown = json.loads(capsys.readouterr().out)
    names = [check["name"] for check in shown["checks"]]
    assert names.index("schema") < names.index("delimiter")
    assert shown["ok"]
    sound.post.recipient = bare
    assert identity.doctor(config=config, mail=True) is Exit.FAILURE
    change(sound, "UPDATE alembic_version SET version_num = ?", "0001")  # then nothing else can be looked at
    before = len(sound.post.taken)
    identity.doctor(config=config, mail=True)
    assert len(sound.post.taken) == before


def test_records_are_asked_of_a_name_server(monkeypatch: pytest.MonkeyPatch) -> None:
    names = NameServer(port=0)
    resolver = Resolver(configure=False)
    resolver.nameservers, resolver.port = ["127.0.0.1"], names.port
    monkeypatch.setattr("hkoji_server.mail.resolver.system_resolver", lambda: resolver)
    try:
        names.add(HOST, "TXT", text_record("v=spf1 mx -all"), text_record("x" * 300))
        asked = [HOST, *dmarc_names(f"a.b.c.d.{HOST}")]
        found = run(tools_of().look_up(asked))
    finally:
        names.close()
    assert {name: {*records} for name, records in found.items()} == {HOST: {b"v=spf1 mx -all", b"x" * 300}}
    assert {name for name, _ in names.asked} == set(asked)
    assert spf_check(HOST, found).verdict == "ok"
