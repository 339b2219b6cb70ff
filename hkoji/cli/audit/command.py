"""`hkoji audit`: reads the keys that the user expects, decides whether one log or many are named, and audits them."""

from __future__ import annotations

from _thread import allocate_lock, start_new_thread
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Final

from hkoji.audit.checks import SignatureCheck
from hkoji.audit.keyring import ExpectedKeys, Verdict
from hkoji.cli.audit import AuditOptions, report
from hkoji.cli.files import UnreadableLog, log_files, read_all
from hkoji.cli.input import check_standard_input, is_file
from hkoji.cli.output import Exit, out
from hkoji.errors import InvalidError, StorageError, UsageError
from hkoji.log.canonical import is_name
from hkoji.log.line import SERVER_NAME
from hkoji.log.public_key import PublicKey, parse_public_key
from hkoji.log.sshsig import use_fastest
from hkoji.messages.text import shorten, tell
from hkoji.processors import processors

_FORM: Final = tell("a line is NAME ssh-ed25519 AAAA…, as in the keys.txt of an arena's export; # begins a comment")


def read_expected_keys(keys: Iterable[str], files: Iterable[str]) -> dict[str, tuple[PublicKey, ...]]:
    """Returns the keys of `--key` and `--keys`; a name may have several. Raises `UsageError` or `StorageError`."""
    pins: dict[str, tuple[PublicKey, ...]] = {}
    for name, key in (*map(parse_expected_key, keys), *(pin for file in files for pin in _read_keys(file))):
        if key not in pins.get(name, ()):
            pins[name] = (*pins.get(name, ()), key)
    return pins


def parse_expected_key(text: str) -> tuple[str, PublicKey]:
    """Parses `NAME=KEY`; the key is text or the path of a `.pub` file. Raises `UsageError`."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(
            tell("{text!r} is not NAME=KEY", text=text),
            hint=tell("as in --key 'alice=ssh-ed25519 AAAA…' or alice=alice.pub"),
        )
    if Path(value).is_file():
        value = Path(value).read_text(encoding="ascii", errors="replace")
    return name, parse_public_key(" ".join(value.split()[:2]))


def _read_keys(file: str) -> Iterator[tuple[str, PublicKey]]:
    """Yields the keys of a file: name, kind and key in each line; blank lines and comments are skipped."""
    try:
        text = Path(file).read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise StorageError(
            tell("cannot read {file}: {reason}", file=file, reason=error.strerror),
            hint=tell("give a file of keys"),
        ) from error
    found = False
    for number, line in enumerate(text.splitlines(), 1):
        name, *key = line.split()[:4] or ("#",)
        if name.startswith("#"):
            continue
        if not (is_name(name) or name == SERVER_NAME):
            reason = tell("{name!r} is not a player's name, nor server", name=shorten(name))
            raise _malformed(file, number, reason)
        if len(key) != 2:
            raise _malformed(file, number, tell("a line has three words: name, kind and key"))
        try:
            public = parse_public_key(" ".join(key))
        except InvalidError as error:
            raise _malformed(file, number, error.message) from None
        found = True
        yield name, public
    if not found:
        raise UsageError(tell("there is no key in {file}", file=file), hint=_FORM)


def _malformed(file: str, line: int, reason: str) -> UsageError:
    return UsageError(tell("{file}, line {line}: {reason}", file=file, line=line, reason=reason), hint=_FORM)


def map_in_two_threads(
    verify: Callable[[SignatureCheck], Verdict], checks: Iterable[SignatureCheck]
) -> Generator[Verdict, None, None]:
    """Yields what `map` yields, in the same order, with a second thread that begins with the last check.

    The audit of a log on two cores is faster than with `map`, as the benchmark `audit` measures: verifying releases the
    interpreter, the rest of an audit does not. The start of a `threading.Thread` waits until the thread runs. Without
    that wait, there is hardly a gain.
    """
    left = deque(enumerate(checks))  # each end of a deque may be popped by another thread
    number, most = 0, len(left)
    verdicts: dict[int, Verdict] = {}
    ended = allocate_lock()
    ended.acquire()

    def take_last() -> None:
        try:
            while left:
                try:
                    last, check = left.pop()
                except IndexError:  # the other thread was quicker
                    return
                verdicts[last] = verify(check)
        finally:
            ended.release()

    start_new_thread(take_last, ())
    try:
        while left:
            try:
                number, check = left.popleft()
            except IndexError:
                break
            yield verify(check)
            number += 1
    finally:
        left.clear()  # after a verdict that ends the audit, the others are not needed
        ended.acquire()
    for rest in range(number, most):
        yield verdicts[rest]  # if the other thread has failed, its verdict is missing, and this raises


def run(sources: list[str], wish: AuditOptions) -> int:
    """Audits a log, a game or an archive. Returns the exit code; raises `AuditError` if something does not hold."""
    pins = read_expected_keys(wish.keys, wish.files)
    check_standard_input(sources, taken=out.keep)
    # Standard input may come log by log, and is then also answered log by log.
    several = len(sources) > 1 or Path(sources[0]).is_dir()
    if wish.alone and several:
        raise _one_log(wish.alone)
    jobs = wish.jobs or (1 if "-" in sources else processors())
    if several:
        from hkoji.cli.audit.many_logs import show_logs, size_of
        from hkoji.cli.long_work import shows_progress

        use_fastest()
        total = size_of(log_files(sources)) if shows_progress() else 0
        return show_logs(read_all(log_files(sources)), pins, jobs, total, mails=wish.mails)
    source = sources[0]
    if not is_file(source):
        report.show_game_audit(source, pins, wish)
        return Exit.OK
    use_fastest()
    return _show_file(source, pins, jobs, wish)


def _one_log(option: str) -> UsageError:
    return UsageError(
        tell("{option} is for one log", option=option),
        hint=tell("give one log or game, or leave {option} out", option=option),
    )


def _show_file(file: str, pins: ExpectedKeys, jobs: int, wish: AuditOptions) -> int:
    """Audits a file, which is read until it is known whether it holds one log or more."""
    found = read_all((file,))
    first = next(found)
    second = next(found, None)
    if second is not None:
        if wish.alone:
            raise _one_log(wish.alone)
        from hkoji.cli.audit.many_logs import show_logs

        return show_logs(chain((first, second), found), pins, jobs, mails=wish.mails)
    if isinstance(first, UnreadableLog):
        raise StorageError(
            tell("cannot read {file}: {reason}", file=file, reason=first.reason),
            hint=tell("give a file, or - for standard input"),
        )
    in_threads = map_in_two_threads if processors() > 1 else map
    report.show_audit(first.text, pins, wish, in_threads)
    return Exit.OK
