"""An invitation by link: its address, and what it proves. docs/spec/log.md, "Invitation by link".

Only the two clients know the code. It is in no request, and no error repeats it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from hkoji.client.vault import Vault
from hkoji.errors import IllegalError, TrustError, UsageError
from hkoji.game.course import Course
from hkoji.log.canonical import is_hex
from hkoji.log.link_key import CODE_BYTES, CODE_DIGITS, link_key
from hkoji.messages.text import shorten, tell
from hkoji.service_url import parse_url

LONGEST_LINK: Final = 2048
_COMMAND: Final = re.compile(r"hkoji\s+join\s+(.*)", re.DOTALL)
_ESCAPED_MARK: Final = "%23"
"""A `#` as some mail programs write it. What follows may be the code, which no error repeats."""
_QUOTES: Final = "'\"<>‘’“”"
"""What may stand around a link: quotes, also those into which mail programs turn them."""
_AGAIN: Final = tell("nothing was sent; copy the whole link, as your friend has sent it")
_IN_QUOTES: Final = tell(
    "nothing was sent; give the whole link, in quotes: hkoji join 'https://…'. A shell may take # for the beginning of "
    "a comment"
)


class InviteLink(NamedTuple):
    """A link: the address of the service, the game, and the code."""

    server: str
    game: str
    code: str

    @property
    def text(self) -> str:
        """The link itself."""
        return f"{self.server}/i/{self.game}#{self.code}"

    @property
    def command(self) -> str:
        """What a friend types to join."""
        return f"hkoji join '{self.text}'"


def is_link(text: str) -> bool:
    """Returns whether a text that names a game is meant as a link, or as a line with one: no id has these signs."""
    return any(sign in text for sign in ":/# \t\n'\"")


def read_invite_link(text: str) -> InviteLink:
    """Reads a link, or the whole command `hkoji join 'LINK'` that `hkoji new --link` has printed.

    Raises `UsageError` for anything else. The error does not repeat the code.
    """
    line = text.strip()
    if (command := _COMMAND.fullmatch(line)) is not None:
        line = command[1]
    line = line.strip().strip(_QUOTES).strip()
    address, mark, code = line.partition("#")
    server, way, game = address.rpartition("/i/")
    if len(line) > LONGEST_LINK or not way:
        raise UsageError(
            tell("{text!r} is not the link of an invitation", text=shorten(address.partition(_ESCAPED_MARK)[0])),
            hint=tell("a link looks like https://hanamikoji.example/i/2714…#5b0e…; {hint}", hint=_AGAIN),
        )
    if not is_hex(game, 32):
        raise UsageError(tell("the link names no game: its id is 32 digits of 0-9 and a-f"), hint=_AGAIN)
    server = parse_url(server)
    if not mark or not code:
        raise UsageError(tell("the link has no code: the part after the # is missing"), hint=_IN_QUOTES)
    if not is_hex(code, CODE_DIGITS):
        raise UsageError(
            tell("the code of the link, after the #, is not {digits} digits of 0-9 and a-f", digits=CODE_DIGITS),
            hint=_AGAIN,
        )
    return InviteLink(server, game, code)


def own_code(vault: Vault, entropy: Callable[[int], bytes]) -> str:
    """Returns the code of an own game: the one that is kept, or a fresh one, which is kept from now on."""
    kept = vault.link_code
    if kept is None:
        kept = entropy(CODE_BYTES).hex()
        vault.keep_link_code(kept)
    return kept


def refuse_without_link(course: Course) -> None:
    """Raises `IllegalError` if the game was opened by link. The player has none."""
    if course.setup.link is not None:
        raise IllegalError(
            tell("the game is open only to whoever has its link"),
            hint=tell("nothing was sent; join with the link that the host has sent you"),
        )


def verify_link(course: Course, code: str) -> None:
    """Checks that somebody who knew the code opened the game. The signature of its key in the `open` has been verified.

    Raises `TrustError`.
    """
    link = course.setup.link
    if link is None:
        reason = tell("this link does not match the game, which was not opened by link; it may be mistyped")
    elif link != link_key(code).public:
        reason = tell("this link does not match the game; it may be mistyped")
    else:
        return
    raise TrustError(
        reason,
        hint=tell("nothing was signed; compare the link with your friend, over the channel by which it came"),
    )
