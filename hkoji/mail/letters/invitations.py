"""The letters of an invitation: what it says, what can be answered, and what follows when it is accepted or not."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from hkoji.game.agreement import Agreement, TimeControl, rest_days
from hkoji.game.entry_kinds.time import WHY_DECLINED, LapseReason
from hkoji.mail.letters.game_words import GameWords, SeatFacts
from hkoji.mail.letters.page import Block, LetterDraft, Page
from hkoji.messages.text import tell
from hkoji.rules.protocol import Ruleset
from hkoji.show.games import board_type, brief_type
from hkoji.show.terms import control_sentences


class LetterWaits(StrEnum):
    """The question that a reader who plays no game yet has been asked."""

    INVITED = "invited"
    """Whether they wish to play, which is answered with `accept` or `decline`."""
    ASKED = "asked"
    """Whether they want something, which is answered with `yes`."""


class InvitationFacts(NamedTuple):
    """Somebody invites the reader to a game, or the operator to play by mail, without a game.

    `name` is the name that the reader is to have, or has. `host`, `game` (its id), `ruleset` and `agreement` are None
    only without a game. `known` says that the reader's mailbox is registered already, `host_held` that the service
    signs for the host, and `held` that it will sign for the reader. `origin` is the service's, `https://hkoji.example`.
    `expires` is until when the letter can be answered, if the agreement does not say it. `sealed` says that it is a
    sealed game.
    """

    name: str
    origin: str
    now: str
    host: str | None = None
    game: str | None = None
    ruleset: Ruleset | None = None
    agreement: Agreement | None = None
    known: bool = False
    held: bool = True
    host_held: bool = False
    expires: str | None = None
    zone: str = ""
    sealed: bool = False

    def draft(self, page: Page) -> LetterDraft:
        asked = answer_to_invitation(page)
        if not self.held:
            asked = tell(
                "You have a key of your own: join or decline with the program hkoji, by {join}.",
                join=page.command(f"hkoji join {(self.game or '')[:8]}{' --sealed' if self.sealed else ''}"),
            )
        until = self.expires or (self.agreement.expires if self.agreement else None)
        time = tell("You have until {time}.", time=page.moment(until, self.now, self.zone)) if until else ""
        if self.ruleset is None or self.agreement is None or self.host is None:
            first = tell("You are invited to play card games for two by mail, at {origin}.", origin=self.origin)
            return LetterDraft((first, time), (_how_it_works(page), _terms(self, page), _no_thanks(self, page)), asked)
        title = board_type(self.ruleset.name).game
        first = tell("{name} invites you to play {game}, by mail.", name=self.host, game=title)
        brief = brief_type(self.ruleset.name)
        about = () if self.known else (page.paragraph(brief.about), _how_it_works(page))
        blocks = (*about, _agreed(self, page), _terms(self, page), _no_thanks(self, page))
        return LetterDraft((first, time), blocks, asked)


def _how_it_works(page: Page) -> Block:
    return page.paragraph(
        tell(
            "You need nothing but your mail program. When it is your turn you get a letter with your cards, and "
            "you answer it with your move."
        ),
        tell("To read the rules first, answer {rules}.", rules=page.command(tell("rules"))),
    )


def _agreed(facts: InvitationFacts, page: Page) -> Block:
    """The agreement in words, as a list."""
    assert facts.ruleset is not None
    assert facts.agreement is not None
    options = brief_type(facts.ruleset.name).options(facts.ruleset, page.say)
    return (
        *page.sentences(tell("If you accept, this is what you and {name} agree on:", name=facts.host)),
        *page.items(
            [
                " ".join(options),
                tell("It is a sealed game (beta): nobody but you sees your cards.") if facts.sealed else "",
                *_agreement_sentences(facts.agreement, facts.now, page, facts.zone),
            ]
        ),
    )


def _agreement_sentences(agreement: Agreement, now: str, page: Page, zone: str = "") -> Iterator[str]:
    """Sentences on what two players agree on beside the rules."""
    if agreement.clock is None:
        yield tell("There is no clock: nobody can lose on time.")
    else:
        yield " ".join(map(page.say, _clock_sentences(agreement.clock, page)))
    if agreement.expires is not None:
        yield tell("The invitation ends on {time}.", time=page.moment(agreement.expires, now, zone))
    yield tell("The game is rated.") if agreement.rated else tell("The game is not rated.")
    if agreement.series is not None:
        series = agreement.series
        yield tell("It is game {number} of a series of {games}.", number=series.number, games=series.games)
    if agreement.rematch is not None:
        yield tell("It is a rematch of the game {game}.", game=agreement.rematch[:8])


def _clock_sentences(control: TimeControl, page: Page) -> Iterator[str]:
    yield from control_sentences(control, page.length)
    if control.rest:
        days = rest_days(control)
        yield tell("These days do not count: {days} (time zone {zone}).", days=days, zone=control.zone)
    yield tell("A player who runs out of time loses.")


def _terms(facts: InvitationFacts, page: Page) -> Block:
    """The facts that the reader has to know about playing by mail."""
    if not facts.held:
        return page.paragraph(_both_held(facts, page))
    return (
        *page.sentences(tell("Before you answer:")),
        *page.items(
            [
                tell("Your name is {name}.", name=facts.name)
                if facts.known
                else tell("Your name will be {name}, registered at {origin}.", name=facts.name, origin=facts.origin),
                tell(
                    "The service signs for you, with a key that it keeps for you: it takes as yours what comes "
                    "from this mailbox."
                ),
                tell("Anybody who can read your mail, such as the provider of your mailbox, can read your cards."),
                tell("The clock runs whatever happens to letters: also if one is late, lost, or taken for junk."),
                _both_held(facts, page),
            ]
        ),
    )


def _both_held(facts: InvitationFacts, page: Page) -> str:
    if not facts.host_held:
        return ""
    if not facts.held:
        return tell("{name} plays by mail: the service signs for {name}.", name=facts.host)
    signs = tell("The service signs for {name} too.", name=facts.host)
    unproved = tell("Nobody can show that the service did not choose these cards.")
    return f"{page.say(signs)} {page.say(unproved)}"


def _no_thanks(facts: InvitationFacts, page: Page) -> Block:
    stop = page.command(tell("stop"))
    if facts.known:
        return page.paragraph(tell("If you do not want any letters, answer {stop}.", stop=stop))
    return page.paragraph(
        tell("If you do nothing, nothing happens: you get no other letter."),
        tell("If you want no more invitations, answer {stop}.", stop=stop),
    )


class DeclinedFacts(NamedTuple):
    """The game that the reader offered has ended before anybody joined it.

    `opponent` is who was invited, None for a game that was open to all or to a link. `reason` and `why` are those of
    the log's `lapse`.
    """

    game: str
    opponent: str | None
    reason: str
    why: str | None = None

    def draft(self, page: Page) -> LetterDraft:  # noqa: ARG002
        if self.opponent is None:
            first = tell("Nobody has joined the game that you offered, and the offer has ended.")
        elif self.reason == LapseReason.EXPIRED:
            first = tell("{name} has not answered your invitation in time: it has ended.", name=self.opponent)
        else:
            why = WHY_DECLINED.get(self.why or "")
            first = (
                tell("{name} declined the invitation.", name=self.opponent)
                if why is None
                else tell("{name} declined the invitation ({why}).", name=self.opponent, why=why)
            )
        return LetterDraft((first, tell("There is nothing that you have to do.")))


class WelcomeFacts(NamedTuple):
    """The reader has accepted an invitation: `name` is registered.

    `commands` is the reader's command address, empty if addresses have no token. `salt` is the salt of the address hash
    (64 hex digits) of the certificate for `mailbox`. `seat` is the game that the reader has joined with it, None
    without a game.
    """

    name: str
    mailbox: str
    origin: str
    commands: str
    salt: str
    seat: SeatFacts | None = None

    def draft(self, page: Page) -> LetterDraft:
        first = [tell("Welcome, {name}: you are registered at {origin}.", name=self.name, origin=self.origin)]
        if self.seat is not None:
            game = GameWords(self.seat, page)
            first.append(
                tell("You have joined the game of {game} with {name}.", name=game.opponent, game=game.board.game)
            )
        first.append(tell("You get a letter when it is your turn."))
        held = page.paragraph(
            tell(
                "The service keeps your name, your mailbox, and the key that signs for you, and your mails for some "
                "months, as a proof of what you played. Other players see your name, but not your mailbox: the log of "
                "a game, which is public, has only a hash of it, from which nobody can read it."
            )
        )
        salt = (
            *page.sentences(tell("To prove one day that a log means your mailbox, you need this number. Keep it:")),
            *page.typed(self.salt),
        )
        stop = page.paragraph(tell("To get no more letters, answer {stop}.", stop=page.command(tell("stop"))))
        return LetterDraft(tuple(first), (_where_commands_go(self, page), held, salt, stop))


def _where_commands_go(facts: WelcomeFacts, page: Page) -> Block:
    """Says where to write orders that belong to no game."""
    new = page.command(tell("new address"))
    if facts.commands:
        return (
            *page.sentences(
                tell(
                    "This is your command address. It is for orders that belong to no game, such as {help} or "
                    "{games}. Keep it, and show it to nobody; with {new} you get another one:",
                    help=page.command(tell("help")),
                    games=page.command(tell("games")),
                    new=new,
                )
            ),
            *page.typed(facts.commands),
        )
    if facts.seat is None:
        return page.paragraph(answer_without_game(page))
    there = tell(
        "For orders that belong to no game, such as a new game, answer {new}: a letter for them comes.", new=new
    )
    return page.paragraph(there)


def answer_to_invitation(page: Page) -> str:
    """How to answer a letter that invites."""
    return tell(
        "Answer this mail: {accept} or {decline} on the first line, then an empty line.",
        accept=page.command(tell("accept")),
        decline=page.command(tell("decline")),
    )


def answer_waited_for(waits: LetterWaits | None, page: Page) -> str:
    """How to answer what the reader has been asked; empty if nothing was."""
    if waits is None:
        return ""
    if waits is LetterWaits.INVITED:
        return answer_to_invitation(page)
    return tell("Answer this mail: {yes} on the first line, then an empty line.", yes=page.command(tell("yes")))


def answer_without_game(page: Page) -> str:
    """How to answer a letter that is about no game, where such letters are in the place of an address."""
    games, help_ = page.command(tell("games")), page.command(tell("help"))
    return tell(
        "Answer this mail with orders that belong to no game, such as {games} or {help}.", games=games, help=help_
    )
