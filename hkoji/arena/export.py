"""A match as files that anyone can check: a signed log of every game, the keys, and a summary.

    arena.json     bots, ruleset, seed, and each game with its file, head and result
    keys.txt       a line for each signer, in the format of `ssh-keygen -Y verify -f`
    0001-a.jsonl   the first deal with the first bot as host; 0001-b.jsonl: with the seats exchanged

The same match gives the same bytes: the files hold no clock times and no durations.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

from hkoji.arena.figures import MatchTally
from hkoji.arena.match import MatchGame, PlayedGame
from hkoji.arena.plan import MatchPlan, seated
from hkoji.arena.referees import bot_key, service_key
from hkoji.errors import StorageError
from hkoji.log.entry import SERVER_NAME
from hkoji.log.line import parse_log
from hkoji.messages.text import tell

VERSION: Final = 1


class Export:
    """The folder into which a match is written while it is played.

    Raises `StorageError` if the folder cannot be written or is not empty.
    """

    def __init__(self, plan: MatchPlan, folder: Path) -> None:
        self._plan = plan
        self._folder = folder
        self._digits = max(4, len(str(plan.deals)))
        self._facts: dict[tuple[int, str], dict[str, Any]] = {}  # Any: JSON
        self._keys = {
            SERVER_NAME: service_key(plan).public.text,
            **{label: bot_key(plan, bot).public.text for bot, label in enumerate(plan.labels)},
        }
        try:
            folder.mkdir(parents=True, exist_ok=True)
            taken = any(folder.iterdir())
        except OSError as error:
            raise _failed(folder, error) from error
        if taken:
            raise StorageError(
                tell("{folder} is not empty", folder=folder), hint=tell("an export needs a new folder, or an empty one")
            )
        self._write("keys.txt", "".join(f"{name} {key}\n" for name, key in self._keys.items()))

    def add(self, played: PlayedGame) -> None:
        """Writes the logs of a deal."""
        for game, text in zip(played.games, played.logs, strict=True):
            name = f"{game.deal:0{self._digits}}-{game.table}.jsonl"
            self._facts[game.deal, game.table] = self._describe(game, name, text)
            self._write(name, text)

    def finish(self, tally: MatchTally) -> None:
        """Writes the manifest of the match, or of as much as was played.

        Removes the files of a deal that is not in `tally`: an interrupt can leave some.
        """
        plan, games = self._plan, tally.games
        for place in set(self._facts) - {(game.deal, game.table) for game in games}:
            self._remove(self._facts.pop(place)["file"])
        manifest: dict[str, Any] = {  # Any: JSON
            "v": VERSION,
            "bots": [{"bot": bot, "name": name} for bot, name in zip(plan.bots, plan.labels, strict=True)],
            "ruleset": plan.ruleset.to_json(),
            "seed": plan.seed,
            "keys": self._keys,
            "deals": plan.deals,
            "complete": len(games) == plan.games,
            "games": [self._facts[place] for place in sorted(self._facts)],
        }
        if games:
            figures = tally.figures()
            manifest["result"] = {
                "games": figures.games,
                "shared": figures.shared,
                "wins": [side.wins for side in figures.sides],
            }
        self._write("arena.json", json.dumps(manifest, indent=1, sort_keys=True) + "\n")

    def _describe(self, game: MatchGame, name: str, text: str) -> dict[str, Any]:  # Any: JSON
        plan = self._plan
        last = parse_log(text.splitlines(keepends=True)[-1])[0].entry
        host, guest = (plan.labels[seated(game.table, seat)] for seat in (0, 1))
        return {
            "deal": game.deal,
            "deal_id": plan.deal(game.deal)[0].deal,
            "file": name,
            "game": last.game,
            "head": last.head,
            "host": host,
            "guest": guest,
            "reason": game.reason,
            "winner": None if game.winner is None else plan.labels[game.winner],
        }

    def _write(self, name: str, text: str) -> None:
        """Writes a file completely or not at all: a reader never sees half of it."""
        path, draft = self._folder / name, self._folder / f"{name}.part"
        try:
            draft.write_text(text, encoding="ascii", newline="\n")
            os.replace(draft, path)
        except OSError as error:
            raise _failed(path, error) from error

    def _remove(self, name: str) -> None:
        for path in (self._folder / name, self._folder / f"{name}.part"):
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise _failed(path, error) from error


def _failed(path: Path, error: OSError) -> StorageError:
    return StorageError(
        tell("cannot write {path}: {reason}", path=path, reason=error.strerror or str(error)),
        hint=tell("give another folder with --export"),
    )
