"""The texts of templates, and the way from a key to its text in a language. The texts of scripts are in `script_texts`.

A text with values names each of them twice, in the message and as a value: so a table can be read, and a test can
compare the names in both languages. Templates may use the texts of scripts too. A section is named after its page.
"""

from __future__ import annotations

from typing import Final

from hkoji.messages.text import Speaker, Text, plural, tell
from hkoji_server.web.script_texts import WORDS

TEXTS: Final[dict[str, Text]] = {
    # --- every page
    "base.check": tell("Check a log"),
    "base.home": tell("Home"),
    "base.me": tell("Your key"),
    "base.more": tell("More pages"),
    # --- lists of games
    "list.clock": tell("Clock: {clock}.", clock="{clock}"),
    "list.invites": tell("{host} invites {guest}", host="{host}", guest="{guest}"),
    "list.players": tell("{host} and {guest}", host="{host}", guest="{guest}"),
    "list.turn": tell("It is {name}'s turn.", name="{name}"),
    "list.waits": tell("{host} waits for an opponent", host="{host}"),
    # --- boards
    "board.aside": tell("removed"),
    "board.deck": plural("{n} card to draw", "{n} cards to draw", 1),
    "board.lamps": tell("next lanterns"),
    "board.nobody": tell("nobody yet"),
    "board.offer": tell("on offer"),
    # --- how to play
    "how": tell("How to play"),
    "how.hanamikoji.down": tell(
        "A secret is one card face down, which counts when the round ends. A trade-off is two cards that nobody gets."
    ),
    "how.hanamikoji.end": tell(
        "The favour of four geisha wins, and so does that of geisha with 11 charm together. Until then another round "
        "follows, and favours stay."
    ),
    "how.hanamikoji.offers": tell(
        "For a gift you show three cards: the other player takes one, and two are yours. For a competition you show "
        "two pairs: the other player takes one pair."
    ),
    "how.hanamikoji.row": tell(
        "Each geisha has as many cards as charm. When the round ends, she favours the player with more of them."
    ),
    "how.hanamikoji.turn": tell("In each of your four turns you draw a card and take one of four actions, each once."),
    "how.road.end": tell("More points win the round, and two rounds win the game."),
    "how.road.influence": tell(
        "When the round ends, the higher sum of cards wins a geisha, the points of her lanterns, and her marker. The "
        "marker counts one half."
    ),
    "how.road.start": tell("Five geisha begin at home. Their cards have the numbers 1 to 4."),
    "how.road.turn": tell(
        "In each of your four turns you draw a card and take one action, each once: reveal a card; lay two face down, "
        "of which the first counts at the end; show three cards, or two pairs, of which the other player chooses first."
    ),
    "how.road.walk": tell(
        "A card on your side moves its geisha on by its number. If she stops exactly at home, a lantern with points is "
        "hung up for her."
    ),
    # --- front
    "front.address": tell("Address"),
    "front.finished": tell("Games that are over"),
    "front.finished.none": tell("No game is over yet."),
    "front.friend": tell("Play with a friend"),
    "front.key": tell("Key"),
    "front.key.text": tell(
        "The service signs every entry of every game with this key. Compare it with that which your friends see."
    ),
    "front.link": tell("In the browser"),
    "front.link.script": tell("This needs JavaScript. Watching, reading and stepping through games do not."),
    "front.link.text": tell("Make a game here, and send its link to a friend. Neither of you installs anything."),
    "front.open": tell("Games that wait for an opponent"),
    "front.open.none": tell("No game is open to everybody now."),
    "front.playing": tell("Games that are being played"),
    "front.playing.none": tell("No game is being played now."),
    "front.programs": tell("For programs:"),
    "front.registration.closed": tell("Nobody can register here now."),
    "front.registration.code": tell("To register here you need a code from the operator."),
    "front.registration.open": tell("Anybody can register here."),
    "front.rules": tell("Rules of {game}", game="{game}"),
    "front.service": tell("This service"),
    "front.shell": tell("In a terminal"),
    "front.shell.text": tell(
        "Install the program hkoji, which needs Python 3.11 or later; the operator knows where to get it. Then type:"
    ),
    "front.title": tell("Two people, a few cards, and all the time you like"),
    # --- home and new game
    "home.answer": tell("Look at it"),
    "home.copy": tell("Copy"),
    "home.decline": tell("Decline"),
    "home.games": tell("Your games"),
    "home.games.none": tell("You have no game yet. Make one below, and send its link to a friend."),
    "home.invited": tell("Invitations to you"),
    "home.key": tell("Finish your key"),
    "home.link": tell("Its link"),
    "home.share": tell("Share"),
    "home.take": tell("Join"),
    "home.take_back": tell("Take back"),
    "home.waiting": tell("Waiting for somebody to join"),
    "home.waiting.text": tell("Anybody who has a link can join, once: send each to one friend only."),
    "new.clock": tell("Clock"),
    "new.clock.1d/7d": tell("1 day for each turn, and 7 days in reserve"),
    "new.clock.3d/14d": tell("3 days for each turn, and 14 days in reserve"),
    "new.clock.none": tell("No clock: nobody can lose on time"),
    "new.game": tell("Game"),
    "new.key": tell("Make a key first, or bring yours"),
    "new.limit": plural(
        "In the first 24 hours after you register you can ask for {n} game. A rematch counts too, and so does a game "
        "that you take back.",
        "In the first 24 hours after you register you can ask for {n} games. A rematch counts too, and so does a game "
        "that you take back.",
        1,
    ),
    "new.more": tell("Other options, other clocks and series:"),
    "new.name": tell("For a player of this service"),
    "new.name.text": tell("Leave it empty to get a link for a friend."),
    "new.open": tell("Make the game"),
    "new.rated": tell("Rated, if there is a clock"),
    # --- invitation
    "invite.bring_key": tell("Bring your key"),
    "invite.checked": tell(
        "Checked by this page, which comes from this service; the command hkoji join checks without trusting it."
    ),
    "invite.clock": tell("Clock"),
    "invite.copy_link": tell("Copy the whole link"),
    "invite.elsewhere": tell(
        "Copy the link, and open it in your own browser: one inside of another program may forget your key."
    ),
    "invite.have_key": tell("You have played here before?"),
    "invite.make_key": tell("Make my key"),
    "invite.name_form": tell("Small letters, digits, - and _; everybody can see it."),
    "invite.next": tell(
        "After you have joined, the cards are dealt when your friend's program answers. To come back, open the same "
        "link in this browser."
    ),
    "invite.operator_code": tell("Code from the operator of this service"),
    "invite.options": tell("Options"),
    "invite.rated": tell("Rating"),
    "invite.right": tell("Open this invitation at the address of the service"),
    "invite.until": tell("Open until"),
    "invite.your_name": tell("Your name in games"),
    "invite.ADDRESS": tell("ADDRESS"),
    "invite.NAME": tell("NAME"),
    "invite.code": tell(
        "The part of the address after the # is the code of the invitation. Anybody who has the whole address can "
        "join, once: do not pass it on."
    ),
    "invite.description": tell("A card game for two, in turns, whenever you have a minute. Open the link to play."),
    "invite.install": tell("Install hkoji, which needs Python 3.11 or later."),
    "invite.install.ask": tell("The person who invited you knows where to get it."),
    "invite.join": tell("Join, with the whole address of this page, in quotes:"),
    "invite.name": tell("Choose a name:"),
    "invite.script": tell("To play in this browser, allow JavaScript for this page. Else play in a terminal."),
    "invite.shell": tell("Play in a terminal"),
    "invite.shell.text": tell(
        "The program hkoji checks everything without trusting this service, and this service never sees the code."
    ),
    "invite.title": tell("You are invited to a game"),
    "invite.what": tell(
        "The address of this page is an invitation to a game for two. You play it in turns; a visit takes a minute or "
        "two, and you come back when it is your turn."
    ),
    # --- game
    "game.annul": tell("{name} wishes to call the game off.", name="{name}"),
    "game.at": tell("entry {seq}", seq="{seq}"),
    "game.back": tell("Back"),
    "game.before": tell("Before the first round"),
    "game.eyes.all": tell("All cards"),
    "game.eyes.guest": tell("As the guest saw it"),
    "game.eyes.host": tell("As the host saw it"),
    "game.eyes.none": tell("As a spectator saw it"),
    "game.first": tell("To the beginning"),
    "game.forward": tell("Forward"),
    "game.last": tell("To the last entry"),
    "game.log": tell("Log"),
    "game.log.check": tell("Check it in this browser"),
    "game.log.get": tell("The signed log"),
    "game.log.what": tell(
        "Each entry is signed by its author, and the service has signed its place and time. Up to entry {seq} the log "
        "has this head, which stands for all that was played:",
        seq="{seq}",
    ),
    "game.moved": tell("{name} has moved.", name="{name}"),
    "game.moves": tell("Moves"),
    "game.news": tell("There is something new."),
    "game.open.until": tell("Anybody may join until"),
    "game.reserves": tell(
        "In reserve when the turn began: {host} {first}, {guest} {second}.",
        host="{host}",
        first="{first}",
        guest="{guest}",
        second="{second}",
    ),
    "game.round": tell("Round {number}", number="{number}"),
    "game.show": tell("Show it"),
    "game.shell": tell("To look at it or to play it, in a terminal:"),
    "game.steps": tell("Steps"),
    "game.table": tell("The table"),
    "game.terms": tell("The agreement"),
    "game.turn": tell("Turn the table round"),
    "game.until": tell("The time of {name} ends:", name="{name}"),
    "game.words": tell("The board in words"),
    # --- the player's part of a game
    "play.annul": tell("Ask to call the game off"),
    "play.cancel": tell("Take the invitation back"),
    "play.cards": tell("All cards"),
    "play.choices": tell("Your choices"),
    "play.competition": tell("Competition"),
    "play.competition.hint": tell("Your opponent takes one pair, you the other."),
    "play.copy": tell("Copy"),
    "play.days": plural("{n} day", "{n} days", 1),
    "play.decline": tell("Decline"),
    "play.evidence": tell("Save evidence"),
    "play.evidence.cards": tell("with my cards"),
    "play.gift": tell("Gift"),
    "play.gift.hint": tell("Your opponent takes one, you the other two."),
    "play.give": tell("Give your opponent time:"),
    "play.give.do": tell("Give"),
    "play.hand": tell("Your hand"),
    "play.intrigue": tell("Intrigue"),
    "play.intrigue.hint": tell("Face down: one is kept, the other is out."),
    "play.join": tell("Join"),
    "play.kinds": tell("Your action"),
    "play.link": tell("The link for your friend"),
    "play.more": tell("More"),
    "play.rematch": tell("Rematch"),
    "play.resign": tell("Resign"),
    "play.reveal": tell("Reveal"),
    "play.reveal.hint": tell("Face up: its geisha walks at once."),
    "play.secret": tell("Secret"),
    "play.secret.hint": tell("Face down: it counts when the round ends."),
    "play.since": tell("Since you were here"),
    "play.talk": tell("Messages"),
    "play.talk.new": tell("A message to your opponent"),
    "play.talk.send": tell("Send"),
    "play.through": tell("Look through"),
    "play.trade-off": tell("Trade-off"),
    "play.trade-off.hint": tell("Face down: they count for nobody."),
    "play.withdraw": tell("Go on after all: withdraw the wish to call the game off"),
    # --- player
    "player.compare": tell(
        "If you know {name}, compare this fingerprint on another way, such as the telephone.", name="{name}"
    ),
    "player.compare.do": tell("I have compared this fingerprint"),
    "player.earlier": tell("Earlier keys"),
    "player.fingerprint": tell("Fingerprint"),
    "player.games": tell("Games"),
    "player.games.none": tell("There are no games yet."),
    "player.held": tell("{name} plays by mail: the service keeps this key, and signs with it.", name="{name}"),
    "player.key": tell("Key"),
    "player.more": tell("More games"),
    "player.revoked": tell("This key is revoked. {name} has no other key yet.", name="{name}"),
    "player.since": tell("Registered"),
    "player.until": tell("replaced on {time}", time="{time}"),
    "player.until.revoked": tell("revoked on {time}", time="{time}"),
    # --- rules
    "rules.more": tell("In a terminal, `hkoji rules` shows this page, with the words of each edition of the game."),
    "rules.title": tell("Rules of {game}", game="{game}"),
    # --- check
    "check.FILE": tell("FILE"),
    "check.file": tell("A log file"),
    "check.head": tell("The last entry that holds has the head"),
    "check.not": tell("Steps 8 and 9, the rules and the result, are not checked here, but by the command below."),
    "check.pins": tell("Keys that I expect"),
    "check.pins.what": tell("In each line a name and a key, as the player has given it to you by another way:"),
    "check.rules": tell(
        "The command checks the rules of the game too: that each move was legal, and each card the one that was dealt."
    ),
    "check.script": tell("This needs JavaScript. In a terminal, the command below checks more."),
    "check.shell": tell("In a terminal"),
    "check.step.1": tell("Every line has the form of the log format."),
    "check.step.2": tell("Each entry follows the one before it."),
    "check.step.3": tell("The keys are the expected ones, and none is weak."),
    "check.step.4": tell("Each entry is signed by its author."),
    "check.step.5": tell("Receipts, times and clocks fit together."),
    "check.step.6": tell("All that was hidden and is open now was committed to."),
    "check.step.7": tell("Chance decided as seed and entropy say."),
    "check.title": tell("Check a log"),
    "check.trust": tell(
        "Checked by this page, which comes from this service. The command checks without trusting the service."
    ),
    "check.what": tell(
        "Choose the log of a game. This page checks signatures, chain, clock and deal in this browser, and sends the "
        "file nowhere."
    ),
    # --- me
    "me.COPY": tell("COPY"),
    "me.block": tell("Block"),
    "me.block.name": tell("Name"),
    "me.blocks": tell("Blocked players"),
    "me.blocks.none": tell("You have blocked nobody."),
    "me.bring": tell("Bring your key"),
    "me.bring.do": tell("Use this key"),
    "me.bring.file": tell("Its file"),
    "me.bring.locked": tell(
        "This file has a passphrase, and this page does not read such files. Make a copy without one, choose that, and "
        "delete it:"
    ),
    "me.bring.name": tell("The name of this key"),
    "me.bring.password": tell("Use this password"),
    "me.bring.paste": tell("Or its text"),
    "me.bring.text": tell(
        "You have a key already? Let your password manager fill it in, or choose its file, or paste it. It stays in "
        "this browser."
    ),
    "me.channel.code": tell("Code"),
    "me.channel.confirm": tell("Confirm"),
    "me.channel.remove": tell("Remove"),
    "me.channels": tell("Where you are told that it is your turn"),
    "me.channels.text": tell("Another address is added with the command"),
    "me.choices": tell("Your choices"),
    "me.forget": tell("Forget me here"),
    "me.forget.text": tell(
        "Everything that this browser keeps for this service is deleted, your key too. Your name and your games stay: "
        "with a copy of the key you play on in any browser. Without a copy they are lost to you."
    ),
    "me.held": tell("With these keys the service can sign for you, because you play by mail too:"),
    "me.invites": tell("Invitations from"),
    "me.invites.everyone": tell("Everybody"),
    "me.invites.known": tell("Past opponents, and players whose keys you have compared"),
    "me.invites.nobody": tell("Nobody"),
    "me.kept": tell("Kept in this browser"),
    "me.kept.pins": tell("Keys of other players:"),
    "me.left": tell(
        "You have logged out. The key is still here, and cannot be copied from this browser. Anybody who uses this "
        "browser can log in with it."
    ),
    "me.log_out": tell("Log out"),
    "me.log_out.text": tell(
        "This browser forgets your cards, ends your login and tells you nothing more. It keeps the key. On a device of "
        "somebody else press Forget me here instead."
    ),
    "me.make": tell("Make a key"),
    "me.make.do": tell("Make my key"),
    "me.make.text": tell(
        "A key is what makes you the player of your name. It is made in this browser and signs your moves here. If you "
        "play by mail already, type the name that you have: you will be asked for the code of a letter."
    ),
    "me.name": tell("Name"),
    "me.name.form": tell("2 to 32 small letters, digits, - and _. Everybody sees it."),
    "me.other": tell(
        "Another key counts for this name now: you have replaced this one somewhere else. Bring that key here. Games "
        "that still name this key wait for it where both keys are."
    ),
    "me.page": tell("Your page"),
    "me.private": tell("In a private window the key is lost when you close it. Use an ordinary one."),
    "me.push": tell("Told in this browser"),
    "me.recover": tell("Your code"),
    "me.recover.code": tell("Code"),
    "me.recover.do": tell("Make this my key"),
    "me.recover.text": tell(
        "This name needs a code before it takes the new key. Somebody who plays by mail gets it in a letter, in answer "
        "to own key. After a lost or revoked key, ask the operator. Save the new key first."
    ),
    "me.register": tell("Register"),
    "me.register.code": tell("Code of the operator"),
    "me.register.do": tell("Register this name"),
    "me.register.text": tell("Save your key first. Then the name is yours, as long as you have the key."),
    "me.replace": tell("Replace the key"),
    "me.replace.do": tell("Make a new key"),
    "me.replace.text": tell(
        "A new key takes the place of this one for logins and new games at once, and in each game that goes on with "
        "your next turn. Do it when a copy may be in wrong hands and nobody has used it."
    ),
    "me.revoke": tell("Revoke the key"),
    "me.revoke.do": tell("Revoke my key now"),
    "me.revoke.text": tell(
        "Nothing that this key signs counts any more, at once, and you cannot take it back. You play on when the "
        "operator has given you a code for a new key. Do it when somebody else uses your key."
    ),
    "me.revoked": tell("This key is revoked. Make a new one, save it, and ask the operator for a code."),
    "me.script": tell("Your key lives in this browser, and this page needs JavaScript to use it."),
    "me.service": tell(
        "Compare the key of the service with somebody who plays here, or with its operator. Nothing is signed before."
    ),
    "me.service.confirm": tell("I have compared it"),
    "me.title": tell("Your key"),
    "me.unblock": tell("Unblock"),
    # --- a copy of a key
    "save.again": tell("Choose the file again"),
    "save.compare": tell("Compare"),
    "save.copy": tell("Copy as text"),
    "save.file": tell("Save the file"),
    "save.have": tell("I have it"),
    "save.letters": tell("Key as 52 letters"),
    "save.mode": tell("If others use this computer too:"),
    "save.password": tell("Keep it in the password manager"),
    "save.paste": tell("Or paste it here"),
    "save.prove": tell("Is the copy good?"),
    "save.prove.text": tell("Then this browser forgets how to copy the key, so nobody can take it from here."),
    "save.share": tell("Share the file"),
    "save.text": tell(
        "The key alone makes you the player of this name. Keep a copy in one or two places of your own: without a copy "
        "the name is lost with this browser."
    ),
    "save.title": tell("Save your key"),
    "save.username": tell("Name"),
    # --- error
    "error.home": tell("To the front page"),
    "error.title": tell("This did not work"),
}
"""The texts of templates, by key."""


def worded(key: str, say: Speaker, values: dict[str, object]) -> str:
    """Returns the text of a key in the speaker's language; `n` among the values decides between one and many.

    Raises `KeyError` for a key that is in no table, or a value that is missing.
    """
    text = TEXTS.get(key) or WORDS[key]
    number = values.get("n", 1)
    return say(Text(text.template, values, text.many, number if isinstance(number, int) else 1))


def words_in(say: Speaker) -> dict[str, str | list[str]]:
    """Returns the texts of scripts in the speaker's language, with names in braces for values.

    A text that depends on a number is a list of two: the one for 1, and the one for all others.
    """
    return {key: _forms(text, say) for key, text in sorted(WORDS.items())}


def _forms(text: Text, say: Speaker) -> str | list[str]:
    if not text.many:
        return say(text)
    values = {**(text.values or {}), "n": "{n}"}
    return [say(Text(text.template, values, text.many, number)) for number in (1, 2)]
