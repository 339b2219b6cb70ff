"""A table's game at a service that can lie, shown to everybody who looks at it with a fresh home.

The table has all keys, so any accomplice can sign a forged log; each victim has a real client.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hkoji.audit.log_audit import AuditStep
from hkoji.client import Home
from hkoji.client.identity import create
from hkoji.client.kept.game import Vault
from hkoji.game import entry_kinds
from hkoji.log.line import Line, format_log, parse_log
from tests.support.adversary import HostileService, caught, convicted, follow, told
from tests.support.forgery import rewrite
from tests.support.memory_service import URL, Game, LocalPlayer
from tests.support.table import AT, Table

Said = tuple[entry_kinds.EntryBody, str]
"""An entry's body and its author."""


def staged(table: Table, folder: Path) -> tuple[HostileService, tuple[LocalPlayer, LocalPlayer, LocalPlayer]]:
    """The table's game at its own service; host, guest and a spectator, none of whom has looked yet.

    Both players have the openings of what they have hidden.
    """
    service = HostileService()
    service.key = table.server
    service.games[table.game] = Game(table.refereed, list(table.lines))
    folder.mkdir(parents=True)
    seats = tuple(LocalPlayer(service, name, folder / name) for name in (*table.names, "carol"))
    for number, seat in enumerate(seats):
        own = [each for each in table.refereed.openings if table.lines[each.seq].entry.by == seat.name]
        Vault(seat.folder(table.game)).keep_openings(own)
        key = folder / f"{seat.name}.key"
        if number < 2:
            key.write_bytes(table.keys[number].to_openssh())
        create(Home(seat.path), seat.name, key if number < 2 else None, b"\x0c" * 32)
        seat.client.register(URL)
        seat.client.games()  # has logged in
    return service, seats  # type: ignore[return-value] # three of them


def goes_on(table: Table, number: int, *said: Said, at: str = AT) -> tuple[Line, ...]:
    """The table's log up to entry `number`; that and all later ones are replaced, as if a service had accepted them."""
    keys = {"server": table.server, **dict(zip(table.names, table.keys, strict=True))}
    lines = list(table.lines[:number])
    for body, by in said:
        lines.append(follow(table.server, lines[-1], body, by, keys[by], at=at))
    return tuple(lines)


def rewritten(table: Table, changes: dict[int, dict[str, object]]) -> tuple[Line, ...]:
    """The log with changes, chained and signed anew."""
    return parse_log(rewrite(table, changes))


def refuted(
    folder: Path,
    table: Table,
    forged: Sequence[Line],
    found: tuple[AuditStep, int, str],
    reason: str,
    victims: Sequence[int] = (0, 1, 2),
) -> None:
    """Checks that the audit has one finding in `forged` and names the liar, and that each victim refuses it.

    Each of `victims` (the seats, 2 for a spectator) refuses at once for `reason`, keeps what it has, and accepts the
    table's true log. Each victim's file of evidence convicts those whom the audit names; and also the service, because
    it ends up having shown both logs.
    """
    convicted(table, format_log(forged), *found)
    service, seats = staged(table, folder)
    for number in victims:
        caught(service, seats[number], table.game, reason, told(tuple(forged)), proof={found[2], "server"})
