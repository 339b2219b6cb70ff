"""Writes letters: one by itself, or several as one."""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

from hkoji.mail.letters.answers import CalledOffFacts, OnRecordFacts, TurnOverFacts
from hkoji.mail.letters.events import TurnFacts
from hkoji.mail.letters.game_words import GameWords
from hkoji.mail.letters.invitations import DeclinedFacts, InvitationFacts
from hkoji.mail.letters.page import Block, Letter, LetterDraft, OneLetter, Page
from hkoji.mail.letters.shown import ShowFacts
from hkoji.messages.text import Speaker, plural, tell

SHOW_TURN: Final = (TurnFacts, OnRecordFacts, TurnOverFacts, ShowFacts, CalledOffFacts)
"""The letters that show, if a move of the reader is due, all that a letter about the turn shows."""


class ManyFacts(NamedTuple):
    """Several letters that are sent as one, in this order."""

    letters: tuple[OneLetter, ...]


Facts: TypeAlias = OneLetter | ManyFacts
"""The facts of one letter, or of several that are sent as one."""


def write_letter(facts: Facts, say: Speaker = str) -> Letter:
    """Returns the letter with these facts, in the speaker's language.

    It shows what the facts' positions know, which is what the reader knows, and no more than that with `cards` off.
    """
    page = Page(say)
    if isinstance(facts, ManyFacts):
        return _several(facts.letters, page)
    draft = facts.draft(page)
    return Letter(_subject(facts, page), draft.text(page), draft.attachments)


def _subject(facts: OneLetter, page: Page) -> str:
    """The subject, which is the same for all letters of a game to one reader in one language."""
    game, name = _game_of(facts, page)
    if game is None:
        return page.say(tell("hkoji by mail"))
    if name is None:
        return f"hkoji {game[:8]}"
    return page.say(tell("hkoji {game}: you and {name}", game=game[:8], name=name))


def _game_of(facts: OneLetter, page: Page) -> tuple[str | None, str | None]:
    """The id of the game that a letter is about, and the other player."""
    match facts:
        case InvitationFacts():
            return facts.game, facts.host
        case DeclinedFacts():
            return facts.game, facts.opponent
    seat = getattr(facts, "seat", None)
    if seat is None:
        return None, None
    return seat.position.game, GameWords(seat, page).other


def _several(letters: tuple[OneLetter, ...], page: Page) -> Letter:
    """Several letters as one.

    About one game, or none, all of it is said, and nothing twice. About several games each is told in its first
    paragraph only: an order answers the letter of its game.
    """
    drafts = [each.draft(page) for each in letters]
    subjects = [_subject(each, page) for each in letters]
    games = [_game_of(each, page)[0] for each in letters]
    attached = tuple(dict.fromkeys(file for draft in drafts for file in draft.attachments))
    number = len({game for game in games if game is not None})
    if number <= 1:
        first = dict.fromkeys(sentence for draft in drafts for sentence in draft.first)
        blocks = dict.fromkeys(block for draft in drafts for block in draft.blocks)
        answer = next((draft.answer for draft in reversed(drafts) if draft.answer), "")
        text = LetterDraft(tuple(first), tuple(blocks), answer).text(page)
        about = (subject for game, subject in zip(games, subjects, strict=True) if game is not None)
        return Letter(next(about, subjects[0]), text, attached)
    news = plural("There is news of {n} game.", "There is news of {n} games.", number)
    how = tell(
        "To move, answer the letter of the game; to get it again, answer any of its letters with {show}.",
        show=page.command(tell("show")),
    )
    told: tuple[Block, ...] = tuple(
        page.sentences(f"{subject}:", *draft.first) for subject, draft in zip(subjects, drafts, strict=True)
    )
    return Letter(page.say(tell("hkoji by mail")), LetterDraft((news, how), told).text(page), attached)
