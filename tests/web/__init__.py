"""Tests of the pages in real browsers. A package, so that one Chromium serves its files and ends with them."""
