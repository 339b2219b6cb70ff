"""`hkoji notify`: the channels through which a service tells the player of events."""

from __future__ import annotations

import re
import time
from typing import Any, Final, NamedTuple

from hkoji.cli.games.game_words import local_time
from hkoji.cli.language import _
from hkoji.cli.output import CommandOutput
from hkoji.client import Client
from hkoji.client.player_settings import PlayerChannel, PlayerChannels
from hkoji.errors import UsageError
from hkoji.messages.text import shorten, tell

_SPAN: Final = re.compile(r"([0-9]{2}:[0-9]{2})-([0-9]{2}:[0-9]{2})")
_TIME: Final = re.compile(r"[0-9]{2}:[0-9]{2}")


class ChannelOptions(NamedTuple):
    """The options of `notify add`, as they were typed."""

    events: str | None
    quiet: str | None
    digest: str | None
    zone: str | None
    format: str | None


def add(client: Client, out: CommandOutput, kind: str, target: str, wish: ChannelOptions) -> None:
    """Makes a channel, to which the service sends a code."""
    settings = _read_settings(wish)
    events = None if wish.events is None else _split(wish.events)
    made = _channels(client).add(kind, target, events, settings)
    if made.certificate is not None:
        out.result(
            _channel_json(made),
            lambda: _("The service has sent a letter to {address}. Answer it with: yes", address=made.target),
            exact=True,
        )
        return
    out.result(
        _channel_json(made),
        lambda: _(
            "The service has sent a first notice, with a code, to this address: {target}\nType the code within a day:\n"
            "hkoji notify confirm {channel} CODE",
            target=made.target,
            channel=made.id,
        ),
        exact=True,
    )


def confirm(client: Client, out: CommandOutput, channel: str, code: str) -> None:
    """Confirms a channel by the code of its first notice."""
    channels = _channels(client)
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


def test(client: Client, out: CommandOutput, channel: str) -> None:
    """Lets the service send a test notice."""
    channels = _channels(client)
    found = channels.test(channels.find(channel).id)
    out.result(_channel_json(found), lambda: _("{target} has taken a test notice.", target=found.target))


def remove(client: Client, out: CommandOutput, channel: str) -> None:
    """Removes a channel."""
    channels = _channels(client)
    found = channels.find(channel)
    channels.remove(found.id)
    out.result(_channel_json(found), lambda: _("Nothing is sent to {target} any more.", target=found.target))


def list_channels(client: Client, out: CommandOutput) -> None:
    """Lists the channels."""
    found = _channels(client).all()
    out.result(
        [_channel_json(each) for each in found],
        lambda: "\n".join(map(_line, found)) if found else _("You have no channels. Add one with: hkoji notify add"),
    )


def _channels(client: Client) -> PlayerChannels:
    return PlayerChannels(client.service())


def _channel_json(channel: PlayerChannel) -> dict[str, Any]:  # Any: JSON
    shown = {**channel._asdict(), "events": list(channel.events)}
    certificate = shown.pop("certificate")
    if certificate is None:
        del shown["orders"], shown["salt"]
        return shown
    return {**shown, "certificate": certificate.to_json()}


def _line(channel: PlayerChannel) -> str:
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


# --- reading options --------------------------------------------------------------------------------------------------


def _read_settings(wish: ChannelOptions) -> dict[str, Any]:  # Any: JSON
    """Returns the settings that the options ask for, as the service takes them. Raises `UsageError`."""
    quiet = None
    if wish.quiet is not None:
        span = _SPAN.fullmatch(wish.quiet)
        if span is None:
            raise UsageError(
                tell("{text!r} is not a span of the day", text=shorten(wish.quiet)),
                hint=tell("nothing was sent; quiet hours look like 22:00-07:00"),
            )
        quiet = {"from": span[1], "until": span[2]}
    digest = sorted(set(_split(wish.digest or "")))
    for each in digest:
        if not _TIME.fullmatch(each):
            raise UsageError(
                tell("{text!r} is not a time of day", text=shorten(each)),
                hint=tell("nothing was sent; the times of --digest look like 08:00,18:00"),
            )
    zone = wish.zone or (_local_zone() if quiet or digest else "+00:00")
    return {"digest": digest, "format": wish.format or "json", "quiet": quiet, "zone": zone}


def _split(text: str) -> list[str]:
    return [part for part in re.split(r"[,\s]+", text) if part]


def _local_zone() -> str:
    """Returns how far the clock of this machine is from UTC now."""
    minutes = round(time.localtime().tm_gmtoff / 900) * 15
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
