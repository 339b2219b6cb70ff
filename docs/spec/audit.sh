#!/usr/bin/env bash
# Audits an exported log with stock tools: steps 1 to 7 of "Audit" in log.md. It does not check the rules of the game.
#     audit.sh LOG [NAME=KEY]...     KEY is a .pub file or 'ssh-ed25519 AAAA…', NAME a player's or `server`
# Exit: 0 the steps found nothing, 1 a finding, 2 usage or a failing tool, 3 not understood (of a later version).
# Needs bash 4.4, jq 1.6, OpenSSL, OpenSSH 8.2, GNU coreutils. The log is data: no part of it becomes code, a path,
# an option or a format, and none is used before step 1 has checked its form (audit.jq, beside this).
# An exported function of the caller could replace a tool, or even `unset`; in POSIX mode it cannot replace `unset`.
POSIXLY_CORRECT=1; unset -f compgen; for it in $(compgen -A function); do unset -f "$it"; done; unset POSIXLY_CORRECT
set -eEuo pipefail && trap 'exit 2' ERR && export LC_ALL=C TZ=UTC0
die() { printf 'audit.sh: %s\n' "$1" >&2; exit 2; }
for tool in jq openssl ssh-keygen sha256sum base64 od; do command -v "$tool" >/dev/null || die "$tool is missing"; done
[[ $# -gt 0 && -r $1 && ! -d $1 ]] || die 'usage: audit.sh LOG [NAME=KEY]...'
tmp=$(mktemp -d) && trap 'rm -rf -- "$tmp"' EXIT || die 'no temporary directory can be made'
declare -A pins=() keys=() starts=() # by name; starts: of signatures, by key and namespace
status=0 failed='' id='' pass=0 left='not reached' head=$(printf '%064d' 0)
note() { [[ $failed == "${1%% *}" ]] || printf '%-14s %s\n' "$1" "$2"; }
finding() { note "$1" "FINDING at entry $2: $3"; failed=${1%% *} holds=$2 status=1; } # the log is cut off there
json() { jq -nRr --arg step "$1" -f "$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")/audit.jq" || die 'jq fails'; }
hex() { od -An -v -tx1 | tr -d ' \n'; }; point() { base64 -d 2>/dev/null <<<"${1#* }" | tail -c 32 | hex; } # KEY
sha() { printf -v sum '%s\n' "$@" && sum=$(sha256sum <<<"${sum%?}") && sum=${sum:0:64} || die 'sha256sum fails'; }
hmac() { printf '%s\n' "${@:2}" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$1" | tail -c 65; } # KEY LINE...
sorted() { for it in "${@:3}"; do echo "$(hmac "$1" "$2" "$it")${it:0:width}"; done | sort | cut -c 65- | tr -d '\n'; }
# A key is weak if y is 0, 1, -1 or a point's of order 8, or not below 2^255 - 19; the last byte's top bit is x's sign.
weak='^(0[01](00){30}[08]0|(e[c-f]|f.)(ff){30}[7f]f|c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03[7f]a'
weak+='|26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc[08]5)$'
for pin in "${@:2}"; do
    read -r type key _ < <(cat -- "${pin#*=}" 2>/dev/null || printf '%s\n' "${pin#*=}") || true
    [[ $pin == [a-z0-9]*=* && "$type $key" =~ ^ssh-ed25519\ AAAAC3NzaC1lZDI1NTE5AAAAI[A-P][A-Za-z0-9+/]{42}$ &&
        ! $(point "$type $key") =~ $weak ]] || die "it is not NAME=KEY with a key that can be used: $pin"
    pins["${pin%%=*}"]+="$type $key;" # one or several keys of a name
done
# 1: bytes not allowed in a line are replaced by DEL, also not allowed, so that jq sees no NUL and no bad UTF-8.
tr -c '\n -~' '\177' <"$1" >"$tmp/log"
[[ -z $(tail -c 1 "$tmp/log") ]] || printf '\177\n' >>"$tmp/log" # a file that is cut short does not end in a newline
json 1 <"$tmp/log" >"$tmp/rows" && mapfile -t rows <"$tmp/rows" && holds=${#rows[@]} last=${rows[*]: -1}
row() { IFS=$'\t' read -r game seq prev by name key old invite says signer space sig \
    prover use claim proof farewell revocation place rhead rtime rsig receipt text hash <<<"${rows[n]}"; }
entries() { if ((holds)); then printf '%s\n' "${rows[@]:0:holds}" | cut -f 24; fi; }
if [[ ${last:=!1the log is empty} == !1* ]]; then finding '1 parse' $((holds - (holds > 0))) "${last:2}"; fi
if [[ $last == !3* ]]; then note '1 parse' "NOT UNDERSTOOD at entry $((--holds)): ${last:2}" && failed=1 status=3; fi
note '1 parse' "$holds entries in canonical form"
for ((n = 0; n < holds; n++)); do # 2: each entry is of the first one's game and names the head before it
    row && if [[ "$game $seq $prev" != "${id:=$game} $n $head" ]]; then finding '2 chain' "$n" 'it does not follow'; fi
    sha "$text" && head=$sum rows[n]+=$'\t'$sum
done
if ((holds)); then note '2 chain' "head ${rows[holds - 1]##*$'\t'} at entry $((holds - 1))"; fi
for ((n = 0; n < holds; n++)); do # 3: no key is weak or unexpected, or replaces one that is not in force
    row && if [[ $key$invite == -- ]]; then continue; else p=$([[ $key == - ]] || point "$key"); fi
    if [[ $p =~ $weak || ($invite != - && $(point "$invite") =~ $weak) ]]; then finding '3 keys' "$n" weak
    elif [[ $by$old != "$name"ssh* && ${pins[$name]:-$key} != *"$key"* ]]; then finding '3 keys' "$n" "unexpected: $key"
    elif [[ ${keys[$name]:--} != "$old" ]]; then finding '3 keys' "$n" "it does not follow the key of $name"
    else keys[$name]=$key && note '3 keys' "$name ${pins[$name]:+as expected }$says"; fi
done
signed() { # KEY NAMESPACE SIGNATURE TEXT: whether it is the key's signature of the text and a newline
    # SSHSIG, version 1, the key, the namespace, nothing reserved, sha512, ssh-ed25519; then 64 bytes: strong R, S < L
    local start=53534853494700000001000000330000000b7373682d6564323535313900000020 blob s='' said='' i
    start+=${starts["$2 $1"]:=$(point "$1"; printf '%08x' ${#2}; printf '%s' "$2" | hex)}0000000000000006736861353132
    start+=000000530000000b7373682d6564323535313900000040 blob=$(base64 -d <<<"$3" 2>/dev/null | od -An -v -tx1 -w999)
    blob=${blob// } && for ((i = 2; i <= 64; i += 2)); do s+=${blob: -i:2}; done
    [[ $1 != - && $blob == "$start"* && ${#blob} -eq $((${#start} + 128)) && ! ${blob: -128:64} =~ $weak &&
        $s < 1000000000000000000000000000000014def9dea2f79cd65812631a5cf5d3ed ]] || return 1
    printf -- '-----%s SSH SIGNATURE-----\n%s' BEGIN "$3"$'\n' END '' >"$tmp/sig" && printf 's %s\n' "$1" >"$tmp/key" &&
        said=$(ssh-keygen -Y verify -n "$2" -I s -f "$tmp/key" -s "$tmp/sig" <<<"$4" 2>&1) && return
    [[ $said == *'Could not verify signature'* ]] && return 1 || die "ssh-keygen does not verify: $said"
}
for ((n = 0; n < holds; n++)); do # 4: each entry is signed by its author, and by its new key or its link
    row && if ! signed "$signer" "$space" "$sig" "$text"; then finding '4 signatures' "$n" "no signature of it by $by"
    elif [[ $claim != - ]] && ! signed "$prover" "$use" "$proof" "$claim"; then finding '4 signatures' "$n" unproved
    elif [[ $revocation != - ]] && ! signed "$old" hkoji.revoke.v1 "$revocation" "$farewell"; then
        finding '4 signatures' "$n" 'no revocation'
    fi
done
note '4 signatures' "$holds hold"
if ((holds)); then printf '%s\n' "${rows[@]:0:holds}"; fi | json 5 >"$tmp/times" # 5: what to look at in three passes
while IFS=$'\t' read -r now n upto says key space sig text; do # it counts if entry `upto` still stands
    if ((now > pass && now < 4)); then pass=$now failed=''; fi
    if ((now == 4 && upto < holds)); then left=$says
    elif ((upto < holds)) && ! signed "${key:--}" "$space" "$sig" "$text"; then finding '5 times' "$n" "$says"; fi
done <"$tmp/times"; note '5 times' "$left"
entries | json 6 >"$tmp/opened" # 6: the entry, the hash, and the lines to be hashed
while IFS=$'\t' read -ra it && [[ $failed != 6 ]]; do
    sha "${it[@]:2}" && [[ $sum == "${it[1]}" ]] || finding '6 commitments' "${it[0]}" "${it[2]} is not ${it[1]}"
done <"$tmp/opened"; note '6 commitments' "$(wc -l <"$tmp/opened") opened"
entries | json 7 >"$tmp/dealt" # 7: the making of decks, the results of chance, and who starts the rounds
while IFS=$'\t' read -r what at one two three four && [[ $failed != 7 ]]; do
    case $what in
        cards) width=$at off=$one h=$((6 * width)) host=$two guest=$three && read -ra pack <<<"$four" ;;
        seed) seed=$at && IFS=$'\t' read -ra deck <<<"$one"$'\t'"$two"$'\t'"$three"$'\t'"$four" ;;
        chance) k=$(hmac "$seed" "${deck[@]}" 1) first=- markers=-
            if [[ $three == true ]]; then first=$((0x$(hmac "$k" hkoji.first.v1 | cut -c -2) & 1)); fi
            if [[ $four == true ]]; then markers=$(sorted "$k" hkoji.marker.v1 A B C D E | cut -c -2); fi
            [[ $first$markers == -- || "$one $two" == "$first $markers" ]] || finding '7 deal' "$at" 'another chance' ;;
        round) c=$(sorted "$(hmac "$seed" "${deck[@]}" "$at")" hkoji.order.v1 "${pack[@]}") && put=${c:0:off}
            note "7 round $at" "aside ${put:-none}, $host ${c:off:h}, $guest ${c:off+h:h}, $one first ${c:off+2*h}" ;;
        *) note "$what" "$at" ;;
    esac
done <"$tmp/dealt"
printf '%s of %s entries hold; steps 8 and 9, the rules, are left out.\n' "$holds" "$(wc -l <"$tmp/log")"
exit "$status"
