// Keys and their files, entries, statements and hidden cards, as players write them: docs/spec/log.md, "Client rules".
// Of the games it knows only which cards of an action lie face down.
import {
  base64, bytes, concat, encode, field, hex, keyText, need, P, rawSignature, sha256, sign, to64, TYPE, u32, unhex,
} from './text.js';
import { timeText } from './times.js';

export const now = () => timeText(Math.floor(Date.now() / 1000));

export const fresh = count => hex(crypto.getRandomValues(new Uint8Array(count)));

const PKCS8 = unhex('302e020100300506032b657004220420'); // RFC 8410: what stands before the 32 bytes of a key

/** The key of 32 bytes, its `seed`: `key` signs and cannot be exported, `raw` is its public half, `text` the same as a
 *  log has it. @param {Uint8Array} seed */
export async function keyOf(seed) {
  const jwk = await jwkOf(seed), raw = base64(jwk.x.replaceAll('-', '+').replaceAll('_', '/') + '=');
  const key = await crypto.subtle.importKey('jwk', jwk, 'Ed25519', false, ['sign']);
  return { key, raw, seed, text: keyText(raw) };
}

/** WebCrypto tells the public half only of a key that may be exported. WebKitGTK loses a first byte that is 0, and then
 *  takes no such key in PKCS8 (CryptoKeyOKPGCrypt.cpp of WebKit): then its public half is computed here.
 *  @returns {Promise<any>} */
async function jwkOf(seed) {
  try {
    const open = await crypto.subtle.importKey('pkcs8', concat(PKCS8, seed), 'Ed25519', true, ['sign']);
    return await crypto.subtle.exportKey('jwk', open);
  } catch (error) {
    if (seed[0] !== 0) throw error;
    return { kty: 'OKP', crv: 'Ed25519', d: to64url(seed), x: to64url(await publicHalf(seed)) };
  }
}

const to64url = data => to64(data).replaceAll('+', '-').replaceAll('/', '_').replace('=', '');

/** @param {bigint} n */
const mod = n => ((n % P) + P) % P;

/** @param {bigint} n */
function inverse(n) {
  let power = 1n;
  for (let rest = P - 2n; rest; rest >>= 1n, n = mod(n * n)) if (rest & 1n) power = mod(power * n);
  return power;
}

const D = -121665n * inverse(121666n);
const BASE = [15112221349535400772501151409588531511454012693041857206046113283949847762202n, mod(4n * inverse(5n))];

/** The sum of two points (x, y) of the curve: RFC 8032, 5.1. @param {bigint[]} one @param {bigint[]} other */
function sum([x, y], [u, v]) {
  const k = mod(D * x * y * u * v);
  return [mod((x * v + y * u) * inverse(1n + k)), mod((y * v + x * u) * inverse(1n - k))];
}

/** RFC 8032, 5.1.5: some 300 ms. */
async function publicHalf(seed) {
  const half = new Uint8Array(await crypto.subtle.digest('SHA-512', seed)).slice(0, 32).reverse();
  let point = [0n, 1n], double = BASE;
  for (let rest = (BigInt(`0x${hex(half)}`) & (2n ** 255n - 8n)) | 2n ** 254n; rest; rest >>= 1n) {
    if (rest & 1n) point = sum(point, double);
    double = sum(double, double);
  }
  const [x, y] = point;
  return unhex((y | (x & 1n) << 255n).toString(16).padStart(64, '0')).reverse();
}

/** "Invitation by link". */
export const linkKey = async code => keyOf(unhex(await sha256('hkoji.link.v1', code)));

const LETTERS = 'abcdefghijklmnopqrstuvwxyz234567';

/** A key as 52 letters, for password managers: base32 (RFC 4648) in lower case. */
export function toLetters(seed) {
  const bits = Array.from(seed, each => each.toString(2).padStart(8, '0')).join('').padEnd(260, '0');
  return bits.replace(/.{5}/g, five => LETTERS[parseInt(five, 2)]);
}

export function fromLetters(text) {
  const letters = text.toLowerCase().replace(/[\s-]/g, '');
  need(/^[a-z2-7]{51}[aq]$/.test(letters), 'check-no-letters');
  const bits = Array.from(letters, each => LETTERS.indexOf(each).toString(2).padStart(5, '0')).join('');
  return Uint8Array.from({ length: 32 }, (_, n) => parseInt(bits.slice(8 * n, 8 * n + 8), 2));
}

// --- key files: OpenSSH's PROTOCOL.key, without a passphrase

const MAGIC = bytes('openssh-key-v1\0'), NONE = field(bytes('none'));
const UNLOCKED = concat(NONE, NONE), ONE_KEY = concat(field(bytes('')), u32(1));
const [BEGIN, END] = ['BEGIN', 'END'].map(word => `-----${word} OPENSSH PRIVATE KEY-----`);

export function keyFile(seed, raw, comment) {
  const guess = crypto.getRandomValues(new Uint8Array(4));
  const inner = concat(guess, guess, TYPE, field(raw), field(concat(seed, raw)), field(bytes(comment)));
  const padded = concat(inner, Uint8Array.from({ length: (8 - inner.length % 8) % 8 }, (_, n) => n + 1));
  const all = concat(MAGIC, UNLOCKED, ONE_KEY, field(concat(TYPE, field(raw))), field(padded));
  return [BEGIN, ...to64(all).match(/.{1,70}/g) ?? [], END, ''].join('\n');
}

/** The 32 bytes and the comment of a key file without a passphrase. */
export function readKeyFile(text) {
  const found = text.split(BEGIN)[1]?.split(END)[0];
  need(found, 'check-no-key-file');
  const read = reader(base64(found.replace(/\s/g, '')));
  read.same(MAGIC, 'check-no-key-file');
  read.same(UNLOCKED, 'check-key-file-locked');
  read.same(ONE_KEY, 'check-no-key-file');
  read.string();
  const inner = reader(read.string());
  inner.take(8);
  inner.same(TYPE, 'check-key-file-type');
  inner.string();
  const both = inner.string();
  need(both.length === 64, 'check-key-file-type');
  return { seed: both.slice(0, 32), comment: new TextDecoder().decode(inner.string()) };
}

/** The 32 bytes of a new key, which nothing keeps yet. */
export const newSeed = () => unhex(fresh(32));

/** Reads a key from the text of its file, or from its 52 letters; `name` is the file's comment. @param {string} text */
export async function readCopy(text) {
  const { comment, seed } = text.includes('-----') ? readKeyFile(text) : { seed: fromLetters(text), comment: '' };
  return { ...await keyOf(seed), name: comment.trim() };
}

function reader(data) {
  let at = 0;
  const take = count => {
    need(at + count <= data.length, 'check-no-key-file');
    return data.slice(at, at += count);
  };
  const string = () => take(parseInt(hex(take(4)), 16));
  const same = (part, text) => need(hex(take(part.length)) === hex(part), text);
  return { take, string, same };
}

// --- entries and statements

export async function entry(signer, by, last, kind, body) {
  const { game, head, seq, time } = last;
  const text = encode({ at: now(), body, by, game, kind, prev: head, seen: time, seq: seq + 1, v: 1 });
  return { entry: text, sig: await sign(signer, 'hkoji.entry.v1', text) };
}

/** A signed statement in the namespace `space`. */
export async function state(signer, space, value) {
  const text = encode({ ...value, v: 1 });
  return { text, sig: await sign(signer, space, text) };
}

/** "Entropy" of a player's key for a game, 64 hex digits: the same on each device that has the key. The signature
 *  that it is the hash of is never sent. */
export async function entropyOf(signer, game, head) {
  const sig = await rawSignature(signer, 'hkoji.entropy.v1', encode({ game, head, v: 1 }));
  return hex(await crypto.subtle.digest('SHA-256', sig));
}

export const commitEntropy = (game, seat, entropy) => sha256('hkoji.entropy.v1', game, seat, entropy);

/** docs/rules/notation.md: how long a card is, and which cards of which action open together. All others lie open. */
export const NOTATION = {
  hanamikoji: { width: 1, acts: '1234', hides: { 1: [[0]], 2: [[0, 1]] } },
  'geishas-road': { width: 2, acts: 'RIGC', hides: { I: [[0], [1]] } },
};

/** The cards that stand in a text one after another. @returns {string[]} */
export const cut = (ruleset, text) => text.match(new RegExp(`.{1,${NOTATION[ruleset].width}}`, 'g')) ?? [];

export const cardsOf = (ruleset, action) => cut(ruleset, action.slice(1));

/** The cards that are left of `from` without those of `list`; null if they are not all there.
 *  @param {string[]} from @param {string[]} list */
export function without(from, list) {
  const left = [...from];
  for (const each of list) {
    if (!left.includes(each)) return null;
    left.splice(left.indexOf(each), 1);
  }
  return left;
}

/** The body of a move, and the openings of its hidden cards. */
export async function move(ruleset, { game, seq }, action) {
  const { acts, hides } = NOTATION[ruleset], kind = action[0], cards = cardsOf(ruleset, action);
  const groups = (acts.includes(kind) && hides[kind]) || [], hidden = groups.flat();
  if (!groups.length) return { body: { action }, opening: [] };
  const opening = groups.map((places, part) =>
    ({ cards: places.map(n => cards[n]).join(''), part, salt: fresh(32), seq: seq + 1 }));
  const commit = await Promise.all(opening.map(({ cards: closed, part, salt }) =>
    sha256('hkoji.hidden.v1', game, seq + 1, part, closed, salt)));
  const shown = cards.map((card, n) => (hidden.includes(n) ? 'X' : card)).join('');
  return { body: { action: kind + shown, commit }, opening };
}
