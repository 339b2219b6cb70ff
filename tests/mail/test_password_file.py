"""Files with passwords: the first line counts, and nobody else may read it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hkoji_server.mail_settings import is_open_to_others, read_password

from hkoji.cli.output import Exit, exit_code
from hkoji.errors import UsageError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "password"
    made.touch(0o600)
    return made


def test_the_password_is_the_first_line_of_its_file(file: Path) -> None:
    file.write_text("s3cret with spaces \nsecond line\n")
    assert read_password(file, "mail_smtp") == "s3cret with spaces "
    assert read_password(None, "mail_smtp") is None
    file.write_text("\nsecond")
    with pytest.raises(UsageError, match=r"the first line of .*password is empty") as raised:
        read_password(file, "mail_imap")
    assert "mail_imap" in raised.value.hint
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match=r"cannot read .*password: it is not UTF-8"):
        read_password(file, "mail_smtp")


@pytest.mark.parametrize("setting", ["mail_smtp", "mail_imap"])
def test_a_file_that_is_not_there_is_a_wrong_setting(tmp_path: Path, setting: str) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*none: No such file") as raised:
        read_password(tmp_path / "none", setting)
    assert exit_code(raised.value) == Exit.USAGE
    assert f"the password for {setting} into its first line" in raised.value.hint
    assert f"HKOJI_SERVER_{setting.upper()}_PASSWORD_FILE" in raised.value.hint


@pytest.mark.parametrize(("mode", "is_open"), [(0o600, False), (0o640, False), (0o604, True), (0o602, True)])
def test_a_file_that_other_users_may_read_is_refused(file: Path, mode: int, is_open: bool) -> None:
    file.write_text("s3cret\n")
    file.chmod(mode)
    assert is_open_to_others(file) is is_open
    if not is_open:
        assert read_password(file, "mail_imap") == "s3cret"
        return
    with pytest.raises(UsageError, match=r"other users of this machine may read .*password") as raised:
        read_password(file, "mail_imap")
    assert "s3cret" not in f"{raised.value} {raised.value.hint}"
