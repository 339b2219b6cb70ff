"""The tests of offers, settings, blocks and filtered lists that every store must pass."""

from __future__ import annotations

import asyncio
import json
import random
from itertools import count, product

import pytest
from hkoji_server.store.choices import MOST_BLOCKS
from hkoji_server.store.contract import Store
from hkoji_server.store.game_lists import cursor_of
from hkoji_server.store.game_values import GameSummary, NewGame, OfferQuota, OpenFilter, Query

from hkoji.errors import IllegalError, NotFoundError, TooManyGamesError
from hkoji.game.clock import add_seconds
from tests.support.loops import run
from tests.support.rows import a_player
from tests.support.table import AT, Table
from tests.support.times import now

DAY = 24 * 3600
CLOCKS = (None, (0, DAY - 1), (0, DAY), (3600, DAY - 3600), (DAY, 30 * DAY), (DAY, 30 * DAY + 1), (60 * DAY, 0))
"""`move` and `bank` of agreements, on both sides of every limit."""


def registered(store: Store, *names: str, at: str = AT) -> None:
    for name in names:
        assert run(store.add_player(a_player(name, f"key of {name}", at, "text", "sig"))) is None


def offered(seed: int, player: str, quota: OfferQuota | None, at: str | None = None) -> NewGame:
    """The new game of an offer of a player."""
    table = Table(seed=seed)
    entry = table.lines[0].entry
    summary = GameSummary(table.game, "{}", "{}", "offered", None, None, None, 0, entry.head, 0, None, None, AT, AT)
    return NewGame(summary, table.lines[0], "5e" * 32, player, at or now(), 0, quota)


def listed(number: int, **changes: object) -> NewGame:
    """A new game that is on lists."""
    made = offered(number, "alice", None)
    created = add_seconds(AT, number // 3)
    fields = {"status": "open", "host": "alice", "created": created, "updated": created, **changes}
    return NewGame(made.summary._replace(**fields), made.line, made.seed, "alice", now(), 0)  # type: ignore[arg-type] # by name


class ChoiceContract:
    """The promises of `hkoji_server.store.choices`, of quotas and of `OpenFilter`."""

    # --- offers ---------------------------------------------------------------------------------------------------

    def test_a_quota_counts_the_offers_of_one_player_in_a_time(self, store: Store) -> None:
        registered(store, "alice", "bob")
        numbers = count(1000)

        def ask(player: str, since: str, most: int = 3) -> NewGame:
            quota = OfferQuota(since, most, most)
            new = offered(next(numbers), player, quota)
            try:
                run(store.verify_may_offer(player, quota))
            except TooManyGamesError as error:
                with pytest.raises(TooManyGamesError, match=str(error)):
                    run(store.add_game(new))
                raise
            run(store.add_game(new))
            return new

        before = add_seconds(now(), -DAY)
        for _ in range(3):
            ask("alice", before)
        with pytest.raises(TooManyGamesError, match="alice has asked for 3 games within 24 hours") as raised:
            ask("alice", before)
        assert "nothing was created; ask again after 2" in raised.value.hint
        assert run(store.head(offered(1003, "alice", None).summary.game)) is None
        ask("bob", before)
        ask("alice", before, most=4)
        with pytest.raises(TooManyGamesError):
            ask("alice", before, most=4)
        run(store.add_game(offered(next(numbers), "alice", None)))  # nobody counts
        with pytest.raises(TooManyGamesError):
            ask("alice", before, most=4)
        ask("alice", add_seconds(now(), 1), most=1)  # all are older

    def test_a_removed_offer_still_counts(self, store: Store) -> None:
        registered(store, "alice")
        quota = OfferQuota(add_seconds(now(), -DAY), 1, 1)
        first = offered(1, "alice", quota)
        run(store.add_game(first))
        assert run(store.remove_expired(now(), "9999", 10)).offers == 1
        assert run(store.head(first.summary.game)) is None
        with pytest.raises(TooManyGamesError):
            run(store.add_game(offered(2, "alice", quota)))

    def test_a_withdrawn_offer_does_not_count(self, store: Store) -> None:
        registered(store, "alice")
        quota = OfferQuota(add_seconds(now(), -DAY), 1, 1)
        first = offered(1, "alice", quota)
        run(store.add_game(first))
        run(store.withdraw_offer(first.summary.game, "alice"))
        run(store.add_game(offered(2, "alice", quota)))
        with pytest.raises(TooManyGamesError):
            run(store.add_game(offered(3, "alice", quota)))

    def test_a_new_name_may_ask_for_less_until_it_is_a_day_old(self, store: Store) -> None:
        since = add_seconds(now(), -DAY)
        registered(store, "old", at=since)
        registered(store, "new", at=add_seconds(since, 1))
        quota = OfferQuota(since, 3, 1)
        for seed, player in enumerate(("old", "old", "old", "new")):
            run(store.add_game(offered(seed, player, quota)))
        with pytest.raises(TooManyGamesError, match="old has asked for 3 games within"):
            run(store.add_game(offered(10, "old", quota)))
        with pytest.raises(
            TooManyGamesError, match="new has asked for 1 game, which is the limit for the first"
        ) as raised:
            run(store.add_game(offered(11, "new", quota)))
        assert raised.value.hint.endswith(add_seconds(since, DAY + 1))  # when the name is a day old
        later = OfferQuota(add_seconds(since, 1), 3, 1)
        run(store.add_game(offered(12, "new", later)))

    def test_a_new_name_that_may_ask_for_as_much_as_others_hears_what_they_hear(self, store: Store) -> None:
        since = add_seconds(now(), -DAY)
        registered(store, "new", at=add_seconds(since, 1))
        quota, asked = OfferQuota(since, 1, 1), now()
        run(store.add_game(offered(0, "new", quota, asked)))
        with pytest.raises(TooManyGamesError, match="new has asked for 1 game within 24 hours") as raised:
            run(store.add_game(offered(1, "new", quota)))
        assert raised.value.hint.endswith(add_seconds(asked, DAY))  # when the first offer counts no more

    def test_of_many_offers_at_once_as_many_as_allowed_are_made(self, store: Store) -> None:
        registered(store, "alice")
        quota = OfferQuota(add_seconds(now(), -DAY), 5, 5)

        async def ask(seed: int) -> bool:
            try:
                await store.add_game(offered(seed, "alice", quota))
            except TooManyGamesError:
                return False
            return True

        async def ask_all() -> list[bool]:
            return await asyncio.gather(*map(ask, range(20)))

        made = run(ask_all())
        assert sum(made) == 5
        for seed, there in enumerate(made):
            assert (run(store.head(offered(seed, "alice", None).summary.game)) is not None) is there

    # --- settings and blocks --------------------------------------------------------------------------------------

    def test_settings_are_replaced(self, store: Store) -> None:
        registered(store, "alice", "bob")
        assert run(store.settings("alice")) is None
        for text in ("one", "two"):
            run(store.set_settings("alice", text))
            assert (run(store.settings("alice")), run(store.settings("bob"))) == (text, None)

    def test_blocks_have_a_direction_and_are_kept_once(self, store: Store) -> None:
        registered(store, "alice", "bob", "carol")
        for other in ("carol", "bob", "bob"):
            run(store.add_block("alice", other))
        assert run(store.blocks("alice")) == ("bob", "carol")
        assert run(store.is_blocked("alice", "bob"))
        assert not run(store.is_blocked("bob", "alice"))
        with pytest.raises(NotFoundError):
            run(store.add_block("alice", "nobody"))
        assert run(store.blocks("alice")) == ("bob", "carol")
        assert run(store.remove_block("alice", "bob"))
        assert not run(store.remove_block("alice", "bob"))
        assert (run(store.blocks("alice")), run(store.is_blocked("alice", "bob"))) == (("carol",), False)

    def test_a_player_blocks_only_so_many(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("hkoji_server.store.choices.MOST_BLOCKS", 2)
        assert MOST_BLOCKS > 2
        registered(store, "alice", "bob", "carol", "dave")
        for other in ("bob", "carol"):
            run(store.add_block("alice", other))
        with pytest.raises(IllegalError, match="you have blocked 2 players"):
            run(store.add_block("alice", "dave"))
        run(store.add_block("alice", "bob"))
        assert run(store.blocks("alice")) == ("bob", "carol")

    def test_a_finished_game_makes_two_players_known_to_each_other(self, store: Store) -> None:
        for number, (status, host, guest) in enumerate(
            (("finished", "alice", "bob"), ("cancelled", "alice", "carol"), ("playing", "alice", "dave"))
        ):
            run(store.add_game(listed(number, status=status, host=host, guest=guest)))
        for one, other in (("alice", "bob"), ("bob", "alice")):
            assert run(store.have_finished(one, other))
        for other in ("carol", "dave", "alice", "erin"):
            assert not run(store.have_finished("alice", other))
            assert not run(store.have_finished(other, "alice"))

    def test_open_invitations_of_one_host_are_found(self, store: Store) -> None:
        games = [
            listed(number, status=status, host=host, invite=invite)
            for number, (status, host, invite) in enumerate(
                product(("open", "playing", "cancelled"), ("alice", "bob"), ("carol", "dave", None))
            )
        ]
        for each in games:
            run(store.add_game(each))
        wanted = {
            each.summary.game
            for each in games
            if (each.summary.status, each.summary.host, each.summary.invite) == ("open", "alice", "carol")
        }
        assert set(run(store.open_invitations("alice", "carol"))) == wanted
        assert len(wanted) == 1
        assert run(store.open_invitations("carol", "alice")) == ()

    # --- filters --------------------------------------------------------------------------------------------------

    def test_filtered_pages_together_are_exactly_the_games_that_match(self, store: Store) -> None:
        registered(store, "alice", "bob", "carol")
        run(store.add_block("bob", "carol"))
        chance = random.Random("filters")
        games = []
        for number in range(60):
            clock = chance.choice(CLOCKS)
            control = None if clock is None else {"move": clock[0], "bank": clock[1]}
            games.append(
                listed(
                    number,
                    status=chance.choice(("open", "open", "open", "cancelled")),
                    host=chance.choice(("alice", "bob", "carol")),
                    invite=chance.choice((None, None, "bob", "dave")),
                    ruleset=json.dumps({"name": chance.choice(("hanamikoji", "geishas-road"))}),
                    agreement=json.dumps({"clock": control, "rated": chance.random() < 0.5}),
                )
            )
            run(store.add_game(games[-1]))
        summaries = sorted((each.summary for each in games), key=lambda each: (each.created, each.game), reverse=True)
        sizes = set()
        for joinable, joiner, ruleset, rated, speed in product(
            (False, True),
            (None, "bob"),
            (None, "hanamikoji"),
            (None, True, False),
            (None, "none", "fast", "days", "slow"),
        ):
            wanted = OpenFilter(joinable, joiner, ruleset, rated, speed)  # type: ignore[arg-type] # a word of `Speed`
            expected = [each.game for each in summaries if each.status == "open" and matches(each, wanted)]
            found: list[str] = []
            after = None
            while True:
                query = Query(status="open", wanted=wanted, after=after, limit=7)
                page = run(store.games(query))
                found += [each.game for each in page]
                if len(page) < 7:
                    break
                after = cursor_of(query, page[-1])
            assert found == expected, wanted
            sizes.add(len(expected))
        assert len(sizes) > 8


def matches(summary: GameSummary, wanted: OpenFilter) -> bool:
    """Whether a game is to be listed, written without the database. Bob has blocked carol."""
    agreement = json.loads(summary.agreement)
    clock = agreement["clock"]
    first = None if clock is None else clock["move"] + clock["bank"]
    speed = "none" if first is None else "fast" if first < DAY else "days" if first <= 31 * DAY else "slow"
    if wanted.joinable and wanted.joiner is None and summary.invite is not None:
        return False
    not_for_bob = summary.host in ("bob", "carol") or summary.invite not in (None, "bob")
    if wanted.joinable and wanted.joiner is not None and not_for_bob:
        return False
    return (
        wanted.ruleset in (None, json.loads(summary.ruleset)["name"])
        and wanted.rated in (None, agreement["rated"])
        and wanted.speed in (None, speed)
    )
