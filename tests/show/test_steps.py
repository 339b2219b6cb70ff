"""Each kind of entry in words that people understand without the format of the log."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from hkoji.game.entry_kinds import KINDS
from hkoji.game.replay import public_knowledge, replay
from hkoji.log.line import parse_log
from hkoji.manual.catalogues import load_speaker
from hkoji.messages.text import LANGUAGES
from hkoji.show.steps import step_text

GAMES: Final = sorted((Path(__file__).parents[1] / "data" / "vectors" / "games").glob("*.jsonl"))


def test_no_entry_of_any_kind_is_told_by_the_name_of_its_kind() -> None:
    told: dict[str, set[str]] = {}
    for game in GAMES:
        lines = parse_log(game.read_bytes())
        for step in replay(lines, public_knowledge(lines)).steps:
            for language in LANGUAGES:
                told.setdefault(step.entry.kind, set()).add(step_text(step, load_speaker(language)))
    assert told.keys() | {"cancel"} == KINDS.keys()
    assert not [text for kind in told for text in told[kind] if text.startswith((f"{kind} by ", f"{kind} di "))]
    assert {"alice takes part in the shuffle", "alice partecipa alla mescolata"} <= told["seed"]
