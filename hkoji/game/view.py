"""A player's own game: the public log, what the service has shown of the own cards, and the own openings, as one.

docs/spec/log.md, "Views" and "Client rules". Pure: the caller has verified signatures and fetched everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hkoji.errors import HkojiError, TrustError
from hkoji.game import bodies
from hkoji.game.bodies import parse_body
from hkoji.game.course import Course, Stage
from hkoji.game.hidden import Opening
from hkoji.game.knowledge import Everything, Knowledge, Player, Spectator
from hkoji.game.replay import Replay, replay, revealed
from hkoji.log.line import Line
from hkoji.log.statement import View
from hkoji.rules.events import Seat
from hkoji.rules.protocol import Ruleset


def verify_view(view: View, course: Course, seat: Seat) -> None:
    """Checks that a view is of this seat, this game and this head. Raises `TrustError`."""
    if (view.game, view.seat, view.seq, view.head) != (course.setup.game, seat, course.seq, course.head):
        raise TrustError("the service has shown the cards of another seat, game or moment")


def player_knowledge(lines: Sequence[Line], seat: Seat, view: View | None, openings: Iterable[Opening]) -> Knowledge:
    """What `seat` knows: once the game has ended everything, before that its own cards.

    `openings` may hold more than the log has taken (moves that were signed and not sent): those that open one of the
    log's commitments count, and so do those that the log has published.
    """
    known = revealed(lines)
    if isinstance(known, Everything):
        return known
    commits: dict[tuple[int, int], str] = {}
    published: list[Opening] = []
    game = lines[0].entry.game if lines else ""
    for line in lines:
        if line.entry.kind not in ("move", "reveal"):
            continue
        body = parse_body(line.entry.kind, line.entry.body)
        if isinstance(body, bodies.Move):
            commits.update({(line.entry.seq, part): commit for part, commit in enumerate(body.commit)})
        elif isinstance(body, bodies.RevealBody):
            published.extend(body.openings)
    by_seq: dict[int, dict[int, Opening]] = {}
    for opening in (*openings, *published):
        if opening.commitment(game) == commits.get((opening.seq, opening.part)):
            by_seq.setdefault(opening.seq, {})[opening.part] = opening
    fitting = {seq: tuple(parts[part] for part in sorted(parts)) for seq, parts in by_seq.items()}
    if view is None:
        return Spectator()
    ruleset = _ruleset(lines)
    dealt = tuple(ruleset.pack.split(each.cards) for each in view.dealt)
    return Player(seat, dealt, fitting)


def replay_own(lines: Sequence[Line], seat: Seat, view: View | None, openings: Iterable[Opening]) -> Replay:
    """The game as `seat` knows it, every step. Raises `TrustError` if the log does not go with what was shown."""
    result = replay(lines, player_knowledge(lines, seat, view, openings))
    if result.stop is not None:
        raise _distrust(result.stop) from result.stop
    course = result.course
    if course is not None and course.stage is Stage.OVER and view is not None:
        _verify_shown(course, seat, view)
    return result


def _verify_shown(course: Course, seat: Seat, view: View) -> None:
    """Once the deal is known: what the service has shown before must be it."""
    for each, cards in zip(view.dealt, course.dealt, strict=False):
        if not cards[seat].startswith(each.cards):
            raise TrustError(
                f"the service showed you other cards in round {each.round} than its seed gives",
                hint="keep the log and the signed view: together they prove it",
            )


def _distrust(error: HkojiError) -> HkojiError:
    return error if isinstance(error, TrustError) else TrustError(f"the log does not hold: {error}", hint=error.hint)


def _ruleset(lines: Sequence[Line]) -> Ruleset:
    body = parse_body(lines[0].entry.kind, lines[0].entry.body)
    assert isinstance(body, bodies.Offer)
    return body.ruleset
