"""Which lines of a mail are the order: its first paragraph that is no quotation and introduces none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hkoji.mail.lines import clean, is_quoted, trim
from hkoji.mail.orders import is_order

_SIGNATURE: Final = "--"
_LONGEST_ATTRIBUTION: Final = 3
_LONGEST_SLIP: Final = 20


def order_paragraph(lines: Sequence[str]) -> tuple[str, ...]:
    """Returns the lines of the order, in the form in which `read_orders` reads them; none if there is no order.

    It ends at an empty line or a rule of `_` or `*`, a quotation or a line `--`. An attribution is what stands directly
    before a quotation and ends in a colon, in any language: its last lines, three at most, of which none is an order.
    Some programs leave an empty line between the two.

    Others leave none above the attribution. So if nothing else is left, a short line at its top is what was written,
    and can be answered, though it is no order.
    """
    slip: tuple[str, ...] = ()
    place = 0
    while place < len(lines):
        line = clean(lines[place])
        if line == _SIGNATURE:
            break
        if not trim(line) or is_quoted(line):
            place += 1
            continue
        block: list[str] = []
        while trim(line) and not is_quoted(line) and line != _SIGNATURE:
            block.append(line)
            place += 1
            line = clean(lines[place]) if place < len(lines) else ""
        if block[-1].endswith(":") and _quotation_follows(lines, place):
            top, *more = block
            block = _without_attribution(block)
            if not slip and not block and more and len(top) <= _LONGEST_SLIP:
                slip = (trim(top),)
        if block:
            return tuple(trim(each) for each in block)
    return slip


def _quotation_follows(lines: Sequence[str], place: int) -> bool:
    follows = next((line for line in map(clean, lines[place:]) if line), "")
    return is_quoted(follows)


def _without_attribution(block: list[str]) -> list[str]:
    for _ in range(_LONGEST_ATTRIBUTION):
        if not block or is_order(block[-1]):
            break
        block = block[:-1]
    return block
