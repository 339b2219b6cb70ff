"""`hkoji join` and `decline`: joins a game, by its id or by a link, or declines the invitation to one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from hkoji.cli.games.game_words import held_line
from hkoji.cli.games.show import show_changed
from hkoji.cli.games.terms import JoinTerms, say_terms
from hkoji.cli.input import can_ask, check_standard_input, confirm, read_code, read_input, with_origin
from hkoji.cli.language import _
from hkoji.cli.output import client, out
from hkoji.client import Position
from hkoji.client.links import enrol, introduce
from hkoji.client.seats import LONGEST_LINK, InviteLink, is_link, read_invite_link
from hkoji.errors import IllegalError, UsageError
from hkoji.game.entry_kinds.time import WHY_DECLINED
from hkoji.messages.text import shorten, tell
from hkoji.rules.protocol import Ruleset
from hkoji.show.terms import clock_words

if TYPE_CHECKING:
    from hkoji.client.kept_game import GameTime
    from hkoji.client.service import Service
    from hkoji.game.course import Course


def join(game: str, terms: JoinTerms) -> None:
    """Joins a game by its id or by a link, after showing what is agreed. The link `-` is read from standard input."""
    check_standard_input([game, terms.code or ""], taken=out.keep)
    text = read_input("-", LONGEST_LINK).decode("utf-8", "replace") if game == "-" else game
    if game == "-" or is_link(text):
        _join_by_link(read_invite_link(text), terms)
        return
    if terms.origin is not None or terms.code is not None:
        raise UsageError(
            tell("--origin and --code are for the service of a link"),
            hint=tell("nothing was sent; to register at a service: `hkoji register`"),
        )
    with client().game(client().find(game)) as held:
        position = held.join(_agreeing(terms, held.service), None, terms.sealed)
        time = held.time.kept()
    _show_joined(position, time)


def _join_by_link(link: InviteLink, terms: JoinTerms) -> None:
    """Joins by link: first verifies the game, then shows what is agreed, then registers if that is necessary."""
    about = with_origin(terms.origin, lambda confirmed: introduce(client(), link, confirmed))
    agree = _agreeing(terms, client().service(link.server))

    def agree_and_enrol(course: Course) -> None:
        host, key = course.setup.names[0], course.setup.keys[0]
        assert key is not None
        out.say(tell("{name} opened this game; the key of {name} is {key}.", name=host, key=key.fingerprint))
        agree(course)
        code = read_code() if terms.code == "-" and not client().service(link.server).registered else terms.code
        if enrol(client(), link, about.origin, code):
            name, url = client().identity.name, client().service(link.server).url
            out.say(tell("You are now registered at {url} as {name}.", name=name, url=url))

    with client().game(link.game) as held:
        position = held.join(agree_and_enrol, link.code, terms.sealed)
        time = held.time.kept()
    _show_joined(position, time)
    if client().server != link.server:  # it has a clock, and no list would show it
        out.say(
            tell(
                "The game is at {url}, and you play at {server}: `hkoji games` and `hkoji next` do not list it. To "
                "change that: {command}",
                url=link.server,
                server=client().server,
                command=f"hkoji register --server {link.server}",
            )
        )


def _agreeing(terms: JoinTerms, service: Service) -> Callable[[Course], None]:
    """Returns what shows the rules and the agreement of a game before the player signs them.

    It refuses another clock than asked.
    """

    def agree(course: Course) -> None:
        setup = course.setup
        out.say(_rules_line(setup.ruleset))
        say_terms(setup.ruleset, setup.agreement)
        if terms.asked and terms.clock != setup.agreement.clock:
            raise IllegalError(
                tell(
                    "the game has another clock than you asked for: {clock}, not {asked}",
                    clock=clock_words(setup.agreement.clock),
                    asked=clock_words(terms.clock),
                ),
                hint=tell("nothing was signed; to join with its clock leave out --clock"),
            )
        if terms.sealed is not None:
            from hkoji.cli.games import sealed as sealed_games

            sealed_games.settle(terms.sealed, service, setup.names[0], setup.agreement, joins=True, yes=terms.yes)
        about = _(
            "y means that you agree to the rules and the clock above, and the game begins. "
            "Any other answer means that you do not join, and nothing is sent."
        )
        if course.setup.held(0):
            out.say(held_line(setup.names[0] or ""))
            question, refused = _("Join all the same?"), tell("not joined")
            confirm(question, refused, yes=terms.yes, unasked=_HELD_UNASKED, about=about)
        elif can_ask():
            confirm(_("Join this game?"), tell("not joined"), yes=terms.yes, about=about)

    return agree


_HELD_UNASKED: Final = UsageError(
    tell("the other player answers by mail, and there is no terminal to ask for confirmation"),
    hint=tell("nothing was sent; to confirm it, give the command with --yes"),
)


def _rules_line(ruleset: Ruleset) -> str:
    """Returns the game with its options, in words."""
    from hkoji.show.games import board_type, brief_type

    title = board_type(ruleset.name).game
    return tell("Game: {game}. {terms}.", game=title, terms=brief_type(ruleset.name).terms(ruleset))


def _show_joined(position: Position, time: GameTime) -> None:
    setup = position.course.setup
    value = {
        "game": setup.game,
        "status": position.course.status,
        "host": setup.names[0],
        "guest": setup.names[1],
        "agreement": time.agreement.to_json(),
        "clock": time.to_json(),
    }
    short = position.short

    def text() -> str:
        joined = _("You have joined {game}, hosted by {name}.", game=short, name=setup.names[0])
        return f"{joined}\n{_('Then play it: {command}', command=f'hkoji play {short}')}"

    out.result(value, text)
    if position.course.sealed is not None and not out.json:
        from hkoji.cli.games import sealed as sealed_games

        sealed_games.say_duties(position)


def decline(game: str, why: str | None) -> None:
    """Declines an invitation, perhaps with a reason."""
    if why is not None and why not in WHY_DECLINED:
        raise UsageError(
            tell("{word!r} is no reason to decline", word=shorten(why)),
            hint=tell("nothing was changed; reasons: {words}", words=", ".join(WHY_DECLINED)),
        )
    if is_link(game):
        raise UsageError(
            tell("a game by link cannot be declined"),
            hint=tell("nothing was changed; a link that nobody uses expires, and its host can cancel the game"),
        )
    show_changed(client().find(game), lambda held: held.decline(why))
