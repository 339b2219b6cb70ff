"""The service worker, at `/sw.js`: the script that shows a push while no page is open, and the sentences that it shows.

A browser keeps one such script for a whole origin, and asks for it again, so its address has no hash.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from hkoji.manual.catalogues import load_speaker
from hkoji.messages.text import LANGUAGES, tell
from hkoji_server.web.static_files import POLICY, static_files

PATH: Final = "/sw.js"
_HEADERS: Final = {"Cache-Control": "no-cache", "Content-Security-Policy": POLICY}

TITLES: Final = {
    "turn": tell("It is your turn"),
    "remind1": tell("It is still your turn"),
    "remind2": tell("Your time is nearly over"),
    "over": tell("The game is over"),
    "invited": tell("{opponent} invites you to a game", opponent="{opponent}"),
    "joined": tell("{opponent} has joined your game", opponent="{opponent}"),
    "declined": tell("{opponent} has declined your game", opponent="{opponent}"),
    "given": tell("{opponent} has given you time", opponent="{opponent}"),
    "annul": tell("{opponent} wishes to call the game off", opponent="{opponent}"),
    "talk": tell("{opponent} has written to you", opponent="{opponent}"),
    "failing": tell("The service could not deliver notices to another channel of yours"),
    "confirm": tell("Notices arrive in this browser"),
    "test": tell("Notices arrive in this browser"),
    "other": tell("There is news of your games"),
}
"""The first line of a notification, by its event."""
_PARTS: Final = {
    "against": tell("Against {opponent}", opponent="{opponent}"),
    "until": tell("Until {time}", time="{time}"),
    "opponent": tell("Your opponent"),
}


async def send_service_worker(_: Request) -> Response:
    """Answers with the script."""
    return Response(script(), headers=_HEADERS, media_type="text/javascript")


@cache
def script() -> bytes:
    """Returns the script as it is sent."""
    made = static_files()
    texts = {
        lang: {key: say(text) for key, text in (TITLES | _PARTS).items()}
        for lang, say in ((lang, load_speaker(lang)) for lang in LANGUAGES)
    }
    values = f"self.TEXTS = {json.dumps(texts, ensure_ascii=False)};\nself.BASE = {json.dumps(made.base)};\n"
    return values.encode() + made.files["sw.js"].body
