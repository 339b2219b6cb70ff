"""Questions and remarks about sealed games: before one is opened or joined, and beside its board. docs/sealed.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hkoji.cli.games.game_words import length_in_words
from hkoji.cli.input import can_ask, confirm
from hkoji.cli.language import _, translate
from hkoji.cli.output import client, out
from hkoji.client import Position
from hkoji.client.kept.game import Vault
from hkoji.client.kept.sealed import MissingSealedKeyError, SealedKeys, SealedNotes
from hkoji.client.sealed_cards import SealedCards
from hkoji.client.sealed_choices import DepositChoice
from hkoji.client.seats import SealedWish
from hkoji.errors import CancelledError, UsageError
from hkoji.game.agreement import DAY, Agreement
from hkoji.messages.text import tell
from hkoji.sealed.sodium import NoSodiumError

if TYPE_CHECKING:
    from hkoji.client.service import Service


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


def verify_can_play_sealed(name: str | None, *, mail: bool = False, held: bool = False) -> None:
    """Raises `UsageError` if a sealed game is to be played by mail, or with somebody who plays only by mail."""
    if mail:
        raise UsageError(
            tell(
                "in a sealed game only your own program can play your cards; a service that answers mail for a player "
                "would see them"
            ),
            hint=tell("no game was opened; leave --mail or --sealed out"),
        )
    if held:
        raise UsageError(
            tell("{name} plays by mail, and sealed games cannot be played by mail", name=name),
            hint=tell("no game was opened; leave --sealed out"),
        )


def sealed_lines(position: Position) -> list[str]:
    """Returns what stands beside the board of a sealed game: who keeps the draws, and whether cards cannot be read."""
    course, seat = position.course, position.seat
    if seat is None or course.finished:
        return [_("A sealed game (beta).")]
    vault, home = Vault(client().home.game_folder(position.game)), client().home
    name, deposits = course.setup.names[1 - seat], SealedNotes(vault).deposits
    if name is None or deposits is None:
        lines = [_("A sealed game (beta).")]
    elif deposits:
        lines = [_("A sealed game (beta). {name}'s draws are deposited with the service.", name=name)]
    else:
        lines = [_("A sealed game (beta). Your program keeps {name}'s draws until they are due.", name=name)]
    try:
        if course.setup.entropy_commits[seat] is not None:
            SealedCards(vault, home).require_key(course, seat)
    except MissingSealedKeyError:
        lines.append(
            _(
                "Your cards cannot be read here: copy `sealed.key` from your other machine or from a backup. Without "
                "it you can only resign, or ask to call the game off."
            )
        )
    except NoSodiumError as error:
        lines.append(_("Your cards cannot be read here: {reason}; {hint}.", reason=error, hint=translate(error.hint)))
    return lines
