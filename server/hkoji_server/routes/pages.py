"""The web pages: at `/`, at a game's address, at the address of an invitation by link, and where letters are stopped.

docs/spec/http.md. They say what the address is and what to type, in both languages. They have no script and load
nothing else: the frame of every request forbids browsers to load anything for them (`default-src 'none'`).

The page of an invitation is the same for every game, also for one that does not exist: without a link nobody learns
anything about games there. Nothing reads what follows the `#` in its address: the code, which browsers do not send.

Programs that scan mails follow links, so the page that stops letters changes nothing by being read. Mail programs post
to the same address when their user unsubscribes (RFC 8058). Page and answer are the same for every address, so that
nobody learns anything by guessing one.
"""

from __future__ import annotations

from html import escape
from string import Template
from typing import Annotated, Final

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import HTMLResponse, PlainTextResponse

from hkoji_server.routes import models
from hkoji_server.routes.plain import NO_STORE
from hkoji_server.routes.problems import problem_responses
from hkoji_server.routes.service import UseCases
from hkoji_server.service.mail.commands import stop_by_token
from hkoji_server.settings import Registration
from hkoji_server.store.game_values import GameSummary

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
_INVITATION_PAGE: Final = HTML_PAGE.format(
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


_GAME_BODY: Final = """<h1>Game {short}</h1>
<p>{host} (host), {guest} (guest). Status: {status}. To move: {mover}.</p>
<p>To play it, in a terminal: <code>hkoji play {short}</code>. To look at it: <code>hkoji show {short}</code></p>
<p>Its log, for programs: <a href="/v1/games/{game}/log">{game}</a></p>
<div lang="it">
<h1>Partita {short}</h1>
<p>{host} (ospita), {guest} (ospite). Stato: {stato}. Tocca a: {mover}.</p>
<p>Per giocarla, in un terminale: <code>hkoji play {short}</code>. Per guardarla: <code>hkoji show {short}</code></p>
<p>Il suo registro, per programmi: <a href="/v1/games/{game}/log">{game}</a></p>
</div>"""
_STATUS_IN_ITALIAN: Final = {"open": "aperta", "playing": "in corso", "finished": "finita", "cancelled": "annullata"}


def wants_page(accept: str) -> bool:
    """Returns whether a request with this `Accept` comes from a browser."""
    return "text/html" in accept


def game_page(summary: GameSummary) -> str:
    """Returns the page of a game."""
    body = _GAME_BODY.format(
        short=summary.game[:8],
        game=summary.game,
        host=escape(summary.host or "-"),
        guest=escape(summary.guest or summary.invite or "-"),
        status=summary.status,
        stato=_STATUS_IN_ITALIAN.get(summary.status, summary.status),
        mover=escape(summary.to_move or "-"),
    )
    return HTML_PAGE.format(body=body)


_MAY_REGISTER: Final[dict[Registration, tuple[str, str]]] = {
    "open": ("Anybody can register here.", "Qui può registrarsi chiunque."),
    "code": (
        "To register here you need a code from the operator.",
        "Per registrarti qui ti serve un codice del gestore.",
    ),
    "closed": ("Nobody can register here now.", "Qui per ora nessuno può registrarsi."),
}
_FRONT_TEXT: Final = Template("""\
hkoji: two people play Hanamikoji or Geisha's Road by correspondence.

This is the service $origin. You play with the program hkoji, in a terminal. $english
Install hkoji (Python 3.11 or later; the operator knows where to get it), then type:

    hkoji init NAME
    hkoji register --server $origin
    hkoji games --open

For programs: $origin/v1/service and $origin/openapi.json

--

hkoji: si gioca in due, per corrispondenza, a Hanamikoji o Geisha's Road.

Questo è il servizio $origin. Si gioca con il programma hkoji, in un terminale. $italian
Installa hkoji (Python 3.11 o successivo; il gestore sa dove trovarlo), poi scrivi i comandi qui sopra.
""")
_FRONT_BODY: Final = Template("""<h1>hkoji</h1>
<p>Two people play Hanamikoji or Geisha’s Road by correspondence. This is the service <code>$origin</code>. You play
with the program hkoji, in a terminal. $english</p>
<p>Install hkoji (Python 3.11 or later; the operator knows where to get it), then type:</p>
<pre>hkoji init NAME
hkoji register --server $origin
hkoji games --open</pre>
<p>For programs: <a href="/v1/service">/v1/service</a> and <a href="/openapi.json">/openapi.json</a></p>
<div lang="it">
<p>Si gioca in due, per corrispondenza, a Hanamikoji o Geisha’s Road. Questo è il servizio <code>$origin</code>. Si
gioca con il programma hkoji, in un terminale. $italian</p>
<p>Installa hkoji (Python 3.11 o successivo; il gestore sa dove trovarlo), poi scrivi i comandi qui sopra.</p>
</div>""")


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
_STOP_RESPONSES: Final[dict[int | str, dict[str, object]]] = {200: HTML_RESPONSE}


def make_pages_router(cases: UseCases) -> APIRouter:
    """Returns the endpoints of the pages."""
    router = APIRouter()

    @router.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    async def front_page(request: Request) -> Response:
        """A page for people who open the service's address in a browser, or with curl."""
        english, italian = _MAY_REGISTER[cases.settings.registration]
        vary = {"Vary": "Accept"}
        if wants_page(request.headers.get("accept", "")):
            body = _FRONT_BODY.substitute(origin=escape(cases.origin), english=english, italian=italian)
            return HTMLResponse(HTML_PAGE.format(body=body), headers=vary)
        text = _FRONT_TEXT.substitute(origin=cases.origin, english=english, italian=italian)
        return PlainTextResponse(text, headers=vary)

    @router.get(
        INVITATION_PATH,
        tags=["games"],
        response_class=Response,
        responses={200: HTML_RESPONSE, **problem_responses(400)},
    )
    async def invitation_page(game: models.GameId) -> HTMLResponse:  # noqa: ARG001 # the same page for every game
        """A page for people who open the link of an invitation in a browser. The same for every game."""
        return HTMLResponse(_INVITATION_PAGE)

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
