"""The operator's commands about mailboxes: inviting people to play by mail, looking at, locking and erasing mailboxes.

Each takes the folder of a service, and by name a `database` and a `config`. The service may be running meanwhile.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hkoji.errors import ForbiddenError, IllegalError, NotFoundError
from hkoji.mail.letters.mailbox import ConfirmWhat
from hkoji.messages.text import tell
from hkoji_server.service.mail.seat_games import mails_of
from hkoji_server.service.players.held_players import HeldPlayers, find_held_players
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.settings import Settings
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_values import SHUT, Mailbox, MailboxState
from hkoji_server.store.open_store import on_store


@on_store
async def add(store: Store, settings: Settings, name: str, address: str, lang: str) -> dict[str, Any]:  # Any: JSON
    """Invites the owner of a mailbox to play by mail, by a letter without a game.

    Returns what `show` returns, and whether there is a `letter` to send: not if this invitation was made before.
    Raises what `HeldPlayers.invite` raises, `NotFoundError` if there is no service, `StorageError`.
    """
    players = await _players(store, settings)
    before = await store.mailbox_of(name, ClockAndEntropy().at())
    await players.invite(name, address, lang, None)
    box = await _mailbox(store, name)
    return {**_shown(box), "letter": before is None or before.channel != box.channel}


@on_store
async def move(store: Store, settings: Settings, name: str, address: str) -> dict[str, Any]:  # Any: JSON
    """Asks the owner of another mailbox, by a letter, if it is to be that of a player from now on.

    Nothing changes before the answer `yes`. Returns what `show` returns, and whether there is a `letter` to send: not
    if the owner was asked this within a day, and has not answered. Raises what `HeldPlayers.ask` raises,
    `ForbiddenError` for a player who has not accepted, `IllegalError` for the same mailbox, `NotFoundError`,
    `StorageError`.
    """
    box = await _mailbox(store, name)
    if not box.plays:
        raise _not_accepted(name)
    if box.address.lower() == address.lower():
        raise IllegalError(tell("that is the mailbox of {name} already", name=name), hint=tell("nothing was changed"))
    players = await _players(store, settings)
    before = await store.mailbox_at(address)
    asked = await players.ask(ConfirmWhat.MOVE, name, address, box.lang, None)
    return {**_shown(box), "letter": before is None or before.channel != asked.channel}


async def _players(store: Store, settings: Settings) -> HeldPlayers:
    players = await find_held_players(store, settings, ClockAndEntropy())
    if players is None:
        raise NotFoundError(tell("service in"), str(settings.data))
    return players


@on_store
async def show(store: Store, _: Settings, name: str) -> dict[str, Any]:  # Any: JSON
    """Returns what the service knows of the mailbox of a player, or of whoever is invited under that name.

    Raises `NotFoundError`, `StorageError`.
    """
    return _shown(await _mailbox(store, name))


@on_store
async def lock(store: Store, _: Settings, name: str) -> dict[str, Any]:  # Any: JSON
    """Locks a mailbox: its letters end, its mails order nothing, and its owner cannot unlock it.

    Returns what `show` returns.
    """
    return await _set_state(store, name, "suspended")


@on_store
async def unlock(store: Store, _: Settings, name: str) -> dict[str, Any]:  # Any: JSON
    """Unlocks a mailbox that its owner or the operator has locked. Returns what `show` returns."""
    return await _set_state(store, name, "active")


@on_store
async def erase(store: Store, _: Settings, name: str) -> dict[str, Any]:  # Any: JSON
    """Erases a mailbox: its address, its mails, and what they prove. The name, the held key and all logs stay.

    Returns what `show` returned before. Raises `NotFoundError`, `StorageError`.
    """
    box = await _mailbox(store, name)
    if not await store.erase_mailbox(box.channel):
        raise _unknown(name)
    return _shown(box)


@on_store
async def evidence(store: Store, _: Settings, game: str, name: str) -> bytes:
    """Returns the mails file of a player in a game: the mails that its log commits to, as far as they are kept.

    Raises `NotFoundError` if none are, `StorageError`.
    """
    lines = await store.lines(game)
    if not lines:
        raise NotFoundError(tell("game"), game, hint=tell("is the id right and whole?"))
    found = await mails_of(store, lines, name)
    if not found:
        raise NotFoundError(
            tell("mails of"),
            name,
            hint=tell("none are kept for this game: they were erased, or nobody has written any"),
        )
    return found


async def _set_state(store: Store, name: str, state: MailboxState) -> dict[str, Any]:  # Any: JSON
    box = await _mailbox(store, name)
    if not box.plays:
        raise _not_accepted(name)
    if state == "active" and box.state not in SHUT:
        raise IllegalError(tell("the mailbox of {name} is not locked", name=name), hint=tell("nothing was changed"))
    while box.state != state:
        # Changes by mails stay. If one of them was of the state, it is looked at anew.
        await store.change_mailbox(replace(box, state=state, since=ClockAndEntropy().at()), box)
        box = await _mailbox(store, name)
    return _shown(box)


async def _mailbox(store: Store, name: str) -> Mailbox:
    box = await store.mailbox_of(name, ClockAndEntropy().at())
    if box is None:
        raise _unknown(name)
    return box


def _not_accepted(name: str) -> ForbiddenError:
    return ForbiddenError(
        tell("the owner of the mailbox of {name} has not accepted yet", name=name),
        hint=tell("nothing was changed; to take the invitation back, erase the mailbox"),
    )


def _unknown(name: str) -> NotFoundError:
    return NotFoundError(tell("mailbox of"), name, hint=tell("is the name right? Nothing was changed"))


def _shown(box: Mailbox) -> dict[str, Any]:  # Any: JSON
    names = ("name", "address", "state", "since", "lang", "orders", "cards", "paused", "heard")
    return {**{name: getattr(box, name) for name in names}, "key": box.held_key}
