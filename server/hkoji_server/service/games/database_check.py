"""The check of a complete database: each game by the public audit, and the data that is stored beside the logs.

For a game it checks the log (chain, keys, signatures, receipts by this service's key, openings, deal, rules, result),
that the summary agrees with the log, and that the seed and the openings of all commitments exist and fit, and the
deposits that a sealed game names. For a player it checks that their key has signed its statement. It holds one game in
memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from hkoji import referee
from hkoji.audit.log_audit import audit
from hkoji.errors import HkojiError
from hkoji.game import entry_kinds
from hkoji.game.entry_kinds import parse_body
from hkoji.log import sshsig
from hkoji.log.canonical import decode_base64
from hkoji.log.line import Line, StoredLine, format_log
from hkoji.log.public_key import PublicKey, parse_public_key
from hkoji.log.statement import parse_new_key, parse_recovery, parse_registration
from hkoji.messages.text import plural, tell
from hkoji_server.service.games.loaded_games import hold, summarise
from hkoji_server.store.game_values import GameSummary
from hkoji_server.store.maintenance import Maintenance, StoredGame
from hkoji_server.store.player_tables import Player
from hkoji_server.store.statements import summary_values

MOST_FAULTS: Final = 1000
_STATEMENTS: Final = (
    (parse_registration, sshsig.REGISTER),
    (parse_new_key, sshsig.NEW_KEY),
    (parse_recovery, sshsig.RECOVER),
)


@dataclass(frozen=True, slots=True)
class DatabaseFault:
    """A fault: `kind` is game, player or database; `name` says which."""

    kind: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class CheckTally:
    """How much was checked, and the first of the `count` faults."""

    games: int = 0
    entries: int = 0
    players: int = 0
    count: int = 0
    faults: tuple[DatabaseFault, ...] = ()

    def __add__(self, other: CheckTally) -> CheckTally:
        return CheckTally(
            self.games + other.games,
            self.entries + other.entries,
            self.players + other.players,
            self.count + other.count,
            (*self.faults, *other.faults)[:MOST_FAULTS],
        )


def check_games(database: Maintenance, key: PublicKey, low: str = "", high: str = "g") -> CheckTally:
    """Checks the games from id `low` to before `high`; `key` is the service's."""
    games = entries = count = 0
    faults: list[DatabaseFault] = []
    for game in database.games(low, high):
        stored = database.game(game)
        if stored is None:
            continue
        games += 1
        entries += len(stored.rows)
        for reason in islice(faults_of(stored, key), 20):
            count += 1
            if len(faults) < MOST_FAULTS:
                faults.append(DatabaseFault("game", game, reason))
    return CheckTally(games, entries, 0, count, tuple(faults))


def check_players(database: Maintenance) -> CheckTally:
    """Checks the players' statements, and runs the database's own check."""
    faults = [DatabaseFault("database", "", line) for line in database.damage()]
    if strays := database.strays():
        faults.append(
            DatabaseFault("database", "", plural("{n} row belongs to no game", "{n} rows belong to no game", strays))
        )
    if codes := database.codes_of_nobody():
        wrong = plural(
            "{n} code belongs to no player or allows nothing", "{n} codes belong to no player or allow nothing", codes
        )
        faults.append(DatabaseFault("database", "", wrong))
    players = 0
    for player in database.players():
        players += 1
        reason = _fault_of(player)
        if reason:
            faults.append(DatabaseFault("player", player.name, reason))
    return CheckTally(players=players, count=len(faults), faults=tuple(faults[:MOST_FAULTS]))


def faults_of(stored: StoredGame, key: PublicKey) -> Iterator[str]:
    """Yields the faults of a game. After a fault that makes further checks meaningless it stops."""
    game = stored.summary.game
    lines: list[Line] = []
    for seq, *row in stored.rows:
        try:
            line = StoredLine._make(row).read()
        except (HkojiError, TypeError, ValueError) as error:
            yield tell("entry {seq} cannot be read: {reason}", seq=seq, reason=str(error))
            return
        if (line.entry.game, line.entry.seq) != (game, seq):
            yield tell("the row of entry {seq} contains another entry", seq=seq)
            return
        lines.append(line)
    if not lines:
        yield tell("the game has no entries")
        return
    found = audit(format_log(lines), {"server": key})
    for finding in found.findings:
        place = "" if finding.entry is None else tell("entry {entry}: ", entry=finding.entry)
        yield tell("step {step}, {place}{reason}", step=int(finding.step), place=place, reason=finding.reason)
    if found.findings:
        return
    if stored.secrets is None:
        yield tell("the seed is missing")
        return
    yield from _openings(stored, lines)
    try:
        secrets = stored.secrets
        refereed = referee.resume(lines, secrets.seed, secrets.openings, secrets.deposits)
    except HkojiError as error:
        yield tell("log, seed and openings do not make a game: {reason}", reason=str(error))
        return
    yield from _deposits(refereed)
    expected = summarise(refereed, created=stored.summary.created)
    summary, course, first = stored.summary, refereed.course, lines[0].receipt
    wrong = [
        name for name in GameSummary._fields if name != "deadline" and getattr(expected, name) != getattr(summary, name)
    ]
    if not _is_deadline(stored, refereed):
        wrong.append("deadline")
    if course.actor is not None and summary.deadline is not None and stored.way is not course.setup.way(course.actor):
        wrong.append("way")
    if summary_values(expected)["ended"] != stored.ended:
        wrong.append("ended")
    if first is None or summary.created != first.receipt.at:
        wrong.append("created")
    for name in wrong:
        yield tell("the summary's {field} does not agree with the log", field=name)


def _is_deadline(stored: StoredGame, refereed: referee.RefereedGame) -> bool:
    """Returns whether the stored deadline is right, or too early because of outages that were recorded later."""
    held, deadline = hold(refereed, None, stored.statements), stored.summary.deadline
    earliest, latest = held.due(()), held.due(stored.outages)
    if earliest is None or latest is None or deadline is None:
        return earliest is latest is deadline
    return earliest <= deadline <= latest


def _openings(stored: StoredGame, lines: list[Line]) -> Iterator[str]:
    """Checks that the seed and one opening for each commitment exist and fit, and that there are no others."""
    assert stored.secrets is not None
    game = stored.summary.game
    offer = parse_body(lines[0].entry.kind, lines[0].entry.body)
    if isinstance(offer, entry_kinds.Offer) and not offer.terms.fits(game, stored.secrets.seed):
        yield tell("the seed is not the one committed to")
    held = {(opening.seq, opening.part): opening for opening in stored.secrets.openings}
    for line in lines:
        body = parse_body(line.entry.kind, line.entry.body)
        for part, commit in enumerate(body.commit if isinstance(body, entry_kinds.Move) else ()):
            opening = held.pop((line.entry.seq, part), None)
            if opening is None:
                yield tell("opening {part} of entry {seq} is missing", part=part, seq=line.entry.seq)
            elif opening.commitment(game) != commit:
                yield tell("opening {part} of entry {seq} does not fit its commitment", part=part, seq=line.entry.seq)
    for seq, part in held:
        yield tell("opening {part} of entry {seq} belongs to no commitment", part=part, seq=seq)


def _deposits(refereed: referee.RefereedGame) -> Iterator[str]:
    """Checks that exactly those deposits exist that the log names, and that have not been given. An end needs none."""
    course = refereed.course
    named = course.sealed.deposits if course.sealed is not None and course.outcome is None else ()
    kept = {(each.round, each.at[0]): each.digest for each in refereed.deposits}
    for number, position, digest in named:
        found = kept.pop((number, position), None)
        if found is None:
            yield tell("the deposit of position {at} in round {round} is missing", at=position, round=number)
        elif found != digest:
            yield tell("the deposit of position {at} in round {round} is another one", at=position, round=number)
    for number, position in kept:
        yield tell("the deposit of position {at} in round {round} is not needed", at=position, round=number)


def _fault_of(player: Player) -> str | None:
    """Returns what is wrong with a player's statement. A registration and a recovery may have the same text."""
    reason = None
    for parse, namespace in _STATEMENTS:
        try:
            statement = parse(player.text)
        except HkojiError:
            continue
        try:
            key = parse_public_key(player.key)
            if statement.name != player.name or statement.key != key:
                return tell("the statement is about another name or key")
            sshsig.verify(decode_base64(player.sig, "signature"), key, namespace, statement.message, player.name)
        except HkojiError as error:
            reason = reason or str(error)
        else:
            return None
    return reason or tell("the statement cannot be read")
