# The part of audit.sh that reads the lines of a log, run as: jq -nRr -f audit-lines.jq. It writes rows of fields
# separated by tabs, - for none.

# --- Step 1, of the lines of a log: for each a row with what the next steps need. It ends at the first line that does
# not hold, with !1 and a reason (it breaks the format) or !3 and the part not understood (a later version may know it).

def need(f; $why): if f then . else error("1\($why)") end;
def known(f; $what): if f then . else error("3\($what | tostring[:40]) is not understood") end;

# A form is an expression for the text of a value; an object of forms, ? where the key may be missing; [the form of each
# item]; {each: [the form of each]}; {least, most: of a number}; {now, later: what another version may have there}; or
# null, if it depends on an unknown name.
def fits($form): . as $value |
    if $form == null then need(type == "object" and (.name | type == "string"); "no name") | known(false; .name)
    elif ($form | type) == "string" then
        need(tojson | test("^(\($form))$"); "\(tojson[:40]) is not \($form[:60])") | true
    elif ($form | type) == "array" then need(type == "array"; "no list") | all(.[]; fits($form[0]))
    elif $form.each then need(type == "array" and length == ($form.each | length); "no list of its length")
        | all(range(length); . as $i | $value[$i] | fits($form.each[$i]))
    elif $form.most then need(type == "number" and . >= $form.least and . <= $form.most; "\(.) is not \($form)") | true
    elif $form.now then
        known(tojson | test("^(\($form.now))$") or (test("^(\($form.later))$") | not); .) | fits($form.now)
    else ($form | keys | map(rtrimstr("?"))) as $keys | need(type == "object"; "no object")
        | known(keys - $keys == []; keys - $keys)
        | need(($form | keys) - keys | all(endswith("?")); "of its keys \($keys) some are missing")
        | all(keys[]; . as $key | $value[$key] | fits($form[$key] // $form[$key + "?"]))
    end;

# The value of a signed text, which must be its canonical form: keys sorted and unique, no spaces, integers.
def signed($most; $form): . as $text | need(length <= $most; "a text is longer than \($most) bytes")
    | need(test("^(?>\"[ !#-\\[\\]-~]*\"|true|false|null|[0-9]|[]\\[{}:,])*$"); "a text has other characters")
    | [try fromjson] | need(length == 1; "a text is no JSON") | .[0] # in a list, as jq 1.6 catches what fails behind
    | need(tojson == $text and all(.. | objects; keys_unsorted == keys) and all(.. | numbers; . < 9007199254740992)
        and all(path(.. | arrays, objects); length < 16); "a text is not canonical")
    | need(type == "object"; "a text is no object") | known((.v | type) != "number" or .v == 1; "version \(.v)")
    | need(keys == ($form | keys); "the keys of a text are not \($form | keys)") | need(fits($form); "");

def parse:
    def hex($digits): "\"[0-9a-f]{\($digits)}\"";
    hex(32) as $id | hex(64) as $hash | "[01]" as $seat | "0|[1-9][0-9]*" as $number
    | "\"[a-z0-9][a-z0-9_-]{1,31}\"" as $name
    | "\"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI[A-P][A-Za-z0-9+/]{42}\"" as $key # 51 bytes, the last 32 the key
    | "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=|[A-Za-z0-9+/][AQgw]==)" as $base64
    | ("\"([2-8][0-9]{3}-((0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)"
        + "|([2-8][0-9](0[48]|[2468][048]|[13579][26])|([2468][048]|[357][26])00)-02-29)"
        + "T([01][0-9]|2[0-3])(:[0-5][0-9]){2}Z\"") as $time

    # Signed texts, and the line that holds them.
    | {at: $time, body: "{.*}", by: $name, game: $id, kind: "\"[a-z][a-z0-9_-]{0,31}\"", prev: $hash,
        seen: "null|\($time)", seq: $number, v: "1"} as $entry
    | {at: $time, game: $id, head: $hash, seq: $number, v: "1"} as $receipt
    | "\"(?>[ !#-\\[\\]-~]|\\\\\")*\"" as $text
    | "{\"entry\":\($text),(\"receipt\":{\"sig\":\"\($base64)\",\"text\":\($text)},)?\"sig\":\"\($base64)\"}" as $line

    # Bodies of entries.
    | "\"\($base64)\"" as $sig | "\"[A-Z][1-9]\"" as $card | "\"[!#-\\[\\]-~]{1,256}\"" as $origin
    | [{cards: "\"[0-9A-Za-z]{1,16}\"", part: $seat, salt: $hash, seq: $number}] as $openings
    | [{from: $time, until: $time, way: {now: "\"(http|mail)\"", later: "\".*\""}}] as $outages
    | {address: $hash, at: $time, key: $key, origin: $origin, sig: $sig} as $gateway
    | {"server/v1": {name: ".*", seed_commit: $hash},
        "duplicate/v1": {deal: $id, name: ".*", seed_commit: $hash}, "sealed/v1": {name: ".*"}} as $dealers
    | "\"(host|guest|random)\"" as $first
    | {"hanamikoji 1": {
            first: $first, max_rounds: "[0-9]{1,2}", name: ".*", tiebreak: "\"(geisha|charm)\"", version: "1"},
        "geishas-road 1": {
            first: $first, markers: "\"(choose|random)\"", name: ".*", version: "1"}} as $rulesets
    | def clock: {
            add: {least: 0, most: 2592000},
            bank: {least: 0, most: 31622400},
            cap: {
                least: ([.add, .bank | numbers] | max // 0),
                most: (if .add == 0 then .bank | numbers // 0 else 31622400 end)},
            move: {least: (if .bank == 0 then 1 else 0 end), most: 5184000},
            rest: "(?!.1234567)\"1?2?3?4?5?6?7?\"",
            zone: (if .rest == "" then "\"[+]00:00\"" else "(?!.-00:00)\"[+-](0[0-9]|1[0-4]):(00|15|30|45)\"" end)};
    def agreement: {
        clock: (.clock | if . == null then "null" else objects // {} | clock end),
        expires: "null|\($time)",
        rated: (if .clock == null then "false" else "true|false" end),
        rematch: "null|\($id)",
        series: (.series | if . == null then "null" else
            {games: "[3579]", id: $id, number: {least: 1, most: ((objects | .games | numbers) // 9)}} end)};
    def graded($none): {now: "\"(dkim|token\($none))\"", later: "\"(?!none\").*\""};
    def mail($none):
        {commit: (if ((objects | .grade) // "") == "none" then "null" else $hash end), grade: graded($none)};
    def mail: mail("");
    def gift: if .gift == null then "null" else {
        head: $hash, "mail?": ((.gift | objects | .mail) // null | mail), seconds: {least: 1, most: 2592000},
        sig: $sig} end;
    # What the players of a sealed game prove.
    def bytes($count): # the base64 of so many
        "\"[A-Za-z0-9+/]{\($count * 4 / 3 | floor)}\(["", "[AQgw]==", "[AEIMQUYcgkosw048]="][$count % 3])\"";
    def lock: ([.lock | objects | .deck | strings | select(length == 896) | 21][0] // 20) as $cards
        | {deck: bytes(32 * $cards), key: bytes(32), proof: bytes(32 * (4 * $cards + 5)), salt: bytes(32)};
    def give: {
        at: "\\[1?[0-9](,1?[0-9]){0,6}\\]", round: "[1-9][0-9]{0,15}",
        shares: bytes(48 + 32 * ((.give | objects | .at | arrays | length) // 0))};
    def show: {
        copies: "\\[\($card)(,\($card)){0,3}\\]",
        proof: ([range(7; 11) * 48 * ((.show | objects | .copies | arrays | length) // 0) | bytes(.)] | join("|"))};
    def hide: [range(7; 11) * 48 + 32 | bytes(.) | "\\[\(.)(,\(.))?\\]"] | join("|");
    def close: {card: $card, proof: bytes(112)};
    def forms: {
        offer: {
            agreement: (.agreement | objects // {} | agreement),
            dealer: $dealers[(.dealer | objects | .name | strings) // ""],
            requires: {now: "\\[\\]", later: "\\[(\"[^\"]*\",?)+\\]"},
            ruleset: $rulesets[(.ruleset | objects | "\(.name) \(.version | numbers // 1)") // ""],
            server_key: $key},
        open: {
            entropy_commit: $hash,
            invite: (if .invite == null then "null" elif .invite | type == "object" and has("link")
                then {link: $key, sig: $sig} else {key: "null|\($key)", name: $name} end),
            key: $key, "gateway?": $gateway, "lock?": lock, "mail?": (.mail | mail)},
        join: {entropy_commit: $hash, key: $key, "link_sig?": $sig, "gateway?": $gateway, "mail?": (.mail | mail)},
        seed: {entropy: $hash, "deposit?": $hash, "give?": give, "lock?": lock, "mail?": (.mail | mail("|none"))},
        chance: {"first?": $seat, "markers?": "\"[A-Za-z]+\""},
        move: {
            action: "\"[^\"]{1,32}\"", "commit?": "\\[\($hash)(,\($hash))?\\]", "mail?": (.mail | mail),
            "close?": close, "deposit?": $hash, "give?": give, "hide?": hide, "lock?": lock, "show?": show},
        release: {"close?": close, "deposit?": $hash, "give?": give},
        reveal: {openings: $openings},
        rekey: {key: $key, old: $key, proof: $sig},
        revoke: {
            key: $key, name: $name, old: $key, proof: $sig,
            revocation: (if .revocation == null then "null" else {at: $time, origin: $origin, sig: $sig} end)},
        delegate: {
            gateway: (if .gateway == null then "null" else $gateway end),
            grade: (if .gateway == null then "null" else graded("") end)},
        resign: {"mail?": (.mail | mail)},
        lapse: {reason: {now: "\"(expired|declined)\"", later: "\".*\""}},
        credit: {gift: gift, outages: $outages},
        timeout: {seat: $seat},
        annul: {gift: gift, outages: $outages, seat: $seat, sigs: "\\[\($sig),\($sig)\\]",
            "mails?": {each: [(.mails | arrays) // [] | .[0, 1] | if . == null then "null" else mail end]}},
        cancel: {"mail?": (.mail | mail)},
        end: {
            openings: $openings,
            result: {
                reason: {now: "\"(charm|geisha|limit|rounds|resign|timeout|cancel)\"", later: "\".*\""},
                winner: "null|\($seat)"},
            seed: "null|\($hash)"},
        unseal: {seed: $hash}};

    # The key that signs an entry beside its author (a new key, or that of the link), the namespace, text and signature;
    # then text and signature of its old key. Keys of texts are in the order of names.
    def proofs($name; $entry; $link): if .old then
            .key, "hkoji.rekey.v1",
            ({game: $entry.game, key, name: $name, old, prev: $entry.prev, seq: $entry.seq, v: 1} | tojson), .proof,
            (.old as $key | .revocation | if . then ({at, key: $key, name: $name, origin, v: 1} | tojson), .sig
                else null, null end)
        elif $link or .link_sig then
            $link, if $entry.kind == "open" then "hkoji.invite.v1" else "hkoji.join.v1" end,
            ({entropy_commit, game: $entry.game, key, name: $name, prev: $entry.prev, v: 1} | tojson),
            (.link_sig // .invite.sig), null, null
        else null, null, null, null, null, null end;

    def rules: # rules that a form cannot express
        need(.ruleset | .max_rounds != 0 or .tiebreak != "charm"; "a tie-break without a limit of rounds")
        | need((.openings // []) | map([.seq, .part]) | . == unique; "the openings are not sorted, each once")
        | need((.give.at // []) | . == unique; "the positions of a give are not sorted, each once")
        | need((.outages // []) | map(.from, .until) | . == unique; "outages are not in order, or two of them touch")
        | need(.gateway == null or (has("key") | not) or .gateway.key == .key; "a certificate of another key")
        | need((has("mails") | not) or .mails != [null, null]; "mails name no mail")
        | need(.gift != null or .outages != [] or .sigs; "it credits nothing");

    # Keys in force by name, those that the service holds beside them, and the link of each open.
    label $stop | foreach inputs as $it ({keys: {}, held: {}, links: []};
        .keys as $keys | .held as $held | .links as $links | $it | try (
            need(length <= 2105344; "the line is too long") | need(test("^\($line)$"); "it is no line of a log")
            | fromjson
            | . as {entry: $text, $sig, receipt: $signed} | ($text | signed(1048576; $entry)) as $read
            | ($signed | if . then .text | signed(1024; $receipt) else null end) as $receipt
            | need(($read.seq == 0) == ($read.seen == null); "seen is null only in entry 0")
            | $read.body | forms[$read.kind] as $form | known($form; "the kind \($read.kind)")
            | need(fits({"ext?": "{.*}", "mail?": "no mail"} + $form); "") | rules
            | need(keys - ["ext", "deposit"] != [] or ($read.kind | . != "chance" and . != "release"); "it brings nothing")
            | (.key // .server_key) as $key | ({offer: "server", revoke: .name}[$read.kind] // $read.by) as $name
            # A key is replaced only by its player's signature, or by the service's if it is lost.
            | ($name != "server" and ($read.by == "server") == ($read.kind == "revoke")) as $may
            | (if $read.kind == "delegate" then "and from entry \($read.seq + 1) on the service "
                    + if .gateway then "too, with \(.gateway.key)" else "no more" end
                elif .old == null then if .gateway then "held by the service: \($key)" else $key end
                else "from entry \($read.seq + 1) on \($key)" end) as $says
            | ($keys + if $key then {($name): $key} else {} end) as $after
            | ($held + ({delegate: {($name): .gateway.key}, revoke: {($name): null}}[$read.kind] // {})) as $holds
            | ({open: [.invite.link]}[$read.kind] // []) as $opened
            | {join: $links, open: $opened}[$read.kind][0] as $link
            | {keys: $after, held: $holds, links: ($links + $opened), row: [($read | .game, .seq, .prev, .by), $name,
                if $read.kind == "delegate" then $keys[$name], $keys[$name], .gateway.key
                else $key, (if .old == null or $may then .old else "nobody" end),
                    ((.invite | objects | .key // .link) // null) end,
                if $read.kind == "revoke" then "by the word of the server alone \($says)" else $says end,
                ((if .mail then $held[$read.by] else null end)
                    // (if .old == null then $after else $keys end)[$read.by]),
                if $read.by == "server" then "hkoji.server.v1" elif .mail then "hkoji.gateway.v1"
                else "hkoji.entry.v1" end, $sig,
                proofs($name; $read; $link),
                ($receipt | "\(.game) \(.seq)", .head, .at), ($signed | .sig, .text), $text]}
        ) catch {row: ["!\(.)"]};
        if .keys then .row else .row, break $stop end) | map(. // "-" | tostring) | join("\t");

parse
