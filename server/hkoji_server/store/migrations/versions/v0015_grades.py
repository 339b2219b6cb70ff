"""Lists of games show for whom the service has signed, and by what mails it is known that the players wanted that."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

# Texts sort by their bytes, as in the log, whatever the language of the database.
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


_MAILED = """
    SELECT game.game, game.host, game.guest, entry.text, prior.text FROM entry
    JOIN game ON game.game = entry.game
    LEFT JOIN entry AS prior ON prior.game = entry.game AND prior.seq = entry.seq - 1
    WHERE entry.text LIKE '%"commit":%,"grade":%' ORDER BY game.game, entry.seq
"""


def upgrade() -> None:
    """Adds the column, and fills it for the games in which an entry or a statement names a mail."""
    op.add_column("game", sa.Column("by_mail", TEXT, nullable=False, server_default="{}"))
    mailed = op.get_bind().execute(sa.text(_MAILED)).all()
    for game, rows in groupby(mailed, key=lambda row: row[0]):
        grades: dict[str, str] = {}
        for _, *players, text, prior in rows:
            for name, grade in _mails(json.loads(text), json.loads(prior or "{}"), players):
                if grade == "token":
                    grades[name] = "word"
                elif grade == "dkim":
                    grades.setdefault(name, "claimed")
        shown = json.dumps(grades, sort_keys=True, separators=(",", ":"))
        op.execute(sa.text("UPDATE game SET by_mail = :shown WHERE game = :game").bindparams(shown=shown, game=game))


def _mails(entry: Any, prior: Any, players: list[str]) -> Iterator[tuple[str, str]]:  # Any: JSON
    """Yields the grades of the mails that an entry names, with the players for whom the service has signed."""
    body, kind = entry["body"], entry["kind"]
    gift = body.get("gift") if kind in ("credit", "annul") else None
    helped = players[body["seat"]] if kind == "annul" else prior.get("by")
    giver = next((name for name in players if name != helped), "")
    consents = zip(players, body.get("mails", ()), strict=False)
    for name, mail in ((entry["by"], body.get("mail")), *consents, (giver, (gift or {}).get("mail"))):
        if mail is not None:
            yield name, mail["grade"]
