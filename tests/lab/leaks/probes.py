"""Requests of viewers: every endpoint, with and without a login, and every kind of refusal.

A probe makes a request about a story in one world. With the same random state it makes the same request in every world,
except for the hashes that it must name. No attempt made here may succeed in changing the game.
"""

from __future__ import annotations

from typing import Final

from tests.lab.leaks import looking, refused
from tests.lab.leaks.looking import Probe

ALWAYS: Final[tuple[Probe, ...]] = (looking.own_view, looking.game_or_log)
SOMETIMES: Final[tuple[Probe, ...]] = (
    looking.log_unchanged,
    looking.events,
    looking.view_of_nobody,
    looking.games,
    looking.own_games,
    looking.open_games,
    looking.choices,
    looking.past,
    looking.player,
    looking.service,
    looking.clock,
    looking.signed_head,
    looking.outages,
    looking.channels,
    looking.mail,
    looking.finished_games,
    looking.link_page,
    looking.talk,
    looking.talk,
    refused.stated,
    refused.withdrawn,
    refused.talked,
    refused.declined,
    refused.too_late,
    looking.nowhere,
    refused.account,
    refused.keys,
    refused.illegal,
    refused.illegal,
    refused.illegal,
    refused.badly_opened,
    refused.badly_opened,
    refused.guessed,
    refused.guessed,
    refused.misplaced,
    refused.malformed,
    refused.intruding,
)
