"""The statements of all reads of play by mail, compiled for the dialect of one backend."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import (
    ClauseElement,
    ColumnElement,
    Dialect,
    Integer,
    Text,
    bindparam,
    literal_column,
    or_,
    select,
    tuple_,
)

from hkoji_server.store import incoming
from hkoji_server.store.mail_tables import CERTIFICATE, DRAFT, EVIDENCE, HELD_KEY, MAILBOX, REPLY
from hkoji_server.store.mail_values import SHUT, TURNS_ON
from hkoji_server.store.mailboxes import COLUMNS, JOINED
from hkoji_server.store.reservations import standing, times, used
from hkoji_server.store.statements import Values, compiled


class MailReads:
    """The statements. Their parameters are those of `reserved_values`, and others with `b_` before their names."""

    def __init__(self, dialect: Dialect) -> None:
        def text(statement: ClauseElement) -> str:
            return compiled(statement, dialect)

        def where(*conditions: ColumnElement[bool]) -> str:
            return text(select(*COLUMNS).select_from(JOINED).where(*conditions))

        name, key, game = (bindparam(f"b_{each}", type_=Text) for each in ("name", "key", "game"))
        stands = standing(*(bindparam(f"b_{each}", type_=Text) for each in ("unasked", "reserved", "asked")))
        plays = MAILBOX.c.state.in_([_literal(each) for each in ("active", "stopped", *SHUT)])
        holder = select(HELD_KEY.c.name).where(HELD_KEY.c.key == key).scalar_subquery()
        self.mailbox: Final = where(MAILBOX.c.channel == bindparam("b_channel"))
        self.mailbox_of: Final = where(MAILBOX.c.name == name, or_(plays, stands))
        self.mailbox_at: Final = where(MAILBOX.c.address == bindparam("b_address"))
        # Two looks, each into an index.
        current = select(MAILBOX.c.channel).where(MAILBOX.c.held_key == key)
        earlier = select(MAILBOX.c.channel).where(MAILBOX.c.name == holder, plays)
        self.mailbox_of_key: Final = where(MAILBOX.c.channel.in_(current.union(earlier)))
        self.reserved: Final = text(select(MAILBOX.c.invited_by, used()).where(MAILBOX.c.name == name, stands))
        asked = (MAILBOX.c.state == _literal("asked")) & MAILBOX.c.confirm.like(_literal(f"{TURNS_ON}%"))
        self.own_mailbox: Final = where(MAILBOX.c.name == name, or_(plays, asked))
        self.held_key: Final = text(select(*HELD_KEY.c).where(HELD_KEY.c.key == key))
        certified = select(CERTIFICATE.c.key).where(CERTIFICATE.c.mailbox == bindparam("b_address", type_=Text))
        self.held_keys: Final = text(
            select(HELD_KEY.c.key).where(HELD_KEY.c.key.in_(certified), HELD_KEY.c.name == name)
        )
        self.certificates: Final = text(select(*CERTIFICATE.c).where(CERTIFICATE.c.key == key))
        self.reply: Final = text(select(*REPLY.c).where(REPLY.c.digest == bindparam("b_digest")))
        self.incoming: Final = text(incoming.one())
        self.waiting: Final = text(incoming.waiting())
        self.oldest: Final = text(incoming.oldest())
        self.drafts: Final = text(select(*DRAFT.c).where(DRAFT.c.game == game).order_by(DRAFT.c.source))
        place = tuple_(DRAFT.c.game, DRAFT.c.source)
        after = tuple_(bindparam("b_game", type_=Text), bindparam("b_source", type_=Text))
        self.drafts_with_entropy: Final = text(
            select(*DRAFT.c)
            .where(DRAFT.c.entropy.is_not(None), place > after)
            .order_by(DRAFT.c.game, DRAFT.c.source)
            .limit(bindparam("b_limit", type_=Integer))
            .offset(literal_column("0"))
        )
        self.evidence: Final = text(
            select(*EVIDENCE.c).where(EVIDENCE.c.game == game, EVIDENCE.c.name == name).order_by(EVIDENCE.c.commit)
        )


def reserved_values(name: str, now: str) -> Values:
    """Returns the parameters of a statement about a name that may be reserved."""
    unasked, reserved, asked = times(now)
    return {"b_name": name, "b_unasked": unasked, "b_reserved": reserved, "b_asked": asked}


def _literal(word: str) -> Any:  # Any: an expression
    return literal_column(f"'{word}'")
