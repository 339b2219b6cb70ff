"""`hkoji mail`: answering by mail, for a player with a key of their own."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from hkoji.cli.games.game_words import local_time
from hkoji.cli.language import _, current
from hkoji.cli.output import CommandOutput
from hkoji.client import Client
from hkoji.client.held_keys import OrdersWish, OwnMailbox
from hkoji.client.player_settings import PlayerChannel
from hkoji.errors import UsageError
from hkoji.log.mail_claim import MailGrade
from hkoji.messages.text import shorten, tell

_GRADES: Final = (MailGrade.TOKEN, MailGrade.DKIM)


class _Delegated(NamedTuple):
    """A running game in which the service signs for the player too, as last seen: its id, the opponent, the grade."""

    game: str
    opponent: str | None
    grade: MailGrade


def on(client: Client, out: CommandOutput, address: str, require: str) -> None:
    """Lets the service sign what comes by mail."""
    if require not in _GRADES:
        raise UsageError(
            tell("{text!r} is no grade of a mail", text=shorten(require)),
            hint=tell("nothing was sent; --require takes token or dkim"),
        )
    mailbox = _mailbox(client)
    channel = mailbox.turn_on(address, MailGrade(require), current())
    asked = channel.confirmed is None
    out.result(
        _json(channel, mailbox.wish(), _delegated(client)),
        lambda: (
            _(
                "The service has sent a letter to {address}. Answer it with: yes\nThen it signs for you what you send "
                "by mail, with a key of its own. It could also sign what you have not sent, and the log of a game says "
                "which entries it has signed.",
                address=channel.target,
            )
            if asked
            else _in_use(channel)
        ),
    )


def off(client: Client, out: CommandOutput) -> None:
    """Ends orders by mail."""
    channel = _mailbox(client).turn_off()
    games = _delegated(client)
    lines = [_("The service takes no orders by mail from you any more.")]
    if games:
        ids = ", ".join(each.game[:8] for each in games)
        lines.append(_("Your key ends it in a game when you look at that on your next turn: {games}", games=ids))
    out.result(_json(channel, None, games), lambda: "\n".join(lines))


def show(client: Client, out: CommandOutput) -> None:
    """Shows the mailbox, and where the service signs."""
    mailbox = _mailbox(client)
    channel, wish, games = mailbox.channel(), mailbox.wish(), _delegated(client)
    out.result(_json(channel, wish, games), lambda: "\n".join(_lines(channel, wish, games)))


def _lines(channel: PlayerChannel | None, wish: OrdersWish | None, games: list[_Delegated]) -> list[str]:
    if channel is None:
        lines = [_("You have no mailbox at your service. Add one with: hkoji mail on ADDRESS")]
    elif channel.confirmed is None:
        lines = [_("{address}: not confirmed yet. Answer the letter there with: yes", address=channel.target)]
    else:
        lines = [
            _("{address}: letters, and no orders.", address=channel.target)
            if not channel.orders
            else _in_use(channel)
            if _allowed_here(channel, wish)
            else _(
                "{address}: the service takes orders from there. This folder allows it in no game, as it was not "
                "turned on here: hkoji mail on {address}",
                address=channel.target,
            )
        ]
        if channel.off is not None:
            lines.append(_("Letters have not arrived since {time}.", time=local_time(channel.off)))
    if channel is not None and channel.orders and wish is not None and _allowed_here(channel, wish):
        lines.append(_("Your mails need at least the grade {grade}.", grade=wish.least.value))
    if games:
        lines.append(_("The service signs for you in these games, as last seen here:"))
        lines += [f"  {each.game[:8]}  {each.opponent or '-'}  {each.grade.value}" for each in games]
    return lines


def _allowed_here(channel: PlayerChannel, wish: OrdersWish | None) -> bool:
    return wish is not None and wish.gateway == channel.certificate


def _in_use(channel: PlayerChannel) -> str:
    return _(
        "{address}: the service takes orders from there. Your key allows it in a game when you look at that on your "
        "next turn.",
        address=channel.target,
    )


def _mailbox(client: Client) -> OwnMailbox:
    return OwnMailbox(client.service(), client.identity.name)


def _delegated(client: Client) -> list[_Delegated]:
    """Returns the running games in which the service signs for the player too, as last seen here."""
    url, found = client.server, []
    for kept in client.kept_games(status="playing"):
        setup, seat = kept.position.course.setup, kept.position.seat
        held = None if seat is None else setup.held_key(seat)
        if held is not None and held.grade is not None and seat is not None and client.server_of(setup.game) == url:
            found.append(_Delegated(setup.game, setup.names[1 - seat], held.grade))
    return found


def _json(
    channel: PlayerChannel | None, wish: OrdersWish | None, games: list[_Delegated]
) -> dict[str, Any]:  # Any: JSON
    ours = channel is not None and wish is not None and wish.gateway == channel.certificate
    return {
        "address": channel.target if channel else None,
        "confirmed": channel.confirmed if channel else None,
        "games": [each._asdict() for each in games],
        "key": channel.certificate.key.fingerprint if channel and channel.certificate else None,
        "not_arriving_since": channel.off if channel else None,
        "orders": bool(channel and channel.orders),
        "require": wish.least.value if wish is not None and ours else None,
    }
