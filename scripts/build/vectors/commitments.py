"""commitments.json"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from scripts.build.vectors.formulas import DEAL, GAME, Vector, canonical, secret, sign

HANAMIKOJI: Final = tuple(
    f"{kind}{copy}"
    for kind, copies in zip("ABCDEFG", (2, 2, 2, 3, 3, 4, 5), strict=True)
    for copy in range(1, copies + 1)
)
GEISHAS_ROAD: Final = tuple(f"{colour}{number}" for colour in "ABCDE" for number in range(1, 5))


def lines(*parts: object) -> str:
    """The hashed or authenticated message: each part and a newline."""
    return "".join(f"{part}\n" for part in parts)


def commitment(kind: str, opening: Vector, *parts: object) -> Vector:
    """A commitment with its opening and the hashed message."""
    message = lines(*parts)
    return {"kind": kind, **opening, "message": message, "commit": hashlib.sha256(message.encode()).hexdigest()}


def key_entropy(name: str, game: str, offer: str) -> Vector:
    """The entropy of the named key for a game, by way of the signature that stays secret."""
    message = canonical({"game": game, "head": offer, "v": 1}) + "\n"
    signature = sign(name, "hkoji.entropy.v1", message)[-64:]
    found = {"seed": secret(name).hex(), "game": game, "head": offer, "message": message}
    return found | {"signature": signature.hex(), "entropy": hashlib.sha256(signature).hexdigest()}


def mac(key: bytes, *parts: object) -> bytes:
    """HMAC-SHA256 of the parts."""
    return hmac.digest(key, lines(*parts).encode(), "sha256")


def deal(ruleset: str, number: int) -> Vector:
    """A round of server/v1: its deck, and how it is cut."""
    seed, host, guest = secret("seed"), secret("host entropy"), secret("guest entropy")
    message = lines("hkoji.deck.v1", GAME, guest.hex(), host.hex(), number)
    found: Vector = {"ruleset": ruleset, "game": GAME, "seed": seed.hex(), "host_entropy": host.hex()}
    found |= {"guest_entropy": guest.hex(), "round": number}
    return found | cards_of(ruleset, number, seed, message)


def duplicate_deal(ruleset: str, number: int) -> Vector:
    """A round of duplicate/v1."""
    seed = secret("duplicate seed")
    message = lines("hkoji.duplicate.deck.v1", DEAL, number)
    found: Vector = {"ruleset": ruleset, "deal": DEAL, "seed": seed.hex(), "round": number}
    return found | cards_of(ruleset, number, seed, message)


def cards_of(ruleset: str, number: int, seed: bytes, message: str) -> Vector:
    """The deck from a deck key's message, and how it is cut; for round 1 also the results of chance."""
    key = hmac.digest(seed, message.encode(), "sha256")
    cards = HANAMIKOJI if ruleset == "hanamikoji" else GEISHAS_ROAD
    order = sorted((mac(key, "hkoji.order.v1", card), card) for card in cards)
    deck = [card[0] if ruleset == "hanamikoji" else card for _, card in order]
    top = len(deck) - 20  # Hanamikoji removes one card
    cut = {
        "removed": deck[:top],
        "seat_0": deck[top : top + 6],
        "seat_1": deck[top + 6 : top + 12],
        "draws": deck[top + 12 :],
    }
    found: Vector = {"deck_key_message": message, "deck_key": key.hex()}
    found |= {"order": {card: mac(key, "hkoji.order.v1", card).hex() for card in cards}}
    found |= {"deck": [card for _, card in order], **{part: "".join(cut[part]) for part in cut}}
    if number == 1:
        first = mac(key, "hkoji.first.v1")
        found |= {"first_hmac": first.hex(), "first": first[0] % 2}
    if number == 1 and ruleset == "geishas-road":
        markers = {colour: mac(key, "hkoji.marker.v1", colour) for colour in "ABCDE"}
        found |= {"marker_order": {colour: markers[colour].hex() for colour in markers}}
        found |= {"markers": "".join(sorted(markers, key=lambda colour: markers[colour])[:2])}
    return found


def commitments() -> Vector:
    """commitments.json"""
    found = []
    seed, salt = secret("seed").hex(), secret("salt").hex()
    found.append(commitment("seed", {"game": GAME, "seed": seed}, "hkoji.seed.v1", GAME, seed))
    for seat, name in enumerate(("host entropy", "guest entropy")):
        entropy = secret(name).hex()
        opening = {"game": GAME, "seat": seat, "entropy": entropy}
        found.append(commitment("entropy", opening, "hkoji.entropy.v1", GAME, seat, entropy))
    for seq, part, cards in ((6, 0, "E"), (7, 0, "BD"), (10, 0, "GG"), (12, 0, "B2"), (12, 1, "C1"), (1234, 1, "E4")):
        hidden = {"game": GAME, "seq": seq, "part": part, "cards": cards, "salt": salt}
        found.append(commitment("hidden", hidden, "hkoji.hidden.v1", GAME, seq, part, cards, salt))
    seed = secret("duplicate seed").hex()
    opening = {"deal": DEAL, "seed": seed}
    found.append(commitment("duplicate-seed", opening, "hkoji.duplicate.seed.v1", DEAL, seed))
    rounds = [(ruleset, number) for ruleset in ("hanamikoji", "geishas-road") for number in (1, 2, 10)]
    deals = [deal(*each) for each in rounds]
    keys = [
        key_entropy(name, game, hashlib.sha256(f"{name} {game}".encode()).hexdigest())
        for name in ("alice", "bob")
        for game in (GAME, DEAL)
    ]
    return {
        "commitments": found,
        "key_entropy": keys,
        "deals": deals,
        "duplicate_deals": [duplicate_deal(*each) for each in rounds],
    }
