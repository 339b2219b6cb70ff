"""What viewers ask and try: every endpoint, with and without a login, and every kind of refusal.

A probe makes a request about a story in one world. With the same random state it makes the same request in every world,
except for the hashes that it must name. No attempt made here may succeed in changing the game.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from hkoji.errors import NotationError
from hkoji.game import entry_kinds
from hkoji.game.agreement import Agreement
from hkoji.game.commitments import Opening
from hkoji.game.submission import Submission, format_submission
from hkoji.game.time_control import TimeControl
from hkoji.log import sshsig
from hkoji.log.canonical import encode_base64
from hkoji.log.entry import make_entry
from hkoji.log.game_statements import make_annul, make_gift
from hkoji.log.line import sign_entry
from hkoji.log.private_key import PrivateKey
from hkoji.log.statement import make_new_key, make_recovery, make_revocation
from hkoji.rules.events import Outcome, Seat
from hkoji.rules.protocol import Hidden, Ruleset
from tests.lab.leaks.stories import SEATS_OF
from tests.lab.leaks.telling import Person, Telling, registration
from tests.lab.leaks.worlds import ADDRESS, Request

_FOREIGN: Final = PrivateKey.from_seed(b"nobody's key, to sign badly with")


@dataclass
class Eye:
    """A viewer of a story in one world, at one moment.

    Everything but the hashes is the same in every world of that viewer.
    """

    telling: Telling
    viewer: str
    legal: tuple[str, ...]
    """The viewer's own legal actions; empty when another seat decides."""
    tried: tuple[str, ...]
    """Actions to try: those seen in this game."""
    expired: str
    """A token that has expired."""
    past: str
    """A game that has ended."""

    @property
    def seat(self) -> Seat | None:
        return SEATS_OF[self.viewer]

    @property
    def me(self) -> Person:
        found = {"host": self.telling.host, "guest": self.telling.guest, "outside": self.telling.stranger}
        return found[self.viewer]

    @property
    def game(self) -> str:
        return self.telling.game

    @property
    def token(self) -> str:
        return self.me.token


Probe = Callable[[Eye, random.Random], Request]


# --- looking ----------------------------------------------------------------------------------------------------------


def own_view(eye: Eye, chance: random.Random) -> Request:
    after = f"?after={chance.randint(-1, eye.telling.seq + 1)}" if chance.random() < 0.5 else ""
    return Request("view", "GET", f"/v1/games/{eye.game}/view{after}", eye.token)


def spectate(eye: Eye, chance: random.Random) -> Request:
    return Request("game", "GET", f"/v1/games/{eye.game}", chance.choice((None, eye.token)))


def log(eye: Eye, chance: random.Random) -> Request:
    after = f"?after={chance.randint(-1, eye.telling.seq + 1)}" if chance.random() < 0.5 else ""
    return Request("log", "GET", f"/v1/games/{eye.game}/log{after}", chance.choice((None, eye.token)))


def _game_or_log(eye: Eye, chance: random.Random) -> Request:
    return spectate(eye, chance) if chance.random() < 0.5 else log(eye, chance)


def _events(eye: Eye, chance: random.Random) -> Request:
    """Asks for a stream of past events: of one game, or of all the viewer's games since some place."""
    token = chance.choice((None, eye.token))
    after = f"&after={chance.randint(-1, eye.telling.seq + 2)}" if chance.random() < 0.5 else ""
    place = chance.choice(("", "-1", str(eye.telling.seq), "x", "2026-11-20T12:00:00Z~", "2026-01-01T00:00:00Z~AAAA"))
    headers = (("last-event-id", place),) if place else ()
    if chance.random() < 0.5:
        return Request("events", "GET", f"/v1/games/{eye.game}/events?wait=0{after}", token, b"", headers)
    return Request("own events", "GET", "/v1/events?wait=0", token, b"", headers)


def _log_unchanged(eye: Eye, chance: random.Random) -> Request:
    known = chance.choice((f'"{eye.telling.head}"', '"0"', "*", f'W/"{eye.telling.head}"'))
    headers = (("if-none-match", known),)
    return Request("log, if none match", "GET", f"/v1/games/{eye.game}/log", None, b"", headers)


def _view_of_nobody(eye: Eye, chance: random.Random) -> Request:
    token = chance.choice((None, "0" * 64, eye.expired, eye.token[:-1], eye.token.upper() + "x"))
    return Request("view without a login", "GET", f"/v1/games/{eye.game}/view", token)


def _games(eye: Eye, chance: random.Random) -> Request:
    telling = eye.telling
    queries = (
        f"limit={chance.randint(1, 9)}",
        f"player={chance.choice((telling.host.name, telling.guest.name))}",
        f"prefix={eye.game[: chance.randint(4, 32)]}",
        f"status={chance.choice(('open', 'playing', 'finished', 'cancelled'))}&limit=20",
        f"after=2026-11-2{chance.randrange(10)}T00:00:00Z~{eye.game}&limit=3",
        f"limit={chance.choice(('0', '201', 'x'))}",
    )
    return Request("games", "GET", f"/v1/games?{chance.choice(queries)}", chance.choice((None, eye.token)))


def _own_games(eye: Eye, chance: random.Random) -> Request:
    query = chance.choice(
        (
            "",
            "?waiting=true",
            "?waiting=true&order=deadline",
            "?waiting=true&order=deadline&limit=1",
            "?order=deadline",
            "?waiting=false&limit=1",
            "?status=playing",
            "?status=finished",
        )
    )
    return Request("own games", "GET", f"/v1/me/games{query}", chance.choice((eye.token, eye.token, None, eye.expired)))


def _past(eye: Eye, chance: random.Random) -> Request:
    path = f"/v1/games/{eye.past}{chance.choice(('', '/log', '/view'))}"
    return Request("a game that is over", "GET", path, eye.token)


def _player(eye: Eye, chance: random.Random) -> Request:
    name = chance.choice((eye.telling.host.name, eye.telling.guest.name, "nobody", "No-Name"))
    return Request("player", "GET", f"/v1/players/{name}", chance.choice((None, eye.token)))


def _service(_: Eye, chance: random.Random) -> Request:
    return Request("service", "GET", chance.choice(("/v1/service", "/healthz", "/readyz")))


def _nowhere(eye: Eye, chance: random.Random) -> Request:
    paths = (
        ("GET", f"/v1/games/{eye.game}/nothing"),
        ("GET", f"/v1/games/{'0' * 32}"),
        ("GET", f"/v1/games/{'0' * 32}/view"),
        ("GET", f"/v1/games/{'0' * 32}/log"),
        ("GET", f"/v1/games/{eye.game[:31]}/view"),
        ("GET", f"/v1/games/{eye.game}/view?after=x"),
        ("GET", f"/v1/games/{eye.game}/log?after=-2"),
        ("GET", f"/v1/games/{eye.game}/entries"),
        ("DELETE", f"/v1/games/{eye.game}"),
        ("PUT", f"/v1/games/{eye.game}/view"),
        ("OPTIONS", f"/v1/games/{eye.game}/view"),
        ("HEAD", f"/v1/games/{eye.game}/log"),
        ("HEAD", f"/v1/games/{eye.game}/view"),
    )
    method, path = chance.choice(paths)
    return Request("nothing there", method, path, eye.token)


# --- time -------------------------------------------------------------------------------------------------------------


def clock(eye: Eye, chance: random.Random) -> Request:
    return Request("clock", "GET", f"/v1/games/{eye.game}/clock", chance.choice((None, eye.token)))


def signed_head(eye: Eye, chance: random.Random) -> Request:
    return Request("head", "GET", f"/v1/games/{eye.game}/head", chance.choice((None, eye.token)))


def outages(eye: Eye, chance: random.Random) -> Request:
    return Request("outages", "GET", "/v1/outages", chance.choice((None, eye.token)))


def _stated(eye: Eye, chance: random.Random) -> Request:
    """Tries a statement about another entry, in another's name, with another key, or by who has no seat."""
    telling = eye.telling
    kind = chance.choice(("give", "annul"))
    name = chance.choice((telling.host.name, telling.guest.name, telling.stranger.name))
    person = eye.me if name == eye.me.name else Person(name, chance.choice((_FOREIGN, eye.me.key)))
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


def _withdrawn(eye: Eye, chance: random.Random) -> Request:
    """Tries to withdraw a wish without a login, or without a seat."""
    token = chance.choice((None, eye.expired, eye.telling.stranger.token if eye.seat is None else "0" * 64))
    return Request("withdrawal", "DELETE", f"/v1/games/{eye.game}/statements/annul", token)


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


# --- what needs no game -----------------------------------------------------------------------------------------------


def _account(eye: Eye, chance: random.Random) -> Request:
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
    who = chance.choice((eye.me, Person(eye.telling.host.name, _FOREIGN)))
    body = json.dumps(registration(who, "2026-11-20T12:00:00Z")).encode()
    return Request("register", "POST", "/v1/players", None, body)


def _keys(eye: Eye, chance: random.Random) -> Request:
    """Tries another player's key, the viewer's own with a wrong signature or code, or a seat without the right to a new
    key."""
    at, game = "2026-11-20T12:00:00Z", f"/v1/games/{eye.game}"
    name = chance.choice((eye.telling.host.name, eye.telling.guest.name))
    key, old = _FOREIGN.public, eye.me.key.public
    match chance.choice(("key", "revocation", "recovery", "game")):
        case "key":
            text = make_new_key(at=at, key=key, name=name, old=old, origin=ADDRESS).text
            value = {"text": text, "sig": eye.me.sign(text, sshsig.NEW_KEY), "old_sig": eye.me.sign(text, sshsig.LOGIN)}
        case "revocation":
            text = make_revocation(at=at, key=old, name=name, origin=ADDRESS).text
            value = {"text": text, "sig": Person(name, _FOREIGN).sign(text, sshsig.REVOKE)}
        case "recovery":
            text = make_recovery(at=at, key=key, name=name, origin=ADDRESS).text
            value = {"text": text, "sig": Person(name, _FOREIGN).sign(text, sshsig.RECOVER), "code": "0" * 40}
        case _:
            proof = encode_base64(_FOREIGN.sign(sshsig.REKEY, b"no proof of anything"))
            token = chance.choice((None, eye.token, eye.expired))
            return Request(
                "recovery in a game", "POST", f"{game}/recovery", token, json.dumps({"proof": proof}).encode()
            )
    kind = "key" if "old_sig" in value else "recovery" if "code" in value else "revocation"
    return Request(f"another {kind}", "POST", f"/v1/players/{name}/{kind}", None, json.dumps(value).encode())


# --- entries that are refused -----------------------------------------------------------------------------------------


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


def _illegal(eye: Eye, chance: random.Random) -> Request:
    """Tries an action that the viewer may not take: out of turn, with cards not held, or seen earlier in the game."""
    actions = [action for action in eye.tried if action not in eye.legal]
    action = chance.choice(actions or ["9"])
    return _post(f"illegal {action[:1]}", eye, _attempt(eye, chance, action))


def _badly_opened(eye: Eye, chance: random.Random) -> Request:
    """Tries a legal action with an error in its opening, key or form."""
    if not eye.legal:
        return _illegal(eye, chance)
    hiding = [action for action in eye.legal if _hidden(eye.telling.story.ruleset, action)]
    submission = _attempt(eye, chance, chance.choice(hiding or eye.legal))
    if not submission.opening:
        return _post("signed by another", eye, submission._replace(sig=sign_entry(submission.entry, _FOREIGN)))
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
        "key": submission._replace(sig=sign_entry(submission.entry, _FOREIGN)),
    }
    if kind in ("cards", "more", "reused"):  # these could happen to be right
        kind = "salt"
    return _post(f"opening, wrong {kind}", eye, changed[kind])


def _guessed(eye: Eye, chance: random.Random) -> Request:
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


def _misplaced(eye: Eye, chance: random.Random) -> Request:
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
        ("credit", {"gift": None, "outages": [{"from": "2026-11-20T12:00:01Z", "until": "2026-11-20T12:00:02Z"}]}),
        ("seed", {"entropy": "0" * 64}),
        ("chance", {"first": 0}),
    )
    if chance.random() < 0.6:
        change = chance.choice(fields)
        return _post(f"misplaced, {min(change)}", eye, _written(eye, dict(move), "move", **change))
    kind, body = chance.choice(kinds)
    return _post(f"misplaced, {kind}", eye, _written(eye, body, kind))


def _malformed(eye: Eye, chance: random.Random) -> Request:
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


def _intruding(eye: Eye, chance: random.Random) -> Request:
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
        return _misplaced(eye, chance)
    return _post(f"intruding {kind}", eye, _written(eye, body))


ALWAYS: Final[tuple[Probe, ...]] = (own_view, _game_or_log)
SOMETIMES: Final[tuple[Probe, ...]] = (
    _log_unchanged,
    _events,
    _view_of_nobody,
    _games,
    _own_games,
    _past,
    _player,
    _service,
    clock,
    signed_head,
    outages,
    _stated,
    _withdrawn,
    too_late,
    _nowhere,
    _account,
    _keys,
    _illegal,
    _illegal,
    _illegal,
    _badly_opened,
    _badly_opened,
    _guessed,
    _guessed,
    _misplaced,
    _malformed,
    _intruding,
)
