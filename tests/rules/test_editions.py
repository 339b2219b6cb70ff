"""Every edition in the table has its own name for each action of its game, as its page says; every ruleset has all
its options in the log.
"""

from __future__ import annotations

import pytest

from hkoji.errors import InvalidError
from hkoji.rules.editions import EDITIONS, Edition, find_edition
from hkoji.rules.geishas_road.actions import NAMES as ROAD_NAMES
from hkoji.rules.hanamikoji.actions import NAMES
from hkoji.rules.registry import RULESETS, parse_ruleset, reasons
from tests.support.docs import DOCS, rows
from tests.support.rules import GAMES, Game, every_game

ACTIONS: dict[str, list[str]] = {
    "hanamikoji": [name.replace("-", "_") for name in NAMES.values()],
    "geishas-road": list(ROAD_NAMES.values()),
}


@pytest.mark.parametrize("edition", EDITIONS, ids=lambda edition: edition.name)
def test_its_page_has_its_words_and_its_options(edition: Edition) -> None:
    page = (DOCS / "rules" / f"{edition.ruleset}.md").read_text()
    (row,) = (row for row in rows(page, "edition") if row[1] == f"`{edition.name}`")
    assert list(edition.words) == [*ACTIONS[edition.ruleset], "marker"]
    *actions, marker = edition.words.values()
    assert f"{', '.join(actions)}; {marker}" == row[2].partition(" (")[0]
    if edition.ruleset == "hanamikoji":
        options = edition.command.partition(" --")[2]
        assert row[3].partition(": ")[2] == (f"`--{options}`" if options else "")


@pytest.mark.parametrize("edition", EDITIONS, ids=lambda edition: edition.name)
def test_it_is_found_and_can_be_played(edition: Edition) -> None:
    assert find_edition(edition.name) == edition
    ruleset = RULESETS[edition.ruleset]()
    options = {**ruleset.to_json(), **edition.options}
    assert parse_ruleset(options).to_json() == options
    assert not edition.options or options != ruleset.to_json()
    game = [] if edition.ruleset == "hanamikoji" else ["--ruleset", edition.ruleset]
    given = [word for name, value in edition.options.items() for word in ("--" + name.replace("_", "-"), str(value))]
    assert edition.command.split(" ") == ["hkoji", "new", *game, *given]


# --- the ruleset object of the log ------------------------------------------------------------------------------------


@every_game
def test_every_option_is_always_there(game: Game) -> None:
    for ruleset in game.rulesets:
        options = ruleset.to_json()
        for key in options:
            with pytest.raises(InvalidError):
                parse_ruleset({other: value for other, value in options.items() if other != key})


@every_game
def test_every_end_has_a_known_reason(game: Game) -> None:
    assert reasons() >= set(game.rulesets[0].reasons) | {"resign", "timeout", "cancel"}
    assert reasons() == {"resign", "timeout", "cancel"}.union(*(each.rulesets[0].reasons for each in GAMES))
