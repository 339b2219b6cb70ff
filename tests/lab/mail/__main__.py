"""The laboratory of play by mail.

python -m tests.lab.mail post           the mail servers themselves, with a sink in the service's place
"""

from __future__ import annotations

import argparse
import os
import sys

from tests.lab.mail.namespaces import FOLDER, enter, run_inside


def main(words: list[str]) -> int:
    """Runs a command. Returns its exit code: 0, 1 if something was wrong, 3 if this machine cannot."""
    parser = argparse.ArgumentParser("lab", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("post", help="the mail servers themselves")
    parser.parse_args(words)
    if FOLDER not in os.environ:
        return run_inside(words)
    enter()
    return _inside()


def _inside() -> int:
    from tests.lab.mail.post import check_post
    from tests.lab.mail.real_post_office import RealPostOffice

    office = RealPostOffice()
    print(f"Postfix, Dovecot and OpenDKIM are up after {office.seconds:.1f} s", flush=True)
    failed = check_post(office)
    print(f"lab: {failed or 'nothing'} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
