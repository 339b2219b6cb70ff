"""The mail process is killed again and again while players play: no mail is lost, and none counts twice."""

from __future__ import annotations

import random
import time
from collections import Counter
from typing import Final, NamedTuple

from tests.lab.mail.kept import kept_rows, lost_or_doubled, unsent
from tests.lab.mail.mail_world import MailWorld
from tests.lab.mail.play import Correspondent, GameByMail, Transcript, WantedGame, faults_of
from tests.lab.mail.real_post_office import RealPostOffice
from tests.support.mail.post_office import Letter, letters

PAIRS: Final = 6
_PAUSE: Final = 0.05
_AT_LEAST: Final = 0.05
_AT_MOST: Final = 1.5
"""How long a mail process lives once its door is open, in seconds."""
LEASE: Final = 6
"""How long the letters wait that a killed process had in hand, in seconds. With the real lease, most of the time of
a run would be spent in waiting for it, and few kills would meet a process at work."""
_LAST: Final = 6
"""How many of the last mails and letters of a stuck game are told."""
_PATIENCE: Final = LEASE + 60.0


class KillResult(NamedTuple):
    """How it went."""

    counts: Counter[str]
    wrong: list[str]


def run_kills(world: MailWorld, office: RealPostOffice, kills: int, seed: int = 1) -> KillResult:
    """Kills the mail process so often while pairs of players play, and judges what has come of their mails."""
    rng, said = random.Random(seed), Transcript(printed=False)
    counts: Counter[str] = Counter()
    world.start_mail()
    games = [_game(world, office, said, number, rng) for number in range(PAIRS)]
    for game in games:
        game.begin()
    over: list[GameByMail] = []
    dies = _next(rng)
    while counts["kills"] < kills:
        _step(games, over)
        if time.monotonic() > dies:
            world.kill_mail()
            counts["kills"] += 1
            world.start_mail()
            dies = _next(rng)
        if not games:
            games = [_game(world, office, said, len(over) + number, rng) for number in range(PAIRS)]
            for game in games:
                game.begin()
        time.sleep(_PAUSE)
    end = time.monotonic() + _PATIENCE
    while games and time.monotonic() < end:
        if _step(games, over):
            end = time.monotonic() + _PATIENCE
        time.sleep(_PAUSE)
    office.wait_until_empty()
    while any(row.state == "new" for row in kept_rows(world.data)) and time.monotonic() < end:
        time.sleep(_PAUSE)
    people = [each for game in (*over, *games) for each in game.by_mail.values()]
    wrong = [_stuck(world, game) for game in games]
    for game in over:
        wrong += [f"{game.done.game}: {each}" for each in faults_of(game.done.lines, game.done.grades)]
        counts["entries"] += len(game.done.lines)
    sent = [Letter(raw).id for each in people for raw in each.player.sent]
    wrong += lost_or_doubled(world.data, sent) + said.wrong + _letters(people, counts)
    counts.update(games=len(over), mails=len(sent), letters=said.letters)
    return KillResult(counts, wrong)


def _stuck(world: MailWorld, game: GameByMail) -> str:
    name = game.done.game
    rows = kept_rows(world.data)
    last = {
        player: {
            "program": each.player.program.__name__,
            "written": each.reader.asked[-_LAST:],
            "what became of it": [row.result for row in rows if row.name == player][-_LAST:],
            "read": _read_last(each),
        }
        for player, each in game.by_mail.items()
    }
    due = unsent(world.data, name)
    return f"game {name} got stuck at entry {len(game.done.lines) - 1}; unsent: {due}; players: {last}"


def _read_last(each: Correspondent) -> list[str]:
    return [f"{letter.id} {letter.text[:200]}" for letter in letters(each.player.mailbox)[-_LAST:]]


def _next(rng: random.Random) -> float:
    return time.monotonic() + rng.uniform(_AT_LEAST, _AT_MOST)


def _game(world: MailWorld, office: RealPostOffice, said: Transcript, number: int, rng: random.Random) -> GameByMail:
    wanted = WantedGame(("hanamikoji", "geishas-road")[number % 2], ("en", "it")[number // 2 % 2], ("mail", "mail"))
    names = (f"host{number}", f"guest{number}")
    return GameByMail(world, office, wanted._replace(seed=rng.randrange(10**6)), said, names)


def _step(games: list[GameByMail], over: list[GameByMail]) -> bool:
    happened = False
    for game in list(games):
        if game.step():
            happened = True
            if game.over:
                games.remove(game)
                over.append(game)
    return happened


def _letters(people: list[Correspondent], counts: Counter[str]) -> list[str]:
    """Letters that came twice have the same text; two different ones never have one Message-ID."""
    wrong = []
    for each in people:
        first: dict[str, str] = {}
        for letter in letters(each.player.mailbox):
            if letter.id in first:
                counts["letters that came again"] += 1
                if letter.subject != first[letter.id]:
                    wrong.append(f"two letters have the id {letter.id}")
            first.setdefault(letter.id, letter.subject)
    return wrong
