"""One target under atheris: `python -m tests.lab.fuzz.run_one TARGET [OPTION OF LIBFUZZER]...`; measure.py calls it.

The project's own code and the Python libraries that parse for it (TOML, OpenSSH's key files) report the branches they
take.
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
        for seed in target.seeds():  # load and cache now what would otherwise be loaded on first use
            target.read(seed)
    atheris.Setup([sys.argv[0], *sys.argv[2:]], target.read)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
