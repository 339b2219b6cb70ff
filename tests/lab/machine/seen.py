"""Each viewer's sight of a position, from the naive games: own cards, X for others, everything at the end."""

from __future__ import annotations

from tests.lab.machine.naive_game import NaiveGame
from tests.lab.machine.naive_log import Object
from tests.support import naive_geishas_road, naive_hanamikoji


def position(game: NaiveGame, seat: int | None) -> Object:
    """The relevant fields of a position's JSON, as `seat` (None: a spectator) sees them."""
    table, over = game.table, game.stage == "over"

    def own(places: list[list[str]]) -> list[str]:
        return ["".join(sorted(cards)) if over or at == seat else "X" * len(cards) for at, cards in enumerate(places)]

    def shown(places: list[list[str]]) -> list[str]:
        return ["".join(sorted(cards)) for cards in places]

    deck = list(table["deck"])
    offered = [card for share in table["offer"] or [] for card in share]
    common = {
        "ruleset": game.ruleset,
        "round": table["round"],
        "first": table["starter"],
        "actor": game.actor if game.stage == "play" else None,
        "hands": own(table["hands"]),
        "deck": "".join(deck) if over else "X" * len(deck),
        "markers": list(table["markers"].values()),
        "outcome": game.result,
    }
    if game.ruleset["name"] == "hanamikoji":
        removed = table["removed"]
        return common | {
            "used": _used(table, [1, 2, 3, 4]),
            "rows": shown(table["rows"]),
            "secrets": own(table["secret"]),
            "trade_offs": own(table["discard"]),
            "removed": "".join(removed) if over else "X" * len(removed),
            "offer": naive_hanamikoji.spell(len(offered), offered) if offered else None,
        }
    return common | {
        "used": _used(table, ["R", "I", "G", "C"]),
        "tableaus": shown(table["tableaus"]),
        "intrigues": own(table["kept"]),
        "discards": own(table["discarded"]),
        "offer": naive_geishas_road.spell("GC"[len(offered) == 4], offered) if offered else None,
        "left": "".join(sorted(table["left"])) if table["left"] else None,
        "wins": table["wins"],
        "lanterns": [sum(points) for points in table["lanterns"].values()],
    }


def _used(table: Object, actions: list[int] | list[str]) -> list[list[int | str]]:
    return [[action for action in actions if table["round"] and action not in left] for left in table["unused"]]
