"""Builds the catalogues in hkoji/locale from the messages of the sources and the help: every .po and every .mo.

    python -m scripts.build.catalogues           write what is out of date, report what is left to translate
    python -m scripts.build.catalogues --check   fail if anything is out of date, untranslated, fuzzy or ill-formed

A translation must name exactly the values that its message names, and must have all plural forms of its language.
docs/languages.md explains how to mark and to translate a message.
"""

from __future__ import annotations

import ast
import io
import json
import string
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from jinja2 import Environment, nodes

from hkoji.cli.app import root_command, whole
from hkoji.cli.help import find as find_help
from hkoji.manual.catalogues import DOMAIN, LOCALE
from hkoji.messages.text import ENGLISH, LANGUAGES

ROOT: Final = Path(__file__).parents[2]
SOURCES: Final = ("hkoji", "server/hkoji_server")
WEB: Final = ROOT / "server" / "hkoji_server" / "web"
MARKS: Final = {"_": (0,), "tell": (0,), "_n": (0, 1), "plural": (0, 1), "by": (1, 2), "said": (0,)}
"""The functions and methods that mark messages, and which of their arguments are messages."""
METHODS: Final = ("by", "said")
PLURALS: Final = ("_n", "plural")
MARKING: Final = ROOT / "hkoji" / "cli" / "language.py"
"""The module that defines `_` and similar functions; their templates are no literals there."""
WIDTH: Final = 110


def extract() -> Catalog:
    """The messages of the sources, with the files they are in; line numbers would change with every commit."""
    catalog = Catalog(project=DOMAIN, charset="utf-8")
    for path in sources():
        for message in messages(path):
            catalog.add(message, locations=[(str(path.relative_to(ROOT)), 0)])
    for words in find_help(root_command(whole())):
        if words.message.values is None:
            catalog.add(words.message.template, locations=[("hkoji/cli/app.py", 0)])
    return catalog


def sources() -> Iterator[Path]:
    """The files that have messages: modules, the templates of pages, and the words of scripts."""
    for folder in SOURCES:
        yield from sorted((ROOT / folder).rglob("*.py"))
    yield from sorted((WEB / "templates").iterdir())
    yield WEB / "words.json"


def messages(path: Path) -> Iterator[str | tuple[str, str]]:
    """The messages of a file. Raises `ValueError` for one that is no literal."""
    reader = {".py": in_module, ".json": in_words}.get(path.suffix, in_template)
    return reader(path)


def in_module(path: Path) -> Iterator[str | tuple[str, str]]:
    """The messages of a module, in its order."""
    # Babel's own reader of Python works on tokens and misses messages inside an f-string.
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
        name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
        places = MARKS.get(name, ())
        if isinstance(call.func, ast.Attribute) != (name in METHODS) or not places:
            continue
        parts = [each.value for n, each in enumerate(call.args) if n in places and isinstance(each, ast.Constant)]
        texts = [each for each in parts if isinstance(each, str)]
        if len(texts) < len(places):
            if path == MARKING:
                continue
            raise ValueError(f"{path.relative_to(ROOT)}:{call.lineno}: a message is a literal")
        if name in PLURALS:
            yield texts[0], texts[1]
        else:
            yield from texts


def in_template(path: Path) -> Iterator[str | tuple[str, str]]:
    """The messages of a template, which `t` marks."""
    for call in Environment(autoescape=True).parse(path.read_text(encoding="utf-8")).find_all(nodes.Call):
        if isinstance(call.node, nodes.Name) and call.node.name == "t":
            texts = [each.value for each in call.args if isinstance(each, nodes.Const)]
            if not texts or len(texts) < len(call.args):
                raise ValueError(f"{path.relative_to(ROOT)}:{call.lineno}: a message is a literal")
            yield (texts[0], texts[1]) if len(texts) > 1 else texts[0]


def in_words(path: Path) -> Iterator[str | tuple[str, str]]:
    """The messages of scripts."""
    for part in json.loads(path.read_bytes()).values():
        yield from (text if isinstance(text, str) else (text[0], text[1]) for text in part.values())


def written(catalog: Catalog) -> str:
    """A catalogue as text that depends on its messages alone."""
    buffer = io.BytesIO()
    write_po(buffer, catalog, width=WIDTH, sort_by_file=True, include_lineno=False, ignore_obsolete=True)
    # Not Babel's header, which has its version and the time.
    lines = buffer.getvalue().decode().splitlines(keepends=True)
    start = next(n for n, line in enumerate(lines) if line.startswith("msgid"))
    kept = ("Language:", "Plural-Forms", "MIME-Version", "Content-Type", "Content-Transfer")
    end = next(n for n, line in enumerate(lines) if n > start and line == "\n")
    head = [line for line in lines[start:end] if not line.startswith('"') or line[1:].startswith(kept)]
    return "".join([*head, *lines[end:]])


def merged(template: Catalog, path: Path, language: str) -> Catalog:
    """A language's catalogue with exactly the template's messages; no translation is guessed."""
    catalog = Catalog(locale=language)
    if path.is_file():
        with path.open("rb") as file:
            catalog = read_po(file, locale=language, abort_invalid=True)
    catalog.update(template, no_fuzzy_matching=True, update_header_comment=False)
    catalog.obsolete.clear()
    catalog.project = DOMAIN
    return catalog


def compiled(catalog: Catalog) -> bytes:
    """The binary catalogue that the standard library's gettext reads."""
    catalog.creation_date = catalog.revision_date = datetime(2026, 1, 1, tzinfo=UTC)  # instead of the current time
    buffer = io.BytesIO()
    write_mo(buffer, catalog)
    return buffer.getvalue()


def faults(catalog: Catalog) -> Iterator[str]:
    """The errors in the translations."""
    for message in catalog:
        if not message.id:
            continue
        for fault in _faults(message, catalog.num_plurals):
            where = ", ".join(sorted({name for name, _ in message.locations}))
            yield f"{fault}: {_ids(message)[0]!r} ({where})"


def _faults(message: Message, plurals: int) -> Iterator[str]:
    held = message.string if isinstance(message.string, tuple | list) else (message.string,)
    translations = [each or "" for each in held]
    if message.fuzzy:
        yield "fuzzy"
    if isinstance(message.id, tuple | list) and len(translations) != plurals:
        yield f"needs {plurals} forms"
    if not all(translations):
        yield "untranslated"
        return
    named = [fields(each) for each in _ids(message)]
    allowed = set().union(*named)
    # A form for one thing may leave out its number: "one card". A value that only one English form names is optional.
    wanted = set.intersection(*named) - ({"n"} if len(named) > 1 else set())
    for translation in translations:
        try:
            found = fields(translation)
        except ValueError as error:
            yield f"ill-formed ({error})"
            continue
        if not wanted <= found <= allowed:
            yield f"names {sorted(found)} and not {sorted(allowed)}"
        if translation.count("\n") != _ids(message)[0].count("\n"):
            yield "has another number of lines"


def _ids(message: Message) -> tuple[str, ...]:
    return tuple(message.id) if isinstance(message.id, tuple | list) else (message.id,)


def fields(template: str) -> set[str]:
    """The names of the values in a template, as in `{name!r}`. Raises `ValueError`."""
    found = set()
    for _literal, name, spec, _conversion in string.Formatter().parse(template):
        if name is not None:
            if not name.isidentifier():
                raise ValueError(f"{{{name}}} is no value's name")
            found.add(name)
            found |= fields(spec or "")
    return found


def outdated() -> Iterator[tuple[Path, bytes, list[str]]]:
    """Every file with its required contents, and the errors in the translations."""
    template = extract()
    for language in LANGUAGES:
        if language != ENGLISH:
            folder = LOCALE / language / "LC_MESSAGES"
            catalog = merged(template, folder / f"{DOMAIN}.po", language)
            po = written(catalog)
            yield folder / f"{DOMAIN}.po", po.encode(), list(faults(catalog))
            yield folder / f"{DOMAIN}.mo", compiled(read_po(io.StringIO(po), locale=language)), []


def main() -> None:
    """Writes the catalogues, or with `--check` compares them."""
    check = "--check" in sys.argv[1:]
    wrong = []
    for path, data, found in outdated():
        shown = path.relative_to(ROOT)
        wrong += [f"{shown}: {fault}" for fault in found]
        if not path.is_file() or path.read_bytes() != data:
            if check:
                wrong.append(f"{shown} is not what python -m scripts.build.catalogues makes")
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
