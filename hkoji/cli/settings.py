"""What a person has settled on, language and deck: from the command line, the environment or the settings file.

In this order: `--lang`, anywhere in a command line; `HKOJI_LANG`; the settings file. The file is TOML:
`HKOJI_CONFIG`, else `settings.toml` in `HKOJI_HOME` if that is given (two folders are two players), else the
platform's folder for settings. It need not be there; what it holds must be right.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from hkoji.cli import chosen_deck, language
from hkoji.errors import StorageError, UsageError
from hkoji.messages.text import shorten, tell

KEYS: Final = ("lang", "deck")
"""The settings there are; each is also an option and an environment variable: `--lang`, `HKOJI_LANG`."""

_SETTINGS: Final = tell("settings: {keys}", keys=", ".join(KEYS))
_MOST_BYTES: Final = 16_384


def take(words: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    """A command line without the options that every command has, and what they say. Raises `UsageError`.

    They may stand anywhere before a `--`; given twice, the last counts.
    """
    rest: list[str] = []
    chosen: dict[str, str] = {}
    left = iter(words)
    for word in left:
        option, equals, value = word.partition("=")
        if option[:2] != "--" or option[2:] not in KEYS:
            rest.append(word)
            if word == "--":
                rest.extend(left)
            continue
        given = value if equals else next(left, None)
        if given is None:
            raise UsageError(tell("{option} needs a value", option=option), hint=tell("see `hkoji --help`"))
        chosen[option[2:]] = given
    return rest, chosen


class _Settled:
    """What this process was given, and what is in use."""

    given: Mapping[str, str] = MappingProxyType({})
    used: Mapping[str, str] | None = None


def use(chosen: Mapping[str, str], *, once: bool = False) -> None:
    """Settles on what is chosen, else on what environment and file say. Raises `UsageError`, `StorageError`.

    `once` is for a line of a batch: what is chosen there is put before what the batch was given, for that line.
    """
    if not once:
        _Settled.given, _Settled.used = chosen, None
    wanted = {**_Settled.given, **chosen}
    if wanted == _Settled.used:
        return
    for key, take_up in (("lang", language.use), ("deck", chosen_deck.use)):
        value, source = find(key, wanted)
        try:
            take_up(value, asked=not source)
        except UsageError as error:
            if not source:
                raise
            reason = tell("{source}: {reason}", source=source, reason=error.message)
            raise UsageError(reason, hint=error.hint) from error
    _Settled.used = wanted


def in_use(key: str) -> tuple[str | None, str]:
    """A setting as this process has found it, and where; see `find`."""
    return find(key, _Settled.given)


def find(key: str, chosen: Mapping[str, str]) -> tuple[str | None, str]:
    """A setting, and where it is from if it is from environment or file; None if there is none."""
    if key in chosen:
        return chosen[key], ""
    variable = f"HKOJI_{key.upper()}"
    if os.environ.get(variable):
        return os.environ[variable], variable
    value = read().get(key)
    return value, "" if value is None else str(path())


def path() -> Path:
    """The settings file."""
    given = os.environ.get("HKOJI_CONFIG")
    if given:
        return Path(given).expanduser().absolute()
    home = os.environ.get("HKOJI_HOME")
    if home:
        return Path(home).expanduser().absolute() / "settings.toml"
    from platformdirs import user_config_path

    return user_config_path("hkoji", appauthor=False) / "settings.toml"


def read() -> dict[str, str]:
    """The settings in the file, checked; none if there is no file. Raises `UsageError` and `StorageError`."""
    file = path()
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StorageError(tell("cannot read {file}: {reason}", file=file, reason=error.strerror)) from error
    return _parse(file, data)


def _parse(file: Path, data: bytes) -> dict[str, str]:
    import tomllib

    if len(data) > _MOST_BYTES:  # reading long names with dots takes the square of their length
        raise UsageError(tell("{file} is longer than a settings file", file=file), hint=_SETTINGS)
    try:
        found = tomllib.loads(data.decode())
    except RecursionError as error:
        reason = tell("it is nested too deep")
        raise UsageError(tell("{file} is no TOML: {reason}", file=file, reason=reason), hint=_SETTINGS) from error
    except ValueError as error:
        raise UsageError(tell("{file} is no TOML: {reason}", file=file, reason=shorten(str(error)))) from error
    for key, value in found.items():
        if key not in KEYS:
            raise UsageError(
                tell("{file}: there is no setting {key!r}", file=file, key=shorten(key)),
                hint=_SETTINGS,
            )
        if not isinstance(value, str):
            raise UsageError(tell("{file}: {key} is text", file=file, key=key), hint=f'{key} = "…"')
    return found
