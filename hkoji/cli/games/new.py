"""`hkoji new` and `cancel`: opens games, and takes them back."""

from __future__ import annotations

from typing import Any

from hkoji.cli.games.game_words import held_line
from hkoji.cli.games.show import show_changed
from hkoji.cli.games.terms import NewTerms, say_terms
from hkoji.cli.language import current
from hkoji.cli.output import client, out
from hkoji.client import Position
from hkoji.client.held_keys import InvitedPlayer, invite_by_mail, invite_by_name
from hkoji.client.links import own_link
from hkoji.client.seats import InviteLink, SealedWish
from hkoji.errors import HkojiError, UsageError
from hkoji.game.agreement import longest_game, longest_round
from hkoji.game.clock import add_seconds
from hkoji.log.canonical import is_name, name_fault
from hkoji.messages.text import LANGUAGES, tell
from hkoji.rules.protocol import Ruleset
from hkoji.service_url import lets_browsers_play


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

        sealed_games.verify_can_play_sealed(invite, mail=mail is not None)
    player = _invited_player(invite, mail, terms, sealed=sealed is not None)
    if sealed is not None:
        sealed_games.verify_can_play_sealed(invite, held=player is not None and player.held)
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


def _invited_player(name: str | None, mail: str | None, terms: NewTerms, *, sealed: bool) -> InvitedPlayer | None:
    """Returns whom a new game invites. Raises `UsageError`, and what `invite_by_mail` and `invite_by_name` raise."""
    if mail is None:
        return None if name is None else invite_by_name(client().service(), name, sealed=sealed)
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


def cancel(game: str) -> None:
    """Cancels an open game."""
    show_changed(client().find(game), lambda held: held.cancel().position)
