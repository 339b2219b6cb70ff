"""The letters of events: it is the reader's turn, an invitation, the end of a game, what the other player has done."""

from __future__ import annotations

from collections.abc import Iterator

from hkoji.game.agreement import Agreement
from hkoji.game.entry_kinds.time import WHY_DECLINED, LapseReason
from hkoji.game.time_control import TimeControl, rest_days
from hkoji.mail.letters.facts import (
    AnnulFacts,
    DeclinedFacts,
    GivenFacts,
    InvitationFacts,
    JoinedFacts,
    LetterWaits,
    OverFacts,
    ReminderFacts,
    TurnFacts,
)
from hkoji.mail.letters.game_facts import SeatFacts
from hkoji.mail.letters.game_words import GameWords
from hkoji.mail.letters.page import (
    Attachment,
    Block,
    LetterDraft,
    command,
    items,
    length,
    moment,
    paragraph,
    sentences,
    typed,
)
from hkoji.messages.text import Speaker, tell
from hkoji.show.games import board_type, brief_type


def turn(facts: TurnFacts, say: Speaker) -> LetterDraft:
    """It is the reader's turn."""
    game = GameWords(facts.seat, say)
    title = say(
        tell(
            "It is your turn against {name}: {game}, {where}.",
            name=game.opponent,
            game=game.board.game,
            where=game.board.where(),
        )
    )
    return LetterDraft((title, *game.own_time()), turn_blocks(game), how_to_answer(game))


def reminder(facts: ReminderFacts, say: Speaker) -> LetterDraft:
    """It still is."""
    game = GameWords(facts.seat, say)
    values = {"name": game.opponent, "game": game.board.game, "where": game.board.where()}
    title = (
        say(tell("Your time is nearly over against {name}: {game}, {where}.", **values))
        if facts.last
        else say(tell("It is still your turn against {name}: {game}, {where}.", **values))
    )
    return LetterDraft((title, *game.own_time()), turn_blocks(game), how_to_answer(game))


def how_to_answer(game: GameWords) -> str:
    """How to answer a letter with a move, or why that cannot be done; empty if no move is due."""
    if game.position.mine and not game.seat.signs:
        return "" if game.position.invited else game.own_key()
    if not game.mine:
        return ""
    return game.say(tell("Answer this mail: your move on the first line, then an empty line."))


def answer_to_invitation(say: Speaker) -> str:
    """How to answer a letter that invites."""
    return say(
        tell(
            "Answer this mail: {accept} or {decline} on the first line, then an empty line.",
            accept=command(say(tell("accept"))),
            decline=command(say(tell("decline"))),
        )
    )


def answer_waited_for(waits: LetterWaits | None, say: Speaker) -> str:
    """How to answer what the reader has been asked; empty if nothing was."""
    if waits is None:
        return ""
    if waits is LetterWaits.INVITED:
        return answer_to_invitation(say)
    return say(tell("Answer this mail: {yes} on the first line, then an empty line.", yes=command(say(tell("yes")))))


def answer_without_game(say: Speaker) -> str:
    """What the answer to a letter can be that is about no game, where such letters are in the place of an address."""
    games, help_ = (command(say(each)) for each in (tell("games"), tell("help")))
    return say(
        tell("Answer this mail with orders that belong to no game, such as {games} or {help}.", games=games, help=help_)
    )


def turn_blocks(game: GameWords) -> tuple[Block, ...]:
    """What is under the rule of a letter to the player whose turn it is."""
    if not game.due:  # A seed is due, which no mail can bring.
        return (paragraph(game.board.turn()), game.signed())
    if not game.mine:
        return ((*game.lately(), *game.table()), game.hand(), game.signed())
    return (
        (*game.lately(), *game.table()),
        game.hand(),
        game.examples(),
        game.other_words(),
        game.signed(),
    )


LOG_TYPE = "application/x-ndjson"


# --- an invitation ----------------------------------------------------------------------------------------------------


def invitation(facts: InvitationFacts, say: Speaker) -> LetterDraft:
    """Somebody invites the reader to a game, or the operator to play by mail."""
    asked = answer_to_invitation(say)
    if not facts.held:
        asked = say(
            tell(
                "You have a key of your own: join or decline with the program hkoji, by {join}.",
                join=command(f"hkoji join {(facts.game or '')[:8]}"),
            )
        )
    until = facts.expires or (facts.agreement.expires if facts.agreement else None)
    time = say(tell("You have until {time}.", time=moment(until, facts.now, say, facts.zone))) if until else ""
    if facts.ruleset is None or facts.agreement is None or facts.host is None:
        first = say(tell("You are invited to play card games for two by mail, at {origin}.", origin=facts.origin))
        return LetterDraft((first, time), (_how_it_works(say), _terms(facts, say), _no_thanks(facts, say)), asked)
    title = board_type(facts.ruleset.name).game
    first = say(tell("{name} invites you to play {game}, by mail.", name=facts.host, game=title))
    brief = brief_type(facts.ruleset.name)
    about = () if facts.known else (paragraph(say(brief.about)), _how_it_works(say))
    blocks = (*about, _agreed(facts, say), _terms(facts, say), _no_thanks(facts, say))
    return LetterDraft((first, time), blocks, asked)


def _how_it_works(say: Speaker) -> Block:
    return paragraph(
        say(
            tell(
                "You need nothing but your mail program. When it is your turn you get a letter with your cards, and "
                "you answer it with your move."
            )
        ),
        say(tell("To read the rules first, answer {rules}.", rules=command(say(tell("rules"))))),
    )


def _agreed(facts: InvitationFacts, say: Speaker) -> Block:
    """The agreement in words, as a list."""
    assert facts.ruleset is not None
    assert facts.agreement is not None
    options = brief_type(facts.ruleset.name).options(facts.ruleset, say)
    return (
        *sentences(say(tell("If you accept, this is what you and {name} agree on:", name=facts.host))),
        *items([" ".join(options), *agreement_sentences(facts.agreement, facts.now, say, facts.zone)]),
    )


def agreement_sentences(agreement: Agreement, now: str, say: Speaker, zone: str = "") -> Iterator[str]:
    """Sentences on what two players agree on beside the rules."""
    if agreement.clock is None:
        yield say(tell("There is no clock: nobody can lose on time."))
    else:
        yield " ".join(_clock_sentences(agreement.clock, say))
    if agreement.expires is not None:
        yield say(tell("The invitation ends on {time}.", time=moment(agreement.expires, now, say, zone)))
    yield say(tell("The game is rated.")) if agreement.rated else say(tell("The game is not rated."))
    if agreement.series is not None:
        series = agreement.series
        yield say(tell("It is game {number} of a series of {games}.", number=series.number, games=series.games))
    if agreement.rematch is not None:
        yield say(tell("It is a rematch of the game {game}.", game=agreement.rematch[:8]))


def _clock_sentences(control: TimeControl, say: Speaker) -> Iterator[str]:
    move, bank = length(control.move, say), length(control.bank, say)
    if control.move and control.bank:
        yield say(
            tell(
                "Each of you has {move} for each turn, and {bank} in reserve for the whole game.", move=move, bank=bank
            )
        )
    elif control.move:
        yield say(tell("Each of you has {move} for each turn.", move=move))
    else:
        yield say(tell("Each of you has {bank} for the whole game.", bank=bank))
    if control.add:
        yield say(
            tell(
                "Each turn adds {add} to the reserve, up to {cap}.",
                add=length(control.add, say),
                cap=length(control.cap, say),
            )
        )
    if control.rest:
        days = rest_days(control)
        yield say(tell("These days do not count: {days} (time zone {zone}).", days=days, zone=control.zone))
    yield say(tell("A player who runs out of time loses."))


def _terms(facts: InvitationFacts, say: Speaker) -> Block:
    """What the reader has to know about playing by mail."""
    if not facts.held:
        return paragraph(_both_held(facts, say))
    return (
        *sentences(say(tell("What you should know:"))),
        *items(
            [
                say(
                    tell("Your name will be {name}, registered at {origin}.", name=facts.name, origin=facts.origin)
                    if not facts.known
                    else tell("Your name is {name}.", name=facts.name)
                ),
                say(
                    tell(
                        "The service signs for you, with a key that it keeps for you: it takes as yours what comes "
                        "from this mailbox."
                    )
                ),
                say(tell("Anybody who can read your mail, such as the provider of your mailbox, can read your cards.")),
                say(tell("The clock runs whatever happens to letters: also if one is late, lost, or taken for junk.")),
                _both_held(facts, say),
            ]
        ),
    )


def _both_held(facts: InvitationFacts, say: Speaker) -> str:
    if not facts.host_held:
        return ""
    if not facts.held:
        return say(tell("{name} plays by mail: the service signs for {name}.", name=facts.host))
    signs = say(tell("The service signs for {name} too.", name=facts.host))
    return f"{signs} {say(tell('Nobody can show that the service did not choose these cards.'))}"


def _no_thanks(facts: InvitationFacts, say: Speaker) -> Block:
    stop = command(say(tell("stop")))
    if facts.known:
        return paragraph(say(tell("If you do not want any letters, answer {stop}.", stop=stop)))
    return paragraph(
        say(tell("If you do nothing, nothing happens: you get no other letter.")),
        say(tell("If you want no more invitations, answer {stop}.", stop=stop)),
    )


# --- what the other player has done -----------------------------------------------------------------------------------


def joined(facts: JoinedFacts, say: Speaker) -> LetterDraft:
    """Somebody has joined."""
    game = GameWords(facts.seat, say)
    first = say(tell("{name} has joined your game of {game}.", name=game.opponent, game=game.board.game))
    if game.due:
        return _with_turn(first, game)
    wait = say(tell("You get a letter when it is your turn.")) if not game.position.mine else ""
    return LetterDraft((first, wait), (game.signed(),))


def declined(facts: DeclinedFacts, say: Speaker) -> LetterDraft:
    """The offered game has ended."""
    if facts.opponent is None:
        first = tell("Nobody has joined the game that you offered, and the offer has ended.")
    elif facts.reason == LapseReason.EXPIRED:
        first = tell("{name} has not answered your invitation in time: it has ended.", name=facts.opponent)
    else:
        why = WHY_DECLINED.get(facts.why or "")
        first = (
            tell("{name} declined the invitation.", name=facts.opponent)
            if why is None
            else tell("{name} declined the invitation ({why}).", name=facts.opponent, why=why)
        )
    return LetterDraft((say(first), say(tell("There is nothing that you have to do."))))


def given(facts: GivenFacts, say: Speaker) -> LetterDraft:
    """The other player has given time."""
    game = GameWords(facts.seat, say)
    first = say(
        tell("{name} has given you {length} for this turn.", name=game.opponent, length=length(facts.seconds, say))
    )
    return _with_turn(first, game) if game.due else LetterDraft((first, game.turn()), (game.signed(),))


def annul(facts: AnnulFacts, say: Speaker) -> LetterDraft:
    """The other player wishes to call the game off."""
    game = GameWords(facts.seat, say)
    first = say(tell("{name} wishes to call the game off: it would end without a winner.", name=game.opponent))
    if facts.by_mail:
        agree = (*sentences(say(tell("To agree, before the next move, answer:"))), *typed(say(tell("call off"))))
    else:
        agree = paragraph(say(tell("This service cannot take your consent by mail. If you play on, the game goes on.")))
    if game.due:
        draft = _with_turn(first, game)
        return draft._replace(blocks=(agree, *draft.blocks))
    return LetterDraft((first, game.turn()), (agree, game.signed()))


def over(facts: OverFacts, say: Speaker) -> LetterDraft:
    """The game is over."""
    game = GameWords(facts.seat, say)
    first = say(
        tell(
            "Your game of {game} against {name} is over: {result}.",
            game=game.board.game,
            name=game.opponent,
            result=game.result(),
        )
    )
    draft = ended(game, facts.log)
    return draft._replace(first=(first, say(tell("There is nothing that you have to do."))))


def ended(game: GameWords, log: bytes) -> LetterDraft:
    """What a letter says at the end of a game, and the log, behind a first paragraph that the caller adds.

    The log names cards, so it is not attached for a reader who wants none in letters.
    """
    files = (log_attachment(game.seat, log),) if log and game.seat.cards else ()
    blocks = (
        (*game.lately(), *game.table()),
        how_to_check(game) if files else _how_to_get_log(game),
        game.proof(),
        paragraph(game.last_entry()),
        paragraph(game.say(tell("Thank you for playing."))),
    )
    return LetterDraft((), blocks, attachments=files)


def _with_turn(first: str, game: GameWords) -> LetterDraft:
    """A letter that says something first, and is the turn letter of its reader too."""
    return LetterDraft((first, *turn(TurnFacts(game.seat), game.say).first), turn_blocks(game), how_to_answer(game))


# --- the log ----------------------------------------------------------------------------------------------------------


def log_attachment(seat: SeatFacts, log: bytes) -> Attachment:
    """The log of a game as a file."""
    return Attachment(f"{seat.position.short}.jsonl", LOG_TYPE, log)


def _how_to_get_log(game: GameWords) -> Block:
    log = command(game.say(tell("log")))
    return paragraph(
        game.say(tell("To get the signed log of the game, which anybody can check, answer {log}.", log=log))
    )


def how_to_check(game: GameWords) -> Block:
    """How the attached log can be checked."""
    say = game.say
    return (
        *sentences(
            say(tell("Everything that was played is in the attached log. Anybody can check it with the program hkoji:"))
        ),
        *typed(f"hkoji audit {game.position.short}.jsonl"),
    )
