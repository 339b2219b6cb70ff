"""`hkoji new`, `join` and `cancel`: opens, joins and takes back games."""

from __future__ import annotations

from hkoji.cli.games.show import show_position
from hkoji.cli.language import _
from hkoji.cli.output import CommandOutput
from hkoji.client import Client
from hkoji.errors import NotFoundError, UsageError
from hkoji.game.entry_kinds import Invite
from hkoji.log.entry import is_name
from hkoji.messages.text import shorten, tell
from hkoji.rules.protocol import Ruleset


def new(client: Client, out: CommandOutput, ruleset: Ruleset, invite: str | None) -> None:
    """Offers and opens a game."""
    if invite is not None and not is_name(invite):
        raise UsageError(
            tell("{invite!r} is not a player's name", invite=shorten(invite)),
            hint=tell("names are 2 to 32 of a-z, 0-9, _ and -"),
        )
    if invite == client.identity.name:
        raise UsageError(tell("you cannot invite yourself"), hint=tell("omit --invite to play with anyone"))
    if invite is not None and not client.service().is_registered(invite):
        raise NotFoundError(
            tell("player"),
            invite,
            hint=tell(
                "no game was opened; the player has to register first, with `hkoji register --server {server}`",
                server=client.server,
            ),
        )
    position = client.new(ruleset, Invite(invite) if invite else None)
    game, short = position.course.setup.game, position.short
    value = {
        "game": game,
        "ruleset": ruleset.name,
        "options": ruleset.to_json(),
        "status": position.course.status,
        "invite": invite,
        "server": client.server_of(game),
    }

    # The id alone on stdout: `GAME=$(hkoji new)`.
    out.result(value, lambda: game)
    if not out.json:
        joining, waiting = f"hkoji join {short}", f"hkoji wait {short}"
        if invite:
            out.say(tell("The game is open. Ask {name} to run: {command}", name=invite, command=joining))
        else:
            out.say(tell("The game is open. Ask someone to run: {command}", command=joining))
        out.say(tell("Then: {command}", command=waiting))


def join(client: Client, out: CommandOutput, game: str) -> None:
    """Joins a game."""
    with client.game(client.find(game)) as held:
        position = held.join()
    setup = position.course.setup
    value = {"game": setup.game, "status": position.course.status, "host": setup.names[0], "guest": setup.names[1]}
    short = position.short

    def text() -> str:
        joined = _("You have joined {game}, hosted by {name}.", game=short, name=setup.names[0])
        return f"{joined}\n{_('Then: {command}', command=f'hkoji wait {short}')}"

    out.result(value, text)


def cancel(client: Client, out: CommandOutput, game: str) -> None:
    """Cancels an open game."""
    with client.game(client.find(game)) as held:
        position = held.cancel().position
    show_position(out, position)
