"""Declares the commands of the group "Your games" that open, join and list games; `one_game` has the others."""

from __future__ import annotations

from typing import Annotated

import typer

from hkoji.cli import completion
from hkoji.cli.commands.arguments import (
    DepositDraws,
    EditionName,
    First,
    Game,
    JoinSealed,
    Json,
    Markers,
    MaxRounds,
    MoreOptions,
    NewKey,
    Offline,
    OpenSealed,
    Origin,
    Rest,
    RulesetName,
    TieBreak,
    Yes,
    Zone,
)
from hkoji.errors import UsageError
from hkoji.messages.text import tell

commands = typer.Typer()


@commands.command(
    epilog="Examples: hkoji new --invite bob --edition 2018-it; hkoji new --clock 2d/10d --rest 67; "
    "hkoji new --ruleset geishas-road --clock none; hkoji new --link; hkoji new --invite bob --mail bob@example.org"
)
def new(
    ruleset: RulesetName = None,
    edition: EditionName = None,
    invite: Annotated[
        str | None, typer.Option(help="The only player who may join.", autocompletion=completion.players)
    ] = None,
    link: Annotated[bool, typer.Option("--link", help="Print a link with which one friend can join.")] = False,
    mail: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Ask the owner of this mailbox to play by mail, under the name of --invite.",
        ),
    ] = None,
    first: First = None,
    max_rounds: MaxRounds = None,
    tiebreak: TieBreak = None,
    markers: Markers = None,
    option: MoreOptions = None,
    clock: Annotated[
        str | None,
        typer.Option(
            help="Time for each turn / in reserve, 3d/14d if not given; none: no clock.",
            autocompletion=completion.one_of("3d/14d", "3d", "1d/7d", "/30d", "/30d+1d^45d", "none"),
        ),
    ] = None,
    rest: Rest = None,
    zone: Zone = None,
    expires: Annotated[
        str | None,
        typer.Option(metavar="DUR", help="How long to wait for someone to join, 14d if not given; none: no limit."),
    ] = None,
    unrated: Annotated[bool, typer.Option("--unrated", help="The game does not count for ratings.")] = False,
    series: Annotated[
        int | None,
        typer.Option(
            metavar="GAMES",
            help="The first game of a series, best of 3, 5, 7 or 9; hkoji rematch opens the others.",
            autocompletion=completion.one_of("3", "5", "7", "9"),
        ),
    ] = None,
    sealed: OpenSealed = False,
    deposit: DepositDraws = None,
    new_key: NewKey = False,
    json: Json = False,
) -> None:
    """Open a game for someone to join.

    Prints the clock, and how long the game can take at most. With --link, prints the command that a friend types to
    join; the friend need not be registered. Anybody who has the link can join, so send it to nobody else.

    With --invite and --mail, a friend who has only a mail program gets a letter, in the language of this command
    (--lang), and plays by answering it. The service holds the friend's key.

    With --sealed the two players' programs deal the cards. Your program must run every day to release cards: see
    docs/sealed.md.
    """
    from hkoji.cli.games.new import new
    from hkoji.cli.games.rulesets import make_ruleset
    from hkoji.cli.games.terms import read_terms, read_wish

    given = {"first": first, "max_rounds": max_rounds, "tiebreak": tiebreak, "markers": markers}
    made = make_ruleset(ruleset, given, option, edition)
    terms = read_terms(clock, rest, zone, expires, unrated=unrated, series=series)
    new(made, invite, mail, terms, link=link, sealed=read_wish(sealed=sealed, deposit=deposit, new_key=new_key))


@commands.command(
    epilog="Examples: hkoji join 2714; hkoji join 2714 --clock 3d/14d; "
    "hkoji join 'https://hanamikoji.example/i/2714…#5b0e…'"
)
def join(
    game: Annotated[
        str,
        typer.Argument(
            metavar="GAME|LINK",
            help="The game's id or its first characters; a link; - for a link on standard input.",
            autocompletion=completion.open_games,
        ),
    ],
    clock: Annotated[str | None, typer.Option(help="Join only if the game has this clock, as in hkoji new.")] = None,
    rest: Rest = None,
    zone: Zone = None,
    origin: Origin = None,
    code: Annotated[
        str | None,
        typer.Option(help="With a link: the code from the operator, if its service needs one; - to ask for it."),
    ] = None,
    sealed: JoinSealed = False,
    deposit: DepositDraws = None,
    new_key: NewKey = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Join an open game.

    Prints the rules and the clock, and in a terminal asks before it joins. Give a link in quotes, or the whole line
    that you were sent. If necessary, you are registered at the service of the link.
    """
    from hkoji.cli.games.join import join
    from hkoji.cli.games.terms import read_join_terms, read_wish

    wish = read_wish(sealed=sealed, deposit=deposit, new_key=new_key)
    join(game, read_join_terms(clock, rest, zone, origin, code, wish, yes=yes))


@commands.command(epilog="Example: hkoji rematch 2714")
def rematch(
    game: Game,
    expires: Annotated[
        str | None,
        typer.Option(metavar="DUR", help="How long to wait for the opponent, 14d if not given; none: no limit."),
    ] = None,
    json: Json = False,
) -> None:
    """Ask for another game after one that is over, or accept.

    The rules and the clock stay the same, and the other player starts. If your opponent has asked already, you join
    their game. A series goes on with its next game.
    """
    from hkoji.cli.games.rematch import rematch

    rematch(game, expires)


@commands.command(epilog="Examples: hkoji games --open --clock days; hkoji games --with bob")
def games(
    open_: Annotated[bool, typer.Option("--open", help="List the games that you can join.")] = False,
    all_: Annotated[bool, typer.Option("--all", help="List everybody's games.")] = False,
    status: Annotated[
        str | None,
        typer.Option(
            help="open, playing, finished (the cancelled ones too) or cancelled.",
            autocompletion=completion.one_of("open", "playing", "finished", "cancelled"),
        ),
    ] = None,
    ruleset: Annotated[
        str | None, typer.Option(help="With --open: of this ruleset.", autocompletion=completion.rulesets)
    ] = None,
    rated: Annotated[bool | None, typer.Option("--rated/--unrated", help="With --open: rated or unrated.")] = None,
    clock: Annotated[
        str | None,
        typer.Option(
            help="With --open: none, fast (the first turn under a day), days (to 31) or slow.",
            autocompletion=completion.one_of("none", "fast", "days", "slow"),
        ),
    ] = None,
    with_: Annotated[
        str | None,
        typer.Option(
            "--with",
            metavar="NAME",
            help="List your games with this player, and the score.",
            autocompletion=completion.players,
        ),
    ] = None,
    series: Annotated[
        str | None,
        typer.Option(
            metavar="SERIES",
            help="List the games of a series, by the first digits of its id, and the score.",
        ),
    ] = None,
    offline: Offline = False,
    json: Json = False,
) -> None:
    """List your games, or those open to join."""
    from hkoji.cli.games.history import games_of_series, games_with
    from hkoji.cli.games.lists import games, joinable

    if not open_ and (ruleset, rated, clock) != (None, None, None):
        raise UsageError(
            tell("--ruleset, --rated, --unrated and --clock belong to --open"),
            hint=tell("as in `hkoji games --open --clock days`"),
        )
    if with_ is not None or series is not None:
        if series is not None and (with_ is not None or status is not None):
            raise UsageError(tell("--series lists one series"), hint=tell("leave --with and --status out"))
        if open_ or all_:
            raise UsageError(tell("--with and --series list your own games"), hint=tell("leave --open and --all out"))
        if series is not None:
            games_of_series(series, offline=offline)
        elif with_ is not None:
            games_with(with_, status=status, offline=offline)
    elif open_:
        joinable(ruleset, rated, clock, offline=offline)
    else:
        games(everybody=all_, status=status, offline=offline)


@commands.command("next", epilog="Example: hkoji next --json")
def next_(offline: Offline = False, json: Json = False) -> None:
    """List the games that wait for you, the most urgent first."""
    from hkoji.cli.games.lists import waiting

    waiting(offline=offline)
