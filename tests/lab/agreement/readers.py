"""The readers of one log: the referee, both players, a spectator, clients, the audit. They have to agree.

Each function raises `AssertionError` where they disagree.
"""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Sequence
from functools import reduce
from typing import Final, TypedDict

from hkoji import errors
from hkoji import referee as host
from hkoji.audit.keyring import ExpectedKeys
from hkoji.audit.log_audit import audit
from hkoji.client.log_checks import verify_game, verify_lines
from hkoji.game import entry_kinds
from hkoji.game.clock import Outage
from hkoji.game.commitments import Opening, entropy_commit
from hkoji.game.course import Course, Stage
from hkoji.game.entry_kinds import parse_body
from hkoji.game.knowledge import FullKnowledge, SpectatorKnowledge
from hkoji.game.position import read_position
from hkoji.game.replay import Replay, continue_own, player_knowledge, public_knowledge, replay, replay_own, verify_view
from hkoji.game.submission import Submission, format_submission, parse_submission
from hkoji.log.line import SERVER_NAME, Line, format_log, parse_log
from hkoji.log.link_key import link_key
from hkoji.log.private_key import PrivateKey
from hkoji.referee import Accepted
from hkoji.rules.cards import UNKNOWN
from hkoji.rules.events import SEATS, Event, Seat, project
from hkoji.rules.protocol import Ruleset, State
from hkoji.rules.transcript import information_json
from tests.support.table import AT, CODE, Table

DOCUMENTED = (
    errors.InvalidError,
    errors.ConflictError,
    errors.ForbiddenError,
    errors.IllegalError,
    errors.SignatureError,
    errors.CommitmentError,
)
"""The errors that `host.accept` may raise; any other is re-raised."""
_OF_ACTIONS = ("C", "G")
"""Cards of one game that are letters of actions in another; a list of actions names them."""


LINK: Final = link_key(CODE)
"""The key of the link in all games that are opened by link."""


class Circumstances(TypedDict):
    """The time, gifts and outages with which a submission is decided."""

    at: str
    gifts: tuple[entry_kinds.GivenTime, ...]
    outages: tuple[Outage, ...]


def offered(table: Table, submission: Submission, keys: Sequence[PrivateKey] = ()) -> Table | None:
    """The table after a submission; None if it is properly refused. A key of `keys` may have become a player's."""
    before = table.refereed
    try:
        accepted = host.accept(before, submission, signer=table.server, **circumstances(table))
    except DOCUMENTED as error:
        assert table.refereed is before
        assert_tells_no_cards(table, submission, error)
        return None
    after = copy.copy(table)
    after.random = random.Random(submission.entry.head)
    after.lines = [*table.lines, *accepted.lines]
    after.refereed = accepted.refereed
    after.every_key = [*table.every_key, *(key for key in keys if key not in table.every_key)]
    setup = accepted.refereed.course.setup
    by_key = {key.public: key for key in (*after.every_key, table.server)}
    after.names = (setup.names[0] or table.names[0], setup.names[1] or table.names[1])
    after.keys = (
        by_key[setup.keys[0]] if setup.keys[0] else table.keys[0],
        by_key[setup.keys[1]] if setup.keys[1] else table.keys[1],
    )
    assert_accepted(table, submission, accepted)
    return after


def circumstances(table: Table) -> Circumstances:
    """The referee's knowledge beside a submission: the time, and the gifts and outages that the service knows of."""
    return {"at": table.now, "gifts": table.gifts, "outages": table.outages}


def assert_accepted(table: Table, submission: Submission, accepted: Accepted) -> None:
    """Checks that the accepted entry is the one that was sent, and that it can be sent."""
    assert accepted.lines[0].entry == submission.entry
    assert accepted.lines[0].sig == submission.sig
    assert [line.entry.by for line in accepted.lines[1:]] == [SERVER_NAME] * (len(accepted.lines) - 1)
    if len(submission.entry.text) < 8000:
        assert parse_submission(format_submission(submission)) == submission
    stored = host.resume([*table.lines, *accepted.lines], accepted.refereed.seed, accepted.refereed.openings)
    assert stored == accepted.refereed


def assert_tells_no_cards(table: Table, submission: Submission, error: errors.HkojiError) -> None:
    """Checks that an error names no card except those that its reader has sent, holds, or sees on the table."""
    pack, state = table.ruleset.pack, table.course.state
    known = f"{submission.entry.text} {submission.opening} {getattr(state, 'offer', '')} {getattr(state, 'left', '')}"
    known += re.sub(r"[\s,/]", "", submission.entry.text).upper()  # read here as leniently as by the reader
    seat = table.course.actor
    if seat is not None and submission.entry.by == table.names[seat]:
        known += " " + pack.decode(state.hands[seat])
    if isinstance(error, errors.IllegalActionError):
        known += " ".join(state.shape())  # public, whatever the hand
    for word in re.findall(r"[A-Z][A-Z0-9]*", re.sub(r"SHA256:\S+|(as in|cards are) .*", "", str(error))):
        try:
            names = pack.split(word)
        except errors.HkojiError:
            continue
        assert all(name in (UNKNOWN, *_OF_ACTIONS) or name in known for name in names), str(error)


def fold(ruleset: Ruleset, events: Sequence[Event]) -> State:
    """The position after these events."""
    return reduce(lambda state, event: state.apply(event), events, ruleset.initial())


def assert_agreed(table: Table, before: Table | None = None) -> None:
    """Checks that all readers accept the table's log and agree as far as each can see. `before` is an earlier log."""
    lines, refereed, course = table.lines, table.refereed, table.refereed.course
    text = format_log(lines)
    assert parse_log(text) == tuple(lines)
    assert format_log(parse_log(text)) == text
    for receipts in (True, False):
        result = audit(format_log(lines, receipts=receipts), _pins(table.course))
        assert result.ok, result.findings
        assert (result.holds, result.finished, result.outcome if result.finished else None) == (
            len(lines),
            course.finished,
            course.outcome if course.finished else None,
        )
    by_seq: dict[int, tuple[Opening, ...]] = {}
    for opening in refereed.openings:
        by_seq[opening.seq] = (*by_seq.get(opening.seq, ()), opening)
    assert refereed.seed is not None
    referee = _whole(replay(lines, FullKnowledge(refereed.seed, by_seq)), lines)
    assert referee.steps[-1].course == course
    assert fold(table.ruleset, referee.events) == course.state
    _assert_seen(_whole(replay(lines, SpectatorKnowledge()), lines), referee, None)
    for seat in SEATS:
        _assert_player(table, referee, seat, before)
    public = _whole(replay(lines), lines)
    verify_game(lines, table.game)
    verify_lines(public, lines, len(lines), table.server.public)
    if isinstance(public_knowledge(lines), FullKnowledge):
        assert public.events == referee.events
        assert public.steps[-1].course == course


def _pins(course: Course) -> ExpectedKeys:
    """The keys expected by an audit: those that were used."""
    setup = course.setup
    taken = {name: setup.all_keys(seat) for seat, name in enumerate(setup.names) if name}
    return {SERVER_NAME: setup.server_key, **taken}


def _assert_player(table: Table, referee: Replay, seat: Seat, before: Table | None) -> None:
    """A client of that seat: it knows what it was shown, and the openings that it has sent."""
    lines, refereed = table.lines, table.refereed
    if refereed.course.setup.names[seat] is None:
        return
    view = host.view(refereed, seat)
    mine = [each for each in refereed.openings if lines[each.seq].entry.by == refereed.course.setup.names[seat]]
    own_cards = player_knowledge(lines, seat, view, mine, refereed.course.setup.ruleset)
    own = _whole(replay(lines, own_cards), lines)
    _assert_seen(own, referee, seat)
    verify_view(view, own.steps[-1].course, seat)
    client = replay_own(lines, seat, view, mine)
    verify_lines(client, lines, len(lines), table.server.public)
    position = read_position(client, seat)
    assert position.legal == (
        refereed.course.state.legal_actions() if position.mine and refereed.course.stage is Stage.PLAY else ()
    )
    information_json(position.course.state, seat, position.events, position.legal)
    # Only from what the service keeps, as on another machine.
    assert replay_own(lines, seat, view, host.own_openings(refereed, seat)).events == client.events
    if before is not None and before.course.setup.names[seat] is not None and not refereed.course.finished:
        old = host.view(before.refereed, seat)
        known = replay_own(before.lines, seat, old, mine)
        new = lines[len(before.lines) :]
        went_on = continue_own(known, new, seat, view, mine)
        assert went_on.events == client.events
        verify_lines(went_on, lines, len(new), table.server.public)


def _whole(result: Replay, lines: Sequence[Line]) -> Replay:
    assert result.stop is None, (len(result.steps), repr(result.stop))
    assert len(result.steps) == len(lines)
    return result


def _assert_seen(seen: Replay, referee: Replay, seat: Seat | None) -> None:
    """Checks the law: the projection of the fold is the fold of the projections, entry by entry."""
    public = referee.steps[-1].course.setup.ruleset.public
    for mine, theirs in zip(seen.steps, referee.steps, strict=True):
        assert mine.events == tuple(project(event, seat, public) for event in theirs.events)
        assert mine.course.state == theirs.course.state.project(seat)
        assert mine.course.outcome == theirs.course.outcome
        assert (mine.course.stage, mine.course.actor, mine.course.head) == (
            theirs.course.stage,
            theirs.course.actor,
            theirs.course.head,
        )


# --- to the end ----------------------------------------------------------------------------------------------------


def play_on(table: Table, rng: random.Random) -> Table:
    """The same game played to its end (given up if a player cannot go on), with its seed published."""
    table = copy.copy(table)
    table.lines, table.random = list(table.lines), rng
    moves = 0
    while not table.course.finished:
        moves += 1
        if table.course.stage is Stage.OPEN:
            table.open()
        elif table.course.stage is Stage.JOIN:
            _join(table)
        elif table.course.stage in (Stage.GUEST_SEED, Stage.HOST_SEED):
            seat = 1 if table.course.stage is Stage.GUEST_SEED else 0
            commit = entropy_commit(table.game, seat, table.entropy[seat])
            known = table.course.setup.entropy_commits[seat] == commit
            table.send(table.entry(seat, entry_kinds.Seed(table.entropy[seat]) if known else entry_kinds.Resign()))
        elif moves > 150:
            table.send(table.entry(rng.randrange(2), entry_kinds.Resign()))
        else:
            table.send(table.move(rng.choice(table.course.state.legal_actions())))
    if table.course.stage is Stage.UNSEAL:
        assert_agreed(table)
        table.unseal()
    return table


def _join(table: Table) -> None:
    """Lets an eligible player join; if there is none here, cancels the game."""
    invite = table.course.setup.invite
    name = (
        invite.name
        if isinstance(invite, entry_kinds.Invite)
        else table.names[1]
        if table.names[1] != table.names[0]
        else "bob-too"
    )
    link = table.course.setup.link
    if (
        name == SERVER_NAME
        or link not in (None, LINK.public)
        or (isinstance(invite, entry_kinds.Invite) and invite.key)
    ):
        table.send(table.entry(0, entry_kinds.Cancel()))
        return
    table.names = (table.names[0], name)
    while table.keys[1].public == table.keys[0].public:
        table.keys = (table.keys[0], PrivateKey.from_seed(table.bytes(32)))
    table.every_key.append(table.keys[1])
    commit = entropy_commit(table.game, 1, table.entropy[1])
    if commit == table.course.setup.entropy_commits[0]:
        table.entropy = (table.entropy[0], table.bytes(32).hex())
        commit = entropy_commit(table.game, 1, table.entropy[1])
    table.send(table.entry(1, joining(table, commit)))


def joining(table: Table, commit: str) -> entry_kinds.Join:
    """The body by which the guest joins, with the signature of `LINK` if the game was opened by it."""
    key, name = table.keys[1].public, table.names[1]
    if table.course.setup.link != LINK.public:
        return entry_kinds.Join(commit, key)
    return entry_kinds.join_by_link(LINK, table.course, entropy_commit=commit, key=key, name=name)


# --- a log by itself -----------------------------------------------------------------------------------------------


def refereed(log: bytes) -> list[str]:
    """Finds what the referee would have refused in a finished log that an audit accepts, given all that it opens.

    The audit must also accept every beginning of it.
    """
    lines = parse_log(log)
    texts = log.splitlines(keepends=True)
    wrong = [
        f"its first {count} entries do not hold: {found.findings}"
        for count in range(1, len(lines))
        if not (found := audit(b"".join(texts[:count]))).ok
    ]
    openings: list[Opening] = []
    seed = ""
    for line in lines:
        body = parse_body(line.entry.kind, line.entry.body)
        if isinstance(body, entry_kinds.RevealBody | entry_kinds.End):
            openings.extend(body.openings)
        if isinstance(body, entry_kinds.End | entry_kinds.Unseal) and body.seed:
            seed = body.seed
    by_seq = {opening.seq: [each for each in sorted(openings) if each.seq == opening.seq] for opening in openings}
    signer = PrivateKey.from_seed(bytes(32))
    kept: list[Opening] = []
    for number, line in enumerate(lines):
        if line.entry.by == SERVER_NAME:
            continue
        refereed = host.resume(lines[:number], seed, tuple(kept))
        opening = tuple(by_seq.get(number, ()))
        kept.extend(opening)
        at = line.receipt.receipt.at if line.receipt else AT
        gifts, outages = _credited(lines, number)
        try:
            accepted = host.accept(
                refereed,
                Submission(line.entry, line.sig, opening),
                signer=signer,
                at=at,
                gifts=gifts,
                outages=outages,
            )
        except errors.HkojiError as error:
            wrong.append(f"entry {number} would have been refused: {error!r}")
            break
        owed = [(each.entry.kind, each.entry.body) for each in accepted.lines[1:]]
        after = [(each.entry.kind, {**each.entry.body}) for each in lines[number + 1 : number + 1 + len(owed)]]
        for _, body_ in after:
            body_.pop("ext", None)
        if owed != after:
            wrong.append(f"after entry {number} the referee writes {owed}, and the log has {after}")
            break
    return wrong


def _credited(lines: Sequence[Line], number: int) -> tuple[tuple[entry_kinds.GivenTime, ...], tuple[Outage, ...]]:
    """The gift and the outages that the log credits for an entry."""
    if number + 1 < len(lines) and lines[number + 1].entry.kind == "credit":
        body = parse_body("credit", lines[number + 1].entry.body)
        assert isinstance(body, entry_kinds.Credit)
        return (body.gift,) if body.gift else (), body.outages
    return (), ()
