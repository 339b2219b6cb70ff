"""Mailboxes and held keys.

A *mailbox* is a channel of kind `mail` whose owner answers its letters. A *held key* is a key that the service keeps
and uses for such a player. A mailbox belongs to one address, and a name to one player. Addresses are compared in lower
case.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Text,
    bindparam,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)

from hkoji.game.agreement import DAY
from hkoji.game.clock import add_seconds, parse_time
from hkoji_server.store.mail_tables import (
    BOUNCE,
    CERTIFICATE,
    EVIDENCE,
    HELD_KEY,
    INCOMING,
    MAIL_INVITATION,
    MAILBOX,
    REPLY,
    KeptCertificate,
    KeptHeldKey,
)
from hkoji_server.store.mail_values import EVENTS_OF, MAIL_KIND, NO_GAME, SHUT, TURNS_ON, Mailbox
from hkoji_server.store.notices import outbox_row, writing
from hkoji_server.store.players import held_key_of, void_code
from hkoji_server.store.reservations import STANDS, literal, reserved_values, standing_at
from hkoji_server.store.sql_steps import SqlSteps, holding, transaction, within
from hkoji_server.store.tables import CHANNEL, OUTBOX, one_of, rows_of

_YEAR: Final = 365 * DAY
_FIELDS: Final = tuple(field.name for field in fields(Mailbox))
COLUMNS: Final = tuple(CHANNEL.c.target if name == "address" else MAILBOX.c[name] for name in _FIELDS)
"""The columns of a `Mailbox`. The address is as it was written."""
JOINED: Final = MAILBOX.join(CHANNEL, CHANNEL.c.id == MAILBOX.c.channel)


def _where(*conditions: ColumnElement[bool]) -> Select[Any]:
    return select(*COLUMNS).select_from(JOINED).where(*conditions)


def _of_key() -> Select[Any]:
    # Two looks, each into an index.
    key = bindparam("b_key", type_=Text)
    holder = select(HELD_KEY.c.name).where(HELD_KEY.c.key == key).scalar_subquery()
    current = select(MAILBOX.c.channel).where(MAILBOX.c.held_key == key)
    earlier = select(MAILBOX.c.channel).where(MAILBOX.c.name == holder, _PLAYS)
    return _where(MAILBOX.c.channel.in_(current.union(earlier)))


_PLAYS: Final = MAILBOX.c.state.in_([literal(each) for each in ("active", "stopped", *SHUT)])
_NAMED: Final = MAILBOX.c.name == bindparam("b_name", type_=Text)
_ASKED: Final = (MAILBOX.c.state == literal("asked")) & MAILBOX.c.confirm.like(literal(f"{TURNS_ON}%"))
_BOX: Final = _where(MAILBOX.c.channel == bindparam("b_channel"))
_BOX_OF: Final = _where(_NAMED, or_(_PLAYS, STANDS))
_BOX_AT: Final = _where(MAILBOX.c.address == bindparam("b_address"))
_BOX_OF_KEY: Final = _of_key()
_OWN_BOX: Final = _where(_NAMED, or_(_PLAYS, _ASKED))
_HELD_KEY: Final = select(*HELD_KEY.c).where(HELD_KEY.c.key == bindparam("b_key"))
_HELD_KEYS: Final = select(HELD_KEY.c.key).where(
    HELD_KEY.c.key.in_(select(CERTIFICATE.c.key).where(CERTIFICATE.c.mailbox == bindparam("b_address", type_=Text))),
    HELD_KEY.c.name == bindparam("b_name"),
)
_CERTIFICATES: Final = select(*CERTIFICATE.c).where(CERTIFICATE.c.key == bindparam("b_key"))


class MailboxStore(SqlSteps):
    """The area of the store that is about mailboxes and held keys. `ArrivalStore` documents what is in it too."""

    async def own_mailbox(self, name: str) -> Mailbox | None:
        """Returns the mailbox of a player, also while its owner is `asked`, if it is not in use yet."""
        found = map(read_mailbox, await self._read(_OWN_BOX, b_name=name))
        return min(found, key=lambda each: each.state == "asked", default=None)

    async def mailbox(self, channel: str) -> Mailbox | None:
        """Returns a mailbox by the id of its channel."""
        return await self._one_mailbox(_BOX, b_channel=channel)

    async def mailbox_of(self, name: str, now: str) -> Mailbox | None:
        """Returns the mailbox of a mail player, or of whoever is invited under that name now."""
        return await self._one_mailbox(_BOX_OF, **reserved_values(name, now))

    async def mailbox_at(self, address: str) -> Mailbox | None:
        return await self._one_mailbox(_BOX_AT, b_address=address.lower())

    async def mailbox_of_key(self, key: str) -> Mailbox | None:
        """Returns the mailbox for whose letters a held key is used, also an earlier key of it."""
        return await self._one_mailbox(_BOX_OF_KEY, b_key=key)

    async def _one_mailbox(self, statement: Select[Any], **values: str) -> Mailbox | None:
        return next(map(read_mailbox, await self._read(statement, **values)), None)

    @within("_transaction", wakes=True)
    def change_mailbox(
        self, connection: Connection, mailbox: Mailbox, was: Mailbox | None = None, *, letter: str | None = None
    ) -> bool:
        """Replaces what is kept of a mailbox, by its channel, and the events of its channel as its state demands.

        With `was`, from which `mailbox` was made, only what differs is replaced, and a state that has been changed
        since then stays. When it is locked, or gets another address, the code that a letter has brought to it is void.
        With `letter`, a letter of that event to it is written, without a game and with the time of its state as `seq`.
        Returns False if there is no such mailbox.
        """
        changed = change_mailbox(connection, mailbox, was)
        if changed and letter is not None:
            add_letter(connection, NO_GAME, parse_time(mailbox.since), letter, mailbox.channel, mailbox.since)
        return changed

    @holding
    def erase_mailbox(self, connection: Connection, channel: str) -> bool:
        """Removes a mailbox with its channel, letters, tokens, mails and evidence; held keys and certificates stay.

        The salts of its certificates and the address they commit to go. Returns False if there is none.
        """
        box = held_mailbox(connection, channel)
        if box is None:
            return False
        # Also what is left of a mailbox that the player has moved from, and of one that was never confirmed.
        keys = select(HELD_KEY.c.key).where(HELD_KEY.c.name == box.name)
        before = connection.execute(select(CERTIFICATE.c.mailbox).where(CERTIFICATE.c.key.in_(keys)))
        addresses = {box.address.lower(), *before.scalars()}
        connection.execute(delete(MAIL_INVITATION).where(MAIL_INVITATION.c.address.in_(addresses)))
        connection.execute(update(CERTIFICATE).where(CERTIFICATE.c.mailbox.in_(addresses)).values(mailbox="", salt=""))
        # The rows stay, so that no number is used twice.
        gone = {
            "raw": b"",
            "name": "",
            "channel": "",
            "message_id": "",
            "signed": None,
            "reply": None,
            "state": "done",
            "result": "",
        }
        theirs = or_(INCOMING.c.channel == channel, INCOMING.c.name == box.name)
        connection.execute(update(INCOMING).where(theirs).values(gone))
        connection.execute(delete(EVIDENCE).where(EVIDENCE.c.name == box.name))
        others = select(MAILBOX.c.channel).where(MAILBOX.c.name == box.name, MAILBOX.c.state.in_(("asked", "moved")))
        for (other,) in connection.execute(others).all():
            forget_mailbox(connection, other)
        forget_mailbox(connection, channel)
        return True

    async def held_key(self, key: str) -> KeptHeldKey | None:
        """Returns a held key by its public text."""
        return one_of(KeptHeldKey, await self._read(_HELD_KEY, b_key=key))

    async def held_keys(self, name: str, address: str) -> tuple[str, ...]:
        """Returns the public texts of all keys that the service holds for a name, certified for a mailbox."""
        return tuple(key for (key,) in await self._read(_HELD_KEYS, b_name=name, b_address=address.lower()))

    @transaction
    def add_held_key(self, connection: Connection, held: KeptHeldKey, certificate: KeptCertificate) -> None:
        """Keeps another held key and its certificate."""
        if connection.execute(select(HELD_KEY.c.key).where(HELD_KEY.c.key == held.key)).first() is None:
            connection.execute(insert(HELD_KEY).values(held.model_dump()))
        keep_certificate(connection, certificate)

    async def certificates(self, key: str) -> tuple[KeptCertificate, ...]:
        """Returns the certificates of a held key, the newest first."""
        return certificates_of(await self._read(_CERTIFICATES, b_key=key))

    @holding
    def note_bounce(
        self, connection: Connection, channel: str, digest: str, at: str, *, since: str, enough: int
    ) -> bool:
        held = select(MAILBOX.c.paused).where(MAILBOX.c.channel == channel).with_for_update()
        row = connection.execute(held).first()
        if row is None:
            return False
        connection.execute(delete(BOUNCE).where(BOUNCE.c.at < since))
        if connection.execute(select(BOUNCE.c.digest).where(BOUNCE.c.digest == digest)).first() is not None:
            return False
        connection.execute(insert(BOUNCE).values(digest=digest, channel=channel, at=at))
        counted = select(func.count()).select_from(BOUNCE).where(BOUNCE.c.channel == channel)
        if row[0] is not None or connection.execute(counted).scalar_one() < enough:
            return False
        connection.execute(update(MAILBOX).where(MAILBOX.c.channel == channel).values(paused=at))
        # Bounces from before the pause do not begin another one after its end.
        connection.execute(delete(BOUNCE).where(BOUNCE.c.channel == channel, BOUNCE.c.digest != digest))
        return True


def read_mailbox(row: Sequence[Any]) -> Mailbox:  # Any: columns
    """Returns the mailbox of a row with the `COLUMNS`."""
    values: dict[str, Any] = dict(zip(_FIELDS, row, strict=True))  # Any: column values
    return Mailbox(**{**values, "orders": bool(values["orders"]), "cards": bool(values["cards"])})


def certificates_of(rows: Iterable[Sequence[Any]]) -> tuple[KeptCertificate, ...]:  # Any: columns
    """Returns the certificates of rows, the newest first."""
    kept = rows_of(KeptCertificate, rows)
    return tuple(sorted(kept, key=lambda each: str(json.loads(each.text)["at"]), reverse=True))


def keep_certificate(connection: Connection, certificate: KeptCertificate) -> None:
    """Keeps a certificate unless it is kept already."""
    if connection.execute(select(CERTIFICATE.c.text).where(CERTIFICATE.c.text == certificate.text)).first() is None:
        connection.execute(insert(CERTIFICATE).values(certificate.model_dump()))


def add_mailbox(connection: Connection, box: Mailbox, settings: str, **more: str | None) -> None:
    """Adds a mailbox and its channel."""
    connection.execute(insert(MAILBOX).values(_row(box, **more)))
    connection.execute(insert(CHANNEL).values(_channel_row(box, settings)))


def note_answered(connection: Connection, channel: str, at: str) -> None:
    """Notes that the owner of an invited mailbox has answered: its invitation stands no longer.

    The name is free, unless the owner has accepted. None of the mailbox's invitations counts as unanswered any more.
    """
    address = connection.execute(
        update(MAILBOX).where(MAILBOX.c.channel == channel).values(invited=None).returning(MAILBOX.c.address)
    ).scalar()
    open_ones = (MAIL_INVITATION.c.address == address, MAIL_INVITATION.c.answered.is_(None))
    connection.execute(update(MAIL_INVITATION).where(*open_ones).values(answered=at))


def change_mailbox(connection: Connection, box: Mailbox, was: Mailbox | None = None) -> bool:
    """Changes what is kept of a mailbox: see `MailboxStore.change_mailbox`."""
    locked = select(MAILBOX.c.state, MAILBOX.c.address).where(MAILBOX.c.channel == box.channel).with_for_update()
    row = connection.execute(locked).first()
    if row is None:
        return False
    state, address = row
    values = _row(box)
    if was is not None:
        values = {name: value for name, value in values.items() if value != _row(was)[name]}
        if state != was.state:
            values = {name: value for name, value in values.items() if name not in ("state", "since")}
    shut, moved = values.get("state") in SHUT, values.get("address", address) != address
    if (shut or moved) and held_key_of(connection, box.name) is not None:
        void_code(connection, box.name)
    if values:
        connection.execute(update(MAILBOX).where(MAILBOX.c.channel == box.channel).values(values))
    wanted = {"player": box.name, "events": _events_of(values.get("state", state))}
    if was is None or box.address != was.address:  # the mailbox may have got another address since then
        wanted["target"] = box.address
    connection.execute(update(CHANNEL).where(CHANNEL.c.id == box.channel).values(wanted))
    return True


def forget_mailbox(connection: Connection, channel: str) -> None:
    """Removes a mailbox with its channel, letters and tokens."""
    for table in (REPLY, BOUNCE, OUTBOX, MAILBOX):
        connection.execute(delete(table).where(table.c.channel == channel))
    connection.execute(delete(CHANNEL).where(CHANNEL.c.id == channel))


def held_mailbox(connection: Connection, channel: str) -> Mailbox | None:
    """Returns a mailbox, whose row is held until the transaction ends."""
    locked = select(MAILBOX.c.channel).where(MAILBOX.c.channel == channel).with_for_update()
    if connection.execute(locked).first() is None:
        return None
    return next(map(read_mailbox, connection.execute(_BOX, {"b_channel": channel})), None)


def set_state(connection: Connection, channel: str, state: str, at: str) -> None:
    """Changes the state of a mailbox, and the events of its channel."""
    connection.execute(update(MAILBOX).where(MAILBOX.c.channel == channel).values(state=state, since=at))
    connection.execute(update(CHANNEL).where(CHANNEL.c.id == channel).values(events=_events_of(state)))


def _row(box: Mailbox, **more: str | None) -> dict[str, Any]:  # Any: column values
    return {**asdict(box), "address": box.address.lower(), **more}


def _channel_row(box: Mailbox, settings: str) -> dict[str, Any]:  # Any: column values
    return {
        "id": box.channel,
        "player": box.name,
        "kind": MAIL_KIND,
        "target": box.address,
        "events": _events_of(box.state),
        "settings": settings,
        "created": box.since,
        # The answer to its first letter is the consent. Nothing else is sent before.
        "confirmed": box.since,
        "failures": 0,
    }


def _events_of(state: Any) -> str:  # Any: a `MailboxState`
    """Returns the text of the events of a channel whose mailbox is in a state."""
    return f" {' '.join(EVENTS_OF[state])} "


def add_letter(connection: Connection, game: str, seq: int, event: str, channel: str, not_before: str) -> None:
    """Writes a letter to one mailbox into the outbox, in whatever state the mailbox is."""
    row = outbox_row(game, seq, event, channel, MAIL_KIND, not_before)
    connection.execute(writing(connection.dialect.name), row)


def remove_old_mailboxes(connection: Connection, now: str, most: int) -> int:
    """Removes attempts that do not count any more, and mailboxes with no attempt that counts.

    These are mailboxes that were only invited, or whose owners were asked something, and have not answered.

    Held keys stay, since the logs of games that were opened have them.
    """
    at = MAIL_INVITATION.c.at <= add_seconds(now, -_YEAR)
    old = [row[0] for row in connection.execute(select(MAIL_INVITATION.c.address).where(at).limit(most))]
    for address in old:
        connection.execute(delete(MAIL_INVITATION).where(MAIL_INVITATION.c.address == address, at))
        counts = exists().where(MAIL_INVITATION.c.address == address)
        waits = MAILBOX.c.state.in_(("invited", "asked"))
        idle = (MAILBOX.c.address == address, waits, ~standing_at(now), ~counts)
        channel = connection.execute(select(MAILBOX.c.channel).where(*idle)).scalar()
        if channel is not None:
            forget_mailbox(connection, channel)
    return len(old)
