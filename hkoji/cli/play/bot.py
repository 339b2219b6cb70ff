"""`hkoji bot`: lets a bot or a program play a game by correspondence, and lists the bots."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Sequence

from hkoji.bots.protocol import Bot
from hkoji.bots.registry import BOTS, LEVELS, make_bot, make_program, plays
from hkoji.cli.games.show import show_position
from hkoji.cli.output import client, out
from hkoji.client import watching
from hkoji.errors import IllegalError, UsageError
from hkoji.game.position import action_of
from hkoji.local.local_game import step
from hkoji.messages.text import tell
from hkoji.rules.registry import RULESETS


def choose(
    name: str | None, words: Sequence[str], seed: int | None, *, keep: bool, interface: str, timeout: float | None
) -> Bot:
    """Returns the bot of a command line, by its name or as a program with arguments. Raises `UsageError`."""
    if (name is None) == (not words):
        raise UsageError(
            tell("give either the name of a bot or a program"),
            hint=tell("as in `hkoji bot run GAME --bot greedy` or `hkoji bot run GAME -- ./mybot --fast`"),
        )
    if seed is None:
        seed = secrets.randbits(48)  # an opponent who knows the seed can predict the bot
    if name is None:
        return make_program(words, seed, keep=keep, interface=interface, timeout=timeout)
    if keep or interface != "json" or timeout is not None:
        raise UsageError(
            tell("--keep, --interface and --timeout are for programs"),
            hint=tell("give the program after --, as in `hkoji bot run GAME --keep -- ./mybot`"),
        )
    return make_bot(name, seed)


def run(game: str, bot: Bot, *, once: bool, sealed: bool = False) -> None:
    """Plays a seat until the game is over, or with `once` only what is due now. Errors of the bot are passed on.

    A game that has to be joined is joined only if it is sealed with `sealed`, and not sealed without.
    """
    from hkoji.cli.games.terms import read_wish  # a list of bots needs none of it

    game, wish = client().find(game), read_wish(sealed=sealed, deposit=None, new_key=False)
    with contextlib.closing(bot):
        while True:
            made = step(client(), bot, game, wish)
            if made is not None:
                move = action_of(made.position.replay.steps[made.seq])
                out.say(tell("Entry {seq} is on record: {move}.", seq=made.seq, move=move))
            position = client().stored(game)
            if position.over or (once and not position.legal):
                break
            if not position.legal:
                position = watching.wait(client(), game)
                if position.mine and not position.legal:
                    with client().game(game) as held:
                        held.require_cards()
                    raise IllegalError(
                        tell("game {game} waits for you, and you cannot move on this machine", game=game[:8]),
                        hint=tell("the reason is above"),
                    )
    show_position(position, client().kept_game(game).time)


def listing() -> None:
    """Lists the bots, their games and their levels."""
    found = [
        {
            "bot": name,
            "games": [game for game in RULESETS if plays(name, game)],
            "levels": [level for level, names in LEVELS.items() if name in names[:1]],
        }
        for name in BOTS
    ]

    def text() -> str:
        rows = [f"{each['bot']!s:12}  {', '.join(each['games']):28}  {', '.join(each['levels'])}" for each in found]
        return "\n".join(row.rstrip() for row in rows)

    out.result(found, text)
