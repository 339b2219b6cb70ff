"""Registration by a mail: somebody writes `register NAME` to the bare address, and answers `yes` to the letter.

Whoever can write in the name of somebody else must not cause a letter to them. So nothing is kept, and nothing is
answered, unless the mail has a DKIM signature that holds and is of the domain of its sender.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from hkoji.errors import ExistsError, ForbiddenError, IllegalError, MalformedError, TooManyError, UnreadableMailError
from hkoji.log.canonical import is_name
from hkoji.mail.commands import OrderFault, OrderKind
from hkoji.mail.dkim_rules import judge_dkim, key_names
from hkoji.mail.fields import SplitMail
from hkoji.mail.letters.confirmation_facts import ConfirmWhat
from hkoji.mail.mail_types import MailHeader
from hkoji.mail.order_lines import order_lines
from hkoji.mail.orders import read_orders
from hkoji_server.service.held_players import HeldPlayers
from hkoji_server.service.mail_signatures import LookUp

_AT_ONCE: Final = 4
"""How many of these mails DNS is asked about at the same time. More are dropped, so that no other mail waits."""
_MOST_WAITED: Final = 20.0
"""For how many seconds DNS is waited for in a row."""
_SHARE: Final = 0.1
"""For which part of the time it is waited for then."""
_LANGUAGE: Final = "en"


class SelfRegistration:
    """Takes mails that ask for a name. `look_up` asks DNS, and `elapsed` returns seconds since some moment.

    Strangers choose which DNS is asked, and it can be a slow one. While it is waited for, a mailbox is not read. So
    mails that ask for a name are dropped for a while when others of them have taken long.
    """

    def __init__(self, players: HeldPlayers, look_up: LookUp, *, elapsed: Callable[[], float] = time.monotonic) -> None:
        self._players = players
        self._look_up = look_up
        self._elapsed = elapsed
        self._asking = asyncio.Semaphore(_AT_ONCE)
        self._waits, self._since = _MOST_WAITED, elapsed()

    async def take(self, mail: SplitMail, header: MailHeader, received: str) -> bool:
        """Asks the sender of a mail that counts to confirm the name. Returns False if it is dropped.

        At most one letter leads to another: one that asks for `yes`, or one that says that the name is taken.
        """
        name, names = asked_name(mail), key_names(mail.raw)
        if name is None or header.sender is None or not names or self._asking.locked() or not self._may_wait():
            return False
        async with self._asking:
            began = self._elapsed()
            try:
                answers = await self._look_up(names)
            finally:
                self._waits -= self._elapsed() - began
        if not judge_dkim(mail.raw, answers, at=received, token=None).holds:
            return False
        address = header.sender
        try:
            if not is_name(name):
                await self._players.refuse_name(name, address, _LANGUAGE)
                return True
            try:
                await self._players.ask(ConfirmWhat.REGISTER, name, address, _LANGUAGE, address)
            except ExistsError:
                await self._players.refuse_name(name, address, _LANGUAGE)
        except (ForbiddenError, IllegalError, MalformedError, TooManyError):
            return False  # they play here already, or have been asked often enough
        return True

    def _may_wait(self) -> bool:
        now = self._elapsed()
        self._waits = min(_MOST_WAITED, self._waits + (now - self._since) * _SHARE)
        self._since = now
        return self._waits > 0


def asked_name(mail: SplitMail) -> str | None:
    """Returns the name that a mail asks for with its one command; None for any other mail."""
    try:
        orders = read_orders(order_lines(mail))
    except UnreadableMailError:
        return None
    if isinstance(orders, OrderFault) or [each.kind for each in orders] != [OrderKind.REGISTER]:
        return None
    return orders[0].words[0]
