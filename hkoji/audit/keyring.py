"""The keys that a log names: whose they are, from which entry on they count, and whether they are expected.

docs/spec/log.md, "Audit", step 3. Signatures are step 4; whether an entry may stand where it does is step 8, the
replay.
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
from hkoji.log.public_key import PublicKey
from hkoji.messages.text import tell

ExpectedKeys: TypeAlias = Mapping[str, PublicKey | Collection[PublicKey]]
"""The keys expected from outside (pins): for each name one key, or several any of which is accepted."""


@dataclass(frozen=True, slots=True)
class Party:
    """A signer of the log: `name`, one of its keys, and the number of the first entry that this key has to sign.

    `pinned`: the key was expected from outside, or follows such a key by a `rekey`. `vouched`: only the service says
    that the key is the player's.
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
    """The keys that a log has named so far. `parties` are in the order in which the log names them."""

    def __init__(self, pins: ExpectedKeys) -> None:
        given = {name: {keys} if isinstance(keys, PublicKey) else set(keys) for name, keys in pins.items()}
        self._pins = {name: keys for name, keys in given.items() if keys}
        self._by_name: dict[str, list[Party]] = {}
        self.parties: list[Party] = []

    def party(self, name: str, number: int) -> Party | None:
        """The key that must have signed entry `number` by `name`; None if the log has named none so far."""
        counting = None
        for party in self._by_name.get(name, ()):
            if party.since <= number:
                counting = party
        return counting

    def read(self, number: int, entry: Entry, body: EntryBody) -> None:
        """Reads the next entry. Raises `HkojiError` if it names a key that it must not name."""
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
