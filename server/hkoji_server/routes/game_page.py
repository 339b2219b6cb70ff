"""The web page of a game, for a browser at the game's address: notices name that address. docs/spec/http.md, "Notices".

It says what every spectator may know, and what to type. Programs get JSON there. It has no script and is in both
languages.
"""

from __future__ import annotations

from html import escape
from typing import Final

from hkoji_server.routes.invitation_page import HTML_PAGE
from hkoji_server.store.contract import GameSummary

_BODY: Final = """<h1>Game {short}</h1>
<p>{host} (host), {guest} (guest). Status: {status}. To move: {mover}.</p>
<p>To play it, in a terminal: <code>hkoji play {short}</code>. To look at it: <code>hkoji show {short}</code></p>
<p>Its log, for programs: <a href="/v1/games/{game}/log">{game}</a></p>
<div lang="it">
<h1>Partita {short}</h1>
<p>{host} (ospita), {guest} (ospite). Stato: {stato}. Tocca a: {mover}.</p>
<p>Per giocarla, in un terminale: <code>hkoji play {short}</code>. Per guardarla: <code>hkoji show {short}</code></p>
<p>Il suo registro, per programmi: <a href="/v1/games/{game}/log">{game}</a></p>
</div>"""
_STATUS: Final = {"open": "aperta", "playing": "in corso", "finished": "finita", "cancelled": "annullata"}


def wants_page(accept: str) -> bool:
    """Returns whether a request with this `Accept` comes from a browser."""
    return "text/html" in accept


def game_page(summary: GameSummary) -> str:
    """Returns the page of a game."""
    body = _BODY.format(
        short=summary.game[:8],
        game=summary.game,
        host=escape(summary.host or "-"),
        guest=escape(summary.guest or summary.invite or "-"),
        status=summary.status,
        stato=_STATUS.get(summary.status, summary.status),
        mover=escape(summary.to_move or "-"),
    )
    return HTML_PAGE.format(body=body)
