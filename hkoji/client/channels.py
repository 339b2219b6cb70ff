"""The player's channels at a service: where it tells them of events. docs/spec/http.md, "Notices"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from hkoji.client.answers import read_text, understood
from hkoji.client.service import Service
from hkoji.client.transport import HttpAnswer
from hkoji.errors import NotFoundError, UsageError
from hkoji.game.held_keys import Gateway, read_gateway, require_strong_gateway
from hkoji.log.canonical import is_hex
from hkoji.messages.text import tell

_ID_DIGITS: Final = 16
_SALT_DIGITS: Final = 64
_PATH: Final = "/v1/me/channels"


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
        answer = self._requests.with_login(lambda token: self._requests.send("GET", _PATH, token=token))
        with understood(answer):
            return [_read(each) for each in answer.json()["channels"]]

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
        return _read_answer(self._post(_PATH, value))

    def set_mailbox(
        self, address: str, *, orders: bool, language: str | None, settings: dict[str, Any]
    ) -> PlayerChannel:
        """Makes or changes the player's mailbox. The owner of a new one is asked by a letter. `settings` is JSON."""
        value = {"kind": "mail", "target": address, "orders": orders, "settings": settings}
        return _read_answer(self._post(_PATH, value if language is None else {**value, "lang": language}))

    def confirm(self, channel: str, code: str) -> PlayerChannel:
        """Confirms a channel by its code."""
        return _read_answer(self._post(f"{_PATH}/{channel}/confirm", {"code": code}))

    def test(self, channel: str) -> PlayerChannel:
        """Lets the service send a test notice."""
        return _read_answer(self._post(f"{_PATH}/{channel}/test", None))

    def remove(self, channel: str) -> None:
        """Removes a channel."""
        path = f"{_PATH}/{channel}"
        self._requests.with_login(lambda token: self._requests.send("DELETE", path, token=token))

    def _post(self, path: str, value: object) -> HttpAnswer:
        return self._requests.with_login(lambda token: self._requests.send("POST", path, value, token))


def _read_answer(answer: HttpAnswer) -> PlayerChannel:
    with understood(answer):
        return _read(answer.json())


def _read_texts(value: object) -> list[str]:
    if not isinstance(value, list):
        raise TypeError("it is not a list")
    return [read_text(each) for each in value]


def _read(value: Any) -> PlayerChannel:  # Any: JSON
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


def _read_mailbox(value: dict[str, Any]) -> tuple[bool | None, Gateway | None, str | None]:  # Any: JSON
    """Reads what only a mailbox has."""
    if value.get("certificate") is None:
        return None, None, None
    orders, salt = value["orders"], read_text(value["salt"])
    if type(orders) is not bool or not is_hex(salt, _SALT_DIGITS):
        raise ValueError("a mailbox")
    return orders, require_strong_gateway(read_gateway(value["certificate"])), salt
