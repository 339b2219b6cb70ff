"""Probes that must be refused: entries that are late, illegal or misplaced, and statements of all sorts."""

from __future__ import annotations

import json
import random

from hkoji.errors import NotationError
from hkoji.game import entry_kinds
from hkoji.game.agreement import Agreement, TimeControl
from hkoji.game.commitments import Opening
from hkoji.game.submission import Submission, format_submission
from hkoji.log import sshsig
from hkoji.log.canonical import encode_base64
from hkoji.log.game_statements import make_annul, make_gift
from hkoji.log.line import make_entry, sign_entry
from hkoji.log.statement import make_new_key, make_recovery, make_revocation
from hkoji.log.talk import make_talk
from hkoji.rules.events import Outcome
from hkoji.rules.protocol import Hidden, Ruleset
from tests.lab.leaks.looking import FOREIGN, Eye, clock
from tests.lab.leaks.telling import Person, registration
from tests.lab.leaks.worlds import ADDRESS, Request


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


def stated(eye: Eye, chance: random.Random) -> Request:
    """Tries a statement about another entry, in another's name, with another key, or by who has no seat."""
    telling = eye.telling
    kind = chance.choice(("give", "annul"))
    name = chance.choice((telling.host.name, telling.guest.name, telling.stranger.name))
    person = eye.me if name == eye.me.name else Person(name, chance.choice((FOREIGN, eye.me.key)))
    earlier = [entry.head for entry in telling.entries[:-1]]
    own = person is eye.me and eye.seat is not None  # about the last entry it could be taken
    head = chance.choice(earlier or ["0" * 64]) if own else telling.head
    seconds = chance.choice((60, 86_400))
    made = (
        make_gift(game=eye.game, head=head, name=name, seconds=seconds).text
        if kind == "give"
        else make_annul(game=eye.game, head=head, name=name).text
    )
    value: dict[str, object] = {"head": head, "kind": kind, "name": name}
    value["sig"] = person.sign(made, sshsig.GIVE if kind == "give" else sshsig.ANNUL)
    if kind == "give" or chance.random() < 0.1:
        value["seconds"] = chance.choice((seconds, seconds, 0))
    body = json.dumps(value).encode()
    return Request(f"statement, {kind}", "POST", f"/v1/games/{eye.game}/statements", None, body)


def withdrawn(eye: Eye, chance: random.Random) -> Request:
    """Tries to withdraw a wish without a login, or without a seat."""
    token = chance.choice((None, eye.expired, eye.telling.stranger.token if eye.seat is None else "0" * 64))
    return Request("withdrawal", "DELETE", f"/v1/games/{eye.game}/statements/annul", token)


def talked(eye: Eye, chance: random.Random) -> Request:
    """Tries to write in another's name, with another key or for another game, or to delete what is not the viewer's.

    The viewer may say again what they have said: then nothing changes.
    """
    telling, path = eye.telling, f"/v1/games/{eye.game}/talk"
    token = chance.choice((None, eye.token, eye.token, eye.expired))
    if chance.random() < 0.3:
        others = [message.number for message in telling.said if message.seat != eye.seat]
        number = chance.choice(others) if others and chance.random() < 0.8 else 999
        return Request("message deleted", "DELETE", f"{path}/{number}", token)
    mine = [message for message in telling.said if message.seat == eye.seat and not message.deleted]
    if mine and chance.random() < 0.3:
        message = chance.choice(mine)
        return Request("message", "POST", path, token, json.dumps({"text": message.text, "sig": message.sig}).encode())
    name = chance.choice((telling.host.name, telling.guest.name, telling.stranger.name))
    game = eye.game if chance.random() < 0.7 else "0" * 32
    text = make_talk(after="0" * 64, at="2026-11-20T12:00:00Z", game=game, name=name, words="hello").text
    sig = Person(name, FOREIGN).sign(text, sshsig.TALK)
    return Request("message", "POST", path, token, json.dumps({"text": text, "sig": sig}).encode())


def declined(eye: Eye, chance: random.Random) -> Request:
    """Tries to decline a game, with and without a reason, unless the viewer could."""
    invited = (
        eye.viewer == "guest"
        and eye.telling.story.invited in ("name", "key")
        and eye.telling.entries[-1].kind == "open"
    )
    token = None if invited else chance.choice((eye.token, eye.token, eye.token, eye.expired, None))
    body = chance.choice((b"{}", b'{"why":"later"}', b'{"why":"the cards"}'))
    return Request("decline", "POST", f"/v1/games/{eye.game}/decline", token, body)


def account(eye: Eye, chance: random.Random) -> Request:
    token = chance.choice((None, eye.token, eye.expired))
    match chance.randrange(6):
        case 0:
            return Request("challenge", "POST", "/v1/login/challenge")
        case 1:
            text = json.dumps({"name": eye.me.name, "text": "{}", "sig": "AAAA"}).encode()
            return Request("login", "POST", "/v1/login", None, text)
        case 2:
            return Request("logout", "POST", "/v1/logout", chance.choice((None, eye.expired)))
        case 3:
            story = eye.telling.story
            agreement = chance.choice((story.agreement, Agreement(TimeControl(60, 0, 0, 0))))
            value = {"agreement": agreement.to_json(), "ruleset": story.ruleset.to_json()}
            offer = json.dumps(value).encode()
            return Request("offer", "POST", "/v1/offers", token, offer)
        case 4:
            return Request("offer", "POST", "/v1/offers", token, b'{"ruleset":{"name":"whist","version":1}}')
    who = chance.choice((eye.me, Person(eye.telling.host.name, FOREIGN)))
    body = json.dumps(registration(who, "2026-11-20T12:00:00Z")).encode()
    return Request("register", "POST", "/v1/players", None, body)


def keys(eye: Eye, chance: random.Random) -> Request:
    """Tries another player's key, the viewer's own with a wrong signature or code, or a seat without the right to a new
    key."""
    at, game = "2026-11-20T12:00:00Z", f"/v1/games/{eye.game}"
    name = chance.choice((eye.telling.host.name, eye.telling.guest.name))
    key, old = FOREIGN.public, eye.me.key.public
    match chance.choice(("key", "revocation", "recovery", "game")):
        case "key":
            text = make_new_key(at=at, key=key, name=name, old=old, origin=ADDRESS).text
            value = {"text": text, "sig": eye.me.sign(text, sshsig.NEW_KEY), "old_sig": eye.me.sign(text, sshsig.LOGIN)}
        case "revocation":
            text = make_revocation(at=at, key=old, name=name, origin=ADDRESS).text
            value = {"text": text, "sig": Person(name, FOREIGN).sign(text, sshsig.REVOKE)}
        case "recovery":
            text = make_recovery(at=at, key=key, name=name, origin=ADDRESS).text
            value = {"text": text, "sig": Person(name, FOREIGN).sign(text, sshsig.RECOVER), "code": "0" * 40}
        case _:
            proof = encode_base64(FOREIGN.sign(sshsig.REKEY, b"no proof of anything"))
            token = chance.choice((None, eye.token, eye.expired))
            return Request(
                "recovery in a game", "POST", f"{game}/recovery", token, json.dumps({"proof": proof}).encode()
            )
    kind = "key" if "old_sig" in value else "recovery" if "code" in value else "revocation"
    return Request(f"another {kind}", "POST", f"/v1/players/{name}/{kind}", None, json.dumps(value).encode())
