"""The operator's commands about mail: running the mail process, taking a mail from a pipe, looking at what waits.

A pipe is started for each mail, so nothing is imported here that only other commands need.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from hkoji.errors import UsageError
from hkoji.extras import install_command
from hkoji.messages.text import tell
from hkoji_server.log import configure_logging_later
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.settings import Settings, load, registers_by_mail
from hkoji_server.store.location import verify_exists
from hkoji_server.store.open_store import location_of, on_store, open_store

if TYPE_CHECKING:
    from hkoji_server.service.mail.mailboxes import SelfRegistration
    from hkoji_server.store.contract import Store

_TAKEN: Final = 0
_NOT_OURS: Final = 67
"""EX_NOUSER of sysexits.h."""
_TRY_AGAIN: Final = 75
"""EX_TEMPFAIL."""
_AT_ONCE: Final = 64 * 1024


def run(data: Path | None, *, database: str | None, config: Path | None, log_level: str | None) -> None:
    """Runs the mail process until it is stopped.

    Raises `UsageError` for settings with which nothing can be done, `NotFoundError`, `StorageError`.
    """
    settings = _settings(data, database, config, log_level=log_level)
    verify_exists(location_of(settings))
    try:
        from hkoji_server.mail_app import run_mail
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "hkoji_server":
            raise
        raise UsageError(
            tell("playing by mail needs the package {name}, which is not installed", name=error.name),
            hint=tell("install it with: {command}", command=install_command("mail")),
        ) from error
    run_mail(settings)


def receive(
    recipient: str,
    file: BinaryIO,
    *,
    sender: str | None = None,
    data: Path | None = None,
    database: str | None = None,
    config: Path | None = None,
) -> int:
    """Takes one mail from a file, and returns the exit code for the mail server: 0, 67 or 75.

    `sender` is that of the envelope; empty: null; None: not known. After any error the mail has to come again.
    """
    from hkoji_server.mail.receiving import Received, receive_once
    from hkoji_server.store.sqlite.one_mail import SeldomError, open_for_one_mail

    raw = _read(file)
    settings = _settings(data, database, config)
    configure_logging_later(settings.log_level, settings.log_format)
    verify_exists(location_of(settings))

    async def work() -> Received:
        sources, location = ClockAndEntropy(), location_of(settings)
        # A mail that asks for a name needs the whole service, because its sender is looked up in DNS.
        if isinstance(location, Path) and not registers_by_mail(settings):
            with suppress(SeldomError), open_for_one_mail(location, sources.clock) as quick:
                return await receive_once(quick, sources, settings, recipient, raw, sender)
        async with open_store(location, sources.clock) as store:
            registration = await _registration(store, sources, settings)
            return await receive_once(store, sources, settings, recipient, raw, sender, registration=registration)

    result = asyncio.run(work())
    return _TAKEN if result.taken else _NOT_OURS if result is Received.NOT_OURS else _TRY_AGAIN


async def _registration(store: Store, sources: ClockAndEntropy, settings: Settings) -> SelfRegistration | None:
    """Returns what takes mails that ask for a name; None if they do not count here."""
    if not registers_by_mail(settings):
        return None
    from hkoji_server.mail.resolver import TxtResolver, system_resolver
    from hkoji_server.service.mail.mailboxes import SelfRegistration
    from hkoji_server.service.players.held_players import find_held_players

    players = await find_held_players(store, settings, sources)
    return None if players is None else SelfRegistration(players, TxtResolver(system_resolver()).look_up)


@on_store
async def queue(store: Store, _: Settings) -> dict[str, Any]:  # Any: JSON
    """Returns how many mails wait, letters wait, and mails are set aside; for each since when the oldest does.

    Raises `NotFoundError` if there is no service, `StorageError`.
    """
    found = await store.mail_queue(ClockAndEntropy().at())
    counts = {name: each.number for name, each in found._asdict().items()}
    return {**counts, **{f"{name}_since": each.oldest for name, each in found._asdict().items()}}


def _settings(data: Path | None, database: str | None, config: Path | None, **given: Any) -> Settings:  # Any: settings
    """Returns the settings of a service that plays by mail. Raises `UsageError` if it has no address."""
    settings = load(config, data=data, database=database, **given)
    if "data" not in settings.model_fields_set and settings.database is None:
        raise UsageError(
            tell("a service needs a folder"), hint=tell("give the one of `hkoji serve` with --data or --config")
        )
    if settings.mail is None:
        raise UsageError(
            tell("this service has no mail address"),
            hint=tell("set one by HKOJI_SERVER_MAIL or `mail` in the settings file, as in play@hkoji.example"),
        )
    return settings


def _read(file: BinaryIO) -> bytes:
    """Returns what is ever read of a mail, and one byte more if it is longer, after the whole of it."""
    from hkoji.mail.fields import LONGEST_MAIL

    kept = bytearray()
    while part := file.read(_AT_ONCE):
        kept += part[: LONGEST_MAIL + 1 - len(kept)]
    return bytes(kept)
