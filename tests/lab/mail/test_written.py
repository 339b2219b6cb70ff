"""The laboratory's letters as files: a sample of them, and what the judge of their bytes sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.mail.written import faults, write_letters


def test_a_sample_of_letters_is_as_it_has_to_be_and_each_is_a_file(tmp_path: Path) -> None:
    assert write_letters(40, tmp_path, 2) == []
    assert len([*tmp_path.glob("*.eml")]) == 40


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b"\r\nReply-To: hkoji <", b"\r\nReply-To: =?utf-8?q?hkoji?= <", "a field with =?"),
        (b"\r\nList-Id: ", b"\r\nList-Id: =?utf-8?q?x?= ", "a field with =?"),
        (b"\r\nList-Id: ", b"\r\nX-Other: ", "no field List-Id"),
        (b"\r\n\r\n", b"\r\n\r\n" + b"a " * 37 + b"\r\n", "over 72 columns"),
    ],
)
def test_what_is_wrong_is_found(tmp_path: Path, old: bytes, new: bytes, said: str) -> None:
    write_letters(1, tmp_path, 2)
    (file,) = tmp_path.glob("*.eml")
    raw = file.read_bytes()
    assert old in raw
    (found,) = faults(raw.replace(old, new, 1))
    assert found.startswith(said)
