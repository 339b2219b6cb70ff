"""`own key`: a mail player asks for a code with which they play on with a key of their own.

Nothing changes by that: the held key signs until the code is used (`PlayerKeys.recover`). Whoever reads the mailbox is
taken for the player. So there is no code for anybody whose key is not held: a mailbox does not replace an own key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hkoji.game.clock import add_seconds
from hkoji.game.time_control import DAY
from hkoji.mail.commands import OrderKind
from hkoji.messages.text import tell
from hkoji_server.service.mail_results import AnswerKind, AnswerPart, part
from hkoji_server.service.mail_tokens import MailTokens
from hkoji_server.service.mail_work import NotDoneError, OrderWork, Step
from hkoji_server.service.operator_codes import digest_of
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_values import KeyCode

CODE_SECONDS: Final = DAY
"""For how long a code for an own key is valid, from when the mail came."""


class OwnKeyCommands:
    """The command `own key`."""

    def __init__(self, store: Store, tokens: MailTokens) -> None:
        self._store = store
        self._tokens = tokens

    @property
    def steps(self) -> Mapping[OrderKind, Step]:
        """What does each command of the module."""
        return {OrderKind.OWN_KEY: self._make_code}

    async def _make_code(self, work: OrderWork) -> AnswerPart:
        mail, name = work.case.mail, work.case.mailbox.name
        player = await self._store.player(name)
        if player is None or work.mailbox.state not in ("active", "stopped"):
            raise NotDoneError(tell("you are invited only: accept the invitation first"))
        if await self._store.held_key(player.key) is None:
            raise NotDoneError(tell("you have a key of your own already: {name} plays with it", name=name))
        if await self._store.retired(player.key) is not None:
            raise NotDoneError(
                tell(
                    "the key with which the service signs for you has been revoked: ask the operator of the service "
                    "for a code"
                )
            )
        code = await self._tokens.code(name, mail.digest)
        # It is kept when the mail is closed, so a mail that is processed twice makes no code that was used valid again.
        work.outcome.code = KeyCode(digest_of(code), name, add_seconds(mail.received, CODE_SECONDS))
        return part(AnswerKind.CODE)
