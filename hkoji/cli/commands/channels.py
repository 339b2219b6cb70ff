"""The commands about being told of games, `hkoji notify`, and answering by mail, `hkoji mail`."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import typer

from hkoji.cli import completion
from hkoji.cli.commands.arguments import EVENTS, Channel, Json
from hkoji.cli.language import _, current
from hkoji.cli.output import client, out
from hkoji.errors import UsageError
from hkoji.messages.text import shorten, tell

if TYPE_CHECKING:
    from hkoji.client.held_keys import OrdersWish, OwnMailbox
    from hkoji.client.player_settings import PlayerChannel, PlayerChannels
    from hkoji.log.mail_claim import MailGrade

notify = typer.Typer(help="Be told of your games elsewhere: by a webhook, or by mail.", no_args_is_help=True)
mail = typer.Typer(help="Answer by mail too, for example from a phone.", no_args_is_help=True)

_SPAN: Final = re.compile(r"([0-9]{2}:[0-9]{2})-([0-9]{2}:[0-9]{2})")
_TIME: Final = re.compile(r"[0-9]{2}:[0-9]{2}")


# --- being told -------------------------------------------------------------------------------------------------------


@notify.command(
    epilog="Examples: hkoji notify add webhook https://example.org/hook --events turn,over; "
    "hkoji notify add webhook https://hooks.slack.com/services/… --format slack --quiet 22:00-07:00"
)
def add(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND", help="How: webhook, or mail.", autocompletion=completion.one_of("webhook", "mail")
        ),
    ],
    target: Annotated[str, typer.Argument(metavar="ADDRESS", help="Where to: https, or a mailbox.")],
    events: Annotated[
        str | None,
        typer.Option(
            help=f"The events to be told of, with commas between: {', '.join(EVENTS)}; default: all.",
            autocompletion=completion.one_of(*EVENTS),
        ),
    ] = None,
    quiet: Annotated[str | None, typer.Option(metavar="SPAN", help="Send nothing in these hours: 22:00-07:00.")] = None,
    digest: Annotated[str | None, typer.Option(metavar="TIMES", help="Send only at these times: 08:00,18:00.")] = None,
    zone: Annotated[
        str | None,
        typer.Option(metavar="ZONE", help="The time zone of these times: +01:00; default: that of this machine, now."),
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="The form of a post: json (the default), or the text alone for slack or discord.",
            autocompletion=completion.one_of("json", "slack", "discord"),
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Add a channel: an address to which the service posts.

    The service sends a first notice there, with a code. It sends no other before you have typed the code with notify
    confirm; in a mailbox, before you have answered yes. To change a channel, remove it and add it again. To answer by
    mail too: hkoji mail on. A browser adds itself, on the page of your service.
    """
    settings = _read_settings(quiet, digest, zone, format_)
    if kind == "push":
        raise UsageError(
            tell("only a browser can add itself as a channel"),
            hint=tell("nothing was sent; open {server}/me in that browser", server=client().server),
        )
    made = _channels().add(kind, target, None if events is None else _split(events), settings)

    def text() -> str:
        if made.certificate is not None:
            return _("The service has sent a letter to {address}. Answer it with: yes", address=made.target)
        return _(
            "The service has sent a first notice, with a code, to this address: {target}\nType the code within a day:\n"
            "hkoji notify confirm {channel} CODE",
            target=made.target,
            channel=made.id,
        )

    out.result(_channel_json(made), text, exact=True)


@notify.command(epilog="Example: hkoji notify confirm 5f0c9a1e k7wq2m9xpd")
def confirm(
    channel: Channel,
    code: Annotated[str, typer.Argument(metavar="CODE", help="The code of the first notice.")],
    json: Json = False,
) -> None:
    """Confirm a channel by the code of its first notice."""
    channels = _channels()
    found = channels.confirm(channels.find(channel).id, code)
    out.result(
        _channel_json(found),
        lambda: _(
            "From now on {target} is told of: {events}{when}",
            target=found.target,
            events=", ".join(found.events),
            when=_when(found),
        ),
    )


@notify.command("test", epilog="Example: hkoji notify test 5f0c9a1e")
def send_test(channel: Channel, json: Json = False) -> None:
    """Let the service send a test notice.

    A channel that the service has turned off, because notices could not be delivered, is on again if it arrives.
    """
    channels = _channels()
    found = channels.test(channels.find(channel).id)
    out.result(_channel_json(found), lambda: _("{target} has taken a test notice.", target=found.target))


@notify.command(epilog="Example: hkoji notify remove 5f0c9a1e")
def remove(channel: Channel, json: Json = False) -> None:
    """Remove a channel."""
    channels = _channels()
    found = channels.find(channel)
    channels.remove(found.id)
    out.result(_channel_json(found), lambda: _("Nothing is sent to {target} any more.", target=found.target))


@notify.command("list")
def list_channels(json: Json = False) -> None:
    """List your channels."""
    found = _channels().all()
    out.result(
        [_channel_json(each) for each in found],
        lambda: "\n".join(map(_line, found)) if found else _("You have no channels. Add one with: hkoji notify add"),
    )


def _channels() -> PlayerChannels:
    from hkoji.client.player_settings import PlayerChannels

    return PlayerChannels(client().service())


def _channel_json(channel: PlayerChannel) -> dict[str, Any]:  # Any: JSON
    shown = {**channel._asdict(), "events": list(channel.events)}
    certificate = shown.pop("certificate")
    if certificate is None:
        del shown["orders"], shown["salt"]
        return shown
    return {**shown, "certificate": certificate.to_json()}


def _line(channel: PlayerChannel) -> str:
    from hkoji.cli.games.game_words import local_time

    if channel.off is not None:
        state = _("off since {time}, because notices could not be delivered", time=local_time(channel.off))
    elif channel.confirmed is None:
        by_letter = channel.certificate is not None
        state = _("waits for the answer to its letter: yes") if by_letter else _("waits for its code")
    else:
        state = ", ".join(channel.events) + _when(channel)
    return f"{channel.id}  {channel.kind} {channel.target}: {state}"


def _when(channel: PlayerChannel) -> str:
    """Returns when notices are sent, if not at any time."""
    settings = channel.settings
    said = ""
    if settings["quiet"]:
        said += _("; not from {begin} to {until}", begin=settings["quiet"]["from"], until=settings["quiet"]["until"])
    if settings["digest"]:
        said += _("; together at {times}", times=", ".join(settings["digest"]))
    return said + (_(" (time zone {zone})", zone=settings["zone"]) if said else "")


def _read_settings(
    quiet: str | None, digest: str | None, zone: str | None, format_: str | None
) -> dict[str, Any]:  # Any: JSON
    """Returns the settings that the options of `notify add` ask for, as the service takes them. Raises `UsageError`."""
    hours = None
    if quiet is not None:
        span = _SPAN.fullmatch(quiet)
        if span is None:
            raise UsageError(
                tell("{text!r} is not a span of the day", text=shorten(quiet)),
                hint=tell("nothing was sent; quiet hours look like 22:00-07:00"),
            )
        hours = {"from": span[1], "until": span[2]}
    times = sorted(set(_split(digest or "")))
    for each in times:
        if not _TIME.fullmatch(each):
            raise UsageError(
                tell("{text!r} is not a time of day", text=shorten(each)),
                hint=tell("nothing was sent; the times of --digest look like 08:00,18:00"),
            )
    zone = zone or (_local_zone() if hours or times else "+00:00")
    return {"digest": times, "format": format_ or "json", "quiet": hours, "zone": zone}


def _split(text: str) -> list[str]:
    return [part for part in re.split(r"[,\s]+", text) if part]


def _local_zone() -> str:
    """Returns how far the clock of this machine is from UTC now."""
    minutes = round(time.localtime().tm_gmtoff / 900) * 15
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


# --- answering by mail ------------------------------------------------------------------------------------------------


@mail.command(epilog="Examples: hkoji mail on alice@mail.example; hkoji mail on alice@mail.example --require dkim")
def on(
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="Your mailbox.")],
    require: Annotated[
        str,
        typer.Option(
            help="Proof that mails need: token, a letter's secret address; or dkim, also your provider's signature.",
            autocompletion=completion.one_of("token", "dkim"),
        ),
    ] = "token",
    json: Json = False,
) -> None:
    """Let the service sign moves that you send by mail.

    You get a letter, and answer yes to it. Then your key allows it by itself in each game: in new ones at the
    beginning, in running ones when you look at them on your next turn.
    """
    from hkoji.client.kept.sealed import SealedKeys
    from hkoji.log.mail_claim import MailGrade

    if require not in (MailGrade.TOKEN, MailGrade.DKIM):
        raise UsageError(
            tell("{text!r} is no grade of a mail", text=shorten(require)),
            hint=tell("nothing was sent; --require takes token or dkim"),
        )
    mailbox = _mailbox()
    channel = mailbox.turn_on(address, MailGrade(require), current())
    asked = channel.confirmed is None
    out.result(
        _mailbox_json(channel, mailbox.wish(), _delegated()),
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
    if any(SealedKeys(client().home).all()):
        out.say(tell("You cannot answer by mail in sealed games: only your own program can play there."))


@mail.command()
def off(json: Json = False) -> None:
    """End orders by mail.

    The service takes none from now on. In each game your key ends it when you look at it on your next turn. Letters go
    on; to end them too, remove the channel: see hkoji notify list.
    """
    channel = _mailbox().turn_off()
    games = _delegated()
    lines = [_("The service takes no orders by mail from you any more.")]
    if games:
        ids = ", ".join(each.game[:8] for each in games)
        lines.append(_("Your key ends it in a game when you look at that on your next turn: {games}", games=ids))
    out.result(_mailbox_json(channel, None, games), lambda: "\n".join(lines))


@mail.command()
def show(json: Json = False) -> None:
    """Show your mailbox, and the games in which your mails count."""
    mailbox = _mailbox()
    channel, wish, games = mailbox.channel(), mailbox.wish(), _delegated()
    out.result(_mailbox_json(channel, wish, games), lambda: "\n".join(_mailbox_lines(channel, wish, games)))


class _Delegated(NamedTuple):
    """A running game in which the service signs for the player too, as last seen: its id, the opponent, the grade."""

    game: str
    opponent: str | None
    grade: MailGrade


def _mailbox_lines(channel: PlayerChannel | None, wish: OrdersWish | None, games: list[_Delegated]) -> list[str]:
    from hkoji.cli.games.game_words import local_time

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


def _mailbox() -> OwnMailbox:
    from hkoji.client.held_keys import OwnMailbox

    return OwnMailbox(client().service(), client().identity.name)


def _delegated() -> list[_Delegated]:
    """Returns the running games in which the service signs for the player too, as last seen here."""
    url, found = client().server, []
    for kept in client().kept_games(status="playing"):
        setup, seat = kept.position.course.setup, kept.position.seat
        held = None if seat is None else setup.held_key(seat)
        if held is not None and held.grade is not None and seat is not None and client().server_of(setup.game) == url:
            found.append(_Delegated(setup.game, setup.names[1 - seat], held.grade))
    return found


def _mailbox_json(
    channel: PlayerChannel | None, wish: OrdersWish | None, games: list[_Delegated]
) -> dict[str, Any]:  # Any: JSON
    ours = channel is not None and _allowed_here(channel, wish)
    return {
        "address": channel.target if channel else None,
        "confirmed": channel.confirmed if channel else None,
        "games": [each._asdict() for each in games],
        "key": channel.certificate.key.fingerprint if channel and channel.certificate else None,
        "not_arriving_since": channel.off if channel else None,
        "orders": bool(channel and channel.orders),
        "require": wish.least.value if wish is not None and ours else None,
    }
