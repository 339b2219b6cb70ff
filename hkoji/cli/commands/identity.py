"""The commands of the group "Identity and settings" about the player, the settings and the check of the set-up."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from hkoji.cli import completion, language
from hkoji.cli.commands import keys
from hkoji.cli.commands.arguments import Json, KeyFile, Origin, Server
from hkoji.cli.commands.channels import mail, notify
from hkoji.cli.input import confirm, read_code, with_origin
from hkoji.cli.language import _, _n, translate
from hkoji.cli.output import Exit, client, out
from hkoji.cli.settings import KEYS, check_always, check_deposits, in_use, path, read
from hkoji.errors import HkojiError, TrustError, UsageError
from hkoji.messages.text import plural, shorten, tell

if TYPE_CHECKING:
    from hkoji.client.service import Service
    from hkoji.doctor_check import DoctorCheck

commands = typer.Typer()

_INVITES: Final = "invites"
"""The setting that the player's service keeps."""
_STYLES: Final = {"ok": "green", "warn": "yellow", "fail": "red"}


@commands.command(epilog="Example: hkoji init alice --key ~/.ssh/id_ed25519")
def init(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Your name as a player.")],
    key: KeyFile = None,
    json: Json = False,
) -> None:
    """Create your identity: a name and a key, kept in HKOJI_HOME."""
    import secrets

    from hkoji.client import Home
    from hkoji.client.identity import create

    home = Home()
    identity = create(home, name, key, secrets.token_bytes(32))
    out.result(
        {**keys.identity_json(identity), "home": str(home.path)},
        lambda: _(
            "You are {name}, key {fingerprint}, kept in {folder}\n"
            "Then: hkoji register --server URL, or with a link from a friend: hkoji join LINK",
            name=identity.name,
            fingerprint=identity.key.fingerprint,
            folder=home.path,
        ),
    )


@commands.command(epilog="Example: hkoji register --server https://hanamikoji.example")
def register(
    server: Server,
    origin: Origin = None,
    code: Annotated[
        str | None, typer.Option(help="The code from the operator, if one is needed; - to ask for it.")
    ] = None,
    move_games: Annotated[
        bool, typer.Option("--move-games", help="Move the games that you have at an earlier address of the service.")
    ] = False,
    json: Json = False,
) -> None:
    """Register at a service, which becomes your default.

    If the service states another origin than the address you give, you must confirm it: a terminal asks you, and
    elsewhere you give --origin. Ask the operator first.

    A game is bound to the address at which you opened or joined it. If the service has moved, register at its new
    address: a terminal asks whether to move your games there, and elsewhere you give --move-games. They are moved only
    if the service proves that it has the same key as before.
    """
    from hkoji.client.moving import goes_on, require_proof

    player = client()
    given = read_code() if code == "-" else code

    def enrol(confirmed: str | None) -> Service:
        if move_games:
            require_proof(player.home, player.service(server), confirmed)
        return player.register(server, confirmed, given)

    service = with_origin(origin, enrol)
    moved = player.move_games() if move_games else _offer_to_move(service)
    going = sum(goes_on(player.home, game) for game in moved)
    if going:
        out.say(plural("{n} game is bound to {url} now", "{n} games are bound to {url} now", going, url=service.url))
    elif move_games and not moved:
        out.say(tell("no game here is bound to an earlier address of this service"))
    identity = player.identity
    value = {
        "name": identity.name,
        "key": identity.key.text,
        "server": service.url,
        "server_key": service.key.text,
        "server_fingerprint": service.key.fingerprint,
        "moved": list(moved),
    }
    out.result(
        value,
        lambda: _(
            "You are now registered at {url} as {name}.\nThen: hkoji new, or: hkoji games --open",
            name=identity.name,
            url=service.url,
        ),
    )


def _offer_to_move(service: Service) -> tuple[str, ...]:
    """Offers to move the games of earlier addresses of a service if some go on. Returns those that have been moved."""
    from hkoji.client.moving import goes_on, movable_games
    from hkoji.client.requests import move_command

    home = client().home
    going: list[str] = []
    urls: list[str] = []
    for each in movable_games(home, service.url, service.key):
        found = [game for game in each.games if goes_on(home, game)]
        going += found
        urls += [each.url] if found else []
    if not going:
        return ()
    out.say(
        plural(
            "{n} game here is bound to an earlier address of this service: {urls}",
            "{n} games here are bound to earlier addresses of this service: {urls}",
            len(going),
            urls=", ".join(urls),
        )
    )
    try:
        service.prove(service.key, service.pins.origin or "")
        confirm(_n("Move it to {url}?", "Move them to {url}?", len(going), url=service.url), "", yes=False)
    except TrustError as error:
        out.say(tell("warning: {reason}", reason=error))
        out.say(error.hint)
    except HkojiError:
        out.say(tell("to move them: {command}", command=move_command(service.url)))
    else:
        return client().move_games()
    return ()


@commands.command()
def whoami(json: Json = False) -> None:
    """Print your name, key and service."""
    identity, home = client().identity, client().home
    server = home.config().get("server")
    value: dict[str, Any] = {  # Any: JSON
        **keys.identity_json(identity),
        "server": server,
        "home": str(home.path),
        "earlier": [own.public.fingerprint for own in identity.earlier],
        "next": identity.next.public.fingerprint if identity.next else None,
    }
    next_ = [_("next key, not known to all services yet: {key}", key=value["next"])] if identity.next else []
    out.result(
        value,
        lambda: "\n".join(
            (
                identity.name,
                identity.key.text,
                identity.key.fingerprint,
                *next_,
                *(_("earlier key: {key}", key=own.public.fingerprint) for own in identity.earlier),
                _("service: {url}", url=server or _("none yet")),
                _("home: {folder}", folder=home.path),
            )
        ),
        exact=True,
    )


commands.registered_commands += keys.commands.registered_commands


@commands.command(epilog="Examples: hkoji config lang it; hkoji config always only; hkoji config invites known")
def config(
    key: Annotated[
        str | None,
        typer.Argument(
            metavar="SETTING",
            help="lang, deck, always, deposits or invites; default: show all that are kept here.",
            autocompletion=completion.one_of(*KEYS, _INVITES),
        ),
    ] = None,
    value: Annotated[
        str | None, typer.Argument(metavar="VALUE", help="The value to keep.", autocompletion=completion.setting_values)
    ] = None,
    unset: Annotated[bool, typer.Option("--unset", help="Remove the setting.")] = False,
    json: Json = False,
) -> None:
    """Show the settings, or change one.

    lang, deck, always and deposits are kept here. deposits (on or off) says whether your program leaves your opponents'
    draws with the service beforehand, in sealed games that you open or join. Your service keeps invites, which says
    whose invitations you accept: those of everyone, of known players (past opponents, and players whose keys you trust)
    or of nobody.
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
        _verify(key, value)
    kept = {**read(), key: value}
    lines = [f'{each} = "{kept[each]}"\n' for each in KEYS if kept.get(each) is not None]
    write_file(path(), "".join(lines).encode())


def _verify(key: str, value: str) -> None:
    from hkoji.show.games import find_deck

    if key == "deck":
        find_deck(value)
    elif key == "always":
        check_always(value)
    elif key == "deposits":
        check_deposits(value)
    else:
        language.check(value)


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


commands.add_typer(mail, name="mail")
commands.add_typer(notify, name="notify")


@commands.command(
    epilog="Examples: hkoji doctor; hkoji doctor --server https://hanamikoji.example; "
    "hkoji doctor --mail --config /etc/hkoji/service.toml"
)
def doctor(
    data: Annotated[Path | None, typer.Option(help="Check the service in this folder.")] = None,
    database: Annotated[str | None, typer.Option(help="Check the service on this database.")] = None,
    backups: Annotated[Path | None, typer.Option(help="The folder of its backups.")] = None,
    mail: Annotated[
        bool, typer.Option("--mail", help="Check also how it plays by mail, by two mails to itself.")
    ] = False,
    config: Annotated[Path | None, typer.Option(help="Its settings file (TOML).")] = None,
    server: Annotated[str | None, typer.Option(help="Compare the pages of a service with this program's.")] = None,
    json: Json = False,
) -> Exit:
    """Check your files, key, pins, service and clock.

    With --data, --database or --config, check a service that you operate. With --server, check whether the pages of a
    service are those of this program. Each line is ok, warn or fail, and names the next step. Exit code 1 if a check
    failed. Nothing is changed.
    """
    own = mail or any(each is not None for each in (data, database, backups, config))
    if own and server is not None:
        raise UsageError(
            tell("--server looks at a service from outside; the other options look at one of yours"),
            hint=tell("give it alone"),
        )
    if server is not None:
        from hkoji.cli.service import service_function

        return show_checks(service_function("admin").examine_pages(server))
    if own:
        from hkoji.cli.service import service_function

        examined = service_function("admin").examine(data, database, backups=backups, mail=mail, config=config)
        return show_checks(examined)
    from hkoji.client import Home
    from hkoji.client.doctor import examine

    return show_checks(examine(Home()))


def show_checks(checks: Iterable[DoctorCheck]) -> Exit:
    """Shows the result of each check. Returns an exit code."""
    found = list(checks)
    passed = all(check.verdict != "fail" for check in found)  # warnings do not count
    value = {"ok": passed, "checks": [check.to_json() for check in found]}
    out.result(value, lambda: "\n".join(map(_line, found)))
    return Exit.OK if passed else Exit.FAILURE


def _line(check: DoctorCheck) -> str:
    words = {"ok": _("ok"), "warn": _("warn"), "fail": _("FAIL")}
    verdict = out.style.paint(f"{words[check.verdict]:5}", _STYLES[check.verdict])
    hint = f"\n      {'':13}{translate(check.hint)}" if check.hint else ""
    return f"{verdict} {check.name:13} {translate(check.said)}{hint}"


@commands.command("help", epilog="Examples: hkoji help move; hkoji help bot run")
def help_(
    context: typer.Context,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="COMMAND", help="A command; default: list all.", autocompletion=completion.commands),
    ] = None,
) -> None:
    """Explain a command, as COMMAND --help does."""
    raise typer.Exit(context.obj([*(command or ()), "--help"]))
