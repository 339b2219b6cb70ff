"""Runs a program and counts the files of the product that it enters, and how often it changes from one to another.

    python -m scripts.rooms.trace FILE WORD...

runs `hkoji WORD...` and writes the counts to FILE as JSON. Calls while a module is imported are left out, so the counts
do not depend on what has been imported before. `Tracer` counts within this process.
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
_PRODUCT: Final = (f"{ROOT}/hkoji/", f"{ROOT}/server/hkoji_server/")


class _Place(threading.local):
    """Where a thread is: how many imports it is inside of, and the file whose function it has entered last."""

    importing = 0
    file = ""


class Tracer:
    """Counts while it is entered, in this thread and in all that begin meanwhile."""

    def __init__(self) -> None:
        self.files: Final[set[str]] = set()
        self.changes = 0
        self._place: Final = _Place()

    def __enter__(self) -> Tracer:
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(_PRODUCT):
            return
        place = self._place
        if code.co_name == "<module>":
            place.importing += 1 if event == "call" else -1
        elif event == "call" and not place.importing:
            self.files.add(code.co_filename.removeprefix(f"{ROOT}/"))
            if code.co_filename != place.file:
                self.changes += 1
                place.file = code.co_filename

    def begin_again(self) -> None:
        """Forgets what was counted. The threads that are counted stay the same."""
        self.files.clear()
        self.changes = 0

    def figures(self) -> dict[str, Any]:  # Any: JSON
        """The counts, and the files by name."""
        return {"files": len(self.files), "changes": self.changes, "entered": sorted(self.files)}


def main(target: Path) -> None:
    """Runs `hkoji` with the words that are left, and writes the counts to `target`."""
    from hkoji.__main__ import main as run

    tracer = Tracer()
    try:
        with tracer:
            run()
    finally:
        target.write_text(json.dumps(tracer.figures()), encoding="utf-8")


if __name__ == "__main__":
    _target = Path(sys.argv.pop(1))
    main(_target)
