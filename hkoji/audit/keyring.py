"""Whose keys a log names, from which entry to which they count, and whether they are expected.

docs/spec/log.md, "Audit", step 3. It looks at keys alone, entry by entry: who has signed what is step 4, and whether an
entry may come where it stands is the course's to know.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from hkoji.audit.checks import verify_expected_key, verify_first_key, verify_key_changer
from hkoji.game import entry_kinds
from hkoji.game.entry_kinds import EntryBody
from hkoji.game.entry_kinds.key_changes import KeyChange, Rekey, Revoke, changed_name
from hkoji.game.setup import verify_replaced_key
from hkoji.log.entry import SERVER_NAME, Entry
from hkoji.log.private_key import PublicKey
from hkoji.messages.text import tell

ExpectedKeys: TypeAlias = Mapping[str, PublicKey | Collection[PublicKey]]
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

    def __init__(self, pins: ExpectedKeys) -> None:
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
        verify_expected_key(name, key, self._pins.get(name, ()))
        verify_first_key(name, self._by_name.keys())
        self._add(Party(name, key, name in self._pins, number))

    def _change(self, number: int, entry: Entry, body: KeyChange) -> None:
        verify_key_changer(entry, body)
        name = changed_name(entry, body)
        before = self.party(name, number)
        verify_replaced_key(name, body.old, before.key if before else None)
        assert before is not None
        vouched = isinstance(body, Revoke)
        if vouched:
            verify_expected_key(name, body.key, self._pins.get(name, ()), vouched=True)
        pinned = name in self._pins
        self._add(Party(name, body.key, pinned, number + 1, vouched or (before.vouched and not pinned)))

    def _add(self, party: Party) -> None:
        self._by_name.setdefault(party.name, []).append(party)
        self.parties.append(party)
