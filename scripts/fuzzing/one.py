"""One target under atheris: `python -m scripts.fuzzing.one TARGET [OPTION OF LIBFUZZER]...`. `scripts/fuzz` calls it.

The project's own code and what reads for it in Python (TOML, OpenSSH's key files) report which branches they take.
"""

from __future__ import annotations

import sys

import atheris  # type: ignore[import-untyped] # in the environment of scripts/fuzz only

WATCHED = ("hkoji", "hkoji_server", "tomllib", "cryptography.hazmat.primitives.serialization")


def main() -> None:
    """Fuzzes until libFuzzer's options say to stop."""
    with atheris.instrument_imports(include=list(WATCHED)):
        from scripts.fuzzing.targets import TARGETS

        target = TARGETS[sys.argv[1]]
        for seed in target.seeds():  # what is loaded when it is needed is loaded now, and what is kept is made
            target.read(seed)
    atheris.Setup([sys.argv[0], *sys.argv[2:]], target.read)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
