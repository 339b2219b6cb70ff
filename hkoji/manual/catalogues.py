"""The catalogues of translations in `hkoji/locale`."""

from __future__ import annotations

import gettext
from pathlib import Path
from typing import Final

from hkoji.messages.text import ENGLISH, Catalogue, Speaker, speaker

LOCALE: Final = Path(__file__).parents[1] / "locale"
DOMAIN: Final = "hkoji"


def load_catalogue(language: str) -> Catalogue:
    """Reads the catalogue of a language. Raises `FileNotFoundError` if it has none; English needs none."""
    return gettext.translation(DOMAIN, LOCALE, [language])


def load_speaker(language: str) -> Speaker:
    """Returns a speaker of one of `LANGUAGES`. Raises `FileNotFoundError` for a language without a catalogue."""
    return speaker(None if language == ENGLISH else load_catalogue(language))
