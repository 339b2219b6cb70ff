"""The lines of a mail that are its order: what the service obeys, and what an audit reads again.

They are its first paragraph that is no quotation and introduces none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from hkoji.errors import UnreadableMailError
from hkoji.mail.commands import STOP_WORDS
from hkoji.mail.message import READER_VERSION, MailPart, MailText, read_texts
from hkoji.mail.orders import clean, is_order, is_quoted, order_otherwise, trim, trim_in_version_1
from hkoji.messages.text import tell

_SIGNATURE: Final = "--"
_LONGEST_ATTRIBUTION: Final = 6
_LONGEST_WITHOUT_NAME: Final = 3
_LONGEST_SLIP: Final = 20
_LONGEST_NAME: Final = 2
"""The lines below an order that stands below a letter."""
_LONGEST_STUB: Final = 10
"""The lines of a text that only says that its mail is in HTML."""
_HTML: Final = "html"
_OURS: Final = "hkoji"
_NARROWEST: Final = 60
"""From how many characters on a quoted line may have been wrapped."""
_LONGEST_REST: Final = 2
"""How many lines of a quoted line stand below a quotation without its mark."""
_FEWEST_FIELDS: Final = 3
# Each sign stands so often as it must: more of them are of the label, so that a line is looked at once.
_RULE = re.compile(r"[-=~#+•· ]{3,}|(?:---|===|~~~|\+\+\+|##).*(?:--|==|~~|\+\+|##)")
"""A line between two texts, also one with a label. Moves have one dash at most."""
_FIELD = re.compile(r"[*_]*[^\W\d_][^:<>@]{0,18}:[*_]*\s*\S")
"""A line of a header, as Outlook writes one above what it quotes, in any language."""
_NAMES_A_LETTER = re.compile(r"@|hkoji|(?<!\d)(?:19|20)\d\d(?!\d)|(?<!\d)\d\d?[:.h/-]\d\d(?!\d)", re.IGNORECASE)
"""Signs of a letter that most attributions have: an address, the name of its sender, a year, a time or a date."""
_OUR_FIELD = re.compile(r":[*_\"' ]*hkoji[\"']? *(?:[<\[(].*)?$", re.IGNORECASE | re.MULTILINE)
"""A field of a header that names the sender of our letters."""
_CLEARTEXT = re.compile(r"Hash: \S+")
"""The line above a text that is signed by OpenPGP."""


class _Block(NamedTuple):
    """Lines with nothing between them, from `start` to before `end`."""

    start: int
    end: int
    lines: tuple[str, ...]


def order_paragraph(lines: Sequence[str], reader: int = READER_VERSION) -> tuple[str, ...]:
    """Returns the lines of the order, in the form in which `read_orders` reads them; none if there is no order.

    It ends at an empty line, a rule, a quotation or a line `--`. Lines that introduce a quotation are passed over, and
    so is the rest of a quoted line that has lost its mark. A line that is an order is neither.

    Some programs leave no empty line above an attribution. So if nothing else is left, a short line at the top of the
    passed lines is taken for the player's own. It can be answered, though it is no order. Version 1 of the `reader`
    had rules of its own, by which mails that are bound to old logs are read.
    """
    cleaned = [clean(line) for line in lines]
    if reader == 1:
        return _in_version_1(cleaned)
    slip: tuple[str, ...] = ()
    rests: tuple[str, ...] = ()
    place = 0
    while (block := next(_blocks(cleaned, place), None)) is not None:
        place = block.end
        ordered = any(map(is_order, block.lines))
        if ordered and rests and is_quoted(cleaned[block.start - 1]):
            # It could be a word of the letter, or the player's answer to it.
            return _trimmed((*rests, *block.lines))
        if not ordered and _is_rest(cleaned, block):
            rests += block.lines
            continue
        if all(map(_CLEARTEXT.fullmatch, block.lines)):
            continue
        written = block.lines
        header_end = _header_end(cleaned, block)
        place = header_end or block.end
        if _quotation_follows(cleaned, place):
            written = () if header_end else _without_attribution(written)
        elif _OUR_FIELD.search("\n".join(cleaned[block.start : header_end])) or _introduces_ours(written):
            below = _below_unmarked(cleaned, place)
            if below:
                return _trimmed(below)
        if written:
            return _trimmed(written)
        top, *more = block.lines
        if not slip and more and len(top) <= _LONGEST_SLIP:
            slip = (trim(top),)
    return slip or _trimmed(rests[:1])


def is_stub(lines: Sequence[str], order: Sequence[str]) -> bool:
    """Tells whether a text only says that the mail is in HTML, where its order is `order`.

    Then no line of it is an order or as short as one, and it does not have the words of that order.
    """
    written = [line for line in map(clean, lines) if trim(line) and not is_quoted(line)]
    text = "\n".join(written).casefold()
    return (
        bool(order)
        and 0 < len(written) <= _LONGEST_STUB
        and all(len(line) > _LONGEST_SLIP or _HTML in line.casefold() for line in written)
        and all(is_order(line) and line.casefold() not in text for line in order)
        and not any(map(is_order, written))
    )


def _blocks(lines: Sequence[str], place: int) -> Iterator[_Block]:
    """Yields the blocks of text from a place on, up to a line `--`."""
    while place < len(lines) and lines[place] != _SIGNATURE:
        end = place
        # The rest of a rule that is quoted is no rule of the player's.
        while end < len(lines) and (_is_text(lines[end]) or (trim(lines[end]) and _is_below_quoted(lines, end))):
            end += 1
        if end > place:
            yield _Block(place, end, tuple(lines[place:end]))
        place = max(end, place + 1)


def _is_text(line: str) -> bool:
    return not (not trim(line) or is_quoted(line) or line == _SIGNATURE or _RULE.fullmatch(line))


def _is_below_quoted(lines: Sequence[str], place: int) -> bool:
    return place > 0 and is_quoted(lines[place - 1]) and not is_quoted(lines[place]) and lines[place] != _SIGNATURE


def _trimmed(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(trim(line) for line in lines)


def _is_rest(lines: Sequence[str], block: _Block) -> bool:
    """Tells whether a block could be the end of the quoted line above it, without its mark.

    It is between two quoted lines, or the one above it is so long that a program may have wrapped it.
    """
    above = lines[block.start - 1] if block.start else ""
    if not is_quoted(above):
        return False
    if block.end < len(lines) and is_quoted(lines[block.end]):
        return True
    first = block.lines[0].partition(" ")[0]
    return len(block.lines) <= _LONGEST_REST and len(above) + 1 + len(first) > _NARROWEST


def _quotation_follows(lines: Sequence[str], place: int) -> bool:
    follows = next((line for line in lines[place:] if is_quoted(line) or _is_text(line) or line == _SIGNATURE), "")
    return is_quoted(follows)


def _introduces_ours(block: Sequence[str]) -> bool:
    """Tells whether a block introduces a letter of ours that is not marked as quoted.

    The order in a letter of somebody else would be theirs.
    """
    ours = any(_OURS in line.casefold() for line in block)
    return ours and block[-1].endswith(":") and not _without_attribution(block)


def _without_attribution(block: Sequence[str]) -> tuple[str, ...]:
    """Returns a block without the lines that introduce a quotation: those at its end of which none is an order.

    They name a letter, or there are three at most and the last one ends in a colon.
    """
    last = block[-_LONGEST_ATTRIBUTION:]
    names = any(map(_NAMES_A_LETTER.search, last))
    if not names:
        last = block[-_LONGEST_WITHOUT_NAME:] if block[-1].endswith(":") else ()
    kept = len(block)
    for line in reversed(last):
        if is_order(line):
            break
        kept -= 1
    return tuple(block[:kept])


def _header_end(lines: Sequence[str], block: _Block) -> int:
    """Returns where the header of a letter ends that begins with a block; 0 if none does.

    From HTML there may be an empty line between its fields.
    """
    place, end, fields = block.start, 0, 0
    while place < len(lines) and (trim(lines[place]) or (place > block.start and trim(lines[place - 1]))):
        line = lines[place]
        if _FIELD.match(line):
            fields, end = fields + 1, place + 1
        elif end == place and "@" in line and _is_text(line):  # a long field goes on
            end = place + 1
        elif trim(line):
            break
        place += 1
    return end if fields >= _FEWEST_FIELDS and end >= block.end else 0


def _below_unmarked(lines: Sequence[str], place: int) -> tuple[str, ...]:
    """Returns the order below a letter that is not marked as quoted; nothing if it could be the letter's.

    In letters a line to send stands below one that ends in a colon. So the order is the only block of nothing but
    orders, below something else than such a line, with at most a name below it. If each line of the letter is a block,
    it cannot be told which lines belong together.
    """
    if any(map(is_quoted, lines[place:])):
        return ()
    blocks = list(_blocks(lines, place))
    orders = [number for number, block in enumerate(blocks) if all(map(is_order, block.lines))]
    if len(orders) != 1 or all(len(block.lines) == 1 for block in blocks[: orders[0]]):
        return ()
    if blocks[orders[0] - 1].lines[-1].endswith(":"):
        return ()
    below = [line for block in blocks[orders[0] + 1 :] for line in block.lines]
    if len(below) > _LONGEST_NAME or any(len(line) > _LONGEST_SLIP or is_order(line) for line in below):
        return ()
    return blocks[orders[0]].lines


def _in_version_1(lines: Sequence[str]) -> tuple[str, ...]:
    """Returns the lines of the order by version 1: the first block that is left when attributions are passed over.

    An attribution ends in a colon, and the next line that is not empty is quoted. Bars mark no quotation.
    """
    slip: tuple[str, ...] = ()
    place = 0
    while place < len(lines) and lines[place] != _SIGNATURE:
        end = place
        while end < len(lines) and _is_text_in_version_1(lines[end]):
            end += 1
        block = lines[place:end]
        if block and block[-1].endswith(":") and next(filter(None, lines[end:]), "").startswith(">"):
            top, *more = block
            while block and len(block) > end - place - _LONGEST_WITHOUT_NAME and not is_order(block[-1], reader=1):
                block = block[:-1]
            if not slip and not block and more and len(top) <= _LONGEST_SLIP:
                slip = (trim_in_version_1(top),)
        if block:
            return tuple(map(trim_in_version_1, block))
        place = max(end, place + 1)
    return slip


def _is_text_in_version_1(line: str) -> bool:
    return line != _SIGNATURE and not line.startswith(">") and trim_in_version_1(line) != ""


_TWO_ORDERS: Final = tell("its text and its HTML have different orders")


def text_order(mail: MailPart, reader: int = READER_VERSION) -> tuple[str, ...]:
    """Returns the lines of the order in the text of a mail, whatever its Subject is.

    Raises `UnreadableMailError` also if the same text in HTML begins with another order: nobody can tell which of the
    two the player has seen. A player who wants no more letters gets none.
    """
    texts = read_texts(mail, reader)
    text = next(texts)
    lines = order_paragraph(text.lines, reader)
    if reader == 1 or not lines or lines[0].lower() in STOP_WORDS:
        return lines
    for order in _orders_in_html(texts):
        if all(map(is_order, lines)):
            if order and order_otherwise(lines[0], order[0]):
                raise UnreadableMailError(_TWO_ORDERS)
        elif is_stub(text.lines, order):
            return order
    return lines


def _orders_in_html(texts: Iterator[MailText]) -> Iterator[tuple[str, ...]]:
    """Yields the lines of the order in each of the texts that follow, up to one that cannot be read."""
    with suppress(UnreadableMailError):
        for each in texts:
            yield order_paragraph(each.lines)
