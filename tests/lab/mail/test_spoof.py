"""A sample of the mails that are not what they seem, and the table with all of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hkoji.mail.dkim_rules import judge_dkim
from hkoji.mail.mail import read_mail
from tests.lab.mail.forged import TRICKS, Turn
from tests.lab.mail.spoof import DONE, SIGNING, Try, read_table, run_spoofs
from tests.support.letters import TOKEN
from tests.support.mail.assembled import AssembledMail, assembled
from tests.support.mail.dkim_signer import Signer, rsa_key


class MemorySpoofWorld(AssembledMail):
    """See `spoof.SpoofWorld`."""

    def signed(self, sender: str, raw: bytes) -> bytes:
        domain = sender.partition("@")[2]
        if domain != SIGNING:
            return raw
        signer = Signer(domain, "post", rsa_key("post"), tags={"t": str(int(self.now()))})
        self.publish(signer.name, [signer.record])
        return signer.sign(raw)

    def publish(self, name: str, texts: Sequence[str]) -> None:
        self.records[name] = texts

    def silence(self, name: str) -> None:
        """Nobody who asks can tell silence from a name that is not there."""
        self.records.pop(name, None)


SAMPLE = {
    (True, "good"): "none own-address length dns-timeout again-unsigned replay bulk",
    (True, "leaked"): "none display-name replay-with-new-id",
    (True, "old"): "none",
    (True, "other"): "same-provider",
    (False, "good"): "none child-domain",
    (False, "leaked"): "none own-address",
}
"""Tricks by whether the domain signs, and by token. The laboratory tries all."""
OTHERWISE = {
    *("resign", "again-signed", "again-unsigned", "own-address", "display-name", "list-author"),
    *("replay", "replay-with-new-id"),
}
"""Tricks whose verdict does not follow from the signature alone."""


def test_a_sample_of_spoofed_mails_changes_the_games_that_the_table_allows_and_no_other(tmp_path: Path) -> None:
    sample = [each for each in read_table() if each.trick in SAMPLE.get((each.signs, each.token), "").split()]
    with assembled(tmp_path, MemorySpoofWorld) as world:
        assert isinstance(world, MemorySpoofWorld)
        done = run_spoofs(world, sample, 3)
    assert done.wrong == []
    assert done.changed == sum(each.verdict in DONE for each in sample) == 5


def a_turn(number: int, tried: Try) -> Turn:
    """The knowledge of whoever writes a mail for a line of the table."""
    provider = Signer(SIGNING, "post")
    return Turn(
        number=number,
        token=tried.token,
        signs=True,
        sender=f"bob@{SIGNING}",
        to=f"play+{TOKEN}@hkoji.example",
        letter=f"<turn.9.{TOKEN}@hkoji.example>",
        order="2bc",
        at=datetime(2026, 11, 26, tzinfo=UTC).timestamp(),
        earlier=b"",
        other_to=f"play+{'o' * 26}@hkoji.example",
        service="play@hkoji.example",
        provider=provider.sign,
    )


@pytest.mark.parametrize("token", ["good", "leaked"])
def test_the_signature_of_each_spoofed_mail_counts_exactly_where_the_table_says_so(token: str) -> None:
    post = Signer(SIGNING, "post")
    for number, tried in enumerate(read_table()):
        if not tried.signs or tried.token != token or tried.verdict in ("nothing", "why") or tried.trick in OTHERWISE:
            continue
        forged = TRICKS[tried.trick](a_turn(number, tried))
        records = {post.name: [post.record], **forged.records}
        answers = {name: tuple(map(str.encode, texts)) for name, texts in records.items() if name != forged.silent}
        found = judge_dkim(read_mail(forged.raw), answers, at="2026-11-26T00:00:00Z", token=TOKEN)
        assert found.holds == (tried.verdict == "dkim"), (tried, found)


def test_the_table_has_each_trick_once_and_with_every_token() -> None:
    tries = read_table()
    assert {each.trick for each in tries} == set(TRICKS)
    assert len({(each.trick, each.signs, each.token) for each in tries}) == len(tries)


def test_a_line_of_the_table_that_is_not_as_the_others_are_is_refused(tmp_path: Path) -> None:
    for line in (
        "none dkim asked over asked token token over",
        "nothing-like-it " + "asked " * 8,
        "none " + "well " * 8,
    ):
        (tmp_path / "t.txt").write_text(line + "\n")
        with pytest.raises(ValueError, match=line.split()[0]):
            read_table(tmp_path / "t.txt")
