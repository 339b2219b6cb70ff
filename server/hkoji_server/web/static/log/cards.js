// Steps 6 and 7 of the audit: commitments, and what chance has decided. docs/spec/log.md, "Commitments" and "Deal".
// Of the games it knows only which cards they have and how a deck is cut.
import { Finding, hmac, order, sha256 } from './text.js';

/** @typedef {import('./check.js').Line} Line */
/** @typedef {import('./check.js').Fault} Fault */
/** @typedef {import('./check.js').Party} Party */

/** "Who is named", from step 6 on: the author, and the service if it has taken the entry. */
function answerable(lines, n) {
  const { receipt, service, signer } = lines[n];
  if (signer?.held) return [signer];
  const taken = receipt || lines.slice(n).some(line => line.entry.by === 'server');
  return [...new Set([signer, taken ? service : null])].flatMap(each => each ?? []);
}

const fault = (lines, n, text) => ({ entry: n, why: new Finding('finding', text), blamed: answerable(lines, n) });

export async function commitmentFault(lines) {
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
  const seals = dealer.name === 'duplicate/v1';
  if (kind === 'end' && (seed === null) !== seals) return 'check-seed-sealed';
  if (seed === null) return null;
  const lines = seals ? ['hkoji.duplicate.seed.v1', dealer.deal] : ['hkoji.seed.v1', game];
  return dealer.seed_commit === await sha256(...lines, seed) ? null : 'check-seed';
}

// --- the deal

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
  return { ruleset, players: [host, guest], of: round => hmac(seed, ...start, round) };
}

async function sorted(key, space, names) {
  const keyed = await Promise.all(names.map(async name => ({ name, by: await hmac(key, space, name) })));
  return keyed.sort((a, b) => order(a.by, b.by)).map(each => each.name);
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
