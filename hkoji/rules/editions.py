"""The published editions of the games: their names, options and words.

One table for all games; the rules pages, `hkoji new --edition` and the docs read it. An edition changes the rules only
through its options. Source: the five rulebooks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from hkoji.errors import UsageError
from hkoji.messages.text import Text, shorten, tell
from hkoji.rules.geishas_road.ruleset import NAME as GEISHAS_ROAD
from hkoji.rules.hanamikoji.ruleset import NAME as HANAMIKOJI
from hkoji.rules.protocol import Json


@dataclass(frozen=True, slots=True)
class Edition:
    """One edition. `options` are those that differ from the ruleset's defaults; `about` names its peculiarities.

    `words` are the edition's own, in its language, for `secret`, `trade_off`, `gift`, `competition` (or the actions
    of the other game) and `marker`. `deck` is the deck that its cards are from.
    """

    name: str
    ruleset: str
    title: Text
    language: str
    options: Mapping[str, Json]
    words: Mapping[str, str]
    about: Text
    deck: str = "standard"

    @property
    def command(self) -> str:
        """The command that opens a game of this edition, with its options spelled out."""
        ruleset = () if self.ruleset == HANAMIKOJI else ("--ruleset", self.ruleset)
        options = (f"--{name.replace('_', '-')} {value}" for name, value in self.options.items())
        return " ".join(("hkoji new", *ruleset, *options))

    def options_beside(self, given: Mapping[str, Json]) -> dict[str, Json]:
        """Returns the options for a game whose options `given` override some: without a limit there is no tie-break."""
        unlimited = str(given.get("max_rounds")) == "0"
        return {name: value for name, value in self.options.items() if not (unlimited and name == "tiebreak")}


EDITIONS: Final = (
    Edition(
        name="original",
        ruleset=HANAMIKOJI,
        title=tell("Hanamikoji, first edition"),
        language="en",
        options={},
        words={
            "secret": "Secret",
            "trade_off": "Trade-off",
            "gift": "Gift",
            "competition": "Competition",
            "marker": "Victory Marker",
        },
        about=tell("There is no limit of rounds: the game goes on until somebody has reached a goal."),
    ),
    Edition(
        name="2018-en",
        ruleset=HANAMIKOJI,
        title=tell("Hanamikoji, English edition of 2018"),
        language="en",
        options={"max_rounds": 3, "tiebreak": "geisha"},
        words={
            "secret": "Secret",
            "trade_off": "Discard",
            "gift": "Gift",
            "competition": "Competition",
            "marker": "Favor Marker",
        },
        about=tell(
            "The limit of three rounds is optional in this edition; here it is in force. If nobody has reached a goal "
            "when the third round has been scored, more geisha win, then more charm; else the win is shared."
        ),
    ),
    Edition(
        name="2018-it",
        ruleset=HANAMIKOJI,
        title=tell("Hanamikoji, Italian edition of 2018"),
        language="it",
        options={"max_rounds": 3, "tiebreak": "charm"},
        words={
            "secret": "Segreto",
            "trade_off": "Scarto",
            "gift": "Regalo",
            "competition": "Sfida",
            "marker": "segnalino Favore",
        },
        about=tell(
            "The limit of three rounds is optional in this edition; here it is in force. If nobody has reached a goal "
            "when the third round has been scored, more charm wins, then the geisha of the highest charm, compared "
            "from the highest down (5, 2, 2 beats 4, 3, 2); else the win is shared."
        ),
    ),
    Edition(
        name="everdeck",
        ruleset=HANAMIKOJI,
        title=tell("Hanamikoji on the Everdeck"),
        language="en",
        options={},
        words={
            "secret": "Secret",
            "trade_off": "Trade-Off",
            "gift": "Gift",
            "competition": "Compete",
            "marker": "geisha card",
        },
        about=tell(
            "It is played with 36 cards of a generic deck; `hkoji deck` lists them, and with `--deck everdeck` cards "
            "are named by their suits. There are no markers: a geisha's card is turned towards whoever has her favour. "
            "There is no limit of rounds."
        ),
        deck="everdeck",
    ),
    Edition(
        name="2021",
        ruleset=GEISHAS_ROAD,
        title=tell("Geisha's Road, English edition of 2021"),
        language="en",
        options={},
        words={
            "reveal": "Reveal",
            "intrigue": "Intrigue",
            "gift": "Gift",
            "competition": "Competition",
            "marker": "Scoring Marker",
        },
        about=tell(
            "For a first game it suggests that both players draw their first marker at random: `--markers random`."
        ),
    ),
)


def find_edition(name: str) -> Edition:
    """The edition of that name. Raises `UsageError`."""
    for edition in EDITIONS:
        if edition.name == name:
            return edition
    raise UsageError(
        tell("there is no edition {name!r}", name=shorten(name)),
        hint=tell("editions: {names}", names=", ".join(edition.name for edition in EDITIONS)),
    )
