"""Builds tests/data/playthroughs/: games as each viewer sees them, position by position or as transcripts.

    python -m scripts.build.playthroughs           write the files
    python -m scripts.build.playthroughs --check   fail if the files differ

The engine writes them. They are meant to be read, and to show the effects of a change to the engine; they do not prove
that the engine is right, which is the task of the naive referee and the laws in tests/rules.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from hkoji.errors import UnknownHandError
from hkoji.rules.events import SEATS, Event, Seat, project
from hkoji.rules.protocol import DECISION_DUE, State
from hkoji.rules.transcript import Transcript, format_event, format_transcript, parse_transcript
from scripts.build.golden import main

FOLDER: Final = Path(__file__).parents[2] / "tests" / "data" / "playthroughs"
OBSERVERS: Final[dict[str, Seat | None]] = {"host": 0, "guest": 1, "spectator": None}

GEISHA: Final = """\
[Ruleset "hanamikoji/1 first=host max_rounds=0 tiebreak=geisha"]

1. =DDFFGG/ABDFGG/FCECEGBA/E +F 3DDF-F +C 4BCFG-FG +E 4EFGG-EF +C 1A +E 1F +G 2CG +B 2BE +A 3ADG-G ?F/A
#1 geisha
"""
LIMIT: Final = """\
[Ruleset "hanamikoji/1 first=random max_rounds=3 tiebreak=charm"]
[Host "alice"]
[Guest "bob"]

1. *0 =AABCGG/BDEEFF/FGGDCFDE/G +F 4AGFG-FG +G 1B +G 2CG +D 2DE +C 1B +F 3DFF-F +D 3ACD-A +E 4EFEG-EG ?B/B
2. =DEFGGG/AACDEF/FGGDBBFE/C +F 3CDF-C +G 3DGG-G +G 4AFAG-AG +D 4DFEG-EG +B 1B +B 2BG +F 2EF +E 1E ?E/B
3. =CDEFFG/ABCEGG/DGEAGBFD/F +D 3EFG-F +G 2BC +E 2DE +A 1A +G 4CFDG-DG +B 3GGG-G +F 1F +D 4ABDE-AB ?F/A
#1 limit
"""
RESIGNED: Final = """\
[Ruleset "hanamikoji/1 first=guest max_rounds=0 tiebreak=geisha"]

1. =AACDFG/BDEEFG/CGDFBGEF/G +C 2BC +G 1D +D 4DEFG
#1 resign
"""

ORDERED: Final = """\
[Ruleset "geishas-road/1 first=host markers=choose"]

1. =D1B1C1B4A1D2/A2B3A4E3E4D4/C3D3E1C2E2C4B2A3 !A !B +C3 IA1B4 +D3 RB3 +E1 GC1C3D2-C1 +C2 GD3D4E3-D4 +E2 RD1 +C4 \
IC4A4 +B2 CB1B2E1E2-B2B1>E1E2 +A3 CA2C2A3E4-A3E4 ?A1/C4
2. =B2A3C4A1B1E2/E4E1A4B3D1B4/C1C3D2E3D4D3A2C2 ^1 +C1
#0 resign
"""
DRAWN: Final = """\
[Ruleset "geishas-road/1 first=random markers=random"]
[Host "alice"]
[Guest "bob"]

1. *1AD =D2C2A1E4E3D3/E2D1A4B1C3C4/B4E1B2D4B3A3C1A2 +B4 ID1B1 +E1 IA1E3 +B2 GB2B4C4-B2 +D4 CC2E4D3D4-C2E4 +B3 \
CA4E2B3C3-A4E2 +A3 GA3D2E1-E1 +C1 RC1 +A2 RA2 ?A1/D1
2. =A1B4C4E1E2A2/C3D1A3D2C1C2/B2D3A4E3B3D4E4B1 ^0 +B2 RA2 +D3 ID1A3 +A4 IC4A1 +E3 RE3 +B3 CA4B3B4E2-B4E2 +D4 \
CC1C3C2D2-C2D2>C1C3 +E4 GB2E1E4-B2 +B1 GB1D3D4-B1>D3D4 ?C4/D1
3. =E1B2D1E2C4B4/A3D4C2B1A2E3/D2E4B3A1D3C3A4C1 ^1 +D2 CA3C2B1D4-B1D4 +E4 IB4C4 +B3 GA2D2E3-A2 +A1 CB2E2D1E1-D1E1 \
+D3 ID3B3 +C3 RA1 +A4 RA4 +C1 GC1C3E4-E4>C3C1 ?B4/D3
#1 rounds
"""


def step(event: Event | None, state: State, number: int) -> Iterator[str]:
    """One position: what happened, what is due, and the position as each viewer knows it."""
    yield f"== {number}"
    ruleset = state.ruleset
    if event is not None:
        shown = {name: format_event(project(event, seat, ruleset.public)) for name, seat in OBSERVERS.items()}
        full = format_event(event)
        others = "; ".join(f"{name} sees {text}" for name, text in shown.items() if text != full)
        yield f"event      {full}{f'   ({others})' if others else ''}"
    yield f"due        {state.due.value}{'' if state.actor is None else f', seat {state.actor}'}"
    if state.due in DECISION_DUE:
        yield f"legal      {' '.join(state.legal_actions())}"
        yield f"shape      {' '.join(state.shape())}"
        yield f"known to   {', '.join(name for name, seat in OBSERVERS.items() if knows(state.project(seat)))}"
    yield f"referee    {plain(state)}"
    for seat in SEATS:
        yield f"{tuple(OBSERVERS)[seat]:11}{plain(state.project(seat))}"
    yield ""


def knows(view: State) -> bool:
    """Whether the legal actions are known to this viewer."""
    try:
        view.legal_actions()
    except UnknownHandError:
        return False
    return True


def plain(state: State) -> str:
    """A position's JSON on a line, without the options, which never change."""
    return json.dumps({key: value for key, value in state.to_json().items() if key != "ruleset"}, separators=(",", ":"))


def positions(text: str) -> str:
    """A game, position by position."""
    transcript = parse_transcript(text)
    assert format_transcript(transcript) == text
    lines = [
        "# Every position of a game: the event, what is due, the legal actions and who knows them, and the position",
        "# (without its ruleset) as referee, host and guest know it. Built by scripts/build/playthroughs.py.",
        *(f"# {line}".rstrip() for line in text.splitlines()),
        "",
    ]
    events: list[Event | None] = [None, *transcript.events]
    for number, (event, state) in enumerate(zip(events, transcript.states(), strict=True)):
        lines.extend(step(event, state, number))
    return "\n".join(lines)


def transcripts(text: str) -> str:
    """A game's transcript, for each viewer."""
    game = parse_transcript(text)
    assert format_transcript(game) == text
    parts = ["# One game as everybody sees it. Built by scripts/build/playthroughs.py.\n\n# The referee\n", text]
    for name, seat in OBSERVERS.items():
        events = tuple(project(event, seat, game.ruleset.public) for event in game.events)
        parts.append(f"\n# The {name}\n{format_transcript(Transcript(game.ruleset, game.tags, events))}")
    return "".join(parts)


def build() -> dict[str, str]:
    """Name and contents of every file."""
    return {
        "hanamikoji-positions.txt": positions(GEISHA),
        "hanamikoji-round-limit.txt": transcripts(LIMIT),
        "hanamikoji-resigned.txt": transcripts(RESIGNED),
        "geishas-road-positions.txt": positions(ORDERED),
        "geishas-road-drawn.txt": transcripts(DRAWN),
    }


if __name__ == "__main__":
    main("playthroughs", FOLDER, build)
