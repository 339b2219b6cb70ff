"""The keys that a log names: whose they are, whether they are expected, whether their signatures hold, who used them.

docs/spec/log.md, "Audit", steps 3 to 5, and "Held keys". Signatures are verified in one step, which several threads can
share; what it means that one does not verify is for the audit to say. Whether an entry may stand where it does is
step 8, the replay. The signatures that the service has given for players, with keys that it holds, are counted too.
The mails themselves are not in a log, so these counts are what the service says.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from hkoji.audit.checks import (
    SignatureCheck,
    receipt_signature,
    signature_checks,
    verify_expected_key,
    verify_first_key,
    verify_key_changer,
)
from hkoji.errors import HkojiError
from hkoji.game import entry_kinds
from hkoji.game.course import Course
from hkoji.game.entry_kinds import EntryBody, Open
from hkoji.game.entry_kinds.key_changes import Delegate, KeyChange, Rekey, Revoke, changed_name
from hkoji.game.held_keys import SeatGrade
from hkoji.game.setup import LinkInvite, verify_replaced_key
from hkoji.log.line import SERVER_NAME, Entry, Line
from hkoji.log.mail_claim import MAIL, MailClaim, MailGrade
from hkoji.log.public_key import PublicKey
from hkoji.messages.text import plural, tell

ExpectedKeys: TypeAlias = Mapping[str, PublicKey | Collection[PublicKey]]
"""The keys expected from outside (pins): for each name one key, or several any of which is accepted."""


@dataclass(frozen=True, slots=True)
class Party:
    """A signer of the log: `name`, one of its keys, and the number of the first entry that this key has to sign.

    `pinned`: the key was expected from outside, or follows such a key by a `rekey`. `vouched`: only the service says
    that the key is the player's. `held`: the service holds the key and signs with it for the player, so that a finding
    names the service; it is pinned if the service's key is. `holder` is the service, as the log names it.
    """

    name: str
    key: PublicKey
    pinned: bool
    since: int = 0
    vouched: bool = False
    held: bool = False
    holder: Party | None = None

    def __str__(self) -> str:
        if self.held:
            if self.holder is None or self.holder.pinned:
                return tell("the service, for {name}", name=self.name)
            return tell("{holder}, for {name}", holder=str(self.holder), name=self.name)
        if self.pinned:
            return self.name
        fingerprint = self.key.fingerprint
        if self.vouched:
            return tell(
                "the key {fingerprint}, {name}'s by the word of the server alone",
                fingerprint=fingerprint,
                name=self.name,
            )
        return tell("{name} with the unpinned key {fingerprint}", name=self.name, fingerprint=fingerprint)


class Keyring:
    """The keys that a log has named so far. `parties` are in the order in which the log names them."""

    def __init__(self, pins: ExpectedKeys) -> None:
        given = {name: {keys} if isinstance(keys, PublicKey) else set(keys) for name, keys in pins.items()}
        self._pins = {name: keys for name, keys in given.items() if keys}
        self._by_name: dict[str, list[Party]] = {}
        self._delegated: dict[str, list[tuple[int, Party | None]]] = {}
        """By name, each with the first entry for which it counts: the held keys beside the player's own."""
        self.parties: list[Party] = []

    def party(self, name: str, number: int) -> Party | None:
        """The key that must have signed entry `number` by `name`; None if the log has named none so far."""
        counting = None
        for party in self._by_name.get(name, ()):
            if party.since <= number:
                counting = party
        return counting

    def signer(self, number: int, entry: Entry) -> Party | None:
        """The key that must have signed entry `number`: the one that the service holds, if the entry names a mail."""
        held = None
        for since, party in self._delegated.get(entry.by, ()):
            if since <= number:
                held = party
        return held if held is not None and MAIL in entry.body else self.party(entry.by, number)

    def read(self, number: int, entry: Entry, body: EntryBody) -> None:
        """Reads the next entry. Raises `HkojiError` if it names a key that it must not name."""
        match body:
            case entry_kinds.Offer():
                self._first(SERVER_NAME, body.server_key, number)
            case entry_kinds.Open() | entry_kinds.Join():
                self._first(entry.by, body.key, number, held=body.gateway is not None)
            case Rekey() | Revoke():
                self._change(number, entry, body)
            case Delegate():
                held = self._hold(entry.by, body.gateway.key, number + 1) if body.gateway else None
                self._delegated.setdefault(entry.by, []).append((number + 1, held))
                self.parties += [held] if held else []

    @property
    def _service(self) -> Party | None:
        return self.party(SERVER_NAME, 0)

    def _hold(self, name: str, key: PublicKey, since: int) -> Party:
        """The party of a key that the service holds for a player."""
        service = self._service
        pinned = key in self._pins.get(name, ()) or (service is not None and service.pinned)
        return Party(name, key, pinned, since, held=True, holder=service)

    def _first(self, name: str, key: PublicKey, number: int, *, held: bool = False) -> None:
        verify_expected_key(name, key, self._pins.get(name, ()))
        verify_first_key(name, self._by_name.keys())
        self._add(self._hold(name, key, number) if held else Party(name, key, name in self._pins, number))

    def _change(self, number: int, entry: Entry, body: KeyChange) -> None:
        verify_key_changer(entry, body)
        name = changed_name(entry, body)
        before = self.party(name, number)
        verify_replaced_key(name, body.old, before.key if before else None)
        assert before is not None
        vouched = isinstance(body, Revoke)
        if vouched:
            self._delegated.setdefault(name, []).append((number + 1, None))
            verify_expected_key(name, body.key, self._pins.get(name, ()), vouched=True)
        pinned = name in self._pins
        self._add(Party(name, body.key, pinned, number + 1, vouched or (before.vouched and not pinned)))

    def _add(self, party: Party) -> None:
        self._by_name.setdefault(party.name, []).append(party)
        self.parties.append(party)


def keys_note(parties: Sequence[Party]) -> str:
    """The note of the third step on the keys of a log."""
    pinned = sum(party.pinned for party in parties)
    text = plural(
        "{n} key, expected from outside: {pinned}",
        "{n} keys, {pinned} of them expected from outside",
        len(parties),
        pinned=pinned,
    )
    held = [party for party in parties if party.held]
    if held:
        players = [party for party in parties if party.name != SERVER_NAME]
        text = plural(
            "{n} key of a player, {expected} as expected",
            "{n} keys of players, {expected} as expected",
            len(players),
            expected=sum(party.pinned for party in players if not party.held),
        )
    for party in parties:
        if party.held and party == next(each for each in parties if each.name == party.name):
            text = tell("{text}; {name}'s is held by the service", text=text, name=party.name)
        elif party.held:
            text = tell(
                "{text}; from entry {entry} on the service signs for {name} too, with a key that it holds",
                text=text,
                entry=party.since,
                name=party.name,
            )
        if party.vouched:
            text = tell(
                "{text}; from entry {entry} on {name} signs with a key that the server alone vouches for",
                text=text,
                entry=party.since,
                name=party.name,
            )
    return text


Verdict: TypeAlias = HkojiError | None
"""Why a signature does not verify; None if it does."""
MapChecks = Callable[[Callable[[SignatureCheck], Verdict], Iterable[SignatureCheck]], Iterable[Verdict]]
"""`map`, or a function like it that verifies on several cores."""


class LogSignatures:
    """The verdicts on the signatures of a log: of entries, until one does not verify, and of the receipts before it.

    The entry at `stop` is the first with a signature that is missing or does not verify, for the reason `fault`, or
    whose author has no key in the log (then `fault` is None). `verified` signatures of the entries before it hold.
    `receipts` are the verdicts on the receipts before it, up to the first line without a receipt.
    """

    def __init__(
        self, lines: Sequence[Line], bodies: Sequence[EntryBody], keyring: Keyring, map_checks: MapChecks
    ) -> None:
        self.verified = 0
        self.fault: Verdict = None
        self.receipts: Final[list[Verdict]] = []
        places: list[int | None] = []  # the entry of each check; None for a receipt's
        unasked: list[HkojiError] = []
        for number, verdict in enumerate(map_checks(_verdict, _checks(lines, bodies, keyring, places, unasked))):
            place = places[number]
            if place is None:
                self.receipts.append(verdict)
            elif verdict is None:
                self.verified += 1
            else:
                self.stop, self.fault = place, verdict
                return
        self.stop = next((place + 1 for place in reversed(places) if place is not None), 0)
        self.fault = unasked[0] if unasked else None


def _checks(
    lines: Sequence[Line],
    bodies: Sequence[EntryBody],
    keyring: Keyring,
    places: list[int | None],
    unasked: list[HkojiError],
) -> Iterator[SignatureCheck]:
    """The signatures of each line, entry before receipt. Notes the place of each in `places`.

    It ends at an entry that lacks a signature, or has one where none belongs, and notes this in `unasked`.
    """
    opened, link = False, None
    server = keyring.party(SERVER_NAME, len(lines))
    for number, (line, body) in enumerate(zip(lines, bodies, strict=True)):
        party = keyring.signer(number, line.entry)
        if party is None:
            return
        try:
            checks = signature_checks(line.entry, line.sig, party.key, body, link)
        except HkojiError as error:
            unasked.append(error)
            return
        for check in checks:
            places.append(number)
            yield check
        if isinstance(body, Open) and not opened:
            opened, link = True, body.invite.link if isinstance(body.invite, LinkInvite) else None
        if line.receipt is None:
            server = None
        elif server is not None:
            places.append(None)
            yield receipt_signature(line.receipt, server.key)


def _verdict(check: SignatureCheck) -> Verdict:
    try:
        check.verify()
    except HkojiError as error:
        return error
    return None


class SignedFor(NamedTuple):
    """The entries and statements that the service has signed for player `name`, as far as the log holds.

    `entries` and `statements` are their numbers, and `claims` has for each grade the number of those that name such a
    mail. `drawn` says that the service has drawn the player's part in the shuffle too.
    """

    name: str
    entries: int
    statements: int
    claims: dict[MailGrade, int]
    drawn: bool


def signed_for(lines: Sequence[Line], bodies: Sequence[EntryBody]) -> tuple[SignedFor, ...]:
    """For each player for whom the service holds a key, all that it has signed, in the order of the log."""
    names: list[str] = []  # host and guest
    certified: dict[str, bool] = {}  # whether the key was the one by which the player has come
    entries: dict[str, list[MailClaim]] = {}
    statements: dict[str, list[MailClaim]] = {}
    for number, (line, body) in enumerate(zip(lines, bodies, strict=True)):
        by = line.entry.by
        newcomer = isinstance(body, entry_kinds.Open | entry_kinds.Join)
        if newcomer:
            names.append(by)
        if body.certificate is not None:
            certified.setdefault(by, newcomer)
        if body.mail is not None:
            entries.setdefault(by, []).append(body.mail)
        for name, mail in _statements(names, lines[number - 1] if number else line, body):
            statements.setdefault(name, []).append(mail)
    return tuple(
        SignedFor(
            name,
            len(entries.get(name, ())),
            len(statements.get(name, ())),
            _count((*entries.get(name, ()), *statements.get(name, ()))),
            drawn,
        )
        for name, drawn in certified.items()
    )


def seat_grades(course: Course | None) -> dict[str, SeatGrade]:
    """For each player who has come, how it is known who has made the decisions."""
    if course is None:
        return {}
    setup = course.setup
    return {name: setup.seat_grade(seat) for seat, name in enumerate(setup.names) if name is not None}


def _statements(names: Sequence[str], before: Line, body: EntryBody) -> Iterable[tuple[str, MailClaim]]:
    """The mails of the statements that an entry of the service carries, with the players for whom they were signed."""
    if not isinstance(body, entry_kinds.Credit | entry_kinds.Annul) or len(names) != len((0, 1)):
        return
    helped = names[body.seat] if isinstance(body, entry_kinds.Annul) else before.entry.by
    if body.gift is not None and body.gift.mail is not None:
        yield next(name for name in names if name != helped), body.gift.mail
    if isinstance(body, entry_kinds.Annul):
        yield from ((name, mail) for name, mail in zip(names, body.mails, strict=True) if mail is not None)


def _count(mails: Iterable[MailClaim]) -> dict[MailGrade, int]:
    claims = dict.fromkeys(MailGrade, 0)
    for mail in mails:
        claims[mail.grade] += 1
    return claims
