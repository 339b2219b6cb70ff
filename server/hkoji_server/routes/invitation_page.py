"""The web page at the address of an invitation by link. docs/spec/http.md, "The page of a link".

It says what the address is, and what to type. It is the same for every game, also for one that does not exist: who has
no link learns nothing about games here. It has no script and asks for nothing else, so that nothing reads what follows
the `#` in the address: the code, which browsers do not send. The frame of every request forbids browsers to load
anything for it (`default-src 'none'`). It is in both languages.
"""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse

from hkoji_server.routes import models
from hkoji_server.routes.problems import problem_responses

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
HTML_RESPONSE: Final[dict[str, object]] = {
    "content": {"text/html": {"schema": {"type": "string"}}},
    "description": "The page",
}
_PAGE: Final = HTML_PAGE.format(
    body="""<h1>You are invited to a game</h1>
<p>The address of this page is an invitation to a game for two by correspondence. You play it with the program hkoji, in
a terminal. Anybody who has the whole address can join, once: do not pass it on.</p>
<p>The part of the address after the <code>#</code> is the invitation's code. Your browser keeps it, and this service
never sees it.</p>
<ol>
<li>Install hkoji, which needs Python 3.11 or later. The person who invited you knows where to get it.</li>
<li>Choose a name: <code>hkoji init NAME</code></li>
<li>Join, with the whole address of this page, in quotes: <code>hkoji join 'ADDRESS'</code></li>
</ol>
<div lang="it">
<h1>Sei invitato a una partita</h1>
<p>L’indirizzo di questa pagina è un invito a una partita per corrispondenza in due. Si gioca con il programma hkoji, in
un terminale. Chi ha l’indirizzo completo può unirsi, una volta sola: non passarlo ad altri.</p>
<p>La parte dell’indirizzo dopo il <code>#</code> è il codice dell’invito. Resta nel tuo browser, e questo servizio non
lo vede mai.</p>
<ol>
<li>Installa hkoji, che richiede Python 3.11 o successivo. Chi ti ha invitato sa dove trovarlo.</li>
<li>Scegli un nome: <code>hkoji init NOME</code></li>
<li>Unisciti con l’indirizzo completo di questa pagina, tra apici: <code>hkoji join 'INDIRIZZO'</code></li>
</ol>
</div>"""
)


def make_invitation_router() -> APIRouter:
    """Returns the router of the page."""
    router = APIRouter(tags=["games"])

    @router.get(
        INVITATION_PATH,
        response_class=Response,
        responses={
            200: HTML_RESPONSE,
            **problem_responses(400),
        },
        tags=["games"],
    )
    async def invitation_page(game: models.GameId) -> HTMLResponse:  # noqa: ARG001 # the same page for every game
        """A page for people who open the link of an invitation in a browser. The same for every game."""
        return HTMLResponse(_PAGE)

    return router
