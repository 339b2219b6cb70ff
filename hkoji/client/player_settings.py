"""The player's settings at their service: channels, invitations, and blocked players.

docs/spec/http.md, "Notices" and "Choices of players". Channels are where the service tells the player of events. Only
this home knows whose keys the player has compared. So the names of these players go to the service with the choice
`known`, and again when the player trusts another key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hkoji.client.answers import LONGEST_PAGE, read, read_certificate, read_text, understood
from hkoji.client.kept.home import Home
from hkoji.client.service import Service
from hkoji.client.transport import HttpAnswer
from hkoji.errors import NotFoundError, ServiceError, UsageError
from hkoji.game.held_keys import Gateway
from hkoji.log.canonical import is_hex, is_name, name_fault
from hkoji.messages.text import shorten, tell

if TYPE_CHECKING:
    from hkoji.wire import BlocksModel, ChannelModel, ChannelsModel

_ID_DIGITS: Final = 16
_SALT_DIGITS: Final = 64
_PATH: Final = "/v1/me/channels"
INVITES: Final = ("everyone", "known", "nobody")
"""The choices whose invitations a player accepts. `known` are past opponents, and players whose keys are trusted."""
_MOST_KNOWN: Final = 400


class PlayerChannel(NamedTuple):
    """A channel, as the service shows it to its owner: `target` lacks what is secret in the address.

    Times are None for what has not happened. `settings` is JSON. Only a mailbox has `orders` (whether mails from there
    are orders), the `certificate` of the key that the service holds for it, and the `salt` of the hash in that.
    """

    id: str
    kind: str
    target: str
    events: tuple[str, ...]
    settings: dict[str, Any]  # Any: JSON
    created: str
    confirmed: str | None
    failures: int
    off: str | None
    orders: bool | None = None
    certificate: Gateway | None = None
    salt: str | None = None


class PlayerChannels:
    """Requests about the player's channels. All need a login, and raise the errors of the service's refusals."""

    def __init__(self, service: Service) -> None:
        self._requests = service.requests

    def all(self) -> list[PlayerChannel]:
        """Returns the channels, the oldest first."""
        answer = self._requests.as_player("GET", _PATH)
        with understood(answer):
            found: ChannelsModel = answer.json()
            return list(map(_read, found["channels"]))

    def find(self, prefix: str) -> PlayerChannel:
        """Returns the channel whose id begins so. Raises `NotFoundError`, and `UsageError` if there are several."""
        found = [each for each in self.all() if prefix and each.id.startswith(prefix.lower())]
        if not found:
            raise NotFoundError(tell("channel"), prefix, hint=tell("see yours with `hkoji notify list`"))
        if len(found) > 1:
            names = ", ".join(each.id for each in found)
            raise UsageError(
                tell("{prefix} begins more than one channel: {names}", prefix=prefix, names=names),
                hint=tell("give more digits"),
            )
        return found[0]

    def add(self, kind: str, target: str, events: Sequence[str] | None, settings: dict[str, Any]) -> PlayerChannel:
        """Makes a channel, to which the service sends a code. `events` is None for all. `settings` is JSON."""
        value = {"kind": kind, "target": target, "events": events and list(events), "settings": settings}
        return self._post(_PATH, value)

    def set_mailbox(
        self, address: str, *, orders: bool, language: str | None, settings: dict[str, Any]
    ) -> PlayerChannel:
        """Makes or changes the player's mailbox. The owner of a new one is asked by a letter. `settings` is JSON."""
        value = {"kind": "mail", "target": address, "orders": orders, "settings": settings}
        return self._post(_PATH, value if language is None else {**value, "lang": language})

    def confirm(self, channel: str, code: str) -> PlayerChannel:
        """Confirms a channel by its code."""
        return self._post(f"{_PATH}/{channel}/confirm", {"code": code})

    def test(self, channel: str) -> PlayerChannel:
        """Lets the service send a test notice."""
        return self._post(f"{_PATH}/{channel}/test", None)

    def remove(self, channel: str) -> None:
        """Removes a channel."""
        self._requests.as_player("DELETE", f"{_PATH}/{channel}")

    def _post(self, path: str, value: object) -> PlayerChannel:
        return read(self._requests.as_player("POST", path, value), _read)


def _read_texts(value: object) -> list[str]:
    if not isinstance(value, list):
        raise TypeError("it is not a list")
    return [read_text(each) for each in value]


def _read(value: ChannelModel) -> PlayerChannel:
    """Reads a channel. Raises `KeyError`, `TypeError` or `ValueError` for another form."""
    channel, failures, settings = read_text(value["id"]), value["failures"], value["settings"]
    if not is_hex(channel, _ID_DIGITS):
        raise ValueError("the id of a channel is 16 hex digits")  # it becomes part of an address
    if type(failures) is not int:
        raise TypeError("a channel")
    quiet = settings["quiet"]
    read = {
        "digest": _read_texts(settings["digest"]),
        "format": read_text(settings["format"]),
        "quiet": quiet and {name: read_text(quiet[name]) for name in ("from", "until")},
        "zone": read_text(settings["zone"]),
    }
    return PlayerChannel(
        channel,
        read_text(value["kind"]),
        read_text(value["target"]),
        tuple(_read_texts(value["events"])),
        read,
        read_text(value["created"]),
        None if value["confirmed"] is None else read_text(value["confirmed"]),
        failures,
        None if value["off"] is None else read_text(value["off"]),
        *_read_mailbox(value),
    )


def _read_mailbox(value: ChannelModel) -> tuple[bool | None, Gateway | None, str | None]:
    """Reads what only a mailbox has."""
    if value.get("certificate") is None:
        return None, None, None
    orders, salt = value["orders"], read_text(value["salt"])
    if type(orders) is not bool or not is_hex(salt, _SALT_DIGITS):
        raise ValueError("a mailbox")
    return orders, read_certificate(value["certificate"]), salt


class InvitationChoice(NamedTuple):
    """The choice whose invitations a player accepts, and the names that were sent as known."""

    invites: str
    known: tuple[str, ...]


class ServiceChoices:
    """The choices of the player of `home` at a `service`. Every request can raise what those of `Service` raise."""

    def __init__(self, home: Home, service: Service) -> None:
        self._home: Final = home
        self._service: Final = service

    def invites(self) -> InvitationChoice:
        """Returns whose invitations the player accepts."""
        return read(self._send("GET", "/v1/me/settings"), _read_choice)

    def set_invites(self, invites: str) -> InvitationChoice:
        """Changes whose invitations the player accepts. Raises `UsageError` for another word than `INVITES`."""
        if invites not in INVITES:
            raise UsageError(
                tell("{word!r} is not a choice for invites", word=shorten(invites)),
                hint=tell("nothing was changed; choices: {names}", names=", ".join(INVITES)),
            )
        known = self._service.pins.trusted_names if invites == "known" else ()
        if len(known) > _MOST_KNOWN:
            raise UsageError(
                tell("you trust the keys of {n} players, and a service takes {limit}", n=len(known), limit=_MOST_KNOWN),
                hint=tell("nothing was changed; choose everyone or nobody"),
            )
        kept = read(self._send("PUT", "/v1/me/settings", {"invites": invites, "known": list(known)}), _read_choice)
        self._home.update_config(invites=kept.invites)
        return kept

    def send_known(self) -> None:
        """Sends the names of those whose keys are trusted, if the player accepts invitations of known players only."""
        if self._home.config().get("invites") == "known":
            self.set_invites("known")

    def blocks(self) -> tuple[str, ...]:
        """Returns the names of the players whom the player has blocked."""
        answer = self._send("GET", "/v1/me/blocks")
        with understood(answer):
            found: BlocksModel = answer.json()
            return _names(found["blocks"])

    def block(self, name: str) -> None:
        """Blocks a player. Raises `NotFoundError` if the service knows nobody of that name."""
        self._change("PUT", name)

    def unblock(self, name: str) -> None:
        """Removes a block, if there is one."""
        self._change("DELETE", name)

    def _change(self, method: str, name: str) -> None:
        if not is_name(name):  # it becomes a part of an address
            raise UsageError(name_fault(name), hint=tell("nothing was changed"))
        try:
            self._send(method, f"/v1/me/blocks/{name}")
        except ServiceError as error:
            if error.status != 404:
                raise
            raise NotFoundError(tell("player"), name, hint=tell("nothing was changed; is the name right?")) from error

    def _send(self, method: str, path: str, value: dict[str, Any] | None = None) -> HttpAnswer:  # Any: JSON
        return self._service.requests.as_player(method, path, value, most=LONGEST_PAGE)


def _read_choice(value: Any) -> InvitationChoice:  # Any: JSON, in the form in which it is sent
    invites = read_text(value["invites"])
    if invites not in INVITES:
        raise ValueError("it is not a choice for invites")
    return InvitationChoice(invites, _names(value["known"]))


def _names(value: list[str]) -> tuple[str, ...]:
    names = tuple(map(read_text, value))
    if not all(map(is_name, names)):
        raise ValueError("a name is not one of a player")
    return names
