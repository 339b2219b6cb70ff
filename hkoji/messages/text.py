"""Messages that can be shown in another language later: English text that remembers what it was made of.

A `Text` is the English message, and also the template and the values it was made from. So the pure layers write English
and know nothing of languages; the code that talks to a person renders the same template from a catalogue. A message is
a whole sentence (or a whole phrase that stands by itself): grammar is the translator's. docs/languages.md.

It does not know which language anybody wants, nor where catalogues are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Protocol


class Catalogue(Protocol):
    """Templates in some language. The standard library's `gettext.NullTranslations` and its kin are catalogues."""

    def gettext(self, message: str, /) -> str:
        """The template for `message`; `message` itself if there is none."""

    def ngettext(self, one: str, many: str, number: int, /) -> str:
        """The template for so many."""


class Text(str):
    """A message in English, with its template and its values. A value may be a `Text` itself.

    `many` is the template for numbers other than one, and `number` says how many; without a plural `many` is empty.
    A message from elsewhere, of which only the English is known, has `values` None: it is looked up as it stands.
    """

    __slots__ = ("many", "number", "template", "values")

    template: str
    values: Mapping[str, object] | None
    many: str
    number: int

    def __new__(
        cls, template: str, values: Mapping[str, object] | None = None, many: str = "", number: int = 1
    ) -> Text:
        """The message; `tell`, `plural` and `quoted` are the ways to make one."""
        chosen = many if many and number != 1 else template
        made = super().__new__(cls, chosen if values is None else chosen.format(**values))
        made.template, made.values, made.many, made.number = template, values, many, number
        return made

    def __getnewargs__(self) -> tuple[str, Mapping[str, object] | None, str, int]:  # type: ignore[override]
        # `str` says its value here; this type is made again from more.
        return self.template, self.values, self.many, self.number


def tell(template: str, /, **values: object) -> Text:
    """A message: `tell("{name} has been used this round", name=name)`. The template is a literal, or is not found."""
    return Text(template, values)


def plural(one: str, many: str, number: int, /, **values: object) -> Text:
    """A message that depends on a number, which its templates may name as `{n}`."""
    return Text(one, {"n": number, **values}, many, number)


def quoted(english: str) -> Text:
    """English that came from elsewhere. It is translated if it is word for word a message without values."""
    return Text(english)


class Dictated(Text):
    """English from elsewhere together with the template and the values that it is said to be made of.

    The template is only looked up: what no catalogue has is never formatted, and the English stands as it came.
    """

    __slots__ = ()

    def __new__(  # what is made is no subclass of this
        cls, english: str, template: str, values: Mapping[str, object], many: str = "", number: int = 1
    ) -> Dictated:
        """The message that reads `english`."""
        made = str.__new__(cls, english)
        made.template, made.values, made.many, made.number = template, values, many, number
        return made

    def __getnewargs__(self) -> tuple[str, str, Mapping[str, object] | None, str, int]:  # type: ignore[override]
        return str(self), self.template, self.values, self.many, self.number


def any_of(names: Sequence[str]) -> str:
    """Names to choose from: `A or B or C`; as it is if there is only one."""
    return reduce(lambda first, last: tell("{first} or {last}", first=first, last=last), names)


def all_of(names: Sequence[str]) -> str:
    """Names that belong together: `A and B and C`; as it is if there is only one."""
    return reduce(lambda first, last: tell("{first} and {last}", first=first, last=last), names)


def render(message: str, catalogue: Catalogue) -> str:
    """`message` in the catalogue's language: a `Text` with all its values, anything else as it is."""
    if not isinstance(message, Text):
        return message
    if message.many:
        template = catalogue.ngettext(message.template, message.many, message.number)
    else:
        template = catalogue.gettext(message.template)
    if message.values is None:
        return template
    shown = {name: _shown(value, catalogue) for name, value in message.values.items()}
    if not isinstance(message, Dictated):
        return template.format(**shown)
    if template in (message.template, message.many):
        return str(message)
    try:
        return template.format(**shown)
    except (LookupError, ValueError, TypeError, AttributeError):
        return str(message)


def _shown(value: object, catalogue: Catalogue) -> object:
    if isinstance(value, Exception):  # an error of the project as what it says
        value = getattr(value, "message", value)
    return render(value, catalogue) if isinstance(value, Text) else value


def shorten(text: str, width: int = 60) -> str:
    """Returns `text` fit for a message: at most `width` characters, printable ASCII only."""
    if len(text) <= width and text.isascii() and text.isprintable():
        return text
    plain = "".join(c if " " <= c <= "~" else "?" for c in text[: width + 1])
    return plain if len(plain) <= width else plain[: width - 1] + "~"
