"""`hkoji stats`: counts over many logs, as tables, as JSON and as bar charts.

The games are read from files, folders and standard input, in one or more processes. Only the record of a log is kept,
so memory is bounded by the largest game. Unreadable and invalid logs are reported, and reading continues. Files are
split into logs as for an audit (`hkoji.cli.files`). Signatures are not checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import Any, Final, NamedTuple

from hkoji.cli.files import LogBytes, UnreadableLog, log_files, read_all, write_result
from hkoji.cli.input import check_standard_input
from hkoji.cli.language import _, _n, translate
from hkoji.cli.long_work import map_in_processes
from hkoji.cli.output import TextStyle, out
from hkoji.errors import HkojiError
from hkoji.game.replay import replay
from hkoji.log.line import Line, parse_line
from hkoji.messages.text import plural, printable, tell
from hkoji.rules.registry import RULESETS
from hkoji.rules.transcript import format_ruleset
from hkoji.show.svg.charts import Bar, Chart, draw_charts
from hkoji.study.shares import Share, Spread
from hkoji.study.tally import GameRecord, GameTally, Group, record

_CHUNK: Final = 16
_PLAY_BEGINS: Final = "join"


GameOrProblem = GameRecord | UnreadableLog


def read_games(sources: Iterable[str], jobs: int = 1) -> Iterator[GameOrProblem]:
    """Yields every log's record or problem, in the order of the sources whatever `jobs` is. `-` is standard input."""
    files = log_files(sources)
    if jobs == 1:
        for file in files:
            yield from read_logs(read_all((file,)))
        return
    groups = iter(lambda: tuple(islice(files, _CHUNK)), ())
    yield from map_in_processes(groups, _read_files, jobs, here=lambda group: "-" in group)


def _read_files(files: Iterable[str]) -> list[GameOrProblem]:
    return [found for file in files for found in read_logs(read_all((file,)))]


def read_logs(logs: Iterable[LogBytes | UnreadableLog]) -> Iterator[GameOrProblem]:
    """Yields the games of the logs of one file. After a log that cannot be read the rest of the file is skipped."""
    for log in logs:
        found = log if isinstance(log, UnreadableLog) else _read(log)
        yield found
        if isinstance(found, UnreadableLog) and not found.read:
            return


def _read(log: LogBytes) -> GameOrProblem:
    if not log.text:
        return UnreadableLog(log.file, 0, False, tell("it is empty"))
    *texts, rest = log.text.decode("latin-1").split("\n")
    lines: list[Line] = []
    for number, text in enumerate(texts, log.line):
        try:
            lines.append(parse_line(text))
        except HkojiError as error:
            return UnreadableLog(log.file, number, False, str(error))
    if rest:
        reason = tell("it does not end in LF: the file is cut short")
        return UnreadableLog(log.file, log.line + len(texts), False, reason)
    return _game(lines, log.file, log.line)


def _game(lines: list[Line], file: str, start: int) -> GameOrProblem:
    result = replay(lines)
    if result.stop is not None:
        return UnreadableLog(file, start + len(result.steps), True, str(result.stop))
    return record(result, format_ruleset(result.steps[-1].course.setup.ruleset), _seconds(lines))


def _seconds(lines: list[Line]) -> int | None:
    """Returns the time from the guest's joining to the last entry, by their receipts; None without receipts."""
    joined = next((line.receipt for line in lines if line.entry.kind == _PLAY_BEGINS), None)
    last = lines[-1].receipt
    if joined is None or last is None:
        return None
    first, final = (datetime.fromisoformat(each.receipt.at) for each in (joined, last))
    return max(0, int((final - first).total_seconds()))


_NAMED: Final = 1000
"""The number of problems that are listed; all are counted."""
_SHOWN: Final = 20
_BAR: Final = 30


class UncountedLogs(NamedTuple):
    """The logs that were not counted: how many, and the first ones by name."""

    unreadable: int
    broken: int
    named: tuple[UnreadableLog, ...]

    @property
    def total(self) -> int:
        """The number of these logs."""
        return self.unreadable + self.broken


def show_stats(sources: list[str], jobs: int, plot: str | None, *, force: bool) -> None:
    """Counts all logs and shows the result. Then raises `HkojiError` if some were not counted."""
    check_standard_input(sources, taken=out.keep)
    tally = GameTally()
    problems = _fold(tally, sources, jobs)
    if plot is not None:
        drawn = draw_charts(_n("{n} game", "{n} games", tally.games), tuple(_charts(tally)))
        write_result(plot, drawn.encode(), force=force)
    value: dict[str, Any] = {  # Any: JSON
        **tally.to_json(),
        "unreadable": problems.unreadable,
        "broken": problems.broken,
        "problems": [{**each._asdict(), "line": each.line or None} for each in problems.named],
        "verified": False,
    }
    out.result(value, lambda: "\n".join(_text(tally, problems, out.style)))
    out.say(tell("Signatures were not checked: `hkoji audit` checks them."))
    if problems.total:
        raise HkojiError(
            plural("{n} log was not counted", "{n} logs were not counted", problems.total),
            hint=tell("the result names them; see one with `hkoji replay FILE` or `hkoji audit FILE`"),
        )


def _fold(tally: GameTally, sources: list[str], jobs: int) -> UncountedLogs:
    named: list[UnreadableLog] = []
    counts = [0, 0]
    for found in read_games(sources, jobs):
        if not isinstance(found, UnreadableLog):
            tally.add(found)
            continue
        counts[found.read] += 1
        if len(named) < _NAMED:
            named.append(found)
    return UncountedLogs(counts[0], counts[1], tuple(named))


# --- for people ---------------------------------------------------------------------------------------------------


def _text(tally: GameTally, problems: UncountedLogs, style: TextStyle) -> Iterator[str]:
    yield style.paint(_n("{n} game", "{n} games", tally.games), "bold")
    if tally.repeated:
        yield _n("{n} more log of a game counted already", "{n} more logs of games counted already", tally.repeated)
    for name in sorted(tally.groups):
        yield ""
        yield from _group(tally.groups[name], style)
    if tally.players:
        yield ""
        yield from _players(tally, style)
    if problems.total:
        yield ""
        yield from _problems(problems, style)


def _group(group: Group, style: TextStyle) -> Iterator[str]:
    yield style.paint(group.name, "bold")
    running = group.games - group.finished
    yield _line(_("games"), _("{n}, of which {running} not over", n=group.games, running=running))
    yield from _bars(_("ended by"), _ends(group), style)
    if set(group.rounds) - {0}:
        yield from _bars(_("rounds"), _rounds(group), style)
    spreads = group.spreads()
    for what, each, time in ((_("decisions"), spreads["decisions"], False), (_("time"), spreads["seconds"], True)):
        if each and each.greatest:
            yield _line(what, _length(each, time=time))
    for what, share in _winners(group):
        yield _line(what, _rate(share))
    if group.scored:
        yield _line(
            _("hand-overs"),
            _(
                "{n:.2f} a round, of {decisions:.2f} decisions",
                n=group.hand_overs / group.scored,
                decisions=group.round_decisions / group.scored,
            ),
        )
    if group.orders:
        yield _line(_("orders"), _rate(group.order_share()))
    yield from _places(group, style)


def _ends(group: Group) -> list[tuple[str, Share]]:
    return [(reason, Share(n, group.finished)) for reason, n in group.reasons.most_common()]


def _rounds(group: Group) -> list[tuple[str, Share]]:
    return [(str(number), Share(group.rounds[number], group.finished)) for number in sorted(group.rounds)]


def _winners(group: Group) -> list[tuple[str, Share]]:
    shares = (
        (_("won by host"), group.seat_share(0)),
        (_("won by first"), group.first_share()),
        (_("rounds by first"), group.round_first_share()),
    )
    return [(label, share) for label, share in shares if share.total]


def _line(what: str, words: str) -> str:
    return f"  {what:17} {words}"


def _rate(share: Share) -> str:
    """`52.3 % of 300 (95 %: 46.7 to 57.9 %)`."""
    if share.rate is None or share.interval is None:
        return "-"
    low, high = share.interval
    return _(
        "{rate:.1f} % of {total}   (95 %: {low:.1f} to {high:.1f} %)",
        rate=100 * share.rate,
        total=share.total,
        low=100 * low,
        high=100 * high,
    )


def _length(each: Spread, *, time: bool) -> str:
    show = _time if time else str
    return _(
        "median {median}, {least} to {greatest}, mean {mean}",
        median=show(each.median),
        least=show(each.least),
        greatest=show(each.greatest),
        mean=_time(round(each.mean)) if time else f"{each.mean:.1f}",
    )


def _time(seconds: int) -> str:
    """`3 d 4 h`: the two largest units."""
    units = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))
    parts: list[str] = []
    rest = seconds
    for size, unit in units:
        number, rest = divmod(rest, size)
        if number or parts:
            parts.append(f"{number} {unit}")
    return " ".join(parts[:2]) or "0 s"


def _bars(what: str, shares: Iterable[tuple[str, Share]], style: TextStyle) -> Iterator[str]:
    for number, (label, share) in enumerate(shares):
        if share.rate is None:
            continue
        bar = "" if style.plain else "█" * round(_BAR * share.rate) or "▏"
        yield f"  {what if number == 0 or style.plain else '':17} {label:10} {100 * share.rate:5.1f} %  {bar}".rstrip()


def _places(group: Group, style: TextStyle) -> Iterator[str]:
    """Yields how often each action is taken at each place, and how often that player has won."""
    if not group.kinds():
        return
    names = RULESETS[group.name.partition("/")[0]].action_names
    titles = _titles(group)
    if style.plain:
        for kind in group.kinds():
            for place, title in enumerate(titles):
                taken, won = group.place(kind, place), group.wins(kind, place)
                yield _(
                    "{action} taken {place}: {taken}; that player won: {won}.",
                    action=names.get(kind, kind),
                    place=title,
                    taken=_percent(taken),
                    won=_percent(won),
                )
        return
    yield ""
    yield style.paint(_line(_("action"), "".join(f"{title:>15}" for title in titles)), "dim")
    for kind in group.kinds():
        cells = (
            f"{_percent(group.place(kind, place)):>8} {_percent(group.wins(kind, place)):>6}"
            for place in range(group.most_places())
        )
        yield _line(f"{kind} {names.get(kind, '')}", "".join(cells))
    yield _line("", _("each: how often it was taken then, and how often that player won the game"))


def _titles(group: Group) -> list[str]:
    """Returns the places of actions in a round, the first four in words."""
    words = (_("1st"), _("2nd"), _("3rd"), _("4th"))
    return [words[place] if place < len(words) else str(place + 1) for place in range(group.most_places())]


def _percent(share: Share) -> str:
    return "-" if share.rate is None else f"{100 * share.rate:.0f} %"


def _players(tally: GameTally, style: TextStyle) -> Iterator[str]:
    ranking = tally.ranking()
    rows = [(_("player"), _("games"), _("won"), _("lost"), _("drawn"), _("share of wins"))]
    for name, each in ranking[:_SHOWN]:
        share = _rate(each.share()) if each.share().total else "-"
        rows.append((name, str(each.games), str(each.won), str(each.lost), str(each.drawn), share))
    width = max(len(row[0]) for row in rows)
    for number, (name, *numbers, share) in enumerate(rows):
        line = f"{name:{width}}{''.join(f'{each:>8}' for each in numbers)}   {share}"
        yield style.paint(line, "dim") if number == 0 else line
    if len(ranking) > _SHOWN:
        yield _("… and {n} more: see --json", n=len(ranking) - _SHOWN)


def _problems(problems: UncountedLogs, style: TextStyle) -> Iterator[str]:
    yield style.paint(
        _(
            "Not counted: {unreadable} that could not be read, {broken} that do not hold",
            unreadable=problems.unreadable,
            broken=problems.broken,
        ),
        "bold",
    )
    for each in problems.named[:_SHOWN]:
        yield f"  {printable(each.file)}{f':{each.line}' if each.line else ''}: {translate(each.reason)}"
    if problems.total > _SHOWN:
        yield _("… and {n} more: see --json", n=problems.total - _SHOWN)


# --- as charts ----------------------------------------------------------------------------------------------------


def _charts(tally: GameTally) -> Iterator[Chart]:
    for name in sorted(tally.groups):
        group = tally.groups[name]
        ends = tuple(_bar(label, each) for label, each in _ends(group))
        yield Chart(_("{ruleset}: how it ended", ruleset=name), ends)
        yield Chart(_("Winners"), tuple(_bar(label, each) for label, each in _winners(group)), half=True)
        yield Chart(_("Rounds"), tuple(_bar(label, each) for label, each in _rounds(group)))
        names = RULESETS[name.partition("/")[0]].action_names
        for place, title in enumerate(_titles(group)):
            yield Chart(
                _("Actions taken {place}, and how often that player won", place=title),
                tuple(
                    _bar(
                        f"{kind} {names.get(kind, '')}",
                        group.place(kind, place),
                        _("won {rate}", rate=_percent(group.wins(kind, place))),
                    )
                    for kind in group.kinds()
                ),
            )


def _bar(label: str, share: Share, remark: str = "") -> Bar:
    shown = f"{100 * (share.rate or 0):.1f} %"
    more = remark or _("of {n}", n=share.total)
    return Bar(label, share.rate or 0.0, f"{shown} · {more}", share.interval)
