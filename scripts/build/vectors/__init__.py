"""Builds the test vectors of the log format in tests/data/vectors; the README there describes them.

    python -m scripts.build.vectors           write the files
    python -m scripts.build.vectors --check   fail if the files differ

It uses nothing of hkoji. The formulas are implemented here a second time, straight from the specification, with
hashlib, hmac, json and cryptography's Ed25519, so that the vectors are an independent check of the product.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from scripts.build.vectors.canonical import canonical_texts
from scripts.build.vectors.commitments import commitments
from scripts.build.vectors.entries import entries
from scripts.build.vectors.keys import keys
from scripts.build.vectors.logs import logs
from scripts.build.vectors.signatures import signatures

FOLDER: Final = Path(__file__).parents[3] / "tests" / "data" / "vectors"


def build() -> dict[str, str]:
    """Name and contents of every file."""
    files = {"keys": keys(), "canonical": canonical_texts(), "signatures": signatures(), "entries": entries()}
    files |= {"commitments": commitments(), "logs": logs()}
    return {f"{name}.json": json.dumps(files[name], indent=1) + "\n" for name in files}
