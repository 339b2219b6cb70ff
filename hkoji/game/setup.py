"""The setup of a game: its players, their keys, and all that is fixed before the first card."""

from __future__ import annotations

from typing import NamedTuple

from hkoji.errors import ForbiddenError, IllegalError
from hkoji.game.agreement import UNTIMED, Agreement
from hkoji.game.clock import Way
from hkoji.game.dealer import Dealer, Terms
from hkoji.game.held_keys import Gateway, HeldKey, SeatGrade, grade_of_seat, weaker
from hkoji.log.mail_claim import MailClaim, MailGrade
from hkoji.log.public_key import PublicKey
from hkoji.messages.text import tell
from hkoji.rules.events import Seat
from hkoji.rules.protocol import Ruleset


class Invite(NamedTuple):
    """The only player who may join: a name, and the key that the player must have if one is given."""

    name: str
    key: PublicKey | None = None

    def refusal(self, name: str, key: PublicKey) -> str | None:
        """Returns why a player with that name and key may not join; None if the player is the invited one."""
        if name == self.name and self.key in (None, key):
            return None
        return tell("the game is open only to {name}", name=self.name)


class LinkInvite(NamedTuple):
    """The invitation of whoever has a link: the key made from its code, and the SSHSIG blob by it for the `open`."""

    link: PublicKey
    sig: bytes


def verify_other_than_link(key: PublicKey | None, link: PublicKey | None) -> None:
    """Checks that a key of a game is not the key of the link that it was opened by. Raises `IllegalError`."""
    if link is not None and key == link:
        raise IllegalError(tell("the key of the link cannot be another key of the game"))


class Replaced(NamedTuple):
    """A change of a seat's key. `old` was the key up to and including entry `seq`, which replaced it.

    If `vouched`, only the service says that the new key is the player's.
    """

    seq: int
    seat: Seat
    old: PublicKey
    vouched: bool


class Setup(NamedTuple):
    """The players and all that is fixed before the first card. Pairs are by seat; None until the log has the value."""

    game: str
    ruleset: Ruleset
    terms: Terms
    server_key: PublicKey
    agreement: Agreement = UNTIMED
    names: tuple[str | None, str | None] = (None, None)
    keys: tuple[PublicKey | None, PublicKey | None] = (None, None)
    """The keys that are valid for the next entry."""
    invite: Invite | LinkInvite | None = None
    entropy_commits: tuple[str | None, str | None] = (None, None)
    entropy: tuple[str | None, str | None] = (None, None)
    replaced: tuple[Replaced, ...] = ()
    """The keys that were valid before, in order."""
    held_keys: tuple[HeldKey, ...] = ()
    """The keys that the service holds or has held for the seats, in the order in which the log names them."""
    weakest: tuple[MailGrade | None, MailGrade | None] = (None, None)
    """For each seat the weakest grade of a mail that something signed for it names, a `seed` apart; None for none."""

    def dealer(self, seed: str | None) -> Dealer | None:
        """Returns the dealer, or None until the seed and all of its other inputs are known."""
        return self.terms.dealer(self.game, self.ruleset, seed, self.entropy)

    @property
    def invited(self) -> str | None:
        """The only player who may join, if the invitation names one."""
        return self.invite.name if isinstance(self.invite, Invite) else None

    @property
    def link(self) -> PublicKey | None:
        """The key of the link by which alone a guest may join, if the game was opened by link."""
        return self.invite.link if isinstance(self.invite, LinkInvite) else None

    def seat_of(self, name: str) -> Seat | None:
        """Returns the seat of the player with that name; None if there is none."""
        return self.names.index(name) if name in self.names else None

    def require_seat(self, name: str, *, hint: str = "") -> Seat:
        """Returns the seat of the player with that name. Raises `ForbiddenError` if there is none."""
        seat = self.seat_of(name)
        if seat is None:
            raise ForbiddenError(tell("{by} does not play in game {game}", by=name, game=self.game[:8]), hint=hint)
        return seat

    def key_at(self, seat: Seat, seq: int, *, by_mail: bool = False) -> PublicKey | None:
        """Returns the key that must have signed the seat's entry `seq`; `by_mail` if the entry names a mail."""
        held = self.held_key(seat, seq) if by_mail else None
        if held is not None:
            return held.gateway.key
        for each in self.replaced:
            if each.seat == seat and seq <= each.seq:
                return each.old
        return self.keys[seat]

    def held_key(self, seat: Seat, seq: int | None = None) -> HeldKey | None:
        """Returns the key that the service holds for a seat, in force for the entry `seq`, by default for the next."""
        found = None
        for held in self.held_keys:
            in_force = held.until is None if seq is None else held.until is None or seq <= held.until
            # The key that joins a seat signs the entry that names it; a delegated one signs only those behind.
            named = seq is None or held.since + (not held.only) <= seq
            if held.seat == seat and in_force and named:
                found = held
        return found

    def is_by_mail(self, name: str) -> bool:
        """Whether a player can answer by mail here, perhaps beside a key of their own; or is invited to."""
        seat = self.seat_of(name)
        if seat is None:
            return isinstance(self.invite, Invite) and self.invite.name == name and self.invite.key is not None
        return self.held_key(seat) is not None

    def held(self, seat: Seat) -> bool:
        """Whether the seat's only key is one that the service holds, so that the player answers by mail alone."""
        held = self.held_key(seat)
        return held is not None and held.only

    def way(self, seat: Seat) -> Way:
        """Returns the way that is open to a seat: HTTP unless its only key is held, also if it may answer by mail too.

        An outage of this way is credited to the seat, and while this way is out nobody times the seat out.
        """
        return Way.MAIL if self.held(seat) else Way.HTTP

    @property
    def gateways(self) -> tuple[Gateway | None, Gateway | None]:
        """For each seat the certificate in force of a key that the service holds for it, delegated or not."""
        host, guest = self.held_key(0), self.held_key(1)
        return host.gateway if host else None, guest.gateway if guest else None

    def seat_grade(self, seat: Seat, *, checked: bool = False) -> SeatGrade:
        """Returns how it is known who has made the decisions of a seat; `checked` if its mails have been checked."""
        return grade_of_seat(self.weakest[seat], checked=checked)

    @property
    def by_mail(self) -> dict[str, SeatGrade]:
        """The players for whom the service has signed, by name, each with the grade of the seat; host before guest."""
        grades = {name: self.seat_grade(seat) for seat, name in enumerate(self.names) if name is not None}
        return {name: grade for name, grade in grades.items() if grade is not SeatGrade.OWN}

    def weaken(self, seat: Seat, mail: MailClaim | None) -> Setup:
        """Returns this setup after something signed for a seat that names `mail`."""
        grade = weaker(self.weakest[seat], mail)
        if grade == self.weakest[seat]:
            return self
        return self._replace(weakest=(grade, self.weakest[1]) if seat == 0 else (self.weakest[0], grade))

    def every_key(self) -> frozenset[PublicKey]:
        """Returns all keys that the game has or had: of the service, of the players, and held ones."""
        held = (each.gateway.key for each in self.held_keys)
        return frozenset((self.server_key, *self.all_keys(0), *self.all_keys(1), *held))

    def all_keys(self, seat: Seat) -> tuple[PublicKey, ...]:
        """Returns all keys that a seat has had, in order; the last one is valid now."""
        now = self.keys[seat]
        return (*(each.old for each in self.replaced if each.seat == seat), *((now,) if now else ()))

    def delegate(self, held: HeldKey) -> Setup:
        """Returns this setup with a held key that may sign for a seat too, in place of an earlier one.

        Raises `IllegalError`.
        """
        key = held.gateway.key
        verify_other_than_link(key, self.link)
        if key in self.every_key():
            raise IllegalError(tell("a held key cannot be another key of the game"))
        return self._replace(held_keys=(*self._end_held(held.seat, held.since), held))

    def end_delegation(self, seat: Seat, seq: int) -> Setup:
        """Returns this setup without the held key that may sign for a seat too. Raises `IllegalError` if none may."""
        if self.held_key(seat) is None:
            raise IllegalError(tell("no key of the service signs for {name}", name=self.names[seat]))
        return self._replace(held_keys=self._end_held(seat, seq))

    def _end_held(self, seat: Seat, seq: int) -> tuple[HeldKey, ...]:
        """Returns the held keys, of which those of a seat are in force for entries up to `seq` only."""
        return tuple(
            held._replace(until=seq) if held.seat == seat and held.until is None else held for held in self.held_keys
        )

    def change_key(self, replaced: Replaced, key: PublicKey) -> Setup:
        """Returns this setup with `key` in place of a seat's old key. Raises `IllegalError`.

        A change that only the service vouches for ends what it could sign with a key that it held for the seat.
        """
        seat = replaced.seat
        verify_replaced_key(self.names[seat] or "", replaced.old, self.keys[seat])
        verify_other_than_link(key, self.link)
        if key in self.every_key():
            raise IllegalError(tell("the new key is, or was, a key of this game already"))
        keys = (key, self.keys[1]) if seat == 0 else (self.keys[0], key)
        held = self._end_held(seat, replaced.seq) if replaced.vouched else self.held_keys
        return self._replace(keys=keys, replaced=(*self.replaced, replaced), held_keys=held)


def verify_replaced_key(name: str, old: PublicKey, counting: PublicKey | None) -> None:
    """Checks that a change of keys names the key that has been valid for `name` so far. Raises `IllegalError`."""
    if old != counting:
        raise IllegalError(tell("the key that it replaces is not the key of {name}", name=name))
