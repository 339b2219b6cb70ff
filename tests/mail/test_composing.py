"""Messages of letters: other parsers read what was written, no value begins a field, long fields are not encoded."""

from __future__ import annotations

import email
import email.policy
import random
import re
from email.message import EmailMessage

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji.game.clock import format_time, parse_time
from hkoji.mail.addresses import OwnAddress
from hkoji.mail.letters import Attachment, Letter, LetterHeaders, compose, write_letter
from hkoji.mail.mail import Automatic, read_mail
from hkoji.manual.catalogues import load_speaker
from hkoji.messages.text import LANGUAGES
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.letters import headers_of, letters_of_game, letters_of_no_game, seat_of
from tests.support.table import Table

AT = "2026-11-25T10:00:07Z"
TEXT = Letter("hkoji 85c924c3: you and alice", "It is your turn.\n")
HEADERS = headers_of("turn", AT)
LONG = "a" * 60 + "." + "b" * 60


def parsed(message: bytes) -> EmailMessage:
    """The message as the standard library reads it."""
    found = email.message_from_bytes(message, policy=email.policy.default)
    assert isinstance(found, EmailMessage)
    assert not found.defects
    return found


def text_of(message: EmailMessage) -> str:
    body = message.get_body(("plain",))
    assert body is not None
    text: str = body.get_content()
    return text.replace("\r\n", "\n")


def head_of(message: bytes) -> list[bytes]:
    return message.partition(b"\r\n\r\n")[0].split(b"\r\n")


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_message_that_is_read_by_another_parser_has_the_same_text(lang: str) -> None:
    say, plain, encoded = load_speaker(lang), 0, 0
    for ruleset in (Hanamikoji(), GeishasRoad()):
        for moves in (0, 5, None):
            table = Table(ruleset, 1).begin().play(moves)
            facts = seat_of(table, table.course.actor if table.course.actor is not None else 1)
            log = table.text.encode()
            for kind, each in (*letters_of_game(facts, log), *letters_of_no_game("bob", facts, lang)):
                letter = write_letter(each, say)
                message = compose(letter, HEADERS._replace(event=kind))
                found = parsed(message)
                assert text_of(found) == letter.text
                assert found["Subject"] == letter.subject
                assert found["X-Hkoji"] == kind
                assert [part.get_filename() for part in found.iter_attachments()] == [
                    file.name for file in letter.attachments
                ]
                for part, file in zip(found.iter_attachments(), letter.attachments, strict=True):
                    assert part.get_payload(decode=True) == file.content
                    assert part.get_content_type() == file.type == "application/x-ndjson"
                plain += b"Content-Transfer-Encoding: 7bit" in message
                encoded += b"Content-Transfer-Encoding: quoted-printable" in message
                assert message.isascii()
                assert b"\n" not in message.replace(b"\r\n", b"")
                assert b"\r" not in message.replace(b"\r\n", b"")
                assert max(map(len, message.split(b"\r\n"))) <= 998
    assert plain
    assert encoded


@given(
    st.lists(st.text(st.characters(exclude_categories=("C", "Z"), include_characters=" ="), max_size=72), max_size=9)
)
def test_any_text_is_read_as_it_was_written(lines: list[str]) -> None:
    text = "".join(f"{line.strip()}\n" for line in (*lines, "From here", ".", "=3D", "x "))
    message = compose(TEXT._replace(text=text), HEADERS)
    assert text_of(parsed(message)) == text
    body = message.partition(b"\r\n\r\n")[2]
    assert all(len(line) <= 76 for line in body.split(b"\r\n"))
    assert not re.search(rb"(^|\n)From ", body)


def test_the_header_says_who_what_and_how_to_stop() -> None:
    found = parsed(compose(TEXT, HEADERS))
    token = "7k2mq4ruapbd3xvn5tczshw6ef"
    assert {name: found[name] for name in found if name not in ("Content-Type", "MIME-Version")} == {
        "Date": "Wed, 25 Nov 2026 10:00:07 +0000",
        "From": "hkoji <play@hkoji.example>",
        "To": "bob@example.org",
        "Reply-To": f"hkoji <play+{token}@hkoji.example>",
        "Subject": "hkoji 85c924c3: you and alice",
        "Message-ID": f"<turn.9.{token}@hkoji.example>",
        "In-Reply-To": "<CAJ8x+1=7@mail.example.org>",
        "References": "<85c924c3.game@hkoji.example> <CAJ8x+1=7@mail.example.org>",
        "Auto-Submitted": "auto-generated",
        "X-Auto-Response-Suppress": "All",
        "List-Id": "hkoji <hkoji.hkoji.example>",
        "List-Unsubscribe": f"<https://hkoji.example/v1/mail/stop/{token}>, "
        f"<mailto:play+{token}@hkoji.example?subject=stop>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        "Content-Transfer-Encoding": "7bit",
        "X-Hkoji": "turn",
    }
    assert parsed(compose(TEXT, HEADERS._replace(answer=True)))["Auto-Submitted"] == "auto-replied"


def test_a_letter_of_ours_is_automatic_mail_to_us() -> None:
    """So two services that write to each other stop at once."""
    marks = read_mail(compose(TEXT, HEADERS)).automatic
    assert marks[0] in (Automatic.AUTO_SUBMITTED, Automatic.LIST_ID, Automatic.X_HKOJI)


def test_the_same_arguments_give_the_same_bytes() -> None:
    file = Attachment("g.jsonl", "application/x-ndjson", b"{}\n")
    letter = TEXT._replace(attachments=(file,))
    assert compose(letter, HEADERS) == compose(letter, HEADERS)


def test_every_day_of_some_years_has_its_weekday() -> None:
    chance = random.Random(1)
    for _ in range(400):
        at = format_time(parse_time("2026-01-01T00:00:00Z") + chance.randrange(10**9))
        date = parsed(compose(TEXT, HEADERS._replace(at=at)))["Date"]
        assert date.datetime.strftime("%Y-%m-%dT%H:%M:%SZ") == at
        assert str(date).startswith(date.datetime.strftime("%a, %d %b %Y"))


@pytest.mark.parametrize("host", ["hkoji.example", f"{LONG}.example", "a-b.c"])
@pytest.mark.parametrize("local", ["play", "=play", "p" * 30])
def test_ids_and_addresses_of_any_length_stay_as_they_are(host: str, local: str) -> None:
    ours = OwnAddress(f"{local}@{host}")
    token = "7k2mq4ruapbd3xvn5tczshw6ef"
    raw = compose(
        TEXT,
        HEADERS._replace(
            sender=ours.mailbox,
            reply_to=ours.with_token(token),
            message_id=ours.message_id("turn", 123456789, token),
            stop_url=f"https://{host}/v1/mail/stop/{token}",
            stop_address=ours.with_token(token),
        ),
    )
    fields = {line.partition(b": ")[0]: line.partition(b": ")[2] for line in head_of(raw)}
    for name in (b"Message-ID", b"In-Reply-To", b"References", b"Reply-To", b"List-Id", b"List-Unsubscribe"):
        assert b"=?" not in fields[name].replace(b"?subject=", b"")
    assert b"=?" not in b"\n".join(head_of(raw)).replace(b"=play?", b"")
    assert fields[b"Message-ID"].decode() == ours.message_id("turn", 123456789, token)
    assert ours.with_token(token).encode() in fields[b"Reply-To"]
    assert not any(line.startswith((b" ", b"\t")) for line in head_of(raw))


def test_where_the_address_has_no_token_the_mail_that_stops_letters_answers_an_id() -> None:
    bare = HEADERS._replace(stop_address="play@hkoji.example", stop_id="<stop.0.x2@hkoji.example>")
    assert parsed(compose(TEXT, bare))["List-Unsubscribe"].endswith(
        ", <mailto:play@hkoji.example?subject=stop&In-Reply-To=%3Cstop.0.x2@hkoji.example%3E>"
    )


@pytest.mark.parametrize("field", [each for each in LetterHeaders._fields if each not in ("answer", "in_reply_to")])
@pytest.mark.parametrize(
    "bad",
    ["\r\nBcc: x@y.example", "\nBcc: x@y.example", "\rx", "\x00", "\u2028x", "\xe8", "=?utf-8?q?x?=", " x", "\x85"],
)
def test_no_value_of_a_header_begins_another_field(field: str, bad: str) -> None:
    good = HEADERS._replace(stop_id="<stop.0.x@hkoji.example>")
    with pytest.raises(ValueError, match=field):
        compose(TEXT, LetterHeaders(**{**good._asdict(), field: getattr(good, field) + bad}))


@pytest.mark.parametrize("subject", ["", "a\nb", "a\r\nBcc: x", "\xe8", "x" * 201, "=?utf-8?q?x?="])
def test_no_subject_begins_another_field(subject: str) -> None:
    with pytest.raises(ValueError, match="subject"):
        compose(TEXT._replace(subject=subject), HEADERS)


@pytest.mark.parametrize(
    "answered",
    ["<a b@c>", "a@b", "<a@b>\r\nBcc: x", "<a@b", "<=?x?=@b>", f"<{'a' * 400}@b>", "<\xe8@b>", "<a@[1.2.3.4]>"],
)
def test_an_id_of_a_player_that_is_not_of_the_form_is_left_out(answered: str) -> None:
    found = parsed(compose(TEXT, HEADERS._replace(in_reply_to=answered)))
    assert found["In-Reply-To"] is None
    assert found["References"] == HEADERS.thread


def test_a_letter_may_be_the_first_of_its_thread() -> None:
    found = parsed(compose(TEXT, HEADERS._replace(in_reply_to=None, thread=None)))
    assert found["In-Reply-To"] is None
    assert found["References"] is None


@pytest.mark.parametrize(
    ("name", "kind"), [('a".txt', "text/plain"), ("a\r\nb", "text/plain"), ("../x", "text/plain"), ("x", "a b")]
)
def test_a_file_has_a_plain_name_and_type(name: str, kind: str) -> None:
    with pytest.raises(ValueError, match="not a file name or not a type"):
        compose(TEXT._replace(attachments=(Attachment(name, kind, b""),)), HEADERS)
