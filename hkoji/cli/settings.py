"""The user's settings, language and deck: from the command line, the environment or the settings file.

The first of these counts: `--lang` on the command line; `HKOJI_LANG`; the settings file. The file is TOML. It is the
file named by `HKOJI_CONFIG`; else `settings.toml` in `HKOJI_HOME` if that is set, because each home is a player of its
own; else `settings.toml` in the platform's folder for settings. The file may be missing, but must be valid. A deck
chosen on the command line must fit the game. A deck chosen elsewhere is used for the games that it fits.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from string import ascii_uppercase
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from hkoji.cli import language
from hkoji.cli.terminal import screen
from hkoji.errors import StorageError, UsageError
from hkoji.messages.text import shorten, tell

if TYPE_CHECKING:
    from hkoji.show.deck import Deck

OPTIONS: Final = ("lang", "deck")
"""The settings that are also options of all commands: `--lang`."""

KEYS: Final = (*OPTIONS, "always", "deposits")
"""All settings. Each is also an environment variable: `HKOJI_LANG`."""

ALWAYS: Final = ("only",)
"""The values of `always`: what `hkoji plans run` and `hkoji watch --plans` play in all games."""

DEPOSITS: Final = ("on", "off")
"""The values of `deposits`: whether draws of sealed games that begin from now on are deposited with the service."""

_SETTINGS: Final = tell("settings: {keys}", keys=", ".join(KEYS))
_MOST_BYTES: Final = 16_384


def split_options(words: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    """Splits off the options that every command has; returns the other words, and their values. Raises `UsageError`.

    They may stand anywhere before a `--`. If one is given twice, the last counts.
    """
    rest: list[str] = []
    chosen: dict[str, str] = {}
    left = iter(words)
    for word in left:
        option, equals, value = word.partition("=")
        if option[:2] != "--" or option[2:] not in OPTIONS:
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
    """The settings of the process's command line, and the ones in use."""

    given: Mapping[str, str] = MappingProxyType({})
    used: Mapping[str, str] | None = None


def apply(chosen: Mapping[str, str], *, once: bool = False) -> None:
    """Applies the chosen settings, else those of environment and file. Raises `UsageError`, `StorageError`.

    `once` is for a line of a batch: its settings override those of the batch, for that line.
    """
    if not once:
        _Settled.given, _Settled.used = chosen, None
    wanted = {**_Settled.given, **chosen}
    if wanted == _Settled.used:
        return
    for key, take_up in (("lang", language.use), ("deck", _use_deck)):
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
    """Returns a setting of this process and its source; see `find`."""
    return find(key, _Settled.given)


def find(key: str, chosen: Mapping[str, str]) -> tuple[str | None, str]:
    """Returns a setting (None if not set), and its source if that is the environment or the file."""
    if key in chosen:
        return chosen[key], ""
    variable = f"HKOJI_{key.upper()}"
    if os.environ.get(variable):
        return os.environ[variable], variable
    value = read().get(key)
    return value, "" if value is None else str(path())


def path() -> Path:
    """Returns the path of the settings file."""
    given = os.environ.get("HKOJI_CONFIG")
    if given:
        return Path(given).expanduser().absolute()
    home = os.environ.get("HKOJI_HOME")
    if home:
        return Path(home).expanduser().absolute() / "settings.toml"
    from platformdirs import user_config_path

    return user_config_path("hkoji", appauthor=False) / "settings.toml"


def read() -> dict[str, str]:
    """Returns the settings in the file, checked; none without a file. Raises `UsageError` and `StorageError`."""
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
        raise UsageError(tell("{file} is not TOML: {reason}", file=file, reason=reason), hint=_SETTINGS) from error
    except ValueError as error:
        raise UsageError(tell("{file} is not TOML: {reason}", file=file, reason=shorten(str(error)))) from error
    for key, value in found.items():
        if key not in KEYS:
            raise UsageError(
                tell("{file}: there is no setting {key!r}", file=file, key=shorten(key)),
                hint=_SETTINGS,
            )
        if not isinstance(value, str):
            raise UsageError(tell("{file}: {key} is text", file=file, key=key), hint=f'{key} = "…"')
    return found


def plays_only_move() -> bool:
    """Whether the only legal move is to be played in all games. Raises `UsageError` for an unknown value."""
    value, source = in_use("always")
    if value is not None:
        check_always(value, source)
    return value is not None


def check_always(value: str, source: str = "") -> None:
    """Raises `UsageError` unless it is a value of `always`."""
    if value not in ALWAYS:
        given = tell("always can be {values}, not {value!r}", values=", ".join(ALWAYS), value=shorten(value))
        raise UsageError(
            tell("{source}: {reason}", source=source, reason=given) if source else given,
            hint=tell("remove it with `hkoji config always --unset`"),
        )


def deposits_draws() -> bool:
    """Whether draws of sealed games may be deposited. Raises `UsageError` for an unknown value."""
    value, source = in_use("deposits")
    if value is not None:
        check_deposits(value, source)
    return value != "off"


def check_deposits(value: str, source: str = "") -> None:
    """Raises `UsageError` unless it is a value of `deposits`."""
    if value not in DEPOSITS:
        given = tell("deposits can be on or off, not {value!r}", value=shorten(value))
        if not source:
            raise UsageError(given, hint=tell("nothing was changed"))
        raise UsageError(
            tell("{source}: {reason}", source=source, reason=given),
            hint=tell("remove it with `hkoji config deposits --unset`"),
        )


# --- the deck ---------------------------------------------------------------------------------------------------------


class _ChosenDeck:
    deck: Deck | None = None
    asked = False


def _use_deck(name: str | None, *, asked: bool = True) -> None:
    """Makes `name` the deck of this process; None stands for every game's own cards.

    `asked` says that the command line names it. Raises `UsageError` if there is no such deck.
    """
    _ChosenDeck.asked, _ChosenDeck.deck = asked and name is not None, None
    if name is not None:
        from hkoji.show.games import find_deck

        _ChosenDeck.deck = find_deck(name)


def deck_for(ruleset: str, *, symbols: bool = False) -> Deck:
    """Returns the deck for a game. Raises `UsageError` if the command line names one that does not fit the game.

    Where the terminal does not have the deck's symbols, they are spelled out, unless `symbols` are needed in any case.
    """
    from hkoji.show.deck import STANDARD

    deck = _ChosenDeck.deck or STANDARD
    if deck.fits(ruleset):
        shown = symbols or screen().can_show(deck.write(ascii_uppercase))
        return deck if shown else deck.spelled(language.speaking())
    if _ChosenDeck.asked:
        raise UsageError(
            tell("{game} cannot be played with the deck {deck!r}", game=ruleset, deck=deck.name),
            hint=tell("leave --deck out"),
        )
    return STANDARD


def chosen_deck() -> Deck | None:
    """Returns the deck that was chosen in any way; None if there is none."""
    return _ChosenDeck.deck


def deck_is_standard() -> bool:
    """Whether every game's own cards are in use, so that a typed move needs no deck to read it."""
    return _ChosenDeck.deck is None or _ChosenDeck.deck.name == "standard"
