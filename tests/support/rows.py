"""Rows of the store's tables, made from columns by their places: shorter than `row_of` where a test makes many."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

from hkoji_server.store.mail_tables import HeldEntropy, KeptCertificate, KeptHeldKey, MailEvidence
from hkoji_server.store.player_tables import OperatorCode, Player, RetiredKey
from hkoji_server.store.tables import Channel, KeptMessage, KeptStatement, changed, row_of
from sqlmodel import SQLModel

R = TypeVar("R", bound=SQLModel)
T = TypeVar("T")


def _by_place(table: type[R]) -> Callable[..., R]:
    """A function that makes rows of a table."""
    names = tuple(table.model_fields)

    def made(*given: Any, **named: Any) -> R:  # Any: column values
        return row_of(table, **dict(zip(names, given, strict=False)), **named)

    return made


a_player: Final = _by_place(Player)
a_retired_key: Final = _by_place(RetiredKey)
a_code: Final = _by_place(OperatorCode)
a_kept_message: Final = _by_place(KeptMessage)
a_statement: Final = _by_place(KeptStatement)
a_held_key: Final = _by_place(KeptHeldKey)
a_certificate: Final = _by_place(KeptCertificate)
an_entropy: Final = _by_place(HeldEntropy)
an_evidence: Final = _by_place(MailEvidence)
_channel: Final = _by_place(Channel)


def a_kept_channel(*given: Any, **named: Any) -> Channel:  # Any: column values
    """A channel, with its events as names."""
    made = _channel(*given, **named)
    return changed(made, events=f" {' '.join(made.events)} ")


def replace(value: T, **changes: Any) -> T:  # Any: fields by name
    """A row or a data class with other values."""
    if isinstance(value, SQLModel):
        return cast(T, changed(value, **changes))
    return cast(T, dataclasses.replace(cast(Any, value), **changes))
