"""Tries the group and the proofs of sealed games many times, and has another implementation judge the vectors.

    python -m tests.lab.sealed.measure --encodings 200000 --bits 2000 --seed 1
    python -m tests.lab.sealed.measure --encodings 0 --bits 0          the vectors alone

Random elements, and random bytes that are an encoding, are decoded and encoded again. In a proof of each kind, of full
size, one bit after the other is changed, each time another one: the proof must not hold. All vectors are judged in both
ways, and by noble.mjs, which shares no code with the package, in Node.js. Prints the figures and all that is wrong;
exits with 1 if anything is.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Final

from hkoji.errors import MalformedError, ProofError
from hkoji.sealed import ristretto, sodium
from hkoji.sealed.group import Combine
from scripts.build.vectors import FOLDER
from tests.sealed.test_vectors import VECTORS, verdict
from tests.support.browsers import find_browser
from tests.support.node_packages import node_packages
from tests.support.sealed import BACKENDS, KINDS, Sent, check, deal

NOBLE: Final = Path(__file__).with_name("noble.mjs")
FILE: Final = FOLDER / "sealed.json"
_OLDEST: Final = 20
"""The first version of Node.js that @noble/curves is made for."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--encodings", type=int, default=100_000, help="elements, and as many random bytes")
    parser.add_argument("--bits", type=int, default=1000, help="changed bits in a proof of each kind")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    started, wrong = time.process_time(), 0
    rng = random.Random(given.seed)
    wrong += encodings(given.encodings, rng)
    dealt = deal(f"measured {given.seed}")
    for sent in dealt.one_of_each().values():
        wrong += bits(sent, given.bits, rng)
    for name, combine in BACKENDS.items():
        wrong += vectors(name, combine)
    wrong += noble(FILE)
    print(f"{time.process_time() - started:.0f} s of processor time, {wrong} wrong")
    sys.exit(wrong > 0)


def encodings(count: int, rng: random.Random) -> int:
    """Decodes and encodes elements, and random bytes. Returns how many did not come back as they were."""
    wrong = encoded = 0
    for _ in range(count):
        raw = ristretto.encode(ristretto.from_hash(rng.randbytes(64)))
        wrong += not _returns(raw)
        other = rng.randbytes(32)
        if ristretto.decode(other) is not None:
            encoded += 1
            wrong += not _returns(other)
    print(f"{count:9,} elements and {encoded:,} of {count:,} random bytes decoded and encoded: {wrong} differ")
    return wrong


def _returns(raw: bytes) -> bool:
    decoded = ristretto.decode(raw)
    return decoded is not None and ristretto.encode(decoded) == raw


def bits(sent: Sent, count: int, rng: random.Random, combine: Combine = sodium.combine) -> int:
    """Changes bits of a proof, each time another one. Returns how many changes were not found."""
    check(combine, sent)
    found: Counter[str] = Counter()
    every = list(range(sent.bits()))
    rng.shuffle(every)
    for number in range(count):
        bit = every[number % len(every)]
        try:
            check(combine, sent.with_bit(bit))
        except (MalformedError, ProofError) as error:
            found[error.code] += 1
        else:
            found["missed"] += 1
            print(f"{sent.kind}: bit {bit} was changed, and the proof holds")
    said = ", ".join(f"{times:,} {code}" for code, times in sorted(found.items()))
    print(f"{count:9,} changed bits, of {len(every):,}, of a {sent.kind}: {said or 'none'}")
    return found["missed"]


def vectors(name: str, combine: Combine) -> int:
    """Judges all vectors. Returns how many are judged otherwise than the file says."""
    wrong = judged = 0
    for kind in KINDS:
        for vector in VECTORS[kind]:
            judged += 1
            if (found := verdict(combine, kind, vector)) != vector.get("error", "holds"):
                wrong += 1
                print(f"{kind}: {vector.get('why', 'honest')}: {found} by {name}")
    print(f"{judged:9,} vectors of proofs by {name}: {wrong} judged otherwise")
    return wrong


def noble(file: Path) -> bool:
    """Has @noble/curves judge a file of vectors. Returns whether it differs, or could not be asked."""
    packages = noble_packages()
    if packages is None:
        print(f"NOT COMPARED with @noble/curves: Node.js {_OLDEST} or npm is missing, see CONTRIBUTING.md")
        return True
    done = subprocess.run(
        [str(find_browser("node")), NOBLE, packages, file], capture_output=True, text=True, check=False
    )
    print("".join(f"{'':10}{line}\n" for line in (done.stdout + done.stderr).splitlines()), end="")
    return done.returncode != 0


def noble_packages() -> Path | None:
    """The folder of packages; None without Node.js and npm, or if Node.js is older than @noble/curves wants."""
    node = find_browser("node")
    if node is None:
        return None
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    return node_packages() if int(said.lstrip("v").partition(".")[0]) >= _OLDEST else None


if __name__ == "__main__":
    main()
