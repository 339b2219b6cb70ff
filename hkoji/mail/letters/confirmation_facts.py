"""What letters say that ask the owner of a mailbox to confirm something, and those that say that it is done."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from hkoji.mail.letters.game_facts import GameRow, SeatFacts


class ConfirmWhat(StrEnum):
    """What the owner of a mailbox confirms with `yes`. None of it enters anything into a log."""

    ON = "on"
    """Letters, and perhaps orders, of a player with a key of their own come and go by the mailbox."""
    REGISTER = "register"
    """The owner gets the name that they have asked for."""
    MOVE = "move"
    """The mailbox becomes that of a player who has played by mail from another one."""
    SILENCE = "silence"
    """The owner is still there, after a long time without a mail."""
    UNLOCK = "unlock"
    """The mailbox is unlocked, which its owner has locked."""


class ConfirmFacts(NamedTuple):
    """Something is done once the reader answers `yes`, until `until`.

    `orders` says for `ConfirmWhat.ON` whether mails are orders too. `seat` is the game about whose turn the reader
    would have got a letter, for `ConfirmWhat.SILENCE` only; its cards are not shown.
    """

    what: ConfirmWhat
    name: str
    origin: str
    until: str
    now: str
    orders: bool = False
    seat: SeatFacts | None = None
    zone: str = ""


class ConfirmedFacts(NamedTuple):
    """The reader has confirmed something.

    `commands` is the reader's command address, and `salt` that of the certificate for `mailbox`, if that is new.
    `rows` are the reader's running games.
    """

    what: ConfirmWhat
    name: str
    origin: str
    now: str
    mailbox: str = ""
    commands: str = ""
    salt: str = ""
    rows: tuple[GameRow, ...] = ()
    orders: bool = False
    zone: str = ""


class NameTakenFacts(NamedTuple):
    """The name for which the owner of a mailbox has asked is somebody else's. `address` is where to ask again.

    An empty name stands for one that nobody could have; `near` is a name that is near to it, if there is one.
    """

    name: str
    origin: str
    address: str
    near: str = ""


class LeftFacts(NamedTuple):
    """The last letter to a mailbox that `name` has left for another one."""

    name: str
    origin: str
