"""Every fuzz target, by name."""

from __future__ import annotations

from typing import Final

from scripts.fuzzing import of_clients, of_evidence, of_keys, of_logs, of_rules, of_service
from scripts.fuzzing.target import Target

TARGETS: Final[dict[str, Target]] = {
    target.name: target
    for module in (of_logs, of_evidence, of_keys, of_rules, of_clients, of_service)
    for target in module.TARGETS
}
