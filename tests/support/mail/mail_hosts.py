"""Players who have only a mailbox, and make games with each other."""

from __future__ import annotations

from tests.support.mail.list_world import ListWorld
from tests.support.mail.mailbox_player import MailboxPlayer
from tests.support.mail.post_office import Letter
from tests.support.mail.reading import ACCEPT


def command_address(letter: Letter) -> str:
    """The address for commands that a letter tells."""
    return next(line.strip() for line in letter.lines if line.startswith("  play+"))


def mail_host(world: ListWorld, lang: str = "en") -> tuple[MailboxPlayer, str]:
    """Bob, whom the operator has invited and who has accepted, and his address for commands."""
    bob = world.player("bob@example.org")
    world.run(world.players.invite("bob", bob.mailbox.address, lang, None))
    world.deliver()
    bob.answer(bob.next_letter(0), ACCEPT[lang])
    world.deliver()
    return bob, command_address(bob.next_letter(0))


def two_by_mail(world: ListWorld) -> tuple[MailboxPlayer, MailboxPlayer, str]:
    """Bob, carol, whom he has invited, and their game, up to its first decision."""
    bob, commands = mail_host(world)
    carol = world.player("carol@example.com")
    bob.write(commands, "a game", "new hanamikoji carol carol@example.com")
    (game,) = world.games_of("bob")
    world.deliver(61)
    carol.answer(carol.next_letter(0), "accept")
    world.deliver(61)
    return bob, carol, game
