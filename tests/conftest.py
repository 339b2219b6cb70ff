"""Hypothesis profiles: `default` is the same on every run, `long` goes further (HYPOTHESIS_PROFILE=long).

Tests speak English and have no settings, whoever runs them. The game of the recipe joins them all.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

from tests.toy import register

_SLOW_OK = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "default", derandomize=True, database=None, deadline=None, max_examples=80, suppress_health_check=_SLOW_OK
)
settings.register_profile("long", database=None, deadline=None, max_examples=5000, suppress_health_check=_SLOW_OK)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

for _name in ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG", "HKOJI_LANG", "HKOJI_DECK"):
    os.environ.pop(_name, None)
os.environ["HKOJI_CONFIG"] = os.devnull

register()
