"""Compares what letters tell a viewer in two worlds, as bytes: it must be the same, but for hashes.

The position is read as for a player whose client is the service, from the world's own database. The viewer need not
play by mail: every kind of letter is written for every player at every moment. The stranger gets letters too, for the
service reads a game for whoever is invited to it.
"""

from __future__ import annotations

import re
from typing import Final

from hkoji_server.service.games.loaded_games import LoadedGames
from hkoji_server.service.mail.seat_games import SeatGames
from hkoji_server.service.time.service_time import ClockAndEntropy, ServiceTime

from hkoji.game.course import Stage
from hkoji.log.line import format_log
from hkoji.mail.letters import Letter, compose, write_letter
from hkoji.mail.letters.game_words import SeatFacts
from hkoji.manual.catalogues import load_speaker
from hkoji.messages.text import LANGUAGES
from tests.lab.leaks.comparison import Leak, Scene
from tests.lab.leaks.telling import Telling
from tests.lab.leaks.worlds import TRUTH, World
from tests.support.letters import headers_of, letters_of_game, letters_of_invited

_HEAD: Final = re.compile(r"[0-9a-f]{4}…[0-9a-f]{4}")
_NEVER: Final = 10**9
_SPEAKERS: Final = {lang: load_speaker(lang) for lang in LANGUAGES}


async def look(scene: Scene, viewer: str) -> list[Leak]:
    """Writes every kind of letter for a viewer in both worlds and compares them."""
    lang, cards = scene.chance.choice(sorted(LANGUAGES)), scene.chance.random() < 0.8
    one, two = [await _letters(scene.tellings[name], viewer, lang, cards=cards) for name in (TRUTH, viewer)]
    leaks = []
    if one.keys() != two.keys():
        leaks.append(Leak("letters", f"{viewer}, {scene.place}: {sorted(one.keys() ^ two.keys())}"))
    for kind in one.keys() & two.keys():
        scene.tally.answers += 1
        scene.tally.kinds[f"letter {kind}"] += 1
        if one[kind] != two[kind]:
            leaks.append(Leak(f"letter {kind}", f"{viewer}, {scene.place}: {one[kind]!r} against {two[kind]!r}"))
    return leaks


async def _letters(telling: Telling, viewer: str, lang: str, *, cards: bool) -> dict[str, bytes]:
    world = telling.world
    name = dict(zip(("host", "guest", "outside"), telling.people, strict=True))[viewer].name
    time = ServiceTime(world.store, ClockAndEntropy(world.clock, world.draws), outage_after=_NEVER)
    game = await SeatGames(world.store, LoadedGames(world.store, 1), time).read(telling.game, name)
    facts = SeatFacts(game.position, game.clock, telling.now(), cards=cards)
    if game.seat is None:
        found = [] if game.course.stage is Stage.OPEN else [*letters_of_invited(facts)]
    else:
        found = [*letters_of_game(facts, format_log(game.lines).encode())]
    say = _SPEAKERS[lang]
    return {kind: _sent(world, kind, write_letter(each, say), telling.now()) for kind, each in found}


def _sent(world: World, kind: str, letter: Letter, at: str) -> bytes:
    """The message that is sent, without the hashes of entries: each is over hidden cards of its world."""
    logs = b"".join(world.named(file.content) for file in letter.attachments)
    plain = letter._replace(text=_HEAD.sub("#", letter.text), attachments=())
    return compose(plain, headers_of(kind, at)) + logs
