#!/usr/bin/env bash
# Audits an exported log with stock tools: steps 1 to 7 of "Audit" in log.md. It does not check the rules of the game.
#     audit.sh LOG [NAME=KEY]...     KEY is a .pub file or 'ssh-ed25519 AAAA…', NAME a player's or `server`
# Exit: 0 the steps found nothing, 1 a finding, 2 usage or a failing tool, 3 not understood (later, or sealed).
# Needs bash 4.4, jq 1.6, OpenSSL, OpenSSH 8.2, GNU coreutils. The log is data: no part of it becomes code, a path, an
# option or a format, and none is used before step 1 has checked its form (audit-lines.jq, beside this).
# An exported function of the caller could replace a tool, or even `unset`; in POSIX mode it cannot replace `unset`.
POSIXLY_CORRECT=1; unset -f compgen; for it in $(compgen -A function); do unset -f "$it"; done; unset POSIXLY_CORRECT
set -eEuo pipefail && trap 'exit 2' ERR && export LC_ALL=C TZ=UTC0 CDPATH=
die() { printf 'audit.sh: %s\n' "$1" >&2; exit 2; }
for it in jq openssl ssh-keygen sha256sum; do command -v "$it" >/dev/null || die "$it is missing"; done
for it in "${BASH_SOURCE[0]%.sh}"-{lines,entries}.jq; do [[ -r $it ]] || die "$it is missing: it belongs here"; done
[[ $# -gt 0 && -r $1 && ! -d $1 ]] || die 'usage: audit.sh LOG [NAME=KEY]...'
tmp=$(mktemp -d) && trap 'rm -rf -- "$tmp"' EXIT || die 'no temporary directory can be made'
declare -A pins=() keys=() bits=([=]=0); status=0 failed='' gap= id='' pass=0 left='not reached'; printf -v head %064d 0
it=ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/; for n in {0..63}; do bits[${it:n:1}]=$n; done
note() { [[ $failed == "${1%% *}" ]] || printf '%-14s %s\n' "$1" "$2"; }
finding() { note "$1" "FINDING at entry $2: $3"; failed=${1%% *} holds=$2 status=1; } # the log is cut off there
json() { jq -nRr -f "$(realpath -- "${BASH_SOURCE[0]%.sh}-$1.jq")" || die 'jq fails'; }
bytes() { # BASE64: sets hex
    local i pad=${1//[^=]/}; hex=''; for ((i = 0; i < ${#1}; i += 4)); do printf -v hex %s%06x "$hex" $((
        ${bits[${1:i:1}]} << 18 | ${bits[${1:i+1:1}]} << 12 | ${bits[${1:i+2:1}]} << 6 | ${bits[${1:i+3:1}]}))
    done; hex=${hex:0:${#hex}-2*${#pad}}; }
hashes() { # TEXT...: sets sums to the SHA-256 of each and a newline
    local n=0 it names=(); for it; do printf '%s\n' "$it" >"$tmp/$n"; names+=("$((n++))"); done
    (cd -- "$tmp"; for ((n = 0; n < $#; n += 999)); do sha256sum "${names[@]:n:999}"; done) | cut -c -64 >"$tmp/sums"
    mapfile -t sums <"$tmp/sums"; [[ ${#sums[@]} == "$#" ]] || die 'sha256sum fails'; }
hmac() { # KEY START WORD...: for each word the HMAC of start and word, a blank, a star and the word
    for it in "${@:3}"; do printf '%s%s\n' "$2" "$it" >"$tmp/$it"; done
    (cd -- "$tmp" && openssl dgst -sha256 -mac HMAC -macopt "hexkey:${1:0:64}" -r "${@:3}"); }
sorted() { hmac "$@" | sort | cut -c "67-$((66 + width))" | tr -d '\n'; }
# A key is weak if y is 0, 1, -1 or a point's of order 8, or not below 2^255 - 19; the last byte's top bit is x's sign.
weak='^(0[01](00){30}[08]0|(e[c-f]|f.)(ff){30}[7f]f|c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03[7f]a'
weak+='|26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc[08]5)$'
weak() { [[ $1 != - ]] && bytes "${1#* }" && [[ ${hex: -64} =~ $weak ]]; } # KEY
for pin in "${@:2}"; do
    read -r type key _ < <(cat -- "${pin#*=}" 2>/dev/null || printf '%s\n' "${pin#*=}") || true
    [[ $pin == [a-z0-9]*=* && "$type $key" =~ ^ssh-ed25519\ AAAAC3NzaC1lZDI1NTE5AAAAI[A-P][A-Za-z0-9+/]{42}$ ]] &&
        ! weak "$type $key" || die "it is not NAME=KEY with a key that can be used: $pin"
    pins["${pin%%=*}"]+="$type $key;"; done # one or several keys of a name
# 1: bytes not allowed in a line are replaced by DEL, also not allowed, so that jq sees no NUL and no bad UTF-8.
tr -c '\n -~' '\177' <"$1" >"$tmp/log"
[[ -z $(tail -c 1 "$tmp/log") ]] || printf '\177\n' >>"$tmp/log" # a file that is cut short does not end in a newline
json lines <"$tmp/log" >"$tmp/rows" && mapfile -t texts <"$tmp/rows" && holds=${#texts[@]} last=${texts[*]: -1}
if [[ ${last:=!1the log is empty} == !1* ]]; then finding '1 parse' $((holds - (holds > 0))) "${last:2}"; fi
if [[ $last == !3* ]]; then note '1 parse' "NOT UNDERSTOOD at entry $((--holds)): ${last:2}" && failed=1 status=3; fi
note '1 parse' "$holds entries in canonical form"; texts=("${texts[@]##*$'\t'}")
hashes "${texts[@]:0:holds}"; paste "$tmp/rows" "$tmp/sums" >"$tmp/hashed"
row() { IFS=$'\t' read -r game seq prev by name key old invite says signer space sig \
    prover use claim proof told revoked text && text=${texts[n]}; } # of the next entry
for ((n = 0; n < holds; n++)); do # 2: each entry is of the first one's game and names the head before it
    row && if [[ "$game $seq $prev" != "${id:=$game} $n $head" ]]; then finding '2 chain' "$n" 'it does not follow'; fi
    head=${sums[n]}; done <"$tmp/rows"; ((!holds)) || note '2 chain' "head ${sums[holds - 1]} at entry $((holds - 1))"
for ((n = 0; n < holds; n++)); do # 3: no key is weak or unexpected, or replaces one that is not in force
    row && if [[ $key$invite == -- ]]; then :; elif weak "$key" || weak "$invite"; then finding '3 keys' "$n" weak
    elif [[ $by$old != "$name"ssh* && ${pins[$name]:-$key} != *"$key"* ]]; then finding '3 keys' "$n" "unexpected: $key"
    elif [[ ${keys[$name]:--} != "$old" ]]; then finding '3 keys' "$n" "it does not follow the key of $name"
    else keys[$name]=$key && note '3 keys' "$name ${pins[$name]:+as expected }$says"; fi; done <"$tmp/rows"
signed() { # KEY NAMESPACE SIGNATURE TEXT: whether it is the key's signature of the text and a newline
    # SSHSIG, version 1, a key, a namespace, nothing reserved, sha512, ssh-ed25519; then 64 bytes: strong R, S < L
    local s='' said='' i form; printf -v form '%08x.{%d}0{15}6736861353132' ${#2} $((2 * ${#2}))
    form="^5353485349470000000100000033.{102}${form}000000530000000b7373682d656432353531390{6}40.{128}$"
    [[ $1 != - && ${#3} -eq $(((${#2} + 172) / 3 * 4)) ]] && bytes "$3" && [[ $hex =~ $form ]] || return 1
    for ((i = 2; i <= 64; i += 2)); do s+=${hex: -i:2}; done
    [[ ${hex: -128:64} =~ $weak || $s > 1000000000000000000000000000000014def9dea2f79cd65812631a5cf5d3ec ]] && return 1
    printf -- '-----%s SSH SIGNATURE-----\n%s' BEGIN "$3"$'\n' END '' >"$tmp/sig" && printf 's %s\n' "$1" >"$tmp/key" &&
        said=$(ssh-keygen -Y verify -n "$2" -I s -f "$tmp/key" -s "$tmp/sig" <<<"$4" 2>&1) && return
    [[ $said == *'Could not verify signature'* ]] && return 1 || die "ssh-keygen does not verify: $said"; }
for ((n = 0; n < holds; n++)); do # 4: each entry is signed by its author, and by its new key or its link
    row && if ! signed "$signer" "$space" "$sig" "$text"; then finding '4 signatures' "$n" "no signature of it by $by"
    elif [[ $claim != - ]] && ! signed "$prover" "$use" "$proof" "$claim"; then finding '4 signatures' "$n" unproved
    elif [[ $revoked != - ]] && ! signed "$old" hkoji.revoke.v1 "$revoked" "$told"; then
        finding '4 signatures' "$n" 'no revocation'; fi
done <"$tmp/rows"; note '4 signatures' "$holds hold"
deduced() { ((holds == ${known:--1})) || head -n "$holds" "$tmp/hashed" | json entries >"$tmp/found"; known=$holds; }
deduced; while IFS=$'\t' read -r step now n upto says key space sig text && [[ $step == 5 ]]; do
    if ((now > pass && now < 4)); then pass=$now failed=''; fi # 5: it counts if entry `upto` still stands
    if ((now == 4 && upto < holds)); then left=$says
    elif ((upto < holds)) && ! signed "${key:--}" "$space" "$sig" "$text"; then finding '5 times' "$n" "$says"; fi
done <"$tmp/found"; note '5 times' "$left"
deduced; rows=() && while IFS= read -r it; do if [[ $it == 6* ]]; then rows+=("$it"); fi; done <"$tmp/found"
texts=("${rows[@]#*$'\t'*$'\t'*$'\t'}"); hashes "${texts[@]//$'\t'/$'\n'}"
for n in "${!rows[@]}"; do IFS=$'\t' read -r _ at it says _ <<<"${rows[n]}" # 6: entry, hash, and the lines hashed
    [[ $failed == 6 || ${sums[n]} == "$it" ]] || finding '6 commitments' "$at" "$says is not $it"
done; note '6 commitments' "${#rows[@]} opened"
deduced; while IFS=$'\t' read -r step what at one two three four && [[ $failed != 7 ]]; do
    case "$step $what" in # 7: the making of decks, the results of chance, and who starts the rounds
        7\ cards) width=$at off=$one h=$((6 * width)) host=$two guest=$three && read -ra pack <<<"$four" ;;
        7\ seed) seed=$at && printf -v deck '%s\n' "$one" "$two" ${three:+"$three" "$four"} ;;
        7\ chance) k=$(hmac "$seed" "$deck" 1); it=$(hmac "$k" '' hkoji.first.v1); first=- markers=-
            if [[ $three == true ]]; then first=$((0x${it:0:2} & 1)); fi
            if [[ $four == true ]]; then markers=$(sorted "$k" $'hkoji.marker.v1\n' A B C D E | cut -c -2); fi
            [[ $first$markers == -- || "$one $two" == "$first $markers" ]] || finding '7 deal' "$at" 'another chance' ;;
        7\ round) k=$(hmac "$seed" "$deck" "$at"); c=$(sorted "$k" $'hkoji.order.v1\n' "${pack[@]}"); put=${c:0:off}
            note "7 round $at" "aside ${put:-none}, $host ${c:off:h}, $guest ${c:off+h:h}, $one first ${c:off+2*h}" ;;
        7\ *) note "$what" "$at"; [[ $at != NOT* ]] || gap=' step 7 needs sealed.py;' status=$((status ? status : 3)) ;;
    esac; done <"$tmp/found"
printf '%s of %s entries hold;%s steps 8 and 9, the rules, are left out.\n' "$holds" "$(wc -l <"$tmp/log")" "$gap"
exit "$status"
