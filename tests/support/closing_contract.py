"""The tests of closing a mail that every store must pass: with what it leads to, in one transaction, or not at all."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any, Final

import pytest
from hkoji_server.store.closing import Closing
from hkoji_server.store.contract import Store
from hkoji_server.store.game_values import MOST_INVITATIONS, NewGame, OfferQuota
from hkoji_server.store.mail_invitations import NewMailbox
from hkoji_server.store.mail_tables import MailboxMove
from hkoji_server.store.mail_values import EVENTS_OF, RESERVED_SECONDS, ClosedMailError, Mailbox, NewAnswer
from hkoji_server.store.player_tables import Player
from hkoji_server.store.postgres import connections
from hkoji_server.store.tables import GameTable
from hkoji_server.store.time_contract import StaleDecisionError
from sqlalchemy import Connection, select

from hkoji.errors import (
    ConflictError,
    ExistsError,
    ForbiddenError,
    HkojiError,
    RevokedError,
    StorageError,
    TooManyGamesError,
)
from hkoji.game.clock import add_seconds
from hkoji.log.canonical import encode
from hkoji.log.mail_claim import MailClaim, MailGrade
from tests.support import mailboxes
from tests.support.loops import run
from tests.support.mail_contract import (
    FAR,
    add_mailbox,
    evidence,
    invitation,
    key_text,
    later,
    mail,
    outbox,
    token,
    with_mailbox,
)
from tests.support.rows import a_certificate, a_code, a_player, a_retired_key, an_entropy, replace
from tests.support.table import Table
from tests.support.time_contract import FIRST, MOMENT, SECOND, THIRD, Clocked, append_summary, gift, record
from tests.support.times import log_time
from tests.support.waiting_contract import new_game, next_line

HOST: Final = key_text(200)
"""The key of alice, with which all is entered here."""

ROUNDS: Final = 5
Two = tuple[Store, Store]
Make = Callable[[Store, Table], Closing]
"""Makes the end of a mail that is in the store."""
Write = Callable[..., Coroutine[Any, Any, object]]
"""A write that closes a mail, of a table, with changes of what it writes by name."""


async def closes(store: Store, _: Table, closing: Closing, **__: Any) -> None:  # Any: what only others have
    await store.close_incoming(closing)


async def appends(store: Store, table: Table, closing: Closing, **changes: Any) -> None:  # Any: fields by name
    await store.append(replace(next_line(table, 0), closing=closing, **{"key": HOST, **changes}))


async def states(store: Store, table: Table, closing: Closing, **changes: Any) -> None:  # Any: arguments by name
    given: dict[str, Any] = {"deadline": None, "outages": 0, "key": HOST, **changes}
    assert await store.add_statement(gift(table, 0), after=SECOND, closing=closing, **given)


async def opens(
    store: Store,
    table: Table,
    closing: Closing | None,
    *,
    host: str = "alice",
    invite: str = "",
    quota: OfferQuota | None = None,
    **changes: Any,  # Any: fields by name
) -> None:
    """Adds a game that `host` opens, and to which somebody is invited."""
    append = next_line(table, 0, status="open", host=host, guest=None, invite=invite or f"guest of {table.game}")
    append = replace(append, opens=True, closing=closing, **{"key": HOST, **changes})
    new = NewGame(append_summary(table), table.lines[0], "5e" * 32, host, append.at, append.outages, quota)
    await store.add_game(new, append)


async def together(*writes: Awaitable[Any]) -> list[Any]:  # Any: each write has a result of its own
    """The results of writes that begin at once, or their errors."""
    return list(await asyncio.gather(*writes, return_exceptions=True))


WRITES: Final[dict[str, Write]] = {"close": closes, "append": appends, "statement": states, "game": opens}


def table_for(store: Store, write: str, seed: int = 1) -> Table:
    """A game to write to, which is in the store unless the write adds it."""
    return Table(seed=seed).begin().play(4) if write == "game" else new_game(store, seed)


def everything(store: Store, *but: str) -> dict[str, list[str]]:
    """All rows of the store by table, but those in which one of the words is."""

    def read(connection: Connection) -> dict[str, list[str]]:
        tables = GameTable.metadata.sorted_tables
        rows = {each.name: map(str, map(tuple, connection.execute(select(each)).all())) for each in tables}
        return {
            name: sorted(row for row in found if not any(word in row for word in but)) for name, found in rows.items()
        }

    return run(store._holding(read))


def kept(store: Store, box: Mailbox, number: int) -> int:
    """A mail to a mailbox that waits, by its number in the store."""
    found = run(store.add_incoming(mail(box, number))).number
    assert found is not None
    return found


def accepting(store: Store, table: Table) -> Closing:
    """The end of the mail with which bob accepts an invitation, with a value in every field that it may have."""
    run(store.add_identity("key", "http://service"))
    run(store.add_player(a_player("alice", HOST, FIRST, "text", "sig")))
    new = invitation()
    run(store.invite_mailbox(new))
    run(mailboxes.keep_reply(store, token(1)))
    box = new.mailbox
    return Closing(
        kept(store, box, 1),
        was=box,
        result='{"done":1}',
        answers=(NewAnswer(table.game, box.channel, FIRST), NewAnswer("", box.channel, FIRST)),
        replies=(token(1, spent=SECOND, answers='{"n":1}'), token(2)),
        mailbox=replace(box, state="active", since=SECOND, lang="it", heard=SECOND),
        code=a_code("code", FAR, name="bob"),
        registers=a_player("bob", box.held_key, SECOND, "text", "sig"),
        answered=SECOND,
        settings='{"quiet":1}',
        evidence=evidence(1, game=table.game),
        entropy=an_entropy(table.game, "bob", "5e" * 32),
        signed="signed",
    )


def moving(store: Store, table: Table) -> Closing:
    """The end of the mail with which bob confirms another address."""
    box = with_mailbox(store)
    new = Mailbox("channel-9", "bob", "bob@example.net", "", "en", "asked", FIRST, confirm="move.9")
    asked = run(store.ask_mailbox(NewMailbox(new, "{}", None)))
    certificate = a_certificate(f'{{"at":"{SECOND}"}}', box.held_key, new.address, "5a")
    move = MailboxMove(box.channel, asked.channel, certificate, SECOND)
    answers = tuple(NewAnswer(table.game, each, FIRST) for each in move[:2])
    return Closing(kept(store, box, 1), was=box, result="{}", answers=answers, move=move, signed="signed")


# --- what makes a write impossible ------------------------------------------------------------------------------------

Changed = tuple[Closing, dict[str, Any]]  # Any: changes of a write by name


def closed(store: Store, closing: Closing, _: Table) -> Changed:
    run(store.close_incoming(Closing(closing.mail)))
    return closing, {}


def set_aside(store: Store, closing: Closing, _: Table) -> Changed:
    assert run(store.set_aside(closing.mail))
    return closing, {}


def unknown(_: Store, closing: Closing, __: Table) -> Changed:
    return replace(closing, mail=77), {}


def signed_before(store: Store, closing: Closing, _: Table) -> Changed:
    assert closing.was is not None
    run(store.close_incoming(Closing(kept(store, closing.was, 2), signed=closing.signed)))
    return closing, {}


def blocked(store: Store, closing: Closing, _: Table) -> Changed:
    assert closing.was is not None
    run(store.change_mailbox(replace(closing.was, state="blocked")))
    return closing, {}


def name_taken(store: Store, closing: Closing, _: Table) -> Changed:
    taken = a_player("bob", key_text(99), add_seconds(FIRST, RESERVED_SECONDS), "text", "sig")
    assert run(store.add_player(taken)) is None
    return closing, {}


def not_asked(store: Store, closing: Closing, _: Table) -> Changed:
    assert closing.move is not None
    asked = run(store.mailbox(closing.move.asked))
    assert asked is not None
    run(store.change_mailbox(replace(asked, state="blocked")))
    return closing, {}


def evidence_kept(store: Store, closing: Closing, _: Table) -> Changed:
    """As none is made by chance: it shows that what was written before the last row does not stay."""
    assert closing.was is not None
    run(store.close_incoming(Closing(kept(store, closing.was, 2), evidence=closing.evidence)))
    return closing, {}


def entropy_kept(store: Store, closing: Closing, _: Table) -> Changed:
    assert closing.was is not None
    run(store.close_incoming(Closing(kept(store, closing.was, 2), entropy=closing.entropy)))
    return closing, {}


def moved_on(store: Store, closing: Closing, table: Table) -> Changed:
    if run(store.summary(table.game)) is None:
        new_game(store, 1)
    else:
        run(store.append(next_line(table, 0)))
    return closing, {}


def outage(store: Store, closing: Closing, _: Table) -> Changed:
    run(record(store, "2026-11-25T00:00:00Z", "2026-11-25T01:00:00Z"))
    return closing, {}


def key_revoked(store: Store, closing: Closing, _: Table) -> Changed:
    run(store.revoke_key(a_retired_key(HOST, "alice", SECOND, revoked=True)))
    return closing, {}


def invited_key_revoked(store: Store, closing: Closing, _: Table) -> Changed:
    run(store.revoke_key(a_retired_key(key_text(1), "bob", SECOND, revoked=True)))
    return closing, {"invited_key": key_text(1)}


def too_many_invitations(store: Store, closing: Closing, _: Table) -> Changed:
    for seed in range(20, 20 + MOST_INVITATIONS):
        run(opens(store, Table(seed=seed).begin(), None, invite="dave"))
    return closing, {"invite": "dave"}


def too_many_offers(_: Store, closing: Closing, __: Table) -> Changed:
    return closing, {"quota": OfferQuota(FIRST, 0, 0)}


REFUSALS: Final[dict[Callable[[Store, Closing, Table], Changed], tuple[str, Make, type[HkojiError]]]] = {
    closed: ("close append statement game", accepting, ClosedMailError),
    set_aside: ("close append statement game", accepting, ClosedMailError),
    unknown: ("close append statement game", accepting, ClosedMailError),
    signed_before: ("close append statement game", accepting, StaleDecisionError),
    blocked: ("close append statement game", accepting, ForbiddenError),
    name_taken: ("close append statement game", accepting, ExistsError),
    not_asked: ("close append statement game", moving, StaleDecisionError),
    evidence_kept: ("close append statement game", accepting, StorageError),
    entropy_kept: ("close append statement game", accepting, StorageError),
    moved_on: ("append statement game", accepting, ConflictError),
    outage: ("append statement game", accepting, StaleDecisionError),
    key_revoked: ("append statement game", accepting, RevokedError),
    invited_key_revoked: ("game", moving, StaleDecisionError),
    too_many_invitations: ("game", accepting, TooManyGamesError),
    too_many_offers: ("game", accepting, TooManyGamesError),
}
"""The reasons that make writes impossible, each with the writes, the mail that they close, and the error."""


class ClosingContract:
    """The promises of `Closing`, with whatever write it comes."""

    @pytest.mark.parametrize("make", [accepting, moving])
    @pytest.mark.parametrize("write", WRITES)
    def test_a_mail_is_closed_with_all_that_it_leads_to(self, store: Store, write: str, make: Make) -> None:
        table = table_for(store, write)
        closing = make(store, table)
        number, was = closing.mail, closing.was
        assert was is not None
        run(WRITES[write](store, table, closing))
        found = run(store.incoming(number))
        assert found is not None
        assert (found.state, found.raw, found.result) == ("done", b"", closing.result)
        letters = [each for each in outbox(store) if each[2] == "answer"]
        assert letters == sorted((each.game, number, "answer", each.channel) for each in closing.answers)
        other = kept(store, was, 2)
        assert [run(store.signed_before(each, "signed")) for each in (number, other)] == [False, True]
        box = run(store.mailbox(was.channel))
        if make is accepting:
            assert closing.registers is not None
            assert run(store.player("bob")) == closing.registers
            assert box == closing.mailbox
            (channel,) = run(store.channels("bob"))
            assert (channel.settings, channel.event_names) == (closing.settings, EVENTS_OF["active"])
            assert [run(store.reply(each.digest)) for each in closing.replies] == list(closing.replies)
            assert run(store.evidence(table.game, "bob")) == (closing.evidence,)
            assert run(store.held_entropy(("", ""), 9)) == (closing.entropy,)
            assert ["'bob'" in each for each in everything(store)["code"]] == [True]
        else:
            assert closing.move is not None
            assert box == replace(was, address="bob@example.net", confirm="move.9", heard=SECOND)
            left = run(store.mailbox(closing.move.asked))
            assert left is not None
            assert (left.address, left.state) == (was.address, "moved")
            assert closing.move.certificate in run(store.certificates(was.held_key))
        if write in ("append", "game"):
            assert run(store.lines(table.game)) == tuple(table.lines[:2])
        if write == "statement":
            assert [each.name for each in run(store.statements(table.game))] == ["bob"]
        before = everything(store)
        with pytest.raises((ClosedMailError, ConflictError)):
            run(closes(store, table, closing) if write == "statement" else WRITES[write](store, table, closing))
        assert everything(store) == before

    @pytest.mark.parametrize(
        ("write", "spoil"), [(write, spoil) for spoil, (writes, *_) in REFUSALS.items() for write in writes.split()]
    )
    def test_a_write_that_is_refused_changes_nothing_and_stops_nobody(
        self, store: Store, write: str, spoil: Callable[[Store, Closing, Table], Changed]
    ) -> None:
        """The others come at the same moment; SQLite's writer puts them into one batch."""
        table = table_for(store, write)
        _, make, error = REFUSALS[spoil]
        closing = make(store, table)
        first, mailed, last = (new_game(store, seed) for seed in (5, 6, 7))
        carol = add_mailbox(store, "carol", 2)
        waiting = Closing(kept(store, carol, 9), was=carol, mailbox=replace(carol, lang="it"))
        closing, changes = spoil(store, closing, table)
        outages, but = len(run(store.outages())), ("carol", first.game, mailed.game, last.game)
        before = everything(store, *but)

        done, refused, *others = run(
            together(
                store.append(replace(next_line(first, 0), outages=outages)),
                WRITES[write](store, table, closing, **changes),
                appends(store, mailed, waiting, key="", outages=outages),
                store.append(replace(next_line(last, 0), outages=outages)),
            )
        )
        assert isinstance(refused, error), refused
        assert [done, *others] == [None] * 3
        assert everything(store, *but) == before
        assert [len(run(store.lines(each.game))) for each in (first, mailed, last)] == [2, 2, 2]
        assert run(store.mailbox(carol.channel)) == waiting.mailbox

    def test_a_write_that_a_mail_has_led_to_may_be_as_old_as_the_mail(self, clocked: Clocked) -> None:
        with clocked(MOMENT) as (store, show):
            tables = [new_game(store, seed) for seed in (1, 2)]
            box = with_mailbox(store)
            numbers = [kept(store, box, number) for number in (1, 2)]
            show(MOMENT + timedelta(hours=9))
            append, given = (
                replace(next_line(tables[0], 0), at=log_time(MOMENT)),
                gift(tables[1], 0, at=log_time(MOMENT)),
            )
            with pytest.raises(StaleDecisionError):
                run(store.append(append))
            with pytest.raises(StaleDecisionError):
                run(store.add_statement(given, deadline=None, after=None, outages=0))
            run(store.append(replace(append, closing=Closing(numbers[0]))))
            run(store.add_statement(given, deadline=None, after=None, outages=0, closing=Closing(numbers[1])))
            assert run(store.head(tables[0].game)) == (1, tables[0].lines[1].entry.head)
            assert run(store.statements(tables[1].game)) == (given,)

    def test_a_larger_gift_takes_the_evidence_of_the_smaller_one_away(self, store: Store) -> None:
        table, box = new_game(store, 1), with_mailbox(store)

        def give(number: int, seconds: int) -> bool:
            mailed = evidence(number, game=table.game)
            claim = encode(MailClaim(mailed.commit, MailGrade.TOKEN).to_json())
            return run(
                store.add_statement(
                    gift(table, 0, seconds, mail=claim),
                    deadline=None,
                    after=None,
                    outages=0,
                    closing=Closing(kept(store, box, number), evidence=mailed),
                )
            )

        def found() -> list[str]:
            return [each.commit for each in run(store.evidence(table.game, "bob"))]

        assert give(1, 3600)
        assert found() == [evidence(1).commit]
        assert give(2, 7200)
        assert found() == [evidence(2).commit]
        before = everything(store, "<3@example.org>")
        for seconds in (7200, 60):
            assert not give(3, seconds)
        assert everything(store, "<3@example.org>") == before
        assert [each.number for each in run(store.waiting_mails(9))] == [3]

    def test_held_entropy_is_read_in_order_and_forgotten_by_itself(self, store: Store) -> None:
        box, made = (
            with_mailbox(store),
            [an_entropy(game, name, "5e") for game in ("a", "b") for name in ("bob", "carol")],
        )
        for number, each in enumerate(reversed(made)):
            run(store.close_incoming(Closing(kept(store, box, number), entropy=each)))
        assert run(store.held_entropy(("", ""), 3)) == tuple(made[:3])
        assert run(store.held_entropy(("a", "carol"), 3)) == tuple(made[2:])
        run(store.forget_entropy("a", "carol"))
        assert run(store.held_entropy(("a", ""), 9)) == (made[0], *made[2:])

    # --- at once --------------------------------------------------------------------------------------------------

    @pytest.fixture
    def two(
        self, opened: Callable[[], AbstractContextManager[Store]], monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[Two]:
        """The stores of two processes, for which a deadlock of PostgreSQL's is an error."""
        refused = set(connections._REFUSED) - {"40P01"}
        assert len(refused) == len(connections._REFUSED) - 1
        monkeypatch.setattr(connections, "_REFUSED", tuple(refused))
        with opened() as one, opened() as two:
            yield one, two

    @pytest.mark.parametrize(
        ("pair", "same"),
        [
            *((pair, False) for pair in itertools.combinations_with_replacement(WRITES, 2)),
            *((pair, True) for pair in (("append", "append"), ("append", "statement"), ("statement", "statement"))),
            (("game", "game"), True),
        ],
    )
    def test_of_two_processes_that_close_a_mail_at_once_exactly_one_does(
        self, two: Two, pair: tuple[str, str], same: bool
    ) -> None:
        """Also if both write to the same game: then the second may find another entry, or another deadline."""
        errors = (ClosedMailError, ConflictError, StaleDecisionError) if same else ClosedMailError
        box = with_mailbox(two[0])
        for number in range(ROUNDS):
            tables = [table_for(two[0], write, 2 * number + place) for place, write in enumerate(pair)]
            if same:
                tables[1] = tables[0]
            closing = Closing(kept(two[0], box, number), was=box, mailbox=replace(box, heard=THIRD))
            closing = replace(closing, answers=(NewAnswer("", box.channel, FIRST),))
            proofs = [evidence(2 * number + place, game=table.game) for place, table in enumerate(tables)]
            closings = [replace(closing, evidence=proof) for proof in proofs]
            writes = (WRITES[each[0]](*each[1:]) for each in zip(pair, two, tables, closings, strict=True))
            results = run(together(*writes))
            refused = [each for each in results if each is not None]
            assert [isinstance(each, errors) for each in refused] == [True], results
            won = results.index(None)
            assert run(two[0].evidence(tables[won].game, "bob")) == (proofs[won],)
            assert written(two[0], pair[won], tables[won])
            if not same:
                assert run(two[0].evidence(tables[1 - won].game, "bob")) == ()
                assert pair[1 - won] == "close" or not written(two[0], pair[1 - won], tables[1 - won])

    def test_of_two_players_who_open_a_game_of_one_id_at_once_exactly_one_does(self, two: Two) -> None:
        boxes = with_mailbox(two[0]), add_mailbox(two[0], "carol", 2)
        for number in range(2 * ROUNDS):
            table = Table(seed=number).begin().play(4)
            numbers = [kept(two[0], box, 2 * number + place) for place, box in enumerate(boxes)]
            closings = [
                Closing(mailed, was=box, mailbox=replace(box, heard=THIRD))
                for mailed, box in zip(numbers, boxes, strict=True)
            ]
            openings = (
                opens(store, table, closing, host=box.name, quota=OfferQuota(FIRST, 1000, 1000))
                for store, closing, box in zip(two, closings, boxes, strict=True)
            )
            results = run(together(*openings))
            assert [type(each) for each in results if each is not None] == [ConflictError], results
            won = results.index(None)
            summary = run(two[0].summary(table.game))
            assert summary is not None
            assert (summary.host, summary.seq) == (boxes[won].name, 1)
            rows = [run(two[0].incoming(each)) for each in numbers]
            assert [row and row.state for row in rows] == (["done", "new"] if won == 0 else ["new", "done"])
            run(two[0].close_incoming(Closing(numbers[1 - won])))

    def test_a_mail_ends_in_one_way_whatever_comes_beside_it(self, two: Two) -> None:
        box = with_mailbox(two[0])
        for number in range(3 * ROUNDS):
            tables = {write: table_for(two[0], write, 4 * number + place) for place, write in enumerate(WRITES)}
            waiting, new = kept(two[0], box, 2 * number), mail(box, 2 * number + 1)
            answers = (NewAnswer("", box.channel, FIRST),)
            closing = Closing(waiting, was=box, answers=answers, mailbox=replace(box, heard=THIRD))
            ends = [write(two[place % 2], tables[name], closing) for place, (name, write) in enumerate(WRITES.items())]
            ends.insert(number % 5, two[number % 2].set_aside(waiting, answers=answers))
            came, *ended, again = run(together(two[0].add_incoming(new), *ends, two[1].add_incoming(new)))
            assert {each.outcome for each in (came, again)} == {"added", "repeated"}
            aside = ended.pop(number % 5)
            assert sum(each is None for each in ended) + bool(aside) == 1, ended
            assert {type(each) for each in ended} <= {type(None), ClosedMailError}
            for (name, table), each in zip(tables.items(), ended, strict=True):
                assert name == "close" or written(two[0], name, table) == (each is None)
            run(two[0].close_incoming(Closing(came.number)))

    def test_a_name_whose_reservation_is_over_is_registered_or_reserved_anew_and_not_both(self, two: Two) -> None:
        """Its owner accepts while somebody else is invited under it."""

        async def accepts(channel: str, player: Player, pause: float) -> None:
            await asyncio.sleep(pause)
            await mailboxes.accept(two[0], channel, player)

        for number in range(3 * ROUNDS):
            name, by = f"bob{number}", f"host{number}"
            before = invitation(name, number=2 * number + 1, by=by)
            run(two[0].invite_mailbox(before))
            player = a_player(name, before.mailbox.held_key, FAR, "text", "sig")
            new = later(invitation(name, f"{name}@example.com", number=2 * number + 2, by=by), FAR)
            accepted = accepts(before.mailbox.channel, player, number % ROUNDS * 0.0007)
            results = run(together(accepted, two[1].invite_mailbox(new)))
            assert [type(each) for each in results if isinstance(each, Exception)] == [ExistsError], results


def written(store: Store, write: str, table: Table) -> bool:
    """Whether a write has written to its game what it writes."""
    found = run(store.statements(table.game) if write == "statement" else store.lines(table.game, 0))
    return write == "close" or bool(found)
