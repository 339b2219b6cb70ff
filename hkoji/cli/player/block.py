"""`hkoji block`: the players with whom the player does not want to play."""

from __future__ import annotations

from hkoji.cli.language import _
from hkoji.cli.output import CommandOutput
from hkoji.client import Client
from hkoji.client.player_settings import ServiceChoices
from hkoji.errors import UsageError
from hkoji.messages.text import tell


def run(client: Client, out: CommandOutput, name: str | None, *, remove: bool, list_: bool) -> None:
    """Blocks a player, removes a block, or lists all blocks."""
    if (name is None) is not list_ or (list_ and remove):
        raise UsageError(
            tell("give a name, or --list"), hint=tell("as in `hkoji block mallory` or `hkoji block --list`")
        )
    choices = ServiceChoices(client.home, client.service())
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
