"""Invitations to play by mail, and mailboxes whose owners are asked to confirm something."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from sqlalchemy import ColumnElement, Connection, delete, func, insert, or_, select, update

from hkoji.errors import ExistsError, ForbiddenError, NotFoundError, TooManyError
from hkoji.game.agreement import DAY
from hkoji.game.clock import add_seconds, parse_time
from hkoji.messages.text import tell
from hkoji_server.store.game_values import WAITS
from hkoji_server.store.mail_tables import (
    BOUNCE,
    CERTIFICATE,
    HELD_KEY,
    MAIL_INVITATION,
    MAILBOX,
    REPLY,
    KeptCertificate,
    KeptHeldKey,
    MailboxMove,
)
from hkoji_server.store.mail_values import (
    CONFIRM_EVENT,
    CONFIRM_SECONDS,
    MOST_INVITED_A_DAY,
    MOST_UNANSWERED,
    NO_GAME,
    REGISTERS,
    TAKEN,
    TURNS_ON,
    Mailbox,
)
from hkoji_server.store.mailboxes import (
    COLUMNS,
    JOINED,
    add_letter,
    add_mailbox,
    certificates_of,
    forget_mailbox,
    held_mailbox,
    keep_certificate,
    note_answered,
    read_mailbox,
    set_state,
)
from hkoji_server.store.player_tables import PLAYER, Player
from hkoji_server.store.players import held_key_of, register, void_code
from hkoji_server.store.reservations import RESERVED, reserved_values, standing_at, used, verify_not_reserved
from hkoji_server.store.sql_steps import SqlSteps
from hkoji_server.store.tables import CHANNEL
from hkoji_server.store.time_contract import StaleDecisionError

T = TypeVar("T")
_YEAR: Final = 365 * DAY


@dataclass(frozen=True, slots=True)
class NewMailbox:
    """A mailbox to add, in state `invited` or `asked`, from `mailbox.since` on.

    `held` and `certificate` are those of a held key that is made for it; with None of them `mailbox.held_key` is empty.
    `settings` is the text of those of its channel. `by` is who invites or asks, for the limits; None for the operator.
    `ordered` is when a mail came that orders it: if that is processed again, it is the same attempt.
    """

    mailbox: Mailbox
    settings: str
    by: str | None
    held: KeptHeldKey | None = None
    certificate: KeptCertificate | None = None
    ordered: str | None = None

    @property
    def at(self) -> str:
        """When the attempt counts from."""
        return self.ordered or self.mailbox.since


class InvitationStore(SqlSteps):
    """The area of the store that is about invitations to play by mail."""

    async def invite_mailbox(self, new: NewMailbox) -> KeptCertificate:
        """Adds an invited mailbox, or gives an earlier one with this address its new name, key and certificate.

        Reserves the name. The same invitation by the same player, for which no game is open, changes nothing; returns
        the certificate that it has already. Without a game the operator's has a row `invited` of the outbox.

        Changes nothing but the number of the player's attempts if it raises: `ExistsError` if the name is a player's or
        reserved; `TooManyError` if the player has tried to invite `MOST_INVITED_A_DAY`; `ForbiddenError`, always the
        same, if the mailbox plays here, is blocked, has an open invitation, or left `MOST_UNANSWERED` unanswered.
        """

        return await self._counted(new, _invited, _invite)

    async def ask_mailbox(self, new: NewMailbox) -> Mailbox:
        """Adds a mailbox in state `asked`, and a row `confirm` of the outbox. Returns it.

        If its owner is asked the same for this name already, since less than a day, nothing changes, and the earlier
        mailbox is returned. Another mailbox of this name whose owner is asked the same makes way. Raises what
        `invite_mailbox` raises, `ExistsError` only if a name is asked for (`REGISTERS`).
        """

        return await self._counted(new, _asked, _ask)

    async def _counted(
        self,
        new: NewMailbox,
        find: Callable[[Connection, NewMailbox], T | None],
        make: Callable[[Connection, NewMailbox], T],
    ) -> T:
        """Returns what `find` finds of an earlier attempt. Without one it counts this one, and returns what is made."""

        def count(connection: Connection) -> T | None:
            same = find(connection, new)
            if same is None:
                _count_attempt(connection, new.by, new.at, new.mailbox.address)
            return same

        # An attempt that is refused counts too: so nobody can try many mailboxes.
        same = await self._transaction(count)
        if same is not None:
            return same
        made = await self._transaction(lambda connection: make(connection, new))
        self._hints.publish(WAITS)
        return made

    async def may_invite(self, name: str, host: str, now: str) -> bool:
        """Returns whether `host` may open a game for the player `name`: not if somebody else has reserved the name, or
        a game has been opened with that invitation."""
        return all(by == host and not used for by, used in await self._read(RESERVED, **reserved_values(name, now)))


# --- invitations ------------------------------------------------------------------------------------------------------


def _invited(connection: Connection, new: NewMailbox) -> KeptCertificate | None:
    """Returns the certificate of the same invitation, by the same player, with which no game has been opened."""
    box = new.mailbox
    same = (
        MAILBOX.c.address == box.address.lower(),
        MAILBOX.c.name == box.name,
        MAILBOX.c.invited_by.is_not_distinct_from(new.by),
        standing_at(box.since),
        ~used(),
    )
    key = select(MAILBOX.c.held_key).where(*same).scalar_subquery()
    kept = certificates_of(connection.execute(select(*CERTIFICATE.c).where(CERTIFICATE.c.key == key)))
    return kept[0] if kept else None


def _count_attempt(connection: Connection, by: str | None, at: str, address: str) -> None:
    """Counts an attempt to invite or to ask, before it is decided. Raises `TooManyError` if it is one too many.

    `by` is who tries; the operator's are not counted, nor is the same attempt at the same time a second time. Until
    `_must_answer` says otherwise nobody has to answer it.
    """
    if by is None or connection.execute(select(MAIL_INVITATION.c.at).where(*_attempt(by, at, address))).first():
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
    values = {"player": by, "at": at, "address": address.lower(), "answered": at}
    connection.execute(insert(MAIL_INVITATION).values(values))


def _attempt(by: str | None, at: str, address: str) -> tuple[ColumnElement[bool], ...]:
    row = MAIL_INVITATION.c
    return row.player == (by or ""), row.at == at, row.address == address.lower()


def _must_answer(connection: Connection, by: str | None, at: str, box: Mailbox) -> None:
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
            raise _refused(box)
        recent = (MAIL_INVITATION.c.answered.is_(None), MAIL_INVITATION.c.at > add_seconds(at, -_YEAR))
        count = select(func.count()).select_from(MAIL_INVITATION).where(counted, *recent)
        unanswered += connection.execute(count).scalar_one()
    if unanswered >= MOST_UNANSWERED:
        raise _refused(box)
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


def _invite(connection: Connection, new: NewMailbox) -> KeptCertificate:
    """Adds an invited mailbox: see `InvitationStore.invite_mailbox`. The attempt has been counted."""
    box, name = new.mailbox, new.mailbox.name
    _hold_named(connection, name)
    if connection.execute(select(PLAYER.c.name).where(PLAYER.c.name == name)).first():
        if new.by is not None:
            raise ExistsError(tell("player"), name, hint=tell("invite {name} without an address", name=name))
        hint = tell(
            "nothing was changed; players add a mailbox by hkoji mail on, and hkoji admin mail move changes one"
        )
        raise ExistsError(tell("player"), name, hint=hint)
    if (same := _invited(connection, new)) is not None:
        return same
    verify_not_reserved(connection, name, "", box.since)
    earlier = _idle_at(connection, box, box.since)
    _must_answer(connection, new.by, new.at, box)
    if earlier is not None:  # it was invited before, and is a mailbox anew
        forget_mailbox(connection, earlier)
    _add(connection, new, invited=box.since, invited_by=new.by)
    if new.by is None:
        add_letter(connection, NO_GAME, 0, "invited", box.channel, box.since)
    assert new.certificate is not None
    return new.certificate


def _hold_named(connection: Connection, name: str) -> None:
    """Holds the mailboxes of a name, of which the owner of one may be about to accept: that holds it too."""
    connection.execute(select(MAILBOX.c.channel).where(MAILBOX.c.name == name).with_for_update()).all()


def _add(connection: Connection, new: NewMailbox, **more: str | None) -> None:
    """Adds a mailbox with its channel, and the key that is made for it."""
    if new.held is not None:
        connection.execute(insert(HELD_KEY).values(new.held.model_dump()))
    if new.certificate is not None:
        connection.execute(insert(CERTIFICATE).values(new.certificate.model_dump()))
    add_mailbox(connection, new.mailbox, new.settings, **more)


def _idle_at(connection: Connection, box: Mailbox, now: str) -> str | None:
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
        raise _refused(box)
    channel: str = row[0]
    return channel


def _refused(box: Mailbox) -> ForbiddenError:
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


def accept_mailbox(connection: Connection, channel: str, registration: Player) -> None:
    """Registers the owner of an invited mailbox under its held key, and makes it `active`.

    If it is `active` already, under that key, nothing changes. Changes nothing if it raises: `NotFoundError` for
    another mailbox, `ForbiddenError` in any other state or for another name or key, `ExistsError` if the name or
    the key is a player's.
    """
    named = (registration.name, registration.key)
    box = held_mailbox(connection, channel)
    if box is None:
        raise NotFoundError(tell("mailbox"), channel)
    if box.state not in ("invited", "asked", "active") or (box.name, box.held_key) != named:
        raise ForbiddenError(tell("the invitation of {name} does not stand any more", name=box.name))
    holder = register(connection, registration, None)
    if holder is not None and (holder.name, holder.key) != named:
        raise ExistsError(tell("player"), box.name)
    if box.state != "active":
        note_answered(connection, channel, registration.registered)
        set_state(connection, channel, "active", registration.registered)


# --- mailboxes whose owners are asked ---------------------------------------------------------------------------------


def _asked(connection: Connection, new: NewMailbox) -> Mailbox | None:
    """Returns the mailbox whose owner is asked the same already, and has time to answer."""
    box = new.mailbox
    at = select(*COLUMNS).select_from(JOINED).where(MAILBOX.c.address == box.address.lower())
    found = next(map(read_mailbox, connection.execute(at)), None)
    if found is None or found.state != "asked" or found.since <= add_seconds(box.since, -CONFIRM_SECONDS):
        return None
    same = (found.name, _kind(found)) == (box.name, _kind(box))
    return found if same else None


def _ask(connection: Connection, new: NewMailbox) -> Mailbox:
    """Adds a mailbox whose owner is asked: see `InvitationStore.ask_mailbox`. The attempt has been counted."""
    box = new.mailbox
    if (same := _asked(connection, new)) is not None:
        return same
    registers = (box.confirm or "").startswith(REGISTERS)
    if registers:
        _hold_named(connection, box.name)
        if connection.execute(select(PLAYER.c.name).where(PLAYER.c.name == box.name)).first():
            raise ExistsError(tell("player"), box.name)
        verify_not_reserved(connection, box.name, "", box.since)
    earlier = _idle_at(connection, box, box.since)
    if new.by is not None and not (box.confirm or "").startswith(TAKEN):
        _must_answer(connection, new.by, box.since, box)
    for channel in (earlier, *_others(connection, box)):
        if channel is not None:
            forget_mailbox(connection, channel)
    _add(connection, new)
    add_letter(connection, NO_GAME, 0, CONFIRM_EVENT, box.channel, box.since)
    return box


def move_mailbox(connection: Connection, moved: MailboxMove) -> None:
    """Gives a mailbox the address of another one, whose owner has confirmed that.

    The other one keeps the old address, so that one more letter can go there. Changes nothing if it raises:
    `StaleDecisionError` if that cannot be confirmed any more.
    """
    new, old = held_mailbox(connection, moved.asked), held_mailbox(connection, moved.channel)
    if new is None or old is None or new.state != "asked":
        raise StaleDecisionError
    left = {"address": f"left {moved.asked}", "state": "moved", "since": moved.at}
    connection.execute(update(MAILBOX).where(MAILBOX.c.channel == moved.asked).values(left))
    got = {
        "address": new.address.lower(),
        "confirm": new.confirm,
        "dkim_seen": 0,
        "paused": None,
        "heard": moved.at,
    }
    connection.execute(update(MAILBOX).where(MAILBOX.c.channel == moved.channel).values(got))
    connection.execute(update(MAILBOX).where(MAILBOX.c.channel == moved.asked).values(address=old.address.lower()))
    for channel, address in ((moved.channel, new.address), (moved.asked, old.address)):
        connection.execute(update(CHANNEL).where(CHANNEL.c.id == channel).values(target=address))
    # Answers to the letter that asked go to the new address, also when its answer comes again.
    connection.execute(update(REPLY).where(REPLY.c.channel == moved.asked).values(channel=moved.channel))
    connection.execute(delete(BOUNCE).where(BOUNCE.c.channel == moved.channel))
    if held_key_of(connection, old.name) is not None:
        void_code(connection, old.name)  # the letter with the code went to the old address
    note_answered(connection, moved.channel, moved.at)
    keep_certificate(connection, moved.certificate)


def _others(connection: Connection, box: Mailbox) -> list[str]:
    """Returns the other mailboxes of a player whose owners are asked the same kind of thing: the last one counts."""
    found = select(MAILBOX.c.channel, MAILBOX.c.confirm, MAILBOX.c.address).where(
        MAILBOX.c.name == box.name, MAILBOX.c.state == "asked"
    )
    rows = connection.execute(found).all()
    return [row[0] for row in rows if row[1].partition(".")[0] == _kind(box) and row[2] != box.address.lower()]


def _kind(box: Mailbox) -> str:
    return (box.confirm or "").partition(".")[0]
