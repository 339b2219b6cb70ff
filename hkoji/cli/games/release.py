"""`hkoji release`: sends the cards that the player owes in sealed games. docs/sealed.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hkoji.cli.games.show import show_changed
from hkoji.cli.language import _, _n
from hkoji.cli.output import client, out
from hkoji.errors import HkojiError, IllegalError, UsageError
from hkoji.game.dealer import SEALED_V1
from hkoji.messages.text import tell

if TYPE_CHECKING:
    from hkoji.client import Position
    from hkoji.client.game import ClientGame


def release(game: str | None, *, here: bool) -> None:
    """Sends what the player owes in sealed games: in one, or in all."""
    if game is not None:
        show_changed(client().find(game), lambda held: held.release_here() if here else held.current())
        return
    if here:
        raise UsageError(
            tell("--here needs a game"), hint=tell("nothing was changed; give the game: `hkoji release GAME --here`")
        )
    found = [each for each in client().service().own_games(status="playing") if each.get("dealer") == SEALED_V1]
    value, released, failed = [], list[str](), None
    for each in found:
        try:
            with client().game(each["game"]) as held:
                known = len(held.lines())
                position = held.current()
                cards = _released(held, position, known)
        except HkojiError as error:
            out.say(tell("game {game}: {reason}", game=each["game"][:8], reason=error))
            failed = error
            continue
        owed = position.seat is not None and position.seat in (position.course.debtor, position.course.seed_seat)
        value.append({"game": position.game, "seq": position.course.seq, "owes": owed})
        if cards:
            released.append(
                _n("Game {game}: {n} card released.", "Game {game}: {n} cards released.", cards, game=position.short)
            )
    looked = _("Sealed games looked at: {count}.", count=len(value))
    out.result(value, lambda: "\n".join((*released, looked)))
    if failed is not None:
        raise failed
    owing = [str(each["game"])[:8] for each in value if each["owes"]]
    if owing:
        raise IllegalError(
            tell("your program still owes a card in {games}", games=", ".join(owing)),
            hint=tell("the reason is above"),
        )


def _released(held: ClientGame, position: Position, known: int) -> int:
    """Returns how many cards this home has released in the entries after the first `known` ones."""
    gives = [step for step in position.replay.steps[known:] if step.body.parts.give or step.body.parts.close]
    # Another machine of the player may have sent some of them.
    made = {each.entry.text for each in held.vault.made({step.entry.prev for step in gives})}
    parts = [step.body.parts for step in gives if step.entry.text in made]
    return sum((len(each.give.at) if each.give else 0) + (each.close is not None) for each in parts)
