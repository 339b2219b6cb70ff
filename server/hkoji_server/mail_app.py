"""The mail process: takes mail, processes it, and sends letters, beside `hkoji serve` and on the same store.

It is a process of its own, so that a hostile mail or a slow mail server cannot slow the service down for others. It
notes the time for what comes by mail, records when that could not come, and ends games in which mail is waited for.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from hkoji.errors import UsageError
from hkoji.game.clock import Way
from hkoji.log.mail_claim import MailGrade
from hkoji.log.private_key import PrivateKey
from hkoji.log.sshsig import use_fastest
from hkoji.mail.addresses import OwnAddress
from hkoji.mail.dkim_rules import load_dkimpy
from hkoji.messages.text import tell
from hkoji_server.log import configure_logging, log
from hkoji_server.mail.courier import LetterTaker, MailCourier, SmtpSubmission
from hkoji_server.mail.imap import ImapPoller, OpenSession, pace_of, poll_at_intervals
from hkoji_server.mail.imap_session import open_session
from hkoji_server.mail.lmtp import LmtpDoor
from hkoji_server.mail.receiving import Bounces, Receiving
from hkoji_server.mail.resolver import TxtResolver, system_resolver
from hkoji_server.mail.worker import MailWorker, work_at_intervals
from hkoji_server.mail_settings import read_imap, read_lmtp, read_password, read_smtp
from hkoji_server.process.metrics import MailMetrics, watch_queue
from hkoji_server.process.server import tell_systemd
from hkoji_server.service.games.keeper import (
    HeldSeeds,
    Keeper,
    keep_at_intervals,
    send_seeds_at_intervals,
    tidy_at_intervals,
)
from hkoji_server.service.games.parts import GameParts, make_game_parts
from hkoji_server.service.mail.cases import MailOutcome
from hkoji_server.service.mail.commands import MailCommands
from hkoji_server.service.mail.entries import MailEntries
from hkoji_server.service.mail.letter_facts import LetterFacts
from hkoji_server.service.mail.mailboxes import SelfRegistration
from hkoji_server.service.mail.new_games import NewGames
from hkoji_server.service.mail.orders import MailOrders
from hkoji_server.service.mail.rights import LookUp
from hkoji_server.service.mail.seat_games import SeatGames
from hkoji_server.service.mail.tokens import MailTokens
from hkoji_server.service.notices.delivery import NoticeDelivery, deliver_at_intervals
from hkoji_server.service.players.limits import RateLimits, limits_of
from hkoji_server.service.players.players import identify
from hkoji_server.service.time.service_time import ClockAndEntropy, ServiceTime, beat_at_intervals
from hkoji_server.settings import Settings, own_address, parse_bind, registers_by_mail
from hkoji_server.store.contract import Store
from hkoji_server.store.location import show_location
from hkoji_server.store.mail_values import MAIL_KIND, MailVia
from hkoji_server.store.open_store import location_of, open_store
from hkoji_server.store.sql_steps import waking

_PATIENCE: Final = 10.0
"""For how many seconds a process that ends lets the mail that it is processing be."""


class MailParts(NamedTuple):
    """`orders` processes mails that have come, and `letters` makes letters when they are sent."""

    orders: MailOrders
    letters: LetterFacts


def make_mail_parts(
    store: Store,
    settings: Settings,
    parts: GameParts,
    time: ServiceTime,
    sources: ClockAndEntropy,
    *,
    origin: str,
    look_up: LookUp,
    count: Callable[[MailVia, MailOutcome], None] = lambda *_: None,
) -> MailParts:
    """Returns the use cases of mail over those of games, for a service that has a mail address.

    `origin` is its address for browsers, and `look_up` asks DNS. `count` is called with the way of each mail and what
    has become of it.
    """
    own, require = own_address(settings), MailGrade(settings.mail_require)
    assert own is not None
    held, players = parts.held, parts.held_players
    tokens, seats = MailTokens(store), SeatGames(store, held, time)
    entries = MailEntries(store, held, parts.games, parts.offers, parts.statements, parts.invitations, players, sources)
    new_games = NewGames(store, held, entries, parts.offers, players, tokens)
    commands = MailCommands(store, tokens, players, {**entries.steps, **new_games.steps})
    orders = MailOrders(store, seats, commands, tokens, time, require=require, look_up=look_up, count=count)
    letters = LetterFacts(store, seats, tokens, time, settings, own=own, origin=origin)
    return MailParts(orders, letters)


@dataclass(frozen=True, slots=True)
class MailWork:
    """The work of a mail process. Each part can be done by hand."""

    time: ServiceTime
    receiving: Receiving
    worker: MailWorker
    delivery: NoticeDelivery
    keeper: Keeper
    seeds: HeldSeeds
    seed_due: asyncio.Queue[str]
    """The games in which a held seat owes its seed after what this process has appended."""


def assemble(
    store: Store,
    settings: Settings,
    sources: ClockAndEntropy,
    *,
    key: PrivateKey,
    origin: str,
    limits: RateLimits,
    submission: LetterTaker,
    look_up: LookUp,
    metrics: MailMetrics,
) -> MailWork:
    """Puts the parts together, for a service that has a mail address.

    `submission` takes letters, and `look_up` asks DNS.
    """
    own = own_address(settings)
    assert own is not None
    time = ServiceTime(
        store,
        sources,
        outage_after=settings.outage_after,
        way=Way.MAIL,
        unprocessed=store.oldest_unprocessed_mail,
        polled=settings.mail_imap is not None,
    )
    parts = make_game_parts(store, settings, time, sources, key, origin=origin, limits=limits)
    held = parts.held
    mail = make_mail_parts(
        store, settings, parts, time, sources, origin=origin, look_up=look_up, count=metrics.processed
    )
    bounces = Bounces(store, time, count=metrics.bounced)
    registration = SelfRegistration(parts.held_players, look_up) if registers_by_mail(settings) else None
    worker = MailWorker(store, time, sources, mail.orders.process)
    courier = MailCourier(mail.letters, submission, bounces)
    return MailWork(
        time=time,
        receiving=Receiving(
            store, time, own, bounces, registration=registration, hand_over=worker.hand_over, count=metrics.received
        ),
        worker=worker,
        delivery=NoticeDelivery(store, held, time, sources, {MAIL_KIND: courier}, origin=origin, count=metrics.sent),
        keeper=Keeper(store, held, time, sources, key, slack=settings.slack, ways=(Way.MAIL,)),
        seeds=HeldSeeds(store, held, parts.games, sources),
        seed_due=parts.seed_due,
    )


def run_mail(settings: Settings) -> None:
    """Takes and sends mail until it is stopped.

    Raises `UsageError` for settings with which nothing can be done, `StorageError` if the database or the place where
    mail comes in cannot be used.
    """
    configure_logging(settings.log_level, settings.log_format)
    use_fastest()
    load_dkimpy()  # without it each signed mail would fail
    if asyncio.run(_serve(settings, ClockAndEntropy())) == signal.SIGINT:
        raise KeyboardInterrupt


async def _serve(settings: Settings, sources: ClockAndEntropy) -> int:
    """Runs the process. Returns the signal that has stopped it."""
    own = own_address(settings)
    assert own is not None
    server = read_smtp(settings.mail_smtp)
    smtp_password = _password(server.user, settings.mail_smtp_password_file, "mail_smtp")
    submission = SmtpSubmission(server, smtp_password, greeting=own.host)
    open_mailbox = _mailbox_of(settings)
    location = location_of(settings)
    limits = limits_of(settings)
    metrics = MailMetrics()
    try:
        async with AsyncExitStack() as stack:
            if settings.mail_metrics:
                stack.callback(metrics.serve(*parse_bind(settings.mail_metrics)))
            store = await stack.enter_async_context(open_store(location, sources.clock))
            key, origin = await _identity(store, sources, settings.origin)
            parts = assemble(
                store,
                settings,
                sources,
                key=key,
                origin=origin,
                limits=limits,
                submission=submission,
                look_up=TxtResolver(system_resolver()).look_up,
                metrics=metrics,
            )
            # Nothing is taken before a time in which nothing could be taken has been recorded.
            await parts.time.beat()
            polled = None
            if open_mailbox is not None and settings.mail_imap is not None:
                place = read_imap(settings.mail_imap).place
                polled = ImapPoller(store, parts.time, sources, parts.receiving, own, place, open_mailbox)
            return await _work(store, settings, sources, parts, own, metrics, polled)
    finally:
        limits.close()


async def _work(
    store: Store,
    settings: Settings,
    sources: ClockAndEntropy,
    parts: MailWork,
    own: OwnAddress,
    metrics: MailMetrics,
    polled: ImapPoller | None,
) -> int:
    stopped: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, _stop, stopped, each)
    door = LmtpDoor(parts.receiving, own.host)
    place = "" if settings.lmtp is None else await door.open(read_lmtp(settings.lmtp))
    ending = asyncio.Event()
    stop_listening = store.listen(waking(parts.worker.kept))
    working = asyncio.create_task(work_at_intervals(parts.worker, ending))
    tasks = [
        asyncio.create_task(work)
        for work in (
            beat_at_intervals(parts.time, settings.outage_after),
            keep_at_intervals(parts.keeper),
            send_seeds_at_intervals(parts.seeds, parts.seed_due),
            deliver_at_intervals(parts.delivery),
            tidy_at_intervals(store, sources, settings.offer_lifetime, settings.mail_keep_days),
            *([watch_queue(store, sources, metrics)] if settings.mail_metrics else []),
            *([poll_at_intervals(polled, pace_of(settings.outage_after))] if polled else []),
        )
    ]
    _say_ready(settings, own, place)
    try:
        # A part that has failed in a way that nobody has thought of must not leave the others to take mails in vain.
        awaited: list[asyncio.Future[Any]] = [stopped, working, *tasks]  # Any: what each returns
        done, _ = await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
        if not stopped.done():
            log.error("a part of the mail process has ended")
            for ended in done:
                ended.result()
        return await stopped
    finally:
        tell_systemd("STOPPING=1")
        stop_listening()
        await door.close()
        ending.set()
        parts.worker.kept.set()
        await asyncio.wait([working], timeout=_PATIENCE)
        for task in (working, *tasks):
            task.cancel()
        await asyncio.gather(working, *tasks, return_exceptions=True)


def _stop(stopped: asyncio.Future[int], number: int) -> None:
    if not stopped.done():
        stopped.set_result(number)


def _say_ready(settings: Settings, own: OwnAddress, place: str) -> None:
    location = location_of(settings)
    data = settings.data if isinstance(location, Path) else f"the {show_location(location)}"
    at = " and".join(
        [
            *([f" at {place}"] if place else []),
            *([f" from a mailbox at {read_imap(settings.mail_imap).host}"] if settings.mail_imap else []),
        ]
        or [" from pipes"]
    )
    with suppress(OSError):  # it also runs if stderr cannot be written
        said = f"hkoji takes mail for {own.mailbox}{at}, data in {data}; stop it with Ctrl-C\n"
        print(said, end="", file=sys.stderr, flush=True)
    tell_systemd("READY=1")


async def _identity(store: Store, sources: ClockAndEntropy, origin: str | None) -> tuple[PrivateKey, str]:
    if origin is None and await store.identity() is None:
        raise UsageError(
            tell("this service has no origin yet"),
            hint=tell("start `hkoji serve` first, or give the origin that players use by the setting origin"),
        )
    return await identify(store, sources, origin, origin or "")


def _password(user: str | None, file: Path | None, setting: str) -> str | None:
    """Returns the password of a user. Raises `UsageError` if there is a user and no password, or vice versa."""
    if (user is None) != (file is None):
        raise UsageError(
            tell("{setting} needs a user and a password, or neither of them", setting=setting),
            hint=tell("name the user in {setting}, and give the password by {setting}_password_file", setting=setting),
        )
    return read_password(file, setting)


def _mailbox_of(settings: Settings) -> OpenSession | None:
    """Returns what connects to the mailbox that is read by IMAP, if there is one. Raises as `_password` does."""
    if settings.mail_imap is None:
        return None
    server = read_imap(settings.mail_imap)
    password = _password(server.user, settings.mail_imap_password_file, "mail_imap")
    return partial(open_session, server, password or "")
