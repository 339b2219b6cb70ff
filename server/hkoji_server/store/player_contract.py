"""The part of the store's contract that is about players: their keys, the operator's codes, and logins.

It is a part of the contract of the store, and has the same promises: see `contract`. Codes, challenges and tokens are
kept by their digests alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Player:
    """A registered player: name, public key text, time of registration, and the signed statement about that key.

    The statement is the registration or, for a later key, the one that put this key in the place of the key before.
    """

    name: str
    key: str
    registered: str
    text: str
    sig: str


@dataclass(frozen=True, slots=True)
class RetiredKey:
    """A key that belonged to a player until `at`.

    A key that was replaced is still valid in games that name it. A key that is `revoked` is valid nowhere.

    `text` is the statement that ended the use of the key. It is signed by the key itself (`sig`) and, if another key
    replaced it, by that one (`new_sig`). If the operator has revoked the key, there is no statement.
    """

    key: str
    name: str
    at: str
    revoked: bool
    text: str | None = None
    sig: str | None = None
    new_sig: str | None = None


@dataclass(frozen=True, slots=True)
class OperatorCode:
    """A code that is given to people, by its digest. It can be used `uses` times before it expires.

    The operator gives it, or a letter to a mail player. It is for another key of the player `name` or, without a name,
    for new players.
    """

    digest: str
    expires: str
    uses: int = 1
    name: str | None = None


class PlayerStore(Protocol):
    """The players, their keys and their logins. The names of the methods are labels of the metrics."""

    async def player(self, name: str) -> Player | None:
        """Returns a registered player."""

    async def add_player(self, player: Player, code: str | None = None) -> Player | None:
        """Registers a player. Returns None, or the player that has the name or the key already.

        Unless `code` is None, the registration needs a code of the operator with this digest, and uses it.
        Changes nothing if it raises: `RevokedError` or `ExistsError` for a key that a player had before,
        `ForbiddenError` if there is no such code or it has expired.
        """

    async def knows_key(self, key: str) -> bool:
        """Tells whether a key belongs, or has belonged, to a player."""

    async def retired(self, key: str) -> RetiredKey | None:
        """Returns a key that a player no longer uses; None for any other key."""

    async def retired_of(self, name: str) -> tuple[RetiredKey, ...]:
        """Returns the keys that a player had before, in order of time.

        A revoked key may also be the player's current one.
        """

    async def replace_key(self, player: Player, retired: RetiredKey) -> None:
        """Replaces the `retired` key of a registered player by the key of `player`, and ends all the player's logins.

        Changes nothing if it raises: `ForbiddenError` if the retired key is not the current one, `RevokedError` if it
        has been revoked, `ExistsError` if the new key belongs or has belonged to a player.
        """

    async def revoke_key(self, retired: RetiredKey) -> None:
        """Revokes a player's key, the current one or an earlier one, and ends the logins that were made with it.

        With the current one the player's channels are removed, unless the service holds it: then the keeper looks at
        the invitations of the player soon. A key that has been revoked before stays as it is, and no login ends. After
        this returns, no further entry signed with the key appears. Raises `ForbiddenError` if the player never had the
        key.
        """

    async def add_code(self, code: OperatorCode) -> None:
        """Keeps a code of the operator; one for a player's new key takes the place of an earlier one, however made."""

    async def invitations(self, now: str) -> tuple[OperatorCode, ...]:
        """Returns the codes for new players that are valid, the first to expire first."""

    async def withdraw_code(self, digest: str) -> bool:
        """Forgets a code for new players. Returns False if there is none."""

    async def recover(self, player: Player, digest: str, now: str) -> None:
        """Gives a player the key of `player` in place of a revoked one, and uses the recovery code up.

        Or in place of one that the service holds, which is revoked with this. After this returns, no further entry
        signed with it appears.

        Changes nothing if it raises: `ForbiddenError` if there is no such code, it has expired, or the player's key is
        their own and not revoked; `ExistsError` if the new key belongs or has belonged to a player; `ConflictError`,
        with a game, if the held key is still needed to send the entropy of a seat there.
        """

    async def add_challenge(self, digest: str, expires: str) -> None:
        """Keeps a login challenge by its digest."""

    async def take_challenge(self, digest: str, now: str) -> bool:
        """Uses a challenge up, and forgets those that have expired.

        Returns False if there is no such challenge or it has expired.
        """

    async def add_token(self, digest: str, name: str, expires: str, now: str, key: str = "") -> None:
        """Keeps a login token by its digest, and forgets those that have expired.

        `key` is the key that has logged in. If it is revoked or no longer the player's, even if that has
        just changed, the token is not kept, and `RevokedError` or `ForbiddenError` is raised.
        """

    async def drop_token(self, digest: str) -> None:
        """Forgets a token."""

    async def token(self, digest: str, now: str) -> str | None:
        """Returns the name of the player whose token it is; None if there is none or it has expired."""
