"""The service, the browsers and the pages of `tests/web`."""

from tests.web.conftest import (  # noqa: F401 # fixtures
    asked_about_names,
    chromium,
    desk,
    faults,
    firefox,
    guest,
    guest_browser,
    host,
    onlooker,
    phone,
    playwright,
    service,
    shared_desk,
    shared_phone,
    tab,
    visitor,
    webkit,
    whole_chromium,
)
