"""The store as the service sees it: a class of areas, and the promises that every backend keeps.

- When a write has returned, it is on disk: it survives a crash of the process or the system, and a power cut.
- `append` is compare-and-swap on (game, seq, head, deadline): of two racing writes for one place exactly one succeeds.
  A write is atomic.
- Nothing is written that was decided without an outage that is recorded by then, or too long ago: see `time_contract`.
- A notice is written in the transaction of what it tells: see `notices`.
- A read that begins after a write has returned sees the write, in every process.
- Hints may be lost, late, doubled or wrong. A caller that waits for something must also check at intervals.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction
from time import perf_counter
from types import SimpleNamespace
from typing import Any, cast

from hkoji.errors import HkojiError
from hkoji_server.store.choices import ChannelStore, ChoiceStore
from hkoji_server.store.game_statements import StatementStore
from hkoji_server.store.games import GameStore
from hkoji_server.store.incoming import IncomingStore
from hkoji_server.store.letters import LetterStore
from hkoji_server.store.mail_invitations import InvitationStore
from hkoji_server.store.mailboxes import MailboxStore
from hkoji_server.store.notices import NoticeStore
from hkoji_server.store.outages import OutageStore
from hkoji_server.store.players import CodeStore, PlayerStore
from hkoji_server.store.talk import TalkStore


class Store(
    GameStore,
    StatementStore,
    OutageStore,
    PlayerStore,
    CodeStore,
    ChoiceStore,
    ChannelStore,
    NoticeStore,
    TalkStore,
    MailboxStore,
    InvitationStore,
    IncomingStore,
    LetterStore,
):
    """The games and players of a service. Writes are on disk when they return.

    The names of the methods are labels of the metrics. A backend gives the steps of `SqlSteps`, and the methods that
    each database does in another way: appends and new games, heads, hints and `drained`.
    """


Observe = Callable[[str, float, HkojiError | None], None]
"""A function that is called after each call, with its name, its seconds, and its error if that is an `HkojiError`."""


def timed_store(store: Store, observe: Observe) -> Store:
    """Returns `store` with a call of `observe` after every awaited call; the other methods are as they are."""
    calls = {name: getattr(store, name) for name in dir(Store) if not name.startswith("_")}
    timed = {name: _timed(name, call, observe) for name, call in calls.items() if iscoroutinefunction(call)}
    return cast(Store, SimpleNamespace(**calls | timed))


def _timed(name: str, call: Callable[..., Awaitable[Any]], observe: Observe) -> Callable[..., Awaitable[Any]]:
    async def timed(*given: Any, **named: Any) -> Any:  # Any: whatever the call takes and returns
        started = perf_counter()
        failed: HkojiError | None = None
        try:
            return await call(*given, **named)
        except HkojiError as error:
            failed = error
            raise
        finally:
            observe(name, perf_counter() - started, failed)

    return timed
