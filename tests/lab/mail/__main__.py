"""The laboratory of play by mail.

    python -m tests.lab.mail post           the mail servers themselves, with a sink in the service's place
    python -m tests.lab.mail play --game hanamikoji --lang en --seats mail,cli --in-process
    python -m tests.lab.mail play --game geishas-road --lang it --seats mail,mail

`play` plays a whole game and audits it; it writes the log to g.jsonl. With --in-process the players' mailboxes are in
memory, and it runs on any machine. Everything else needs Linux, root, Postfix, Dovecot and OpenDKIM.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from tests.lab.mail.mail_world import UNHURRIED, MailWorld
from tests.lab.mail.namespaces import FOLDER, enter, run_inside
from tests.lab.mail.play import WantedGame, judge, play_by_mail
from tests.support.mail.in_process import MemoryPostOffice
from tests.support.mail.post_office import PostOffice
from tests.support.metrics import free_port

SEATS = {"mail,cli": ("mail", "cli"), "cli,mail": ("mail", "cli"), "mail,mail": ("mail", "mail")}


def main(words: list[str]) -> int:
    """Runs a command. Returns its exit code: 0, 1 if something was wrong, 3 if this machine cannot."""
    given = _parser().parse_args(words)
    if given.command == "play" and given.in_process:
        return _play_in_process(given)
    if FOLDER not in os.environ:
        return run_inside(words)
    from tests.lab.mail.real_post_office import DOOR, SMTP, RealPostOffice

    folder = enter()
    office = RealPostOffice()
    print(f"Postfix, Dovecot and OpenDKIM are up after {office.seconds:.1f} s", flush=True)
    if given.command == "post":
        from tests.lab.mail.post import check_post

        failed = check_post(office)
        print(f"lab: {failed or 'nothing'} failed")
        return 1 if failed else 0
    world = MailWorld(folder, DOOR, SMTP, UNHURRIED)
    code = _play(world, given, office)
    if code:
        print(office.log[-6000:])
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("lab", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("post", help="the mail servers themselves")
    play = commands.add_parser("play", help="a whole game")
    play.add_argument("--game", choices=("hanamikoji", "geishas-road"), default="hanamikoji")
    play.add_argument("--lang", choices=("en", "it"), default="en")
    play.add_argument("--seats", choices=tuple(SEATS), default="mail,cli", help="of one of each, the cli is the host")
    play.add_argument("--in-process", action="store_true", help="with mailboxes in memory")
    play.add_argument("--seed", type=int, default=1)
    play.add_argument("--output", type=Path, default=Path("g.jsonl"), help="where the log is written")
    return parser


def _play_in_process(given: argparse.Namespace) -> int:
    door = ("127.0.0.1", free_port())
    office = MemoryPostOffice(lambda: door)
    with tempfile.TemporaryDirectory(prefix="hkoji-mail-") as folder:
        try:
            return _play(MailWorld(Path(folder), door, ("127.0.0.1", office.port), UNHURRIED), given, office)
        finally:
            office.close()


def _play(world: MailWorld, given: argparse.Namespace, office: PostOffice) -> int:
    wanted = WantedGame(given.game, given.lang, SEATS[given.seats], given.seed)
    try:
        world.start_mail()
        done = play_by_mail(world, office, wanted)
        judge(world, done, given.output)
    finally:
        world.stop()
    print(done.audit)
    print(f"{len(done.lines)} entries, {done.letters} letters, {done.mails} mails, {done.seconds:.0f} s")
    print(f"lab: {len(done.wrong) or 'nothing'} wrong; the log is in {given.output}")
    for each in done.wrong:
        print(f"  {each}")
    if done.wrong:
        print(world.log[-3000:])
    return 1 if done.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
