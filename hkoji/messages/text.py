"""Messages that can be translated later: English texts that keep their template and values. docs/languages.md.

So the pure layers write English and know nothing of languages. The code that shows a message to a person renders the
same template from a catalogue. A message is a complete sentence, or a phrase that stands alone, so that translators can
use their own grammar.

A `Speaker` gives a message in one language. All code that makes words for people takes it as an argument, so that one
process can speak to several people. For a reader in another language a message also passes as JSON, with its template
and values. A received template is not trusted: it is looked up in the reader's own catalogues, or not used. This module
reads neither files nor the environment: `hkoji.manual` loads catalogues.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import Any, Final, Protocol, TypeAlias


class Catalogue(Protocol):
    """Templates in some language. The standard library's `gettext.NullTranslations` and its kin are catalogues."""

    def gettext(self, message: str, /) -> str:
        """Returns the template for `message`; `message` itself if there is none."""

    def ngettext(self, one: str, many: str, number: int, /) -> str:
        """Returns the template for this number."""


class Text(str):
    """A message in English, with its template and its values. A value may be a `Text` itself.

    `many` is the template for numbers other than one, and `number` says how many; without a plural `many` is empty.
    If `values` is None, only the English text is known, and the catalogue is searched for that text.
    """

    __slots__ = ("many", "number", "template", "values")

    template: str
    values: Mapping[str, object] | None
    many: str
    number: int

    def __new__(
        cls, template: str, values: Mapping[str, object] | None = None, many: str = "", number: int = 1
    ) -> Text:
        """Makes the message. Callers use `tell`, `plural` or `quoted`."""
        chosen = many if many and number != 1 else template
        made = super().__new__(cls, chosen if values is None else chosen.format(**values))
        made.template, made.values, made.many, made.number = template, values, many, number
        return made

    def __getnewargs__(self) -> tuple[str, Mapping[str, object] | None, str, int]:  # type: ignore[override]
        # For copies and pickles: `str` would give its value only, but `__new__` needs the parts.
        return self.template, self.values, self.many, self.number


def tell(template: str, /, **values: object) -> Text:
    """Returns a message: `tell("{name} has been used this round", name=name)`. The template must be a literal."""
    return Text(template, values)


def plural(one: str, many: str, number: int, /, **values: object) -> Text:
    """Returns a message that depends on a number, which its templates may name as `{n}`."""
    return Text(one, {"n": number, **values}, many, number)


def quoted(english: str) -> Text:
    """Returns English text from elsewhere as a message. It is translated if it equals a message without values."""
    return Text(english)


class Dictated(Text):
    """English text from elsewhere, with the template and the values that its sender gives.

    A template that is in no catalogue is never formatted; then the English text is shown unchanged.
    """

    __slots__ = ()

    def __new__(  # there are no subclasses
        cls, english: str, template: str, values: Mapping[str, object], many: str = "", number: int = 1
    ) -> Dictated:
        """Makes the message whose English is `english`."""
        made = str.__new__(cls, english)
        made.template, made.values, made.many, made.number = template, values, many, number
        return made

    def __getnewargs__(self) -> tuple[str, str, Mapping[str, object] | None, str, int]:  # type: ignore[override]
        return str(self), self.template, self.values, self.many, self.number


def any_of(names: Sequence[str]) -> str:
    """Returns names to choose from: `A or B or C`; a single name alone."""
    return reduce(lambda first, last: tell("{first} or {last}", first=first, last=last), names)


def all_of(names: Sequence[str]) -> str:
    """Returns names that belong together: `A and B and C`; a single name alone."""
    return reduce(lambda first, last: tell("{first} and {last}", first=first, last=last), names)


def render(message: str, catalogue: Catalogue) -> str:
    """Returns `message` in the catalogue's language: a `Text` with all its values, any other text unchanged.

    A value that may come from elsewhere stays within its line, and cannot steer a terminal: see `printable`.
    """
    if not isinstance(message, Text):
        return message
    if message.many:
        template = catalogue.ngettext(message.template, message.many, message.number)
    else:
        template = catalogue.gettext(message.template)
    if message.values is None:
        return template
    values = {name: _rendered(value, catalogue) for name, value in message.values.items()}
    if not isinstance(message, Dictated):
        return template.format(**values)
    if template in (message.template, message.many):
        return printable(str(message))
    try:
        return template.format(**values)
    except (LookupError, ValueError, TypeError, AttributeError):
        return printable(str(message))


def _rendered(value: object, catalogue: Catalogue) -> object:
    if isinstance(value, Exception):  # an error of the project stands for its message
        value = getattr(value, "message", value)
    if isinstance(value, Text):
        return render(value, catalogue)
    # A value may come from elsewhere: it must not begin a line of its own.
    return value if value is None or isinstance(value, int | float) else printable(str(value))


def printable(text: str, keep: str = "") -> str:
    """Returns `text` without characters that steer a terminal: those that cannot be printed are shown as escapes.

    Control characters, marks for the direction of writing and line separators are such; those in `keep` stay.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each in keep else _escape(each) for each in text)


def _escape(character: str) -> str:
    # The other spaces of Unicode are not printable in Python's sense.
    return " " if unicodedata.category(character) == "Zs" else character.encode("unicode_escape").decode()


def shorten(text: str, width: int = 60) -> str:
    """Returns `text` in a form that fits into a message: at most `width` characters, printable ASCII only."""
    if len(text) <= width and text.isascii() and text.isprintable():
        return text
    plain = "".join(c if " " <= c <= "~" else "?" for c in text[: width + 1])
    return plain if len(plain) <= width else plain[: width - 1] + "~"


Speaker: TypeAlias = Callable[[str], str]
"""Returns a `Text` in the speaker's language, and any other text unchanged. `str` is the speaker of English."""

ENGLISH: Final = "en"
LANGUAGES: Final[dict[str, str]] = {ENGLISH: "English", "it": "italiano"}
"""The languages by code, each with its name in that language. All except English have a catalogue."""

_LOCALES: Final = ("LC_ALL", "LC_MESSAGES", "LANG")


def speaker(catalogue: Catalogue | None) -> Speaker:
    """Returns a speaker of the catalogue's language; None stands for English, which needs no catalogue."""
    return partial(render, catalogue=_English() if catalogue is None else catalogue)


class _English:
    """The catalogue of the language in which the messages are written."""

    def gettext(self, message: str, /) -> str:
        return message

    def ngettext(self, one: str, many: str, number: int, /) -> str:
        return one if number == 1 else many


def language_of_locale(environ: Mapping[str, str]) -> str:
    """Returns the language that an environment asks for, English if it asks for none of `LANGUAGES`.

    `LANGUAGE`, which is a list, comes first; then the first of `LC_ALL`, `LC_MESSAGES` and `LANG` that is set.
    """
    wanted = environ.get("LANGUAGE", "").split(":")
    wanted.append(next((value for name in _LOCALES if (value := environ.get(name))), ""))
    for each in wanted:
        name = each.partition(".")[0].partition("@")[0].partition("_")[0].lower()
        if name in LANGUAGES:
            return name
        if name in ("c", "posix"):
            break
    return ENGLISH


_DEEPEST: Final = 3
_MOST: Final = 12
_LONGEST: Final = 300


class Explained(Protocol):
    """An error with a message and a hint, such as every `HkojiError`."""

    message: str
    hint: str


def dismantle(message: str) -> dict[str, Any] | None:  # Any: JSON
    """Returns the parts of a message: `text`, `values`, and for a plural `many` and `number`; None if not known."""
    if not isinstance(message, Text) or message.values is None:
        return None
    parts: dict[str, Any] = {
        "text": message.template,
        "values": {name: _value(value) for name, value in message.values.items()},
    }
    if message.many:
        parts |= {"many": message.many, "number": message.number}
    return parts


def assemble(english: str, parts: object, depth: int = 0) -> str:
    """Returns `english` as a message with `parts`, which come from `dismantle`; unchanged if they are malformed."""
    match parts:
        case {"text": str(template), "values": dict(values), **rest} if len(values) <= _MOST and depth < _DEEPEST:
            many, number = rest.get("many", ""), rest.get("number", 1)
            if not isinstance(many, str) or type(number) is not int:
                return english
            read = {str(name): _read(value, depth) for name, value in values.items()}
            return Dictated(english, template, read, many, number)
    return english


def parts_of(error: Explained) -> dict[str, Any]:  # Any: JSON
    """Returns the known parts of an error's `detail` and `hint`, as a problem document contains them."""
    parts = {"detail": dismantle(error.message), "hint": dismantle(error.hint)}
    return {name: made for name, made in parts.items() if made is not None}


def _value(value: object) -> Any:  # Any: JSON
    value = getattr(value, "message", value) if isinstance(value, Exception) else value
    if isinstance(value, Text) and (parts := dismantle(value)) is not None:
        return {"english": str(value), **parts}
    return value if isinstance(value, bool | int | None) else str(value)


def _read(value: object, depth: int) -> object:
    if isinstance(value, dict):
        return assemble(shorten(str(value.get("english", "")), _LONGEST), value, depth + 1)
    return shorten(value, _LONGEST) if isinstance(value, str) else value if isinstance(value, bool | int) else None
