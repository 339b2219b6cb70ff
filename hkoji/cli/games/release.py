"""`hkoji release`: sends the cards that the player owes in sealed games. docs/sealed.md."""

from __future__ import annotations

from hkoji.cli.games.show import show_changed
from hkoji.cli.language import _
from hkoji.cli.output import client, out
from hkoji.errors import HkojiError, IllegalError, UsageError
from hkoji.game.dealer import SEALED_V1
from hkoji.messages.text import tell


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
    value, failed = [], None
    for each in found:
        try:
            with client().game(each["game"]) as held:
                position = held.current()
        except HkojiError as error:
            out.say(tell("game {game}: {reason}", game=each["game"][:8], reason=error))
            failed = error
            continue
        owed = position.seat is not None and position.seat in (position.course.debtor, position.course.seed_seat)
        value.append({"game": position.game, "seq": position.course.seq, "owes": owed})
    out.result(value, lambda: _("Sealed games looked at: {count}.", count=len(value)))
    if failed is not None:
        raise failed
    owing = [str(each["game"])[:8] for each in value if each["owes"]]
    if owing:
        raise IllegalError(
            tell("your program still owes a card in {games}", games=", ".join(owing)),
            hint=tell("the reason is above"),
        )
