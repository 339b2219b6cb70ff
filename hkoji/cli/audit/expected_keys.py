"""The keys that the user expects in a log, from the command line or a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from hkoji.errors import InvalidError, StorageError, UsageError
from hkoji.log.entry import SERVER_NAME, is_name
from hkoji.log.public_key import PublicKey, parse_public_key
from hkoji.messages.text import shorten, tell

_FORM: Final = tell("a line is NAME ssh-ed25519 AAAA…, as in the keys.txt of an arena's export; # begins a comment")


def read_expected_keys(keys: Iterable[str], files: Iterable[str]) -> dict[str, tuple[PublicKey, ...]]:
    """Returns the keys of `--key` and `--keys`; a name may have several. Raises `UsageError` or `StorageError`."""
    pins: dict[str, tuple[PublicKey, ...]] = {}
    for name, key in (*map(parse_expected_key, keys), *(pin for file in files for pin in _read(file))):
        if key not in pins.get(name, ()):
            pins[name] = (*pins.get(name, ()), key)
    return pins


def parse_expected_key(text: str) -> tuple[str, PublicKey]:
    """Parses `NAME=KEY`; the key is text or the path of a `.pub` file. Raises `UsageError`."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(
            tell("{text!r} is not NAME=KEY", text=text),
            hint=tell("as in --key 'alice=ssh-ed25519 AAAA…' or alice=alice.pub"),
        )
    if Path(value).is_file():
        value = Path(value).read_text(encoding="ascii", errors="replace")
    return name, parse_public_key(" ".join(value.split()[:2]))


def _read(file: str) -> Iterator[tuple[str, PublicKey]]:
    """Yields the keys of a file: name, kind and key in each line; blank lines and comments are skipped."""
    try:
        text = Path(file).read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise StorageError(
            tell("cannot read {file}: {reason}", file=file, reason=error.strerror),
            hint=tell("give a file of keys"),
        ) from error
    found = False
    for number, line in enumerate(text.splitlines(), 1):
        name, *key = line.split()[:4] or ("#",)
        if name.startswith("#"):
            continue
        if not (is_name(name) or name == SERVER_NAME):
            reason = tell("{name!r} is not a player's name, nor server", name=shorten(name))
            raise _malformed(file, number, reason)
        if len(key) != 2:
            raise _malformed(file, number, tell("a line has three words: name, kind and key"))
        try:
            public = parse_public_key(" ".join(key))
        except InvalidError as error:
            raise _malformed(file, number, error.message) from None
        found = True
        yield name, public
    if not found:
        raise UsageError(tell("there is no key in {file}", file=file), hint=_FORM)


def _malformed(file: str, line: int, reason: str) -> UsageError:
    return UsageError(tell("{file}, line {line}: {reason}", file=file, line=line, reason=reason), hint=_FORM)
