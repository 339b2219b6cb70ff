"""Writes letters: the one place that knows which facts make which letter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from hkoji.mail.letters import answers, confirmation_facts, confirmations, events, shown
from hkoji.mail.letters import facts as all_facts
from hkoji.mail.letters.facts import Facts, ManyFacts, OneLetter
from hkoji.mail.letters.game_words import GameWords
from hkoji.mail.letters.page import Block, Letter, LetterDraft, command, sentences
from hkoji.messages.text import Speaker, plural, tell

WRITERS: Final[dict[type, Callable[[Any, Speaker], LetterDraft]]] = {  # Any: each writer takes its own facts
    all_facts.TurnFacts: events.turn,
    all_facts.ReminderFacts: events.reminder,
    all_facts.InvitationFacts: events.invitation,
    all_facts.JoinedFacts: events.joined,
    all_facts.DeclinedFacts: events.declined,
    all_facts.GivenFacts: events.given,
    all_facts.AnnulFacts: events.annul,
    all_facts.OverFacts: events.over,
    all_facts.WelcomeFacts: answers.welcome,
    all_facts.OnRecordFacts: answers.on_record,
    all_facts.NotUnderstoodFacts: answers.not_understood,
    all_facts.AskedBackFacts: answers.asked_back,
    all_facts.TurnOverFacts: answers.turn_over,
    all_facts.FirstCountsFacts: answers.first_counts,
    all_facts.UnreadableFacts: answers.unreadable,
    all_facts.CodeFacts: confirmations.code,
    all_facts.LastTodayFacts: answers.last_today,
    all_facts.CalledOffFacts: answers.called_off,
    all_facts.GaveFacts: answers.gave,
    all_facts.ShowFacts: shown.show,
    all_facts.MovesFacts: shown.moves,
    all_facts.RulesFacts: shown.rules,
    all_facts.GamesFacts: shown.games,
    all_facts.HelpFacts: shown.help_letter,
    all_facts.LogFacts: shown.log,
    all_facts.EvidenceFacts: shown.evidence,
    all_facts.SettingFacts: shown.setting,
    all_facts.StoppedFacts: shown.stopped,
    all_facts.StartedFacts: shown.started,
    all_facts.LockedFacts: shown.locked,
    confirmation_facts.ConfirmFacts: confirmations.confirm,
    confirmation_facts.ConfirmedFacts: confirmations.confirmed,
    confirmation_facts.NameTakenFacts: confirmations.name_taken,
    confirmation_facts.LeftFacts: confirmations.left,
}
"""What writes each kind of letter, by the class of its facts."""

_SEVERAL: Final = 2


def write_letter(facts: Facts, say: Speaker = str) -> Letter:
    """Returns the letter with these facts, in the speaker's language.

    It shows what the facts' positions know, which is what the reader knows, and no more than that with `cards` off.
    """
    if isinstance(facts, ManyFacts):
        return _several(facts.letters, say)
    draft = WRITERS[type(facts)](facts, say)
    return Letter(_subject(facts, say), draft.text, draft.attachments)


def _subject(facts: OneLetter, say: Speaker) -> str:
    """The subject, which is the same for all letters of a game to one reader in one language."""
    game, name = _game_of(facts, say)
    if game is None:
        return say(tell("hkoji by mail"))
    if name is None:
        return f"hkoji {game[:8]}"
    return say(tell("hkoji {game}: you and {name}", game=game[:8], name=name))


def _game_of(facts: OneLetter, say: Speaker) -> tuple[str | None, str | None]:
    """The id of the game that a letter is about, and the other player."""
    match facts:
        case all_facts.InvitationFacts():
            return facts.game, facts.host
        case all_facts.DeclinedFacts():
            return facts.game, facts.opponent
    seat = getattr(facts, "seat", None)
    if seat is None:
        return None, None
    return seat.position.game, GameWords(seat, say).other


def _several(letters: tuple[OneLetter, ...], say: Speaker) -> Letter:
    """Several letters as one.

    About one game, or none, all of it is said, and nothing twice. About several games each is told in its first
    paragraph only: an order answers the letter of its game.
    """
    drafts = [WRITERS[type(each)](each, say) for each in letters]
    subjects = [_subject(each, say) for each in letters]
    games = dict.fromkeys(_game_of(each, say)[0] for each in letters)
    games.pop(None, None)
    attached = tuple(dict.fromkeys(file for draft in drafts for file in draft.attachments))
    if len(games) < _SEVERAL:
        first = dict.fromkeys(sentence for draft in drafts for sentence in draft.first)
        blocks = dict.fromkeys(block for draft in drafts for block in draft.blocks)
        answer = next((draft.answer for draft in reversed(drafts) if draft.answer), "")
        text = LetterDraft(tuple(first), tuple(blocks), answer).text
        about = (subject for each, subject in zip(letters, subjects, strict=True) if _game_of(each, say)[0] is not None)
        return Letter(next(about, subjects[0]), text, attached)
    news = say(plural("There is news of {n} game.", "There is news of {n} games.", len(games)))
    show = command(say(tell("show")))
    how = say(
        tell(
            "To move, answer the letter of the game; to get it again, answer any of its letters with {show}.",
            show=show,
        )
    )
    told: list[Block] = [
        (*sentences(f"{subject}:"), *sentences(*draft.first)) for subject, draft in zip(subjects, drafts, strict=True)
    ]
    return Letter(say(tell("hkoji by mail")), LetterDraft((news, how), tuple(told)).text, attached)
