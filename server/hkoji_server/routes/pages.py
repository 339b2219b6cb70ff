"""The page on which letters are stopped, and what pages and API have in common.

docs/spec/http.md. The page says in both languages what it does. It has no script and loads nothing else: the frame of
every request forbids browsers to load anything for it (`default-src 'none'`).

Programs that scan mails follow links, so the page that stops letters changes nothing by being read. Mail programs post
to the same address when their user unsubscribes (RFC 8058). Page and answer are the same for every address, so that
nobody learns anything by guessing one.
"""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Path
from fastapi.responses import HTMLResponse

from hkoji_server.routes.plain import NO_STORE
from hkoji_server.routes.service import UseCases
from hkoji_server.service.mail.commands import stop_by_token

INVITATION_PATH: Final = "/i/{game}"

HTML_PAGE: Final = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>hkoji</title>
</head>
<body>
{body}
</body>
</html>
"""
"""A web page. No search engine lists it."""


def wants_page(accept: str) -> bool:
    """Returns whether a request with this `Accept` comes from a browser."""
    return "text/html" in accept


STOP_PREFIX: Final = "/v1/mail/stop/"
STOP_PATH: Final = f"{STOP_PREFIX}{{token}}"
Token = Annotated[str, Path(pattern="^[A-Za-z2-7]{26}$", examples=["7k2mq4ruapbd3xvn5tczshw6ef"])]

_STOP_PAGE: Final = HTML_PAGE.format(
    body="""<h1>No more letters?</h1>
<p>You get letters about games that you play by mail. If you stop them, you are not told any more when it is your turn.
Your games and their clocks go on. To get letters again, answer <code>start</code> to any of them.</p>
<form method="post"><button type="submit">Stop the letters</button></form>
<div lang="it">
<h1>Niente più lettere?</h1>
<p>Ricevi lettere sulle partite che giochi per posta. Se le fermi, nessuno ti dirà più quando tocca a te. Le partite e i
loro orologi vanno avanti. Per ricevere di nuovo le lettere, rispondi <code>inizia</code> a una di esse.</p>
<form method="post"><button type="submit">Ferma le lettere</button></form>
</div>"""
)
_STOPPED_PAGE: Final = HTML_PAGE.format(
    body="""<h1>No more letters</h1>
<p>If the address of this page was in a letter to you, no more letters are sent to you. To get letters again, answer
<code>start</code> to any of them.</p>
<div lang="it">
<h1>Niente più lettere</h1>
<p>Se l’indirizzo di questa pagina era in una lettera per te, non te ne saranno mandate altre. Per riceverle di nuovo,
rispondi <code>inizia</code> a una di esse.</p>
</div>"""
)
_STOP_RESPONSES: Final[dict[int | str, dict[str, object]]] = {
    200: {"content": {"text/html": {"schema": {"type": "string"}}}, "description": "The page"}
}


def make_pages_router(cases: UseCases) -> APIRouter:
    """Returns the endpoints of the pages."""
    router = APIRouter()

    @router.get(STOP_PATH, tags=["mail"], response_class=HTMLResponse, responses=_STOP_RESPONSES)
    async def stop_page(token: Token) -> HTMLResponse:  # noqa: ARG001 # the same page for every token
        """A page with a button that stops the letters to a mailbox. Reading it changes nothing."""
        return HTMLResponse(_STOP_PAGE, headers=NO_STORE)

    @router.post(STOP_PATH, tags=["mail"], response_class=HTMLResponse, responses=_STOP_RESPONSES)
    async def stop_letters(token: Token) -> HTMLResponse:
        """Stops the letters to a mailbox. Any body is ignored, and the answer says nothing about the token."""
        await stop_by_token(cases.store, cases.sources, token)
        return HTMLResponse(_STOPPED_PAGE, headers=NO_STORE)

    return router
