"""The service, the Chromium and the pages of `tests/web`."""

from tests.web.conftest import (
    asked_about_names,
    chromium,
    desk,
    faults,
    guest,
    guest_browser,
    host,
    onlooker,
    phone,
    phone_of_onlookers,
    service,
    shared_desk,
    shared_phone,
    tab,
    visitor,
)

__all__ = [
    "asked_about_names",
    "chromium",
    "desk",
    "faults",
    "guest",
    "guest_browser",
    "host",
    "onlooker",
    "phone",
    "phone_of_onlookers",
    "service",
    "shared_desk",
    "shared_phone",
    "tab",
    "visitor",
]
