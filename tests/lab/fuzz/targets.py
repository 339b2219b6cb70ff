"""Every fuzz target, by name."""

from __future__ import annotations

from typing import Final

from tests.lab.fuzz import of_clients, of_evidence, of_games, of_keys, of_logs, of_mails, of_rules, of_service
from tests.lab.fuzz.target import Target

_MODULES: Final = (of_logs, of_games, of_evidence, of_keys, of_rules, of_clients, of_service, of_mails)

TARGETS: Final[dict[str, Target]] = {target.name: target for module in _MODULES for target in module.TARGETS}
