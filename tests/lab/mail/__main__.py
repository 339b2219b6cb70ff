"""The laboratory of play by mail.

    python -m tests.lab.mail play --game hanamikoji --lang en --seats mail,cli --in-process
    python -m tests.lab.mail play --game geishas-road --lang it --seats mail,mail
    python -m tests.lab.mail play --receive imap --address club@players.example --delimiter none
    python -m tests.lab.mail checks         the clock, the pipe, a mail process that is away; with mailboxes in memory
    python -m tests.lab.mail stories 100    random stories: is whoever owes a move told, by a letter that takes one?
    python -m tests.lab.mail loops          what answers by itself, forwards or comes back
    python -m tests.lab.mail spoof          mails that are not what they seem, judged by the table spoof.txt
    python -m tests.lab.mail frame 300      mails files and DNS records that shall make an honest service look guilty
    python -m tests.lab.mail cut            the mail process is killed between any two statements of one mail
    python -m tests.lab.mail fatal          a mail that ends each process that processes it
    python -m tests.lab.mail at-once        300 mails with a move at once: until all answers are sent
    python -m tests.lab.mail kill 500       the mail process is killed while players play
    python -m tests.lab.mail load 10000     many mails at once

`play` plays a whole game and audits it; it writes the log to g.jsonl. With --in-process the players' mailboxes are in
memory, and it runs on any machine, as `checks`, `stories`, `frame`, `cut`, `fatal` and `at-once` do. Everything else
needs Linux, root, Postfix, Dovecot and OpenDKIM. `cut`, `fatal` and `at-once` take `--postgres`.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Final

from hkoji_server.log import configure_logging

from tests.lab.mail import dovecot
from tests.lab.mail.at_once import AIM, AIM_ALONE, run_at_once
from tests.lab.mail.checks import CHECKS
from tests.lab.mail.cuts import run_cuts
from tests.lab.mail.fatal import run_fatal
from tests.lab.mail.frame import run_frames
from tests.lab.mail.kill import LEASE, run_kills
from tests.lab.mail.load import PLAYERS, run_load
from tests.lab.mail.loops import run_loops
from tests.lab.mail.mail_world import UNHURRIED, MailWorld
from tests.lab.mail.namespaces import FOLDER, enter, run_inside
from tests.lab.mail.one_mail import STORIES
from tests.lab.mail.play import WantedGame, judge, play_by_mail
from tests.lab.mail.real_post_office import DOOR, PROVIDER, SMTP, RealPostOffice
from tests.lab.mail.real_post_office import PLAYERS as PLAYERS_DOMAIN
from tests.lab.mail.real_spoof_world import RealSpoofWorld
from tests.lab.mail.spoof import read_table, run_spoofs
from tests.lab.mail.stories import run_stories
from tests.support.cluster import Cluster, cluster
from tests.support.mail.in_process import MemoryPostOffice
from tests.support.mail.post_office import PostOffice
from tests.support.metrics import free_port

SEATS: Final = {"mail,cli": ("mail", "cli"), "cli,mail": ("mail", "cli"), "mail,mail": ("mail", "mail")}
_SHOWN: Final = 60
_ANEW: Final = "the mailbox numbers its mails anew"


def main(words: list[str]) -> int:
    """Runs a command. Returns its exit code: 0, 1 if something was wrong, 3 if this machine cannot."""
    given = _parser().parse_args(words)
    if given.command == "play" and given.in_process:
        return _play_in_process(given)
    if given.command == "checks":
        return _check(given.name)
    if given.command == "stories":
        return _stories(given)
    if given.command == "frame":
        return _frame(given)
    if given.command in _ALONE:
        configure_logging("error", "text")  # of the service in this process that makes the data
        with cluster() if given.postgres else nullcontext() as server:
            return _told(_ALONE[given.command](given, server))
    if FOLDER not in os.environ:
        return run_inside(words)
    folder = enter()
    office = RealPostOffice()
    print(f"Postfix, Dovecot and OpenDKIM are up after {office.seconds:.1f} s", flush=True)
    world = _world(folder, office, given)
    try:
        wrong = _COMMANDS[given.command](world, office, given)
    finally:
        world.stop()
    if wrong:
        print(world.log[-3000:], office.log[-6000:], sep="\n")
    return _told(wrong)


def _world(folder: Path, office: RealPostOffice, given: argparse.Namespace) -> MailWorld:
    """The service, with the mail servers beside it or, with `--receive imap`, with a mailbox of the provider."""
    wait = 0 if given.command in ("play", "spoof") else 1
    if given.command == "kill":
        return MailWorld(folder, DOOR, SMTP, UNHURRIED, wait, LEASE)
    if given.command != "play" or given.receive == "lmtp":
        return MailWorld(folder, DOOR, SMTP, UNHURRIED, wait)
    password = folder / "password"
    password.touch(0o600)
    password.write_text(f"{dovecot.PASSWORD}\n")
    name, _, _ = given.address.partition("@")
    office.open(name)
    settings = {
        **UNHURRIED,
        "mail": f"{name}@{PLAYERS_DOMAIN}",
        "mail_delimiter": given.delimiter,
        "mail_imap": dovecot.read_by_imap(name),
        "mail_imap_password_file": str(password),
    }
    return MailWorld(folder, None, PROVIDER, settings, wait=wait)


def _check(names: Sequence[str]) -> int:
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="hkoji-mail-") as folder:
        for name in names or CHECKS:
            found = CHECKS[name](Path(folder, name.replace(" ", "-")))
            print(f"{'FAIL' if found else 'ok  '}  {name}", flush=True)
            wrong += [f"{name}: {each}" for each in found]
    return _told(wrong)


def _told(wrong: Sequence[str]) -> int:
    print(f"lab: {len(wrong) or 'nothing'} wrong")
    for each in wrong[:_SHOWN]:
        print(f"  {each}")
    return 1 if wrong else 0


def _frame(given: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="hkoji-mail-") as folder:
        done = run_frames(Path(folder), given.files, given.seed)
    for grade, count in sorted(done.grades.items()):
        print(f"  {count:3} games in which bob's seat is: {grade}")
    print(f"  {done.tried:,} mails files, each with four logs")
    return _told(done.wrong)


def _stories(given: argparse.Namespace) -> int:
    configure_logging("error", "text")  # each story has a service of its own, which tells when it starts and stops
    done = run_stories(given.stories, given.seed)
    _print_counts(done.counts)
    return _told(done.wrong)


def _cut(given: argparse.Namespace, server: Cluster | None) -> list[str]:
    done = run_cuts(given.story or tuple(STORIES), given.count, given.seed, server, given.jobs)
    _print_counts(done.counts)
    return done.wrong


def _fatal(given: argparse.Namespace, server: Cluster | None) -> list[str]:
    done = run_fatal(given.count, given.seed, server)
    _print_counts(done.counts)
    return done.wrong


def _at_once(given: argparse.Namespace, server: Cluster | None) -> list[str]:
    done = run_at_once(given.count, server)
    print(f"  one mail alone: answered in {done.alone:.3f} s (median); processor {done.processor_alone * 1e3:.1f} ms")
    print(f"  {done.mails} mails at once: kept in {done.kept:.1f} s, answered in {done.answered:.1f} s")
    print(f"  processor of the mail process for each of them: {done.processor * 1e3:.1f} ms")
    slow = [f"{done.mails} mails took {done.answered:.1f} s"] if done.answered > AIM * done.mails / 300 else []
    return slow + ([f"one mail took {done.alone:.2f} s"] if done.alone > AIM_ALONE else [])


_ALONE: Final = {"cut": _cut, "fatal": _fatal, "at-once": _at_once}
"""The commands about a mail process alone, with mailboxes in memory."""


def _loops(world: MailWorld, office: RealPostOffice, given: argparse.Namespace) -> list[str]:
    ended = run_loops(world, office)
    for each in ended:
        print(f"  {each.name:56} {each.letters} of at most {each.most} letters")
    return [f"{each.name}: {each.letters} letters" for each in ended if not 0 < each.letters <= each.most]


def _spoof(world: MailWorld, office: RealPostOffice, given: argparse.Namespace) -> list[str]:
    world.start_mail()
    tries = [each for each in read_table() if not given.trick or each.trick in given.trick]
    done = run_spoofs(RealSpoofWorld(world, office), tries)
    for verdict, count in sorted(done.counts.items()):
        print(f"  {verdict:12} {count:4} mails")
    print(f"  {done.changed} of {len(tries)} games have changed")
    return done.wrong


def _kill(world: MailWorld, office: RealPostOffice, given: argparse.Namespace) -> list[str]:
    done = run_kills(world, office, given.kills, given.seed)
    _print_counts(done.counts)
    return done.wrong


def _print_counts(counts: Counter[str]) -> None:
    for name, count in sorted(counts.items()):
        print(f"  {name:44} {count:12,}")


def _load(world: MailWorld, office: RealPostOffice, given: argparse.Namespace) -> list[str]:
    done = run_load(world, office, given.mails, given.players, signed=given.signed)
    floor = given.mails / done.floor
    print(f"  a door that does nothing: {given.mails:,} mails in {done.floor:.1f} s: {floor:.0f} in a second")
    print(f"  the service: {done.kept:,} mails in {done.seconds:.1f} s: {done.kept / done.seconds:.0f} in a second")
    print(f"  Postfix had all after {done.sent:.1f} s, and all were processed after {done.processed:.1f} s")
    return done.wrong


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("lab", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    checks = commands.add_parser("checks", help="around the clock")
    checks.add_argument("name", nargs="*", help=f"default: all of {', '.join(CHECKS)}")
    stories = commands.add_parser("stories", help="random stories of games, with kills and late letters")
    stories.add_argument("stories", type=int)
    stories.add_argument("--seed", type=int, default=1, help="the number of the first one")
    commands.add_parser("loops", help="what answers by itself")
    spoof = commands.add_parser("spoof", help="mails that are not what they seem")
    spoof.add_argument("trick", nargs="*", help="default: all of the table")
    framing = commands.add_parser("frame", help="mails files that shall make an honest service look guilty")
    framing.add_argument("files", type=int, nargs="?", default=300, help="for each of the schemes")
    framing.add_argument("--seed", type=int, default=1)
    cut = commands.add_parser("cut", help="a mail process that is killed between two statements")
    cut.add_argument("story", nargs="*", help=f"default: all of {', '.join(STORIES)}")
    cut.add_argument("--count", type=int, help="at how many points of each story; default: at all")
    cut.add_argument("--jobs", type=int, default=4, help="how many stories at the same time")
    fatal = commands.add_parser("fatal", help="a mail that ends its process")
    fatal.add_argument("--count", type=int, default=20)
    for each in (cut, fatal):
        each.add_argument("--seed", type=int, default=1)
    at_once = commands.add_parser("at-once", help="many mails at once, and one alone")
    at_once.add_argument("--count", type=int, default=300)
    for each in (cut, fatal, at_once):
        each.add_argument("--postgres", action="store_true", help="the data is in PostgreSQL")
    kill = commands.add_parser("kill", help="a mail process that is killed")
    kill.add_argument("kills", type=int)
    kill.add_argument("--seed", type=int, default=1)
    load = commands.add_parser("load", help="many mails at once")
    load.add_argument("mails", type=int)
    load.add_argument("--players", type=int, default=PLAYERS)
    load.add_argument("--signed", action="store_true", help="each mail has a DKIM signature that holds")
    play = commands.add_parser("play", help="a whole game")
    play.add_argument("--game", choices=("hanamikoji", "geishas-road"), default="hanamikoji")
    play.add_argument("--lang", choices=("en", "it"), default="en")
    play.add_argument("--seats", choices=tuple(SEATS), default="mail,cli", help="of one of each, the cli is the host")
    play.add_argument("--in-process", action="store_true", help="with mailboxes in memory")
    play.add_argument("--receive", choices=("lmtp", "imap"), default="lmtp", help="how mail comes to the service")
    play.add_argument(
        "--address",
        default=f"play@{PLAYERS_DOMAIN}",
        help="of the service, with --receive imap; its domain is that of the provider",
    )
    play.add_argument("--delimiter", choices=("+", "none"), default="+", help="with --receive imap")
    play.add_argument("--seed", type=int, default=1)
    play.add_argument("--short", action="store_true", help="a mailbox resigns when both have moved")
    play.add_argument("--output", type=Path, default=Path("g.jsonl"), help="where the log is written")
    return parser


def _play_in_process(given: argparse.Namespace) -> int:
    door = ("127.0.0.1", free_port())
    office = MemoryPostOffice(lambda: door)
    with tempfile.TemporaryDirectory(prefix="hkoji-mail-") as folder:
        try:
            world = MailWorld(Path(folder), door, ("127.0.0.1", office.port), UNHURRIED, wait=0)
            try:
                wrong = _play(world, office, given)
            finally:
                world.stop()
            if wrong:
                print(world.log[-3000:])
        finally:
            office.close()
    return _told(wrong)


def _play(world: MailWorld, office: PostOffice, given: argparse.Namespace) -> list[str]:
    world.start_mail()
    wanted, again = WantedGame(given.game, given.lang, SEATS[given.seats], given.seed, short=given.short), 0

    def number_anew() -> None:
        nonlocal again
        again = dovecot.number_anew(given.address.partition("@")[0])
        print(f"---- the mailbox has new numbers for its {again} mails", flush=True)

    if given.receive == "lmtp":
        done = play_by_mail(world, office, wanted)
    else:
        done = play_by_mail(world, office, wanted, midway=number_anew)
        if not again or _ANEW not in world.log:
            done.wrong.append("the service has not read its mailbox again")
        # Without a delimiter, what opens a game has no token in a field that is signed.
        done.grades = {name: {"token", "dkim"} for name in done.grades}
    judge(world, done, given.output)
    print(done.audit)
    print(
        f"{len(done.lines)} entries, {done.letters} letters, {done.mails} mails, {done.seconds:.0f} s: {given.output}"
    )
    return done.wrong


_COMMANDS: Final = {"play": _play, "loops": _loops, "spoof": _spoof, "kill": _kill, "load": _load}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
