"""Finds sentences and names that this project does not write. `python -m scripts.words` prints them, and then fails.

Read are docstrings, comments, messages, also those of templates and scripts, and pages, the names of tests and classes,
and the subjects of the last commits.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from scripts.build.catalogues import messages, sources

ROOT: Final = Path(__file__).parents[1]
_BEGINNING: Final = r"(?:\A|(?<=[.:;!?]\s)|(?<=\n\n))[\s\"`*(]*"
SENTENCES: Final = {
    "begins with who, whose, what or of what": re.compile(
        _BEGINNING + r"(?:Who|Whoever|Whose|What|Whatever|Of what)\b(?:[^.?!]|\?(?=\s*[`a-z]))*(?:[.!]|\Z)"
    ),
}
"""Sentences that make a reader wait for the verb, by their fault. A question may begin so."""
NAMES: Final = {
    "begins with who or what": re.compile(r"test_(?:who|whoever|whose|what|whatever|of_what)_\w*"),
    "is a picture, not a thing": re.compile(r"_(?:Desk|FullHouse|Door)"),
}
"""Names that no function and no class has, by their fault."""
EXCEPTIONS: Final[frozenset[str]] = frozenset()
"""Sentences that stay, because a format or a person's own words have them."""
_SUBJECT: Final = 72
_COMMITS: Final = 50
_LEFT_OUT: Final = ("tests/data/", "docs/measurements/", "tests/test_rooms.py")


class Place(NamedTuple):
    """A text in a file, and the line on which it begins."""

    file: str
    line: int
    text: str


def _listed(*patterns: str) -> list[str]:
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, check=True, capture_output=True, text=True)
    return [name for name in listed.stdout.splitlines() if not name.startswith(_LEFT_OUT) and (ROOT / name).exists()]


def _comments(name: str, source: str) -> Iterator[Place]:
    """The comments of a module; lines that follow each other are one text."""
    begun, said, last = 0, "", 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            alone = not token.line[: token.start[1]].strip()
            if alone and token.start[0] == last + 1:
                said += " " + token.string.lstrip("# ")
            else:
                yield Place(name, begun, said)
                begun, said = token.start[0], token.string.lstrip("#: ")
            last = token.start[0]
    yield Place(name, begun, said)


def texts() -> Iterator[Place]:
    """Everything that people read in the product, its tests and its pages."""
    for name in _listed("*.py"):
        source = (ROOT / name).read_text(encoding="utf-8")
        yield from _comments(name, source)
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield Place(name, node.lineno, node.value)
    for path in (path for path in sources() if path.suffix != ".py"):
        for message in messages(path):
            for each in (message,) if isinstance(message, str) else message:
                yield Place(str(path.relative_to(ROOT)), 1, each)
    for name in _listed("*.md"):
        yield Place(name, 1, (ROOT / name).read_text(encoding="utf-8"))


def names() -> Iterator[Place]:
    """The names of all functions and classes."""
    for name in _listed("*.py"):
        for node in ast.walk(ast.parse((ROOT / name).read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield Place(name, node.lineno, node.name)


def found() -> Iterator[str]:
    """Each fault with its place."""
    for place in texts():
        for why, expression in SENTENCES.items():
            for match in expression.finditer(place.text):
                said = " ".join(match[0].split())
                if said not in EXCEPTIONS:
                    yield f"{place.file}:{place.line + place.text[: match.start()].count(chr(10))}: {why}: {said}"
    for place in names():
        for why, expression in NAMES.items():
            if expression.fullmatch(place.text):
                yield f"{place.file}:{place.line}: {why}: {place.text}"
    log = subprocess.run(
        ["git", "log", f"-{_COMMITS}", "--format=%h %s"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    for line in log.stdout.splitlines():
        commit, _, subject = line.partition(" ")
        if len(subject) > _SUBJECT:
            yield f"commit {commit}: its subject is longer than {_SUBJECT} characters"


if __name__ == "__main__":
    _faults = list(found())
    print(*_faults, sep="\n", file=sys.stderr)
    sys.exit(bool(_faults))
