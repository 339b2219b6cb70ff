// The audit of a log, steps 1 to 7: docs/spec/log.md, "Audit". Each step works on the lines that hold in those before.
// Steps 8 and 9, the rules of the games, are for `hkoji audit`.
import { encode, Finding, fingerprint, hmac, need, parseLine, point, sha256, signed } from './text.js';
import { bad, clockFault, creditFault, recordFault } from './times.js';

/** Audits a log. `pins` are the keys expected from outside, by name. It never throws because of what is in a log. Of
 *  what is `found`, `text` is a key of WORDS and `values` fill its places; `signer` lists in the same way those whom it
 *  convicts: without `text` the name is all that is to be said. `lines` are those that hold, with what they say. */
export async function check(data, pins = {}) {
  const { lines, total, failed } = readLines(data), found = failed ? [await describe(1, failed)] : [];
  for (const [step, find] of STEPS) {
    const fault = lines.length ? await find(lines, pins) : null;
    if (!fault) continue;
    found.push(await describe(step, fault));
    lines.length = fault.entry;
  }
  return {
    holds: lines.length, total, head: lines.at(-1)?.head ?? null, found, lines, keys: lines.at(-1)?.keys ?? {},
    deal: await dealOf(lines),
  };
}

/** Each gives the first entry that it rejects, why, and those whom that convicts; or null.
 *  @type {[number, (lines: any[], pins: object) => any][]} */
const STEPS = [[2, chainFault], [3, keyFault], [4, signatureFault], [5, recordFault], [5, creditFault],
  [5, clockFault], [6, commitmentFault], [7, chanceFault]];

async function describe(step, { entry, why, blamed }) {
  const { kind, text, values } = why;
  return { step, entry, kind, text, values, signer: await Promise.all(blamed.map(nameOf)) };
}

/** How `hkoji audit` names a signer: only a pinned key by its name alone. */
async function nameOf({ name, key, pinned, vouched, held, holder }) {
  if (held && holder && !holder.pinned) {
    return { text: 'check-by-unpinned-holder', values: { name, fingerprint: await fingerprint(holder.key) } };
  }
  if (held) return { text: 'check-by-holder', values: { name } };
  if (pinned) return { text: null, values: { name } };
  const values = { name, fingerprint: await fingerprint(key) };
  return { text: vouched ? 'check-by-vouched' : 'check-by-unpinned', values };
}

function readLines(data) {
  // As UTF-8 one bad byte would become a character that is allowed elsewhere, or (at the beginning) nothing at all.
  const all = new TextDecoder('latin1').decode(data).split('\n'), rest = all.pop();
  /** @type {any[]} */ const lines = [];
  try {
    for (const text of all) lines.push(parseLine(text));
    need(rest === '', 'check-cut-short');
    need(lines.length, 'check-empty');
  } catch (error) {
    if (!(error instanceof Finding)) throw error;
    const failed = { entry: lines.length, why: error, blamed: [] };
    return { lines, total: Math.max(lines.length + 1, all.length), failed };
  }
  return { lines, total: lines.length, failed: null };
}

async function chainFault(lines) {
  let head = '0'.repeat(64);
  for (const [n, line] of lines.entries()) {
    const { game, prev, seq } = line.entry;
    if (seq !== n || game !== lines[0].entry.game || prev !== head) {
      return { entry: n, why: bad('check-chain'), blamed: [] };
    }
    head = line.head = await sha256(line.text);
  }
  return null;
}

function keyFault(lines, pins) {
  const ring = new Keyring(pins);
  for (const [n, line] of lines.entries()) {
    try { ring.read(line); } catch (error) {
      if (!(error instanceof Finding)) throw error;
      return { entry: n, why: error, blamed: [] };
    }
  }
  return null;
}

/** The keys that a log has named so far. */
class Keyring {
  constructor(pins) {
    this.pins = new Map(Object.entries(pins).filter(([, keys]) => keys.length));
    this.own = new Map();
    this.held = new Map(); // those of the service beside the players' own
    /** @type {?string | undefined} of the first open; undefined before it */ this.link = undefined;
  }

  /** Notes which key must have signed a line, the keys that it names, and the key of each name after it. */
  read(line) {
    const { body, by, kind } = line.entry;
    const { gateway, invite, key, server_key } = body;
    for (const each of [key, server_key, invite?.key, invite?.link, gateway?.key]) if (each) point(each);
    if (kind === 'offer') this.add('server', server_key);
    if (kind === 'open' || kind === 'join') this.add(by, key, Boolean(gateway));
    line.signer = (body.mail && this.held.get(by)) || this.own.get(by) || null;
    line.service = this.own.get('server') ?? null;
    line.link = (kind === 'open' ? invite?.link : kind === 'join' ? this.link : null) ?? null;
    if (kind === 'open' && this.link === undefined) this.link = invite?.link ?? null;
    if (kind === 'rekey' || kind === 'revoke') this.replace(line.entry);
    if (kind === 'revoke') this.held.delete(body.name);
    if (kind === 'delegate' && !gateway) this.held.delete(by);
    if (kind === 'delegate' && gateway) this.held.set(by, this.party(by, gateway.key, true));
    line.keys = Object.fromEntries([...this.own.values()].map(each => [each.name, each.key]));
  }

  /** A key of a name: `pinned` if it was expected from outside, `vouched` if only the service says whose it is, `held`
   *  if the service signs with it for the player; `holder` is the service then. */
  party(name, key, held = false) {
    const keys = this.pins.get(name), holder = held && this.own.get('server');
    const pinned = Boolean(held ? keys?.includes(key) || holder?.pinned : keys);
    return { name, key, pinned, vouched: false, held, holder };
  }

  expect(name, key) {
    const keys = this.pins.get(name);
    if (keys && !keys.includes(key)) throw bad('check-unexpected-key', { name });
  }

  add(name, key, held = false) {
    this.expect(name, key);
    if (this.own.has(name)) throw bad('check-second-key', { name });
    this.own.set(name, this.party(name, key, held));
  }

  /** "Other keys". */
  replace({ body, by, kind }) {
    const name = kind === 'revoke' ? body.name : by, before = this.own.get(name);
    if (name === 'server' || (by === 'server') !== (kind === 'revoke') || before?.key !== body.old) {
      throw bad('check-second-key', { name });
    }
    const after = this.party(name, body.key);
    if (kind === 'revoke') this.expect(name, body.key);
    after.vouched = kind === 'revoke' || (before.vouched && !after.pinned);
    this.own.set(name, after);
  }
}

async function signatureFault(lines) {
  const verdicts = await Promise.all(lines.map(signatureFinding)), n = verdicts.findIndex(Boolean);
  return n < 0 ? null : { entry: n, why: verdicts[n], blamed: [] };
}

async function signatureFinding(line) {
  const { entry: { body, by, kind }, sig, signer, text } = line;
  if (!signer) return bad('check-no-signer', { name: by });
  const space = by === 'server' ? 'hkoji.server.v1' : body.mail ? 'hkoji.gateway.v1' : 'hkoji.entry.v1';
  if (!await signed(signer.key, space, sig, text)) return bad('check-signature', { name: by });
  const proven = kind === 'rekey' || kind === 'revoke' ? await isKeyProven(line)
    : line.link || body.link_sig ? await isLinkProven(line) : true;
  return proven ? null : bad(line.link || body.link_sig ? 'check-link' : 'check-proof');
}

/** "Other keys": the new key has signed, and the old one its revocation. */
async function isKeyProven({ entry: { body, by, game, kind, prev, seq } }) {
  const { key, old, proof, revocation } = body, name = kind === 'revoke' ? body.name : by;
  if (!await signed(key, 'hkoji.rekey.v1', proof, encode({ game, key, name, old, prev, seq, v: 1 }))) return false;
  if (!revocation) return true;
  const { at, origin, sig } = revocation;
  return signed(old, 'hkoji.revoke.v1', sig, encode({ at, key: old, name, origin, v: 1 }));
}

/** "Invitation by link". */
async function isLinkProven({ entry: { body, by, game, kind, prev }, link }) {
  const { entropy_commit, invite, key, link_sig } = body, sig = kind === 'open' ? invite.sig : link_sig;
  const text = encode({ entropy_commit, game, key, name: by, prev, v: 1 });
  return Boolean(link && sig) && signed(link, kind === 'open' ? 'hkoji.invite.v1' : 'hkoji.join.v1', sig, text);
}

/** "Who is named", from step 6 on: the author, and the service if it has taken the entry. */
function answerable(lines, n) {
  const { receipt, service, signer } = lines[n];
  if (signer?.held) return [signer];
  const taken = receipt || lines.slice(n).some(line => line.entry.by === 'server');
  return [...new Set([signer, taken ? service : null])].flatMap(each => each ?? []);
}

const fault = (lines, n, text) => ({ entry: n, why: bad(text), blamed: answerable(lines, n) });

async function commitmentFault(lines) {
  const book = { commits: new Map(), closed: new Map(), salts: new Set(), dealer: null };
  for (const [n, { entry }] of lines.entries()) {
    const text = await commitmentFinding(book, entry);
    if (text) return fault(lines, n, text);
  }
  return null;
}

/** `book` is what the log has committed to so far. */
async function commitmentFinding(book, { body, by, game, kind, seq }) {
  if (kind === 'offer') book.dealer = body.dealer;
  if (kind === 'open') book.commits.set(by, { seat: 0, commit: body.entropy_commit });
  if (kind === 'join') book.commits.set(by, { seat: 1, commit: body.entropy_commit });
  if (kind === 'seed') {
    const { seat, commit } = book.commits.get(by) ?? {};
    return commit === await sha256('hkoji.entropy.v1', game, seat, body.entropy) ? null : 'check-entropy';
  }
  if (kind === 'move') (body.commit ?? []).forEach((commit, part) => book.closed.set(`${seq} ${part}`, commit));
  if (kind === 'end' || kind === 'unseal') {
    const text = await seedFinding(book.dealer, game, kind, body.seed);
    if (text) return text;
  }
  for (const { cards, part, salt, seq: of } of body.openings ?? []) {
    const place = `${of} ${part}`, commit = book.closed.get(place);
    if (commit !== await sha256('hkoji.hidden.v1', game, of, part, cards, salt)) return 'check-opening';
    if (book.salts.has(salt)) return 'check-salt';
    book.salts.add(salt);
    book.closed.delete(place);
  }
  return kind === 'end' && book.closed.size ? 'check-closed' : null;
}

async function seedFinding(dealer, game, kind, seed) {
  if (!dealer) return null;
  const late = dealer.name === 'duplicate/v1';
  if (kind === 'end' && (seed === null) !== late) return 'check-seed-end';
  if (seed === null) return null;
  const lines = late ? ['hkoji.duplicate.seed.v1', dealer.deal] : ['hkoji.seed.v1', game];
  return dealer.seed_commit === await sha256(...lines, seed) ? null : 'check-seed';
}

const PACKS = {
  hanamikoji: 'A1 A2 B1 B2 C1 C2 D1 D2 D3 E1 E2 E3 F1 F2 F3 F4 G1 G2 G3 G4 G5',
  'geishas-road': 'A1 A2 A3 A4 B1 B2 B3 B4 C1 C2 C3 C4 D1 D2 D3 D4 E1 E2 E3 E4',
};

/** The key of each round's deck; null while seed or entropy is not known. */
function deckKeys(lines) {
  const entries = lines.map(line => line.entry), [first] = entries;
  const host = entries.find(it => it.kind === 'open')?.by, guest = entries.find(it => it.kind === 'join')?.by;
  const entropyOf = name => entries.findLast(it => it.kind === 'seed' && it.by === name)?.body.entropy;
  const over = entries.findIndex(it => it.kind === 'end');
  const seed = entries.findLast((it, n) => it.kind === 'end' || (it.kind === 'unseal' && n > over))?.body.seed;
  if (over < 0 || !seed || first.kind !== 'offer' || !entropyOf(host) || !entropyOf(guest)) return null;
  const { dealer, ruleset } = first.body;
  const start = dealer.name === 'duplicate/v1' ? ['hkoji.duplicate.deck.v1', dealer.deal]
    : ['hkoji.deck.v1', first.game, entropyOf(guest), entropyOf(host)];
  return { ruleset, of: round => hmac(seed, ...start, round) };
}

async function sorted(key, space, names) {
  const keyed = await Promise.all(names.map(async name => ({ name, by: await hmac(key, space, name) })));
  return keyed.sort((a, b) => (a.by < b.by ? -1 : 1)).map(each => each.name);
}

/** Step 7: a `chance` is exactly what seed and entropy give. */
export async function chanceFault(lines) {
  const keys = deckKeys(lines);
  if (!keys || (keys.ruleset.first !== 'random' && keys.ruleset.markers !== 'random')) return null;
  const key = await keys.of(1), bit = parseInt((await hmac(key, 'hkoji.first.v1')).slice(0, 2), 16) & 1;
  const first = keys.ruleset.first === 'random' ? bit : undefined;
  const markers = keys.ruleset.markers === 'random'
    ? (await sorted(key, 'hkoji.marker.v1', [...'ABCDE'])).join('').slice(0, 2) : undefined;
  const n = lines.findIndex(({ entry: { body, kind } }) =>
    kind === 'chance' && (body.first !== first || body.markers !== markers));
  return n < 0 ? null : fault(lines, n, 'check-chance');
}

/** The cards of each round that seed and entropy give, as far as rounds have begun: none while the game runs. */
export async function dealOf(lines) {
  const keys = deckKeys(lines);
  if (!keys) return [];
  const byRules = lines.some(({ entry: { body, kind } }) =>
    kind === 'end' && ['charm', 'geisha', 'limit', 'rounds'].includes(body.result.reason));
  const rounds = lines.filter(line => line.entry.kind === 'reveal').length + (byRules ? 0 : 1);
  const copies = keys.ruleset.name === 'geishas-road', aside = copies ? 0 : 1;
  return Promise.all(Array.from({ length: rounds }, async (_, n) => {
    const pack = await sorted(await keys.of(n + 1), 'hkoji.order.v1', PACKS[keys.ruleset.name].split(' '));
    const deck = pack.map(card => (copies ? card : card[0]));
    const hands = [deck.slice(aside, aside + 6), deck.slice(aside + 6, aside + 12)];
    return { round: n + 1, aside: deck.slice(0, aside), hands, draws: deck.slice(aside + 12) };
  }));
}

// As a worker, beside a page, so that it stays quick: a message {data, pins} is answered at the port that it brings.
globalThis.onmessage = async ({ data: { data, pins }, ports }) => ports[0].postMessage(await check(data, pins));
