// Judges tests/data/vectors/sealed.json by @noble/curves and the words of docs/spec/sealed.md. It shares no code with
// the package.
//
//     node noble.mjs NODE_MODULES SEALED.JSON
//
// Prints how many vectors of each kind it has judged, and each that it judges otherwise than the file. Exits with 1 if
// there is one.
import { createHash, createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [packages, file] = process.argv.slice(2);
const curves = pathToFileURL(resolve(packages, '@noble/curves/ed25519.js')).href;
const { ristretto255, ristretto255_hasher: hasher } = await import(curves);
const vectors = JSON.parse(readFileSync(file, 'utf8'));

const { Point } = ristretto255;
const L = Point.Fn.ORDER;
const SHORT = 1n << 128n;
const G = Point.BASE;

class Malformed extends Error {}

// --- bytes and numbers ---

const raw = (text) => {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') !== text) throw new Malformed('base64');
  return bytes;
};
const hex = (text) => Buffer.from(text, 'hex');
const ascii = (text) => Buffer.from(text, 'ascii');
const little = (bytes) => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`);
const u64 = (number) => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(number));
  return bytes;
};
const parts = (bytes, sizes) => {
  if (bytes.length !== sizes.reduce((a, b) => a + b, 0)) throw new Malformed('length');
  let begin = 0;
  return sizes.map((size) => bytes.subarray(begin, (begin += size)));
};
const times = (count, ...sizes) => Array.from({ length: count }, () => sizes).flat();
const range = (count) => [...Array(count).keys()];
const split = (bytes) => parts(bytes, times(bytes.length / 32, 32));
const scalar = (bytes) => {
  const number = little(bytes);
  if (number >= L) throw new Malformed('scalar');
  return number;
};
const mod = (number) => ((number % L) + L) % L;

// --- the group ---

const read = (bytes) => {
  let point;
  try {
    point = Point.fromBytes(bytes);
  } catch {
    throw new Malformed('point');
  }
  if (point.equals(Point.ZERO)) throw new Malformed('identity');
  return point;
};
const product = (number, point) => (mod(number) === 0n ? Point.ZERO : point.multiply(mod(number)));
const sum = (points) => points.reduce((a, b) => a.add(b), Point.ZERO);
const combine = (...terms) => sum(terms.map(([number, point]) => product(number, point)));
const bytesOf = (point) => Buffer.from(point.toBytes());
const hashed = (text) => hasher.deriveToCurve(createHash('sha512').update(text, 'ascii').digest());

const H = hashed('hkoji.sealed.blind.v1\n');
const bases = range(21).map((i) => hashed(`hkoji.sealed.base.v1\n${i}\n`));
const card = (ruleset, name) => hashed(`hkoji.sealed.card.v1\n${ruleset}\n${name}\n`);

// --- transcripts ---

class Transcript {
  constructor(label, ...context) {
    this.state = createHash('sha512');
    this.absorb(ascii('hkoji.sealed.v1'), ascii(label), ...context);
  }

  absorb(...items) {
    for (const item of items) {
      const bytes = typeof item === 'number' ? u64(item) : item instanceof Uint8Array ? item : bytesOf(item);
      const length = Buffer.alloc(4);
      length.writeUInt32BE(bytes.length);
      this.state.update(length).update(bytes);
    }
    return this;
  }

  digest(label) {
    this.absorb(ascii(label));
    return this.state.copy().digest();
  }

  scalar(label) {
    return little(this.digest(label)) % L;
  }

  short() {
    return little(this.digest('c').subarray(0, 16));
  }
}

const ofEntry = ({ game, seat, round, seq, prev }) => [hex(game), Buffer.from([seat]), u64(round), u64(seq), hex(prev)];

// --- proofs ---

const lock = (vector) => {
  const before = split(raw(vector.before));
  const n = before.length;
  const proof = parts(raw(vector.proof), times(4 * n + 5, 32));
  const deck = split(raw(vector.deck));
  const distinct = new Set([...before, ...deck].map((bytes) => bytes.toString('hex')));
  if (deck.length !== n || distinct.size !== 2 * n) return false;
  const [P, Q, K] = [before.map(read), deck.map(read), read(raw(vector.key))];
  const [c, chain] = [proof.slice(0, n).map(read), [H, ...proof.slice(n, 2 * n).map(read)]];
  const [challenge, za, zb, zd, zk, ...rest] = proof.slice(2 * n).map(scalar);
  const [zs, zu] = [rest.slice(0, n), rest.slice(n)];
  const state = new Transcript('lock', ...ofEntry(vector.place)).absorb(n, K, ...P, ...Q, ...c);
  const u = range(n).map(() => state.scalar('u'));
  const all = u.reduce((a, b) => (a * b) % L, 1n);
  const h = bases.slice(0, n);
  const shuffled = sum(u.map((each, j) => product(each, P[j])));
  state.absorb(
    ...chain.slice(1),
    combine([za, G], [-challenge, sum(c).subtract(sum(h))]),
    combine([zb, G], [-challenge, chain[n].subtract(product(all, H))]),
    combine([zd, G], ...zu.map((z, i) => [z, h[i]]), ...u.map((each, j) => [-challenge * each, c[j]])),
    combine(...zu.map((z, i) => [z, Q[i]]), [-zk, shuffled]),
    combine([zk, G], [-challenge, K]),
    ...range(n).map((i) => combine([zs[i], G], [zu[i], chain[i]], [-challenge, chain[i + 1]])),
  );
  return state.scalar('c') === challenge;
};

const share = (vector) => {
  const { at, game, giver, round } = vector;
  const [K, Y] = [read(raw(vector.key)), split(raw(vector.points)).map(read)];
  const bytes = parts(raw(vector.shares), [...times(at.length, 32), 16, 32]);
  const T = bytes.slice(0, at.length).map(read);
  const [c, z] = [little(bytes.at(-2)), scalar(bytes.at(-1))];
  const state = new Transcript('share', hex(game), Buffer.from([giver]), u64(round), Buffer.from(at));
  state.absorb(at.length, K, ...at.flatMap((_, j) => [T[j], Y[j]]), combine([z, G], [-c, K]));
  state.absorb(...at.map((_, j) => combine([z, T[j]], [-c, Y[j]])));
  return state.short() === c;
};

const branches = (bytes, count, state, commitments) => {
  const fields = parts(bytes, times(count, 16, 32));
  const pairs = range(count).map((j) => [little(fields[2 * j]), scalar(fields[2 * j + 1])]);
  pairs.forEach(([c, z], j) => state.absorb(...commitments(j, c, z)));
  return state.short() === pairs.reduce((a, [c]) => a + c, 0n) % SHORT;
};

const show = (vector) => {
  const [K, M] = [read(raw(vector.key)), card(vector.ruleset, vector.card)];
  const T = split(raw(vector.tokens)).map(read);
  const state = new Transcript('show', ...ofEntry(vector.place)).absorb(vector.part, T.length, K, M, ...T);
  return branches(raw(vector.proof), T.length, state, (j, c, z) => [
    combine([z, G], [-c, K]),
    combine([z, M], [-c, T[j]]),
  ]);
};

const hide = (vector) => {
  const T = split(raw(vector.tokens)).map(read);
  const bytes = raw(vector.hide);
  if (bytes.length !== 32 + 48 * T.length) throw new Malformed('length');
  const C = read(bytes.subarray(0, 32));
  if (T.some((token) => token.equals(C))) return false;
  const state = new Transcript('hide', ...ofEntry(vector.place)).absorb(vector.part, T.length, C, ...T);
  return branches(bytes.subarray(32), T.length, state, (j, c, z) => [combine([z, H], [-c, C.subtract(T[j])])]);
};

const close = (vector) => {
  const [K, M, C] = [read(raw(vector.key)), card(vector.ruleset, vector.card), read(raw(vector.counts))];
  const S = sum(vector.shown.map((name) => card(vector.ruleset, name)));
  const [T, hidden] = [raw(vector.tokens), raw(vector.hidden)].map((bytes) => split(bytes).map(read));
  const D = sum(T).subtract(sum(hidden));
  const bytes = parts(raw(vector.proof), [16, 32, 32, 32]);
  const [c, [x, y, v]] = [little(bytes[0]), bytes.slice(1).map(scalar)];
  const state = new Transcript('close', ...ofEntry(vector.place)).absorb(K, M, C, S, D);
  state.absorb(combine([x, G], [-c, K]), combine([x, M], [y, H], [-c, C]), combine([x, S], [-v, H], [-c, D]));
  return state.short() === c;
};

// --- secrets of a seat ---

const mac = (key, bytes) => createHmac('sha512', key).update(bytes).digest();
const nonzero = (digest) => (little(digest) % (L - 1n)) + 1n;
const repeated = (items) => items.map(([bytes, count]) => Buffer.concat(times(count, hex(bytes))));

const seal = (vector) => {
  const { game, seat, round, prev, entropy, salt } = vector;
  const key = mac(hex(vector.sealed_key), `hkoji.sealed.seal.v1\n${game}\n${seat}\n`);
  const prf = (label, ...words) => mac(key, [`hkoji.sealed.${label}.v1`, seat, ...words].map((it) => `${it}\n`).join(''));
  const sorted = (items, digest) =>
    items.map((item) => [digest(item), item]).sort((a, b) => Buffer.compare(a[0], b[0])).map(([, item]) => item);
  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

  const number = nonzero(prf('lock', round, prev, entropy, salt));
  const K = bytesOf(product(number, G));
  const order = sorted(range(vector.lock_order.length), (i) => prf('order', round, prev, entropy, salt, i));
  const { seq, action, part, token } = vector.hide;
  const copies = sorted([...vector.copies].sort(), (name) => prf('copy', round, K.toString('hex'), name));
  const { label, items, fresh, numbers } = vector.nonces;
  const state = new Transcript(label, ...repeated(items)).state.digest();
  const nonces = mac(key, Buffer.concat([ascii('hkoji.sealed.nonce.v1\n'), state, hex(fresh)]));
  return (
    number === scalar(raw(vector.lock_number)) &&
    K.equals(raw(vector.lock_key)) &&
    same(order, vector.lock_order) &&
    nonzero(prf('hide', round, prev, seq, action, part, token)) === scalar(raw(vector.hide.number)) &&
    same(copies, vector.copies) &&
    numbers.every((text, i) => nonzero(mac(nonces, u64(i + 1))) === scalar(raw(text)))
  );
};

const transcript = ({ label, items, scalar_u: first, scalar_u_again: second, short }) => {
  const state = new Transcript(label, ...repeated(items));
  const found = [state.scalar('u'), state.scalar('u'), state.short()];
  return found[0] === scalar(raw(first)) && found[1] === scalar(raw(second)) && found[2] === little(raw(short));
};

// --- all of them ---

const counts = {};
let wrong = 0;
const judge = (kind, expected, verdict, about) => {
  const one = (counts[kind] ??= { judged: 0, hold: 0 });
  let found;
  try {
    found = verdict() ? 'holds' : 'proof';
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
    found = 'malformed';
  }
  one.judged += 1;
  one.hold += found === 'holds' ? 1 : 0;
  if (found !== expected) {
    wrong += 1;
    console.log(`${kind}: ${about}: ${found}, and the file says ${expected}`);
  }
};

const { constants } = vectors;
for (const ruleset of ['hanamikoji', 'geishas-road'])
  for (const [name, text] of Object.entries(constants[ruleset]))
    judge('constants', 'holds', () => bytesOf(card(ruleset, name)).equals(raw(text)), `${ruleset} ${name}`);
judge('constants', 'holds', () => bytesOf(H).equals(raw(constants.blind)), 'H');
constants.bases.forEach((text, i) => judge('constants', 'holds', () => bytesOf(bases[i]).equals(raw(text)), `h_${i}`));
vectors.transcripts.forEach((vector, i) => judge('transcripts', 'holds', () => transcript(vector), `number ${i}`));
vectors.seals.forEach((vector, i) => judge('seals', 'holds', () => seal(vector), `number ${i}`));
for (const [kind, verdict] of Object.entries({ lock, share, show, hide, close }))
  vectors[kind].forEach((vector, i) =>
    judge(kind, vector.ok ? 'holds' : vector.error, () => verdict(vector), `number ${i}, ${vector.why ?? 'honest'}`),
  );
for (const [kind, { judged, hold }] of Object.entries(counts)) console.log(`${judged} ${kind}: ${hold} hold`);
console.log(`${wrong} judged otherwise`);
process.exit(wrong || !counts.close ? 1 : 0);
