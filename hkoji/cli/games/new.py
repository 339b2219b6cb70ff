"""`hkoji new`, `join` and `cancel`: opens, joins and takes back games."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hkoji.cli.games.game_words import agreement_lines, held_line, length_in_words
from hkoji.cli.games.show import show_changed
from hkoji.cli.input import can_ask, check_standard_input, confirm, read_code, read_input, with_origin
from hkoji.cli.language import _, current
from hkoji.cli.output import client, out
from hkoji.cli.settings import deposits_draws
from hkoji.client import Position
from hkoji.client.held_keys import InvitedPlayer, invite_by_mail, invite_by_name
from hkoji.client.links import enrol, introduce, own_link
from hkoji.client.seats import LONGEST_LINK, InviteLink, SealedWish, is_link, read_invite_link
from hkoji.errors import HkojiError, IllegalError, UsageError
from hkoji.game.agreement import (
    SERIES_LENGTHS,
    UTC_ZONE,
    Agreement,
    TimeControl,
    longest_game,
    longest_round,
    parse_duration,
    parse_time_control,
)
from hkoji.game.clock import add_seconds
from hkoji.game.entry_kinds.time import WHY_DECLINED
from hkoji.log.canonical import is_name, name_fault
from hkoji.messages.text import LANGUAGES, plural, shorten, tell
from hkoji.rules.protocol import Ruleset
from hkoji.service_url import lets_browsers_play
from hkoji.show.terms import clock_words

if TYPE_CHECKING:
    from hkoji.client.kept_game import GameTime
    from hkoji.client.service import Service
    from hkoji.game.course import Course

DEFAULT_CLOCK: Final = "3d/14d"
DEFAULT_EXPIRES: Final = "14d"


class NewTerms(NamedTuple):
    """The terms of a new game beside its rules: a clock, whether it is rated, and in how many seconds it expires."""

    clock: TimeControl | None
    rated: bool
    expires_in: int | None
    series: int | None = None
    """Of how many games at most this is the first; None for a game that is in no series."""

    @property
    def agreement(self) -> Agreement:
        """The agreement, without the time at which the offer expires."""
        return Agreement(clock=self.clock, rated=self.rated)


def read_terms(
    clock: str | None, rest: str | None, zone: str | None, expires: str | None, *, unrated: bool, series: int | None
) -> NewTerms:
    """Reads the options of `hkoji new`; None is the default. Raises `UsageError`."""
    control = parse_time_control(DEFAULT_CLOCK if clock is None else clock, rest or "", zone or UTC_ZONE)
    if series is not None and series not in SERIES_LENGTHS:
        raise UsageError(
            plural("there is no series of {n} game", "there is no series of {n} games", series),
            hint=tell(
                "nothing was sent; lengths: {lengths}; for a single game leave --series out",
                lengths=", ".join(map(str, SERIES_LENGTHS)),
            ),
        )
    return NewTerms(control, control is not None and not unrated, read_expiry(expires), series)


def read_expiry(expires: str | None) -> int | None:
    """Returns in how many seconds an offer expires; None if never. Raises `UsageError`."""
    return None if expires == "none" else parse_duration(DEFAULT_EXPIRES if expires is None else expires)


def read_wish(*, sealed: bool, deposit: bool | None, new_key: bool) -> SealedWish | None:
    """Reads the options about sealed games; None without `sealed`. Raises `UsageError`."""
    if sealed:
        return SealedWish(False if deposit is None and not deposits_draws() else deposit, new_key)
    if deposit is not None or new_key:
        raise UsageError(
            tell("--deposit-draws, --keep-draws and --new-key need --sealed"),
            hint=tell("nothing was sent; add --sealed, or leave them out"),
        )
    return None


def new(
    ruleset: Ruleset,
    invite: str | None,
    mail: str | None,
    terms: NewTerms,
    *,
    link: bool,
    sealed: SealedWish | None = None,
) -> None:
    """Offers and opens a game for the player who is invited by name, for anyone who has the `link`, or for anyone.

    With `mail`, the address of a mailbox, its owner is asked to play by mail under that name, in the language in use.
    """
    if invite is not None and link:
        raise UsageError(
            tell("--invite and --link exclude each other: a link is for whoever has it"),
            hint=tell("no game was opened; give one of them"),
        )
    if invite is not None and not is_name(invite):
        raise UsageError(name_fault(invite), hint=tell("nothing was sent"))
    if invite == client().identity.name:
        raise UsageError(tell("you cannot invite yourself"), hint=tell("omit --invite to play with anyone"))
    if sealed is not None:
        from hkoji.cli.games import sealed as sealed_games

        sealed_games.verify_can_play_sealed(invite, mail=mail is not None, held=False)
    player = _invited_player(invite, mail, terms)
    if sealed is not None:
        sealed_games.verify_can_play_sealed(invite, mail=False, held=player is not None and player.held)
        sealed_games.settle(sealed, client().service(), invite, terms.agreement, joins=False)
    if player is not None and player.held:
        out.say(held_line(player.invite.name))
    position = client().new(
        ruleset,
        player and player.invite,
        terms.agreement,
        expires_in=terms.expires_in,
        series=terms.series,
        by_link=link,
        sealed=sealed,
    )
    game, short = position.course.setup.game, position.short
    agreement, made = position.course.setup.agreement, own_link(client(), game)
    value = {**opened_json(position), "held": player is not None and player.held, "link": made and made.text}
    # The id alone on stdout: `GAME=$(hkoji new)`. By link, what a friend types instead: `LINK=$(hkoji new --link)`.
    out.result(value, lambda: made.command if made else game, exact=True)
    if not out.json:
        say_terms(ruleset, agreement)
        joining, playing = f"hkoji join {short}", f"hkoji play {short}"
        if sealed is not None:
            sealed_games.say_duties(position)
            joining += " --sealed"
        if made:
            out.say(tell("The game is open. Send the line above to one friend: the first person to use it joins."))
            if sealed is None:
                _say_browser_link(made)
            out.say(tell("To see it again: {command}", command=f"hkoji show {short}"))
        elif mail is not None:
            out.say(
                tell(
                    "The game is open. {name} joins by answering a letter, which is in this language: {language}.",
                    name=invite,
                    language=LANGUAGES[current()],
                )
            )
        elif player is not None and player.held:
            out.say(tell("The game is open. {name} gets a letter about it.", name=invite))
        elif invite:
            out.say(tell("The game is open. Ask {name} to run: {command}", name=invite, command=joining))
        else:
            out.say(tell("The game is open. Ask someone to run: {command}", command=joining))
        out.say(tell("Then play it: {command}", command=playing))


def _invited_player(name: str | None, mail: str | None, terms: NewTerms) -> InvitedPlayer | None:
    """Returns whom a new game invites. Raises `UsageError`, and what `invite_by_mail` and `invite_by_name` raise."""
    if mail is None:
        return None if name is None else invite_by_name(client().service(), name)
    if name is None:
        raise UsageError(
            tell("--mail needs the name under which the other player will play"),
            hint=tell("no game was opened; add --invite NAME"),
        )
    agreement = terms.agreement
    if terms.expires_in is not None:
        agreement = agreement._replace(expires=add_seconds(client().service().told_now(), terms.expires_in))
    return invite_by_mail(client().service(), client().home, name, mail, current(), agreement)


def opened_json(position: Position) -> dict[str, Any]:  # Any: JSON
    """Returns a game that was opened, for programs; its bounds are null where nothing limits them. docs/json.md."""
    setup = position.course.setup
    ruleset, control, time = setup.ruleset, setup.agreement.clock, client().kept_game(position.game).time
    return {
        "game": position.game,
        "ruleset": ruleset.name,
        "options": ruleset.to_json(),
        "status": position.course.status,
        "invite": setup.invited,
        "server": client().server_of(position.game),
        "agreement": time.agreement.to_json(),
        "clock": time.to_json(),
        "longest_round": None if control is None else longest_round(ruleset, control),
        "longest_game": None if control is None else longest_game(ruleset, control),
    }


def say_terms(ruleset: Ruleset, agreement: Agreement) -> None:
    """Says what two players agree on, and how long a game takes at most."""
    for line in (*agreement_lines(agreement), *_bound_lines(ruleset, agreement)):
        out.say(line)


def _bound_lines(ruleset: Ruleset, agreement: Agreement) -> list[str]:
    """Returns how long a game takes at most, in sentences."""
    control = agreement.clock
    if control is None:
        return [_("Nothing limits how long the game takes.")]
    game, round_ = longest_game(ruleset, control), length_in_words(longest_round(ruleset, control))
    if game is None:
        line = _("At the slowest, a round takes {round}.", round=round_)
    elif control.move == control.add == 0 or ruleset.most_rounds == 1:
        line = _("At the slowest, the game takes {game}.", game=length_in_words(game))
    else:
        line = _(
            "At the slowest, a round takes {round}, and the game {game}.",
            round=round_,
            game=length_in_words(game),
        )
    return [f"{line} {_('Rest days come on top.')}" if control.rest else line]


class JoinTerms(NamedTuple):
    """The clock with which alone the player wants to join, if `asked`; origin and code for the service of a link.

    `sealed` is the wish for a sealed game, without which none is joined. With `yes` nothing is asked.
    """

    asked: bool
    clock: TimeControl | None
    origin: str | None
    code: str | None
    sealed: SealedWish | None
    yes: bool


def read_join_terms(
    clock: str | None,
    rest: str | None,
    zone: str | None,
    origin: str | None,
    code: str | None,
    sealed: SealedWish | None = None,
    *,
    yes: bool,
) -> JoinTerms:
    """Reads the options of `hkoji join`. Raises `UsageError`."""
    if clock is None and (rest is not None or zone is not None):
        raise UsageError(tell("--rest and --zone belong to --clock"), hint=tell("add --clock, or leave them out"))
    control = None if clock is None else parse_time_control(clock, rest or "", zone or UTC_ZONE)
    return JoinTerms(clock is not None, control, origin, code, sealed, yes)


def _say_browser_link(link: InviteLink) -> None:
    """Shows the link for a friend with a browser, or says why none can play there. The game is open in any case."""
    try:
        about = client().service(client().server_of(link.game)).describe()
    except HkojiError:  # it has just answered, and the line above is good without this
        return
    if about.web and lets_browsers_play(link.server):
        out.say(tell("Or in a browser, without installing anything: {link}", link=link.text))
        out.say(
            tell(
                "The line is safer than the page: `hkoji join` verifies the game without trusting the service, and "
                "keeps the code from it."
            )
        )
    elif about.web:
        out.say(
            tell(
                "In a browser a friend can only watch: pages make keys only where they come by https, and {url} does "
                "not. Its operator finds in docs/hosting.md, A page at home, how it does.",
                url=link.server,
            )
        )


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


def cancel(game: str) -> None:
    """Cancels an open game."""
    show_changed(client().find(game), lambda held: held.cancel().position)
