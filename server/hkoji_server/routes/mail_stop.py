"""The web page at which letters are stopped. docs/spec/http.md, "Letters are stopped".

Programs that scan mails follow links, so the page changes nothing by being read. Mail programs post to the same address
when their user unsubscribes (RFC 8058). Page and answer are the same for every address: who guesses one learns nothing.
"""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Path
from fastapi.responses import HTMLResponse

from hkoji_server.routes.invitation_page import HTML_PAGE, HTML_RESPONSE
from hkoji_server.routes.players import NO_STORE
from hkoji_server.service.mail.commands import MailStops

STOP_PREFIX: Final = "/v1/mail/stop/"
STOP_PATH: Final = f"{STOP_PREFIX}{{token}}"
Token = Annotated[str, Path(pattern="^[A-Za-z2-7]{26}$", examples=["7k2mq4ruapbd3xvn5tczshw6ef"])]

_ASK: Final = HTML_PAGE.format(
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
_DONE: Final = HTML_PAGE.format(
    body="""<h1>No more letters</h1>
<p>If the address of this page was in a letter to you, no more letters are sent to you. To get letters again, answer
<code>start</code> to any of them.</p>
<div lang="it">
<h1>Niente più lettere</h1>
<p>Se l’indirizzo di questa pagina era in una lettera per te, non te ne saranno mandate altre. Per riceverle di nuovo,
rispondi <code>inizia</code> a una di esse.</p>
</div>"""
)
_RESPONSES: Final[dict[int | str, dict[str, object]]] = {200: HTML_RESPONSE}


def make_stop_router(stops: MailStops) -> APIRouter:
    """Returns the router of the page."""
    router = APIRouter(tags=["mail"])

    @router.get(STOP_PATH, response_class=HTMLResponse, responses=_RESPONSES)
    async def stop_page(token: Token) -> HTMLResponse:  # noqa: ARG001 # the same page for every token
        """A page with a button that stops the letters to a mailbox. Reading it changes nothing."""
        return HTMLResponse(_ASK, headers=NO_STORE)

    @router.post(STOP_PATH, response_class=HTMLResponse, responses=_RESPONSES)
    async def stop_letters(token: Token) -> HTMLResponse:
        """Stops the letters to a mailbox. Any body is ignored, and the answer says nothing about the token."""
        await stops.stop(token)
        return HTMLResponse(_DONE, headers=NO_STORE)

    return router
