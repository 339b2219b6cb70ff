"""Mailboxes, held keys and invitations to play by mail, as statements in an open transaction. See `MailStore`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, delete, exists, func, insert, or_, select, update

from hkoji.errors import ExistsError, ForbiddenError, NotFoundError, TooManyError
from hkoji.game.clock import add_seconds, parse_time
from hkoji.game.time_control import DAY
from hkoji.messages.text import tell
from hkoji_server.store import operator_codes, player_keys
from hkoji_server.store.mail_tables import (
    BOUNCE,
    CERTIFICATE,
    EVIDENCE,
    HELD_KEY,
    INCOMING,
    MAIL_INVITATION,
    MAILBOX,
    REPLY,
)
from hkoji_server.store.mail_values import (
    CONFIRM_SECONDS,
    EVENTS_OF,
    MAIL_KIND,
    MOST_INVITED_A_DAY,
    MOST_UNANSWERED,
    NO_GAME,
    SHUT,
    TAKEN,
    TURNS_ON,
    HeldRegistration,
    KeptCertificate,
    KeptHeldKey,
    Mailbox,
    NewMailbox,
)
from hkoji_server.store.notices import outbox_row, writing
from hkoji_server.store.player_contract import Player
from hkoji_server.store.reservations import standing_at, used, verify_not_reserved
from hkoji_server.store.tables import CHANNEL, OUTBOX, PLAYER

_YEAR: Final = 365 * DAY
_FIELDS: Final = tuple(field.name for field in fields(Mailbox))
_NO_GAME_SEQ: Final = 0
COLUMNS: Final = tuple(CHANNEL.c.target if name == "address" else MAILBOX.c[name] for name in _FIELDS)
"""The columns of a `Mailbox`. The address is as it was written."""
JOINED: Final = MAILBOX.join(CHANNEL, CHANNEL.c.id == MAILBOX.c.channel)


def read_mailbox(row: Sequence[Any]) -> Mailbox:  # Any: columns
    """Returns the mailbox of a row with the `COLUMNS`."""
    values: dict[str, Any] = dict(zip(_FIELDS, row, strict=True))  # Any: column values
    return Mailbox(**{**values, "orders": bool(values["orders"]), "cards": bool(values["cards"])})


# --- invitations ------------------------------------------------------------------------------------------------------


def repeated(connection: Connection, new: NewMailbox) -> KeptCertificate | None:
    """Returns the certificate of the same invitation, by the same player, with which no game has been opened."""
    box = new.mailbox
    same = (
        MAILBOX.c.address == box.address.lower(),
        MAILBOX.c.name == box.name,
        MAILBOX.c.invited_by.is_not_distinct_from(new.by),
        standing_at(new.at),
        ~used(),
    )
    key = select(MAILBOX.c.held_key).where(*same).scalar_subquery()
    kept = newest_first(connection.execute(select(*CERTIFICATE.c).where(CERTIFICATE.c.key == key)).all())
    return kept[0] if kept else None


def count_attempt(connection: Connection, by: str | None, at: str, address: str) -> None:
    """Counts an attempt to invite or to ask, before it is decided. Raises `TooManyError` if it is one too many.

    `by` is who tries; the operator's are not counted. Until `must_answer` says otherwise nobody has to answer it.
    """
    if by is None:
        return
    own = (MAIL_INVITATION.c.player == by, MAIL_INVITATION.c.at > add_seconds(at, -DAY))
    count, first = connection.execute(select(func.count(), func.min(MAIL_INVITATION.c.at)).where(*own)).one()
    if count >= MOST_INVITED_A_DAY:
        again = add_seconds(first, DAY)
        raise TooManyError(
            max(1, parse_time(again) - parse_time(at)),
            tell(
                "you have named {most} mailboxes within 24 hours, which is the most; again after {time}",
                most=MOST_INVITED_A_DAY,
                time=again,
            ),
        )
    if connection.execute(select(MAIL_INVITATION.c.at).where(*_attempt(by, at, address))).first() is None:
        values = {"player": by, "at": at, "address": address.lower(), "answered": at}
        connection.execute(insert(MAIL_INVITATION).values(values))


def _attempt(by: str | None, at: str, address: str) -> tuple[ColumnElement[bool], ...]:
    row = MAIL_INVITATION.c
    return row.player == (by or ""), row.at == at, row.address == address.lower()


def must_answer(connection: Connection, by: str | None, at: str, box: Mailbox) -> None:
    """Notes that the owner of a mailbox is invited or asked, and has not answered.

    Raises `ForbiddenError` if they left `MOST_UNANSWERED` of these unanswered, at this address or at one that differs
    in what follows a `+`, or want no more letters at one of them.
    """
    address = box.address.lower()
    unanswered = 0
    for at_mailbox, counted in zip(
        _alike(MAILBOX.c.address, address), _alike(MAIL_INVITATION.c.address, address), strict=True
    ):
        if "blocked" in connection.execute(select(MAILBOX.c.state).where(at_mailbox)).scalars():
            raise refused(box)
        recent = (MAIL_INVITATION.c.answered.is_(None), MAIL_INVITATION.c.at > add_seconds(at, -_YEAR))
        count = select(func.count()).select_from(MAIL_INVITATION).where(counted, *recent)
        unanswered += connection.execute(count).scalar_one()
    if unanswered >= MOST_UNANSWERED:
        raise refused(box)
    connection.execute(delete(MAIL_INVITATION).where(*_attempt(by, at, address)))
    connection.execute(insert(MAIL_INVITATION).values(player=by or "", at=at, address=address))


def _alike(column: ColumnElement[str], address: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """Returns two conditions, and an address that is alike meets one: the same, or another after a `+`.

    With most providers mail to all of these comes to one person.
    """
    local, _, domain = address.rpartition("@")
    base = local[:1] + local[1:].partition("+")[0]
    # A range of the index: the comma follows the plus.
    tagged = (column >= f"{base}+") & (column < f"{base},") & column.endswith(f"@{domain}", autoescape=True)
    return column == f"{base}@{domain}", tagged


def invite(connection: Connection, new: NewMailbox) -> KeptCertificate:
    """Adds an invited mailbox: see `MailStore.invite_mailbox`. The attempt has been counted."""
    box, name = new.mailbox, new.mailbox.name
    # Whoever registers the name reads it in a transaction of the same kind.
    if connection.execute(select(PLAYER.c.name).where(PLAYER.c.name == name)).first():
        if new.by is not None:
            raise ExistsError(tell("player"), name, hint=tell("invite {name} without an address", name=name))
        hint = tell(
            "nothing was changed; players add a mailbox by hkoji mail on, and hkoji admin mail move changes one"
        )
        raise ExistsError(tell("player"), name, hint=hint)
    if (same := repeated(connection, new)) is not None:
        return same
    verify_not_reserved(connection, name, "", new.at)
    earlier = idle_at(connection, box, new.at)
    must_answer(connection, new.by, new.at, box)
    connection.execute(insert(HELD_KEY).values(**asdict(new.held)))
    connection.execute(insert(CERTIFICATE).values(**asdict(new.certificate)))
    if earlier is not None:  # it was invited before, and is a mailbox anew
        forget(connection, earlier)
    add(connection, box, new.settings, new.at, invited=new.at, invited_by=new.by)
    if new.by is None:
        add_letter(connection, NO_GAME, _NO_GAME_SEQ, "invited", box.channel, new.at)
    return new.certificate


def idle_at(connection: Connection, box: Mailbox, now: str) -> str | None:
    """Returns the channel of the mailbox with the address of `box`, which nobody uses; None if there is none.

    Nobody uses one that has been left, or whose owner was invited or asked and has not answered in time. Raises
    `ForbiddenError` for another one.
    """
    over = or_(MAILBOX.c.since <= add_seconds(now, -CONFIRM_SECONDS), MAILBOX.c.confirm.like(f"{TAKEN}%"))
    late = (MAILBOX.c.state == "asked") & over
    idle = or_(MAILBOX.c.state.in_(("invited", "moved")), late) & ~standing_at(now)
    row = connection.execute(select(MAILBOX.c.channel, idle).where(MAILBOX.c.address == box.address.lower())).first()
    if row is None:
        return None
    if not row[1]:
        raise refused(box)
    channel: str = row[0]
    return channel


def add(connection: Connection, box: Mailbox, settings: str, at: str, **more: str | None) -> None:
    """Adds a mailbox and its channel."""
    connection.execute(insert(MAILBOX).values(_row(box, **more)))
    connection.execute(insert(CHANNEL).values(_channel_row(box, settings, at)))


def newest_first(rows: Any) -> tuple[KeptCertificate, ...]:  # Any: rows
    """Returns the certificates of rows, the newest first."""
    kept = (KeptCertificate(*row) for row in rows)
    return tuple(sorted(kept, key=lambda each: str(json.loads(each.text)["at"]), reverse=True))


def refused(box: Mailbox) -> ForbiddenError:
    """Returns what is said about a mailbox that cannot be invited, or asked what `box` would be."""
    # The same whatever the reason is: nobody learns who plays here, or what others have asked of a mailbox.
    if box.confirm is None:
        hint = tell(
            "nothing was changed; its owner plays here already, has not answered an invitation, or wants none. Ask them"
        )
        return ForbiddenError(tell("this mailbox cannot be invited now"), hint=hint)
    hint = tell(
        "nothing was changed; it is used here already, its owner has not answered letters, or wants none. Give another "
        "address"
    )
    if box.confirm.startswith(TURNS_ON):
        return ForbiddenError(tell("letters to this mailbox cannot be turned on now"), hint=hint)
    return ForbiddenError(tell("no player can move to this mailbox now"), hint=hint)


# --- answers, and changes ---------------------------------------------------------------------------------------------


def accept(connection: Connection, channel: str, registration: HeldRegistration) -> None:
    """Registers the owner of a mailbox: see `MailStore.accept_mailbox`."""
    box = held(connection, channel)
    if box is None:
        raise NotFoundError(tell("mailbox"), channel)
    if box.state not in ("invited", "asked", "active") or (box.name, box.held_key) != registration[:2]:
        raise ForbiddenError(tell("the invitation of {name} does not stand any more", name=box.name))
    holder = player_keys.register(connection, Player(*registration), None)
    if holder is not None and (holder.name, holder.key) != registration[:2]:
        raise ExistsError(tell("player"), box.name)
    if box.state != "active":
        note_answered(connection, channel, registration.at)
        _set_state(connection, channel, "active", registration.at)


def note_answered(connection: Connection, channel: str, at: str) -> None:
    """Notes that the owner of a mailbox has answered: see `MailStore.note_answered`."""
    address = connection.execute(
        update(MAILBOX).where(MAILBOX.c.channel == channel).values(invited=None).returning(MAILBOX.c.address)
    ).scalar()
    open_ones = (MAIL_INVITATION.c.address == address, MAIL_INVITATION.c.answered.is_(None))
    connection.execute(update(MAIL_INVITATION).where(*open_ones).values(answered=at))


def change(connection: Connection, box: Mailbox, was: Mailbox | None = None) -> bool:
    """Changes what is kept of a mailbox: see `MailStore.change_mailbox`."""
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
    if (shut or moved) and player_keys.holds(connection, box.name) is not None:
        operator_codes.void(connection, box.name)
    if values:
        connection.execute(update(MAILBOX).where(MAILBOX.c.channel == box.channel).values(values))
    wanted = {"player": box.name, "events": events_of(values.get("state", state))}
    if was is None or box.address != was.address:  # the mailbox may have got another address since then
        wanted["target"] = box.address
    connection.execute(update(CHANNEL).where(CHANNEL.c.id == box.channel).values(wanted))
    return True


def erase(connection: Connection, channel: str) -> bool:
    """Removes a mailbox and what is known of its owner: see `MailStore.erase_mailbox`."""
    box = held(connection, channel)
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
        forget(connection, other)
    forget(connection, channel)
    return True


def forget(connection: Connection, channel: str) -> None:
    """Removes a mailbox with its channel, letters and tokens."""
    for table in (REPLY, BOUNCE, OUTBOX, MAILBOX):
        connection.execute(delete(table).where(table.c.channel == channel))
    connection.execute(delete(CHANNEL).where(CHANNEL.c.id == channel))


def held(connection: Connection, channel: str) -> Mailbox | None:
    """Returns a mailbox, whose row is held until the transaction ends."""
    locked = select(MAILBOX.c.channel).where(MAILBOX.c.channel == channel).with_for_update()
    if connection.execute(locked).first() is None:
        return None
    row = connection.execute(select(*COLUMNS).select_from(JOINED).where(MAILBOX.c.channel == channel)).first()
    return None if row is None else read_mailbox(row)


def _set_state(connection: Connection, channel: str, state: str, at: str) -> None:
    connection.execute(update(MAILBOX).where(MAILBOX.c.channel == channel).values(state=state, since=at))
    connection.execute(update(CHANNEL).where(CHANNEL.c.id == channel).values(events=events_of(state)))


def _row(box: Mailbox, **more: str | None) -> dict[str, Any]:  # Any: column values
    return {**asdict(box), "address": box.address.lower(), **more}


def _channel_row(box: Mailbox, settings: str, at: str) -> dict[str, Any]:  # Any: column values
    return {
        "id": box.channel,
        "player": box.name,
        "kind": MAIL_KIND,
        "target": box.address,
        "events": events_of(box.state),
        "settings": settings,
        "created": at,
        # The answer to its first letter is the consent. Nothing else is sent before.
        "confirmed": at,
        "failures": 0,
    }


def events_of(state: Any) -> str:  # Any: a `MailboxState`
    """Returns the text of the events of a channel whose mailbox is in a state."""
    return f" {' '.join(EVENTS_OF[state])} "


# --- letters ----------------------------------------------------------------------------------------------------------


def add_letter(connection: Connection, game: str, seq: int, event: str, channel: str, not_before: str) -> None:
    """Writes a letter to one mailbox into the outbox, in whatever state the mailbox is."""
    row = outbox_row(game, seq, event, channel, MAIL_KIND, not_before)
    connection.execute(writing(connection.dialect.name), row)


# --- what is no longer needed -----------------------------------------------------------------------------------------


def remove_old(connection: Connection, now: str, most: int) -> int:
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
            forget(connection, channel)
    return len(old)


def add_held_key(connection: Connection, held: KeptHeldKey, certificate: KeptCertificate) -> None:
    """Keeps another held key and its certificate: see `MailStore.add_held_key`."""
    if connection.execute(select(HELD_KEY.c.key).where(HELD_KEY.c.key == held.key)).first() is None:
        connection.execute(insert(HELD_KEY).values(**asdict(held)))
    if connection.execute(select(CERTIFICATE.c.text).where(CERTIFICATE.c.text == certificate.text)).first() is None:
        connection.execute(insert(CERTIFICATE).values(**asdict(certificate)))
