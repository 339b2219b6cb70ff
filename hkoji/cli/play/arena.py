"""`hkoji arena`: plays two bots against each other on duplicate deals, and reports the result. docs/arena.md."""

from __future__ import annotations

import secrets
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from hkoji.arena.match import play
from hkoji.arena.plan import MatchPlan
from hkoji.arena.results import Export, Interval, MatchFigures, MatchSide, MatchTally
from hkoji.bots.registry import BOTS, make_bot, verify_plays
from hkoji.cli.language import _, _n
from hkoji.cli.long_work import progress, uninterrupted
from hkoji.cli.output import Exit, out
from hkoji.errors import UsageError
from hkoji.messages.text import tell
from hkoji.rules.protocol import Ruleset

_WIDTH = 12


class MatchReport(NamedTuple):
    """The result of a match as far as it was played, and its duration."""

    plan: MatchPlan
    figures: MatchFigures
    jobs: int
    seconds: float
    folder: Path | None

    @property
    def complete(self) -> bool:
        """Whether every deal was played."""
        return self.figures.deals == self.plan.deals

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Returns the report for programs."""
        plan, figures = self.plan, self.figures
        return {
            "bots": [
                {
                    "bot": plan.bots[bot],
                    "name": plan.labels[bot],
                    "wins": side.wins,
                    "score": side.score,
                    "by_games": list(side.by_games),
                    "by_deals": None if side.by_deals is None else list(side.by_deals),
                    "sweeps": figures.sweeps[bot],
                    "moves": side.moves,
                    "ms_median": side.median,
                    "ms_p95": side.p95,
                }
                for bot, side in enumerate(figures.sides)
            ],
            "ruleset": plan.ruleset.name,
            "options": plan.ruleset.to_json(),
            "seed": plan.seed,
            "games": figures.games,
            "deals": figures.deals,
            "complete": self.complete,
            "shared": figures.shared,
            "starter_score": figures.starter,
            "moves": figures.moves,
            "jobs": self.jobs,
            "seconds": self.seconds,
            "games_per_second": figures.games / self.seconds,
            "moves_per_second": figures.moves / self.seconds,
            "export": None if self.folder is None else str(self.folder),
        }


def make_plan(bots: tuple[str, str], ruleset: Ruleset, games: int, seed: str | None) -> MatchPlan:
    """Returns the match of a command line. Raises `UsageError`, also for a bot that cannot be made."""
    if games % 2:
        raise UsageError(
            tell("the number of games is odd ({games}), but every deal is played twice", games=games),
            hint=tell("give --games an even number"),
        )
    seed = secrets.token_hex(8) if seed is None else seed
    if not seed or not seed.isascii() or not seed.isprintable() or set(seed) & set('"\\'):
        raise UsageError(tell("a seed is plain letters, digits and signs"), hint=tell("as in --seed 2026"))
    for bot in bots:
        make_bot(bot, 0).close()
        if bot in BOTS:
            verify_plays(bot, ruleset.name)
    return MatchPlan(bots, ruleset, games // 2, seed)


def run(plan: MatchPlan, *, jobs: int, folder: Path | None) -> int:
    """Plays the match and reports it, also when it is interrupted. Returns the exit code."""
    export = None if folder is None else Export(plan, folder)
    tally = MatchTally()
    interrupted = False
    start = perf_counter()
    try:
        with progress(plan.deals) as advance, closing(play(plan, jobs=jobs, keep=export is not None)) as deals:
            for played in deals:
                with uninterrupted():
                    if export:
                        export.add(played)
                    tally.add(played)
                advance(1)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        if export:
            export.finish(tally)
    if not tally.games:
        out.say(tell("Interrupted before a deal was finished."))
        return Exit.INTERRUPTED
    report = MatchReport(plan, tally.figures(), jobs, max(perf_counter() - start, 1e-9), folder)
    out.result(report.to_json(), lambda: _text(report, plain=out.plain))
    if interrupted:
        out.say(tell("Interrupted: the figures cover what was played until then."))
    return Exit.INTERRUPTED if interrupted else Exit.OK


# --- for people -------------------------------------------------------------------------------------------------------


def _text(report: MatchReport, *, plain: bool) -> str:
    plan, figures = report.plan, report.figures
    one, other = plan.labels
    lines = [
        _n(
            "{one} against {other}, {game}: {games} games on {n} deal, seed {seed}",
            "{one} against {other}, {game}: {games} games on {n} deals, seed {seed}",
            figures.deals,
            one=one,
            other=other,
            game=plan.ruleset.name,
            games=figures.games,
            seed=plan.seed,
        ),
        "",
        *(_sentences(report) if plain else _table(report)),
        "",
        _("Shared wins: {shared}.", shared=figures.shared),
        _(
            "Deals won at both tables: {one} {sweeps}, {other} {more}.",
            one=one,
            other=other,
            sweeps=figures.sweeps[0],
            more=figures.sweeps[1],
        ),
        _("The player who started scored {score}.", score=_percent(figures.starter)),
        _(
            "{moves} moves and {games} games a second, in {seconds} s.",
            moves=_figure(figures.moves / report.seconds),
            games=_figure(figures.games / report.seconds),
            seconds=f"{report.seconds:.1f}",
        ),
    ]
    if not report.complete:
        left = plan.deals - figures.deals
        lines.append(_n("{n} deal was not played.", "{n} deals were not played.", left))
    if report.folder:
        lines.append(_("Logs, keys and arena.json are in {folder}.", folder=report.folder))
    return "\n".join(lines)


def _table(report: MatchReport) -> list[str]:
    plan, figures = report.plan, report.figures
    name = max(_WIDTH, *(len(label) for label in plan.labels))
    heads = (_("wins"), _("score"), _("95 % by games"), _("95 % by deals"), _("ms"), _("p95 ms"))
    lines = [_row("", heads, name)]
    for label, side in zip(plan.labels, figures.sides, strict=True):
        cells = (str(side.wins), _percent(side.score), _interval(side.by_games), _interval(side.by_deals))
        lines.append(_row(label, (*cells, *_times(side)), name))
    return lines


def _row(label: str, cells: tuple[str, ...], name: int) -> str:
    widths = (6, 7, 15, 15, 8, 8)
    return label.ljust(name) + "".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))


def _sentences(report: MatchReport) -> list[str]:
    lines = []
    for label, side in zip(report.plan.labels, report.figures.sides, strict=True):
        median, p95 = _times(side)
        lines.append(
            _(
                "{name} won {wins} and scored {score}; 95 % by games {games}, by deals {deals}; "
                "{median} ms a move, 95 % of moves within {p95} ms.",
                name=label,
                wins=side.wins,
                score=_percent(side.score),
                games=_interval(side.by_games),
                deals=_interval(side.by_deals),
                median=median,
                p95=p95,
            )
        )
    return lines


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def _interval(interval: Interval | None) -> str:
    return "-" if interval is None else f"{100 * interval.low:.1f}-{100 * interval.high:.1f}%"


def _times(side: MatchSide) -> tuple[str, str]:
    return _time(side.median), _time(side.p95)


def _time(milliseconds: float | None) -> str:
    return "-" if milliseconds is None else _figure(milliseconds)


def _figure(value: float) -> str:
    """Formats a number with three significant digits, or all those before the point if there are more."""
    places = 3 if value < 1 else 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{places}f}"
