"""The texts of scripts, which get them as `words.LANG.json`. Values are named as in `page_texts`."""

from __future__ import annotations

from typing import Final

from hkoji.messages.text import Text, plural, tell

WORDS: Final[dict[str, Text]] = {
    # --- check
    "check-and": tell("{first} and {second}", first="{first}", second="{second}"),
    "check-archive": tell(
        "This file has several logs. The page checks one: take the first lines, up to the next entry 0."
    ),
    "check-busy": tell("Checking …"),
    "check-evidence": tell("This is a file of evidence. The command below judges it."),
    "check-fails": tell("{holds} of {total} entries hold.", holds="{holds}", total="{total}"),
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
