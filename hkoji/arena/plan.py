"""The plan of a match: two bots, a ruleset, a number of deals, and the seed from which all of its chance comes.

Every random value of a match is derived from its seed by HMAC-SHA256. The same seed gives the same cards, and the same
games if the bots honour their seeds, however many processes play them. Anyone who knows the seed knows everything, so
nothing derived from it is secret. That does no harm: the bots see only what their seats see. docs/arena.md.
"""

from __future__ import annotations

import hmac
from typing import Final, NamedTuple

from hkoji.game.dealer import DuplicateTerms
from hkoji.log import canonical
from hkoji.rules.events import Seat
from hkoji.rules.protocol import Ruleset

TABLES: Final = ("a", "b")
"""The two games of a deal: in `a` the first bot is the host, in `b` the second."""


class MatchPlan(NamedTuple):
    """A match. `bots` are names for `hkoji.bots.registry.make_bot`; deals count from 1."""

    bots: tuple[str, str]
    ruleset: Ruleset
    deals: int
    seed: str

    @property
    def games(self) -> int:
        """The number of games."""
        return len(TABLES) * self.deals

    @property
    def labels(self) -> tuple[str, str]:
        """The bots' names as players: valid in a log, and different from each other."""
        one, two = (_label(bot) for bot in self.bots)
        return (one, two) if one != two else (f"{one}-1", f"{two}-2")

    def derive(self, what: str, *place: int | str) -> bytes:
        """Derives 32 bytes for one purpose at one place of the match."""
        text = "".join(f"{line}\n" for line in (f"hkoji.arena.{what}.v1", *place))
        return hmac.digest(self.seed.encode(), text.encode(), "sha256")

    def deal(self, number: int) -> tuple[DuplicateTerms, str]:
        """Returns a deal's terms, and its seed of 64 hex digits."""
        seed = self.derive("seed", number).hex()
        return DuplicateTerms.bind(self.derive("deal", number).hex()[:32], seed), seed

    def game(self, number: int, table: str) -> str:
        """Returns a game's id, 32 hex digits. With the same seed, other bots or another ruleset get other ids."""
        ruleset = canonical.encode(self.ruleset.to_json())
        return self.derive("game", *self.bots, ruleset, number, table).hex()[:32]

    def bot_seed(self, number: int, table: str, bot: int) -> int:
        """Returns the seed of bot 0 or 1 for one game, below 2^63."""
        return int.from_bytes(self.derive("bot", number, table, bot)[:8], "big") >> 1


def seated(table: str, seat: Seat) -> int:
    """Returns the bot, 0 or 1, in a seat at a table."""
    return seat ^ TABLES.index(table)


def _label(bot: str) -> str:
    """Makes a player's name for a bot: `./My Bot` becomes `my-bot`."""
    stem = bot.strip().lower().rsplit("/", 1)[-1]
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "-" for c in stem)[:28].strip("-_")
    return kept if len(kept) > 1 and kept != "server" else f"bot-{kept or 'x'}"
