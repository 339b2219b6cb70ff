"""One target under atheris: `python -m tests.lab.fuzz.one TARGET [OPTION OF LIBFUZZER]...`; measure.py calls it.

The project's own code and what reads for it in Python (TOML, OpenSSH's key files) report which branches they take.
"""

from __future__ import annotations

import sys

import atheris  # type: ignore[import-untyped] # installed by measure.py alone

WATCHED = ("hkoji", "hkoji_server", "tomllib", "cryptography.hazmat.primitives.serialization")


def main() -> None:
    """Fuzzes until libFuzzer's options say to stop."""
    with atheris.instrument_imports(include=list(WATCHED)):
        from tests.lab.fuzz.targets import TARGETS

        target = TARGETS[sys.argv[1]]
        for seed in target.seeds():  # what is loaded when it is needed is loaded now, and what is kept is made
            target.read(seed)
    atheris.Setup([sys.argv[0], *sys.argv[2:]], target.read)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
