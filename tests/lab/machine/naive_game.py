"""One game as the service must keep it, implemented slowly from docs/spec/log.md and the rulebooks.

It shares nothing with the project: the log is a list of texts, the naive referees play, and a submission is checked in
the order that the API promises: form, place in the chain, author, signature, then the game.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

from tests.lab.machine import naive_log as log
from tests.lab.machine.naive_log import Object
from tests.lab.machine.naive_time import GameTime
from tests.support import naive_geishas_road, naive_hanamikoji

REFEREES: Final[dict[str, Any]] = {"hanamikoji": naive_hanamikoji, "geishas-road": naive_geishas_road}
SERVER_KINDS: Final = ("offer", "lapse", "chance", "credit", "reveal", "timeout", "annul", "end", "unseal")
GROUPS: Final = {"1X": [True], "2XX": [False], "IXX": [True, False]}
"""Actions with hidden cards: for each group that opens together whether it counts at scoring."""
BODIES: Final = {
    "open": {"entropy_commit", "invite", "key"},
    "join": {"entropy_commit", "key"},
    "seed": {"entropy"},
    "resign": set(),
    "cancel": set(),
    "move": {"action"},
    "rekey": {"key", "old", "proof"},
}


class Refused(Exception):  # noqa: N818 # it is an answer
    """A refused submission: status and code."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(f"{status} {code}")
        self.status = status
        self.code = code


@dataclass
class NaiveGame:
    """A game. `stage` is what the log waits for: `open`, `join`, `seed 1`, `seed 0`, `play`, or `over`."""

    game: str
    ruleset: Object
    seed: str
    offered_to: str
    at: str
    server_key: str
    agreement: Object
    outages: list[Object]
    """All that the service knows; it adds to them."""
    texts: list[str] = field(default_factory=list)
    sigs: list[str] = field(default_factory=list)
    receipts: list[str] = field(default_factory=list)
    stage: str = "open"
    names: list[str | None] = field(default_factory=lambda: [None, None])
    keys: list[str | None] = field(default_factory=lambda: [None, None])
    old_keys: list[list[tuple[int, str]]] = field(default_factory=lambda: [[], []])
    """For each seat, its keys so far, each with the last entry that it signs."""
    invite: Object | None = None
    commits: list[str | None] = field(default_factory=lambda: [None, None])
    entropy: list[str | None] = field(default_factory=lambda: [None, None])
    kept: list[Object] = field(default_factory=list)
    """All openings accepted so far."""
    down: list[Object] = field(default_factory=list)
    """The openings not yet published: opening, seat, round, whether it counts."""
    dealt: list[list[str]] = field(default_factory=list)
    """For each round the cards that each seat got, in order."""
    result: Object | None = None
    created: str = ""
    said_until: str = ""
    """No entry may come with a time of record before this one: signed heads have said so."""
    taken: str = ""
    """The time of record of the last entry that a player has sent."""
    _moves: tuple[int, set[str]] = (-1, set())

    def __post_init__(self) -> None:
        self.created = self.at
        self.time = GameTime(self.game, self.agreement, self.outages)
        self.naive = REFEREES[self.ruleset["name"]]
        starter = {"host": 0, "guest": 1, "random": None}[self.ruleset["first"]]
        options = (
            (self.ruleset["max_rounds"], self.ruleset["tiebreak"])
            if self.ruleset["name"] == "hanamikoji"
            else (self.ruleset["markers"],)
        )
        self.table = self.naive.new_game(starter, *options)
        dealer = {"name": "server/v1", "seed_commit": log.seed_commit(self.game, self.seed)}
        body = {"agreement": self.agreement, "dealer": dealer, "requires": [], "ruleset": self.ruleset}
        self._write("offer", {**body, "server_key": self.server_key})

    # --- what it looks like ---------------------------------------------------------------------------------------

    @property
    def seq(self) -> int:
        return len(self.texts) - 1

    @property
    def head(self) -> str:
        return log.head_of(self.texts[-1])

    @property
    def status(self) -> str:
        over = "cancelled" if self.stage == "over" and self.result and self.result["reason"] == "cancel" else "finished"
        return {"open": "offered", "join": "open", "over": over}.get(self.stage, "playing")

    @property
    def actor(self) -> int | None:
        """The seat that owes the next entry."""
        if self.stage.startswith("seed"):
            return int(self.stage[-1])
        found: int | None = self.naive.decider(self.table) if self.stage == "play" else None
        return found

    @property
    def to_move(self) -> str | None:
        """The name of the player who owes it; an invited player owes the join."""
        if self.stage == "join":
            return self.invite["name"] if self.invite else None
        return None if self.actor is None else self.names[self.actor]

    def seat_of(self, name: str) -> int | None:
        return self.names.index(name) if name in self.names else None

    def moves(self) -> set[str]:
        """The legal actions of the seat that must act."""
        if self._moves[0] != self.seq:
            self._moves = (self.seq, self.naive.moves(self.table))
        return self._moves[1]

    def deadline(self) -> str | None:
        """Until when the entry that is due can come, or a guest, with all gifts and outages so far."""
        if self.stage == "join":
            found: str | None = self.agreement["expires"]
            return found
        return None if self.actor is None else self.time.deadline()

    def summary(self, late: str) -> Object:
        """The game's row in a list; with a deadline before `late` it is overdue."""
        result, deadline = self.result, self.time.listed
        return {
            "game": self.game,
            "ruleset": self.ruleset,
            "agreement": self.agreement,
            "deadline": deadline,
            "overdue": deadline is not None and deadline < late,
            "status": self.status,
            "host": self.names[0],
            "guest": self.names[1],
            "invite": self.invite["name"] if self.invite else None,
            "by_link": False,
            "seq": self.seq,
            "head": self.head,
            "round": self.table["round"],
            "actor": self.actor,
            "to_move": self.to_move,
            "by_mail": {},
            "dealer": "server/v1",
            "created": self.created,
            "updated": self.at,
            "result": result,
        }

    # --- a submission ---------------------------------------------------------------------------------------------

    def take(self, entry: Object, text: str, sig: str, openings: list[Object], now: str) -> int:
        """Accepts a new entry. Returns the number of resulting lines. Raises `Refused`."""
        kind, body, by = entry["kind"], entry["body"], entry["by"]
        if by == "server":
            raise Refused(400, "malformed")
        if kind not in SERVER_KINDS:
            check_body(kind, body)
        if (entry["seq"], entry["prev"]) != (self.seq + 1, self.head):
            raise Refused(409, "conflict")
        if entry["seen"] != self.at:
            raise Refused(409, "conflict")
        if self.stage == "over":
            raise Refused(409, "game-over")
        seat = self.seat_of(by)
        key = body["key"] if kind in ("open", "join") else None if seat is None else self.keys[seat]
        if key is None:
            raise Refused(403, "forbidden")
        if not log.signature_holds(key, "hkoji.entry.v1", text, sig):
            raise Refused(403, "bad-signature")
        if kind == "rekey" and not log.signature_holds(
            body["key"], "hkoji.rekey.v1", log.proof_text(entry), body["proof"]
        ):
            raise Refused(403, "bad-signature")
        self._check_openings(entry, openings)
        self._check_turn(kind, seat)
        before, at = len(self.texts), self.time.record(self.at, now)
        doing = {"open": self._open, "join": self._join, "seed": self._seed, "move": self._move, "rekey": self._rekey}
        doing.get(kind, self._leave)({**entry, "T": at}, openings, seat)
        credit = self.time.credit(at) if kind in ("seed", "move") else None
        self.at = self.taken = at
        self._keep(text, sig)
        if credit:
            self._write("credit", credit)
        self._go_on(kind)
        self._count(before, seat)
        return len(self.texts) - before

    def end_by_service(self, kind: str, now: str, sigs: list[str] | None = None) -> int:
        """The service writes `timeout`, `lapse` or `annul`. Returns the number of resulting lines."""
        before, seat = len(self.texts), self.actor
        self.at = self.time.record(self.at, now)
        if kind == "lapse":
            body: Object = {"reason": "expired"}
        elif kind == "timeout":
            body = {"seat": seat}
        else:
            body = {"gift": None, "outages": [], **(self.time.credit(self.at) or {}), "seat": seat, "sigs": sigs}
        winner = 1 - seat if kind == "timeout" and seat is not None else None
        self.result = {"reason": "timeout" if kind == "timeout" else "cancel", "winner": winner}
        self._write(kind, body)
        self._go_on(kind)
        self._count(before, seat)
        return len(self.texts) - before

    def _count(self, first: int, seat: int | None) -> None:
        """Tells the clocks what has happened from entry `first` on; `seat` wrote it."""
        kinds = [json.loads(text)["kind"] for text in self.texts[first:]]
        counting = [kind for kind in kinds if kind != "credit"]
        for at, kind in enumerate(counting):
            owes = self.actor if at == len(counting) - 1 else None
            self.time.take(kind, seat if at == 0 else None, self.at, self.head, owes)
        self.time.listed = self.deadline()

    def _check_openings(self, entry: Object, openings: list[Object]) -> None:
        commits = entry["body"].get("commit", [])
        if [(each["seq"], each["part"]) for each in openings] != [(entry["seq"], part) for part in range(len(commits))]:
            raise Refused(400, "malformed")
        if [log.opening_commit(self.game, each) for each in openings] != commits:
            raise Refused(400, "bad-opening")
        salts = [each["salt"] for each in (*self.kept, *openings)]
        if openings and len(salts) != len(set(salts)):
            raise Refused(400, "bad-opening")

    def _check_turn(self, kind: str, seat: int | None) -> None:
        if kind in ("open", "join"):
            return
        if seat is None or kind in SERVER_KINDS:
            raise Refused(403, "forbidden")
        if kind not in ("resign", "cancel") and self.actor != seat:
            raise Refused(409, "not-your-turn")

    def _open(self, entry: Object, _: list[Object], __: int | None) -> None:
        body = entry["body"]
        if self.stage != "open" or (body["invite"] and body["invite"]["name"] == entry["by"]):
            raise Refused(422, "illegal")
        self.names[0], self.keys[0], self.commits[0] = entry["by"], body["key"], body["entropy_commit"]
        self.invite, self.stage = body["invite"], "join"

    def _join(self, entry: Object, _: list[Object], __: int | None) -> None:
        body = entry["body"]
        if self.stage != "join" or entry["by"] == self.names[0] or body["key"] == self.keys[0]:
            raise Refused(422, "illegal")
        invite = self.invite
        if invite and (entry["by"] != invite["name"] or invite["key"] not in (None, body["key"])):
            raise Refused(403, "forbidden")
        if body["entropy_commit"] == self.commits[0]:
            raise Refused(422, "illegal")
        if self.agreement["expires"] is not None and entry["T"] > self.agreement["expires"]:
            raise Refused(409, "time-over")
        self.names[1], self.keys[1], self.commits[1] = entry["by"], body["key"], body["entropy_commit"]
        self.stage = "seed 1"

    def _seed(self, entry: Object, _: list[Object], seat: int | None) -> None:
        if self.stage != f"seed {seat}":
            raise Refused(422, "illegal")
        assert seat is not None
        if log.entropy_commit(self.game, seat, entry["body"]["entropy"]) != self.commits[seat]:
            raise Refused(400, "bad-opening")
        self._check_time(entry["T"])
        self.entropy[seat] = entry["body"]["entropy"]
        self.stage = "seed 0" if seat == 1 else "play"

    def _move(self, entry: Object, openings: list[Object], seat: int | None) -> None:
        if self.stage != "play":
            raise Refused(422, "illegal")
        shown = entry["body"]["action"]
        groups = GROUPS.get(shown, [])
        if len(groups) != len(openings):
            raise Refused(400, "malformed")
        action = shown[0] + "".join(each["cards"] for each in openings) if groups else shown
        if action not in self.moves():
            raise Refused(422, "illegal-action")
        self._check_time(entry["T"])
        number = self.table["round"]
        for opening, counts in zip(openings, groups, strict=True):
            self.kept.append(opening)
            self.down.append({"opening": opening, "seat": seat, "round": number, "counts": counts})
        self.naive.decide(self.table, action)

    def _check_time(self, at: str) -> None:
        if self.time.is_late(at):
            raise Refused(409, "time-over")

    def _rekey(self, entry: Object, _: list[Object], seat: int | None) -> None:
        assert seat is not None
        key, old = entry["body"]["key"], entry["body"]["old"]
        had = [each for keys in self.old_keys for _, each in keys]
        follows = json.loads(self.texts[-1])["kind"] == "rekey"
        if follows or old != self.keys[seat] or key in (self.server_key, *self.keys, *had):
            raise Refused(422, "illegal")
        self.old_keys[seat].append((entry["seq"], old))
        self.keys[seat] = key

    def key_at(self, seat: int, seq: int) -> str | None:
        """The key that must have signed a seat's entry."""
        return next((old for last, old in self.old_keys[seat] if seq <= last), self.keys[seat])

    def _leave(self, entry: Object, _: list[Object], seat: int | None) -> None:
        kind = entry["kind"]
        if (kind == "cancel") != (self.stage == "join"):
            raise Refused(422, "illegal")
        assert seat is not None
        winner = None if kind == "cancel" else 1 - seat
        self.result = {"reason": kind, "winner": winner}

    # --- what the service adds ------------------------------------------------------------------------------------

    def _keep(self, text: str, sig: str) -> None:
        assert self.at >= self.said_until, "a signed head says that no such entry comes"
        self.receipts.append(log.receipt_text(self.at, self.game, text, len(self.texts)))
        self.texts.append(text)
        self.sigs.append(sig)

    def _write(self, kind: str, body: Object) -> None:
        prev, seen = (self.head, json.loads(self.receipts[-1])["at"]) if self.texts else (log.GENESIS, None)
        self._keep(log.entry_text(self.at, body, "server", self.game, kind, prev, seen, len(self.texts)), "")

    def _go_on(self, kind: str) -> None:
        """Appends the automatic entries: chance, deals, draws, reveals and the end."""
        if self.result is None and self.stage == "play":
            if kind == "seed":
                self._begin()
            while self.naive.round_is_over(self.table) and self.result is None:
                self._score()
            if self.result is None and self.naive.draw_is_due(self.table):
                seat = self.table["turn"]
                self.naive.draw(self.table)
                self.dealt[-1][seat] += self.table["hands"][seat][-1]
        if self.result is not None:
            openings = [each["opening"] for each in self.down]
            self.down, self.stage = [], "over"
            self._write("end", {"openings": openings, "result": self.result, "seed": self.seed})

    def _begin(self) -> None:
        key = log.round_key(self.seed, self.game, self.entropy, 1)
        decided: Object = {}
        if self.ruleset["first"] == "random":
            decided["first"] = self.table["starter"] = log.random_starter(key)
        if self.ruleset.get("markers") == "random":
            decided["markers"] = log.random_markers(key)
            self.naive.give_markers(self.table, decided["markers"])
        if decided:
            self._write("chance", decided)
        self._deal()

    def _deal(self) -> None:
        number = self.table["round"] + 1
        cards = log.deck(self.ruleset["name"], log.round_key(self.seed, self.game, self.entropy, number))
        removed = [cards.pop(0)] if self.ruleset["name"] == "hanamikoji" else []
        places = ["".join(cards[:6]), "".join(cards[6:12]), "".join(cards[12:20]), *removed]
        self.naive.deal(self.table, *places)
        self.dealt.append(places[:2])

    def _score(self) -> None:
        number = self.table["round"]
        due = [each for each in self.down if each["counts"] and each["round"] == number]
        self.down = [each for each in self.down if each not in due]
        self._write("reveal", {"openings": [each["opening"] for each in due]})
        self.naive.score(self.table)
        if self.table["result"]:
            self.result = dict(zip(("reason", "winner"), self.table["result"], strict=True))
        else:
            self._deal()


def check_body(kind: str, body: Object) -> None:
    keys = set(body) - {"ext"} - ({"commit"} if kind == "move" else set())
    if kind not in BODIES or keys - BODIES[kind]:
        raise Refused(400, "not-understood")
    if keys != BODIES[kind]:
        raise Refused(400, "malformed")
