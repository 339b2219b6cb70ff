"""Mutants of a module: the same source with one small change, by mutmut's operators.

Only the operators are mutmut's. It leaves out whatever is decorated and whatever runs when a module is imported, and
switches mutants on after import; here that is where tables, patterns and memoised functions are, so that each
mutant is a whole source.

Not changed: annotations and type aliases, decorators, `__slots__`, `__all__`, what is printed rather than computed
(everything in `tell`, `plural` and `quoted`, and the words of a `ValueError`), `strict=` of a `zip`, which like an
assert states what is so anyway, and calls of `len` and `isinstance`, of which nearly every change is a crash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import libcst as cst  # type: ignore[import-not-found, unused-ignore]
from mutmut.mutation.mutators import mutation_operators  # type: ignore[import-not-found, unused-ignore]

SCOPE: Final = 3
"""To be counted up when this module makes other mutants."""

_MESSAGES: Final = {"tell", "plural", "quoted"}
_CRASHES: Final = {"len", "isinstance"}
_TYPES: Final = {"TypeVar", "ParamSpec", "NewType"}
_PLAIN_ERRORS: Final = {"ValueError", "TypeError", "AssertionError"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change. `before` and `after` are whole lines from `line` on; `name` stays while the function stays."""

    name: str
    path: str
    function: str
    line: int
    before: tuple[str, ...]
    after: tuple[str, ...]

    def source(self, original: str) -> str:
        """The mutated module. Raises `ValueError` if `original` is not what the mutant was made from."""
        lines = original.splitlines(keepends=True)
        start = self.line - 1
        if tuple(lines[start : start + len(self.before)]) != self.before:
            raise ValueError(f"{self.path} has been edited meanwhile: start again")
        return "".join((*lines[:start], *self.after, *lines[start + len(self.before) :]))

    def difference(self) -> str:
        """The change, for people to read."""
        gone = (f"- {line.rstrip()}" for line in self.before)
        come = (f"+ {line.rstrip()}" for line in self.after)
        return "\n".join((*gone, *come))


def mutants(path: Path) -> list[Mutant]:
    """All mutants of the module at `path`, in the order of its lines. None is there twice."""
    original = path.read_text()
    module = cst.parse_module(original)
    parts = [module.code_for_node(part) for part in (*module.header, *module.body, *module.footer)]
    found: dict[str, Mutant] = {}
    seen: dict[tuple[str, ...], int] = {}
    for number, statement in enumerate(module.body, len(module.header)):
        for function, node, other in _changes(statement):
            changed = module.code_for_node(statement.deep_replace(node, other))
            if changed == parts[number]:
                continue
            changed = "".join((*parts[:number], changed, *parts[number + 1 :]))
            if changed in found:
                continue
            line, before, after = _change(original, changed)
            key = (function, *before, "=>", *after)
            seen[key] = seen.get(key, 0) + 1
            digest = hashlib.sha256(repr((path.as_posix(), key, seen[key])).encode()).hexdigest()[:10]
            name = f"{path.as_posix()}:{function}:{digest}"
            found[changed] = Mutant(name, path.as_posix(), function, line, before, after)
    return sorted(found.values(), key=lambda mutant: mutant.line)


def _changes(statement: cst.CSTNode) -> Iterator[tuple[str, cst.CSTNode, cst.CSTNode]]:
    for function, node in _places(statement, ()):
        for kind, operator in mutation_operators:
            if isinstance(node, kind):
                yield from ((function, node, other) for other in operator(node) if _strict(node) == _strict(other))


def _change(original: str, changed: str) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
    old, new = original.splitlines(keepends=True), changed.splitlines(keepends=True)
    first = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    last = 0
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1
    return first + 1, tuple(old[first : len(old) - last]), tuple(new[first : len(new) - last])


def _places(node: cst.CSTNode, within: tuple[str, ...]) -> Iterator[tuple[str, cst.CSTNode]]:
    if _left_out(node):
        return
    if isinstance(node, cst.FunctionDef | cst.ClassDef):
        within = (*within, node.name.value)
    yield ".".join(within), node
    for child in node.children:
        if isinstance(node, cst.ClassDef) and child in (*node.bases, *node.keywords):
            continue
        yield from _places(child, within)


def _left_out(node: cst.CSTNode) -> bool:
    match node:
        case cst.Annotation() | cst.Decorator() | cst.Import() | cst.ImportFrom():
            return True
        case cst.Call(func=cst.Name(value=name)) if name in _MESSAGES | _CRASHES | _TYPES:
            return True
        case cst.Raise(exc=cst.Call(func=cst.Name(value=name))) if name in _PLAIN_ERRORS:
            return True
        case cst.AnnAssign(annotation=cst.Annotation(annotation=cst.Name(value="TypeAlias"))):
            return True
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value="__slots__" | "__all__"))]):
            return True
        case cst.If(test=cst.Name(value="TYPE_CHECKING")) | cst.Arg(keyword=cst.Name(value="strict")):
            return True
    return False


def _strict(node: cst.CSTNode) -> bool:
    """Whether `node` is a call with `strict=True`."""
    if not isinstance(node, cst.Call):
        return False
    given = {arg.keyword.value: arg.value for arg in node.args if arg.keyword}
    return "strict" in given and given["strict"].deep_equals(cst.Name("True"))
