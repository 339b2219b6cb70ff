"""`hkoji rematch`: another game after one that is over. docs/cli.md, "Rematches and series"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hkoji.cli.games.game_words import series_line, standing_text
from hkoji.cli.games.new import opened_json
from hkoji.cli.games.terms import read_expiry, say_terms
from hkoji.cli.output import client, out
from hkoji.cli.settings import deposits_draws
from hkoji.client.rematch import JOINED, OPENED, Rematch, Rematches, kept_place
from hkoji.messages.text import tell

if TYPE_CHECKING:
    from hkoji.client.seats import SealedWish
    from hkoji.game.agreement import Agreement
    from hkoji.game.course import Course


def rematch(game: str, expires: str | None) -> None:
    """Opens a rematch, or joins the opponent's."""
    seconds = read_expiry(expires)
    before = client().find(game)

    def agree(course: Course) -> None:
        if not out.json:
            _say_terms(course)

    arranged = Rematches(client(), deposits=deposits_draws(), settle=_settle)
    made = arranged.make(before, seconds, agree)
    position = made.position
    setup, short = position.course.setup, position.short
    kept = client().kept_game(position.game)
    place = kept_place(position.course, kept.recorded, client().kept_game)
    value: dict[str, Any] = {  # Any: JSON
        **opened_json(position),
        "rematch": before,
        "how": made.how,
        "cancelled": list(made.cancelled),
        "host": setup.names[0],
        "guest": setup.names[1],
        "series": None if place is None else place.to_json(),
        "decided": None if made.decided is None else made.decided.to_json(),
    }
    out.result(value, lambda: position.game)  # the id alone, as of `hkoji new`
    if out.json:
        return
    for each in made.cancelled:
        out.say(tell("Your own rematch {game} was cancelled for this one.", game=each[:8]))
    if made.decided is not None:
        out.say(tell("The series is over: {score}. This game is not part of it.", score=standing_text(made.decided)))
    if place is not None:
        out.say(series_line(place))
    _say_next(made, short)


def _settle(wish: SealedWish, opponent: str, agreement: Agreement, joins: bool) -> None:
    from hkoji.cli.games import sealed as sealed_games  # other games need none of it

    sealed_games.settle(wish, client().service(), opponent, agreement, joins=joins)


def _say_terms(course: Course) -> None:
    setup = course.setup
    say_terms(setup.ruleset, setup.agreement._replace(series=None))  # a series is said with the score


def _say_next(made: Rematch, short: str) -> None:
    """Says what has been done, and what to do next."""
    position = made.position
    setup = position.course.setup
    waits = position.course.joinable
    opponent = setup.invited if waits else setup.names[1 - (position.seat or 0)]
    command = f"hkoji rematch {(setup.agreement.rematch or '')[:8]}"
    if made.how == OPENED:
        _say_terms(position.course)
        out.say(tell("The rematch is open. Ask {name} to run: {command}", name=opponent, command=command))
    elif made.how == JOINED:
        out.say(tell("{name} had asked for a rematch already: you have joined it.", name=opponent))
    elif waits:
        out.say(tell("You have asked for it before. It waits for {name}, who can run: {command}", name=opponent,
                     command=command))  # fmt: skip
    else:
        out.say(tell("The rematch with {name} goes on already.", name=opponent))
    if position.course.sealed is not None and made.how in (OPENED, JOINED):
        from hkoji.cli.games import sealed as sealed_games

        sealed_games.say_duties(position)
    out.say(tell("Then play it: {command}", command=f"hkoji play {short}"))
