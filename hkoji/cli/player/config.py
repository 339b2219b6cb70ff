"""`hkoji config`: shows the settings with their sources, and changes the settings file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hkoji.cli.language import _, check
from hkoji.cli.output import CommandOutput
from hkoji.cli.settings import KEYS, check_always, in_use, path, read
from hkoji.client.kept.files import write_file
from hkoji.errors import UsageError
from hkoji.messages.text import shorten, tell
from hkoji.show.decks import find_deck

if TYPE_CHECKING:
    from hkoji.client import Client

INVITES: Final = "invites"
"""The setting that the player's service keeps."""


def run(out: CommandOutput, key: str | None, value: str | None, *, unset: bool) -> None:
    """Shows all settings or one, after changing or removing one. Raises `UsageError` and `StorageError`."""
    if key is not None and key not in KEYS:
        raise UsageError(
            tell("there is no setting {key!r}", key=shorten(key)),
            hint=tell("settings: {keys}", keys=", ".join((*KEYS, INVITES))),
        )
    if unset and (key is None or value is not None):
        raise UsageError(tell("--unset takes a key and nothing else"), hint="hkoji config lang --unset")
    if key is not None and (unset or value is not None):
        keep(key, value)
    found_in = {each: in_use(each) for each in (KEYS if key is None else (key,))}
    kept = read()
    shown = {
        "file": str(path()),
        "settings": {
            each: {"value": found, "from": source or ("option" if found is not None else None), "kept": kept.get(each)}
            for each, (found, source) in found_in.items()
        },
    }

    def text() -> str:
        lines = [_("settings file: {file}", file=path())]
        for each, (found, source) in found_in.items():
            if found is None:
                lines.append(_("{key}: not set", key=each))
            else:
                lines.append(_("{key}: {value}, by {source}", key=each, value=found, source=source or f"--{each}"))
        return "\n".join(lines)

    out.result(shown, text)


def invites(client: Client, out: CommandOutput, value: str | None, *, unset: bool) -> None:
    """Shows whose invitations the player accepts, after changing that at the service. `unset` means everyone."""
    if unset and value is not None:
        raise UsageError(tell("--unset takes a key and nothing else"), hint="hkoji config invites --unset")
    from hkoji.client.player_settings import ServiceChoices

    service = client.service()
    choices = ServiceChoices(client.home, service)
    wanted = "everyone" if unset else value
    found = choices.invites() if wanted is None else choices.set_invites(wanted)

    def text() -> str:
        said = _("{key}: {value}, by {source}", key=INVITES, value=found.invites, source=service.url)
        if found.invites != "known":
            return said
        names = ", ".join(found.known) or _("none")
        return f"{said}\n{_('known as well as past opponents, because you trust their keys: {names}', names=names)}"

    kept = {"value": found.invites, "from": service.url, "kept": found.invites}
    out.result({"file": str(path()), "settings": {INVITES: kept}, "known": list(found.known)}, text)


def keep(key: str, value: str | None) -> None:
    """Writes a setting into the file; None removes it. Raises `UsageError` for an invalid value."""
    if value is not None:
        _check(key, value)
    kept = {**read(), key: value}
    lines = [f'{each} = "{kept[each]}"\n' for each in KEYS if kept.get(each) is not None]
    write_file(path(), "".join(lines).encode())


def _check(key: str, value: str) -> None:
    if key == "deck":
        find_deck(value)
    elif key == "always":
        check_always(value)
    else:
        check(value)
