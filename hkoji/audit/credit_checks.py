"""The rules for what a `credit` or `annul` contains: a gift of time, outages, and both players' signatures.

docs/spec/log.md, "Gifts of time", "Credits", "Outages" and "Calling a game off"; "Audit", step 5. As in
`hkoji.audit.checks`, each rule is one function, which returns None or raises an error whose text is the finding.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from hkoji.errors import IllegalError
from hkoji.game.clock import Effect, GameClock, Outage, Way
from hkoji.game.entry_kinds import Annul, GivenTime
from hkoji.game.held_keys import verify_statement_mail
from hkoji.log import sshsig
from hkoji.log.game_statements import make_annul, make_gift
from hkoji.log.line import Entry
from hkoji.log.public_key import PublicKey
from hkoji.messages.text import tell


def verify_clock_runs(clock: GameClock | None, *, after_play: bool = True) -> GameClock:
    """Returns the clock of a game, which must run; a credit must come directly `after_play`: after what a player owed.

    "Timeouts", "Credits". Raises `IllegalError`.
    """
    if clock is None or clock.last is Effect.ENDS:
        raise IllegalError(tell("no clock runs"))
    if not after_play:
        raise IllegalError(tell("it does not directly follow a seed, a move or a release"))
    return clock


def verify_gift(
    gift: GivenTime, heads: Collection[str], game: str, giver: str, key: PublicKey, *, held: bool = False
) -> None:
    """Checks that a gift is for the entry that it is recorded for, and that its giver has signed it with `key`.

    `heads` are the heads that it may name, `giver` is the opponent of the seat that it helps, and `held` says that the
    service holds this player's only key. "Gifts of time". Raises `IllegalError` or `SignatureError`.
    """
    if gift.head not in heads:
        raise IllegalError(tell("the gift of time is not for this entry"))
    verify_statement_mail(giver, gift.mail, held=held)
    statement = make_gift(game=game, head=gift.head, name=giver, seconds=gift.seconds, mail=gift.mail)
    sshsig.verify(gift.sig, key, sshsig.GIVE, statement.message, giver)


class Caller(NamedTuple):
    """A player who has called a game off: the name, the key that is valid there, and whether the service holds it."""

    name: str
    key: PublicKey
    held: bool = False


def verify_both_signed(entry: Entry, body: Annul, players: Sequence[Caller]) -> None:
    """Checks that host and guest, with their keys, have both called the game off at the head before `entry`.

    "Calling a game off". Raises `IllegalError` or `SignatureError`.
    """
    if len(players) != len(body.sigs):
        raise IllegalError(tell("a game that nobody has joined cannot be called off"))
    for sig, mail, (name, key, held) in zip(body.sigs, body.mails, players, strict=True):
        verify_statement_mail(name, mail, held=held)
        statement = make_annul(game=entry.game, head=entry.prev, name=name, mail=mail)
        sshsig.verify(sig, key, sshsig.ANNUL, statement.message, name)


def verify_ways(outages: Iterable[Outage], way: Way) -> None:
    """Checks that outages are of the way that is open to the seat that they help. "Outages". Raises `IllegalError`."""
    for outage in outages:
        if outage.way is not way:
            raise IllegalError(
                tell(
                    "the outage from {begin} to {until} is of {way}, which does not help this player",
                    begin=outage.begin,
                    until=outage.until,
                    way=outage.way,
                )
            )


def verify_outages(outages: Sequence[Outage], since: str, until: str, times: Iterable[str]) -> None:
    """Checks that outages lie in [since, until), and that none of the `times` of record lies in one.

    The times are those of entries that came the same way. "Outages". Raises `IllegalError`.
    """
    for outage in outages:
        if outage.begin < since or outage.until > until:
            raise IllegalError(
                tell(
                    "the outage from {begin} to {until} is not between {since} and {at}",
                    begin=outage.begin,
                    until=outage.until,
                    since=since,
                    at=until,
                )
            )
    for at in times:
        verify_not_out(at, outages)


def verify_not_out(at: str, outages: Iterable[Outage]) -> None:
    """Checks that a time of record lies in none of the outages. "Outages". Raises `IllegalError`."""
    for outage in outages:
        if outage.holds(at):
            raise IllegalError(
                tell(
                    "the service has accepted an entry at {at}, in its outage from {begin} to {until}",
                    at=at,
                    begin=outage.begin,
                    until=outage.until,
                )
            )
