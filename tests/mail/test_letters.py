"""Letters: width, language, what they show and what not, and that each line to send can be sent.

Two random games of each ruleset, with the longest names and with the shortest, come into every kind of state. The laws
read the same letters: every kind of letter in each such state, for both players, in each language.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Final, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji.game.agreement import Agreement, parse_time_control
from hkoji.game.course import Stage
from hkoji.game.submission import Submission
from hkoji.log.line import Line
from hkoji.log.mail_claim import MailGrade
from hkoji.mail.commands import OrderFault, OrderKind
from hkoji.mail.letters import Letter, write_letter
from hkoji.mail.letters.answers import (
    CalledOffFacts,
    LastTodayFacts,
    NotUnderstoodFacts,
    OnRecordFacts,
    TurnOverFacts,
    UnreadableFacts,
)
from hkoji.mail.letters.composing import SHOW_TURN, ManyFacts
from hkoji.mail.letters.events import AnnulFacts, OverFacts, TurnFacts
from hkoji.mail.letters.game_words import GameWords, SeatFacts
from hkoji.mail.letters.invitations import InvitationFacts
from hkoji.mail.letters.page import RULE, TIE, WIDTH, Page, fold, harmless, wrapped
from hkoji.mail.letters.shown import HelpFacts, MovesFacts, SettingFacts, ShowFacts
from hkoji.mail.orders import read_orders
from hkoji.manual.catalogues import load_speaker
from hkoji.messages.text import LANGUAGES, tell
from hkoji.rules.events import DECISIONS, SEATS, Event, Seat
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Due, Ruleset, State
from hkoji.show.brief import Brief
from hkoji.show.games import brief_type
from tests.lab.leaks.chosen_deals import Dealt, chosen_deals, dealt
from tests.lab.leaks.stories import decisions
from tests.support.letters import (
    KINDS,
    ORIGIN,
    invited_to,
    letters_of_game,
    letters_of_invited,
    letters_of_no_game,
    seat_of,
)
from tests.support.redistribution import redistribute
from tests.support.rules import random_game
from tests.support.table import Table, held_game
from tests.toy.showdown import Showdown

AGREED = Agreement(parse_time_control("3d/14d"), "2026-12-01T12:00:00Z")
NAMES = (("alice-of-the-thirty-two-letters-", "bob_who_has_just_as_many_letters"), ("aa", "bo"))
GAMES: Final[tuple[Ruleset, ...]] = (
    Hanamikoji("random", 3, "charm"),
    GeishasRoad("random", "choose"),
    GeishasRoad("guest", "random"),
)
SEEDS: Final = ((114, 110), (119, 59), (55, 51))
"""For each of these rulesets a game with long names and one with short names; most games have not every state."""
SPEAKERS = {lang: load_speaker(lang) for lang in LANGUAGES}
every_game = pytest.mark.parametrize("ruleset", GAMES, ids=("hanamikoji", "geishas-road", "geishas-road-random"))
every_language = pytest.mark.parametrize("lang", LANGUAGES)


def positions(ruleset: Ruleset, seed: int, names: tuple[str, str] = NAMES[0]) -> Iterator[Table]:
    """A game before its first move and after each move; always the same table, played on."""
    table = Table(ruleset, seed, names=names, agreement=AGREED).begin()
    chance = random.Random(seed)
    yield table
    while table.course.stage is Stage.PLAY:
        table.wait(chance.choice((60, 7200, 86400)))
        table.send(table.move(chance.choice(table.course.state.legal_actions())))
        yield table


def written(facts: SeatFacts, log: bytes, lang: str) -> Iterator[tuple[str, Letter]]:
    """Every kind of letter about a position, by name."""
    for kind, each in letters_of_game(facts, log):
        yield kind, write_letter(each, SPEAKERS[lang])


class Moment(NamedTuple):
    """A moment of a game, as its players and somebody who is invited know it."""

    due: Due
    actor: Seat | None
    round: int
    seats: tuple[SeatFacts, SeatFacts]
    invited: SeatFacts
    log: bytes


class Read(NamedTuple):
    """A letter to one of the players at some moment, and the same without cards if it is about the game."""

    moment: Moment
    seat: Seat
    lang: str
    kind: str
    letter: Letter
    bare: Letter | None


def moments_of(ruleset: Ruleset, seed: int, names: tuple[str, str], *, late: bool) -> list[Moment]:
    """One moment for each kind of state of a game, the first such or the last."""
    found: dict[tuple[Due, Seat | None], Moment] = {}
    for table in positions(ruleset, seed, names):
        state, actor = table.course.state, table.course.actor
        if late or (state.due, actor) not in found:
            seats = (seat_of(table, 0), seat_of(table, 1))
            invited, log = invited_to(table, names[1]), table.text.encode()
            found[state.due, actor] = Moment(state.due, actor, state.round, seats, invited, log)
    return [*found.values()]


def letters_about(ruleset: Ruleset) -> tuple[Read, ...]:
    """Every kind of letter that fits at each moment of both games; those about no game at two of them."""
    return _letters(GAMES.index(ruleset))


@cache
def _letters(game: int) -> tuple[Read, ...]:
    one, two = SEEDS[game]
    first = moments_of(GAMES[game], one, NAMES[0], late=False), ("en", "it")
    second = moments_of(GAMES[game], two, NAMES[1], late=True), ("it", "en")
    found = list[Read]()
    for moments, langs in (first, second):
        turns = [moment.actor for moment in moments]
        for at, moment in enumerate(moments):
            for seat, lang in zip(SEATS, langs, strict=True):
                facts = moment.seats[seat]
                bare = dict(written(facts._replace(cards=False), moment.log, lang))
                for kind, letter in written(facts, moment.log, lang):
                    found.append(Read(moment, seat, lang, kind, letter, bare[kind]))
                if at in (turns.index(seat), len(moments) - 1):
                    name = facts.position.course.setup.names[1] or ""
                    others = [*letters_of_no_game(name, facts, lang), *letters_of_invited(moment.invited)]
                    for kind, each in others:
                        found.append(Read(moment, seat, lang, kind, write_letter(each, SPEAKERS[lang]), None))
    return tuple(found)


def first_paragraph(letter: Letter) -> str:
    return letter.text.partition(f"\n{RULE}\n")[0]


# --- width and form ---------------------------------------------------------------------------------------------------


@every_game
def test_the_games_come_into_every_kind_of_state_and_have_every_kind_of_letter(ruleset: Ruleset) -> None:
    dues = {Due.ACT, Due.ANSWER} | ({Due.ORDER, Due.PICK} if ruleset.name == "geishas-road" else set())
    states = {(due, actor) for due in dues for actor in SEATS} | {(Due.OVER, None)}
    found, kinds, rounds = set(), {lang: Counter[str]() for lang in LANGUAGES}, set()
    for each in letters_about(ruleset):
        found.add((each.moment.due, each.moment.actor, each.seat, each.lang))
        kinds[each.lang][each.kind.replace(f"-{each.lang}", "")] += 1
        rounds.add(each.moment.round)
    assert found == {(*state, seat, lang) for state in states for seat in SEATS for lang in LANGUAGES}
    assert all(set(each) == set(kinds["en"]) for each in kinds.values())
    assert len(kinds["en"]) > 60
    assert rounds >= {1, 3}


@every_game
def test_no_line_is_over_72_columns(ruleset: Ruleset) -> None:
    assert WIDTH == 72
    for _, _, _, kind, letter, _ in letters_about(ruleset):
        assert letter.subject.isascii()
        assert letter.subject.isprintable()
        assert len(letter.subject) <= WIDTH
        for line in letter.text.split("\n"):
            assert len(line) <= WIDTH, (kind, line)
            assert line == line.rstrip(), (kind, line)
            assert line.isprintable(), (kind, line)
            assert not line.startswith(">"), (kind, line)
            assert "\u237d" not in line
        assert letter.text.endswith("\n")
        assert not letter.text.endswith("\n\n")
        assert "\n\n\n" not in letter.text, kind


@every_game
def test_every_sentence_is_in_italian(ruleset: Ruleset) -> None:
    """No line of an English letter is also in the Italian one, but for lines without words of a language."""
    same = re.compile(
        r"[-=]+|hkoji .*|  (hkoji audit .*|[1-4rigc][a-g1-4/ ]+|play\+.*|[0-9a-f]{64}|resign|accept)|ciao, come va\?"
    )
    table = Table(ruleset, 3, agreement=AGREED).begin().play(5)
    facts = seat_of(table, table.course.actor or 0)
    for (kind, english), (_, italian) in zip(written(facts, b"", "en"), written(facts, b"", "it"), strict=True):
        if kind.startswith(("unreadable",)):
            continue  # the reason is a sentence of the test's own
        both = {line for line in english.text.split("\n") if line} & {*italian.text.split("\n")}
        left = {line for line in both if not same.fullmatch(line) and re.search(r"[a-z]{3}", line)}
        assert not {line for line in left if "bob" not in line and "alice" not in line and "@" not in line}, kind


@every_language
def test_a_subject_stays_the_same_for_the_whole_game(lang: str) -> None:
    subjects = {
        letter.subject
        for table in positions(Hanamikoji(max_rounds=1), 2, ("alice", "bob"))
        for _, letter in written(seat_of(table, 1), b"", lang)
    }
    table = Table(Hanamikoji(max_rounds=1), 2, names=("alice", "bob"))
    invited = InvitationFacts("bob", ORIGIN, table.now, "alice", table.game, table.ruleset, AGREED)
    assert subjects == {write_letter(invited, SPEAKERS[lang]).subject}
    assert table.game[:8] in subjects.pop()


# --- what can be sent -------------------------------------------------------------------------------------------------


def offered(text: str, lang: str) -> list[str]:
    """The lines that a letter offers: each alone and indented, under a line that ends with a colon."""
    lines = text.split("\n")
    word = {"en": "write:", "it": "scrivi:"}[lang]
    return [each.strip() for before, each in pairwise(lines) if before.endswith(word)]


def action_of(line: str, state: State) -> str:
    """The move that a line of a mail orders; empty if it orders none."""
    read = read_orders([line], state)
    return "" if isinstance(read, OrderFault) else read[0].action


@every_game
def test_every_offered_line_reads_back_as_a_legal_move(ruleset: Ruleset) -> None:
    dues, letters = Counter[tuple[Due, str]](), Counter[tuple[str, str]]()
    for moment, seat, lang, kind, letter, bare in letters_about(ruleset):
        if seat != moment.actor or bare is None:
            continue
        position = moment.seats[seat].position
        for line in offered(letter.text, lang):
            assert action_of(line, position.course.state) in position.legal, (kind, line)
            dues[moment.due, lang] += 1
            letters[kind, lang] += 1
    expected = {Due.ACT, Due.ANSWER} | ({Due.ORDER, Due.PICK} if ruleset.name == "geishas-road" else set())
    assert set(dues) == {(due, lang) for due in expected for lang in LANGUAGES}
    kinds = ("turn", "remind1", "show", "asked-sender", "not-understood", "not-understood-bare", "help")
    assert set(letters) >= {(kind, lang) for kind in kinds for lang in LANGUAGES}


@every_game
def test_letters_that_are_in_the_place_of_the_one_about_a_turn_offer_moves_and_show_the_hand(ruleset: Ruleset) -> None:
    names = {
        TurnFacts: "turn",
        OnRecordFacts: "on-record",
        TurnOverFacts: "turn-over",
        ShowFacts: "show",
        CalledOffFacts: "called-off",
    }
    kinds = {names[each] for each in SHOW_TURN}
    found = Counter[str]()
    for moment, seat, lang, kind, letter, bare in letters_about(ruleset):
        if seat != moment.actor or kind not in kinds or bare is None:
            continue
        hand = " ".join(GameWords(moment.seats[seat], Page(SPEAKERS[lang])).brief.hand()).replace(TIE, " ")
        assert offered(letter.text, lang), (kind, letter.text)
        assert hand, kind
        assert hand in " ".join(letter.text.split()), (kind, letter.text)
        found[kind] += 1
    assert set(found) == kinds


@every_game
def test_the_letter_of_moves_has_every_legal_move_once(ruleset: Ruleset) -> None:
    for moment, seat, lang, kind, letter, bare in letters_about(ruleset):
        if seat != moment.actor or kind != "moves" or bare is None:
            continue
        text = letter.text.partition(RULE)[2]
        listed = offered(text, lang)
        if not listed:
            listed = [part for line in text.split("\n") if line.startswith("  ") for part in line.split("  ") if part]
        position = moment.seats[seat].position
        assert sorted(action_of(each, position.course.state) for each in listed) == sorted(position.legal)


def _under_answer(facts: SeatFacts, lang: str) -> list[str]:
    """The line that agrees to call a game off."""
    lines = write_letter(AnnulFacts(facts, by_mail=True), SPEAKERS[lang]).text.split("\n")
    return [each for before, each in pairwise(lines) if before.endswith(("answer:", "rispondi:"))]


@every_language
def test_every_word_that_a_letter_names_is_a_command(lang: str) -> None:
    """Words in a letter are set off by two spaces; a word that is not read would lead nowhere."""
    found: set[str] = set()
    table = Table(Hanamikoji(), 1, agreement=AGREED).begin()
    facts = seat_of(table, table.course.actor or 0)
    for _, each in (*letters_of_game(facts, b""), *letters_of_no_game("bob", facts, lang)):
        letter = write_letter(each, SPEAKERS[lang])
        for line in letter.text.split("\n"):
            if line.startswith(("Other words:", "Altre parole:")):
                found |= {*line.partition(":")[2].strip().split("  ")}
    table_of_help = write_letter(HelpFacts(), SPEAKERS[lang]).text
    for line in table_of_help.split("\n"):
        if line.startswith("  ") and "(" in line and ":" in line:
            for part in re.split(r"[(),:]", line.partition(": ")[0]):
                found |= {part.strip()} - {""}
        elif line.startswith(("  new ", "  nuova ")):
            found.add(line.partition(":")[0].strip())
    found |= {line.strip() for line in _under_answer(facts, lang)}
    kinds = set()
    for word in found:
        read = read_orders([word])
        assert not isinstance(read, OrderFault), (word, read)
        kinds.add(read[0].kind)
    assert kinds >= {OrderKind.SHOW, OrderKind.RULES, OrderKind.RESIGN, OrderKind.STOP, OrderKind.NOT_ME}
    assert kinds >= {OrderKind.LANG, OrderKind.CARDS, OrderKind.QUIET, OrderKind.START, OrderKind.CALL_OFF}
    assert OrderKind.NEW in kinds


# --- what is not shown ------------------------------------------------------------------------------------------------


def cards_in(text: str, ruleset: Ruleset) -> list[str]:
    """Parts of a text that look like a card or a move: a card by itself, or notation."""
    card = "[A-E][1-4]" if ruleset.name == "geishas-road" else "[A-G]"
    bare = re.findall(rf"(?<![\w']){card}(?![\w'])", text)
    return bare + re.findall(rf"(?<!\w)(?:[1-4RIGC?-](?:{card})+|{card}{{2,}})(?!\w)", text)


@every_game
def test_subject_and_first_paragraph_have_no_card_and_without_cards_a_letter_has_none_at_all(ruleset: Ruleset) -> None:
    told = 0
    for _, _, _, kind, letter, bare in letters_about(ruleset):
        if bare is not None:
            head = f"{letter.subject}\n{first_paragraph(letter)}"
            if not kind.startswith("not-understood"):  # that begins with the reader's own line, and what is wrong there
                assert not cards_in(head, ruleset), (kind, head)
            assert not cards_in(bare.text, ruleset), (kind, bare.text)
            assert not bare.attachments
            told += bool(cards_in(letter.text, ruleset))
    assert told > 100


# --- nothing leaks ----------------------------------------------------------------------------------------------------


def told(ruleset: Ruleset, seed: int, events: tuple[Event, ...], deals: dict[str, Dealt]) -> Iterator[Table]:
    """A game with these events, before its first decision and after each; same keys, entropy and salts each time."""
    table = Table(ruleset, seed, names=("alice", "bob"), agreement=AGREED)
    deals[table.server_seed] = dealt(events)
    table.begin()
    yield table
    for event in decisions(events):
        table.wait(3600).send(table.move(event.action))
        yield table


def begun(ruleset: Ruleset, seed: int) -> tuple[Event, ...]:
    """The events of a random game before some decision. Events that happen by themselves until then are among them."""
    game = random_game(ruleset, seed, 2)
    places = [at for at, event in enumerate(game.events) if isinstance(event, DECISIONS)]
    return game.events[: random.Random(seed).choice(places[3:])]


def without_heads(letter: Letter, table: Table) -> str:
    """The letter with its head replaced: heads are hashes over commitments to hidden cards."""
    head = table.course.head
    return f"{letter.subject}\n{letter.text}".replace(f"{head[:4]}\u2026{head[-4:]}", "HEAD")


def differing(ruleset: Ruleset, seed: int, seat: int, lang: str) -> tuple[list[str], set[Due]]:
    """The letters to a seat that differ between two games that it cannot tell apart; when their hands did differ."""
    events = begun(ruleset, seed)
    other = redistribute(ruleset, events, seat, random.Random(seed))
    different, compared = [], set[Due]()
    one, two = all_of(ruleset, seed, events, seat, lang), all_of(ruleset, seed, other, seat, lang)
    for first, second in zip(one, two, strict=True):
        if first.hands != second.hands:
            compared.add(first.due)
        assert first.letters.keys() == second.letters.keys()
        different += [kind for kind in first.letters if first.letters[kind] != second.letters[kind]]
    return different, compared


class Told(NamedTuple):
    """A seat's letters when something was due, by kind, and the hands that there really were."""

    due: Due
    hands: tuple[int, int]
    letters: dict[str, str]


def all_of(ruleset: Ruleset, seed: int, events: tuple[Event, ...], seat: int, lang: str) -> list[Told]:
    """All that a seat is told at the last moment of a game for each kind of state."""
    deals: dict[str, Dealt] = {}
    found = list[Told]()
    with chosen_deals(deals):
        dues = [(table.course.state.due, table.course.actor) for table in told(ruleset, seed, events, deals)]
        for at, table in enumerate(told(ruleset, seed, events, deals)):
            if dues[at] not in dues[at + 1 :]:
                letters = {kind: without_heads(each, table) for kind, each in written(seat_of(table, seat), b"", lang)}
                found.append(Told(dues[at][0], table.refereed.course.state.hands, letters))
    return found


@every_game
def test_letters_are_equal_for_everything_that_their_reader_cannot_know(ruleset: Ruleset) -> None:
    total = Counter[tuple[Due, str]]()
    for seed in range(4):
        for seat in SEATS:
            lang = ("en", "it")[(seed + seat) % 2]
            different, compared = differing(ruleset, seed, seat, lang)
            assert different == []
            total.update((due, lang) for due in compared)
    assert {(due, lang) for due in (Due.ACT, Due.ANSWER) for lang in LANGUAGES} <= set(total)
    assert total.total() > 10


@every_game
def test_a_planted_leak_is_found(ruleset: Ruleset, monkeypatch: pytest.MonkeyPatch) -> None:
    """A brief that knows the whole game shows the other hand; the comparison above must see that."""
    everything: dict[str, State] = {}
    send = Table.send

    def sending(table: Table, submission: Submission, at: str = "") -> tuple[Line, ...]:
        lines = send(table, submission, at)
        everything[table.course.head] = table.refereed.course.state
        return lines

    kind = brief_type(ruleset.name)
    left = kind.left

    def leaking(brief: Brief) -> Iterator[str]:
        yield from left(brief)
        known = everything.get(brief.position.course.head)
        yield "" if known is None else f"Peek: {known.hands[1 - brief.me]}."

    monkeypatch.setattr(Table, "send", sending)
    monkeypatch.setattr(kind, "left", leaking)
    assert any("turn" in differing(ruleset, seed, seat, "en")[0] for seed in range(6) for seat in SEATS)


# --- single letters ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ruleset", GAMES[:2], ids=("hanamikoji", "geishas-road"))
def test_only_the_position_and_the_end_name_an_entry_and_a_head(ruleset: Ruleset) -> None:
    """Most readers can do nothing with them."""
    table = Table(ruleset, 1, names=("alice", "bob"), agreement=AGREED).begin().play(5)
    assert table.course.actor is not None
    for kind, letter in written(seat_of(table, table.course.actor), b"", "en"):
        assert bool(re.search(r"\bentry \d|head [0-9a-f]{4}", letter.text)) is (kind == "show"), kind
    over = seat_of(table.play(), 0)
    head = table.course.head
    for facts in (OverFacts(over, b"{}\n"), OnRecordFacts(over, "move", over.now, log=b"{}\n")):
        said = f"Log: entry {table.course.seq}, head {head[:4]}\u2026{head[-4:]}."
        assert said in write_letter(facts).text


@pytest.mark.parametrize(
    ("zone", "said"),
    [
        ("", "until Mon 23 Nov 12:00 UTC, then"),
        ("+00:00", "until Mon 23 Nov 12:00 UTC, then"),
        ("+01:00", "until Mon 23 Nov 12:00 UTC (13:00 at UTC+1), then"),
        ("-03:30", "until Mon 23 Nov 12:00 UTC (08:30 at UTC-3:30), then"),
        ("+12:45", "until Mon 23 Nov 12:00 UTC (Tue 00:45 at UTC+12:45), then"),
    ],
)
def test_times_are_in_the_zone_of_the_reader_too_if_it_is_known(zone: str, said: str) -> None:
    table = Table(Hanamikoji(), 1, agreement=AGREED).begin()
    assert table.course.actor is not None
    facts = seat_of(table, table.course.actor)._replace(zone=zone)
    assert said in " ".join(write_letter(TurnFacts(facts)).text.split())


@pytest.mark.parametrize(
    ("clock", "wait", "said"),
    [
        ("3d/14d", 0, "You have 3 days, until Mon 23 Nov 12:00 UTC, then 14 days in reserve."),
        ("3d/14d", 2 * 86400, "You have 1 day, until Mon 23 Nov 12:00 UTC, then 14 days in reserve."),
        ("3d/14d", 5 * 86400, "Your reserve is running, and 12 days of it are left."),
        ("3d/14d", 20 * 86400, "Your time was over on Mon 7 Dec 12:00 UTC"),
        ("3d", 0, "You have 3 days, until Mon 23 Nov 12:00 UTC."),
        ("/14d", 0, "Your reserve is running, and 14 days of it are left."),
        ("none", 0, "The game has no clock: you have all the time you like."),
    ],
)
def test_the_clock_is_said_as_it_is(clock: str, wait: int, said: str) -> None:
    table = Table(Hanamikoji(), 1, agreement=Agreement(parse_time_control(clock))).begin().wait(wait)
    assert table.course.actor is not None
    assert said in first_paragraph(write_letter(TurnFacts(seat_of(table, table.course.actor))))


def test_an_answer_not_understood_changes_nothing_and_says_what_to_write() -> None:
    table = Table(Hanamikoji(), 1, names=("bob", "alice"), agreement=AGREED).begin().play(5)
    facts = NotUnderstoodFacts("2bb", tell("you have only one B"), seat_of(table, 1), ("2AB", "2BC"), more=True)
    letter = write_letter(facts)
    assert letter.text.startswith(
        "I could not read a line of your mail, so nothing was done: 2bb\n"
        "You have only one B.\n"
        "Leave an empty line after your move: what stands below it is not read.\n"
        "It is still your turn, until Mon 23 Nov 12:00 UTC;"
    )
    first = write_letter(facts._replace(more=False, line="take ab Bob"))
    assert first.text.startswith(
        "I could not read the first line of your mail, so nothing was done:\ntake ab Bob\nYou have"
    )
    illegal = write_letter(facts._replace(read=True))
    assert illegal.text.startswith("I could not do what you wrote, so nothing was done: 2bb\nYou have only one B.\n")
    assert offered(letter.text, "en") == ["2ab", "2bc"]


def test_a_fault_of_form_is_told_as_one_of_the_mail_program() -> None:
    seat = seat_of(Table(Hanamikoji(), 1, agreement=AGREED).begin().play(5), 1)
    for reason, what in (
        (tell("its Message-ID is not one id in angle brackets"), "Message-ID"),
        (tell("a Content-Type field names no type"), "Content-Type"),
        (tell("its text is not valid base64"), "its text is not valid base64"),
    ):
        for facts in (UnreadableFacts(reason), UnreadableFacts(reason, seat)):
            text = " ".join(write_letter(facts).text.split())
            assert text.startswith(
                f"Your mail program sent this in a form that this service does not read ({what}). Nothing that you "
                "wrote is wrong. Try your provider's web page. Nothing was done, so send it once more."
            )
            assert (f"In detail: {reason}." in text) is (what != reason)
    other = write_letter(UnreadableFacts(tell("it came from another address than yours"), seat, form=False))
    assert other.text.startswith("Mail in your name could not be used, so nothing was done: it came")
    assert "mail program" not in other.text


def test_a_limit_says_when_it_is_possible_again() -> None:
    reason = tell(
        "{name} has asked for {limit} games; again after {time}", name="bob", limit=5, time="2026-11-21T09:30:15Z"
    )
    facts = NotUnderstoodFacts("new hanamikoji carl c@mail.example", reason, read=True, now="2026-11-20T12:00:00Z")
    text = " ".join(write_letter(facts._replace(zone="+01:00")).text.split())
    assert text.startswith("I could not do what you wrote, so nothing was done: new hanamikoji carl")
    assert "Bob has asked for 5 games; again after Sat 21 Nov 09:30 UTC (10:30 at UTC+1)." in text


def test_the_last_answer_of_a_day_says_when_there_are_answers_again() -> None:
    limit = LastTodayFacts("2026-11-21T00:00:00Z", "2026-11-20T12:00:00Z", "+01:00")
    text = " ".join(write_letter(ManyFacts((HelpFacts(), limit))).text.split())
    assert "Everything is answered again from Sat 21 Nov 00:00 UTC (01:00 at UTC+1) on." in text


def test_the_last_order_of_a_game_is_answered_with_the_log_unless_cards_are_not_wanted() -> None:
    table = Table(Hanamikoji(), 1, names=("bob", "alice"), agreement=AGREED).begin().play(None)
    facts = OnRecordFacts(seat_of(table, 1), "move", table.now, log=b"a log\n")
    letter = write_letter(facts)
    assert [each.content for each in letter.attachments] == [b"a log\n"]
    assert "hkoji audit" in letter.text
    bare = write_letter(facts._replace(seat=facts.seat._replace(cards=False)))
    assert not bare.attachments
    assert "answer  log" in bare.text


@pytest.mark.parametrize(
    ("held", "grade", "of_alice", "of_bob"),
    [
        ((), MailGrade.TOKEN, "alice has a key of their own", "You play with your own key"),
        ((1,), MailGrade.TOKEN, "alice has a key of their own", "You play by mail, on the service's word"),
        ((1,), MailGrade.DKIM, "alice has a key of their own", "You play by mail, as the service claims"),
        (
            (0, 1),
            MailGrade.TOKEN,
            "alice plays by mail, on the service's word",
            "You play by mail, on the service's word",
        ),
        ((0,), MailGrade.DKIM, "alice plays by mail, as the service claims", "You play with your own key"),
    ],
)
def test_the_position_and_the_end_say_what_the_log_proves_about_each_seat(
    held: tuple[int, ...], grade: MailGrade, of_alice: str, of_bob: str
) -> None:
    table = held_game(5, held=held, grade=grade).play(2)
    said = [write_letter(ShowFacts(seat_of(table, 1)))]
    facts = seat_of(table.play(), 1)
    said += [write_letter(each) for each in (ShowFacts(facts), OverFacts(facts, b"{}\n"))]
    said += [write_letter(OnRecordFacts(facts, "move", facts.now, log=b"{}\n"))]
    for letter in said:
        text = " ".join(letter.text.split())
        assert [text.count(each) for each in (f"{of_alice}:", f"{of_bob}:")] == [1, 1]
        assert sum(text.count(each) for each in (" plays ", "You play ", " has a key of their own")) == 2


@pytest.mark.parametrize("ruleset", GAMES[:2], ids=("hanamikoji", "geishas-road"))
def test_an_invitation_says_the_whole_agreement_and_who_signs(ruleset: Ruleset) -> None:
    agreed = Agreement(parse_time_control("1d/7d+12h^10d", "67", "+01:00"), "2026-12-01T12:00:00Z")
    asked = InvitationFacts("bob", ORIGIN, "2026-11-20T12:00:00Z", "alice", "ab" * 16, ruleset, agreed)
    text = " ".join(write_letter(asked).text.split())
    for said in (
        "alice invites you to play",
        "You have until Tue 1 Dec 12:00 UTC.",
        "Chance decides who starts.",
        "Each player has 1 day for each turn, and 7 days in reserve for the whole game.",
        "Each turn adds 12 hours to the reserve, up to 10 days.",
        "These days do not count: Saturday and Sunday (time zone +01:00).",
        "The invitation ends on Tue 1 Dec 12:00 UTC.",
        "The game is not rated.",
        "The service signs for you",
        "such as the provider of your mailbox, can read your cards",
        "The clock runs whatever happens to letters",
    ):
        assert said in text
    unproven = "Nobody can show that the service did not choose these cards."
    assert unproven not in text
    assert unproven in " ".join(write_letter(asked._replace(host_held=True)).text.split())
    rated = asked._replace(agreement=agreed._replace(rated=True))
    assert "The game is rated." in write_letter(rated).text


def test_a_game_without_a_brief_of_its_own_has_letters_too() -> None:
    """The made-up game has a board only."""
    table = Table(Showdown(), 1, names=("alice", "bob"), agreement=AGREED).begin().play(1)
    assert table.course.actor is not None
    facts = seat_of(table, table.course.actor)
    found = dict(written(facts, b"", "en"))
    assert all(len(line) <= WIDTH for letter in found.values() for line in letter.text.split("\n"))
    lines = offered(found["turn"].text, "en")
    assert lines
    assert {action_of(line, facts.position.course.state) for line in lines} <= {*facts.position.legal}


def test_several_letters_of_a_game_are_one_and_of_several_games_have_no_cards() -> None:
    table = Table(Hanamikoji(), 1, names=("bob", "alice"), agreement=AGREED).begin().play(5)
    other = Table(GeishasRoad(), 2, names=("carl", "alice"), agreement=AGREED).begin().play(6)
    turn = TurnFacts(seat_of(table, 1))
    assert write_letter(ManyFacts((turn, turn))) == write_letter(turn)
    asked = write_letter(ManyFacts((ShowFacts(turn.seat), SettingFacts("cards", "on"), MovesFacts(turn.seat))))
    assert asked.subject == write_letter(turn).subject
    assert "Letters to you show your cards from now on." in first_paragraph(asked)
    assert "  2ab  2ac  2ad" in asked.text
    assert "On the table, by geisha and her charm:" in asked.text
    assert asked.text.count("You hold A B C D G.") == 1
    both = write_letter(ManyFacts((turn, TurnFacts(seat_of(other, other.course.actor or 0)))))
    assert both.subject == "hkoji by mail"
    assert not cards_in(both.text.replace(" A ", " "), table.ruleset)
    assert "There is news of 2 games." in both.text


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("2bb", "2bb"),
        ("s\u00ec, gioco  C", "s\u00ec, gioco C"),
        ("http://evil.example/pay now", "http?//evil?example/pay now"),
        ("www.evil.example", "?evil?example"),
        ("a@b.example", "a?b?example"),
        ("1e. 2.5", "1e. 2.5"),
        ("\u202emove\u0007 \u4e2d", "?move? ?"),
        ("x" * 200, "x" * 37 + "..."),
    ],
)
def test_a_line_of_a_mail_is_shown_without_what_could_mislead(line: str, shown: str) -> None:
    assert harmless(line) == shown


@given(
    st.text(st.sampled_from(f"ab.,;-\u00e8 \t\n\u00a0\u2028{TIE}"), max_size=100),
    st.sampled_from([("", ""), ("  ", "     "), ("- ", "  ")]),
)
def test_a_text_that_fits_on_a_line_is_folded_as_any_other(text: str, margin: tuple[str, str]) -> None:
    indent, hanging = margin
    joined = re.sub(f"{TIE}(?=[.,;:)])", "", text).replace(f" {TIE}", TIE * 2)
    assert fold(text, indent, hanging) == wrapped(joined, indent, hanging)


# Every letter that can be written is in one of the tables above, so none is written without being read back here.
def test_the_samples_have_every_kind_of_letter() -> None:
    table = Table(Hanamikoji(max_rounds=1), 1, agreement=AGREED).begin()
    found = set()
    while True:
        facts = seat_of(table, table.course.actor if table.course.actor is not None else 1)
        made = [each for _, each in (*letters_of_game(facts, b""), *letters_of_no_game("bob", facts, "en"))]
        found |= {type(each) for each in made}
        found |= {type(part) for each in made if isinstance(each, ManyFacts) for part in each.letters}
        if table.course.finished:
            break
        table.play(1)
    assert found == {*KINDS, ManyFacts}
