"""Builds the test vectors of the log format in tests/data/vectors, which see.

    python -m scripts.build.vectors           write the files
    python -m scripts.build.vectors --check   fail if they are not what this writes

It uses nothing of hkoji: the formulas stand in this package once more, straight from the specification, over
hashlib, hmac, json and the Ed25519 of cryptography, so the vectors check the package and not the other way round.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from scripts.build.vectors.canonical import canonical_texts
from scripts.build.vectors.commitments import commitments
from scripts.build.vectors.entries import entries
from scripts.build.vectors.keys import keys
from scripts.build.vectors.signatures import signatures

FOLDER: Final = Path(__file__).parents[3] / "tests" / "data" / "vectors"


def build() -> dict[str, str]:
    """Name and contents of every file."""
    files = {"keys": keys(), "canonical": canonical_texts(), "signatures": signatures(), "entries": entries()}
    files["commitments"] = commitments()
    return {f"{name}.json": json.dumps(files[name], indent=1) + "\n" for name in files}
