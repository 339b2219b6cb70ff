"""Builds the test vectors of the log format in tests/data/vectors, which see.

    python -m scripts.build_vectors           write the files
    python -m scripts.build_vectors --check   fail if they are not what this writes

It uses nothing of hkoji: the formulas stand here once more, straight from the specification, over hashlib, hmac, json
and the Ed25519 of cryptography, so the vectors check the package and not the other way round. It is long because
most of it is tables.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from scripts.golden import main
from tests.log.curve import FIELD, NEUTRAL, ORDER, encode_point, encodings, small_order

FOLDER: Final = Path(__file__).parents[1] / "tests" / "data" / "vectors"
AT: Final = "2026-11-20T12:00:00Z"
GAME: Final = "2714f3b33c7ecb05393f34920c14fec3"
DEAL: Final = "9bf9c4c1d6a24a0c8d0d7bd5fb2c1e77"
MAX: Final = 2**53 - 1

Vector = dict[str, Any]  # JSON of many shapes, described in the README beside the files


def secret(name: str) -> bytes:
    """32 bytes that anybody can make again."""
    return hashlib.sha256(f"hkoji test vector {name}".encode()).digest()


def canonical(value: object) -> str:
    """Canonical text of a value that has one."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def encode64(data: bytes) -> str:
    """Padded base64."""
    return base64.b64encode(data).decode()


# --- keys ---------------------------------------------------------------------------------------------------------


def string(data: bytes) -> bytes:
    """A length-prefixed string of the SSH protocol."""
    return len(data).to_bytes(4, "big") + data


def key_blob(raw: bytes) -> bytes:
    """The SSH form of a public key."""
    return string(b"ssh-ed25519") + string(raw)


def key_text(raw: bytes) -> str:
    """A public key as the log writes it."""
    return f"ssh-ed25519 {encode64(key_blob(raw))}"


def public(name: str) -> bytes:
    """The public key of the named secret."""
    return Ed25519PrivateKey.from_private_bytes(secret(name)).public_key().public_bytes_raw()


def keys() -> Vector:
    """keys.json"""
    good = []
    for name in ("server", "alice", "bob"):
        raw = public(name)
        fingerprint = "SHA256:" + encode64(hashlib.sha256(key_blob(raw)).digest()).rstrip("=")
        good.append(
            {"seed": secret(name).hex(), "public": raw.hex(), "text": key_text(raw), "fingerprint": fingerprint}
        )
    bad = [
        {"text": key_text(raw), "error": "weak-key", "reason": "a point of small order"}
        for raw in sorted(encode_point(point) for point in small_order())
    ]
    for raw, point in sorted(encodings().items()):
        reason = "a second encoding of a point" if point else "y is not below the field's order, and there is no point"
        bad.append({"text": key_text(raw), "error": "weak-key", "reason": reason})
    text = key_text(public("alice"))
    other = encode64(string(b"ssh-rsa") + string(public("alice")))
    for malformed, reason in (
        ("", "empty"),
        (text + " alice", "a comment"),
        (text + "\n", "a newline"),
        (text.replace(" ", "  "), "two spaces"),
        (text.replace(" ", "\t"), "a tab"),
        (text.split()[1], "no type"),
        ("ssh-rsa " + text.split()[1], "another type outside"),
        ("ssh-ed25519 " + other, "another type inside"),
        ("ssh-ed25519 " + encode64(key_blob(public("alice")[:31])), "31 bytes"),
        ("ssh-ed25519 " + encode64(key_blob(public("alice") + b"\0")), "33 bytes"),
        ("ssh-ed25519 " + encode64(key_blob(public("alice")) + b"\0\0\0"), "bytes after the key"),
        (text[:-1], "base64 of a wrong length"),
        (text[:-4] + "AA==", "a key of another length"),
        (text.replace("A", "-", 1), "not base64"),
        ("SSH-ED25519 " + text.split()[1], "capitals"),
    ):
        bad.append({"text": malformed, "error": "malformed", "reason": reason})
    return {"good": good, "bad": bad}


# --- canonical text -------------------------------------------------------------------------------------------------

PLAIN: Final = "".join(chr(code) for code in range(0x20, 0x7F) if chr(code) not in '"\\')


def nested(depth: int) -> object:
    """Lists in lists, `depth` of them."""
    return [nested(depth - 1)] if depth > 1 else []


def canonical_texts() -> Vector:
    """canonical.json"""
    values: list[object] = [None, True, False, 0, 1, 10, MAX, "", "a", PLAIN, [], {}, [1, "1", None], nested(16)]
    values += [{"b": 1, "a": 2, "B": 3, "": 4, "a b": 5, "a-": 6, "aa": 7}, {"a": [{"c": {}, "b": []}, False]}]
    bad = [
        ("", "empty"),
        (" ", "a space alone"),
        ("\n", "a newline alone"),
        ("1\n", "a newline after"),
        ("1\r\n", "CR LF after"),
        ("1\r", "CR after"),
        (" 1", "a space before"),
        ("1 ", "a space after"),
        ("\ufeff1", "a byte order mark"),
        ("[1, 2]", "a space after a comma"),
        ('{"a": 1}', "a space after a colon"),
        ('{"b":1,"a":1}', "keys not sorted"),
        ('{"a":1,"B":1}', "keys not sorted by their bytes"),
        ('{"a":1,"a":1}', "a key twice"),
        ('{"a":1,"a":2}', "a key twice with two values"),
        ("1.0", "a fraction"),
        ("0.5", "a fraction"),
        ("1e3", "an exponent"),
        ("1E0", "an exponent"),
        ("-0", "a sign"),
        ("-1", "a sign"),
        ("+1", "a sign"),
        ("01", "a leading zero"),
        ("1_0", "not JSON"),
        (str(MAX + 1), "2^53"),
        ("9" * 400, "a very large number"),
        ("NaN", "not JSON"),
        ("Infinity", "not JSON"),
        ("-Infinity", "not JSON"),
        ("True", "not JSON"),
        ("nul", "not JSON"),
        ("'a'", "single quotes"),
        ('"a', "no closing quote"),
        ("[1,]", "a comma too many"),
        ("{1:2}", "a key that is no string"),
        ("{}{}", "two values"),
        (r'"\u0061"', "an escape"),
        (r'"\/"', "an escape"),
        (r'"a\"b"', "a quote in a string"),
        (r'"a\\b"', "a backslash in a string"),
        (r'"\n"', "an escaped newline"),
        ('"\t"', "a tab in a string"),
        ('"\x7f"', "DEL in a string"),
        ('"\u00e9"', "a letter beyond ASCII"),
        ("\u0661", "a digit beyond ASCII"),
        (canonical(nested(17)), "nested 17 deep"),
        ('{"a":' * 17 + "1" + "}" * 17, "nested 17 deep"),
        ("[" * 2000, "nested without end"),
    ]
    return {
        "good": [{"value": value, "text": canonical(value)} for value in values],
        "bad": [{"text": text, "reason": reason} for text, reason in bad],
    }


# --- signatures -------------------------------------------------------------------------------------------------------


def signed_data(namespace: str, message: str, algorithm: str = "sha512", reserved: bytes = b"") -> bytes:
    """What Ed25519 signs (OpenSSH, PROTOCOL.sshsig)."""
    digest = hashlib.new(algorithm, message.encode()).digest()
    return b"SSHSIG" + b"".join(map(string, (namespace.encode(), reserved, algorithm.encode(), digest)))


def blob(raw: bytes, namespace: str, signature: bytes, algorithm: str = "sha512", reserved: bytes = b"") -> bytes:
    """An SSHSIG blob."""
    inner = string(b"ssh-ed25519") + string(signature)
    parts = (key_blob(raw), namespace.encode(), reserved, algorithm.encode(), inner)
    return b"SSHSIG" + (1).to_bytes(4, "big") + b"".join(map(string, parts))


def sign(name: str, namespace: str, message: str, algorithm: str = "sha512", reserved: bytes = b"") -> bytes:
    """The blob that the named key makes."""
    private = Ed25519PrivateKey.from_private_bytes(secret(name))
    signature = private.sign(signed_data(namespace, message, algorithm, reserved))
    return blob(public(name), namespace, signature, algorithm, reserved)


def armor(data: bytes) -> str:
    """The text form of a blob."""
    text = encode64(data)
    lines = [text[start : start + 70] for start in range(0, len(text), 70)]
    return "\n".join(["-----BEGIN SSH SIGNATURE-----", *lines, "-----END SSH SIGNATURE-----", ""])


def signatures() -> Vector:
    """signatures.json"""
    text = entry(seq=0)["text"] + "\n"
    ours, key = "hkoji.entry.v1", public("alice")
    good = sign("alice", ours, text)
    found: list[Vector] = []

    def add(
        reason: str, data: bytes, *, raw: bytes = key, namespace: str = ours, message: str = text, lax: bool = False
    ) -> None:
        """No reason: it verifies. `lax`: some versions of ssh-keygen take it nevertheless."""
        what = {"reason": reason, "key": key_text(raw), "namespace": namespace, "message": message}
        verifies = {"verifies": not reason, "ssh_keygen": None if lax else not reason}
        found.append({**what, "blob": encode64(data), "armored": armor(data), **verifies})

    for role in ("entry", "server", "receipt", "view", "login", "register", "gateway"):
        space = f"hkoji.{role}.v1"
        add("", sign("alice", space, text), namespace=space)
    add("", sign("bob", ours, "\n"), raw=public("bob"), message="\n")
    add("another message", good, message=text.replace("alice", "alicf"))
    add("the message without its newline", good, message=text[:-1])
    add("another namespace", good, namespace="hkoji.server.v1")
    add("another key", good, raw=public("bob"))
    add("the other's signature under this key", blob(key, ours, sign("bob", ours, text)[-64:]))
    add("a changed bit in R", good[:-64] + bytes([good[-64] ^ 1]) + good[-63:])
    add("a changed bit in S", good[:-1] + bytes([good[-1] ^ 1]))
    raised = (int.from_bytes(good[-32:], "little") + ORDER).to_bytes(32, "little")
    add("S is not below the order of the group", good[:-32] + raised, lax=True)
    add("the hash is sha256", sign("alice", ours, text, "sha256"), lax=True)
    add("the reserved field is not empty", sign("alice", ours, text, reserved=b"x"))
    add("the reserved field is not empty, and not signed", blob(key, ours, good[-64:], reserved=b"x"), lax=True)
    add("a byte after the end", good + b"\0")
    add("cut short", good[:-1])
    add("version 2", good.replace(b"SSHSIG\0\0\0\1", b"SSHSIG\0\0\0\2"))
    for reason, weak in (
        ("the neutral point as key: one signature for all messages", encode_point(NEUTRAL)),
        ("the neutral point as key, y + p", (FIELD + 1).to_bytes(32, "little")),
        ("the neutral point as key, sign bit set", (1 | 1 << 255).to_bytes(32, "little")),
    ):
        add(reason, blob(weak, ours, encode_point(NEUTRAL) + bytes(32)), raw=weak, lax=True)
    return {"signatures": found}


# --- entries ----------------------------------------------------------------------------------------------------------


def entry(**change: object) -> Vector:
    """The text of a move, with its head."""
    value: Vector = {"at": AT, "body": {"action": "3BCC"}, "by": "alice", "game": GAME}
    value |= {"kind": "move", "prev": "0" * 64, "seq": 8, "v": 1, **change}
    text = canonical(value)
    return {"form": "entry", "text": text, "head": hashlib.sha256(f"{text}\n".encode()).hexdigest()}


def wrap(text: str, sig: str, receipt: str | None = None) -> str:
    """A line of a log."""
    value: Vector = {"entry": text, "sig": sig}
    return canonical(value if receipt is None else {**value, "receipt": {"sig": sig, "text": receipt}})


def entries() -> Vector:
    """entries.json"""
    first, move = entry(seq=0, kind="offer", by="server", body={"requires": []}), entry()
    chained = entry(seq=1, kind="open", prev=first["head"], body={"ext": {"note": "ignored"}, "invite": None})
    receipt = canonical({"at": AT, "game": GAME, "head": move["head"], "seq": 8, "v": 1})
    dealt = [{"cards": "ABCDEFG", "round": 1}, {"cards": "BBCDEF", "round": 2}]
    view = canonical({"dealt": dealt, "game": GAME, "head": move["head"], "seat": 1, "seq": 8, "v": 1})
    signed = encode64(sign("alice", "hkoji.entry.v1", move["text"] + "\n"))
    origin = "https://play.example"
    registration = canonical({"at": AT, "key": key_text(public("alice")), "name": "alice", "origin": origin, "v": 1})
    login = canonical({"expires": AT, "nonce": "5" * 64, "origin": origin, "v": 1})
    good: list[Vector] = [first, chained, move, entry(seq=MAX), entry(body={}), entry(at="2028-02-29T23:59:59Z")]
    good += [entry(by=name) for name in ("al", "0-", "a" * 32)] + [
        entry(kind="rekey"),
        entry(at="0001-01-01T00:00:00Z"),
    ]
    for form, text in (("receipt", receipt), ("view", view), ("registration", registration), ("login", login)):
        good.append({"form": form, "text": text})
    line = wrap(move["text"], signed, receipt)
    good += [{"form": "line", "text": line}, {"form": "line", "text": wrap(move["text"], signed)}]

    changes: list[tuple[str, Vector]] = [
        ("at is no day of the calendar", {"at": "2027-02-29T12:00:00Z"}),
        ("at is a leap second", {"at": "2016-12-31T23:59:60Z"}),
        ("at has an offset", {"at": "2026-11-20T12:00:00+00:00"}),
        ("at has a fraction", {"at": "2026-11-20T12:00:00.0Z"}),
        ("at is in the year 0", {"at": "0000-01-01T00:00:00Z"}),
        ("body is no object", {"body": []}),
        ("by is too short", {"by": "a"}),
        ("by is too long", {"by": "a" * 33}),
        ("by has a capital", {"by": "Alice"}),
        ("by begins with a hyphen", {"by": "-alice"}),
        ("game is too short", {"game": GAME[1:]}),
        ("game has capitals", {"game": GAME.upper()}),
        ("kind is empty", {"kind": ""}),
        ("kind has a capital", {"kind": "Move"}),
        ("prev is too long", {"prev": "0" * 65}),
        ("prev is no string", {"prev": None}),
        ("seq is a boolean", {"seq": True}),
        ("seq is a string", {"seq": "8"}),
        ("v is a boolean", {"v": True}),
        ("a key too many", {"ext": {}}),
    ]
    bad = [{"form": "entry", "text": entry(**c)["text"], "error": "malformed", "reason": why} for why, c in changes]
    text = move["text"]
    for form, changed, reason in (
        ("entry", text.replace('"seq":8,', ""), "seq is missing"),
        ("entry", text.replace('"seq":8', '"seq":8.0'), "seq has a fraction"),
        ("entry", text.replace('"seq":8', '"seq":-8'), "seq has a sign"),
        ("entry", text.replace('"seq":8', '"seq":08'), "seq has a leading zero"),
        ("entry", text.replace('"seq":8', f'"seq":{MAX + 1}'), "seq is 2^53"),
        ("entry", text.replace('"seq":8', '"seq":8,"seq":8'), "a key twice"),
        ("entry", text.replace('"body":{"action":"3BCC"},', "")[:-1] + ',"body":{}}', "keys not sorted"),
        ("entry", text.replace('"3BCC"', '"3BCC","action":"3BCC"'), "a key twice in the body"),
        ("entry", text.replace('"3BCC"', "0.5"), "a fraction in the body"),
        ("entry", text.replace('"3BCC"', canonical(nested(15))), "nested 17 deep"),
        ("entry", text.replace("3BCC", r"3B\u0043C"), "an escape"),
        ("entry", text.replace(":", ": ", 1), "a space"),
        ("entry", text + "\n", "a newline after"),
        ("entry", "\ufeff" + text, "a byte order mark"),
        ("entry", "[]", "no object"),
        ("receipt", receipt.replace('"seq":8', '"seq":true'), "seq is a boolean"),
        ("receipt", receipt.replace('"at"', '"as"'), "a wrong key"),
        ("receipt", text, "an entry"),
        ("view", view.replace('"seat":1', '"seat":2'), "seat is neither 0 nor 1"),
        ("view", view.replace('"round":2', '"round":3'), "a round is left out"),
        ("view", view.replace("ABCDEFG", ""), "a round without cards"),
        ("registration", registration.replace('"alice"', '"Alice"'), "name has a capital"),
        ("registration", registration.replace("ssh-ed25519 ", "ssh-ed25519  "), "key is malformed"),
        ("login", login.replace("5" * 64, "5" * 63), "nonce is too short"),
        ("login", login.replace(origin, ""), "origin is empty"),
        ("line", line + "\n", "a newline after"),
        ("line", line.replace(",", ", ", 1), "a space in the entry"),
        ("line", line.replace('"sig":', '"sig": ', 1), "a space in the line"),
        ("line", line.replace("alice", r"al\u0069ce", 1), "an escape that is not needed"),
        ("line", line.replace('"entry":', '"opening":[],"entry":'), "a key too many"),
        ("line", wrap(text, ""), "no signature"),
        ("line", wrap(text, signed[:-1]), "base64 without its padding"),
        ("line", wrap(text, signed[:-3] + chr(ord(signed[-3]) + 1) + "=="), "base64 in another spelling"),
        ("line", wrap(text + " ", signed), "the entry is malformed"),
        ("line", wrap(text, signed, receipt + " "), "the receipt is malformed"),
    ):
        bad.append({"form": form, "text": changed, "error": "malformed", "reason": reason})
    later = entry(v=2, kind="move", more=[])["text"]
    for form, changed in (
        ("entry", later),
        ("receipt", receipt.replace('"v":1', '"v":0')),
        ("line", wrap(later, signed)),
    ):
        bad.append({"form": form, "text": changed, "error": "not-understood", "reason": "another version"})
    weak = registration.replace(key_text(public("alice")), key_text(encode_point(NEUTRAL)))
    bad.append({"form": "registration", "text": weak, "error": "weak-key", "reason": "the key is of small order"})
    return {"good": good, "bad": bad}


# --- commitments and the deal ---------------------------------------------------------------------------------------

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
    """A commitment with what opens it and what is hashed."""
    message = lines(*parts)
    return {"kind": kind, **opening, "message": message, "commit": hashlib.sha256(message.encode()).hexdigest()}


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
    """The deck that a deck key's message gives, and how it is cut; for round 1 also what chance decides."""
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
    return {"commitments": found, "deals": deals, "duplicate_deals": [duplicate_deal(*each) for each in rounds]}


def build() -> dict[str, str]:
    """Name and contents of every file."""
    files = {"keys": keys(), "canonical": canonical_texts(), "signatures": signatures(), "entries": entries()}
    files["commitments"] = commitments()
    return {f"{name}.json": json.dumps(files[name], indent=1) + "\n" for name in files}


if __name__ == "__main__":
    main("build_vectors", FOLDER, build)
