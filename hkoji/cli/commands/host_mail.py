"""`hkoji admin mail`: the commands by which an operator lets people play by mail."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from hkoji.cli import completion
from hkoji.cli.commands.arguments import Data, Database, Json, Yes
from hkoji.cli.language import _, _n, current, translate
from hkoji.cli.output import out
from hkoji.cli.service import service_function
from hkoji.errors import HkojiError, UsageError
from hkoji.messages.text import tell

mail = typer.Typer(help="Let people play by mail.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the player.")]
ServiceConfig = Annotated[Path | None, typer.Option("--config", help="The settings file of the service (TOML).")]
Config = Annotated[
    Path | None, typer.Option("--config", help="A settings file (TOML). Options given here override it.")
]

_STATES = {
    "invited": tell("invited, and has not answered"),
    "active": tell("plays by mail"),
    "stopped": tell("wants no letters"),
    "locked": tell("locked by its owner"),
    "suspended": tell("locked by the operator"),
    "blocked": tell("wants no invitations"),
    "asked": tell("asked to confirm the mailbox, and has not answered"),
    "moved": tell("has another mailbox by now"),
}
_LETTERS_ONLY = tell("gets letters, and orders nothing by mail")

_TRY_AGAIN = 75
"""EX_TEMPFAIL of sysexits.h: the mail server keeps the mail, and every other failure would make it bounce."""


# --- mailboxes --------------------------------------------------------------------------------------------------------


@mail.command(epilog="Example: hkoji admin mail add bob bob@example.org --config /etc/hkoji/service.toml")
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name to play under.")],
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="The mailbox.")],
    data: Data = None,
    database: Database = None,
    config: ServiceConfig = None,
    json: Json = False,
) -> None:
    """Invite somebody to play by mail, by a letter in the language of this command.

    The name is reserved for 30 days. Works for every kind of registration.
    """
    made = _mailboxes().add(data, name, address, current(), database=database, config=config)
    sent = tell(
        "A letter to {address} waits for the mail process. "
        "Somebody who answers it with the word accept plays as {name}.",
        address=made["address"],
        name=name,
    )
    waits = tell(
        "{address} was invited as {name} before, and has not answered yet. No other letter goes out.",
        address=made["address"],
        name=name,
    )
    out.result(made, lambda: translate(sent if made["letter"] else waits))


@mail.command(epilog="Example: hkoji admin mail move bob bob@example.net --config /etc/hkoji/service.toml")
def move(
    name: Name,
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="The new mailbox.")],
    data: Data = None,
    database: Database = None,
    config: ServiceConfig = None,
    json: Json = False,
) -> None:
    """Change the mailbox of a player, once the answer yes comes from the new one.

    The old one gets one more letter, which says so. In running games mails from the new one are known by their secret
    address only, whatever the provider signs, since the log names the old one there.
    """
    asked = _mailboxes().move(data, name, address, database=database, config=config)
    sent = tell(
        "A letter to {address} waits for the mail process. "
        "Once it is answered with the word yes, letters to {name} go there.",
        address=address,
        name=name,
    )
    waits = tell(
        "{address} was asked before whether it is to be the mailbox of {name}, and has not answered yet. "
        "No other letter goes out.",
        address=address,
        name=name,
    )
    out.result(asked, lambda: translate(sent if asked["letter"] else waits))


@mail.command(epilog="Example: hkoji admin mail show bob --data /var/lib/hkoji")
def show(name: Name, data: Data = None, database: Database = None, json: Json = False) -> None:
    """Show the mailbox of a player: address, state, language."""
    _show(_mailboxes().show(data, name, database=database))


@mail.command(epilog="Example: hkoji admin mail lock bob --data /var/lib/hkoji")
def lock(name: Name, data: Data = None, database: Database = None, json: Json = False) -> None:
    """Lock a mailbox: its letters end, and its mails order nothing. The clocks of its games go on."""
    _show(_mailboxes().lock(data, name, database=database))


@mail.command(epilog="Example: hkoji admin mail unlock bob --data /var/lib/hkoji")
def unlock(name: Name, data: Data = None, database: Database = None, json: Json = False) -> None:
    """Unlock a mailbox that you or its owner has locked."""
    _show(_mailboxes().unlock(data, name, database=database))


@mail.command(epilog="Example: hkoji admin mail erase bob --data /var/lib/hkoji")
def erase(name: Name, data: Data = None, database: Database = None, yes: Yes = False, json: Json = False) -> None:
    """Erase a mailbox: the address, all mails, and what they prove.

    The name and the logs stay. The player gets no more letters, so decide first what becomes of running games.
    """
    from hkoji.cli.input import confirm

    found = _mailboxes().show(data, name, database=database)
    out.say(
        tell(
            "This erases the address of {name}, and all mails that were kept. {name} gets no more letters; the clocks "
            "of running games go on. Logs stay.",
            name=name,
        )
    )
    unasked = UsageError(
        tell("erasing cannot be undone, and there is no terminal to ask for confirmation"),
        hint=tell("nothing was erased; to confirm it, give the command with --yes"),
    )
    confirm(_("Erase the mailbox of {name}?", name=name), tell("not erased"), yes=yes, unasked=unasked)
    _mailboxes().erase(data, name, database=database)
    out.result(found, lambda: _("The mailbox of {name} is erased.", name=name))


@mail.command(epilog="Example: hkoji admin mail evidence ID bob --data /var/lib/hkoji > bob.mails")
def evidence(
    game: Annotated[str, typer.Argument(metavar="GAME", help="The id of the game.")],
    name: Name,
    data: Data = None,
    database: Database = None,
) -> None:
    """Print the mails of a player in a game, with all that proves them, for `hkoji audit --mails`.

    They are personal data, and show cards: give them to that player only. After the mailbox was erased there are none.
    """
    out.lines(_mailboxes().evidence(data, game, name, database=database).decode("ascii"))


def _mailboxes() -> Any:  # Any: a module of the service
    return service_function("admin").mailboxes


def _show(found: dict[str, Any]) -> None:  # Any: JSON
    def text() -> str:
        letters_only = found["state"] == "active" and not found["orders"]
        state = translate(_LETTERS_ONLY if letters_only else _STATES[found["state"]])
        name, address, since = found["name"], found["address"], found["since"]
        lines = [_("{name}, {address}: {state}, since {at}", name=name, address=address, state=state, at=since)]
        if found["paused"] is not None:
            lines.append(_("mail does not arrive since {at}", at=found["paused"]))
        return "\n".join(lines)

    out.result(found, text)


# --- the mail process -------------------------------------------------------------------------------------------------


@mail.command(epilog="Example: hkoji admin mail run --config /etc/hkoji/service.toml")
def run(
    data: Data = None,
    database: Database = None,
    log_level: Annotated[
        str | None,
        typer.Option(
            help="debug, info (a line per mail), warning or error [warning].",
            autocompletion=completion.one_of("debug", "info", "warning", "error"),
        ),
    ] = None,
    config: Config = None,
) -> None:
    """Take mail, process it, and send letters, beside `hkoji serve`.

    It works on the same database. Its settings, such as mail and mail_smtp, are in docs/cli.md.
    """
    service_function("mail").run(data, database=database, config=config, log_level=log_level)


@mail.command(epilog="Example: hkoji admin mail receive --recipient play+TOKEN@hkoji.example < message")
def receive(
    recipient: Annotated[str, typer.Option(metavar="ADDRESS", help="The mail's recipient.")],
    sender: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="The envelope's sender, empty for a bounce.")
    ] = None,
    data: Data = None,
    database: Database = None,
    config: Config = None,
) -> int:
    """Take one mail from standard input, for a mail server's pipe.

    Exit code 0 when it is kept or needs no answer, 75 to try again, 67 if the recipient is not of this service.
    """
    try:
        code: int = service_function("mail").receive(
            recipient, sys.stdin.buffer, sender=sender, data=data, database=database, config=config
        )
        return code
    except HkojiError as error:
        reason = translate(str(error))
    except Exception as error:
        reason = type(error).__name__
    out.say(_("{reason}; the mail has to come again", reason=reason))
    return _TRY_AGAIN


@mail.command(epilog="Example: hkoji admin mail queue --data /var/lib/hkoji --json")
def queue(data: Data = None, database: Database = None, json: Json = False) -> None:
    """Show what waits: mails to be processed, letters to be sent."""
    found: dict[str, Any] = service_function("mail").queue(data, database=database)  # Any: JSON

    def lines() -> str:
        mails, letters, aside = found["mails"], found["letters"], found["set_aside"]
        rows = [
            _n("{n} mail waits to be processed", "{n} mails wait to be processed", mails)
            + _since(found["mails_since"]),
            _n("{n} letter waits to be sent", "{n} letters wait to be sent", letters) + _since(found["letters_since"]),
        ]
        if aside:
            rows.append(
                _n("{n} mail is set aside", "{n} mails are set aside", aside) + _since(found["set_aside_since"])
            )
        return "\n".join(rows)

    out.result(found, lines)


def _since(oldest: str | None) -> str:
    return "" if oldest is None else _(", the oldest since {at}", at=oldest)
