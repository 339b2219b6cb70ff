# The part of audit.sh that reads entries, run as: jq -nRr -f audit-entries.jq. Its input is a row of audit-lines.jq for
# each entry that holds, with the head of the entry. It writes rows of fields separated by tabs, - for none: first the
# number of the step.

# --- Step 5, of the rows of step 1, each with the head of its entry: a row for each thing to look at. It has the pass,
# the entry, the last entry that must still stand (by that one the service has said what is used), what is found, and
# for a signature its key, namespace, blob and text. As pass, 4 has what there is to say of the entries so far.

def timed($rows; $log):
    def elapsed($clock): fromdate | if $clock.rest == "" then . else # the seconds that count since a Monday
        ($clock.zone | (.[1:3] | tonumber) * 3600 + (.[4:] | tonumber) * 60) as $offset
        | . - 345600 + if $clock.zone[:1] == "-" then 0 - $offset else $offset end
        | (. / 86400 | floor) as $day | ($day % 7) as $today
        | [range(1; 8) | tostring | . as $it | $clock.rest | contains($it) | not] as $counts
        | (($day - $today) / 7 * (7 - ($clock.rest | length)) + ($counts[:$today] | map(select(.)) | length)) * 86400
            + if $counts[$today] then . % 86400 else 0 end end;
    def counted($clock; $from; $until): ($until | elapsed($clock)) - ($from | elapsed($clock));
    def credits($clock): (.gift.seconds // 0) + ([.outages[]? | counted($clock; .from; .until)] | add // 0);

    def way: # on which an entry came; null if nobody sent it
        if .by == "server" then null elif .body.mail == null then "http"
        elif .body.mail.grade | . == "dkim" or . == "token" then "mail" else null end;

    # The clock of a game: whose turn runs, what it has spent up to `since`, and the reserves; `left` without that turn.
    def end_turn($clock): if .turn then
            .left[.turn] = ([0, .reserve[.turn] - ([0, .spent - $clock.move] | max)] | max) else . end
        | .turn = null | .spent = 0 | .reserve = .left;
    def play($clock; $seat; $at; $credits): if .turn == $seat then . else
            end_turn($clock) | .turn = $seat | .reserve[$seat] = ([$clock.cap, .reserve[$seat] + $clock.add] | min) end
        | .spent += counted($clock; .since; $at) - $credits | .since = $at;
    def release($clock; $seat; $at; $credits): counted($clock; .since; $at) as $passed
        | ([0, $passed - $credits - $clock.move + if .turn == $seat then .spent else 0 end] | max) as $over
        | .reserve[$seat] = ([0, .reserve[$seat] + ([0, $clock.add - $over] | min)] | max)
        | if .turn != $seat then .left[$seat] = .reserve[$seat] else . end
        | if .turn == 1 - $seat then .spent = ([([.spent, 0] | min), .spent - $passed] | max) else . end
        | .since = $at;
    def late($clock): .spent > $clock.move + .reserve[.turn];

    ($rows | length) as $count | ($rows | map(select(.[4] == "server")[5])[0]) as $server | select($server)
    | (if $log[0].kind == "offer" then $log[0].body.agreement else null end) as {$clock, $expires}
    | any($rows[]; .[20] != "-") as $receipts
    # What the service says of each entry's time of record; the next entry with its word; the time, and who says it.
    | [range($count) as $n | if $rows[$n][20] != "-" then $rows[$n][20]
        elif $log[$n].by == "server" then $log[$n].at else null end] as $own
    | [range($count + 1) as $n | first((range($n; $count) | select($own[.])), $count)] as $word
    | [range($count) as $n | $own[$n] // $log[$n + 1].seen] as $times
    | [range($count) as $n | if $own[$n] then $n else $word[$n + 1] end] as $known
    # The service holds the key of each name in `held`: "only" that one, or one for mails of at least that grade.
    | [foreach range($count) as $n ({players: [], keys: {}, held: {}, heads: []};
        $log[$n] as {$at, $body, $by, $game, $kind, $prev, $seen} | $rows[$n] as $row | $log[$n - 1:$n][0] as $before
        | ($times[$n] // $seen) as $time | def found($pass; $it; $says; $upto):
            if $it then .rows += [[$pass, $n, ([$n, $upto] | max), $says]] else . end;
        def found($pass; $it; $says): found($pass; $it; $says; $n);
        def verify($pass; $says; $key; $space; $sig; $text):
            .rows += [[$pass, $n, $n, $says, $key, $space, $sig, $text]];
        # Of what a credit or annul has for the entry that `seat` owes, which came at `until`, what may be wrong.
        def helps($seat; $heads; $since; $until; $upto): (.players[1 - $seat] // "") as $name | .keys[$name] as $key
            | (if .held[.players[$seat] // ""] == "only" then "mail" else "http" end) as $way
            | if $body.gift then found(2; $heads | index($body.gift.head) | not; "a gift for another entry")
                | found(2; ($body.gift.mail == null) == (.held[$name] == "only"); "its mail is missing or misplaced")
                | verify(2; "no gift by \($name)"; $key; "hkoji.give.v1"; $body.gift.sig;
                    {$game, head: $body.gift.head, mail: $body.gift.mail, $name, seconds: $body.gift.seconds, v: 1}
                    | with_entries(select(.value != null)) | tojson) else . end
            | reduce $body.outages[] as $it (.;
                found(2; $it.way != $way; "an outage of the wrong way")
                | found(2; $it.from < $since or $it.until > $until; "an outage elsewhere"; $upto)
                | .rows += [range($n + 1)
                    | select($it.from <= $times[.] and $times[.] < $it.until and $it.way == ($log[.] | way))
                    | [2, $n, ([$n, $known[.]] | max), "an outage at a time of record"]]);
        .rows = [] | .players as $players | ($players | index($by)) as $seat
        | def released: .kind == "release" and (.by as $it | $players | index($it)) != null;
        .heads = (if ($before | released) or ($before.kind == "credit" and ($log[$n - 2] | released))
            or (["rekey", "revoke", "delegate"] | index($before.kind)) then .heads else [] end) + [$prev]
        | if ($kind == "open" or $kind == "join") and $body.gateway then .held[$by] = "only" else . end

        | if $receipts then verify(1; "unsigned"; $server; "hkoji.receipt.v1"; $row[21]; $row[22])
            | found(1; $row[18:20] != ["\($game) \($n)", $row[24]]; "its receipt is of another entry")
            | found(1; $n > 0 and $row[20] < $rows[$n - 1][20]; "its receipt's time is before the last") else . end
        | found(1; $n > 0 and ($own[$n - 1] // $seen) != $seen or $seen < $before.seen; "seen is not true")
        | found(1; $by == "server" and ($at != $own[$n] or $at < $seen
            or (["credit", "chance", "reveal", "release", "end"] | index($kind)) and $at != $seen); "its time is not true")
        | found(1; $kind == "lapse" and if $body.reason == "declined" then .invited | not
            else $expires == null or $time <= $expires end; "it has not lapsed"; $known[$n])
        | found(1; $kind == "join" and $expires and $time > $expires; "it joined after \($expires)"; $known[$n])
        | if $body.gateway then verify(1; "a false certificate"; $server; "hkoji.held.v1"; $body.gateway.sig;
            $body.gateway | {address, at, key, name: $by, origin, v: 1} | tojson) else . end
        | .held[$by] as $least | $body.mail.grade as $grade
        | found(1; $by != "server" and if $grade == null then $least == "only" else $least == null
            or ($least == "dkim" and $grade != "dkim") or ($least == "token" and $grade == "none") end;
            "its mail is missing or misplaced")
        | if $kind == "open" or $kind == "join" then .keys[$by] = $body.key
        elif $kind == "rekey" or $kind == "revoke" then .keys[$body.name // $by] = $body.key else . end
        | if $kind == "delegate" then .held[$by] = $body.grade
        elif $kind == "revoke" then .held[$body.name // $by] = null else . end
        | if $kind == "open" and .players == [] then .players = [$by] | .invited = ($body.invite.name != null)
        elif $kind == "join" and (.players | length) == 1 then .players += [$by]
            | if $clock then . + {runs: true, since: $times[$n], turn: null, spent: 0}
                | .left = [$clock.bank, $clock.bank] | .reserve = .left else . end
        elif $kind == "credit" then .due as $due | if .due then
                helps($due.seat; $due.heads; $due.since; $seen; $known[$n - 1])
            else found(2; true; "a credit where there can be none") end
        elif $kind == "annul" then
            reduce (0, 1) as $each (.; (.players[$each] // "") as $name | $body.mails[$each] as $mail
                | found(2; ($mail == null) == (.held[$name] == "only"); "its mail is missing or misplaced")
                | verify(2; "not called off by \($name)"; .keys[$name]; "hkoji.annul.v1"; $body.sigs[$each];
                    {$game, head: $prev, $mail, $name, v: 1} | with_entries(select(.value != null)) | tojson))
            | if $body.gift == null and $body.outages == [] then . elif .runs then
                helps($body.seat; .heads; .since; $time; $known[$n])
            else found(2; true; "it credits without a clock") end else . end

        | .due = null
        | if $kind == "timeout" then
            found(3; .runs | not; "no clock runs")
            | found(3; .runs and (play($clock; $body.seat; $time; 0) | late($clock) | not); "too early"; $known[$n])
        elif $kind == "annul" and .runs then
            found(3; play($clock; $body.seat; $time; $body | credits($clock)) | late($clock); "too late"; $known[$n])
        elif (["seed", "move", "release"] | index($kind)) and .runs and $seat and $times[$n] then
            .due = {seat: $seat, heads: .heads, since: .since}
            | ($log[$n + 1] | if .kind == "credit" then .body | credits($clock) else 0 end) as $credits
            | if play($clock; $seat; $times[$n]; $credits) | late($clock)
                then .rows += [[3, $n, $word[$n + 1], "it is late"]] else . end
            | if $kind != "release" then play($clock; $seat; $times[$n]; $credits)
            else release($clock; $seat; $times[$n]; $credits) | if $body.close then end_turn($clock) else . end end
        elif ($kind == "chance" or $kind == "reveal") and .runs then end_turn($clock) | .since = $times[$n] else . end
        | if .runs and (["resign", "timeout", "annul", "end"] | index($kind)) then end_turn($clock) | .runs = false
            else . end

        | .rows += [[4, $n, $known[$n], "\(if $receipts then $n + 1 else "no" end) receipts" + if .reserve then
            ", in reserve: \(.players[0]) \(.left[0]) s, \(.players[1]) \(.left[1]) s" else "" end]];
        .rows[])] | sort_by(.[:2])[];

# --- Step 6, of entries: a row for each commitment that is opened: the entry, what must come out, and the lines hashed.

def opened($log):
    foreach $log[] as {$body, $by, $game, $kind, $seq} ({entropy: {}, closed: {}, salts: {}};
        .rows = []
        | if $kind == "offer" then .dealer = $body.dealer
        elif $kind == "open" then .entropy[$by] = [$body.entropy_commit, "0"]
        elif $kind == "join" then .entropy[$by] = [$body.entropy_commit, "1"]
        elif $kind == "seed" then (.entropy[$by] // ["no commitment", "0"]) as [$want, $seat]
            | .rows = [[$want, "hkoji.entropy.v1", $game, $seat, $body.entropy]]
        elif $kind == "move" then .closed += ($body.commit // [] | to_entries | map({"\($seq) \(.key)": .value}) | add)
        else
            reduce ($body.openings // [])[] as $it (.; "\($it.seq) \($it.part)" as $place
                | .rows += [[if .salts[$it.salt] then "a salt used before" else .closed[$place] // "no commitment" end,
                    "hkoji.hidden.v1", $game, $it.seq, $it.part, $it.cards, $it.salt]]
                | .salts[$it.salt] = true | del(.closed[$place]))
            | if $kind == "end" and .closed != {} then .rows += [["an end with nothing closed", "end"]] else . end
            | (.dealer.name != "server/v1") as $late
            | if .dealer == null or ($kind != "end" and $kind != "unseal") then .
            elif $kind == "end" and ($body.seed == null) != $late then .rows += [["what the dealer publishes", "end"]]
            elif $body.seed == null then .
            elif $late then .rows += [[.dealer.seed_commit, "hkoji.duplicate.seed.v1", .dealer.deal, $body.seed]]
            else .rows += [[.dealer.seed_commit, "hkoji.seed.v1", $game, $body.seed]] end
        end;
        .rows[] | [$seq] + .);

# --- Step 7, of entries: the width of a card, how many are put aside, the players, the cards; the seed and the lines
# that make deck keys of it; for each chance entry first and markers, and which of them it has to decide; who starts
# each round. All that only if seed and entropy are known; in the end, what there is to say of the step.

def signed_for: # of entries: for each player for whom the service has signed, how much, and for which mails
    . as $log | map(select(.kind == "open" or .kind == "join").by) as $names
    | [.[] | . as {$body, $by, $kind, $seq}
        | (select($body.mail) | [$by, "entry", $body.mail.grade]),
          (select($kind == "credit" or $kind == "annul") | .body.gift | select(.) | select(.mail)
            | .mail.grade as $grade
            | [($names - [if $kind == "annul" then $names[$body.seat] else $log[$seq - 1].by end])[0], "", $grade]),
          (select($body.mails) | (0, 1) as $seat | select($body.mails[$seat])
            | [$names[$seat], "", $body.mails[$seat].grade])]
    | group_by(.[0])[] | .[0][0] as $name | (map(select(.[1] == "entry")) | length) as $entries
    | map(.[2]) as $grades | [["dkim", "token", "none"][] as $it | "\($grades | map(select(. == $it)) | length) \($it)"]
    | ["for \($name)", "by the service: \($entries) entries, \(($grades | length) - $entries) statements, of which say "
        + join(", ") + "; they prove what the service says, not what \($name) did"
        + if any($log[]; .by == $name and (.kind == "open" or .kind == "join") and .body.gateway)
            then "; it drew \($name)'s part in the shuffle" else "" end];

def dealt($log):
    def of($kind): map(select(.kind == $kind));
    $log | signed_for,
    (of("offer")[0].body as $offer | of("open")[0].by as $host | of("join")[0].by as $guest | of("end")[0] as $over | (map(select(.kind == "end" or .kind == "unseal").body.seed) | last) as $seed
    | (of("seed") | map({(.by): .body.entropy}) | add // {} | [.[$guest // ""], .[$host // ""]]) as $entropy
    | if $log[0].body.dealer.name == "sealed/v1" then ["7 deal", "NOT UNDERSTOOD: proofs need sealed.py"]
    elif $over == null then ["7 deal", "not reached: there is no end"]
    elif $offer == null or $seed == null then ["7 deal", "not reached: the seed is unopened"]
    elif any($entropy[]; . == null) then ["7 deal", "not reached: the game ended before all entropy was known"]
    else
        ($offer.ruleset.name == "hanamikoji") as $hanamikoji
        | {charm: 0, geisha: 0, limit: 0, rounds: 0}[$over.body.result.reason] as $complete
        | (of("reveal") | length + ($complete // 1)) as $rounds
        | {host: 0, guest: 1, random: of("chance")[0].body.first}[$offer.ruleset.first] as $first
        | (of("move") | [.[].body.action | select(test("^\\^[01]$")) | .[1:] | tonumber]) as $chosen
        | if $hanamikoji then
            ["cards", 1, 1, $host, $guest, "A1 A2 B1 B2 C1 C2 D1 D2 D3 E1 E2 E3 F1 F2 F3 F4 G1 G2 G3 G4 G5"]
        else ["cards", 2, 0, $host, $guest, "A1 A2 A3 A4 B1 B2 B3 B4 C1 C2 C3 C4 D1 D2 D3 D4 E1 E2 E3 E4"] end,
        ["seed", $seed] + if $offer.dealer.name == "server/v1" then ["hkoji.deck.v1", .[0].game] + $entropy
            else ["hkoji.duplicate.deck.v1", $offer.dealer.deal] end,
        (of("chance")[]
            | ["chance", .seq, .body.first, .body.markers, ($offer.ruleset | .first, .markers | . == "random")]),
        (range($rounds) as $round
            | if $hanamikoji and $first != null then ($first + $round) % 2 else ([$first] + $chosen)[$round] end
            | ["round", $round + 1, if . == null then "nobody" else [$host, $guest][.] end]),
        ["7 deal", "\($rounds) round\(if $rounds == 1 then "" else "s" end) dealt from the seed"]
    end);

[inputs / "\t"] as $rows | [$rows[] | .[23] | fromjson] as $log
| (["5"] + timed($rows; $log)), (["6"] + opened($log)), (["7"] + dealt($log))
| map(if . == null then "-" else tostring end) | join("\t")
