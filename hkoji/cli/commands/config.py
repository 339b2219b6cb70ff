"""The commands `hkoji config` and `hkoji block`: the settings of the player, here and at their service."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from hkoji.cli import completion
from hkoji.cli.commands.arguments import Json
from hkoji.cli.language import _, check
from hkoji.cli.output import client, out
from hkoji.cli.settings import KEYS, check_always, in_use, path, read
from hkoji.errors import UsageError
from hkoji.messages.text import shorten, tell

commands = typer.Typer()

_INVITES: Final = "invites"
"""The setting that the player's service keeps."""


@commands.command(epilog="Examples: hkoji config lang it; hkoji config always only; hkoji config invites known")
def config(
    key: Annotated[
        str | None,
        typer.Argument(
            metavar="SETTING",
            help="lang, deck, always or invites; default: show all that are kept here.",
            autocompletion=completion.setting_names,
        ),
    ] = None,
    value: Annotated[
        str | None, typer.Argument(metavar="VALUE", help="The value to keep.", autocompletion=completion.setting_values)
    ] = None,
    unset: Annotated[bool, typer.Option("--unset", help="Remove the setting.")] = False,
    json: Json = False,
) -> None:
    """Show the settings, or change one.

    lang, deck and always are kept here. Your service keeps invites, which says whose invitations you accept: those of
    everyone, of known players (past opponents, and players whose keys you trust) or of nobody.
    """
    if key == _INVITES:
        _invites(value, unset=unset)
        return
    if key is not None and key not in KEYS:
        raise UsageError(
            tell("there is no setting {key!r}", key=shorten(key)),
            hint=tell("settings: {keys}", keys=", ".join((*KEYS, _INVITES))),
        )
    if unset and (key is None or value is not None):
        raise UsageError(tell("--unset takes a key and nothing else"), hint="hkoji config lang --unset")
    if key is not None and (unset or value is not None):
        _keep(key, value)
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


def _invites(value: str | None, *, unset: bool) -> None:
    """Shows whose invitations the player accepts, after changing that at the service. `unset` means everyone."""
    from hkoji.client.player_settings import ServiceChoices

    if unset and value is not None:
        raise UsageError(tell("--unset takes a key and nothing else"), hint="hkoji config invites --unset")
    service = client().service()
    choices = ServiceChoices(client().home, service)
    wanted = "everyone" if unset else value
    found = choices.invites() if wanted is None else choices.set_invites(wanted)

    def text() -> str:
        said = _("{key}: {value}, by {source}", key=_INVITES, value=found.invites, source=service.url)
        if found.invites != "known":
            return said
        names = ", ".join(found.known) or _("none")
        return f"{said}\n{_('known as well as past opponents, because you trust their keys: {names}', names=names)}"

    kept = {"value": found.invites, "from": service.url, "kept": found.invites}
    out.result({"file": str(path()), "settings": {_INVITES: kept}, "known": list(found.known)}, text)


def _keep(key: str, value: str | None) -> None:
    """Writes a setting into the file; None removes it. Raises `UsageError` for an invalid value."""
    from hkoji.client.kept.files import write_file

    if value is not None:
        _check(key, value)
    kept = {**read(), key: value}
    lines = [f'{each} = "{kept[each]}"\n' for each in KEYS if kept.get(each) is not None]
    write_file(path(), "".join(lines).encode())


def _check(key: str, value: str) -> None:
    from hkoji.show.decks import find_deck

    if key == "deck":
        find_deck(value)
    elif key == "always":
        check_always(value)
    else:
        check(value)


@commands.command(epilog="Examples: hkoji block mallory; hkoji block mallory --remove; hkoji block --list")
def block(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The player.", autocompletion=completion.players)
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the block.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="List the players whom you have blocked.")] = False,
    json: Json = False,
) -> None:
    """Block a player: no invitations, joins or messages.

    Open invitations of this player are declined. Games in progress go on.
    """
    from hkoji.client.player_settings import ServiceChoices

    if (name is None) is not list_ or (list_ and remove):
        raise UsageError(
            tell("give a name, or --list"), hint=tell("as in `hkoji block mallory` or `hkoji block --list`")
        )
    choices = ServiceChoices(client().home, client().service())
    if name is None:
        names = choices.blocks()
        out.result({"blocks": list(names)}, lambda: "\n".join(names) or _("You have blocked nobody."))
    elif remove:
        choices.unblock(name)
        out.result({"name": name, "blocked": False}, lambda: _("{name} is no longer blocked.", name=name))
    else:
        choices.block(name)
        out.result(
            {"name": name, "blocked": True},
            lambda: _("{name} is blocked. Games in progress with this player go on.", name=name),
        )
