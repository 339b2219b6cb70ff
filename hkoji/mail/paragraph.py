"""Which lines of a mail are the order: its first paragraph that is no quotation and introduces none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hkoji.mail.lines import clean, is_quoted, trim
from hkoji.mail.orders import is_order

_SIGNATURE: Final = "--"
_LONGEST_ATTRIBUTION: Final = 3


def order_paragraph(lines: Sequence[str]) -> tuple[str, ...]:
    """Returns the lines of the order, in the form in which `read_orders` reads them; none if there is no order.

    It ends at an empty line or a rule of `_` or `*`, a quotation or a line `--`. An attribution is what stands directly
    before a quotation and ends in a colon, in any language: its last lines, three at most, of which none is an order.
    Some programs leave an empty line between the two.
    """
    place = 0
    while place < len(lines):
        line = clean(lines[place])
        if line == _SIGNATURE:
            return ()
        if not trim(line) or is_quoted(line):
            place += 1
            continue
        block: list[str] = []
        while trim(line) and not is_quoted(line) and line != _SIGNATURE:
            block.append(line)
            place += 1
            line = clean(lines[place]) if place < len(lines) else ""
        if block[-1].endswith(":") and _quotation_follows(lines, place):
            block = _without_attribution(block)
        if block:
            return tuple(trim(each) for each in block)
    return ()


def _quotation_follows(lines: Sequence[str], place: int) -> bool:
    follows = next((line for line in map(clean, lines[place:]) if line), "")
    return is_quoted(follows)


def _without_attribution(block: list[str]) -> list[str]:
    for _ in range(_LONGEST_ATTRIBUTION):
        if not block or is_order(block[-1]):
            break
        block = block[:-1]
    return block
