"""Requests that no client sends. The model gives the required answer to each."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any, Final

from hkoji.log.canonical import encode_base64
from hkoji.log.private_key import PrivateKey
from tests.lab.machine import naive_log as log
from tests.lab.machine.naive_game import GROUPS, NaiveGame
from tests.lab.machine.naive_log import Object
from tests.lab.machine.world import World

STRANGER: Final = PrivateKey.from_seed(b"s" * 32)


def read(text: str) -> Any:  # Any: JSON
    """An entry as an object."""
    return json.loads(text)


def entry_of(submission: bytes) -> Any:  # Any: JSON
    """The entry of a submission."""
    return json.loads(json.loads(submission)["entry"])


def text_of(entry: Object) -> str:
    """An entry's text."""
    return log.canonical(entry)


def _notations() -> dict[str, list[str]]:
    """A sample of texts that look like moves, and some that do not."""
    cards = "ABCDEFG"
    hanamikoji = [
        *(f"{number}{''.join(each)}" for number in (1, 2, 3) for each in itertools.combinations("AABCDEFG", number)),
        *(f"4{a}{b}{c}{d}" for a, b, c, d in itertools.islice(itertools.permutations(cards, 4), 0, None, 37)),
        *(f"-{card}" for card in cards),
        *("-AB", "-FG", "!A", "^0", ">A1A2", "1H", "5A", "", "zz", "RA1"),
    ]
    road = [f"{colour}{number}" for colour in "ABCDE" for number in range(1, 5)]
    pairs = list(itertools.islice(itertools.permutations(road, 2), 0, None, 11))
    return {
        "hanamikoji": hanamikoji,
        "geishas-road": [
            *(f"R{card}" for card in road),
            *(f"{sign}{a}{b}" for sign in "I->" for a, b in pairs),
            *(f"G{a}{b}{c}" for a, b, c in itertools.islice(itertools.combinations(road, 3), 0, None, 31)),
            *(f"-{card}" for card in road),
            *("!A", "!E", "^0", "^1", "1A", "", "RA5", "IA1", "CA1A2A3A4"),
        ],
    }


NOTATIONS: Final = _notations()


class _Draft:
    """A submission that would be accepted, before it is changed."""

    def __init__(self, world: World, game: NaiveGame, choice: int) -> None:
        self.world, self.game, self.choice = world, game, choice
        self.keys = {device.name: device.key_in(game) for device in world.devices}
        self.fields: Object = {"game": game.game, "prev": game.head, "seen": game.at, "seq": game.seq + 1}
        self.openings: list[Object] = []
        self.address = game.game
        owner = game.to_move if game.to_move in self.keys else game.offered_to
        self.by = owner or "alice"
        self.key: PrivateKey = self.keys.get(self.by, STRANGER)
        self.kind, self.body = self._due()

    def _due(self) -> tuple[str, Object]:
        game, seat = self.game, self.game.actor
        if game.stage in ("open", "join"):
            commit = log.entropy_commit(game.game, int(game.stage == "join"), f"{self.choice:064x}")
            if game.stage == "join" and not game.invite:
                self.by = next(name for name in self.keys if name != game.names[0])
                self.key = self.keys[self.by]
            body: Object = {"entropy_commit": commit, "key": self.key.public.text}
            return ("open", {**body, "invite": None}) if game.stage == "open" else ("join", body)
        if game.stage == "play":
            moves = sorted(game.moves())
            return "move", self.move(moves[self.choice % len(moves)])
        if seat is not None:
            return "seed", {"entropy": f"{self.choice:064x}"}
        return "resign", {}

    def move(self, action: str, salt: str = "") -> Object:
        """A move's body; its openings are kept."""
        first, cards = action[:1], action[1:]
        shown = {"1": "1X", "2": "2XX", "I": "IXX"}.get(first, action)
        if shown not in GROUPS or (len(cards) != {"1": 1, "2": 2, "I": 4}[first]):
            return {"action": action}
        groups = [cards[:2], cards[2:]] if first == "I" else [cards]
        seq = self.fields["seq"]
        self.openings = [
            {"cards": each, "part": part, "salt": salt or log.digest("salt", self.choice, seq, part), "seq": seq}
            for part, each in enumerate(groups)
        ]
        return {"action": shown, "commit": [log.opening_commit(self.game.game, each) for each in self.openings]}

    def text(self) -> str:
        entry = {"at": self.world.time(), "body": self.body, "by": self.by, "kind": self.kind, "v": 1, **self.fields}
        return log.canonical(entry)

    def sign(self, text: str) -> str:
        return encode_base64(self.key.sign("hkoji.entry.v1", text.encode() + b"\n"))

    def send(self, text: str = "", sig: str = "", **more: Any) -> None:  # Any: JSON
        text = text or self.text()
        value: Object = {"entry": text, "sig": sig or self.sign(text), **more}
        if self.openings:
            value["opening"] = self.openings
        self.world.ask("POST", f"/v1/games/{self.address}/entries", json.dumps(value).encode())


Sort = Callable[[_Draft], None]


def _stale(draft: _Draft) -> None:
    """An entry with the right number, which follows another head."""
    at = draft.choice % len(draft.game.texts)
    head = log.head_of(draft.game.texts[at])
    draft.fields["prev"] = head if at < draft.game.seq else log.GENESIS
    draft.send()


def _another_time(draft: _Draft) -> None:
    """An entry that states another time of record for the one before it."""
    draft.fields["seen"] = ["2026-01-01T00:00:00Z", "2028-01-01T00:00:00Z"][draft.choice % 2]
    draft.send()


def _early(draft: _Draft) -> None:
    draft.fields["seq"] += 1 + draft.choice % 3
    draft.openings = []
    draft.send()


def _another_for_an_old_place(draft: _Draft) -> None:
    at = draft.choice % len(draft.game.texts)
    draft.fields["seq"] = at
    draft.fields["prev"] = log.head_of(draft.game.texts[at - 1]) if at else log.GENESIS
    draft.fields["seen"] = draft.game.at if at else None
    draft.openings = []
    draft.send()


def _old_entry(draft: _Draft) -> None:
    """An entry of the log is sent again, by anybody: the answer has its first receipt."""
    at = draft.choice % len(draft.game.texts)
    draft.openings = []
    draft.send(draft.game.texts[at], draft.game.sigs[at] or draft.sign(draft.game.texts[at]))


def _old_entry_badly_signed(draft: _Draft) -> None:
    text = draft.game.texts[draft.choice % len(draft.game.texts)]
    draft.openings, draft.key = [], STRANGER
    draft.send(text)


def _wrong_key(draft: _Draft) -> None:
    others = [key for name, key in draft.keys.items() if name != draft.by]
    draft.key = [STRANGER, *others][draft.choice % 3]
    if draft.kind in ("open", "join"):
        draft.body = {**draft.body, "key": draft.keys[draft.by].public.text} if draft.by in draft.keys else draft.body
    draft.send()


def _foreign_name(draft: _Draft) -> None:
    """A player without a seat, or an unknown one, writes in their own name."""
    outside = [name for name in draft.keys if name not in draft.game.names]
    draft.by = [*outside, "mallory"][draft.choice % (len(outside) + 1)]
    draft.key = draft.keys.get(draft.by, STRANGER)
    if "key" in draft.body:
        draft.body = {**draft.body, "key": draft.key.public.text}
    draft.send()


def _foreign_resignation(draft: _Draft) -> None:
    outside = [name for name in draft.keys if name not in draft.game.names]
    draft.by = [*outside, "mallory"][draft.choice % (len(outside) + 1)]
    draft.key = draft.keys.get(draft.by, STRANGER)
    draft.kind, draft.body, draft.openings = "resign", {}, []
    draft.send()


def _resignation_for_another(draft: _Draft) -> None:
    """An entry in a player's name, signed by the other player."""
    draft.kind, draft.body, draft.openings = "resign", {}, []
    draft.by = draft.game.names[draft.choice % 2] or "alice"
    draft.key = draft.keys[next(name for name in draft.keys if name != draft.by)]
    draft.send()


def _out_of_turn(draft: _Draft) -> None:
    """An entry by the seat that does not owe the next one."""
    seat = draft.game.actor
    other = draft.game.names[1 - seat] if seat is not None else draft.game.names[draft.choice % 2]
    draft.by = other or "alice"
    draft.key = draft.keys[draft.by]
    if "key" in draft.body:
        draft.body = {**draft.body, "key": draft.key.public.text}
    draft.send()


def _servers_kind(draft: _Draft) -> None:
    """A player writes an entry that only the service may write."""
    draft.openings = []
    bodies: list[tuple[str, Object]] = [
        ("end", {"openings": [], "result": {"reason": "charm", "winner": 0}, "seed": "0" * 64}),
        ("reveal", {"openings": []}),
        ("chance", {"first": 1}),
        ("timeout", {"seat": 0}),
    ]
    draft.kind, draft.body = bodies[draft.choice % 4]
    draft.by = draft.game.names[draft.choice % 2] or draft.by
    draft.key = draft.keys.get(draft.by, STRANGER)
    draft.send()


def _as_server(draft: _Draft) -> None:
    draft.by = "server"
    draft.send()


def _wrong_kind(draft: _Draft) -> None:
    """A well-formed entry that is not due."""
    commit, key = log.digest(draft.choice), draft.key.public.text
    bodies: list[tuple[str, Object]] = [
        ("open", {"entropy_commit": commit, "invite": None, "key": key}),
        ("join", {"entropy_commit": commit, "key": key}),
        ("seed", {"entropy": log.digest(draft.choice)}),
        ("cancel", {}),
        ("later", {}),
        ("resign", {"why": "so"}),
        ("join", {"key": key}),
    ]
    draft.kind, draft.body = bodies[draft.choice % len(bodies)]
    draft.openings = []
    if draft.kind == "cancel" and draft.game.stage == "join":
        draft.kind = "seed"
        draft.body = {"entropy": commit}
    draft.send()


def _rekey(draft: _Draft) -> None:
    """An invalid new key: the other player's, without proof, in another's name, or in place of another key."""
    game = draft.game
    draft.by = game.names[draft.choice % 2] or draft.by
    draft.key = draft.keys.get(draft.by, STRANGER)
    new, old = PrivateKey.from_seed(log.digest(draft.choice)[:32].encode()), draft.key.public.text
    match draft.choice // 2 % 4:
        case 0:
            new = draft.keys[game.names[draft.choice % 3 == 0] or "alice"]
        case 1:
            old = STRANGER.public.text
        case 2:
            draft.key = STRANGER
    draft.kind, draft.openings = "rekey", []
    draft.body = {"key": new.public.text, "old": old}
    entry = {"body": draft.body, "by": draft.by, **draft.fields}
    proof = (new if draft.choice // 2 % 4 < 3 else STRANGER).sign(
        "hkoji.rekey.v1", log.proof_text(entry).encode() + b"\n"
    )
    draft.body["proof"] = encode_base64(proof)
    draft.send()


def _join_with_the_hosts_commitment(draft: _Draft) -> None:
    if draft.game.stage == "join":
        draft.body = {**draft.body, "entropy_commit": draft.game.commits[0]}
    draft.send()


def _openings(draft: _Draft) -> None:
    """Openings that are missing, superfluous, of another place, or do not fit."""
    seq = draft.fields["seq"]
    extra = {"cards": "A", "part": 0, "salt": "0" * 64, "seq": seq}
    if not draft.openings:
        draft.openings = [extra]
    else:
        first = draft.openings[0]
        change: list[list[Object]] = [
            [],
            [{**first, "salt": "1" * 64}, *draft.openings[1:]],
            [{**first, "cards": "AB"}, *draft.openings[1:]],
            [{**first, "seq": seq - 1}, *draft.openings[1:]],
            [*draft.openings, {**extra, "seq": seq + 1}],
        ]
        draft.openings = change[draft.choice % len(change)]
    draft.send()


def _salt_again(draft: _Draft) -> None:
    """A hidden card with a salt that the game has seen."""
    if draft.game.kept and draft.game.stage == "play":
        hidden = [move for move in sorted(draft.game.moves()) if move[0] in "12I"]
        if hidden:
            salt = draft.game.kept[draft.choice % len(draft.game.kept)]["salt"]
            draft.body = draft.move(hidden[draft.choice % len(hidden)], salt)
    draft.send()


def _illegal_move(draft: _Draft) -> None:
    """Cards not held, actions used up, answers that were not offered."""
    if draft.game.stage == "play":
        notations = [each for each in NOTATIONS[draft.game.ruleset["name"]] if _formal(draft.game, each)]
        for at in range(draft.choice, draft.choice + 50):
            action = notations[at % len(notations)]
            if action not in draft.game.moves() and (action[0] in "-!^>") == _answers(draft.game):
                draft.openings = []
                draft.body = draft.move(action)
                break
    draft.send()


def _formal(game: NaiveGame, action: str) -> bool:
    """Whether this is the canonical notation of a move with cards that exist."""
    if not action or action[:1] not in ("1234-" if game.ruleset["name"] == "hanamikoji" else "RIGC-"):
        return False
    cards = action[1:]
    if game.ruleset["name"] == "hanamikoji":
        one_form = cards == "".join(sorted(cards))
        return one_form and (cards.isalpha() or not cards) and set(cards) <= set("ABCDEFG") and bool(cards)
    length = {"R": [1], "I": [2], "G": [3], "C": [4], "-": [1, 2]}[action[0]]
    kinds = [cards[at : at + 2] for at in range(0, len(cards), 2)]
    return (
        len(kinds) in length
        and len(set(kinds)) == len(kinds)
        and all(kind in log.CARDS["geishas-road"] for kind in kinds)
    )


def _answers(game: NaiveGame) -> bool:
    """Whether an answer is due."""
    return any(move[0] in "-!^>" for move in game.moves())


def _address(draft: _Draft) -> None:
    """An entry sent to the address of another game, or of none."""
    others = [game for game in draft.world.model.games if game != draft.game.game]
    draft.address = [*others, "0" * 32][draft.choice % (len(others) + 1)]
    if draft.choice % 3 == 0:
        draft.fields["game"] = draft.address
    draft.send()


def _not_the_one_form(draft: _Draft) -> None:
    text = draft.text()
    draft.send(
        [text.replace(",", ", ", 1), text[:-1], text + "\\n", text.replace('"v":1', '"v":1.0')][draft.choice % 4]
    )


def _twice(draft: _Draft) -> None:
    """An entry that is due, and the same again."""
    if draft.game.stage in ("play", "seed 0", "seed 1"):
        text = draft.text()
        draft.send(text)
        draft.openings = draft.openings if draft.choice % 2 else []
        draft.send(text)


_SORTS: Final[dict[str, Sort]] = {
    "stale head": _stale,
    "another time": _another_time,
    "early": _early,
    "another for an old place": _another_for_an_old_place,
    "old entry": _old_entry,
    "old entry, badly signed": _old_entry_badly_signed,
    "wrong key": _wrong_key,
    "foreign name": _foreign_name,
    "foreign resignation": _foreign_resignation,
    "resignation for another": _resignation_for_another,
    "out of turn": _out_of_turn,
    "service's kind": _servers_kind,
    "as the service": _as_server,
    "wrong kind": _wrong_kind,
    "new key": _rekey,
    "the host's commitment": _join_with_the_hosts_commitment,
    "openings": _openings,
    "salt again": _salt_again,
    "illegal move": _illegal_move,
    "address": _address,
    "not the one form": _not_the_one_form,
    "twice": _twice,
}
SORTS: Final = tuple(_SORTS)


def submit(world: World, game: NaiveGame, sort: str, choice: int) -> None:
    """Sends a submission of some sort and compares the two answers."""
    _SORTS[sort](_Draft(world, game, choice))
