"""`hkoji audit --mails`, `--require` and `--dns`: what they print, and with which code they end."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from hkoji.cli.output import Exit
from hkoji.mail.mails_file import format_mails
from tests.support.mail.proved_table import MailAtHand, ProvedTable, proved_game
from tests.support.mail.servers import name_server
from tests.support.mail.signing import record_of, rsa_key
from tests.support.shell import Done, run

KEY = "s1._domainkey.example.org."


def other_move(mail: MailAtHand) -> MailAtHand:
    return mail._replace(line="resign") if mail.number == 2 else mail


@pytest.fixture(scope="module")
def honest() -> ProvedTable:
    return proved_game(12)


@pytest.fixture(scope="module")
def lying() -> ProvedTable:
    return proved_game(9, lie=other_move)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


class Files:
    """Logs and mails in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def audit(self, table: ProvedTable, *words: str, mails: bytes | None = None, log: str = "") -> Done:
        """Audits a table with its mails, and with the service's key."""
        (self.folder / "g.jsonl").write_text(log or table.text)
        (self.folder / "bob.mails").write_bytes(format_mails([table.mailbox()]) if mails is None else mails)
        pin = f"server={table.server.public.text}"
        return run("audit", str(self.folder / "g.jsonl"), "--key", pin, *words)

    @property
    def mails(self) -> tuple[str, str]:
        return "--mails", str(self.folder / "bob.mails")


def test_all_mails_are_there_and_the_seat_is_checked(honest: ProvedTable, files: Files) -> None:
    number = len(honest.mails)
    done = files.audit(honest, *files.mails)
    assert done.code == Exit.OK, done.err
    assert f"11 mails        {number} of {number} mails checked" in done.out
    assert f"  bob          {number} of {number} mails hold, from bob@example.org." in done.out
    assert "DNS answers that the service kept" in done.out
    result = json.loads(files.audit(honest, *files.mails, "--json").out)
    assert result["mails"] == [{"name": "bob", "mailboxes": ["bob@example.org"], "claimed": number, "checked": number}]
    assert {each["name"]: each["grade"] for each in result["players"]} == {"alice": "own", "bob": "checked"}
    assert "not checked against mails" in files.audit(honest).out


def test_a_mail_that_says_something_else_names_the_service(lying: ProvedTable, files: Files) -> None:
    done = files.audit(lying, *files.mails)
    assert done.code == Exit.AUDIT
    assert "step 11 (mails)" in done.err
    assert "the service, for bob: the mail orders something else: resign" in done.err
    (finding,) = json.loads(files.audit(lying, *files.mails, "--json").out)["findings"]
    assert (finding["step"], finding["name"], finding["signer"]) == (11, "mails", "the service, for bob")
    assert [(each["name"], each["held"]) for each in finding["signers"]] == [("bob", True)]


def test_another_mailbox_in_the_first_line_checks_nothing(lying: ProvedTable, files: Files) -> None:
    mails = format_mails([lying.mailbox(mailbox="eve@example.org")])
    done = files.audit(lying, *files.mails, mails=mails)
    assert done.code == Exit.OK
    assert f"  bob          {len(lying.mails)} mails are there, but the log certifies another mailbox, or" in done.out


def test_a_mail_with_another_salt_is_told_apart_from_one_that_is_missing(honest: ProvedTable, files: Files) -> None:
    whole, number, salt = honest.mailbox(), len(honest.mails), "0" * 64
    first, *others = whole.mails
    salted = tuple(mail._replace(salt=salt) for mail in whole.mails)
    told = {
        whole._replace(address_salt=salt): (
            f"{number} mails are there, but the log certifies another mailbox, or this one with another salt.",
        ),
        whole._replace(mails=salted): (
            f"{number} mails are there, but the log commits to other salts or to other bytes.",
        ),
        whole._replace(mails=()): (f"None of the {number} mails is there.",),
        whole._replace(mails=(first._replace(salt=salt), *others)): (
            f"{number - 1} of {number} mails hold",
            "1 mail is there, but the log commits to another salt or to other bytes.",
        ),
    }
    for mailbox, said in told.items():
        done = files.audit(honest, *files.mails, mails=format_mails([mailbox]))
        assert done.code == Exit.OK, done.err
        assert all(words in done.out for words in said), done.out


@pytest.mark.parametrize("broken", [b"", b"{}\n", b'{"about":"x"}\n', b"\xff\n", b"no json", b'{"mailbox":1}\n'])
def test_a_file_that_is_no_mails_file_is_an_error_like_any_file_that_cannot_be_read(
    honest: ProvedTable, files: Files, broken: bytes
) -> None:
    done = files.audit(honest, *files.mails, mails=broken)
    assert done.code == Exit.FAILURE
    assert f"cannot read {files.mails[1]}: " in done.err
    assert not done.out
    assert files.audit(honest, "--mails", str(files.folder / "none")).code == Exit.FAILURE


def test_one_mail_behind_the_entries_of_two_games_convicts_the_service(files: Files) -> None:
    def game(seed: int, **given: Any) -> ProvedTable:  # Any: fields by name
        # The second mail has the same Message-ID in both games.
        return ProvedTable(
            seed=seed,
            lie=lambda mail: mail._replace(number=77 if mail.number == 1 else 10 * seed + mail.number),
            **given,
        )

    first = game(1)
    second = game(2, host_key=first.server)
    second.keys = (second.keys[0], first.keys[1])  # the held key of a player is the same in all their games
    first.begin().play(5)
    second.begin().play(5)
    folder = files.folder / "games"
    folder.mkdir()
    mails = format_mails([first.mailbox(), second.mailbox()])
    (files.folder / "bob.mails").write_bytes(mails)
    for number, table in enumerate((first, second)):
        (folder / f"{number}.jsonl").write_text(table.text)
    done = run("audit", str(folder), *files.mails, "--key", f"server={second.server.public.text}", "--json")
    assert done.code == Exit.AUDIT
    told = [json.loads(line) for line in done.out.splitlines()]
    (found,) = [each for each in told if "contradiction" in each]
    assert (found["contradiction"], found["signer"]) == ("mail", "the service, for bob")
    assert [(each["name"], each["held"]) for each in found["signers"]] == [("bob", True)]
    assert [each["mails"][0]["checked"] for each in told if "mails" in each] == [len(first.mails), len(second.mails)]
    apart = run("audit", str(folder), "--key", f"server={second.server.public.text}")
    assert apart.code == Exit.OK


# --- what is required -------------------------------------------------------------------------------------------------


def test_an_own_key_can_be_required(honest: ProvedTable, files: Files) -> None:
    done = files.audit(honest, "--require", "own", *files.mails)
    assert done.code == Exit.AUDIT
    assert "bob" in done.err
    own = proved_game(4, held=())
    assert files.audit(own, "--require", "own").code == Exit.OK
    assert files.audit(own, "--require", "dkim", mails=b"").code == Exit.OK


def test_dkim_is_required_of_all_but_the_seed_and_dns_confirms_it(
    honest: ProvedTable, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    with name_server({KEY: (record_of(rsa_key()),)}, monkeypatch) as asked:
        done = files.audit(honest, "--require", "dkim", *files.mails)
        assert done.code == Exit.OK, done.err
        assert "s1._domainkey.example.org: DNS has the same key now" in done.out
        assert asked == [KEY]
        assert files.audit(honest, "--require", "dkim", mails=b"").code == Exit.AUDIT  # without the mails
        short = format_mails([honest.mailbox(mails=tuple(honest.mails[1:]))])
        assert files.audit(honest, "--require", "dkim", *files.mails, mails=short).code == Exit.AUDIT
        token = proved_game(6, lie=lambda mail: mail._replace(signed=mail.number != 2))
        assert files.audit(token, *files.mails).code == Exit.OK
        assert files.audit(token, "--require", "dkim", *files.mails).code == Exit.AUDIT


@pytest.mark.parametrize(
    ("records", "state", "said"),
    [((), "gone", "DNS has no key now"), ((record_of(rsa_key(2048)),), "other", "DNS has another key now")],
)
def test_a_key_that_dns_no_longer_has_is_reported_and_not_enough_where_dkim_is_required(
    honest: ProvedTable, files: Files, monkeypatch: pytest.MonkeyPatch, records: Any, state: str, said: str
) -> None:
    with name_server({KEY: records}, monkeypatch):
        done = files.audit(honest, "--dns", *files.mails)
        assert done.code == Exit.OK
        assert said in done.out
        result = json.loads(files.audit(honest, "--dns", *files.mails, "--json").out)
        assert result["dns"] == {"s1._domainkey.example.org": state}
        done = files.audit(honest, "--require", "dkim", *files.mails)
        assert done.code == Exit.AUDIT
        assert "DNS does not confirm" in done.err


def test_a_name_server_that_does_not_answer_is_no_verdict(
    honest: ProvedTable, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hkoji.cli.audit.mail_checks._SECONDS", 0.05)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HKOJI_DNS_SERVER", f"127.0.0.1:{silent.getsockname()[1]}")
        done = files.audit(honest, "--dns", *files.mails)
        assert done.code == Exit.OK
        assert "DNS has not answered" in done.out
        assert files.audit(honest, "--require", "dkim", *files.mails).code == Exit.NETWORK
    monkeypatch.setenv("HKOJI_DNS_SERVER", "127.0.0.1:what")
    assert files.audit(honest, "--dns", *files.mails).code == Exit.USAGE


@pytest.mark.parametrize(("module", "option"), [("dkim", "--mails"), ("dns", "--dns")])
def test_without_a_library_it_is_said_what_to_install(
    honest: ProvedTable, files: Files, monkeypatch: pytest.MonkeyPatch, module: str, option: str
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    done = files.audit(honest, *files.mails, *((option,) if option == "--dns" else ()))
    assert done.code == Exit.USAGE
    assert f"package {module}" in done.err
    assert "install" in done.err


@pytest.mark.parametrize("option", [("--dns",), ("--require", "own")])
def test_some_options_are_for_one_log(honest: ProvedTable, files: Files, option: tuple[str, ...]) -> None:
    files.audit(honest)
    done = run("audit", str(files.folder / "g.jsonl"), str(files.folder), *option)
    assert done.code == Exit.USAGE
    assert f"{option[0]} is for one log" in done.err
