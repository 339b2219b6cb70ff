"""Two players and a host in memory: a game is played by signed submissions and kept as a list of lines.

All randomness comes from one seeded generator, so that a failing game can be played again.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Self, TypedDict

import pytest

from hkoji import errors, referee
from hkoji.game import entry_kinds
from hkoji.game.agreement import UNTIMED, Agreement
from hkoji.game.clock import Outage, Way, format_time, parse_time
from hkoji.game.commitments import Opening, entropy_commit
from hkoji.game.course import Course, Stage
from hkoji.game.dealer import DuplicateTerms
from hkoji.game.entry_kinds import GivenTime
from hkoji.game.entry_kinds.key_changes import Delegate, Rekey, Revoke, Revoked
from hkoji.game.held_keys import Gateway, certify
from hkoji.game.submission import Submission
from hkoji.log import sshsig
from hkoji.log.canonical import JsonValue
from hkoji.log.game_statements import make_annul, make_gift
from hkoji.log.line import Line, format_log, make_entry, sign_entry
from hkoji.log.link_key import link_key
from hkoji.log.mail_claim import NO_MAIL, MailClaim, MailGrade
from hkoji.log.private_key import PrivateKey
from hkoji.log.public_key import PublicKey
from hkoji.log.statement import make_revocation, proof_message
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Due, Ruleset

AT = "2026-11-20T12:00:00Z"
Blob = bytes
NAMES = ("alice", "bob")
ORIGIN = "http://127.0.0.1:9"
CODE = "000102030405060708090a0b0c0d0e0f"
"""The code of a link."""


BY_MAIL = ("open", "join", "seed", "move", "resign", "cancel")
"""The kinds of entry that name a mail if the service signs them for a player."""


class Newcomer(TypedDict):
    """The fields of a player who takes a seat, by the names of the parameters that take them."""

    entropy_commit: str
    key: PublicKey
    name: str


@dataclass
class Table:
    """A game in progress. `keys` are (host, guest); `refereed` changes only when a submission is accepted."""

    ruleset: Ruleset = field(default_factory=Hanamikoji)
    seed: int = 0
    deal: tuple[str, str] | None = None
    """Deal id and seed of dealer `duplicate/v1`; without them the dealer is `server/v1`."""
    names: tuple[str, str] = NAMES
    host_key: PrivateKey | None = None
    """The host's key, if it is not one of the table's own."""
    agreement: Agreement = UNTIMED
    now: str = AT
    """The time at which the host decides; at first that of the offer."""
    held: tuple[int, ...] = ()
    """The seats whose only key the service holds: all that they sign names a mail."""
    grade: MailGrade = MailGrade.TOKEN
    """The grade of the mails."""

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.gifts: tuple[GivenTime, ...] = ()
        self.outages: tuple[Outage, ...] = ()
        self.server = self.host_key or PrivateKey.from_seed(self.bytes(32))
        self.keys = (PrivateKey.from_seed(self.bytes(32)), PrivateKey.from_seed(self.bytes(32)))
        self.every_key = list(self.keys)
        self.game = self.bytes(16).hex()
        seed, terms = self.bytes(32).hex(), None
        if self.deal:
            seed, terms = self.deal[1], DuplicateTerms.bind(*self.deal)
        offered = referee.offer(
            self.game, self.ruleset, seed, signer=self.server, at=self.now, agreement=self.agreement, terms=terms
        )
        self.lines: list[Line] = list(offered.lines)
        self.refereed = offered.refereed
        self.entropy = (self.bytes(32).hex(), self.bytes(32).hex())
        self.link: PrivateKey | None = None
        self.delegated: dict[int, PrivateKey] = {}
        """By seat, the held key that signs from now on beside the seat's own."""

    def bytes(self, count: int) -> bytes:
        return self.random.randbytes(count)

    @property
    def course(self) -> Course:
        return self.refereed.course

    @property
    def text(self) -> str:
        return format_log(self.lines)

    def entry(self, seat: int, content: entry_kinds.EntryBody, **changes: object) -> Submission:
        """A signed submission of `seat`; `changes` replace fields of the entry."""
        fields: dict[str, object] = {
            "at": AT,
            "body": self.said(seat, content),
            "by": self.names[seat],
            "game": self.game,
            "kind": content.KIND,
            "prev": self.course.head,
            "seen": self.refereed.at,
            "seq": self.course.seq + 1,
        }
        entry = make_entry(**{**fields, **changes})  # type: ignore[arg-type] # fields by name
        key = self.delegated.get(seat) if "mail" in entry.body else None
        return Submission(entry, sign_entry(entry, key or self.keys[seat]))

    def said(self, seat: int, content: entry_kinds.EntryBody) -> dict[str, JsonValue]:
        """A body as it stands in the entry: with a mail, and with a certificate, where the service holds the key."""
        body = content.to_json()
        if seat not in self.held or content.KIND not in BY_MAIL:
            return body
        if content.newcomer_key() is not None:
            body.setdefault("gateway", self.certify(seat, self.keys[seat].public).to_json())
        mail = NO_MAIL if content.KIND == "seed" else self.mail()
        body.setdefault("mail", mail.to_json())
        return body

    def mail(self, grade: MailGrade | None = None) -> MailClaim:
        """The service's claim about a mail that has just come."""
        return MailClaim(self.bytes(32).hex(), grade or self.grade)

    def certify(self, seat: int, key: PublicKey, **changes: object) -> Gateway:
        """The service's certificate of a key that it holds for a seat; `changes` replace what it says."""
        fields: dict[str, object] = {
            "address": sha256(self.names[seat].encode()).hexdigest(),
            "at": AT,
            "key": key,
            "name": self.names[seat],
            "origin": ORIGIN,
        }
        return certify(self.server, **{**fields, **changes})  # type: ignore[arg-type] # fields by name

    def delegate(self, seat: int, grade: MailGrade = MailGrade.TOKEN) -> PrivateKey:
        """Lets the service sign for a seat too, with a key that it holds; returns that key."""
        key = PrivateKey.from_seed(self.bytes(32))
        self.send(self.entry(seat, Delegate(self.certify(seat, key.public), grade)))
        self.every_key.append(key)
        self.delegated[seat] = key
        return key

    def end_delegation(self, seat: int) -> None:
        """Lets only a seat's own key sign for it again."""
        self.send(self.entry(seat, Delegate(None, None)))
        del self.delegated[seat]

    def by_mail(self, seat: int, content: entry_kinds.EntryBody, mail: MailClaim | None = None) -> Submission:
        """A submission that the service signs for a seat, for a mail."""
        said = content.to_json() | {"mail": (mail or self.mail()).to_json()}
        return self.entry(seat, entry_kinds.parse_body(content.KIND, said))

    def rekey(self, seat: int, key: PrivateKey | None = None) -> PrivateKey:
        """Gives a seat a new key, signed with the old one."""
        new = key or PrivateKey.from_seed(self.bytes(32))
        self.send(self.entry(seat, self.rekeying(seat, new)))
        self._change(seat, new)
        return new

    def rekeying(self, seat: int, new: PrivateKey, **place: object) -> Rekey:
        """The body by which a seat's key gives way to `new`; `place` replaces fields of its proof."""
        old = self.keys[seat].public
        return Rekey(new.public, old, self.proof(seat, new, **place))

    def proof(self, seat: int, new: PrivateKey, **place: object) -> Blob:
        """The proof of a new key for the next entry of a seat; `place` replaces its fields."""
        fields: dict[str, object] = {
            "game": self.game,
            "key": new.public,
            "name": self.names[seat],
            "old": self.keys[seat].public,
            "prev": self.course.head,
            "seq": self.course.seq + 1,
        }
        return new.sign(sshsig.REKEY, proof_message(**{**fields, **place}))  # type: ignore[arg-type] # fields by name

    def revoke(self, seat: int, *, signed: bool = False, key: PrivateKey | None = None) -> PrivateKey:
        """Gives a seat a new key by an entry of the service; `signed` adds the old key's own revocation."""
        new = key or PrivateKey.from_seed(self.bytes(32))
        self._keep(
            referee.revoke(self.refereed, self.revoking(seat, new, signed=signed), signer=self.server, at=self.now)
        )
        self._change(seat, new)
        return new

    def revoking(self, seat: int, new: PrivateKey, *, signed: bool = False) -> Revoke:
        """The body by which the service replaces a seat's key with `new`."""
        old, name, revoked = self.keys[seat], self.names[seat], None
        if signed:
            said = make_revocation(at=AT, key=old.public, name=name, origin=ORIGIN)
            revoked = Revoked(AT, ORIGIN, old.sign(sshsig.REVOKE, said.message))
        return Revoke(new.public, name, old.public, self.proof(seat, new), revoked)

    def _change(self, seat: int, new: PrivateKey) -> None:
        self.keys = (new, self.keys[1]) if seat == 0 else (self.keys[0], new)
        self.every_key.append(new)

    def signer(self, line: Line) -> PrivateKey:
        """The private key that has signed a line."""
        seat = self.course.setup.seat_of(line.entry.by)
        if seat is None:
            return self.server
        public = self.course.setup.key_at(seat, line.entry.seq, by_mail="mail" in line.entry.body)
        return next(key for key in self.every_key if key.public == public)

    def _keep(self, accepted: referee.Accepted) -> None:
        self.refereed = accepted.refereed
        self.lines.extend(accepted.lines)

    def move(self, action: str, seat: int | None = None, salt: str | None = None) -> Submission:
        """The submission of an action with its cards, by the seat whose turn it is."""
        actor = self.course.actor if seat is None else seat
        assert actor is not None
        seq = self.course.seq + 1
        groups = self.ruleset.hidden(action) if self.course.state.due is Due.ACT else ()
        openings = tuple(Opening(seq, part, g.cards, salt or self.bytes(32).hex()) for part, g in enumerate(groups))
        shown = self.ruleset.public(action) if groups else action
        submission = self.entry(actor, entry_kinds.Move(shown, tuple(o.commitment(self.game) for o in openings)))
        return Submission(submission.entry, submission.sig, openings)

    def send(self, submission: Submission, at: str = "") -> tuple[Line, ...]:
        """Gives a submission to the host, at the time `at` or now, and keeps the resulting lines."""
        accepted = referee.accept(
            self.refereed,
            submission,
            signer=self.server,
            at=at or self.now,
            gifts=self.gifts,
            outages=self.outages,
        )
        self._keep(accepted)
        return accepted.lines

    # --- time -----------------------------------------------------------------------------------------------------

    def wait(self, seconds: int) -> Self:
        """Lets time pass."""
        self.now = format_time(parse_time(self.now) + seconds)
        return self

    def fail(self, seconds: int) -> Self:
        """Lets time pass in which the service takes no entries: an outage."""
        begin = self.wait(1).now
        self.outages = (*self.outages, Outage(begin, self.wait(seconds).now, Way.HTTP))
        return self

    def give(self, seconds: int) -> Self:
        """Gives the seat that owes the next entry time, by its opponent."""
        assert self.course.actor is not None
        giver = 1 - self.course.actor
        mail = self.mail() if giver in self.held else None
        said = make_gift(game=self.game, head=self.course.head, name=self.names[giver], seconds=seconds, mail=mail)
        given = GivenTime(said.head, seconds, self.keys[giver].sign(sshsig.GIVE, said.message), mail)
        self.gifts = (*self.gifts, given)
        return self

    def deadline(self) -> str | None:
        """Until when the entry that is due can come."""
        return referee.deadline(self.refereed, gifts=self.gifts, outages=self.outages)

    def time_out(self) -> Self:
        """Ends the game in which the time of the seat that owes the next entry is over."""
        self._keep(
            referee.timeout(self.refereed, signer=self.server, at=self.now, gifts=self.gifts, outages=self.outages)
        )
        return self

    def call_off(self) -> Self:
        """Lets both players call the game off."""
        mails = (self.mail() if 0 in self.held else None, self.mail() if 1 in self.held else None)
        said = [
            make_annul(game=self.game, head=self.course.head, name=name, mail=mail)
            for name, mail in zip(self.names, mails, strict=True)
        ]
        host, guest = (key.sign(sshsig.ANNUL, each.message) for key, each in zip(self.keys, said, strict=True))
        self._keep(
            referee.annul(
                self.refereed,
                (host, guest),
                signer=self.server,
                at=self.now,
                mails=mails,
                gifts=self.gifts,
                outages=self.outages,
            )
        )
        return self

    def lapse(self, reason: str) -> Self:
        """Ends an open game without a guest."""
        self._keep(referee.lapse(self.refereed, reason, signer=self.server, at=self.now))
        return self

    def unseal(self, at: str = AT) -> Self:
        """Publishes the seed that stays unopened at the end of a duplicate game."""
        self._keep(referee.unseal(self.refereed, signer=self.server, at=at))
        return self

    def open(self, invite: entry_kinds.Invite | None = None) -> None:
        commit = entropy_commit(self.game, 0, self.entropy[0])
        if invite is None and 1 in self.held:
            invite = entry_kinds.Invite(self.names[1], self.keys[1].public)
        self.send(self.entry(0, entry_kinds.Open(commit, self.keys[0].public, invite)))

    def open_by_link(self, code: str = CODE) -> Self:
        """Opens the game to whoever has the link with that code."""
        self.link = link_key(code)
        self.send(self.entry(0, entry_kinds.open_by_link(self.link, self.course, **self.newcomer(0))))
        return self

    def join(self) -> None:
        self.send(self.entry(1, self.joining()))

    def joining(self) -> entry_kinds.Join:
        """The body by which the guest joins, by link if the game was opened by link."""
        if self.link:
            return entry_kinds.join_by_link(self.link, self.course, **self.newcomer(1))
        commit = entropy_commit(self.game, 1, self.entropy[1])
        return entry_kinds.Join(commit, self.keys[1].public)

    def newcomer(self, seat: int) -> Newcomer:
        """The fields of a player who takes a seat."""
        commit = entropy_commit(self.game, seat, self.entropy[seat])
        return {"entropy_commit": commit, "key": self.keys[seat].public, "name": self.names[seat]}

    @property
    def server_seed(self) -> str:
        """The seed that the service has committed to."""
        assert self.refereed.seed is not None
        return self.refereed.seed

    def reveal_seed(self, seat: int) -> None:
        self.send(self.entry(seat, entry_kinds.Seed(self.entropy[seat])))

    def reveal_seeds(self) -> None:
        for seat in (1, 0):
            self.reveal_seed(seat)

    def begin(self) -> Self:
        """Plays up to the first decision."""
        self.open()
        self.join()
        self.reveal_seeds()
        return self

    def play(self, moves: int | None = None) -> Self:
        """Plays this many random legal moves (None: to the end)."""
        played = 0
        while self.course.stage is Stage.PLAY and played != moves:
            self.send(self.move(self.random.choice(self.course.state.legal_actions())))
            played += 1
        return self


def held_game(
    seed: int = 0,
    ruleset: Ruleset | None = None,
    *,
    held: tuple[int, ...] = (1,),
    agreement: Agreement = UNTIMED,
    grade: MailGrade = MailGrade.TOKEN,
) -> Table:
    """A game up to its first decision in which the service holds the keys of some seats."""
    return Table(ruleset or Hanamikoji(), seed, agreement=agreement, held=held, grade=grade).begin()


def new_game(seed: int = 0, ruleset: Ruleset | None = None, deal: tuple[str, str] | None = None) -> Table:
    """A game up to its first decision."""
    return Table(ruleset or Hanamikoji(), seed, deal).begin()


def whole_game(seed: int = 0, ruleset: Ruleset | None = None, deal: tuple[str, str] | None = None) -> Table:
    """A game up to its end."""
    return new_game(seed, ruleset, deal).play()


def refused(
    table: Table, attempt: Submission | Callable[[], object], error: type[errors.HkojiError], at: str = AT
) -> errors.HkojiError:
    """Makes a call or sends a submission that must be refused with exactly this error; the game does not change."""
    before, lines = table.refereed, list(table.lines)
    act = (lambda: table.send(attempt, at)) if isinstance(attempt, Submission) else attempt
    with pytest.raises(errors.HkojiError) as caught:
        act()
    assert type(caught.value) is error
    assert table.refereed == before
    assert table.lines == lines
    return caught.value
