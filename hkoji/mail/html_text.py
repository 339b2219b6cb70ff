"""The text of an HTML part, for mails that have no other. Linear in its length: each character is looked at once.

Every tag is the end of a line, unless text stands on both sides of it and it only says how text looks: programs mark
words and link addresses. Quotations, styles, scripts and what is struck out or not displayed are passed over; a
quotation leaves one line `>`. In `pre` the ends of lines are kept.
"""

from __future__ import annotations

import re
from html.entities import html5
from typing import Final

_TAG = re.compile(r"<(/?)([A-Za-z][^\s/>]*)")
_ATTRIBUTE = re.compile(r"""[\s/]*([^\s=>/][^\s=>/]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]*)))?""")
_ATTRIBUTES: Final = ("class", "style", "hidden")
"""The attributes that are read."""
_SPACE = re.compile(r"[ \t\n\r\f]+")
_ENTITY = re.compile(r"&(?:#([0-9]{1,7})|#[xX]([0-9A-Fa-f]{1,6})|([A-Za-z][A-Za-z0-9]{1,31}));?")
_RAW: Final = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in ("script", "style", "title")}
"""Elements whose content is no markup, with what ends them."""
_QUOTATION: Final = "blockquote"
_QUOTATION_CLASS: Final = "gmail_quote"
_VOID: Final = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"})
_KEEPING: Final = frozenset({"pre", "listing", "xmp"})
"""Elements in which the ends of lines are kept."""
_KEEPS = re.compile(r"(?:^|;)white-space:(?:pre|break-spaces)")
_ZERO: Final = r":0(?:\.0*)?[a-z%]*(?=[;!]|$)"
_HIDES = re.compile(
    r"(?:^|;)(?:display:none|visibility:hidden|mso-hide:all|color:transparent|text-decoration(?:-line)?:[^;]*line-through|"
    rf"(?:font-size|max-height|opacity){_ZERO})"
)
"""Styles, without spaces, of what is kept so, or is not displayed or struck out."""
_STRUCK_OUT: Final = frozenset({"del", "s", "strike"})
_INLINE: Final = frozenset({"a", "b", "em", "font", "i", "o:p", "span", "strong", "sup", "u", "wbr"})
"""Elements that only say how text looks, or where it leads."""
_QUOTED: Final = ">"
_MOST_NEWLINES: Final = 2


def html_to_text(markup: str, reader: int) -> str:
    """Returns the text of a document, with a newline for every tag; of more than two in a row two are left.

    There is none for tags that only say how text looks, if there are no others between two pieces of text. Version 1 of
    the `reader` of mails read hidden text too, and ended no line in `pre`.
    """
    reading = _Reading(by_style=reader > 1)
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
    place, attributes = _read_attributes(markup, tag.end())
    reading.tag(name, attributes, closing=closing)
    if name in _RAW and not closing:
        end = _RAW[name].search(markup, place)
        return len(markup) if end is None else end.start()
    return place


def _read_attributes(markup: str, place: int) -> tuple[int, dict[str, str]]:
    attributes: dict[str, str] = {}
    while (attribute := _ATTRIBUTE.match(markup, place)) is not None:
        place = attribute.end()
        if attribute[1].lower() in _ATTRIBUTES:
            attributes[attribute[1].lower()] = (attribute[2] or attribute[3] or attribute[4] or "").lower()
    return _after(markup, ">", place), attributes


def _after(markup: str, end: str, place: int) -> int:
    found = markup.find(end, place)
    return len(markup) if found < 0 else found + len(end)


class _Reading:
    """The text so far, and the element that is being passed over, with how often it is open."""

    def __init__(self, *, by_style: bool) -> None:
        self._by_style = by_style
        self._parts: list[str] = []
        self._tags = 0
        """How many tags have come since the last text."""
        self._within = True
        """Whether these tags, and what is to come, may stand within a line."""
        self._space = ""
        self._skipped = ""
        self._depth = 0
        self._keeping = ""
        """The element in which ends of lines are kept."""
        self._keeping_depth = 0

    def text(self) -> str:
        return "".join(self._parts)

    def add(self, source: str) -> None:
        """Adds text between tags."""
        if self._skipped or not self._keeping:
            self._add("" if self._skipped else source)
            return
        first, *lines = source.replace("\r\n", "\n").split("\n")
        self._add(first)
        for line in lines:
            self._tags, self._within = self._tags + 1, False
            self._add(line)

    def _add(self, source: str) -> None:
        text = _SPACE.sub(" ", source)
        if text.strip():
            self._write(_ENTITY.sub(_character, text))
        else:
            self._space = text or self._space

    def tag(self, name: str, attributes: dict[str, str], *, closing: bool) -> None:
        """Notes a tag."""
        if self._skipped:
            if name == self._skipped:
                self._depth += -1 if closing else 1
                self._skipped = self._skipped if self._depth else ""
            return
        self._tags += 1
        quotation = name == _QUOTATION or _QUOTATION_CLASS in attributes.get("class", "").split()
        self._within = self._within and name in _INLINE and not quotation
        if name == self._keeping:
            self._keeping_depth += -1 if closing else 1
            self._keeping = self._keeping if self._keeping_depth else ""
        if closing or name in _VOID:
            return
        style = _SPACE.sub("", attributes.get("style", ""))
        hidden = name in _STRUCK_OUT or "hidden" in attributes or _HIDES.search(style)
        if name in _RAW or (self._by_style and hidden):
            self._skipped, self._depth = name, 1
        elif quotation:
            self._skipped, self._depth = name, 1
            self._write(_QUOTED)
            self._tags, self._within = 1, False
        elif self._by_style and not self._keeping and (name in _KEEPING or _KEEPS.search(style)):
            self._keeping, self._keeping_depth = name, 1

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
