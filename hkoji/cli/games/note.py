"""`hkoji note`: what a player writes down about a game, for nobody else."""

from __future__ import annotations

from collections.abc import Sequence

from hkoji.cli.input import read_words
from hkoji.cli.language import _
from hkoji.cli.output import CommandOutput
from hkoji.client import Client
from hkoji.client.kept.game import MAX_NOTE_BYTES, GameNote
from hkoji.errors import UsageError
from hkoji.messages.text import printable, tell


def note(
    client: Client,
    out: CommandOutput,
    game: str,
    words: Sequence[str] | None,
    *,
    replace: bool = False,
    delete: bool = False,
) -> None:
    """Shows the note about a game, adds to it, replaces or deletes it. Asks no service.

    `-` stands for standard input.
    """
    if delete and (words or replace):
        raise UsageError(tell("--delete takes no text"), hint=tell("nothing was changed"))
    if replace and not words:
        raise UsageError(tell("--replace needs a text"), hint=tell("nothing was changed; to remove it: --delete"))
    game = client.find(game, offline=True)
    client.kept(game)  # raises for a game that was never seen: a note makes no folder
    with client.game(game) as held:
        kept = GameNote(held.vault)
        if delete:
            kept.delete()
            text = None
        elif words:
            typed = read_words(out, words, MAX_NOTE_BYTES, tell("note"), hint=tell("nothing was changed"))
            text = kept.replace(typed) if replace else kept.add(typed)
        else:
            text = kept.text()

    def shown() -> str:
        if text is not None:
            return "\n".join(note_lines(text))
        if delete:
            return _("There is no note about game {game} any more.", game=game[:8])
        return _("There is no note about game {game}.", game=game[:8])

    out.result(lambda: {"game": game, "note": text}, shown)


def note_lines(text: str) -> list[str]:
    """Returns a note in lines that can be shown."""
    return [printable(line, "\t") for line in text.split("\n")]
