"""Check the cards and proofs in the log of a sealed game (sealed.md):  python -I sealed.py FILE

It knows no rules of the games, and checks neither signatures, times nor commitments: audit.sh and `hkoji audit` do.
Exit code: 0 all holds, 1 a finding, 2 wrong usage or an unreadable file, 3 the log is not understood.
"""

import argparse
import base64
import hashlib
import hmac
import json
import re
from collections import defaultdict
from functools import lru_cache, reduce
from itertools import accumulate
from typing import Any

Point = tuple[int, int, int, int]  # extended coordinates (X, Y, Z, T) of edwards25519
P, L, ZERO = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493, (0, 1, 1, 0)
D, SQRT_M1 = -121665 * pow(121666, -1, P) % P, pow(2, (P - 1) // 4, P)
SQRT_AD_MINUS_ONE = 25063068953384623474111414158702152701244531502492656460079210482610430750235
INVSQRT_A_MINUS_D = 54469307008909316920995813868745141605393597292927456921205312896311721017578
GAMES = {  # all cards; a card (K) in an action; actions with open cards; actions with hidden cards
    "hanamikoji": ("A1A2B1B2C1C2D1D2D3E1E2E3F1F2F3F4G1G2G3G4G5", "[A-G]", "3K{3}|4K{4}", "1X|2XX"),
    "geishas-road": ("A1A2A3A4B1B2B3B4C1C2C3C4D1D2D3D4E1E2E3E4", "(?:[A-E][1-4])", "RK|GK{3}|CK{4}", "IXX"),
}
PLACES = ([0, 1, 2, 3, 4, 5, 12, 13, 14, 15], [6, 7, 8, 9, 10, 11, 16, 17, 18, 19])  # of a seat, as they are given
ADDED = {"open": "lock", "seed": "lock give", "move": "show hide lock give close", "release": "give close"}
KINDS = "offer join lapse cancel chance credit rekey revoke delegate resign timeout annul end reveal unseal"
KEYS = {"lock": "deck key proof salt", "show": "copies proof", "give": "at round shares", "close": "card proof"}
FORM = re.compile("[a-z0-9][a-z0-9_-]{1,31} [a-z][a-z0-9_-]{0,31} [0-9a-f]{32} [0-9a-f]{64}")  # by, kind, game, prev


def need(holds: object, reason: str, error: type[Exception] = ValueError) -> None:
    """Stop if something does not hold: ValueError is a finding, NotImplementedError is "not understood"."""
    if not holds:
        raise error(reason)


def even(x: int) -> int:
    """CT_ABS of RFC 9496: of x and -x the one that is not negative, which is the even one."""
    return -x % P if x % P & 1 else x % P


def sqrt_ratio(u: int, v: int) -> tuple[bool, int]:
    """SQRT_RATIO_M1 (section 4.2). Nothing here is secret, so nothing needs constant time."""
    r = u * v**3 * pow(u * v**7, (P - 5) // 8, P) % P
    check = v * r * r % P
    return check in (u % P, -u % P), even(r * SQRT_M1 if check in (-u % P, -u * SQRT_M1 % P) else r)


def decode(data: bytes) -> Point:
    """Decode (section 4.3.1), and refuse the identity too (Notation)."""
    s = int.from_bytes(data, "little")  # from P on, or odd: a second text for a point
    u1, u2 = 1 - s * s, (1 + s * s) % P
    v = (-D * u1 * u1 - u2 * u2) % P
    square, inverse = sqrt_ratio(1, v * u2 * u2 % P)
    x, y = even(2 * s * inverse * u2), u1 * inverse * inverse * u2 * v % P
    need(0 < s < P and not s & 1 and square and not x * y % P & 1 and y, "a point is not valid")
    return x, y, 1, x * y % P


@lru_cache(4096)
def encode(point: Point) -> bytes:
    """Encode (section 4.3.2)."""
    x, y, z, t = point
    u1, u2 = (z + y) * (z - y) % P, x * y % P
    inverse = sqrt_ratio(1, u1 * u2 * u2 % P)[1]
    z_inv, den = inverse * u1 * inverse * u2 * t % P, inverse * u2
    if t * z_inv % P & 1:
        x, y, den = y * SQRT_M1, x * SQRT_M1, inverse * u1 * INVSQRT_A_MINUS_D
    return even(den * (z + y if x * z_inv % P & 1 else z - y)).to_bytes(32, "little")


def from_text(text: str) -> Point:
    """A point that nobody chose: the one-way map (section 4.3.4) of the SHA-512 of `text`."""
    number, result = int.from_bytes(hashlib.sha512(text.encode()).digest(), "little"), ZERO
    for t in (number % 2**255, number // 2**256 % 2**255):
        r = SQRT_M1 * t * t % P
        v = (-1 - r * D) * (r + D) % P
        square, s = sqrt_ratio((r + 1) * (1 - D * D) % P, v)
        s, c = (s, -1) if square else (-even(s * t), r)
        x, y, z, w = 2 * s * v, 1 - s * s, (c * (r - 1) * (D - 1) ** 2 - v) * SQRT_AD_MINUS_ONE, 1 + s * s
        result = add(result, (x * w % P, y * z % P, z * w % P, x * y % P))
    return result


def add(a: Point, b: Point) -> Point:
    """a + b, for any two points."""
    m, n = (a[1] - a[0]) * (b[1] - b[0]), (a[1] + a[0]) * (b[1] + b[0])
    c, d = a[3] * b[3] % P * (2 * D % P), 2 * a[2] * b[2]
    e, f, g, h = (n - m) % P, (d - c) % P, (d + c) % P, (n + m) % P
    return e * f % P, g * h % P, f * g % P, e * h % P


def combine(*terms: tuple[int, Point]) -> Point:
    """The sum of k·A over all terms (k, A): Straus' method, with four bits of each k at a time."""
    result, tables = ZERO, [(k % L, [*accumulate([ZERO] + [a] * 15, add)]) for k, a in terms]
    for shift in range(252, -1, -4):
        for _ in range(4):
            result = add(result, result)
        result = reduce(add, (table[k >> shift & 15] for k, table in tables if k >> shift & 15), result)
    return result


G = decode(bytes.fromhex("e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76"))
H = from_text("hkoji.sealed.blind.v1\n")


def unpack(text: Any, layout: str) -> list[Any]:
    """Read base64 of points (p), scalars (s) and challenges of 16 bytes (c), in the order of `layout`."""
    data, values = base64.b64decode(text), list[Any]()
    size = 32 * len(layout) - 16 * layout.count("c")
    need(len(data) == size and base64.b64encode(data).decode() == text, f"not the base64 of {size} bytes")
    for form in layout:
        part, data = (data[:16], data[16:]) if form == "c" else (data[:32], data[32:])
        values.append(decode(part) if form == "p" else int.from_bytes(part, "little"))
        need(form != "s" or values[-1] < L, "a scalar is not below L")
    return values


class Log:
    """A log as far as it is read; what a seat has got and played in a round is under (round, seat)."""

    def __init__(self) -> None:
        self.seq, self.author, self.head, self.game, self.round, self.first, self.owed = 0, "?", "0" * 64, "", 1, 0, 0
        self.names, self.entropy, self.chance, self.items = list[str](), list[str](), dict[str, Any](), list[Any]()
        self.keys, self.decks, self.proofs = dict[tuple[int, int], Point](), dict[int, list[Point]](), 0
        parts = (defaultdict[tuple[int, int], list[Any]](list) for _ in range(6))
        self.tokens, self.actions, self.shown, self.hidden, self.counted, self.closed = parts

    def read(self, line: bytes) -> None:
        """Check the form of a line and its place in the chain, then what its entry adds."""
        outer, text = json.loads(line), json.loads(line)["entry"]
        entry = json.loads(text)
        written = [json.dumps(value, sort_keys=True, separators=(",", ":")) for value in (outer, entry)]
        need([written[0].encode() + b"\n", written[1]] == [line, text] and "\\" not in text, "not canonical JSON")
        by, kind, game, prev = texts = [entry[key] for key in ("by", "kind", "game", "prev")]
        need(FORM.fullmatch(" ".join(texts)) and isinstance(entry["body"], dict) and len(entry) == 9, "not an entry")
        self.author, self.game, self.place = by, self.game or game, [entry["seq"], bytes.fromhex(prev)]
        need(repr(entry["v"]) == "1" and kind in [*ADDED, *KINDS.split()], f"unknown: {kind}", NotImplementedError)
        need((repr(entry["seq"]), prev) == (str(self.seq), self.head), "it does not continue the chain")
        need(game == self.game and (kind == "offer") == (not self.seq) and kind not in ("reveal", "unseal"), "not here")
        self.entry(by, kind, entry["body"])
        self.head = "" if kind == "end" else hashlib.sha256(text.encode() + b"\n").hexdigest()
        self.seq, self.author = self.seq + 1, "?"

    def entry(self, by: str, kind: str, body: dict[str, Any]) -> None:
        """Check what a sealed game adds (Entries), as far as that needs no rules."""
        self.names += [by] if kind in ("open", "join") else []
        self.seat = self.names.index(by) if by in self.names[:2] and by != "server" else -1
        self.me, self.you = (self.round, self.seat), (self.round, 1 - self.seat)
        need(kind not in ADDED or self.seat >= 0 or (by, kind) == ("server", "release"), f"{by} has no seat")
        added, lock = {"lock", "give", "show", "hide", "close", "commit"} & set(body), kind == "open"
        need(added <= set(ADDED.get(kind, "").split()), f"a {kind} of a sealed game has no {' or '.join(added)}")
        need(all(body[k].keys() <= set(KEYS[k].split()) for k in added - {"hide"}), "unknown key", NotImplementedError)
        need(kind != "release" or (added and ("close" in added) == bool(self.owed)), "not exactly what is due")
        need(kind != "end" or (body["openings"], body["seed"]) == ([], None), "an end that opens something")
        if kind == "chance":
            given = str({key: body[key] for key in body if key != "ext"})  # as text, because True == 1
            need(self.chance and given == str(self.chance), f"what the entropy gives is {self.chance}")
            self.chance = {}  # so there is one only, and moves can begin
        elif kind in ("offer", "seed", "move"):
            lock = bool(getattr(self, kind)(body))
        need(("lock" in added) == lock and (kind != "seed" or "give" in added), "a lock or share is missing or not due")
        for part in sorted(added & {"lock", "close", "give"}, key="lock close give".index):  # a lock before its share
            getattr(self, part)(**body[part])

    def offer(self, body: dict[str, Any]) -> None:
        """Read dealer and ruleset, and make the cards."""
        self.rules, name = body["ruleset"], body["ruleset"]["name"] + ""  # a text
        known = (body["dealer"]["name"], len(body["dealer"]), repr(self.rules["version"])) == ("sealed/v1", 1, "1")
        need(known and name in GAMES, "not understood: another dealer or another ruleset", NotImplementedError)
        self.cards = {c: from_text(f"hkoji.sealed.card.v1\n{name}\n{c}\n") for c in re.findall("..", GAMES[name][0])}

    def seed(self, body: dict[str, Any]) -> bool:
        """Take the guest's entropy, then the host's: both give what chance must be (Chance; log.md, Deal)."""
        self.entropy.append(body["entropy"])
        need(re.fullmatch("[0-9a-f]{64}", body["entropy"]) and self.seat == 2 - len(self.entropy), "not the seed due")
        coin = f"hkoji.sealed.coin.v1\n{self.game}\n{self.entropy[0]}\n".encode()
        key = hmac.digest(bytes.fromhex(body["entropy"]), coin, "sha256")
        marks = sorted("ABCDE", key=lambda mark: hmac.digest(key, f"hkoji.marker.v1\n{mark}\n".encode(), "sha256"))
        chance = {"first": hmac.digest(key, b"hkoji.first.v1\n", "sha256")[0] & 1, "markers": marks[0] + marks[1]}
        self.chance = {key: chance[key] for key in chance if self.rules.get(key) == "random" and self.seat == 0}
        return self.seat == 1

    def begin(self, label: str, seat: int, number: int, *rest: Any) -> None:
        """Begin the transcript of a proof with its context and its statement (Transcripts)."""
        self.items = [b"hkoji.sealed.v1", label.encode(), bytes.fromhex(self.game), bytes([seat]), number, *rest]
        self.proofs += 1  # by its context no proof fits in another game, seat or round

    def challenge(self, label: bytes = b"c", size: int = 64) -> int:
        """scalar(label), or short() with 16 bytes, which are below L anyway."""
        self.items.append(label)
        fed = [encode(x) if isinstance(x, tuple) else x.to_bytes(8) if isinstance(x, int) else x for x in self.items]
        text = b"".join(len(item).to_bytes(4) + item for item in fed)
        return int.from_bytes(hashlib.sha512(text).digest()[:size], "little") % L

    def verify(self, proof: list[int], rows: list[list[tuple[Point, Point]]]) -> None:
        """Verify c, z of each row: the prover knows, for one row, a number that takes each base to its image."""
        self.items += [combine((z, a), (-c, b)) for c, z, row in zip(proof[::2], proof[1::2], rows) for a, b in row]
        need(sum(proof[::2]) % 2**128 == self.challenge(size=16), "a proof does not hold")

    def lock(self, deck: Any, key: Any, proof: Any, salt: Any) -> None:
        """Verify the shuffle of Terelius and Wikström (Locks)."""
        number, n = self.round + len(self.entropy) // 2, len(self.cards)
        need((number in self.decks) == (self.seat != self.first), "the other seat's lock is due")
        before, deck = self.decks.get(number, [*self.cards.values()]), unpack(deck, "p" * n)
        (key,), proof, _ = unpack(key, "p"), unpack(proof, "p" * 2 * n + "s" * (2 * n + 5)), unpack(salt, "cc")
        need(len({encode(point) for point in before + deck}) == 2 * n, "two points of the decks are equal")
        perm, chain, (c, za, zb, zd, zk), z = proof[:n], proof[n : 2 * n], proof[2 * n : 2 * n + 5], proof[2 * n + 5 :]
        h = [from_text(f"hkoji.sealed.base.v1\n{i}\n") for i in range(n)]
        self.begin("lock", self.seat, number, *self.place, n, key, *before, *deck, *perm)
        u = [self.challenge(b"u") for _ in range(n)]
        self.items += [
            *chain,
            combine((za, G), *((-c, point) for point in perm), *((c, point) for point in h)),
            combine((zb, G), (-c, chain[-1]), (c * reduce(lambda x, y: x * y % L, u), H)),
            combine((zd, G), *zip(z[n:], h), *((-c * x, point) for x, point in zip(u, perm))),
            combine(*zip(z[n:], deck), *((-zk * x, point) for x, point in zip(u, before))),
            combine((zk, G), (-c, key)),
            *(combine((z[i], G), (z[n + i], [H, *chain][i]), (-c, chain[i])) for i in range(n)),
        ]
        need(c == self.challenge(), "the proof of the lock does not hold")
        self.decks[number], self.keys[number, self.seat] = deck, key

    def give(self, at: list[int], round: int, shares: str) -> None:
        """Verify a share: the hand of a seat, its next draw, or both (Shares and Entries)."""
        owner, due = int(at[0] in PLACES[1]), self.round + self.owed
        need(self.seat in (-1, 1 - owner) and repr(round) == str(due), "by another seat, or for another round")
        tokens, end = self.tokens[round, owner], len(at) + len(self.tokens[round, owner])
        need(repr(at) == repr(PLACES[owner][len(tokens) : end]), "not the next positions of a seat")  # so none twice
        need(end in (6, 7 + len(self.actions[round, owner])), "a draw that is not due")
        *new, c, z = unpack(shares, "p" * len(at) + "cs")
        key, pairs = self.keys[round, 1 - owner], [*zip(new, (self.decks[round][i] for i in at))]
        self.begin("share", 1 - owner, round, bytes(at), len(at), key, *(point for pair in pairs for point in pair))
        self.verify([c, z], [[(G, key), *pairs]])
        tokens += new

    def move(self, body: dict[str, Any]) -> bool:
        """Verify an action's cards (Cards that are played); the result is whether a lock is due."""
        me, tokens, t, action = self.me, self.tokens[self.me], len(self.tokens[self.me]), body["action"]
        _, card, *forms = GAMES[self.rules["name"]]
        fits = [bool(re.fullmatch(form.replace("K", card), action)) for form in forms]
        need(fits == ["show" in body, "hide" in body] and (any(fits) or action[0] in "->!^"), "not a move that fits")
        need(len(self.entropy) == 2 and not self.chance and not self.owed, "a seed, chance or a close is due")
        need(not any(fits) or t == 7 + len(self.actions[me]), "an action without its draw")
        copies, proof = [body.get("show", {"copies": [], "proof": ""})[key] for key in ("copies", "proof")]
        numbers = unpack(proof, "cs" * t * len(copies + []))  # + []: nothing but a list
        for i, (kind, copy) in enumerate(zip(re.findall(card, action[1:]) * fits[0], copies, strict=True)):
            need(copy in [*self.cards] and copy.startswith(kind), "a copy of another card than the action's")
            need(copy not in self.shown[me] + self.shown[self.you], f"{copy} is shown twice")
            self.begin("show", self.seat, self.round, *self.place, i, t, self.keys[me], self.cards[copy], *tokens)
            self.verify(numbers[2 * t * i :][: 2 * t], [[(G, self.keys[me]), (self.cards[copy], a)] for a in tokens])
            self.shown[me].append(copy)
        for part, text in zip(range(action.count("X")), body.get("hide", []) + [], strict=True):
            point, *proof = unpack(text, "p" + "cs" * t)
            need(encode(point) not in map(encode, tokens + self.hidden[me]), "a token, or a point that was used before")
            self.begin("hide", self.seat, self.round, *self.place, part, t, point, *tokens)
            self.verify(proof, [[(H, add(point, (-x, y, z, -xy)))] for x, y, z, xy in tokens])
            self.hidden[me].append(point)  # one C twice would show that two hidden cards are equal
        self.counted[me] += self.hidden[me][-action.count("X") :][:1] * (action in ("1X", "IXX"))
        self.first = self.first if self.actions[me] + self.actions[self.you] else self.seat
        self.actions[me] += [action] * any(fits)
        return any(fits) and t == 10 and self.round != self.rules.get("max_rounds", 3)  # 3: Geisha's Road

    def close(self, card: str, proof: str) -> None:
        """Verify that all tokens are exactly the cards played, and which one is turned up (The close)."""
        me, you, key = self.me, self.you, self.keys[self.me]
        need(card in [*self.cards] and card not in self.shown[me] + self.shown[you], "a card that cannot be hidden")
        need(len(self.actions[me]) == len(self.actions[you]) == 4 and not self.closed[me], "the round is not over")
        (c1,), (c, x, y, v), m = self.counted[me], unpack(proof, "csss"), self.cards[card]
        s = combine(*((1, self.cards[copy]) for copy in self.shown[me]))
        d = combine(*((1, token) for token in self.tokens[me]), *((-1, hidden) for hidden in self.hidden[me]))
        self.begin("close", self.seat, self.round, *self.place, key, m, c1, s, d)
        self.items += [combine((x, G), (-c, key)), combine((x, m), (y, H), (-c, c1)), combine((x, s), (-v, H), (-c, d))]
        need(c == self.challenge(size=16), "the proof of the close does not hold")
        self.closed[me], self.owed, self.round = [card], 1 - self.owed, self.round + self.owed  # the second ends it


def main() -> int:
    """Check the file that the argument names; the result is the exit code."""
    log, parser = Log(), argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=argparse.FileType("rb"), metavar="FILE")
    try:
        for line in parser.parse_args().file:
            log.read(line)
        need(log.seq, "there is none")
    except (OSError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError) as error:
        print(f"entry {log.seq} by {log.author}: {error}")
        return 3 if isinstance(error, NotImplementedError) else 2 if isinstance(error, OSError) else 1
    for me in sorted(me for me in log.actions if log.actions[me]):
        turned, closed = ", turned up ".join(["", *log.closed[me]]), len(log.hidden[me]) - len(log.closed[me])
        print(f"round {me[0]}: {log.names[me[1]]} showed {' '.join(log.shown[me])}{turned}; {closed} cards stay closed")
    print(f"{log.seq} entries, {log.proofs} proofs hold")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
