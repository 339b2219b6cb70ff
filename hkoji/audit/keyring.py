"""Whose keys a log names, from which entry to which they count, and whether they are expected.

docs/spec/log.md, "Audit", step 3. It looks at keys alone, entry by entry: who has signed what is step 4, and whether an
entry may come where it stands is the course's to know.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from hkoji.errors import HkojiError
from hkoji.game import entry_kinds
from hkoji.game.entry_kinds import EntryBody
from hkoji.game.entry_kinds.key_changes import KeyChange, Rekey, Revoke, changed_name
from hkoji.log.entry import SERVER_NAME, Entry
from hkoji.log.private_key import PublicKey
from hkoji.messages.text import any_of, tell

Pins: TypeAlias = Mapping[str, PublicKey | Collection[PublicKey]]
"""The keys expected from outside: of each name one, or any of several."""


@dataclass(frozen=True, slots=True)
class Party:
    """A signer of the log: `name`, one of its keys, and the number of the first entry that this key has to sign.

    `pinned` says whether the key was expected from outside, or follows one that was by its own signature; `vouched`
    that it is the player's by the service's word alone.
    """

    name: str
    key: PublicKey
    pinned: bool
    since: int = 0
    vouched: bool = False

    def __str__(self) -> str:
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
    """The keys of a log, as far as it has been read. `parties` are in the order in which the log names them."""

    def __init__(self, pins: Pins) -> None:
        given = {name: {keys} if isinstance(keys, PublicKey) else set(keys) for name, keys in pins.items()}
        self._pins = {name: keys for name, keys in given.items() if keys}
        self._by_name: dict[str, list[Party]] = {}
        self.parties: list[Party] = []

    def party(self, name: str, number: int) -> Party | None:
        """Whose signature entry `number` needs if it is by `name`; None if the log has named no key by then."""
        counting = None
        for party in self._by_name.get(name, ()):
            if party.since <= number:
                counting = party
        return counting

    def read(self, number: int, entry: Entry, body: EntryBody) -> None:
        """Takes the next entry in. Raises `HkojiError` if it names a key that it may not."""
        match body:
            case entry_kinds.Offer():
                self._first(SERVER_NAME, body.server_key, number)
            case entry_kinds.Open() | entry_kinds.Join():
                self._first(entry.by, body.key, number)
            case Rekey() | Revoke():
                self._change(number, entry, body)

    def _first(self, name: str, key: PublicKey, number: int) -> None:
        if expected := self._unexpected(name, key):
            raise HkojiError(
                tell(
                    "the log names {fingerprint} as the key of {name}; expected is {expected}",
                    fingerprint=key.fingerprint,
                    name=name,
                    expected=expected,
                )
            )
        if name in self._by_name:
            raise HkojiError(tell("the log names a key of {name} twice", name=name))
        self._add(Party(name, key, name in self._pins, number))

    def _change(self, number: int, entry: Entry, body: KeyChange) -> None:
        name = changed_name(entry, body)
        if (entry.by == SERVER_NAME) != isinstance(body, Revoke) or name == SERVER_NAME:
            raise HkojiError(tell("the key of {name} is not for {by} to change", name=name, by=entry.by))
        before = self.party(name, number)
        if before is None or before.key != body.old:
            raise HkojiError(tell("it replaces a key that is not the one of {name}", name=name))
        vouched = isinstance(body, Revoke)
        if vouched and (expected := self._unexpected(name, body.key)):
            raise HkojiError(
                tell(
                    "the server alone says that {fingerprint} is now the key of {name}; expected is {expected}",
                    fingerprint=body.key.fingerprint,
                    name=name,
                    expected=expected,
                )
            )
        pinned = name in self._pins
        self._add(Party(name, body.key, pinned, number + 1, vouched or (before.vouched and not pinned)))

    def _add(self, party: Party) -> None:
        self._by_name.setdefault(party.name, []).append(party)
        self.parties.append(party)

    def _unexpected(self, name: str, key: PublicKey) -> str:
        """The keys that were expected of `name` in place of `key`, for people; empty if it is one of them."""
        expected = self._pins.get(name)
        return any_of(sorted(each.fingerprint for each in expected)) if expected and key not in expected else ""
