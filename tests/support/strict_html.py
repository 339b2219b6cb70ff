"""A strict reader of HTML: elements are closed in order, and what browsers would have to repair is refused."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Final

VOID: Final = frozenset(("br", "hr", "img", "input", "link", "meta", "path", "circle", "rect", "use"))
_NOT_IN_PARAGRAPHS: Final = frozenset(
    ("details", "div", "dl", "h1", "h2", "h3", "main", "nav", "ol", "p", "pre", "section", "table", "ul")
)
_PLACES: Final = {"li": ("ol", "ul", "template"), "dt": ("dl", "div"), "dd": ("dl", "div"), "summary": ("details",)}
_LOOSE: Final = re.compile(r"&(?!#\d+;|#x[0-9a-fA-F]+;|[a-zA-Z]+;)|<(?![a-zA-Z/!])")


class StrictPage(HTMLParser):
    """A page that has been read. `texts` are all its texts; `attributes` all (element, name, value)."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self._open: list[str] = []
        assert source.startswith("<!DOCTYPE html>"), source[:40]
        fault = _LOOSE.search(source)
        assert fault is None, source[fault.start() - 40 : fault.start() + 40] if fault else ""
        self.feed(source)
        self.close()
        assert self._open == []
        ids = self.values("id")
        assert len(ids) == len(set(ids)), ids

    def values(self, name: str) -> list[str]:
        """The values of all attributes of that name."""
        return [value for _, given, value in self.attributes if given == name]

    @property
    def text(self) -> str:
        """All that a reader sees, in one line."""
        return " ".join(" ".join(self.texts).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), (tag, names)
        assert tag not in _NOT_IN_PARAGRAPHS or "p" not in self._open, (tag, self._open)
        assert tag not in _PLACES or self._open[-1] in _PLACES[tag], (tag, self._open)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID and (not self._open or self._open[-1] != tag):
            return
        assert self._open, tag
        assert self._open.pop() == tag, (tag, self._open)

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] not in ("script", "style"):
            self.texts.append(data)
