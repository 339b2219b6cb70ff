"""Keeps statements of the service that the client refuses, and says in the error how much they prove.

docs/spec/evidence.md. They are on disk before the error is raised.
"""

from __future__ import annotations

from collections.abc import Sequence

from hkoji.audit.evidence_file import EntryTree, of_game
from hkoji.audit.service_statements import ServiceStatements
from hkoji.client.kept.evidence import KeptEvidence, ProofStrength, readable_view
from hkoji.client.kept.game import Vault
from hkoji.client.kept.home import Pins
from hkoji.client.log_checks import LateLineError
from hkoji.errors import HkojiError, StorageError
from hkoji.log.game_statements import SignedHead
from hkoji.log.line import Line, SignedEntry, format_line
from hkoji.messages.text import tell


def keep_refused(
    vault: Vault,
    pins: Pins,
    error: HkojiError,
    known: Sequence[Line],
    sent: Sequence[Line],
    view: SignedEntry | None = None,
    head: SignedHead | None = None,
) -> None:
    """Keeps what the service of `pins` has signed of `sent`, `view` and `head`; the hint of `error` then says so.

    `known` are the lines of the game of `vault` that are kept. Call it with the vault locked.
    """
    error.hint = error.hint or tell("nothing was accepted")
    if head is None and isinstance(error, LateLineError):
        head = error.head
    try:
        kept = _kept(vault, pins, known, sent, view, head)
    except StorageError as failed:
        error.hint = tell("{hint}; what was refused could not be kept: {reason}", hint=error.hint, reason=failed)
        return
    command = f"hkoji evidence {vault.game[:8]}"
    match kept:
        case None:
            return
        case ProofStrength.NONE:
            error.hint = tell(
                "{hint}; what the service has signed is kept: `{command} --output FILE` writes it to a file",
                hint=error.hint,
                command=command,
            )
        case _:
            error.hint = tell(
                "{hint}; what the service has signed is kept, and is proof: "
                "`{command} --output FILE` writes it to a file",
                hint=error.hint,
                command=f"{command} --with-cards" if kept is ProofStrength.WITH_CARDS else command,
            )


def _kept(
    vault: Vault,
    pins: Pins,
    known: Sequence[Line],
    sent: Sequence[Line],
    view: SignedEntry | None,
    head: SignedHead | None,
) -> ProofStrength | None:
    """Returns how much the kept statements prove; None if there was nothing to keep."""
    game, key = vault.game, pins.server_key
    views = readable_view(view)
    heads = (head,) if head else ()
    old = set(map(format_line, known))
    lines = [line for line in sent if format_line(line) not in old]
    if key is None or not ServiceStatements(key, game, EntryTree(game, lines), views, heads).any:
        return None
    statements = of_game((*lines, *views, *heads), game)
    return KeptEvidence(vault.folder).refuse_and_weigh(game, known, statements, {**pins.every, "server": (key,)})
