"""With whom the player plays, as the player's service keeps it: whose invitations count, and who is blocked.

docs/spec/http.md, "Choices of players". Only this home knows whose keys the player has compared. So the names of these
players go to the service with the choice `known`, and again when the player trusts another key.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from hkoji.client.answers import LONGEST_PAGE, read_text, understood
from hkoji.client.home import Home
from hkoji.client.service import Service
from hkoji.client.transport import HttpAnswer
from hkoji.errors import NotFoundError, ServiceError, UsageError
from hkoji.log.canonical import name_fault
from hkoji.log.entry import is_name
from hkoji.messages.text import shorten, tell

INVITES: Final = ("everyone", "known", "nobody")
"""Whose invitations a player can accept. `known` are those of past opponents, and of those whose keys are trusted."""
_MOST_KNOWN: Final = 400


class InvitationChoice(NamedTuple):
    """Whose invitations a player accepts, and the names that were sent as known."""

    invites: str
    known: tuple[str, ...]


class ServiceChoices:
    """The choices of the player of `home` at a `service`. Every request can raise what those of `Service` raise."""

    def __init__(self, home: Home, service: Service) -> None:
        self._home: Final = home
        self._service: Final = service

    def invites(self) -> InvitationChoice:
        """Returns whose invitations the player accepts."""
        return _read_choice(self._send("GET", "/v1/me/settings"))

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
        kept = _read_choice(self._send("PUT", "/v1/me/settings", {"invites": invites, "known": list(known)}))
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
            return _names(answer.json()["blocks"])

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
        requests = self._service.requests
        return requests.with_login(lambda token: requests.send(method, path, value, token, most=LONGEST_PAGE))


def _read_choice(answer: HttpAnswer) -> InvitationChoice:
    with understood(answer):
        value = answer.json()
        invites = read_text(value["invites"])
        if invites not in INVITES:
            raise ValueError("it is not a choice for invites")
        return InvitationChoice(invites, _names(value["known"]))


def _names(value: Any) -> tuple[str, ...]:  # Any: JSON
    names = tuple(read_text(each) for each in value)
    if not all(map(is_name, names)):
        raise ValueError("a name is not one of a player")
    return names
