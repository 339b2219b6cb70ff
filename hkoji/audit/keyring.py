"""The keys that a log names: whose they are, from which entry on they count, and whether they are expected.

docs/spec/log.md, "Audit", step 3. Signatures are step 4; whether an entry may stand where it does is step 8, the
replay.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from hkoji.audit.checks import verify_expected_key, verify_first_key, verify_key_changer
from hkoji.game import entry_kinds
from hkoji.game.entry_kinds import EntryBody
from hkoji.game.entry_kinds.key_changes import Delegate, KeyChange, Rekey, Revoke, changed_name
from hkoji.game.setup import verify_replaced_key
from hkoji.log.entry import SERVER_NAME, Entry
from hkoji.log.mail_claim import MAIL
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
    """What the third step says of the keys of a log."""
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
