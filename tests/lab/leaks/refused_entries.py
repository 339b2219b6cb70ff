"""Probes that send entries which must be refused: late, illegal, badly opened, misplaced, malformed or intruding."""

from __future__ import annotations

import random

from hkoji.errors import NotationError
from hkoji.game import entry_kinds
from hkoji.game.commitments import Opening
from hkoji.game.submission import Submission, format_submission
from hkoji.log.entry import make_entry
from hkoji.log.line import sign_entry
from hkoji.rules.events import Outcome
from hkoji.rules.protocol import Hidden, Ruleset
from tests.lab.leaks.eye import FOREIGN, Eye
from tests.lab.leaks.looking import clock
from tests.lab.leaks.worlds import Request


def _post(name: str, eye: Eye, submission: Submission | bytes) -> Request:
    body = submission if isinstance(submission, bytes) else format_submission(submission).encode()
    return Request(name, "POST", f"/v1/games/{eye.game}/entries", None, body)


def _written(
    eye: Eye, body: entry_kinds.EntryBody | dict[str, object], kind: str = "", **changes: object
) -> Submission:
    """An entry by the viewer at the head, with any content."""
    telling = eye.telling
    fields: dict[str, object] = {
        "at": "2026-11-20T12:00:00Z",
        "body": body if isinstance(body, dict) else body.to_json(),
        "by": eye.me.name,
        "game": telling.game,
        "kind": kind or getattr(body, "KIND", ""),
        "prev": telling.head,
        "seen": telling.last_at,
        "seq": telling.seq + 1,
    }
    entry = make_entry(**{**fields, **changes})  # type: ignore[arg-type] # fields by name
    return Submission(entry, sign_entry(entry, eye.me.key))


def _hidden(ruleset: Ruleset, action: str) -> tuple[Hidden, ...]:
    """The groups of face-down cards of an action; none if the text is no action."""
    try:
        return ruleset.hidden(action)
    except NotationError:
        return ()


def _attempt(eye: Eye, chance: random.Random, action: str) -> Submission:
    """A move of an action with its cards, as a player would send it."""
    telling = eye.telling
    ruleset = telling.story.ruleset
    seat = eye.seat if eye.seat is not None else 0
    groups = _hidden(ruleset, action)
    salts = [f"{chance.getrandbits(256):064x}" for _ in groups]
    openings = tuple(
        Opening(telling.seq + 1, part, group.cards, salt)
        for part, (group, salt) in enumerate(zip(groups, salts, strict=True))
    )
    commits = tuple(opening.commitment(telling.game) for opening in openings)
    shown = ruleset.public(action) if groups else action
    submission = _written(eye, entry_kinds.Move(shown, commits), by=telling.seats[seat].name)
    return submission._replace(sig=sign_entry(submission.entry, eye.me.key), opening=openings)


def illegal(eye: Eye, chance: random.Random) -> Request:
    """Tries an action that the viewer may not take: out of turn, with cards not held, or seen earlier in the game."""
    actions = [action for action in eye.tried if action not in eye.legal]
    action = chance.choice(actions or ["9"])
    return _post(f"illegal {action[:1]}", eye, _attempt(eye, chance, action))


def badly_opened(eye: Eye, chance: random.Random) -> Request:
    """Tries a legal action with an error in its opening, key or form."""
    if not eye.legal:
        return illegal(eye, chance)
    hiding = [action for action in eye.legal if _hidden(eye.telling.story.ruleset, action)]
    submission = _attempt(eye, chance, chance.choice(hiding or eye.legal))
    if not submission.opening:
        return _post("signed by another", eye, submission._replace(sig=sign_entry(submission.entry, FOREIGN)))
    first, *rest = submission.opening
    own = [each for seat, made in eye.telling.made if seat == eye.seat for each in made.opening]
    kind = chance.choice(("salt", "cards", "none", "more", "place", "key", "reused"))
    if kind == "reused" and own:
        used = chance.choice(own).salt
        opening = first._replace(salt=used)
        commits = (opening.commitment(eye.game), *(each.commitment(eye.game) for each in rest))
        again = _written(eye, entry_kinds.Move(submission.entry.body["action"], commits))  # type: ignore[arg-type] # text
        return _post("opening, salt used before", eye, again._replace(opening=(opening, *rest)))
    changed: dict[str, Submission] = {
        "salt": submission._replace(opening=(first._replace(salt="0" * 64), *rest)),
        "cards": submission._replace(opening=(first._replace(cards="A" * len(first.cards)), *rest)),
        "none": submission._replace(opening=()),
        "more": submission._replace(opening=(first, *rest, first._replace(part=1 - first.part))),
        "place": submission._replace(opening=(first._replace(seq=first.seq - 1), *rest)),
        "key": submission._replace(sig=sign_entry(submission.entry, FOREIGN)),
    }
    if kind in ("cards", "more", "reused"):  # these could happen to be right
        kind = "salt"
    return _post(f"opening, wrong {kind}", eye, changed[kind])


def guessed(eye: Eye, chance: random.Random) -> Request:
    """Tries the last entry again with a guess at its hidden cards, or a reveal or an end made by the viewer."""
    telling = eye.telling
    guess = chance.choice(telling.story.ruleset.pack.kinds)
    if telling.made and chance.random() < 0.6:
        _, made = chance.choice(telling.made)
        opening = tuple(each._replace(cards=guess, salt="0" * 64) for each in made.opening)
        if not opening and chance.random() < 0.5:
            opening = (Opening(made.entry.seq, 0, guess, "0" * 64),)
        return _post("an entry again, opened by a guess", eye, made._replace(opening=opening))
    openings = (Opening(max(0, telling.seq), 0, guess, "0" * 64),)
    if chance.random() < 0.5:
        return _post("a reveal of one's own", eye, _written(eye, entry_kinds.RevealBody(openings)))
    end = entry_kinds.End(openings, Outcome("charm", 0), "0" * 64)
    return _post("an end of one's own", eye, _written(eye, end))


def misplaced(eye: Eye, chance: random.Random) -> Request:
    """Tries an entry for another place or game, in another's name, or of a kind that the viewer may not write."""
    telling = eye.telling
    move = entry_kinds.Move(chance.choice(eye.tried or ("3ABC",))).to_json()
    fields: tuple[dict[str, object], ...] = (
        {"prev": "0" * 64},
        {"seq": telling.seq + 2},
        {"seq": telling.seq or 3},
        {"seq": 0, "seen": None},
        {"seen": "2026-11-20T11:59:59Z"},
        {"game": "0" * 32},
        {"by": telling.host.name if eye.viewer != "host" else telling.guest.name},
        {"by": "server"},
        {"by": "nobody"},
    )
    kinds: tuple[tuple[str, dict[str, object]], ...] = (
        ("rekey", {}),
        ("unseal", {"seed": "0" * 64}),
        ("timeout", {"seat": 0}),
        ("lapse", {"reason": "expired"}),
        (
            "credit",
            {
                "gift": None,
                "outages": [{"from": "2026-11-20T12:00:01Z", "until": "2026-11-20T12:00:02Z", "way": "http"}],
            },
        ),
        ("seed", {"entropy": "0" * 64}),
        ("chance", {"first": 0}),
    )
    if chance.random() < 0.6:
        change = chance.choice(fields)
        return _post(f"misplaced, {min(change)}", eye, _written(eye, dict(move), "move", **change))
    kind, body = chance.choice(kinds)
    return _post(f"misplaced, {kind}", eye, _written(eye, body, kind))


def malformed(eye: Eye, chance: random.Random) -> Request:
    good = format_submission(_attempt(eye, chance, "3ABC")).encode()
    path = f"/v1/games/{eye.game}/entries"
    return chance.choice(
        (
            Request("no JSON", "POST", path, None, b"{"),
            Request("unknown key", "POST", path, None, b'{"entry":"{}","sig":"AAAA","more":1}'),
            Request("cut", "POST", path, None, good[: len(good) // 2]),
            Request("too large", "POST", path, None, b'"' + b"a" * 20_000 + b'"'),
            Request("other media", "POST", path, None, good, (("content-type", "text/plain"),)),
            Request("empty", "POST", path, None, b""),
        )
    )


def intruding(eye: Eye, chance: random.Random) -> Request:
    """Tries to join or open a game that is taken, and to move or resign without a seat."""
    me = eye.me.key.public
    kind = chance.choice(("open", "join", "resign", "cancel", "move"))
    commit = f"{chance.getrandbits(256):064x}"
    made: dict[str, entry_kinds.EntryBody] = {
        "open": entry_kinds.Open(commit, me, None),
        "join": entry_kinds.Join(commit, me),
        "resign": entry_kinds.Resign(),
        "cancel": entry_kinds.Cancel(),
        "move": entry_kinds.Move("3ABC"),
    }
    body = made[kind]
    free = kind == "join" and eye.telling.seq == 1 and eye.telling.story.invited is None
    mine = eye.seat is not None
    if free or mine:  # these could be taken
        return misplaced(eye, chance)
    return _post(f"intruding {kind}", eye, _written(eye, body))


def too_late(eye: Eye, chance: random.Random) -> Request:
    """Tries a legal move when the time for it is over, or in place of the end that came instead."""
    telling = eye.telling
    if eye.legal and telling.overdue:
        return _post("late", eye, _attempt(eye, chance, chance.choice(eye.legal)))
    ended = [entry for entry in telling.entries if entry.kind in ("timeout", "lapse")]
    if not ended or eye.seat is None:
        return clock(eye, chance)
    entry = ended[0]
    seen = telling.world.times[entry.prev]
    bodies: tuple[entry_kinds.EntryBody, ...] = (
        entry_kinds.Move("3ABC"),
        entry_kinds.Seed("0" * 64),
        entry_kinds.Join("0" * 64, eye.me.key.public),
    )
    return _post("late", eye, _written(eye, chance.choice(bodies), prev=entry.prev, seen=seen, seq=entry.seq))
