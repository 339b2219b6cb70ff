"""`hkoji log`, `export` and `evidence`: prints the log of a game, for others or to keep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hkoji.cli.files import write_result
from hkoji.cli.games.told import ask_or_keep
from hkoji.cli.language import translate
from hkoji.cli.output import client, out
from hkoji.errors import IllegalError
from hkoji.log.line import Line, format_log
from hkoji.messages.text import tell

if TYPE_CHECKING:
    from hkoji.client.kept_game import KeptGame


def log(game: str, *, offline: bool = False) -> None:
    """Prints the current public log, without receipts."""

    def ask() -> tuple[Line, ...]:
        with client().game(client().find(game)) as held:
            return held.log()

    def show(lines: tuple[Line, ...]) -> None:
        out.lines(format_log(lines, receipts=False))

    def show_kept() -> list[KeptGame]:
        kept = client().kept_game(client().find(game, offline=True))
        show(kept.lines)
        return [kept]

    ask_or_keep(ask, show, show_kept, offline=offline)


def export(game: str, *, kept: bool) -> None:
    """Prints a finished game with receipts. With `kept`, prints this machine's copy of any game and asks no service."""
    game = client().find(game)
    if kept:
        out.lines(format_log(client().kept(game)))
        return
    with client().game(game) as held:
        lines = held.log()
    if not lines or lines[-1].entry.kind not in ("end", "unseal"):
        raise IllegalError(
            tell("game {game} is not over yet", game=game[:8]),
            hint=tell("see its log so far with `hkoji log {game}`", game=game[:8]),
        )
    out.lines(format_log(lines))


def evidence(game: str, file: str | None, *, cards: bool, force: bool = False) -> None:
    """Writes what is kept of a game as a file of evidence."""
    written = client().evidence(client().find(game), cards=cards)
    if written.left_out:
        out.say(
            tell(
                "the game is not over: statements that reveal your cards are left out ({n}); "
                "--with-cards includes them",
                n=written.left_out,
            )
        )
    if file is None:
        out.lines(written.text)
        return
    write_result(file, written.text.encode(), force=force, private=True)
    counts = {
        "entries": written.entries,
        "views": written.views,
        "heads": written.heads,
        "refused": written.refused,
    }
    text = tell(
        "{file}: entries {entries}, views {views}, signed heads {heads}, statements refused {refused}. "
        "Check it with `hkoji audit {file}`.",
        file=file,
        **counts,
    )
    out.result({"file": file, **counts, "left_out": written.left_out}, lambda: translate(text))
