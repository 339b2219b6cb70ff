"""The referee, without I/O: it takes a log, its secrets and a submission, and returns the entries to append.

The service wraps it with a database, local play with a file, tests with a list. No other code decides which entries are
appended to a game. The caller passes the time and the signer; the referee draws nothing at random and stores nothing.
It stands above `hkoji.audit`, because it calls the rules in `hkoji.audit.checks`.

Order of the checks on a submission: format, place in the chain, author, signature, then the game. So an error about
cards reaches only a sender who has signed with the seat's key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from hkoji.audit.checks import require_receipt, verify_lapse, verify_new_salt, verify_signatures
from hkoji.errors import (
    ConflictError,
    GameOverError,
    IllegalError,
    MalformedError,
    NotOverdueError,
    StorageError,
    TimeOverError,
)
from hkoji.game import entry_kinds
from hkoji.game.agreement import UNTIMED, Agreement
from hkoji.game.clock import Outage, Way, after_outages, came_by
from hkoji.game.commitments import Opening, verify_openings
from hkoji.game.course import Course, Stage
from hkoji.game.dealer import Publishes, SealedTerms, ServerTerms, Terms, verify_seed
from hkoji.game.entry_kinds import GivenTime, begin, parse_body
from hkoji.game.entry_kinds.key_changes import Revoke
from hkoji.game.entry_kinds.time import LapseReason, credited_seconds, find_help
from hkoji.game.held_keys import verify_gateway
from hkoji.game.knowledge import FullKnowledge, Knowledge, SpectatorKnowledge
from hkoji.game.parts import Parts
from hkoji.game.submission import Submission, draft_entry
from hkoji.log import sshsig
from hkoji.log.line import GENESIS, SERVER_NAME, Entry, Line, SignedReceipt, make_entry, make_receipt, sign_entry
from hkoji.log.mail_claim import MailClaim
from hkoji.log.private_key import Signer
from hkoji.log.statement import Dealt, View, make_view
from hkoji.messages.text import tell
from hkoji.rules.events import Event, Seat
from hkoji.rules.protocol import Ruleset

if TYPE_CHECKING:
    from hkoji.game.proving import ProofCheck
    from hkoji.game.sealed_parts import GivePart

Verify: TypeAlias = "Callable[[Sequence[ProofCheck]], None]"
"""Makes the checks of all proofs of an entry and of its deposit, in their order. Raises what they raise."""


class RefereedGame(NamedTuple):
    """A game as the referee knows it: the course with all cards, the time of record of its head, and the secrets."""

    course: Course
    at: str
    seed: str | None
    """None in a sealed game, which has none."""
    openings: tuple[Opening, ...] = ()
    """All openings received so far, published or not, in order of (seq, part)."""
    deposits: tuple[GivePart, ...] = ()
    """The draws that the service keeps for the players of a sealed game."""


class Accepted(NamedTuple):
    """The result of an accepted submission: the lines to append, the player's and then those that the service owes.

    `refereed` is the game after them, with the openings to keep; `events` are what has happened, with all cards known.
    """

    lines: tuple[Line, ...]
    refereed: RefereedGame
    events: tuple[Event, ...] = ()


def offer(
    game: str,
    ruleset: Ruleset,
    seed: str | None,
    *,
    signer: Signer,
    at: str,
    agreement: Agreement = UNTIMED,
    terms: Terms | None = None,
) -> Accepted:
    """A new game: its first line. `game` is 32 hex digits, `seed` 64, both fresh; `at` is the time now.

    `agreement` is what both players will sign. `terms` are the dealer's, by default those of `server/v1`; a sealed game
    has no seed. Raises `CommitmentError` if they are not of that seed.
    """
    if terms is None:
        terms = SealedTerms() if seed is None else ServerTerms.bind(game, seed)
    verify_seed(terms, game, 0, seed)
    body = entry_kinds.Offer(terms, ruleset, signer.public, agreement)
    entry = make_entry(
        at=at, body=body.to_json(), by=SERVER_NAME, game=game, kind="offer", prev=GENESIS, seen=None, seq=0
    )
    line = _receipted(entry, sign_entry(entry, signer), signer, at)
    return Accepted((line,), RefereedGame(begin(entry, body), at, seed))


def resume(
    lines: Iterable[Line], seed: str | None, openings: tuple[Opening, ...], deposits: tuple[GivePart, ...] = ()
) -> RefereedGame:
    """The game of a stored log and its secrets. It checks no signatures. Raises what `Course.apply` raises."""
    iterator = iter(lines)
    first = next(iterator)
    course = begin(first.entry, parse_body(first.entry.kind, first.entry.body))
    refereed = RefereedGame(course, require_receipt(first).receipt.at, seed, openings, deposits)
    return catch_up(refereed, iterator, openings, deposits)


def catch_up(
    refereed: RefereedGame,
    lines: Iterable[Line],
    openings: tuple[Opening, ...],
    deposits: tuple[GivePart, ...] = (),
) -> RefereedGame:
    """`refereed` with further stored lines; `openings` and `deposits` are all that are stored now."""
    course, at = refereed.course, refereed.at
    knowledge = _knowledge(refereed.seed, openings)
    for line in lines:
        course, _ = course.apply(line.entry, parse_body(line.entry.kind, line.entry.body), knowledge)
        at = require_receipt(line).receipt.at
    return RefereedGame(course, at, refereed.seed, openings, deposits)


def accept(
    refereed: RefereedGame,
    submission: Submission,
    *,
    signer: Signer,
    at: str,
    gifts: Sequence[GivenTime] = (),
    outages: Sequence[Outage] = (),
    verify: Verify | None = None,
) -> Accepted:
    """Referees one submission, which has come at the time `at`.

    `gifts` are those that the opponent of the author has made in this game, and `outages` all of the service, of both
    ways. The referee takes those that help this entry. `verify` is called last, for an entry that has proofs; by
    default they are checked here. Raises what it raises, `TimeOverError` if the entry comes too late all the same,
    `MalformedError`, `NotUnderstoodError`, `ConflictError` (not at the head, or it names another time of record of it;
    the caller decides whether it is a repetition), `ForbiddenError`, `NotYourTurnError`, `SignatureError`,
    `CommitmentError`, `IllegalError`, and in a sealed game `ProofError`.
    """
    course, entry = refereed.course, submission.entry
    if entry.by == SERVER_NAME:
        raise MalformedError(tell("submission"), tell("{server_name} is not a player's name", server_name=SERVER_NAME))
    body = parse_body(entry.kind, entry.body)
    if entry.game != course.setup.game:
        raise MalformedError(tell("submission"), tell("the entry belongs to another game"))
    if (entry.seq, entry.prev) != (course.seq + 1, course.head):
        raise ConflictError(entry.game, seq=course.seq, head=course.head)
    if entry.seen != refereed.at:
        wrong = tell(
            "the entry says that the time of record before it is {seen}, and it is {at}",
            seen=entry.seen,
            at=refereed.at,
        )
        raise ConflictError(entry.game, seq=course.seq, head=course.head, reason=wrong)
    if course.finished:
        raise GameOverError(entry.game)
    key = course.signer(entry, body)
    verify_signatures(entry, submission.sig, key, body, course.setup.link)
    if body.certificate is not None:
        verify_gateway(body.certificate, entry.by, course.setup.server_key)
    openings = _keep(refereed, submission, body)
    at = _time_of_record(refereed, at, outages, came_by(entry))
    after, events = course.apply(entry, body, _knowledge(refereed.seed, openings))
    _verify_deposit(after, body, submission)
    credit = _verify_in_time(refereed, after, body, at, gifts, outages)
    if course.sealed is not None:
        from hkoji.game.proving import deposit_check, proofs_of  # other games need none of it

        proofs = proofs_of(course, entry, body)
        checks = [*proofs.cards, *proofs.deal]
        if submission.deposit is not None:
            checks.append(deposit_check(after, submission.deposit))
        if checks:
            (verify or _verify_here)(checks)
    deposits = (*refereed.deposits, submission.deposit) if submission.deposit else refereed.deposits
    result = _keeping(RefereedGame(after, at, refereed.seed, openings, deposits))
    lines = (_receipted(entry, submission.sig, signer, at),)
    return _append_own(result, _owed(result) if credit is None else credit, signer, at, lines, events)


def timeout(
    refereed: RefereedGame,
    *,
    signer: Signer,
    at: str,
    gifts: Sequence[GivenTime] = (),
    outages: Sequence[Outage] = (),
) -> Accepted:
    """Ends a game in which the time of the seat that owes the next entry is over at `at`.

    `gifts` and `outages` as in `accept`. Raises `GameOverError`, and `NotOverdueError` if its time is not over.
    """
    course = _running(refereed)
    at = max(at, refereed.at)  # an outage around it would have moved the deadline beyond it
    due = deadline(refereed, gifts=gifts, outages=outages)
    if course.actor is None or due is None or at <= due:
        raise NotOverdueError(course.setup.game, due if course.actor is not None else None)
    return _append_own(refereed, entry_kinds.Timeout(course.actor), signer, at)


def lapse(refereed: RefereedGame, reason: str, *, signer: Signer, at: str, why: str | None = None) -> Accepted:
    """Ends an open game whose offer has expired at `at`, or whose invited player has declined, and perhaps said why.

    Raises `GameOverError`, `IllegalError` if the game is not open or nobody was invited by name who could decline, and
    `NotOverdueError` if it has not expired.
    """
    course = _running(refereed)
    at = max(at, refereed.at)
    expires = course.setup.agreement.expires
    if reason == LapseReason.EXPIRED and (expires is None or at <= expires):
        raise NotOverdueError(course.setup.game, expires)
    body = entry_kinds.Lapse(reason, why)
    verify_lapse(body, at, expires, invited=course.setup.invited is not None)
    return _append_own(refereed, body, signer, at)


def annul(
    refereed: RefereedGame,
    sigs: tuple[bytes, bytes],
    *,
    signer: Signer,
    at: str,
    gifts: Sequence[GivenTime] = (),
    outages: Sequence[Outage] = (),
    mails: tuple[MailClaim | None, MailClaim | None] = (None, None),
) -> Accepted:
    """Calls a game off. `sigs` are the statements of host and guest about its head, which the caller has verified.

    `mails` are what those of them name that the service has signed. `gifts` and `outages` as in `accept`. Raises
    `GameOverError`, `IllegalError` before the join, and `TimeOverError`.
    """
    course = _running(refereed)
    if course.actor is None:
        raise IllegalError(tell("a game that nobody has joined cannot be called off"))
    at = _time_of_record(refereed, at, outages, course.setup.way(course.actor))
    due = deadline(refereed, gifts=gifts, outages=outages)
    if due is not None and at > due:
        raise TimeOverError(course.setup.game, due)
    gift, lost = find_help(course, refereed.at, at, gifts, outages) if course.clock else (None, ())
    return _append_own(refereed, entry_kinds.Annul(gift, lost, course.actor, sigs, mails), signer, at)


def deadline(refereed: RefereedGame, *, gifts: Sequence[GivenTime] = (), outages: Sequence[Outage] = ()) -> str | None:
    """Until when the entry that is due can come, or a guest can join; None if no time runs.

    `gifts` and `outages` as in `accept`. An outage that comes later moves it on.
    """
    course = refereed.course
    if course.clock is None or not (gifts or outages):
        return course.deadline(refereed.at)
    gift, lost = find_help(course, refereed.at, None, gifts, outages)
    return course.deadline(refereed.at, credited_seconds(course.clock.control, gift, lost))


def unseal(refereed: RefereedGame, *, signer: Signer, at: str) -> Accepted:
    """Publishes the seed that the end has left unopened. The caller knows that all tables of the deal have ended.

    Raises `IllegalError` before the end, `GameOverError` if no seed is unopened, `CommitmentError` for a wrong seed.
    """
    if refereed.course.stage is Stage.OVER:
        raise GameOverError(refereed.course.setup.game)
    if refereed.seed is None:
        raise IllegalError(tell("this game has no seed"))
    return _append_own(refereed, entry_kinds.Unseal(refereed.seed), signer, max(at, refereed.at))


def revoke(refereed: RefereedGame, body: Revoke, *, signer: Signer, at: str) -> Accepted:
    """Puts a player's new key in the place of a lost one. The caller has checked who the player is.

    Raises `GameOverError`, `IllegalError` when the seat does not owe the next entry, or for a key that cannot be its
    next one; `SignatureError` for a proof that does not verify.
    """
    _running(refereed)
    accepted = _append_own(refereed, body, signer, max(at, refereed.at))
    line = accepted.lines[0]
    verify_signatures(line.entry, line.sig, signer.public, body)
    return accepted


def view(refereed: RefereedGame, seat: Seat) -> View:
    """Returns the view of `seat` of its own cards, which the service signs in namespace `hkoji.view.v1`."""
    course = refereed.course
    dealt = tuple(Dealt(cards, number) for number, cards in enumerate(course.shown_to(seat), 1))
    return make_view(dealt=dealt, game=course.setup.game, head=course.head, seat=seat, seq=course.seq)


def own_openings(refereed: RefereedGame, seat: Seat) -> tuple[Opening, ...]:
    """The openings that `seat` itself has sent and the log has not published."""
    mine = {(card.seq, card.part) for card in refereed.course.face_down if card.seat == seat}
    return tuple(opening for opening in refereed.openings if (opening.seq, opening.part) in mine)


def _verify_here(checks: Sequence[ProofCheck]) -> None:
    from hkoji.sealed.sodium import quickest

    combine = quickest()
    for check in checks:
        check(combine)


def _verify_deposit(after: Course, body: entry_kinds.EntryBody, submission: Submission) -> None:
    """Checks that what is deposited is what the entry, the last of `after`, names. Raises `MalformedError`."""
    named, sent = body.parts.deposit, submission.deposit
    if named is None and sent is None:
        return
    place = after.sealed.deposits[-1] if named is not None and after.sealed is not None else None
    if sent is None or place != (sent.round, sent.at[0], sent.digest) or len(sent.at) > 1:
        raise MalformedError(tell("submission"), tell("its deposit is not the one that the entry names"))


def _keeping(refereed: RefereedGame) -> RefereedGame:
    """The game with only the deposits whose draws have not been given yet, and none after its end."""
    sealed = refereed.course.sealed
    if sealed is None or not refereed.deposits:
        return refereed
    live = () if refereed.course.outcome is not None else sealed.deposits
    kept = {(each.round, each.position) for each in live}
    return refereed._replace(deposits=tuple(each for each in refereed.deposits if (each.round, each.at[0]) in kept))


def _running(refereed: RefereedGame) -> Course:
    course = refereed.course
    if course.finished:
        raise GameOverError(course.setup.game)
    return course


def _time_of_record(refereed: RefereedGame, at: str, outages: Sequence[Outage], way: Way | None) -> str:
    """The time of record of an entry that is decided at `at`: not before the last, and in no outage of its way."""
    at = max(at, refereed.at)
    return at if way is None else after_outages(at, outages, way)


def _verify_in_time(
    refereed: RefereedGame,
    after: Course,
    body: entry_kinds.EntryBody,
    at: str,
    gifts: Sequence[GivenTime],
    outages: Sequence[Outage],
) -> entry_kinds.Credit | None:
    """The credit that follows an entry with `body`, whose time of record is `at`; `after` is the course with it.

    Raises `TimeOverError`.
    """
    course = refereed.course
    if isinstance(body, entry_kinds.Join):
        expires = course.setup.agreement.expires
        if expires is not None and at > expires:
            raise TimeOverError(course.setup.game, expires)
    if course.clock is None or not body.effect.owed:
        return None
    assert course.actor is not None  # it owed this entry
    assert after.clock is not None
    gift, lost = find_help(course, refereed.at, at, gifts, outages)
    credits = credited_seconds(course.clock.control, gift, lost) if gift or lost else 0
    # The entry states the time of record before it, so the pace after it is the one in which it was due.
    if after.clock.pace.is_late(course.clock.control, course.actor, at, credits):
        due = course.deadline(refereed.at, credits)
        assert due is not None
        raise TimeOverError(course.setup.game, due)
    return entry_kinds.Credit(gift, lost) if gift or lost else None


def _append_own(
    refereed: RefereedGame,
    body: entry_kinds.EntryBody | None,
    signer: Signer,
    at: str,
    lines: tuple[Line, ...] = (),
    events: tuple[Event, ...] = (),
) -> Accepted:
    """The service's entry with `body`, if there is one, and what it owes after it, behind `lines` and `events`."""
    while body is not None:
        line = _server_line(refereed, body, signer, at)
        course, more = refereed.course.apply(line.entry, body, _knowledge(refereed.seed, refereed.openings))
        refereed, lines, events = _keeping(refereed._replace(course=course, at=at)), (*lines, line), events + more
        body = _owed(refereed)
    return Accepted(lines, refereed, events)


def _knowledge(seed: str | None, openings: tuple[Opening, ...]) -> Knowledge:
    if seed is None:
        return SpectatorKnowledge()
    by_seq: dict[int, tuple[Opening, ...]] = {}
    for opening in openings:
        by_seq[opening.seq] = (*by_seq.get(opening.seq, ()), opening)
    return FullKnowledge(seed, by_seq)


def _keep(refereed: RefereedGame, submission: Submission, body: entry_kinds.EntryBody) -> tuple[Opening, ...]:
    """All openings with those of `submission`, which must be exactly those its commitments need."""
    entry = submission.entry
    commit = body.commit if isinstance(body, entry_kinds.Move) else ()
    places = [(opening.seq, opening.part) for opening in submission.opening]
    if places != [(entry.seq, part) for part in range(len(commit))]:
        raise MalformedError(
            tell("submission"),
            tell("it must have exactly one opening for each commitment"),
            hint=_OPENING_HINT,
        )
    verify_openings(entry.game, submission.opening, commit)
    salts = {opening.salt for opening in refereed.openings}
    for opening in submission.opening:
        verify_new_salt(opening, salts)
    return refereed.openings + submission.opening


_LOST = tell("nothing was changed; the operator finds it in a backup of the database")
_OPENING_HINT = tell("send cards and salt of each commitment in `opening`")


def _owed(refereed: RefereedGame) -> entry_kinds.EntryBody | None:
    course = refereed.course
    match course.server_owes():
        case "chance":
            dealer = course.setup.dealer(refereed.seed)
            decided = dealer.chance() if dealer else None
            return entry_kinds.ChanceBody(decided.first, decided.markers) if decided else None
        case "release":
            assert course.sealed is not None
            due = course.sealed.due_deposit(course.state, course.draws)
            kept = [each for each in refereed.deposits if due == (each.round, each.at[0], each.digest)]
            if not kept:
                raise StorageError(tell("a deposit in game {game} is lost", game=course.setup.game[:8]), hint=_LOST)
            return entry_kinds.Release(Parts(give=kept[0]))
        case "reveal":
            return entry_kinds.RevealBody(_due(refereed))
        case "end":
            assert course.outcome is not None
            at_end = course.setup.terms.publishes is Publishes.AT_END
            return entry_kinds.End(_due(refereed), course.outcome, refereed.seed if at_end else None)
        case _:
            return None


def _due(refereed: RefereedGame) -> tuple[Opening, ...]:
    due = {(card.seq, card.part) for card in refereed.course.due_openings()}
    return tuple(opening for opening in refereed.openings if (opening.seq, opening.part) in due)


def _server_line(refereed: RefereedGame, body: entry_kinds.EntryBody, signer: Signer, at: str) -> Line:
    entry = draft_entry(refereed.course, body, by=SERVER_NAME, at=at, seen=refereed.at).entry
    return _receipted(entry, sign_entry(entry, signer), signer, at)


def _receipted(entry: Entry, sig: bytes, signer: Signer, at: str) -> Line:
    receipt = make_receipt(at=at, game=entry.game, head=entry.head, seq=entry.seq)
    return Line(entry, sig, SignedReceipt(receipt, signer.sign(sshsig.RECEIPT, receipt.message)))
