"""The commands of `hkoji admin mail` that are about one mailbox: does them, and shows their results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hkoji.cli.input import confirm
from hkoji.cli.language import _, current, translate
from hkoji.cli.output import CommandOutput
from hkoji.cli.service.serve import service_function
from hkoji.errors import UsageError
from hkoji.messages.text import tell

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


def add(
    out: CommandOutput, name: str, address: str, data: Path | None, database: str | None, config: Path | None
) -> None:
    """Invites the owner of a mailbox."""
    made = _functions().add(data, name, address, current(), database=database, config=config)
    out.result(
        made,
        lambda: (
            _(
                "A letter to {address} waits for the mail process. "
                "Somebody who answers it with the word accept plays as {name}.",
                address=made["address"],
                name=name,
            )
            if made["letter"]
            else _(
                "{address} was invited as {name} before, and has not answered yet. No other letter goes out.",
                address=made["address"],
                name=name,
            )
        ),
    )


def move(
    out: CommandOutput, name: str, address: str, data: Path | None, database: str | None, config: Path | None
) -> None:
    """Asks if another mailbox is to be that of a player."""
    asked = _functions().move(data, name, address, database=database, config=config)
    out.result(
        asked,
        lambda: (
            _(
                "A letter to {address} waits for the mail process. "
                "Once it is answered with the word yes, letters to {name} go there.",
                address=address,
                name=name,
            )
            if asked["letter"]
            else _(
                "{address} was asked before whether it is to be the mailbox of {name}, and has not answered yet. "
                "No other letter goes out.",
                address=address,
                name=name,
            )
        ),
    )


def show(out: CommandOutput, name: str, data: Path | None, database: str | None) -> None:
    """Shows a mailbox."""
    _show(out, _functions().show(data, name, database=database))


def lock(out: CommandOutput, name: str, data: Path | None, database: str | None) -> None:
    """Locks a mailbox."""
    _show(out, _functions().lock(data, name, database=database))


def unlock(out: CommandOutput, name: str, data: Path | None, database: str | None) -> None:
    """Unlocks a mailbox."""
    _show(out, _functions().unlock(data, name, database=database))


def erase(out: CommandOutput, name: str, data: Path | None, database: str | None, *, yes: bool) -> None:
    """Erases a mailbox, after asking."""
    found = _functions().show(data, name, database=database)
    out.say(
        tell(
            "This erases the address of {name}, and all mails that were kept. {name} gets no more letters; the clocks "
            "of running games go on. Logs stay.",
            name=name,
        )
    )
    confirm(out, _("Erase the mailbox of {name}?", name=name), tell("not erased"), yes=yes, unasked=_UNASKED)
    _functions().erase(data, name, database=database)
    out.result(found, lambda: _("The mailbox of {name} is erased.", name=name))


def evidence(out: CommandOutput, game: str, name: str, data: Path | None, database: str | None) -> None:
    """Prints the mails file of a player in a game."""
    out.lines(_functions().evidence(data, game, name, database=database).decode("ascii"))


_UNASKED = UsageError(
    tell("erasing cannot be undone, and there is no terminal to ask for confirmation"),
    hint=tell("nothing was erased; to confirm it, give the command with --yes"),
)


def _functions() -> Any:  # Any: a module of the service
    return service_function("admin").mailboxes


def _show(out: CommandOutput, found: dict[str, Any]) -> None:  # Any: JSON
    def text() -> str:
        letters_only = found["state"] == "active" and not found["orders"]
        state = translate(_LETTERS_ONLY if letters_only else _STATES[found["state"]])
        lines = [_("{name}, {address}: {state}, since {at}", **{**_named(found), "state": state})]
        if found["paused"] is not None:
            lines.append(_("mail does not arrive since {at}", at=found["paused"]))
        return "\n".join(lines)

    out.result(found, text)


def _named(found: dict[str, Any]) -> dict[str, Any]:  # Any: JSON
    return {"name": found["name"], "address": found["address"], "at": found["since"]}
