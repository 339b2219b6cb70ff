"""The operator's commands on the database of a service, which may be running or not.

Each takes the folder of the service, and perhaps the URL of a `database` instead.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, suppress
from datetime import UTC, datetime
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL

from hkoji.doctor_check import DoctorCheck
from hkoji.drafts import new_part
from hkoji.errors import ExistsError, NotFoundError, StorageError, UsageError
from hkoji.game.clock import Outage, Way
from hkoji.log.canonical import is_time
from hkoji.log.private_key import PrivateKey
from hkoji.log.public_key import PublicKey
from hkoji.messages.text import shorten, tell
from hkoji_server import mailbox_admin as mailboxes  # noqa: F401 # the command line finds it here
from hkoji_server.doctor import examine_service
from hkoji_server.service.games.database_check import CheckTally, check_games, check_players
from hkoji_server.service.games.keeper import remove_in_steps
from hkoji_server.service.games.loaded_games import LoadedGames
from hkoji_server.service.players.limits import RateLimits
from hkoji_server.service.players.players import Players, make_code
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.settings import Settings, load
from hkoji_server.store.contract import Store
from hkoji_server.store.location import Location
from hkoji_server.store.maintenance import Maintenance
from hkoji_server.store.open_store import location_of, on_store
from hkoji_server.store.sqlite import backup as sqlite_backup

_DAY: Final = 24 * 3600
_SHOWN: Final = 12
"""How many digits of a code's digest are shown."""
_RANGES = tuple(f"{number:02x}" for number in range(256))


@on_store
async def revoke_keys(store: Store, settings: Settings, name: str) -> str:
    """Revokes the keys of a player, and returns a code with which the player gets a new one.

    Raises `NotFoundError` if there is no such player, or no service in the folder `data`; `StorageError`.
    """
    return await Players(store, ClockAndEntropy(), settings, RateLimits(), origin="").revoke_keys(name)


@on_store
async def invite(
    store: Store, settings: Settings, uses: int = 1, days: int | None = None
) -> dict[str, Any]:  # Any: JSON
    """Makes a code with which `uses` new players may register, for so many days or else for `code_lifetime`.

    Returns the code, its uses, when it expires, and the service's origin. Raises `NotFoundError` if there is no
    service, `StorageError`.
    """
    lifetime = settings.code_lifetime if days is None else days * _DAY
    made = await make_code(store, ClockAndEntropy(), lifetime, uses=uses)
    identity = await store.identity()
    return {**made._asdict(), "uses": uses, "origin": identity[1] if identity else None}


@on_store
async def invitations(store: Store, _: Settings) -> list[dict[str, Any]]:  # Any: JSON
    """Returns the codes for new players that are valid: the beginning of each digest, uses left, when it expires.

    Raises `NotFoundError` if there is no service, `StorageError`.
    """
    found = await store.invitations(ClockAndEntropy().at())
    return [{"digest": each.digest[:_SHOWN], "uses": each.uses, "expires": each.expires} for each in found]


@on_store
async def withdraw(store: Store, _: Settings, prefix: str) -> dict[str, Any]:  # Any: JSON
    """Withdraws the code for new players whose digest begins with `prefix`. Returns what `invitations` says of it.

    Raises `NotFoundError` if no valid code's does, `UsageError` if several codes' do, `StorageError`.
    """
    every = await store.invitations(ClockAndEntropy().at())
    found = [each for each in every if prefix and each.digest.startswith(prefix.lower())]
    if len(found) > 1:
        raise UsageError(
            tell("{prefix} begins the digests of {n} codes", prefix=prefix, n=len(found)),
            hint=tell("give more digits"),
        )
    if not found or not await store.withdraw_code(found[0].digest):
        raise NotFoundError(tell("code"), prefix, hint=tell("list the codes with `hkoji admin invite --list`"))
    code = found[0]
    return {"digest": code.digest[:_SHOWN], "uses": code.uses, "expires": code.expires}


@on_store
async def tidy(store: Store, settings: Settings) -> dict[str, Any]:  # Any: JSON
    """Removes offers that nobody has opened in time, and expired codes and logins, as the service itself does.

    It also removes statements about games that have moved on since, and notices to channels that were removed. Returns
    how many of each were removed. Raises `NotFoundError` if there is no service, `StorageError`.
    """
    sources = ClockAndEntropy()
    removed = (await remove_in_steps(store, sources.at(), sources.at(-settings.offer_lifetime)))._asdict()
    with closing(Maintenance(location_of(settings))) as maintenance:
        games = maintenance.with_statements()
    held = LoadedGames(store, 1)
    void = sum([await held.remove_void(game) for game in games])
    return {**removed, "statements": void, "notices": await store.remove_stray_notices()}


def outage(
    data: Path | None, begin: str, until: str, *, database: str | None = None, way: Way = Way.HTTP
) -> dict[str, Any]:  # Any: JSON
    """Records that players could not reach the service that way from the time `begin` to before `until`.

    Times are those of the log. Returns the outage. Raises `UsageError` for times that are none or in the future,
    `IllegalError` if the service took an entry that came that way within it, or it touches another one of that way;
    `NotFoundError`, `StorageError`.
    """
    for time in (begin, until):
        if not is_time(time):
            raise UsageError(
                tell("{time} is not a time", time=shorten(time)), hint=tell("write it as in 2026-11-20T12:00:00Z")
            )
    return _add_outage(data, Outage(begin, until, way), database=database)


@on_store
async def _add_outage(store: Store, _: Settings, lost: Outage) -> dict[str, Any]:  # Any: JSON
    await store.add_outage(lost, ClockAndEntropy().at())
    return dict(lost.to_json())


def backup(target: Path, data: Path | None, database: str | None = None) -> dict[str, Any]:  # Any: JSON
    """Copies the database to a new file, or to a new name in a folder. Returns the name and the size of the copy.

    A name without a suffix names a folder: a file of that name would not be found among the copies. Raises
    `ExistsError`, `NotFoundError`, `StorageError`; then there is no copy.
    """
    _, location = _find(data, database)
    if not target.suffix and not target.exists():
        raise NotFoundError(
            tell("folder"),
            str(target),
            hint=tell("make the folder first, or name a file, as in {file}", file=f"{target}.sqlite3"),
        )
    if not target.parent.is_dir():
        raise NotFoundError(tell("folder"), str(target.parent), hint=tell("make the folder first"))
    if target.is_dir():
        suffix = "sqlite3" if isinstance(location, Path) else "dump"
        target = target / f"hkoji-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.{suffix}"
    if isinstance(location, Path):
        sqlite_backup.copy(location, target)
    else:
        _dump(location, target)
    return {"file": str(target), "bytes": target.stat().st_size}


def restore(source: Path, data: Path) -> dict[str, Any]:  # Any: JSON
    """Restores a service's folder from a copy. Returns the folder and the size of the database.

    Raises `ExistsError` if the folder has a database, `NotFoundError`, `StorageError`; then nothing was changed.
    """
    settings, location = _find(data, None)
    assert isinstance(location, Path)
    if not source.is_file():
        raise NotFoundError(tell("file"), str(source))
    with source.open("rb") as file:
        if file.read(5) == b"PGDMP":
            raise UsageError(
                tell("{file} is a copy of a PostgreSQL database", file=source),
                hint="createdb NAME && pg_restore --no-owner --exit-on-error --dbname NAME FILE",
            )
    sqlite_backup.verify(source)
    settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    sqlite_backup.copy(source, location)
    return {"data": str(settings.data), "bytes": location.stat().st_size}


def check(data: Path | None, database: str | None = None, *, jobs: int = 1) -> CheckTally:
    """Checks the complete database, in `jobs` processes. Raises `NotFoundError`, `StorageError`."""
    _, location = _find(data, database)
    with closing(Maintenance(location)) as maintenance:
        identity = maintenance.identity()
        tally = check_players(maintenance)
        if identity is None:
            return tally
        key = PrivateKey.from_openssh(identity[0].encode()).public
        if jobs == 1:
            return tally + check_games(maintenance, key)
    bounds = (*_RANGES, "g")
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for part in pool.map(partial(_check, location, key), bounds, bounds[1:], chunksize=4):
            tally += part
    return tally


def vacuum(data: Path | None, database: str | None = None) -> dict[str, Any]:  # Any: JSON
    """Deletes expired logins and frees unused space. Returns the sizes before and after. Raises `StorageError`."""
    _, location = _find(data, database)
    with closing(Maintenance(location)) as maintenance:
        before = maintenance.figures().size
        maintenance.vacuum(ClockAndEntropy().at())
        return {"before": before, "after": maintenance.figures().size}


def stats(data: Path | None, database: str | None = None) -> dict[str, Any]:  # Any: JSON
    """Returns how much the database holds. Raises `NotFoundError`, `StorageError`."""
    _, location = _find(data, database)
    with closing(Maintenance(location)) as maintenance:
        found = maintenance.figures()
    return {
        "games": {"total": sum(found.games.values()), **dict(sorted(found.games.items()))},
        "entries": found.entries,
        "players": found.rows["player"],
        "earlier_keys": found.rows["retired"],
        "logins": found.rows["token"],
        "codes": found.rows["code"],
        "channels": found.rows["channel"],
        "notices": found.rows["outbox"],
        "bytes": found.size,
        "free_bytes": found.free,
    }


def examine(
    data: Path | None,
    database: str | None = None,
    *,
    backups: Path | None = None,
    mail: bool = False,
    config: Path | None = None,
) -> Iterator[DoctorCheck]:
    """Checks the database and the machine; with `mail` also how the service plays by mail."""
    settings, sound = load(config, data=data, database=database), True
    for check in examine_service(data, database, backups=backups):
        sound &= check.name not in ("database", "schema") or check.verdict != "fail"
        yield check
    if mail and sound:
        from hkoji_server.mail_doctor import examine_mail, tools_of

        yield from examine_mail(settings, tools_of())


def examine_pages(url: str) -> Iterator[DoctorCheck]:
    """Compares the pages of the service at `url` with those of this package."""
    from hkoji_server.web.page_doctor import examine

    yield from examine(url)


def _find(data: Path | None, database: str | None) -> tuple[Settings, Location]:
    settings = load(data=data, database=database)
    return settings, location_of(settings)


def _check(location: Location, key: PublicKey, low: str, high: str) -> CheckTally:
    """Checks the games from id `low` to before `high`, in a separate process."""
    with closing(Maintenance(location)) as maintenance:
        return check_games(maintenance, key, low, high)


def _dump(location: Any, target: Path) -> None:  # Any: a URL of SQLAlchemy's
    """Copies a PostgreSQL database by pg_dump. Such a copy shows the state at one moment too."""
    program = shutil.which("pg_dump")
    if program is None:
        raise UsageError(
            tell("a PostgreSQL database is copied by pg_dump, which is not installed"),
            hint=tell("install PostgreSQL's client programs, or run pg_dump --format=custom on the database's machine"),
        )
    if os.path.lexists(target):
        raise ExistsError(tell("file"), str(target), hint=tell("nothing was changed; choose another name"))
    part = new_part(target)
    # The password is passed in the environment: the list of processes shows arguments.
    where = {"host": location.host, "port": location.port, "database": location.database, "query": location.query}
    url = URL.create("postgresql", username=location.username, **where)
    environment = {**os.environ, **({"PGPASSWORD": location.password} if location.password else {})}
    try:
        with open(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as out:
            done = subprocess.run(  # noqa: S603 # the operator's own pg_dump, on their own database
                [program, "--format=custom", "--exclude-table-data=rate", url.render_as_string()],
                env=environment,
                stdout=out,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
            os.fsync(out.fileno())
        if done.returncode:
            raise StorageError(
                tell("pg_dump failed: {reason}", reason=" ".join(done.stderr.split())),
                hint=tell("nothing was changed, and there is no copy"),
            )
        os.link(part, target)
    except FileExistsError as error:
        raise ExistsError(tell("file"), str(target), hint=tell("nothing was changed; choose another name")) from error
    except OSError as error:
        raise StorageError(tell("cannot write {file}: {reason}", file=target, reason=error.strerror)) from error
    finally:
        with suppress(FileNotFoundError):
            part.unlink()
