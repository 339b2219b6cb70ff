// Decides what this browser believes of a service and of players: keys, views, heads; and keeps what it refuses.
// docs/spec/log.md, "Client rules"; docs/spec/evidence.md. Steps 1 to 7 of the audit are in log/check.js. Here is what
// a log alone does not say: which key a name had before, and what this player was shown. It sends nothing.
import { decode, encode, fingerprint, parseLine, readText, signed, signedText } from '../log/text.js';
import { seconds } from '../log/times.js';
import { cut } from '../log/write.js';

/** Why something was refused: `key` and `values` of a text of WORDS. Nothing was signed, sent or accepted. */
export class Refused extends Error {
  constructor(key, values = {}) {
    super(key);
    this.key = key;
    this.values = values;
  }
}
/** @returns {never} */
export const refuse = (key, values) => { throw new Refused(key, values); };

// --- the keys of players ---------------------------------------------------------------------------------------------

/** What is known of a player: `keys` are all that are known to be the player's, and `how` says why the last of them is
 *  believed: it was `compared`, it has signed a `link`, an earlier key has signed for it, or it was only `seen`. */
export const newPin = (name, key, how = 'seen') =>
  ({ name, key, keys: [key], how, compared: [], held: [], delegated: [] });

/** What a log says of its two players: their keys in order, and the keys that the service holds for them. */
export function seatsOf(lines) {
  const seats = [];
  for (const { entry: { body, by, kind, seq } } of lines) {
    const seat = seats.find(each => each.name === (body.name ?? by));
    if ((kind === 'open' && !seats.length) || (kind === 'join' && seats.length === 1)) {
      const held = body.gateway ? [{ gateway: body.gateway, only: true, seq }] : [];
      seats.push({ name: by, keys: [body.key], later: [], held });
    } else if (seat && (kind === 'rekey' || kind === 'revoke')) {
      seat.later.push({ key: body.key, old: body.old, vouched: kind === 'revoke' });
      seat.keys.push(body.key);
    } else if (seat && kind === 'delegate' && body.gateway) seat.held.push({ gateway: body.gateway, only: false, seq });
  }
  return seats;
}

/** Compares the keys of a game's players with those that are known here. Returns the pins that change, and remarks for
 *  the player. `ask` gives what the service says of a player; `pinOf` the kept pin. */
export async function meet(lines, { me, origin, pinOf, ask }) {
  const pins = [], /** @type {[string, any][]} */ remarks = [];
  const byLink = Boolean(lines[1]?.entry.body.invite?.link), seats = seatsOf(lines);
  for (const seat of seats) {
    const mine = seat.name === me, kept = await pinOf(seat.name);
    verifyHeld(seat, kept, mine, origin);
    const pin = kept ? structuredClone(kept) : newPin(seat.name, seat.keys[0]);
    const introduced = byLink && seats.length === 2 && !mine && seats.some(each => each.name === me);
    if (introduced && pin.how !== 'compared' && pin.key === seat.keys[0]) pin.how = 'link';
    const before = pin.key;
    await learnFirst(pin, seat, mine, origin, ask);
    await learnLater(pin, seat, mine);
    if (pin.key !== before) {
      if (pin.how !== 'compared' || !pin.compared.includes(pin.key)) pin.how = 'followed';
      remarks.push(['key-followed', { name: seat.name, fingerprint: await fingerprint(pin.key) }]);
    }
    for (const { gateway: { key }, only, seq } of seat.held) {
      const list = only ? pin.held : pin.delegated, known = list.includes(key);
      if (!known) list.push(key);
      const tells = !mine && (!known || seats.length < 2); // before a join it is said each time
      if (tells) remarks.push([only ? 'held-player' : 'held-since', { name: seat.name, entry: seq + 1 }]);
    }
    if (JSON.stringify(pin) !== JSON.stringify(kept)) pins.push(pin);
  }
  return { pins, remarks };
}

/** Only this service may hold a key here, and a player with a key of their own has not given the game away unasked. */
function verifyHeld(seat, pin, mine, origin) {
  for (const { gateway, only } of seat.held) {
    if (gateway.origin !== origin) refuse('held-elsewhere', { name: seat.name, origin: gateway.origin });
    if (!only || !pin) continue;
    const expected = pin.held.includes(gateway.key) || pin.compared.includes(gateway.key);
    if (!expected && !(mine && pin.keys.includes(gateway.key))) refuse('held-instead', { name: seat.name });
  }
}

async function learnFirst(pin, { keys, name }, mine, origin, ask) {
  const [first] = keys, place = keys.findIndex(key => pin.keys.includes(key));
  if (place === 0) return;
  if (place > 0) pin.keys.push(...keys.slice(0, place)); // each has signed in this game for the one that follows it
  else if (mine && pin.compared.includes(first)) pin.keys.push(first);
  else {
    const steps = await successors(name, origin, ask);
    const forwards = follow(steps, pin.key, first), backwards = follow(steps, first, pin.key);
    if (!forwards && !backwards && !pin.compared.includes(first)) {
      refuse(mine ? 'another-key-mine' : 'another-key', {
        name, shown: await fingerprint(first), known: await fingerprint(pin.key),
      });
    }
    pin.keys.push(...(forwards ?? [first, ...(backwards ?? []).slice(0, -1)]).filter(key => !pin.keys.includes(key)));
    if (forwards || !backwards) pin.key = first;
  }
}

async function learnLater(pin, { name, later }, mine) {
  for (const { key, old, vouched } of later) {
    if (pin.keys.includes(key)) continue;
    if (vouched && !pin.compared.includes(key)) {
      refuse(mine ? 'seat-taken-over' : 'key-vouched', { name, shown: await fingerprint(key) });
    }
    pin.keys.push(key);
    if (old === pin.key) pin.key = key;
  }
}

/** The changes of a player's key that both keys have signed at this service, from the old key to the new. */
async function successors(name, origin, ask) {
  const steps = new Map();
  for (const { key, text, sig, new_sig: newSig } of (await ask(name))?.earlier ?? []) {
    if (!text || !sig || !newSig) continue;
    try {
      const said = decode(text, 1024);
      const whole = said.name === name && said.old === key && said.origin === origin;
      if (whole && await signed(key, 'hkoji.newkey.v1', sig, text)
        && await signed(said.key, 'hkoji.newkey.v1', newSig, text)) steps.set(key, said.key);
    } catch { /* a statement that cannot be read proves nothing */ }
  }
  return steps;
}

/** The keys after `start` up to `end`, or null if no chain of steps leads there. */
function follow(steps, start, end) {
  const passed = [];
  for (let key = start; key !== end;) {
    const next = steps.get(key);
    if (next === undefined || passed.includes(next)) return null;
    passed.push(key = next);
  }
  return passed;
}

/** Whether each key of a player on the way from `start` to the one of today has signed for the next. */
export const successor = async (found, start, origin) =>
  Boolean(follow(await successors(found.name, origin, async () => found), start, found.key));

// --- views and heads -------------------------------------------------------------------------------------------------

/** Reads a signed `view` or `head` of the service. */
export async function readStatement(server, kind, { sig, text }, game) {
  let said = null;
  try { if (await signed(server, `hkoji.${kind}.v1`, sig, text)) said = readText(text, kind) } catch { /* none */ }
  if (!said) refuse(`${kind}-false`);
  if (said.game !== game) refuse('another-game');
  return said;
}

/** A view takes nothing back: each round begins with the cards that were shown before. */
export function verifyGrowth(before, now) {
  for (const { round, cards } of before?.dealt ?? []) {
    const later = now.dealt.find(each => each.round === round)?.cards ?? '';
    if (!later.startsWith(cards)) refuse('view-shrinks', { round });
  }
}

const HEAD_SECONDS = 120;

/** Checks lines against signed heads: the entry that was the last, and no later entry with an earlier time. */
export function verifyHeads(heads, lines) {
  for (const { at, head, seq } of heads) {
    if (seq < lines.length && lines[seq].head !== head) refuse('head-differs', { entry: seq });
    const next = lines[seq + 1];
    if (next && seconds(next.receipt.at) < seconds(at) - HEAD_SECONDS) refuse('head-later', { entry: seq + 1 });
  }
}

/** At the end, the cards that this player was shown are those that the seed has dealt, and then some of those drawn. */
export function verifyEnd(deal, view, seat, ruleset) {
  for (const { round, cards } of view.dealt) {
    const dealt = deal.find(each => each.round === round);
    if (!dealt) continue;
    const shown = cut(ruleset, cards), hand = dealt.hands[seat];
    const turns = [0, 1].map(first => dealt.draws.filter((_, n) => n % 2 === first)); // they draw in turn
    const fits = turns.some(mine => shown.every((card, n) => card === [...hand, ...mine][n]));
    if (!fits || shown.length < hand.length) refuse('view-not-dealt', { round });
  }
}

// --- evidence --------------------------------------------------------------------------------------------------------

const wrapped = (kind, it) => `{"${kind}":${signedText(it)}}`;
const ROOM = { view: 2 ** 20, head: 2 ** 19, refused: 2 ** 20 + 3 * 2 ** 18 }; // bytes of one game, 3.25 MiB together
const MOST = { view: 1024, head: 512, refused: 2048 };

const fits = (kind, lines) =>
  lines.length <= MOST[kind] && lines.reduce((sum, each) => sum + each.length + 1, 0) <= ROOM[kind];

/** The changes of the store that add `line` to a game's evidence of this kind; none if it is there or does not fit. */
export async function keepEvidence(store, game, kind, line) {
  const there = await store.list('evidence', game, kind);
  if (there.includes(line) || !fits(kind, [...there, line])) return [];
  return [['evidence', [game, kind, there.length], line]];
}
export const keepView = (store, game, view) => keepEvidence(store, game, 'view', wrapped('view', view));

/** Keeps of what was refused all that the service has signed: new lines, a view, a head. */
export async function keepRefused(store, server, game, { fresh, view, head }) {
  const said = [];
  for (const line of fresh) {
    try {
      const { entry, receiptSig, receiptText, sig, text } = parseLine(line);
      const own = entry.by === 'server' && await signed(server, 'hkoji.server.v1', sig, text);
      const given = receiptText && await signed(server, 'hkoji.receipt.v1', receiptSig, receiptText);
      if (entry.game === game && (own || given)) said.push(line);
    } catch { /* no such line may be in a file of evidence */ }
  }
  if (view && await readStatement(server, 'view', view, game).catch(() => null)) said.push(wrapped('view', view));
  if (head && await readStatement(server, 'head', head, game).catch(() => null)) said.push(wrapped('head', head));
  for (const each of said) await store.keep(await keepEvidence(store, game, 'refused', `{"refused":${each}}`));
}

/** Keeps a head that holds, if there is room: of each entry the newest, the last before its deadline and the first
 *  after it. */
export async function keepHead(store, game, head, deadline) {
  const said = decode(head.text), place = [game, said.seq, said.head];
  const all = [...await store.get('heads', place) ?? [], { at: said.at, ...head }];
  const lines = [...(await store.list('heads', game)).flat(), head].map(each => wrapped('head', each));
  if (!fits('head', lines)) return [];
  const ordered = all.sort((a, b) => seconds(a.at) - seconds(b.at));
  const before = ordered.filter(each => deadline && each.at <= deadline).at(-1);
  const after = ordered.find(each => deadline && each.at > deadline);
  return [['heads', place, [...new Set([before, after, ordered.at(-1)].filter(Boolean))]]];
}

/** A file of evidence: docs/spec/evidence.md. While the game runs, own views are in it only with `cards`. */
export async function evidenceFile(store, server, game, lines, { cards = false } = {}) {
  const over = lines.some(each => each.entry.kind === 'end'), shows = over || cards;
  const keys = { server: [server] };
  for (const { name } of seatsOf(lines)) {
    const pin = await store.get('pins', name);
    if (pin) keys[name] = [...pin.keys].sort();
  }
  const heads = (await store.list('heads', game)).flat();
  const all = await store.list('evidence', game, 'refused');
  const refused = all.filter(each => shows || !each.startsWith('{"refused":{"view"'));
  return [
    encode({ evidence: 1, game, keys }), ...lines.map(each => each.line),
    ...shows ? await store.list('evidence', game, 'view') : [], ...heads.map(each => wrapped('head', each)), ...refused,
  ].map(line => `${line}\n`).join('');
}
