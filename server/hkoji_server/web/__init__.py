"""The pages of a service, for people with a browser: docs/spec/http.md, "Pages".

`pages` answers the addresses, `game_page` says what the page of a game shows, and `rendering` turns values into HTML by
the templates in `templates/`. `static_files` serves what pages load. Pages depend on public things only, so no HTML
holds a private card; what a player may see besides is fetched by scripts, from the same addresses that programs use.
"""
