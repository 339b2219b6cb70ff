"""The texts of the pages: `TEXTS` for templates, `WORDS` for scripts, which get them as `words.LANG.json`.

A text with values names each of them twice, in the message and as a value: so a table can be read, and a test can
compare the names in both languages. Templates may use `WORDS` too. A section of a table is named after its page.
"""

from __future__ import annotations

from typing import Final

from hkoji.messages.text import Speaker, Text, plural, tell

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

WORDS: Final[dict[str, Text]] = {
    # --- check
    "check-and": tell("{first} and {second}", first="{first}", second="{second}"),
    "check-archive": tell(
        "This file has several logs. The page checks one: take the first lines, up to the next entry 0."
    ),
    "check-busy": tell("Checking …"),
    "check-evidence": tell("This is a file of evidence. The command below judges it."),
    "check-fails": tell("{holds} of {n} entries hold.", holds="{holds}", n="{n}"),
    "check-found": tell("step {step}, entry {entry}: {why}", step="{step}", entry="{entry}", why="{why}"),
    "check-found-by": tell(
        "step {step}, entry {entry}: {why}. This convicts {who}.",
        step="{step}",
        entry="{entry}",
        why="{why}",
        who="{who}",
    ),
    "check-holds": plural("{n} entry holds.", "All {n} entries hold.", 2),
    "check-key": tell("{name}: {fingerprint}, as the log says", name="{name}", fingerprint="{fingerprint}"),
    "check-key-expected": tell("{name}: {fingerprint}, as expected", name="{name}", fingerprint="{fingerprint}"),
    "check-no-ed25519": tell(
        "This browser cannot check signatures here. It needs https, and Chrome 137, Firefox 129 or Safari 17."
    ),
    "check-no-game": tell("This service has no such game."),
    "check-no-log": tell("This is not the log of a game."),
    "check-no-pin": tell("Line {line} of the expected keys is not a name with a key.", line="{line}"),
    "check-step-fails": tell("does not hold"),
    "check-step-holds": tell("holds"),
    "check-step-none": tell("not reached"),
    "check-too-large": tell("This file is larger than 16 MB: no game has such a log."),
    "check-by-holder": tell("the service, for {name}", name="{name}"),
    "check-by-unpinned": tell("{name} with the unpinned key {fingerprint}", name="{name}", fingerprint="{fingerprint}"),
    "check-by-unpinned-holder": tell(
        "server with the unpinned key {fingerprint}, for {name}", fingerprint="{fingerprint}", name="{name}"
    ),
    "check-by-vouched": tell(
        "the key {fingerprint}, {name}'s by the word of the server alone", fingerprint="{fingerprint}", name="{name}"
    ),
    "check-call": tell("{name} has not signed that the game is called off", name="{name}"),
    "check-called-off-alone": tell("a game that nobody has joined cannot be called off"),
    "check-certificate": tell("the service has not signed the certificate of a held key"),
    "check-chain": tell("it does not follow the entry before it"),
    "check-chance": tell("chance is not what the committed seed gives"),
    "check-closed": tell("the end leaves cards closed"),
    "check-credit-place": tell("it gives time back where no time can be given back"),
    "check-cut-short": tell("it does not end in LF: the file is cut short"),
    "check-empty": tell("it is empty"),
    "check-entropy": tell("the entropy does not match its commitment"),
    "check-form": tell("{what} has not the form that the log format gives it", what="{what}"),
    "check-gift": tell("{name} has not signed the gift of time", name="{name}"),
    "check-gift-place": tell("the gift of time is not for this entry"),
    "check-joined-late": tell(
        "the guest joined at {at}, and the offer expired at {expires}", at="{at}", expires="{expires}"
    ),
    "check-key-file-locked": tell("the key file has a passphrase"),
    "check-key-file-type": tell("the key file has no Ed25519 key"),
    "check-lapse": tell("the game was open still, or nobody was invited by name who could decline"),
    "check-late": tell("it came at {at}, when the time was over", at="{at}"),
    "check-link": tell("the key of the link has not signed it"),
    "check-mail-grade": tell("its mail is weaker than {name} demands", name="{name}"),
    "check-mail-missing": tell("the service signs for {name}, and does not say by which mail", name="{name}"),
    "check-mail-own-key": tell("it is said to come by mail, and {name} signs with a key of their own", name="{name}"),
    "check-no-base64": tell("a signature is not base64"),
    "check-no-clock": tell("no clock runs"),
    "check-no-json": tell("it is not JSON"),
    "check-no-key": tell("it is not an Ed25519 key"),
    "check-no-key-file": tell("it is not an OpenSSH key file"),
    "check-no-letters": tell("a key has 52 letters and digits, from a to z and from 2 to 7"),
    "check-no-line": tell("it is not a line of a log"),
    "check-no-signer": tell("the log names no key of {name}", name="{name}"),
    "check-not-canonical": tell("a text is not canonical"),
    "check-not-understood": tell("{what} is not understood: a later version may know it", what="{what}"),
    "check-opening": tell("an opening does not match its commitment"),
    "check-outage-entry": tell("the service has accepted an entry in its outage"),
    "check-outage-place": tell("an outage is not between the entry before and this one"),
    "check-outage-way": tell("an outage is of a way that does not help this player"),
    "check-own-time": tell("its time, {at}, does not fit that of its receipt or of the entry before", at="{at}"),
    "check-proof": tell("the new key, or the old one, has not signed the change"),
    "check-receipt-earlier": tell("the receipt's time {at} is before that of the receipt before it", at="{at}"),
    "check-receipt-missing": tell("some entries have a receipt and this one has none"),
    "check-receipt-other": tell("the receipt is for another entry"),
    "check-receipt-unsigned": tell("the service has not signed the receipt"),
    "check-salt": tell("a salt has been used before"),
    "check-second-key": tell("it does not follow from the key of {name} that counted before", name="{name}"),
    "check-seed": tell("the seed does not match its commitment"),
    "check-seed-sealed": tell("the end must publish the seed exactly if its dealer says so"),
    "check-seen": tell("it says that the time of record before it is {seen}, and it is {at}", seen="{seen}", at="{at}"),
    "check-signature": tell("{name} has not signed it", name="{name}"),
    "check-timeout-early": tell("the timeout is of {at}, and there was time left", at="{at}"),
    "check-too-long": tell("a line or a text is too long"),
    "check-unexpected-key": tell("the log names another key of {name} than the one that was expected", name="{name}"),
    "check-weak-key": tell("a key is weak: many signatures fit it"),
    # --- keys, home, choices
    "channel-code": tell("waits for its code"),
    "channel-mail": tell("waits for your answer by mail"),
    "channel-off": tell("is off: notices did not arrive"),
    "channel-on": tell("is on"),
    "chosen": tell("Done."),
    "compared": tell("You have compared this key of {name}.", name="{name}"),
    "copy-differs": tell("This is another key than yours. Nothing was changed."),
    "copy-proved": tell("Good. From now on the key can sign here, and cannot be copied from here."),
    "copy-unproved": tell("First show that you have a copy of your key. Nothing was changed."),
    "forget-unproved": tell("You may have no copy of your key. Press again if the name may be lost."),
    "forget-unsent": plural(
        "{n} signed text has not been sent. Press again if it may be lost.",
        "{n} signed texts have not been sent. Press again if they may be lost.",
        1,
    ),
    "home-expires": tell("expires {time}", time="{time}"),
    "home-invites": tell("{name} invites you", name="{name}"),
    "home-mine": tell("Your turn {time}", time="{time}"),
    "home-over": tell("Over"),
    "home-theirs": tell("{name} is to play", name="{name}"),
    "kept-games": plural("{n} game with your cards", "{n} games with your cards", 1),
    "kept-unsent": plural("{n} signed text that waits to be sent", "{n} signed texts that wait to be sent", 1),
    "key-of-another": tell(
        "{name} has another key at this service, or nobody has this name. Nothing was kept.", name="{name}"
    ),
    "key-revoked": tell(
        "This key of {name} is revoked. Make a new one, and ask the operator for a code.", name="{name}"
    ),
    "me-back": tell("Log in as {name}", name="{name}"),
    "needs-ed25519": tell(
        "This browser cannot sign. Use Chrome 137, Firefox 129, Safari 17 or a later one. Watching works here too."
    ),
    "needs-https": tell("Keys need https. Ask the operator for such an address. Watching works here too."),
    "no-clipboard": tell("This browser does not let the page copy. Mark the text, and copy it yourself."),
    "no-such-player": tell("Nobody here is called {name}.", name="{name}"),
    "opened-for": tell("The game waits for {name}.", name="{name}"),
    "opened-link": tell("Here is the link. Send it to one friend."),
    "pin-compared": tell("compared by you"),
    "pin-differs": tell(
        "You know {name} with another key: {fingerprint}. Compare before you play.",
        name="{name}",
        fingerprint="{fingerprint}",
    ),
    "pin-followed": tell("signed by the earlier key"),
    "pin-link": tell("came by your link"),
    "pin-seen": tell("seen in a game"),
    "registration-closed": tell("Nobody can register here now. A name that you have already can be used."),
    "replace-save": tell("Save the new key. It replaces the old one when you have shown its copy."),
    "replaced": tell("The new key counts now. Each game follows on your next turn."),
    "save-kept": tell("Now look whether it is there, and show the copy below."),
    "their-key-revoked": tell("The key of {name} is revoked. Nobody can invite {name} now.", name="{name}"),
    "unsent": plural(
        "{n} signed text has not been sent yet. Open its game first. Nothing was changed.",
        "{n} signed texts have not been sent yet. Open their games first. Nothing was changed.",
        1,
    ),
    # --- the client: why something is refused, and remarks
    "another-game": tell("The service has answered with another game. Nothing was accepted."),
    "another-key": tell(
        "{name} plays with another key than before: {shown}, not {known}. Nothing was accepted. Ask {name}, but not "
        "through this service, which key is right.",
        name="{name}",
        shown="{shown}",
        known="{known}",
    ),
    "another-key-mine": tell(
        "This game names another key for your name {name}: {shown}, not {known}. Nothing was accepted.",
        name="{name}",
        shown="{shown}",
        known="{known}",
    ),
    "another-receipt": tell("The service has given two receipts for entry {entry}.", entry="{entry}"),
    "card-not-shown": tell(
        "You have played a card in entry {entry} that the service has not dealt to you.", entry="{entry}"
    ),
    "clock-of-device": plural(
        "The clock of this device differs from that of the service by {n} minute.",
        "The clock of this device differs from that of the service by {n} minutes.",
        1,
    ),
    "deadline-differs": tell(
        "By the log the time is over at {deadline}, and the service says {told}.", deadline="{deadline}", told="{told}"
    ),
    "dealer-alone": tell(
        "The dealer of this game is {dealer}, so the service alone could choose the cards. Nothing was signed.",
        dealer="{dealer}",
    ),
    "entropy-elsewhere": tell(
        "This game waits for a number that you have drawn in another program. Open the game there once."
    ),
    "entry-late": tell(
        "The service has taken entry {entry} after its deadline. Nothing was accepted.", entry="{entry}"
    ),
    "game-changed": tell("The game has changed since it was shown to you. Nothing was signed: load the page again."),
    "head-differs": tell("Entry {entry} is another one than the service has signed before.", entry="{entry}"),
    "head-false": tell("The service has not signed its head of the game."),
    "head-later": tell(
        "The service has signed that entry {entry} was not there yet, and now it has an earlier time.", entry="{entry}"
    ),
    "head-time": tell("The service has just signed a time that is far off its clock: {at}.", at="{at}"),
    "held-elsewhere": tell(
        "The key that signs for {name} is certified by another service, {origin}. Nothing was accepted.",
        name="{name}",
        origin="{origin}",
    ),
    "held-instead": tell(
        "The service says that it signs for {name}, and you know {name} with a key of their own. Nothing was accepted. "
        "Ask {name}, but not through this service.",
        name="{name}",
    ),
    "held-player": tell("{name} plays by mail, and the service signs for {name}.", name="{name}"),
    "held-since": tell(
        "From entry {entry} on the service signs for {name} too, by mail, as {name} has signed.",
        entry="{entry}",
        name="{name}",
    ),
    "invited-other": tell("This game invites another player, or another key of yours. Nothing was signed."),
    "key-elsewhere": tell(
        "This game names an earlier key of yours that is not here. Open the game where you have that key."
    ),
    "key-followed": tell(
        "{name} has another key now, and the old key has signed for it: {fingerprint}",
        name="{name}",
        fingerprint="{fingerprint}",
    ),
    "key-named-already": tell("This game keeps your earlier key, because it names your new key already."),
    "key-vouched": tell(
        "The service says that {name} has lost the old key and now has {shown}. Only the service says so. Compare the "
        "key with {name}, but not through this service.",
        name="{name}",
        shown="{shown}",
    ),
    "legal-outside-hand": tell(
        "The service offers {action}, with a card that it has not dealt to you. Nothing was signed.", action="{action}"
    ),
    "link-cancelled": tell("The host has taken this invitation back."),
    "link-declined": tell("This invitation was declined."),
    "link-differs": tell(
        "This link does not fit the game. It may be mistyped: compare it with your friend. Nothing was signed."
    ),
    "link-expired": tell("This invitation has expired. Ask your friend for another link."),
    "link-not-open": tell("Nobody has opened this game yet."),
    "link-used": tell(
        "This link has been used. Was it you? Then open the browser in which you joined, or bring your key."
    ),
    "log-differs": tell("The service shows another game than before. Nothing was accepted."),
    "log-fails": tell(
        "The log does not hold. Step {step}, entry {entry}: {why}.", step="{step}", entry="{entry}", why="{why}"
    ),
    "log-shorter": tell("The service shows fewer entries than before. Nothing was accepted."),
    "login-elsewhere": tell(
        "The service asks for a login at another address, {origin}. Nothing was signed.", origin="{origin}"
    ),
    "no-receipt": tell("The service has left out receipts. Nothing was accepted."),
    "not-legal-now": tell(
        "{action} is not possible now: the game has moved on. Nothing was signed.", action="{action}"
    ),
    "offer-differs": tell("The service offers another game than you have asked for. Nothing was signed."),
    "other-origin": tell("This service is called {origin}. Open it there.", origin="{origin}"),
    "other-service-key": tell(
        "Another service was at this address before. Its key is now {fingerprint}. Nothing was signed.",
        fingerprint="{fingerprint}",
    ),
    "own-game": tell("This is your own game. Somebody else has to join it."),
    "place-taken": tell(
        "Another entry stands in the place {entry} of the one that you have signed here.", entry="{entry}"
    ),
    "problem-conflict": tell("The game has moved on. Nothing was changed: look at it and choose again."),
    "problem-exists": tell("This name is taken. Choose another one: your key stays the same."),
    "problem-forbidden": tell("The service does not allow this. It says: {detail}", detail="{detail}"),
    "problem-no-answer": tell("The service does not answer. Your signed texts are kept here and will be sent."),
    "problem-other": tell("The service says: {detail}", detail="{detail}"),
    "problem-time-over": tell("It came too late: the time is over."),
    "problem-too-many-games": tell(
        "You have asked for too many games. A new player can ask for a few games in the first day."
    ),
    "receipt-false": tell("The service has not signed a receipt for entry {entry}.", entry="{entry}"),
    "receipt-time": tell("The service has recorded your entry at a time that is far off its clock: {at}.", at="{at}"),
    "rematch-changes": tell("The rematch changed while it was arranged. Try again."),
    "rematch-differs": tell(
        "The rematch that your opponent offers has other rules or another clock. Nothing was signed."
    ),
    "seat-taken-over": tell(
        "The service has given your seat to another key, {shown}, which is not here. Nothing was accepted.",
        shown="{shown}",
    ),
    "series-by-command": tell("This game belongs to a series. Ask for the next game with the command hkoji rematch."),
    "signed-before": tell(
        "You have signed another entry for this place, and the service has refused it. Either of them could count."
    ),
    "unexpected": tell("Something went wrong in this page: {detail}", detail="{detail}"),
    "view-elsewhere": tell("The service shows the cards of another seat or moment. Nothing was accepted."),
    "view-false": tell("The service has not signed your cards. Nothing was accepted."),
    "view-not-dealt": tell(
        "The service has shown you other cards in round {round} than were dealt. Its signature is kept as evidence.",
        round="{round}",
    ),
    "view-shrinks": tell(
        "The service has shown you other cards in round {round} before. Nothing was accepted.", round="{round}"
    ),
    # --- invitation
    "copied": tell("Copied."),
    "game-geishas-road": tell("Geisha’s Road"),
    "game-hanamikoji": tell("Hanamikoji"),
    "invite-add": tell("Each turn adds {time} to the reserve, up to {most}.", time="{time}", most="{most}"),
    "invite-always": tell("at any time"),
    "invite-bank": tell("A reserve of {time} for the whole game.", time="{time}"),
    "invite-closed": tell("This service takes no new players. If you have a key, bring it."),
    "invite-code-needed": tell("This service asks new players for a code from its operator."),
    "invite-first-guest": tell("You begin."),
    "invite-first-host": tell("{name} begins.", name="{name}"),
    "invite-first-random": tell("Chance decides who begins."),
    "invite-is-rated": tell("The game is rated."),
    "invite-join-as": tell("Join as {name}", name="{name}"),
    "invite-joining": tell("Joining…"),
    "invite-looking": tell("Checking the invitation…"),
    "invite-markers-choose": tell("The players choose the first markers."),
    "invite-markers-random": tell("Chance draws the first markers."),
    "invite-move": tell("{time} for each turn.", time="{time}"),
    "invite-no-clock": tell("No clock: nobody can lose on time."),
    "invite-no-code": tell(
        "The address has no code: the part after the # is missing. Copy the whole link as your friend has sent it."
    ),
    "invite-not-rated": tell("The game is not rated."),
    "invite-old-browser": tell(
        "This browser cannot sign with Ed25519 keys, so you can only watch. Take a newer one, or play in a terminal: "
        "{command}",
        command="{command}",
    ),
    "invite-plain-http": tell(
        "This address is not safe for playing: on the way somebody could change the page and take your key. It needs "
        "https. You can play in a terminal: {command}",
        command="{command}",
    ),
    "invite-rest": tell("Days {days} of the week do not count, by the time {zone}.", days="{days}", zone="{zone}"),
    "invite-rounds": plural("At most {n} round.", "At most {n} rounds.", 1),
    "invite-series": tell("Game {number} of a best of {games}.", number="{number}", games="{games}"),
    "invite-tie-charm": tell("Then the greater charm wins."),
    "invite-tie-geisha": tell("Then the player with more geisha wins."),
    "invite-who": tell("{name} invites you to {game}", name="{name}", game="{game}"),
    "invite-without-file": tell(
        "You have no copy of your key. Without one you lose your games if this browser forgets it. To join all the "
        "same, press again."
    ),
    # --- a move, by the letter that its notation begins with
    "act-1": tell("Play secret: {cards}", cards="{cards}"),
    "act-2": tell("Trade off: {cards}", cards="{cards}"),
    "act-3": tell("Offer as a gift: {cards}", cards="{cards}"),
    "act-4": tell("Offer {first} or {second}", first="{first}", second="{second}"),
    "act-C": tell("Offer {first} or {second}", first="{first}", second="{second}"),
    "act-G": tell("Offer as a gift: {cards}", cards="{cards}"),
    "act-I": tell("Keep {first}, discard {second}", first="{first}", second="{second}"),
    "act-R": tell("Reveal {cards}", cards="{cards}"),
    "act-keep": tell("Keep:"),
    "act-marker": tell("Take the marker of {cards}", cards="{cards}"),
    "act-none": tell("Choose your move"),
    "act-order": tell("Play {first}, then {second}", first="{first}", second="{second}"),
    "act-start": tell("{name} starts", name="{name}"),
    "act-take": tell("Take {cards}", cards="{cards}"),
    "act-with": tell("{card} with:", card="{card}"),
    "play-answer": tell("{name} offers: take your part", name="{name}"),
    "play-begins": tell(
        "You have a seat. The game begins when {name} has been here again. Come back to this page later.", name="{name}"
    ),
    "play-marker": tell("Take a marker"),
    "play-open": tell("Waiting for somebody to join"),
    "play-order": tell("Choose which card is played first"),
    "play-resign-sure": tell("Resign for good?"),
    "play-start": tell("Say who starts"),
    "play-theirs": tell("{name} is to move", name="{name}"),
    "play-yours": tell("It is your turn"),
    "talk-deleted": tell("(deleted)"),
    "talk-gap": tell("(a message before this one is missing)"),
    "talk-unproved": tell("(not signed by {name})", name="{name}"),
    # --- notices in this browser
    "push-again": tell("Try again"),
    "push-denied": tell("This browser shows no notices of this page. You can change that in its settings."),
    "push-impossible": tell(
        "This browser cannot tell you of your games while no page is open. On an iPhone, put this page on the home "
        "screen, and open it there."
    ),
    "push-no-code": tell("The first notice has not arrived within a minute. Try again later."),
    "push-none": tell("This browser can tell you when it is your turn, also while no page is open."),
    "push-off": tell("Notices do not arrive in this browser any more."),
    "push-on": tell("This browser tells you when it is your turn, also while no page is open."),
    "push-start": tell("Tell me here"),
    "push-stop": tell("Tell me no more"),
}
"""The texts of scripts, by key."""


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
