"""A service in this process with mail players whose mailboxes are lists, and a clock that the test moves.

There is no protocol and no other process: a mail is kept, processed and answered when the test says so. HTTP players
and mail players are of one service, on one database.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

from hkoji_server.mail_app import MailParts, make_mail_parts
from hkoji_server.mail_settings import MailDelimiter
from hkoji_server.service.games.keeper import HeldSeeds, Keeper
from hkoji_server.service.games.loaded_games import LoadedGames
from hkoji_server.service.games.parts import make_game_parts
from hkoji_server.service.mail.tokens import LetterPlan
from hkoji_server.service.notices.couriers import Later, Notice, Sending
from hkoji_server.service.notices.delivery import NoticeDelivery
from hkoji_server.service.players.held_players import HeldPlayers
from hkoji_server.service.players.limits import RateLimits
from hkoji_server.service.players.players import identify
from hkoji_server.service.time.service_time import ClockAndEntropy, ServiceTime
from hkoji_server.store.contract import Store
from hkoji_server.store.game_values import Query
from hkoji_server.store.mail_tables import IncomingMail
from hkoji_server.store.mail_values import Mailbox, NewMail
from hkoji_server.store.tables import Channel

from hkoji.game import entry_kinds
from hkoji.game.agreement import DAY, Agreement, TimeControl
from hkoji.game.clock import Way
from hkoji.log.mail_claim import MailGrade
from hkoji.log.public_key import parse_public_key
from hkoji.mail.addresses import OwnAddress
from hkoji.mail.letters import compose, write_letter
from hkoji.mail.mail import read_mail
from hkoji.mail.message import without_trace
from hkoji.mail.tokens import token_digest
from hkoji.manual.catalogues import load_speaker
from hkoji.rules.protocol import Ruleset
from tests.support.mail.mailbox_player import MailboxPlayer
from tests.support.mail.post_office import Letter, letters
from tests.support.mail.signing import SigningProvider
from tests.support.service import Player
from tests.support.service_in_process import Clock, Inside, drawn, inside, read_settings

OWN = OwnAddress("play@hkoji.example")
DAYS = Agreement(TimeControl(3 * DAY, 14 * DAY, 0, 14 * DAY))
NEVER_OUT = 10**7
_PROCESSES = count()
"""Numbers the processes of a test run: no two draw the same bytes."""

Answered = TypeVar("Answered")


@dataclass
class ListedMailbox:
    """A mailbox that is a list. Its mails are kept and, unless the world is told to wait, processed at once."""

    address: str
    world: ListWorld
    letters: list[bytes] = field(default_factory=list)
    signs: SigningProvider | None = None
    """Signs the mails that are sent with DKIM."""

    def send(self, raw: bytes, to: Iterable[str]) -> None:
        """Hands a message over to the service."""
        if self.signs is not None:
            raw = self.signs(raw, self.world.run(self.world.time.now()))
        for recipient in to:
            self.world.take(raw, recipient)

    def received(self) -> list[bytes]:
        return list(self.letters)


@dataclass
class ListedDns:
    """DNS as a dictionary, and the names for which it was asked."""

    records: dict[str, tuple[bytes, ...]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def look_up(self, names: Sequence[str]) -> dict[str, tuple[bytes, ...]]:
        """Returns what there is of these names."""
        self.asked += names
        return {name: self.records[name] for name in names if name in self.records}


@dataclass
class ListCourier:
    """Renders letters, and puts them into the lists."""

    world: ListWorld
    lasting = True
    places = 20
    sent: list[str] = field(default_factory=list)
    """The events of the notices for which a letter was sent, in order."""
    envelopes: list[str] = field(default_factory=list)
    faults: list[Exception] = field(default_factory=list)
    """The failures, which the delivery only logs."""

    def host_of(self, target: str) -> str:
        """All mailboxes are at one provider."""
        return ""

    async def plan(self, channel: Channel, notice: Notice) -> Sending | None:
        """Returns how to send a notice as a letter."""
        with self._noting():
            plan = await self.world.parts.letters.of(channel, notice)
        return None if plan is None else Sending(partial(self._send, notice, plan), plan.rows)

    async def _send(self, notice: Notice, plan: LetterPlan) -> None:
        with self._noting():
            raw = compose(write_letter(plan.facts, load_speaker(plan.language)), plan.headers)
            self.world.mailbox(plan.headers.to).letters.append(raw)
            self.world.after_letter()
            self.sent.append(notice.event.value)
            self.envelopes.append(plan.envelope)

    @contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except Later:
            raise
        except Exception as error:
            self.faults.append(error)
            raise


@dataclass
class ListWorld:
    """The world of a test."""

    service: Inside
    store: Store
    delivery: NoticeDelivery
    time: ServiceTime
    held: LoadedGames
    players: HeldPlayers
    seeds: HeldSeeds
    seed_due: asyncio.Queue[str]
    keeper: Keeper
    parts: MailParts
    dns: ListedDns
    lists: dict[str, ListedMailbox] = field(default_factory=dict)
    processes: bool = True
    """Whether a mail is processed as soon as it is kept."""
    taken: list[int] = field(default_factory=list)
    """The numbers of the mails that were kept."""
    outage_after: int = NEVER_OUT
    after_letter: Callable[[], None] = lambda: None
    """Called when the mail server has taken a letter."""

    @property
    def clock(self) -> Clock:
        return self.service.clock

    @property
    def courier(self) -> ListCourier:
        courier = self.delivery.couriers["mail"]
        assert isinstance(courier, ListCourier)
        return courier

    def run(self, work: Coroutine[Any, Any, Answered]) -> Answered:
        """Runs something in the service's loop."""
        return self.service.runner.run(work)

    def mailbox(self, address: str) -> ListedMailbox:
        """The list of an address."""
        return self.lists.setdefault(address, ListedMailbox(address, self))

    def player(self, address: str) -> MailboxPlayer:
        """Somebody with a mailbox."""
        return MailboxPlayer(self.mailbox(address))

    def restart(self, store: Store) -> None:
        """Puts another mail process in the place of this one: nothing that was in its memory is left."""
        new = self.run(_make(self.service, store, MailGrade.TOKEN, 20, 500, self.outage_after, self.dns))
        new.delivery.couriers["mail"] = self.courier
        self.delivery, self.time, self.held = new.delivery, new.time, new.held
        self.players, self.seeds, self.keeper, self.parts = new.players, new.seeds, new.keeper, new.parts

    @contextmanager
    def beside(self) -> Iterator[ListWorld]:
        """Another mail process of this service, with a store of its own; its letters go into the same lists."""
        opened = self.service.store()
        store = self.run(opened.__aenter__())
        try:
            other = self.run(_make(self.service, store, MailGrade.TOKEN, 20, 500, self.outage_after, self.dns))
            other.lists, other.delivery.couriers["mail"] = self.lists, ListCourier(other)
            yield other
        finally:
            self.run(opened.__aexit__(None, None, None))

    # --- what the service does by itself --------------------------------------------------------------------------

    def take(self, raw: bytes, recipient: str) -> None:
        """Keeps a mail that has come, as it would by LMTP, and processes it."""

        async def work() -> int | None:
            mail = read_mail(raw)
            found = mail.find_token(recipient, OWN)
            reply = None if found is None else await self.store.reply(token_digest(found.token))
            digest = sha256(recipient.encode() + b"\n" + without_trace(raw)).hexdigest()
            box = None if reply is not None else await self.store.mailbox_at(mail.header.sender or "")
            if reply is None and box is None:
                return None
            new = NewMail(
                digest=digest,
                via="pipe",
                raw=raw,
                received=await self.time.now(),
                name=reply.name if reply else box.name if box else "",
                channel=reply.channel if reply else box.channel if box else "",
                game=reply.game if reply else "",
                message_id="" if mail.fault else mail.known_by(),
                reply=reply.digest if reply else None,
                outages=len(self.time.outages),
            )
            return (await self.store.add_incoming(new)).number

        number = self.run(work())
        if number is not None:
            self.taken.append(number)
            if self.processes:
                self.process()

    def process(self) -> list[str]:
        """Processes all mails that wait. Returns what the answers say, in order."""
        said: list[str] = []
        for waiting in self.run(self.store.waiting_mails(100)):
            said += [kind.value for kind in self.run(self.parts.orders.process(waiting.number))]
        return said

    def incoming(self, number: int = -1) -> IncomingMail:
        """A mail that was kept, by its place among them; by default the last one."""
        found = self.run(self.store.incoming(self.taken[number]))
        assert found is not None
        return found

    def deliver(self, seconds: float = 0) -> list[str]:
        """Lets time pass, lets the keeper look for seeds, and sends what is due; returns the events of the letters."""
        self.clock.pass_by(seconds)
        before = len(self.courier.sent)

        async def work() -> None:
            await self.seeds.look()
            for _ in range(4):
                await self.delivery.look()
                await self.delivery.settle()

        self.run(work())
        if self.courier.faults:
            raise self.courier.faults.pop()
        return self.courier.sent[before:]

    def box(self, name: str) -> Mailbox:
        """The mailbox of a mail player."""
        found = self.run(self.store.mailbox_of(name, self.run(self.time.now())))
        assert found is not None
        return found

    def games_of(self, name: str) -> list[str]:
        """The ids of a player's games."""
        return [each.game for each in self.run(self.store.games(Query(player=name, own=True)))]

    # --- invitations ----------------------------------------------------------------------------------------------

    def invite(
        self,
        host: Player,
        name: str,
        address: str,
        *,
        ruleset: Ruleset | None = None,
        agreement: Agreement = DAYS,
        lang: str = "en",
    ) -> str:
        """Invites the owner of a mailbox to a game, as `new --invite NAME --mail ADDRESS` does. Returns its id."""
        known = self.run(self.store.mailbox_of(name, self.run(self.time.now())))
        if known is not None and known.state == "active":
            key = known.held_key
        else:
            key = self.run(self.players.invite(name, address, lang, host.name)).key.text
        return host.new(ruleset, entry_kinds.Invite(name, parse_public_key(key)), agreement)

    def joined(self, host: Player, guest: MailboxPlayer, **options: Any) -> str:  # Any: options of `invite`
        """A game that the owner of a mailbox has accepted, up to its first decision. Returns its id."""
        game = self.invite(host, guest.name, guest.mailbox.address, **options)
        self.deliver()
        guest.answer(guest.next_letter(0), "accept")
        self.deliver()
        host.seed(game)
        return game


def unread(player: MailboxPlayer) -> list[Letter]:
    """The letters that a player has not read; now they are read."""
    found = letters(player.mailbox)[player.known :]
    player.known += len(found)
    return found


@contextmanager
def list_world(
    data: Path,
    *,
    require: MailGrade = MailGrade.TOKEN,
    per_day: int = 20,
    per_hour: int = 500,
    seeds_at_once: bool = False,
    outage_after: int = NEVER_OUT,
    **settings: Any,  # Any: settings by name
) -> Iterator[ListWorld]:
    """A world for the duration of a block. The service's own tasks do nothing by themselves.

    With `seeds_at_once` it sends the seeds of held seats as it always does.
    """
    with (
        patch("hkoji_server.app.deliver_at_intervals", _never),
        patch("hkoji_server.app.keep_at_intervals", _never),
        patch("hkoji_server.app.tidy_at_intervals", _never),
        nullcontext() if seeds_at_once else patch("hkoji_server.app.send_seeds_at_intervals", _never),
        inside(data, outage_after=outage_after, **settings) as service,
    ):
        service.ask("GET", "/v1/service")
        opened = service.store()
        store = service.runner.run(opened.__aenter__())
        try:
            world = service.runner.run(_make(service, store, require, per_day, per_hour, outage_after, ListedDns()))
            world.delivery.couriers["mail"] = ListCourier(world)
            yield world
        finally:
            service.runner.run(opened.__aexit__(None, None, None))


async def _make(
    service: Inside,
    store: Store,
    require: MailGrade,
    per_day: int,
    per_hour: int,
    outage_after: int,
    dns: ListedDns,
) -> ListWorld:
    sources = ClockAndEntropy(service.clock, drawn(f"mail {next(_PROCESSES)}"), service.clock.elapsed)
    key, origin = await identify(store, sources, None, "http://inside")
    time = ServiceTime(
        store, sources, outage_after=outage_after, way=Way.MAIL, unprocessed=store.oldest_unprocessed_mail
    )
    await time.beat()
    delimiter = MailDelimiter(OWN.delimiter or "none")
    settings = read_settings(
        data=service.data,
        mail=OWN.mailbox,
        mail_delimiter=delimiter,
        mail_require="dkim" if require is MailGrade.DKIM else "token",
        mail_per_day=per_day,
        mail_per_hour=per_hour,
        shortest_clock=1,
    )
    made = make_game_parts(store, settings, time, sources, key, origin=origin, limits=RateLimits())
    held, games, players = made.held, made.games, made.held_players
    parts = make_mail_parts(store, settings, made, time, sources, origin=origin, look_up=dns.look_up)
    delivery = NoticeDelivery(store, held, time, sources, {}, origin=origin)
    seeds = HeldSeeds(store, held, games, sources)
    keeper = Keeper(store, held, time, sources, key, slack=120, ways=(Way.MAIL,))
    return ListWorld(
        service,
        store,
        delivery,
        time,
        held,
        players,
        seeds,
        made.seed_due,
        keeper,
        parts,
        dns,
        outage_after=outage_after,
    )


def _never(*_: Any) -> Coroutine[Any, Any, object]:  # Any: as the service calls it
    return asyncio.Event().wait()
