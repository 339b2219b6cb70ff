"""The text of an HTML part, for mails that have no other. Linear in its length: each character is looked at once.

Every tag is the end of a line, unless text stands on both sides of it and it only says how text looks: programs mark
words and link addresses. Quotations, styles and scripts are passed over; a quotation leaves one line `>`.
"""

from __future__ import annotations

import re
from html.entities import html5
from typing import Final

_TAG = re.compile(r"<(/?)([A-Za-z][^\s/>]*)")
_ATTRIBUTE = re.compile(r"""[\s/]*([^\s=>/][^\s=>/]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]*)))?""")
_SPACE = re.compile(r"[ \t\n\r\f]+")
_ENTITY = re.compile(r"&(?:#([0-9]{1,7})|#[xX]([0-9A-Fa-f]{1,6})|([A-Za-z][A-Za-z0-9]{1,31}));?")
_RAW: Final = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in ("script", "style", "title")}
"""Elements whose content is no markup, with what ends them."""
_QUOTATION: Final = "blockquote"
_QUOTATION_CLASS: Final = "gmail_quote"
_VOID: Final = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"})
_INLINE: Final = frozenset({"a", "b", "em", "font", "i", "o:p", "span", "strong", "sup", "u", "wbr"})
"""Elements that only say how text looks, or where it leads."""
_QUOTED: Final = ">"
_MOST_NEWLINES: Final = 2


def html_to_text(markup: str) -> str:
    """Returns the text of a document, with a newline for every tag; of more than two in a row two are left.

    There is none for tags that only say how text looks, if there are no others between two pieces of text.
    """
    reading = _Reading()
    place = 0
    while place < len(markup):
        less = markup.find("<", place)
        reading.add(markup[place : less if less >= 0 else len(markup)])
        if less < 0:
            break
        place = _read_markup(markup, less, reading)
    return reading.text()


def _read_markup(markup: str, place: int, reading: _Reading) -> int:
    """Reads what begins with the `<` at `place`, and returns where it ends."""
    if markup.startswith("<!--", place):
        return _after(markup, "-->", place + 4)
    if markup.startswith(("<!", "<?"), place):
        return _after(markup, ">", place + 2)
    tag = _TAG.match(markup, place)
    if tag is None:
        reading.add("<")
        return place + 1
    closing, name = bool(tag[1]), tag[2].lower()
    place, classes = _read_attributes(markup, tag.end())
    reading.tag(name, classes, closing=closing)
    if name in _RAW and not closing:
        end = _RAW[name].search(markup, place)
        return len(markup) if end is None else end.start()
    return place


def _read_attributes(markup: str, place: int) -> tuple[int, list[str]]:
    classes: list[str] = []
    while (attribute := _ATTRIBUTE.match(markup, place)) is not None:
        place = attribute.end()
        if attribute[1].lower() == "class":
            classes = (attribute[2] or attribute[3] or attribute[4] or "").lower().split()
    return _after(markup, ">", place), classes


def _after(markup: str, end: str, place: int) -> int:
    found = markup.find(end, place)
    return len(markup) if found < 0 else found + len(end)


class _Reading:
    """The text so far, and the element that is being passed over, with how often it is open."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._tags = 0
        """How many tags have come since the last text."""
        self._within = True
        """Whether these tags, and what is to come, may stand within a line."""
        self._space = ""
        self._skipped = ""
        self._depth = 0

    def text(self) -> str:
        return "".join(self._parts)

    def add(self, source: str) -> None:
        """Adds text between tags."""
        text = "" if self._skipped else _SPACE.sub(" ", source)
        if text.strip():
            self._write(_ENTITY.sub(_character, text))
        else:
            self._space = text or self._space

    def tag(self, name: str, classes: list[str], *, closing: bool) -> None:
        """Notes a tag."""
        if self._skipped:
            if name == self._skipped:
                self._depth += -1 if closing else 1
                self._skipped = self._skipped if self._depth else ""
            return
        self._tags += 1
        quotation = name == _QUOTATION or _QUOTATION_CLASS in classes
        self._within = self._within and name in _INLINE and not quotation
        if closing or name in _VOID:
            return
        if name in _RAW:
            self._skipped, self._depth = name, 1
        elif quotation:
            self._skipped, self._depth = name, 1
            self._write(_QUOTED)
            self._tags, self._within = 1, False

    def _write(self, text: str) -> None:
        if self._within:
            self._parts.append(self._space)
        elif self._parts:
            self._parts.append("\n" * min(self._tags, _MOST_NEWLINES))
        self._parts.append(text)
        self._tags, self._within, self._space = 0, True, ""


def _character(entity: re.Match[str]) -> str:
    if entity[3]:
        return html5.get(f"{entity[3]};", entity[0])
    code = int(entity[1]) if entity[1] else int(entity[2], 16)
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\N{REPLACEMENT CHARACTER}"
