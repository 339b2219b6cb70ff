"""`hkoji new --sealed`, `join --sealed` and `release`: what is asked and said about sealed games. docs/sealed.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hkoji.cli.games.game_words import length_in_words
from hkoji.cli.games.show import show_changed
from hkoji.cli.input import can_ask, confirm
from hkoji.cli.language import _
from hkoji.cli.output import client, out
from hkoji.client import Position
from hkoji.client.kept.sealed import SealedKeys
from hkoji.client.sealed_choices import DepositChoice
from hkoji.client.seats import SealedWish
from hkoji.errors import CancelledError, HkojiError, IllegalError, UsageError
from hkoji.game.agreement import DAY, Agreement
from hkoji.game.dealer import SEALED_V1
from hkoji.messages.text import tell

if TYPE_CHECKING:
    from hkoji.client.service import Service

NO_MAIL: Final = tell(
    "in a sealed game only your own program can play your cards; a service that answers mail for a player would see "
    "them"
)


def settle(
    wish: SealedWish,
    service: Service,
    opponent: str | None,
    agreement: Agreement,
    *,
    joins: bool,
    yes: bool = False,
) -> None:
    """Says what a sealed game asks of a player, and asks what is not settled yet, before anything is signed.

    In a terminal it asks once whether the opponent runs the service, and whether so fast a clock is meant. With `yes`
    nothing is asked. Raises `CancelledError`.
    """
    out.say(tell("This is a sealed game (beta): nobody but you sees your cards, not even the operator of the service."))
    clock = agreement.clock
    if clock is not None and clock.move + clock.add < DAY and can_ask():
        question = _("A turn has only {time}. Go on all the same?", time=length_in_words(clock.move + clock.add))
        about = _(
            "Your program must release cards before the deadline. With such a clock, leave `hkoji watch --all` running."
        )
        confirm(question, tell("not joined") if joins else tell("not opened"), yes=yes, about=about)
    if opponent is None:
        if wish.deposits is None:
            out.say(tell("If the guest may run this service, open the game with --keep-draws."))
        return
    choice = DepositChoice(client().home)
    runs = choice.runs(service, opponent)
    if runs is False and wish.deposits is None and not yes and can_ask() and choice.told(service, opponent) is None:
        runs = _runs_service(opponent)
        choice.keep_told(service, opponent, runs)
    deposits = runs is False if wish.deposits is None else wish.deposits
    if not deposits:
        out.say(
            tell(
                "Your program keeps {name}'s draws until they are due. So {name} has to wait for your program about "
                "twice in each round, after an answer.",
                name=opponent,
            )
        )
    if joins and agreement.rated and runs:
        out.say(
            tell(
                "The game is rated, and {name} runs the service. Such a host can see their own first hand before the "
                "game goes on. If they do not like it, they can drop your entry, and you lose on time. Nobody can "
                "prove that. To avoid this, ask for an unrated game.",
                name=opponent,
            )
        )


def _runs_service(opponent: str) -> bool:
    about = _(
        "If your opponent runs the service, it can show them their own next draw before they answer you. With y your "
        "program keeps their draws until they are due, and they wait for your program after each answer. With any "
        "other answer it leaves them with the service."
    )
    try:
        confirm(_("Does {name} run this service?", name=opponent), tell("no"), yes=False, about=about)
    except CancelledError:
        return False
    return True


def say_duties(position: Position) -> None:
    """Says what a player of a sealed game must do, and how it is with the draws."""
    clock = position.course.setup.agreement.clock
    file = SealedKeys(client().home).file
    out.say(
        tell(
            "Your program must run to release cards: leave `hkoji watch --all` running, or run `hkoji release` "
            "{often}.",
            often=_("daily") if clock is None or clock.move + clock.add >= DAY else _("several times a day"),
        )
    )
    out.say(tell("Keep a copy of {file}: without it you cannot play on, and lose.", file=file))


def verify_can_play_sealed(name: str | None, *, mail: bool, held: bool) -> None:
    """Raises `UsageError` if a sealed game is to be played by mail, or with somebody who plays only by mail."""
    if mail:
        raise UsageError(NO_MAIL, hint=tell("no game was opened; leave --mail or --sealed out"))
    if held:
        raise UsageError(
            tell("{name} plays by mail, and sealed games cannot be played by mail", name=name),
            hint=tell("no game was opened; leave --sealed out"),
        )


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
