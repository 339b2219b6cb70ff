"""Writes letters, one by itself or several as one, and composes them as bytes.

A message is RFC 5322 with MIME, all of it ASCII, with CRLF line ends.

Each value of a header field is checked before it is written, so none can begin another field. The composition is our
own: the standard library's encodes long ids and addresses as words of RFC 2047, which mail programs do not understand
in those fields. The result depends on its arguments alone, so a letter that is rendered again has the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Final, NamedTuple, TypeAlias

from hkoji.game.agreement import DAY
from hkoji.game.clock import parse_time
from hkoji.log.canonical import encode_base64, is_time
from hkoji.mail.addresses import is_mailbox
from hkoji.mail.letters.answers import CalledOffFacts, OnRecordFacts, TurnOverFacts
from hkoji.mail.letters.events import TurnFacts
from hkoji.mail.letters.game_words import GameWords
from hkoji.mail.letters.invitations import DeclinedFacts, InvitationFacts
from hkoji.mail.letters.page import Attachment, Block, Letter, LetterDraft, OneLetter, Page
from hkoji.mail.letters.shown import ShowFacts
from hkoji.messages.text import Speaker, plural, tell

_NAME: Final = "hkoji"
_ID = re.compile(r"<[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+@[A-Za-z0-9.-]+>")
_LONGEST_ID: Final = 320
_EVENT = re.compile(r"[a-z][a-z0-9-]{0,31}")
_URL = re.compile(r"https?://[A-Za-z0-9.:\[\]-]+(?:/[A-Za-z0-9._~-]*)*")
_LONGEST_URL: Final = 400
_SUBJECT = re.compile(r"[\x20-\x7e]{1,200}")
_ENCODED_WORD: Final = "=?"
"""With it begin the words of RFC 2047, as which a reader could understand an id or an address."""
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


SHOW_TURN: Final = (TurnFacts, OnRecordFacts, TurnOverFacts, ShowFacts, CalledOffFacts)
"""The letters that show, if a move of the reader is due, all that a letter about the turn shows."""


class ManyFacts(NamedTuple):
    """Several letters that are sent as one, in this order."""

    letters: tuple[OneLetter, ...]


Facts: TypeAlias = OneLetter | ManyFacts
"""The facts of one letter, or of several that are sent as one."""


def write_letter(facts: Facts, say: Speaker = str) -> Letter:
    """Returns the letter with these facts, in the speaker's language.

    It shows what the facts' positions know, which is what the reader knows, and no more than that with `cards` off.
    """
    page = Page(say)
    if isinstance(facts, ManyFacts):
        return _several(facts.letters, page)
    draft = facts.draft(page)
    return Letter(_subject(facts, page), draft.text(page), draft.attachments)


def _subject(facts: OneLetter, page: Page) -> str:
    """The subject, which is the same for all letters of a game to one reader in one language."""
    game, name = _game_of(facts, page)
    if game is None:
        return page.say(tell("hkoji by mail"))
    if name is None:
        return f"hkoji {game[:8]}"
    return page.say(tell("hkoji {game}: you and {name}", game=game[:8], name=name))


def _game_of(facts: OneLetter, page: Page) -> tuple[str | None, str | None]:
    """The id of the game that a letter is about, and the other player."""
    match facts:
        case InvitationFacts():
            return facts.game, facts.host
        case DeclinedFacts():
            return facts.game, facts.opponent
    seat = getattr(facts, "seat", None)
    if seat is None:
        return None, None
    return seat.position.game, GameWords(seat, page).other


def _several(letters: tuple[OneLetter, ...], page: Page) -> Letter:
    """Several letters as one.

    About one game, or none, all of it is said, and nothing twice. About several games each is told in its first
    paragraph only: an order answers the letter of its game.
    """
    drafts = [each.draft(page) for each in letters]
    subjects = [_subject(each, page) for each in letters]
    games = [_game_of(each, page)[0] for each in letters]
    attached = tuple(dict.fromkeys(file for draft in drafts for file in draft.attachments))
    number = len({game for game in games if game is not None})
    if number <= 1:
        first = dict.fromkeys(sentence for draft in drafts for sentence in draft.first)
        blocks = dict.fromkeys(block for draft in drafts for block in draft.blocks)
        answer = next((draft.answer for draft in reversed(drafts) if draft.answer), "")
        text = LetterDraft(tuple(first), tuple(blocks), answer).text(page)
        about = (subject for game, subject in zip(games, subjects, strict=True) if game is not None)
        return Letter(next(about, subjects[0]), text, attached)
    news = plural("There is news of {n} game.", "There is news of {n} games.", number)
    how = tell(
        "To move, answer the letter of the game; to get it again, answer any of its letters with {show}.",
        show=page.command(tell("show")),
    )
    told: tuple[Block, ...] = tuple(
        page.sentences(f"{subject}:", *draft.first) for subject, draft in zip(subjects, drafts, strict=True)
    )
    return Letter(page.say(tell("hkoji by mail")), LetterDraft((news, how), told).text(page), attached)


class LetterHeaders(NamedTuple):
    """The reader of a letter, and how it can be answered. Addresses are bare; ids have their angle brackets.

    `to` is the player's mailbox. `sender` is our bare address (LOCAL@HOST), which stands in From; `reply_to` is
    LOCAL+TOKEN@HOST. `message_id` is `<EVENT.SEQ.TOKEN@HOST>`. `at` is the time of the log that Date states: that of
    the outbox row, so that a letter rendered again has the same. `answer` says that a mail of the player caused the
    letter. `in_reply_to` is the id of that mail, or of our last letter, and `thread` the one id that all letters of a
    game refer to; None before there is one. An id of a player that is not of this form is left out.
    `stop_url` and `stop_address` are where letters can be stopped: `https://ORIGIN/v1/mail/stop/TOKEN` and
    LOCAL+TOKEN@HOST. Where addresses have no token, `stop_id` is the id that a mail to the address answers.
    """

    to: str
    sender: str
    reply_to: str
    message_id: str
    at: str
    event: str
    stop_url: str
    stop_address: str
    answer: bool = False
    in_reply_to: str | None = None
    thread: str | None = None
    stop_id: str | None = None


def header_lines(headers: LetterHeaders, subject: str) -> Iterator[str]:
    """Yields the fields of a letter except those of MIME, each as one line without its end.

    No field is folded: a line may have 998 characters, and the values are limited. Raises `ValueError` for a value that
    is not of its form.
    """
    for name in ("sender", "to", "reply_to", "stop_address"):
        _verify_mailbox(name, getattr(headers, name))
    host = headers.sender.rpartition("@")[2]
    yield f"Date: {_date(headers.at)}"
    yield f"From: {_NAME} <{headers.sender}>"
    yield f"To: {headers.to}"
    yield f"Reply-To: {_NAME} <{headers.reply_to}>"
    yield f"Subject: {_checked('subject', subject, _SUBJECT, 200)}"
    yield f"Message-ID: {_id('message_id', headers.message_id)}"
    answered = headers.in_reply_to if headers.in_reply_to and is_message_id(headers.in_reply_to) else None
    if answered:
        yield f"In-Reply-To: {answered}"
    references = [] if headers.thread is None else [_id("thread", headers.thread)]
    if answered and answered not in references:
        references.append(answered)
    if references:
        yield f"References: {' '.join(references)}"
    yield f"Auto-Submitted: {'auto-replied' if headers.answer else 'auto-generated'}"
    yield "X-Auto-Response-Suppress: All"
    yield f"List-Id: {_NAME} <{_NAME}.{host}>"
    url = _checked("stop_url", headers.stop_url, _URL, _LONGEST_URL)
    stop = f"mailto:{headers.stop_address}?subject=stop"
    if headers.stop_id is not None:  # RFC 6068 has this very field as an example
        stop += f"&In-Reply-To=%3C{_id('stop_id', headers.stop_id)[1:-1]}%3E"
    yield f"List-Unsubscribe: <{url}>, <{stop}>"
    yield "List-Unsubscribe-Post: List-Unsubscribe=One-Click"
    yield f"X-Hkoji: {_checked('event', headers.event, _EVENT, 32)}"


def is_message_id(text: str) -> bool:
    """Whether a text is an id in angle brackets that can stand in a field of ours."""
    return len(text) <= _LONGEST_ID and _ID.fullmatch(text) is not None and _ENCODED_WORD not in text


def _verify_mailbox(name: str, address: str) -> None:
    if not is_mailbox(address):
        raise ValueError(f"{name} is no mailbox: {address!r}")


def _id(name: str, text: str) -> str:
    if not is_message_id(text):
        raise ValueError(f"{name} is no id: {text!r}")
    return text


def _checked(name: str, text: str, form: re.Pattern[str], longest: int) -> str:
    if len(text) > longest or not form.fullmatch(text) or _ENCODED_WORD in text:
        raise ValueError(f"{name} is not of its form: {text!r}")
    return text


def _date(at: str) -> str:
    """A time of the log as RFC 5322, 3.3, has it."""
    if not is_time(at):
        raise ValueError(f"at is no time of the log: {at!r}")
    day = _DAYS[parse_time(at) // DAY % 7]
    return f"{day}, {at[8:10]} {_MONTHS[int(at[5:7]) - 1]} {at[:4]} {at[11:19]} +0000"


_CRLF: Final = "\r\n"
_LINE: Final = 76
"""RFC 2045, 6.7 and 6.8: the most characters of an encoded line."""
_ASCII: Final = frozenset(range(0x20, 0x7F)) - {ord("=")}
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_TYPE = re.compile(r"[a-z]+/[a-z0-9.+-]+")


def compose(letter: Letter, headers: LetterHeaders) -> bytes:
    """Returns the message of a letter: text/plain, or multipart/mixed if files are attached.

    Raises `ValueError` for a header value, a file name or a type that is not of its form.
    """
    head = [*header_lines(headers, letter.subject), "MIME-Version: 1.0"]
    text = [*_text_part(letter.text)]
    if not letter.attachments:
        return _CRLF.join([*head, *text, ""]).encode("ascii")
    # The boundary cannot occur in a part: encoded parts have no such line, and a letter of ours has no such word.
    boundary = f"=_{sha256(headers.message_id.encode('ascii')).hexdigest()[:32]}"
    lines = [*head, f'Content-Type: multipart/mixed; boundary="{boundary}"', ""]
    # A line end before a boundary belongs to the boundary, so the text's own needs an empty line behind it.
    for part in ([*text, ""], *([*_file_part(file)] for file in letter.attachments)):
        lines += [f"--{boundary}", *part]
    return _CRLF.join([*lines, f"--{boundary}--", ""]).encode("ascii")


def _text_part(text: str) -> Iterator[str]:
    lines = text.removesuffix("\n").split("\n")
    if text.isascii() and all(_is_plain(line) for line in lines):
        yield from ("Content-Type: text/plain; charset=us-ascii", "Content-Transfer-Encoding: 7bit", "")
        yield from lines
        return
    yield from ("Content-Type: text/plain; charset=utf-8", "Content-Transfer-Encoding: quoted-printable", "")
    for line in lines:
        yield from _quoted(line)


def _is_plain(line: str) -> bool:
    """Whether a line of ASCII can stand in a message as it is; `From ` at its beginning is changed on the way."""
    return len(line) <= _LINE and line.isprintable() and line == line.rstrip() and not line.startswith("From ")


def _quoted(line: str) -> Iterator[str]:
    """The encoded lines of one line: RFC 2045, 6.7."""
    units = [chr(byte) if byte in _ASCII else f"={byte:02X}" for byte in line.encode("utf-8")]
    if units and units[-1] == " ":
        units[-1] = "=20"
    if line.startswith("From "):
        units[0] = "=46"
    done = ""
    for number, unit in enumerate(units):
        # The last unit needs no room for the `=` of a line that goes on.
        if len(done) + len(unit) > _LINE - (number + 1 < len(units)):
            yield f"{done}="
            done = ""
        done += unit
    yield done


def _file_part(file: Attachment) -> Iterator[str]:
    if not _FILE.fullmatch(file.name) or not _TYPE.fullmatch(file.type):
        raise ValueError(f"not a file name or not a type: {file.name!r}, {file.type!r}")
    yield f"Content-Type: {file.type}"
    yield f'Content-Disposition: attachment; filename="{file.name}"'
    yield "Content-Transfer-Encoding: base64"
    yield ""
    encoded = encode_base64(file.content)
    yield from (encoded[n : n + _LINE] for n in range(0, len(encoded), _LINE))
