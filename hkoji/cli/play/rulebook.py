"""`hkoji rules` and `hkoji deck`: the rules of a game in the words of an edition, and its cards in a generic deck."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from hkoji.cli.language import _, current, translate
from hkoji.cli.output import out
from hkoji.cli.settings import chosen_deck
from hkoji.cli.terminal import columns
from hkoji.errors import UsageError
from hkoji.manual.rules_pages import page
from hkoji.messages.text import LANGUAGES, shorten, tell
from hkoji.rules.editions import EDITIONS, Edition, find_edition
from hkoji.rules.hanamikoji.actions import NAMES
from hkoji.rules.registry import DEFAULT
from hkoji.show.deck import DeckCard
from hkoji.show.games import find_deck
from hkoji.show.hanamikoji.everdeck import spelled


def show_rules(game: str | None, edition: str | None) -> None:
    """A game's rules, or an edition's. Raises `UsageError`."""
    chosen = find_edition(edition) if edition is not None else None
    name = game or (chosen.ruleset if chosen else DEFAULT)
    games = list(dict.fromkeys(each.ruleset for each in EDITIONS))
    if name not in games:
        raise UsageError(
            tell("there are no rules of {name!r} here", name=shorten(name)),
            hint=tell("there are rules of {names}", names=", ".join(games)),
        )
    if chosen is not None and chosen.ruleset != name:
        raise UsageError(
            tell("{edition} is an edition of {game}", edition=chosen.name, game=chosen.ruleset),
            hint=tell("see all with `hkoji rules --list`"),
        )
    editions = [each for each in EDITIONS if each.ruleset == name and chosen in (None, each)]
    value = {
        "ruleset": name,
        "editions": [edition_json(each) for each in editions],
        "text": {lang: page(name, lang, chosen) for lang in LANGUAGES},
    }
    out.result(value, lambda: page(name, current(), chosen), paged=True)


def show_editions() -> None:
    """All editions."""
    out.result([edition_json(edition) for edition in EDITIONS], lambda: "\n".join(_listed()))


def edition_json(edition: Edition) -> dict[str, Any]:  # Any: JSON
    """An edition for programs. docs/json.md."""
    return {
        "edition": edition.name,
        "ruleset": edition.ruleset,
        "language": edition.language,
        "options": dict(edition.options),
        "words": dict(edition.words),
        "deck": edition.deck,
        "command": edition.command,
    }


def _listed() -> Iterator[str]:
    if out.plain:
        for each in EDITIONS:
            yield _(
                "{edition}: {title}; begin with: {command}",
                edition=each.name,
                title=translate(each.title),
                command=each.command,
            )
        return
    rows = [(_("edition"), _("title"), _("to play it"))]
    rows += [(each.name, translate(each.title), each.command) for each in EDITIONS]
    first, second = (max(len(row[n]) for row in rows) for n in (0, 1))
    for number, (name, title, command) in enumerate(rows):
        line = f"{name:{first}}  {title:{second}}  {command}"
        # Wider than a screen: the command goes on a line of its own.
        shown = line if len(line) <= 80 else f"{name:{first}}  {title}\n{'':{first}}    {command}"
        yield shown if number else out.style.paint(shown, "dim")


USUAL: Final = "everdeck"
"""The deck that is listed where none is chosen."""


def show_deck() -> None:
    """Lists the cards to pick, of the Everdeck if no deck is chosen. Raises `UsageError` for the games' own cards."""
    deck = chosen_deck() or find_deck(USUAL)
    cards = deck.cards()
    if not cards:
        raise UsageError(
            tell("the deck {deck!r} is each game's own cards: there is no list", deck=deck.name),
            hint=tell("see `hkoji deck --deck {deck}`", deck=USUAL),
        )
    value = {
        "deck": deck.name,
        "cards": sum(len(card.ranks) for card in cards),
        "pick": [{**card._asdict(), "owner": card.owner or None} for card in cards],
    }
    out.result(value, lambda: "\n".join(_plain(cards) if out.plain else _table(cards, value["cards"])))


def _suit(card: DeckCard) -> str:
    return translate(spelled(card.suit))


def _action(card: DeckCard) -> str:
    return translate(NAMES[int(card.stands_for)])


def _table(cards: Sequence[DeckCard], total: object) -> Iterator[str]:
    """The geisha with their items, then the action cards of both players."""
    geisha = [card for card in cards if card.use == "geisha"]
    items = {card.suit: card for card in cards if card.use == "item"}
    rows: list[tuple[str, ...]] = [("", _("suit"), _("geisha card"), _("item cards"))]
    rows += [(card.stands_for, _suit(card), card.ranks[0], " ".join(items[card.suit].ranks)) for card in geisha]
    yield from _titled(rows)
    yield ""
    actions = [card for card in cards if card.use == "action"]
    owners = {card.owner: _suit(card) for card in actions}
    titles = {"host": _("host: {suit}", suit=owners["host"]), "guest": _("guest: {suit}", suit=owners["guest"])}
    rows = [(_("action"), *(titles[owner] for owner in owners))]
    for card in actions:
        if card.owner == "host":
            ranks = [each.ranks[0] for each in actions if each.stands_for == card.stands_for]
            rows.append((f"{card.stands_for} {_action(card)}", *ranks))
    yield from _titled(rows)
    yield ""
    yield _("{n} cards in all.", n=total)


def _titled(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    head, *lines = columns(rows)
    yield out.style.paint(head, "dim")
    yield from lines


def _plain(cards: Sequence[DeckCard]) -> Iterator[str]:
    """One sentence for each line of the table."""
    for card in cards:
        ranks = ", ".join(card.ranks)
        if card.use == "geisha":
            yield _("Geisha {kind}: the {rank} of {suit}.", kind=card.stands_for, rank=ranks, suit=_suit(card))
        elif card.use == "item":
            yield _("Items of {kind}: {ranks} of {suit}.", kind=card.stands_for, ranks=ranks, suit=_suit(card))
        elif card.owner == "host":
            yield _("The host's {action}: the {rank} of {suit}.", action=_action(card), rank=ranks, suit=_suit(card))
        else:
            yield _("The guest's {action}: the {rank} of {suit}.", action=_action(card), rank=ranks, suit=_suit(card))
