"""`hkoji admin` on a database: copies during moves, restored copies, the complete check, free space, figures."""

from __future__ import annotations

import os
import pickle
import random
import shutil
import sqlite3
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hkoji_server import admin
from hkoji_server.service.games.database_check import CheckTally, DatabaseFault

from hkoji.errors import ExistsError, HkojiError, IllegalError, NotFoundError, StorageError, UsageError
from hkoji.game import entry_kinds
from hkoji.log.canonical import encode_base64
from hkoji.log.private_key import PrivateKey
from tests.support.cluster import Cluster
from tests.support.ledger import Ledger, dumped, lost
from tests.support.load import AWAY, NotNowError, Pair, Wire, busy
from tests.support.service import Player, begin, offer_of, serving, two_players
from tests.support.service_in_process import inside

FILE = "hkoji.sqlite3"


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stopped service's folder: games over, with a card face down for each, open, cancelled, and only offered."""
    data = tmp_path_factory.mktemp("played") / "data"
    with inside(data, seed="admin") as service:
        alice = Player(service, "alice", PrivateKey.from_seed(b"a" * 32), "aa" * 32).register()
        bob = Player(service, "bob", PrivateKey.from_seed(b"b" * 32), "bb" * 32).register()
        for over in (True, False):
            game = begin(alice, bob)
            for player in (alice, bob):
                course = player.course(game)
                held: Any = course.state.to_json()["hands"]
                assert player.send(player.make_move(course, f"1{held[player is bob][0]}")).status == 201
            if over:
                assert alice.send(alice.entry(game, alice.head(game), entry_kinds.Resign())).status == 201
        alice.new()
        cancelled = alice.new()
        assert alice.send(alice.entry(cancelled, alice.head(cancelled), entry_kinds.Cancel())).status == 201
        service.ask("POST", "/v1/offers", offer_of(course.setup.ruleset), alice.token)
        new = PrivateKey.from_seed(b"c" * 32)
        assert bob.ask("/v1/players/bob/key", bob.rekeying(new)).status == 200
    return data


@pytest.fixture
def data(played: Path, tmp_path: Path) -> Path:
    """A copy of it, to be changed."""
    return Path(shutil.copytree(played, tmp_path / "data"))


def change(data: Path, statement: str, *values: object) -> int:
    with closing(sqlite3.connect(data / FILE)) as database:
        done = database.execute(statement, values).rowcount
        database.commit()
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return done


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# --- check ------------------------------------------------------------------------------------------------------------


def test_a_sound_database_is_found_right_and_is_not_changed(data: Path) -> None:
    before = contents(data)
    tally = admin.check(data)
    assert (tally.games, tally.players, tally.count, tally.faults) == (5, 2, 0, ())
    assert tally.entries == admin.stats(data)["entries"] == 23
    assert contents(data) == before


GAME = "(SELECT game FROM game WHERE status = '%s')"
OVER, PLAYING = GAME % "finished", GAME % "playing"
DAMAGE = {
    "a text": (f"UPDATE entry SET text = replace(text, 'alice', 'alicf') WHERE seq = 1 AND game = {OVER}", "step "),
    "a text that is none": (f"UPDATE entry SET text = 'x' WHERE seq = 1 AND game = {OVER}", "cannot be read"),
    "a signature": (
        "UPDATE entry SET sig = (SELECT sig FROM entry AS other WHERE other.game = entry.game AND seq = 3) "
        f"WHERE seq = 1 AND game = {OVER}", "step 4",
    ),
    "a receipt": (
        "UPDATE entry SET receipt_sig = (SELECT receipt_sig FROM entry AS e WHERE e.game = entry.game AND seq = 3) "
        f"WHERE seq = 1 AND game = {OVER}", "step 5",
    ),
    "the last entry": (f"DELETE FROM entry WHERE game = {OVER} AND seq = (SELECT max(seq) FROM entry e "
                       "WHERE e.game = entry.game)", "summary's"),
    "an entry amid": (f"DELETE FROM entry WHERE seq = 3 AND game = {OVER}", "step 2"),
    "all entries": (f"DELETE FROM entry WHERE game = {OVER}", "the game has no entries"),
    "a salt": (f"UPDATE opening SET salt = '{'ab' * 32}' WHERE seq = 6 AND game = {PLAYING}", "does not fit"),
    "an opening": (f"DELETE FROM opening WHERE seq = 6 AND game = {PLAYING}", "opening 0 of entry 6 is missing"),
    "one opening more": (
        f"INSERT INTO opening (game, seq, part, cards, salt) VALUES ({PLAYING}, 6, 1, 'A', '{'ab' * 32}')",
        "belongs to no commitment",
    ),
    "the seed": (f"UPDATE secret SET seed = '{'ab' * 32}' WHERE game = {PLAYING}", "not the one committed to"),
    "no seed": (f"DELETE FROM secret WHERE game = {PLAYING}", "the seed is missing"),
    **{
        f"the summary's {field}": (f"UPDATE game SET {field} = {value} WHERE status = 'playing'", f"summary's {field}")
        for field, value in {
            "to_move": "'bob'", "actor": "1 - actor", "round": "2", "guest": "'carol'", "updated": "created || '1'",
            "created": "'2020-01-01T00:00:00Z'", "head": f"'{'0' * 64}'", "ended": "updated",
            "deadline": "'2030-01-01T00:00:00Z'", "agreement": "'{}'", "link": "'a key'",
            "by_mail": "'{\"bob\":\"word\"}'",
        }.items()
    },
    "a finished game's winner": ("UPDATE game SET winner = 1 - winner WHERE status = 'finished'", "summary's winner"),
    "when a finished game ended": ("UPDATE game SET ended = NULL WHERE status = 'finished'", "summary's ended"),
    "a cancelled game's status": ("UPDATE game SET status = 'finished' WHERE reason = 'cancel'", "summary's status"),
    "a player's key": (
        "UPDATE player SET key = (SELECT key FROM retired) WHERE name = 'bob'", "the statement is about another",
    ),
    "a player's signature": (
        "UPDATE player SET sig = (SELECT sig FROM player AS p WHERE name = 'bob') WHERE name = 'alice'", "signature",
    ),
    "a code of nobody": (
        "INSERT INTO code (digest, name, expires, uses) VALUES ('x', 'nobody', '2027-11-20T12:00:00Z', 1)",
        "1 code belongs",
    ),
    "a code that allows nothing": (
        "INSERT INTO code (digest, expires, uses) VALUES ('x', '2026-11-20T12:00:00Z', 0)", "1 code belongs",
    ),
    "rows of no game": (f"DELETE FROM game WHERE game = {OVER}", "belong to no game"),
}  # fmt: skip


@pytest.mark.parametrize("what", DAMAGE)
def test_every_fault_is_found(data: Path, what: str) -> None:
    statement, reason = DAMAGE[what]
    assert change(data, statement) == (9 if what == "all entries" else 1)
    tally = admin.check(data)
    assert tally.count > 0
    assert any(reason in fault.reason for fault in tally.faults), tally.faults
    assert {fault.kind for fault in tally.faults} <= {"game", "player", "database"}


@pytest.mark.parametrize("by_operator", [True, False])
def test_a_player_who_was_recovered_with_a_code_is_right(tmp_path: Path, by_operator: bool) -> None:
    data = tmp_path / "data"
    with inside(data, seed="recovered") as service:
        alice, bob = two_players(service)
        game, new = begin(alice, bob), PrivateKey.from_seed(b"n" * 32)
        if not by_operator:
            assert alice.ask("/v1/players/alice/revocation", alice.revoking()).status == 200
        code = admin.revoke_keys(data, "alice")
        assert alice.ask("/v1/players/alice/recovery", alice.recovering(new, code)).status == 200
        old, alice.key = alice.key, new
        alice.login()
        proof = encode_base64(alice.proof(alice.course(game), new, old))
        assert service.ask("POST", f"/v1/games/{game}/recovery", {"proof": proof}, alice.token).status == 201
    tally = admin.check(data)
    assert (tally.games, tally.players, tally.faults) == (1, 2, ())
    change(data, "UPDATE player SET sig = (SELECT sig FROM player AS p WHERE name = 'bob') WHERE name = 'alice'")
    assert [fault.name for fault in admin.check(data).faults] == ["alice"]


def test_a_page_that_is_broken_is_found(data: Path) -> None:
    with closing(sqlite3.connect(data / FILE)) as database:
        page = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'game_waiting'").fetchone()[0]
        size = database.execute("PRAGMA page_size").fetchone()[0]
    with (data / FILE).open("r+b") as file:
        file.seek((page - 1) * size + 8)
        file.write(b"\xff" * 40)
    try:
        assert admin.check(data).count > 0
    except StorageError as error:
        assert "cannot read" in str(error)  # noqa: PT017 # either error is allowed


def test_several_processes_find_the_same(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads in place of processes, which take seconds to start; their messages are pickled as for processes."""

    class Packing(ThreadPoolExecutor):
        def __init__(self, jobs: int, mp_context: object) -> None:
            super().__init__(jobs)

        def map(self, function: Any, *given: Any, **named: Any) -> Any:  # type: ignore[override] # any function
            packed = pickle.dumps(function)
            return super().map(lambda *each: pickle.loads(pickle.dumps(pickle.loads(packed)(*each))), *given)

    change(data, DAMAGE["a salt"][0])
    one = admin.check(data)
    monkeypatch.setattr(admin, "ProcessPoolExecutor", Packing)
    assert admin.check(data, jobs=2) == one
    assert (one.games, one.count) == (5, 1)


def test_a_tally_keeps_the_first_faults_and_counts_all() -> None:
    some = CheckTally(1, 2, 3, 700, tuple(DatabaseFault("game", str(number), "no") for number in range(700)))
    both = some + some
    assert (both.games, both.entries, both.players, both.count) == (2, 4, 6, 1400)
    assert both.faults == (*some.faults, *some.faults[:300])


# --- copies -----------------------------------------------------------------------------------------------------------


def test_a_copy_is_whole_and_nobody_elses_to_read(data: Path, tmp_path: Path) -> None:
    made = admin.backup(tmp_path / "copy.db", data)
    assert made == {"file": str(tmp_path / "copy.db"), "bytes": (tmp_path / "copy.db").stat().st_size}
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    assert dumped(tmp_path / "copy.db") == dumped(data / FILE)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db", "data"]
    folder = tmp_path / "folder"
    folder.mkdir()
    named = Path(admin.backup(folder, data)["file"])
    assert named.parent == folder
    assert named.name.startswith("hkoji-2")


def test_a_folder_that_does_not_exist_is_not_taken_for_a_file(data: Path, tmp_path: Path) -> None:
    before = contents(tmp_path)
    with pytest.raises(NotFoundError, match="no folder") as raised:
        admin.backup(tmp_path / "backups", data)
    assert raised.value.hint == f"make the folder first, or name a file, as in {tmp_path / 'backups'}.sqlite3"
    with pytest.raises(NotFoundError, match="no folder") as raised:
        admin.backup(tmp_path / "backups" / "copy.db", data)
    assert raised.value.hint == "make the folder first"
    assert contents(tmp_path) == before


@pytest.mark.parametrize("suffix", ["", "-wal"])
def test_nothing_is_replaced(data: Path, tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"copy.db{suffix}").write_text("precious")
    before = contents(tmp_path)
    with pytest.raises(ExistsError, match="exists already"):
        admin.backup(tmp_path / "copy.db", data)
    admin_copy = tmp_path / "other.db"
    admin.backup(admin_copy, data)
    with pytest.raises(ExistsError, match="exists already"):
        admin.restore(admin_copy, data)
    admin_copy.unlink()
    assert contents(tmp_path) == before


def test_a_broken_database_is_not_copied_and_not_put_back(data: Path, tmp_path: Path) -> None:
    admin.backup(tmp_path / "good.db", data)
    change(data, DAMAGE["the last entry"][0])
    with pytest.raises(StorageError, match=f"^{data / FILE} is damaged") as raised:
        admin.backup(tmp_path / "copy.db", data)
    assert raised.value.hint == "nothing was changed, and there is no copy"
    (tmp_path / "half").write_bytes((tmp_path / "good.db").read_bytes()[:-8192])
    for file in (tmp_path / "half", Path(__file__)):
        with pytest.raises(StorageError, match="is damaged"):
            admin.restore(file, tmp_path / "new")
    with pytest.raises(NotFoundError):
        admin.restore(tmp_path / "nothing", tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "good.db", "half"]


def test_a_disk_that_is_full_leaves_no_copy(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    before = contents(tmp_path)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="No space left"):
        admin.backup(tmp_path / "copy.db", data)
    monkeypatch.undo()
    assert contents(tmp_path) == before


def test_a_copy_that_is_put_back_goes_on(data: Path, tmp_path: Path) -> None:
    admin.backup(tmp_path / "copy.db", data)
    admin.restore(tmp_path / "copy.db", tmp_path / "new" / "data")
    assert (tmp_path / "new" / "data").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "new" / "data" / FILE).stat().st_mode & 0o777 == 0o600
    with inside(tmp_path / "new" / "data", seed="later") as service:
        alice = Player(service, "alice", PrivateKey.from_seed(b"a" * 32), "aa" * 32).register()
        assert len(service.ask("GET", "/v1/me/games", token=alice.token).json["games"]) == 4
        alice.new()
    assert admin.check(tmp_path / "new" / "data").games == 6
    assert admin.check(tmp_path / "new" / "data").count == 0


def test_copies_under_load_have_all_that_was_acknowledged_before_they_began(tmp_path: Path) -> None:
    with serving(tmp_path / "data", log_level="warning", forked=True) as service:
        ledger = Ledger()
        pairs = [Pair(number, Wire(lambda: service.port), ledger, random.Random(number)) for number in range(3)]
        unexpected: list[Exception] = []
        done = False

        def failed(_: Pair, error: Exception) -> None:
            if not isinstance(error, (NotNowError, *AWAY)):
                unexpected.append(error)

        threads = busy(pairs, lambda _: done, failed)
        copies = []
        end = time.monotonic() + 200
        for number in range(3):
            least = (number + 1) * 15
            while sum(pair.accepted for pair in pairs) < least and time.monotonic() < end:
                time.sleep(0.01)
            known = list(ledger.facts)
            admin.backup(tmp_path / f"copy{number}.db", tmp_path / "data")
            copies.append((known, tmp_path / f"copy{number}.db"))
        done = True
        for thread in threads:
            thread.join(200)
        for pair in pairs:
            assert isinstance(pair.asked, Wire)
            pair.asked.close()
    assert unexpected == []
    for known, copy in copies:
        assert sum(fact.table == "entry" for fact in known) >= 15
        assert list(lost(dumped(copy), known)) == []
        admin.restore(copy, tmp_path / f"{copy.name}-data")
        assert admin.check(tmp_path / f"{copy.name}-data").faults == ()


# --- the rest ---------------------------------------------------------------------------------------------------------


def test_figures(data: Path) -> None:
    found = admin.stats(data)
    assert found["games"] == {"total": 5, "cancelled": 1, "finished": 1, "offered": 1, "open": 1, "playing": 1}
    assert (found["players"], found["earlier_keys"], found["logins"]) == (2, 1, 1)
    assert found["bytes"] == (data / FILE).stat().st_size


def test_removals_and_the_codes_are_counted(data: Path) -> None:
    codes = [admin.invite(data, 3), admin.invite(data)]
    assert admin.revoke_keys(data, "alice") not in {code["code"] for code in codes}
    assert (admin.stats(data)["codes"], admin.check(data).count) == (3, 0)
    assert admin.tidy(data) == {
        "offers": 1,
        "logins": 0,
        "challenges": 0,
        "codes": 0,
        "statements": 0,
        "notices": 0,
    }
    assert admin.stats(data)["games"] == {"total": 4, "cancelled": 1, "finished": 1, "open": 1, "playing": 1}
    assert admin.check(data).count == 0


@pytest.mark.parametrize(
    ("begin_", "until", "error"),
    [
        ("2026-11-20T13:00:00Z", "2026-11-20T13:00:00Z", UsageError),
        ("2026-11-20T13:00:00Z", "2099-01-01T00:00:00Z", UsageError),
        ("2026-11-20T13:00:00Z", "tomorrow", UsageError),
        ("2026-11-20", "2026-11-20T13:00:00Z", UsageError),
        ("2026-11-20T11:00:00Z", "2026-11-20T12:00:01Z", IllegalError),
        ("2026-11-20T12:00:00Z", "2026-11-20T13:00:00Z", IllegalError),
    ],
)
def test_outages_that_cannot_be_are_not_recorded(data: Path, begin_: str, until: str, error: type[HkojiError]) -> None:
    before = dumped(data / FILE)
    with pytest.raises(error):
        admin.outage(data, begin_, until)
    assert dumped(data / FILE) == before


def test_an_outage_that_the_operator_states_counts_and_touches_no_other(data: Path) -> None:
    lost = {"from": "2026-11-20T12:00:01Z", "until": "2026-11-20T13:00:00Z", "way": "http"}
    assert admin.outage(data, lost["from"], lost["until"]) == lost
    before = dumped(data / FILE)
    with pytest.raises(IllegalError):
        admin.outage(data, "2026-11-20T13:00:00Z", "2026-11-20T14:00:00Z")
    assert dumped(data / FILE) == before
    assert admin.check(data).count == 0


def test_vacuuming_forgets_what_has_expired_and_changes_no_game(data: Path) -> None:
    change(data, "CREATE TABLE ballast AS SELECT randomblob(200000) AS x")
    change(data, "DROP TABLE ballast")
    games = {name: rows for name, rows in dumped(data / FILE).items() if name not in ("token", "challenge")}
    assert admin.stats(data)["free_bytes"] > 100_000
    made = admin.vacuum(data)
    assert made["before"] - made["after"] > 100_000
    after = dumped(data / FILE)
    assert {name: rows for name, rows in after.items() if name not in ("token", "challenge")} == games
    assert not after["token"]  # the clock of the test's service stood still long ago


@pytest.mark.parametrize("act", ["check", "stats", "vacuum"])
def test_where_there_is_no_service_nothing_is_made(tmp_path: Path, act: str) -> None:
    with pytest.raises(NotFoundError, match="no service in"):
        getattr(admin, act)(tmp_path / "nowhere")
    assert list(tmp_path.iterdir()) == []


def test_another_schema_is_left_alone(data: Path) -> None:
    change(data, "UPDATE alembic_version SET version_num = '9999'")
    before = contents(data)
    for act in (admin.check, admin.stats, admin.vacuum):
        with pytest.raises(StorageError, match="schema 9999"):
            act(data)
    with pytest.raises(StorageError, match=f"^{data / FILE} was made by a newer program"):
        admin.backup(data.parent / "copy.db", data)
    assert contents(data) == before
    assert not (data.parent / "copy.db").exists()


def test_a_copy_of_postgresql_is_not_taken_for_one(tmp_path: Path) -> None:
    (tmp_path / "dump").write_bytes(b"PGDMP\x01\x0e")
    with pytest.raises(UsageError, match="PostgreSQL"):
        admin.restore(tmp_path / "dump", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_on_postgresql_the_same_is_checked_and_counted(postgres: str, tmp_path: Path) -> None:
    with inside(tmp_path / "data", seed="admin", database=postgres) as service:
        alice, bob = two_players(service)
        game = begin(alice, bob)
        held: Any = alice.course(game).state.to_json()["hands"]
        assert alice.send(alice.make_move(alice.course(game), f"1{held[0][0]}")).status == 201
        tally = admin.check(None, postgres)
        assert (tally.games, tally.entries, tally.players, tally.count) == (1, 6, 2, 0)
        assert admin.stats(None, postgres)["games"] == {"total": 1, "playing": 1}
        admin.vacuum(None, postgres)
        with closing(psycopg.connect(postgres.replace("+psycopg", ""), autocommit=True)) as database:
            assert database.execute("UPDATE opening SET cards = 'H'").rowcount == 1
            assert database.execute("UPDATE game SET round = 5").rowcount == 1
        reasons = [fault.reason for fault in admin.check(None, postgres).faults]
        assert any("does not fit" in reason for reason in reasons), reasons


def test_a_copy_of_postgresql_is_made_with_a_password_and_restored(
    cluster: Cluster, postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with inside(tmp_path / "data", seed="admin", database=postgres) as service:
        begin(*two_players(service))
    with cluster.connect() as connection:
        connection.execute("CREATE ROLE keeper SUPERUSER LOGIN PASSWORD 's3cret'")
        access = cluster.folder / "data" / "pg_hba.conf"
        trusting = access.read_text()
        access.write_text(f"local all keeper scram-sha-256\n{trusting}")
        connection.execute("SELECT pg_reload_conf()")
    monkeypatch.setenv("PATH", str(cluster.programs))
    empty = cluster.create()
    try:
        keeper = postgres.replace("hkoji@", "keeper:s3cret@")
        with pytest.raises(StorageError, match=r"pg_dump failed: .*password"):
            admin.backup(tmp_path / "copy.dump", None, keeper.replace("s3cret", "another"))
        assert not list(tmp_path.iterdir())
        admin.backup(tmp_path / "copy.dump", None, keeper)
        words = ["--no-owner", "--exit-on-error", f"--host={cluster.folder}", "--username=hkoji", f"--dbname={empty}"]
        subprocess.run([cluster.programs / "pg_restore", *words, tmp_path / "copy.dump"], check=True)
        tally = admin.check(None, cluster.url(empty))
        assert (tally.games, tally.entries, tally.players, tally.count) == (1, 5, 2, 0)
    finally:
        cluster.drop(empty)
        access.write_text(trusting)
        with cluster.connect() as connection:
            connection.execute("SELECT pg_reload_conf()")
            connection.execute("DROP ROLE keeper")


def test_postgresql_is_copied_by_pg_dump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = "postgresql+psycopg://me:s3cret@127.0.0.1:1/none"
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="pg_dump"):
        admin.backup(tmp_path / "copy.dump", None, url)
    (tmp_path / "pg_dump").write_text('#!/bin/sh\necho "PGDMP $*"; echo "$PGPASSWORD" >&2; exit $CODE\n')
    (tmp_path / "pg_dump").chmod(0o700)
    monkeypatch.setenv("CODE", "0")
    admin.backup(tmp_path / "copy.dump", None, url)
    # The password is in the environment and not among the arguments, where a place-holder for it would count as one.
    words = "PGDMP --format=custom --exclude-table-data=rate postgresql://me@127.0.0.1:1/none\n"
    assert (tmp_path / "copy.dump").read_text() == words
    assert (tmp_path / "copy.dump").stat().st_mode & 0o777 == 0o600
    with pytest.raises(ExistsError):
        admin.backup(tmp_path / "copy.dump", None, url)
    monkeypatch.setenv("CODE", "1")
    with pytest.raises(
        StorageError, match="pg_dump failed: s3cret"
    ):  # the program's own message, which never has the password
        admin.backup(tmp_path / "other.dump", None, url)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.dump", "pg_dump"]
