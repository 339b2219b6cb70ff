"""`hkoji talk` and `hkoji note`: messages to the opponent of a game, and notes of a player, for nobody else."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final
from unicodedata import east_asian_width

from hkoji.cli.games.game_words import local_time
from hkoji.cli.games.show import note_lines
from hkoji.cli.games.told import ask_or_keep
from hkoji.cli.input import read_words
from hkoji.cli.language import _, translate
from hkoji.cli.output import client, out
from hkoji.client.kept.game import MAX_NOTE_BYTES, GameNote
from hkoji.errors import MalformedError, TrustError, UsageError
from hkoji.log.talk import MAX_WORDS_BYTES, verify_words
from hkoji.messages.text import plural, printable, tell

if TYPE_CHECKING:
    from hkoji.client.kept_game import KeptGame
    from hkoji.client.talk import Conversation, ReadMessage


def note(game: str, words: Sequence[str] | None, *, replace: bool = False, delete: bool = False) -> None:
    """Shows the note about a game, adds to it, replaces or deletes it. Asks no service.

    `-` stands for standard input.
    """
    if delete and (words or replace):
        raise UsageError(tell("--delete takes no text"), hint=tell("nothing was changed"))
    if replace and not words:
        raise UsageError(tell("--replace needs a text"), hint=tell("nothing was changed; to remove it: --delete"))
    game = client().find(game, offline=True)
    client().kept(game)  # raises for a game that was never seen: a note makes no folder
    with client().game(game) as held:
        kept = GameNote(held.vault)
        if delete:
            kept.delete()
            text = None
        elif words:
            typed = read_words(words, MAX_NOTE_BYTES, tell("note"), hint=tell("nothing was changed"))
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


_INDENT: Final = "    "
_NARROWEST: Final = 10


def talk(game: str, words: Sequence[str] | None, *, offline: bool = False) -> None:
    """Shows the messages of a game, or sends one; `-` stands for standard input."""
    if not words:
        _show(game, offline=offline)
        return
    if offline:
        raise UsageError(tell("a message cannot be sent with --offline"), hint=tell("nothing was sent; leave it out"))
    text = read_words(words, MAX_WORDS_BYTES, tell("message"), hint=tell("nothing was sent"))
    if text and not text.strip():
        raise UsageError(tell("the message has nothing but spaces"), hint=tell("nothing was sent"))
    try:
        verify_words(text)
    except MalformedError as error:
        raise MalformedError(error.what, error.reason, hint=tell("nothing was sent")) from None
    full = client().find(game)
    with client().game(full) as held:
        held.current()
        found = held.talk.send(text)
    _result(full, found, sent=True)


def delete(game: str, number: int) -> None:
    """Deletes a message of the player."""
    full = client().find(game)
    with client().game(full) as held:
        held.current()
        found = held.talk.delete(number)
    _result(full, found)


def mute(game: str, *, muted: bool) -> None:
    """Hides the opponent's messages here, or shows them again. Asks no service."""
    full = client().find(game, offline=True)
    client().kept_game(full)  # a game that was never seen is refused here, without asking the service
    with client().game(full) as held:
        found = held.talk.mute(muted=muted)
    _result(full, found)


def _show(game: str, *, offline: bool) -> None:
    def ask() -> tuple[str, Conversation]:
        full = client().find(game)
        with client().game(full) as held:
            held.current()
            return full, held.talk.read()

    def show_kept() -> list[KeptGame]:
        full = client().find(game, offline=True)
        kept = client().kept_game(full)
        with client().game(full) as held:
            found = held.talk.kept()
        _result(full, found, kept.age)
        return [kept]

    ask_or_keep(ask, lambda found: _result(*found), show_kept, offline=offline)


def _result(
    game: str,
    found: Conversation,
    age: dict[str, Any] | None = None,  # Any: JSON
    *,
    sent: bool = False,
) -> None:
    """Prints the messages. Raises `TrustError` after that if the service has shown what does not hold."""
    value = {"game": game, **conversation_json(found), **(age or {})}
    out.result(lambda: value, lambda: conversation_text(found, game, out.style.width, only_new=sent), exact=True)
    if found.recent:  # only now: a command that is killed before this, and given again, must not say it twice
        sys.stdout.flush()
        with client().game(game) as held:
            held.talk.told(read=not sent)
    if found.flawed:
        raise TrustError(
            plural(
                "{n} message is not the word of its author",
                "{n} messages are not the word of their authors",
                found.flawed,
            ),
            hint=tell("the service has shown it; ask your opponent in another way, and tell the operator"),
        )
    if found.breach is not None:
        raise TrustError(
            found.breach, hint=tell("see what was verified here: hkoji talk {game} --offline", game=game[:8])
        )


def conversation_json(found: Conversation) -> dict[str, Any]:  # Any: JSON
    """Returns the messages for programs. docs/json.md."""
    return {
        "messages": [
            {
                "number": each.number,
                "name": each.name,
                "at": each.at,
                "received": each.received,
                "text": each.words,
                "state": _state(each),
                "reason": each.flaw or each.doubt,
                "mine": each.mine,
                "new": each.new,
            }
            for each in found.messages
        ],
        "muted": found.muted,
        "pending": found.pending,
    }


def _state(message: ReadMessage) -> str:
    if message.flaw is not None:
        return "false"
    if message.words is None:
        return "deleted"
    return "said" if message.doubt is None else "doubtful"


def conversation_text(found: Conversation, game: str, width: int | None, *, only_new: bool = False) -> str:
    """Returns the messages for people; with `only_new` those that are new and the reader's last one.

    The text of a message is indented in every line, so that no message can look like another one.
    """
    last = max((each.number for each in found.messages if each.mine), default=0)
    lines: list[str] = []
    hidden = 0
    for each in found.messages:
        if only_new and not each.new and each.number != last and each.flaw is None:
            continue
        if found.muted and not each.mine:
            hidden += 1
            continue
        lines += _lines(each, width)
    if not found.messages:
        lines.append(_("Nobody has written anything in game {game}.", game=game[:8]))
    if hidden:
        lines.append(
            _(
                "You have muted your opponent here; messages that are not shown: {n}. To see them: {command}",
                n=hidden,
                command=f"hkoji talk {game[:8]} --unmute",
            )
        )
    if found.pending is not None:
        lines.append(_("A message of yours is not confirmed yet:"))
        lines += folded(found.pending, width)
    return "\n".join(lines)


def _lines(message: ReadMessage, width: int | None) -> list[str]:
    name = _("you") if message.mine else message.name
    mark = " " + _("(new)") if message.new else ""
    lines = [f"{message.number}  {name}  {local_time(message.at or message.received)}{mark}"]
    if message.flaw is not None:
        lines.append(_INDENT + _("not {name}'s word: {reason}", name=message.name, reason=translate(message.flaw)))
    elif message.words is None:
        lines.append(_INDENT + _("deleted"))
    else:
        lines += folded(message.words, width)
    if message.doubt is not None:
        lines.append(_INDENT + _("(doubtful: {reason})", reason=translate(message.doubt)))
    return lines


def folded(words: str, width: int | None) -> list[str]:
    """Returns what a message says, in lines that are indented and no wider than the terminal.

    A terminal would continue a longer line at its left edge, where a message could pretend to be another one.
    """
    room = max(_NARROWEST, width - len(_INDENT) - 1) if width is not None else None
    lines: list[str] = []
    for line in words.split("\n"):
        shown, used = "", 0
        for each in printable(line):
            columns = 2 if east_asian_width(each) in "WF" else 1
            if room is not None and used + columns > room:
                place = shown.rfind(" ")
                if place > 0:
                    lines.append(_INDENT + shown[:place])
                    shown = shown[place + 1 :]
                else:
                    lines.append(_INDENT + shown)
                    shown = ""
                used = sum(2 if east_asian_width(sign) in "WF" else 1 for sign in shown)
            shown += each
            used += columns
        lines.append(_INDENT + shown)
    return lines
