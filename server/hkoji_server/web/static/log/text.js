// Texts as they are signed: canonical JSON, hashes, keys, signatures in the form of OpenSSH (SSHSIG); and the forms of
// texts, bodies and lines. docs/spec/log.md, from "Canonical text" to "Agreement", and "Statements".

/** Why something does not hold: `text` is a key of WORDS, `values` are for its places. */
export class Finding extends Error {
  constructor(kind, text, values = {}) {
    super(text);
    this.kind = kind; this.text = text; this.values = values;
  }
}

export function need(ok, text, values) { if (!ok) throw new Finding('malformed', text, values); }

/** "Growing": a later version may understand `what`. */
export function known(ok, what) {
  if (!ok) throw new Finding('not-understood', 'check-not-understood', { what: String(what).slice(0, 60) });
  return true;
}

export const isObject = value => value !== null && typeof value === 'object' && !Array.isArray(value);

/** The canonical text of a value. JSON.stringify would put the key "9" before "10". */
export function encode(value, depth = 16) {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'number') {
    need(Number.isSafeInteger(value) && value >= 0, 'check-not-canonical');
    return String(value);
  }
  if (typeof value === 'string') {
    need(/^[ !#-[\]-~]*$/.test(value), 'check-not-canonical');
    return `"${value}"`;
  }
  need(depth > 0, 'check-not-canonical');
  if (Array.isArray(value)) return `[${value.map(each => encode(each, depth - 1)).join(',')}]`;
  return `{${Object.keys(value).sort().map(key => `${encode(key)}:${encode(value[key], depth - 1)}`).join(',')}}`;
}

/** The value of a canonical text. Writing it again finds repeated keys, spaces, escapes, 1.0, -0 and 2^53 + 1. */
export function decode(text, most = 2 ** 20) {
  need(text.length <= most, 'check-too-long');
  const value = parse(text);
  need(encode(value) === text, 'check-not-canonical');
  return value;
}

export function parse(text) {
  try { return JSON.parse(text); } catch { throw new Finding('malformed', 'check-no-json'); }
}

/** Whether decoding and encoding gives the same text: `atob` forgives spaces, missing padding and stray bits. */
export function isBase64(text) {
  try { return typeof text === 'string' && text !== '' && btoa(atob(text)) === text; } catch { return false; }
}

export function base64(text) {
  need(isBase64(text), 'check-no-base64');
  return Uint8Array.from(atob(text), each => each.charCodeAt(0));
}
export const to64 = data => btoa(String.fromCharCode(...data));

export const bytes = text => new Uint8Array(new TextEncoder().encode(text));

export const hex = data => Array.from(new Uint8Array(data), each => each.toString(16).padStart(2, '0')).join('');

export const unhex = text => Uint8Array.from(text.match(/../g) ?? [], each => parseInt(each, 16));

export function concat(...parts) {
  const all = new Uint8Array(parts.reduce((sum, each) => sum + each.length, 0));
  parts.reduce((at, each) => { all.set(each, at); return at + each.length; }, 0);
  return all;
}

/** The SHA-256 of lines, each with its newline, in hex. */
export const sha256 = async (...lines) => hex(await crypto.subtle.digest('SHA-256', bytes(lines.join('\n') + '\n')));

/** "Deal": HMAC-SHA256 of lines under a key in hex, in hex. */
export async function hmac(key, ...lines) {
  const held = await crypto.subtle.importKey('raw', unhex(key), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return hex(await crypto.subtle.sign('HMAC', held, bytes(lines.join('\n') + '\n')));
}

const KEY_PATTERN = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI[A-P][A-Za-z0-9+/]{42}';
export const P = 2n ** 255n - 19n;
const L = 2n ** 252n + 27742317777372353535851937790883648493n;
const OF_ORDER_8 = 0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n;
const SMALL = new Set([0n, 1n, P - 1n, OF_ORDER_8, P - OF_ORDER_8]);

export const u32 = n => Uint8Array.of(n >>> 24, n >>> 16, n >>> 8, n);
/** A string of the SSH protocol. */
export const field = data => concat(u32(data.length), data);
export const TYPE = field(bytes('ssh-ed25519'));

const little = data => BigInt('0x' + hex(Uint8Array.from(data).reverse()));

/** Whether 32 bytes are a point of small order, or not in the one canonical encoding. */
function isWeak(raw) {
  const y = little(raw) & (2n ** 255n - 1n);
  return y >= P || SMALL.has(y);
}

const points = new Map();

/** The point of a key as a log writes it. Throws a Finding of kind `malformed` or `weak-key`. */
export function point(text) {
  let found = points.get(text);
  if (!found) {
    need(typeof text === 'string' && new RegExp(`^${KEY_PATTERN}$`).test(text), 'check-no-key');
    const raw = base64(text.slice('ssh-ed25519 '.length)).slice(-32);
    if (isWeak(raw)) throw new Finding('weak-key', 'check-weak-key');
    points.set(text, found = { raw, verifier: null });
  }
  return found;
}

export const keyText = raw => `ssh-ed25519 ${to64(concat(TYPE, field(raw)))}`;

/** The fingerprint, as `ssh-keygen -l` prints it. */
export async function fingerprint(key) {
  const hash = await crypto.subtle.digest('SHA-256', base64(key.slice('ssh-ed25519 '.length)));
  return 'SHA256:' + to64(new Uint8Array(hash)).replace(/=+$/, '');
}

/** The blob of a signature without its last 64 bytes. */
const beginning = (raw, space) => concat(bytes('SSHSIG'), u32(1), field(concat(TYPE, field(raw))), field(bytes(space)),
  field(bytes('')), field(bytes('sha512')), u32(83), TYPE, u32(64));

/** The bytes that Ed25519 signs. */
async function signedBytes(space, text) {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-512', bytes(text + '\n')));
  return concat(bytes('SSHSIG'), field(bytes(space)), field(bytes('')), field(bytes('sha512')), field(hash));
}

const memo = new Map();

/** Whether `sig` (base64) is the signature by `key` of `text` and a newline. A second look costs nothing. */
export function signed(key, space, sig, text) {
  const claim = `${key} ${space} ${sig} ${text}`;
  if (memo.size > 5000) memo.clear();
  if (!memo.has(claim)) memo.set(claim, verify(key, space, sig, text));
  return memo.get(claim);
}

async function verify(key, space, sig, text) {
  const at = point(key), blob = base64(sig), begin = beginning(at.raw, space);
  if (blob.length !== begin.length + 64 || !begin.every((each, n) => each === blob[n])) return false;
  const raw = blob.slice(begin.length);
  if (little(raw.subarray(32)) >= L || isWeak(raw.subarray(0, 32))) return false;
  try { // 32 bytes may be no point: then Chromium verifies nothing, and Firefox refuses to import them
    at.verifier ??= crypto.subtle.importKey('raw', at.raw, 'Ed25519', false, ['verify']);
    return await crypto.subtle.verify('Ed25519', await at.verifier, raw, await signedBytes(space, text));
  } catch { return false; }
}

export async function rawSignature({ key }, space, text) {
  return new Uint8Array(await crypto.subtle.sign('Ed25519', key, await signedBytes(space, text)));
}

export async function sign(signer, space, text) {
  return to64(concat(beginning(signer.raw, space), await rawSignature(signer, space, text)));
}

// --- forms

/** @typedef {((value: any, what: string) => boolean) | {[key: string]: any}} Form */

/** Whether a value has a form; `what` names it in the finding. A key that no form has is not understood, and counts
 *  before a missing one; in a text itself (`strict`), where no later version may add one, it is malformed. */
export function fits(value, form, what, strict = false) {
  if (typeof form === 'function') {
    need(form(value, what), 'check-form', { what });
    return true;
  }
  need(isObject(value), 'check-form', { what });
  const keys = Object.keys(value), formOf = key => (Object.hasOwn(form, key) ? form[key] : form[`${key}?`]);
  const strange = keys.find(key => !Object.hasOwn(form, key) && !Object.hasOwn(form, `${key}?`));
  if (strict) need(strange === undefined, 'check-form', { what: strange });
  known(strange === undefined, strange);
  const missing = Object.keys(form).find(key => !key.endsWith('?') && !Object.hasOwn(value, key));
  need(missing === undefined, 'check-form', { what: missing });
  return keys.every(key => fits(value[key], formOf(key), key));
}

// --- forms of single values
const pattern = text => {
  const whole = new RegExp(`^(?:${text})$`);
  return value => typeof value === 'string' && whole.test(value);
};
const number = (least, most) => value => typeof value === 'number' && value >= least && value <= most;
const oneOf = (...values) => value => values.includes(value);
const isText = value => typeof value === 'string';
const word = (words, never) => value => isText(value) && value !== never && known(words.includes(value), value);
const list = (form, least = 0, most = Infinity) => (value, what) =>
  Array.isArray(value) && value.length >= least && value.length <= most && value.every(each => fits(each, form, what));
const orNull = form => (value, what) => value === null || fits(value, form, what);
const never = () => false;
/** A form that depends on the value. @param {(it: any) => Form} formOf */
const by = formOf => (it, what) => isObject(it) && fits(it, formOf(it), what);

/** A real date and time of the years 2000 to 8999. Some browsers take 30 February for 2 March. */
function isTime(value) {
  if (!isText(value) || !/^[2-8]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(value)) return false;
  const at = new Date(value);
  return Number.isFinite(at.getTime()) && at.toISOString() === value.replace('Z', '.000Z');
}

const ID = pattern('[0-9a-f]{32}'), HASH = pattern('[0-9a-f]{64}'), NAME = pattern('[a-z0-9][a-z0-9_-]{1,31}');
const KEY = pattern(KEY_PATTERN), ORIGIN = pattern('[!#-[\\]-~]{1,256}');
const COUNT = number(0, Infinity), SEAT = oneOf(0, 1), V = oneOf(1);

// --- forms within bodies
const OPENING = { cards: pattern('[0-9A-Za-z]{1,16}'), part: SEAT, salt: HASH, seq: COUNT };
const follows = (it, last) => !last || last.seq < it.seq || (last.seq === it.seq && last.part < it.part);
const OPENINGS = (value, what) => list(OPENING)(value, what) && value.every((it, n) => follows(it, value[n - 1]));
const OUTAGE = (it, what) => fits(it, { from: isTime, until: isTime, way: isText }, what) && it.from < it.until
  && word(['http', 'mail'])(it.way);
const OUTAGES = (value, what) => list(OUTAGE)(value, what)
  && value.every((it, n) => n === 0 || value[n - 1].until < it.from);
const GATEWAY = { address: HASH, at: isTime, key: KEY, origin: ORIGIN, sig: isBase64 };
const mail = (...more) => by(it => ({ commit: it.grade === 'none' ? oneOf(null) : HASH,
  grade: word(['dkim', 'token', ...more], more.length ? undefined : 'none') }));
const MAIL = mail();
const GIFT = orNull({ head: HASH, 'mail?': MAIL, seconds: number(1, 2592000), sig: isBase64 });

/** One of several forms, by the `name` of a value. */
const named = (table, nameOf) => (it, what) => {
  need(isObject(it) && isText(it.name), 'check-form', { what });
  known(Object.hasOwn(table, nameOf(it)), it.name);
  return fits(it, table[nameOf(it)], what);
};
const DEALER = named({ 'server/v1': { name: isText, seed_commit: HASH },
  'duplicate/v1': { deal: ID, name: isText, seed_commit: HASH } }, it => it.name);
const FIRST = oneOf('host', 'guest', 'random');
const HANAMIKOJI = (it, what) => fits(it, { first: FIRST, max_rounds: number(0, 99), name: isText,
  tiebreak: oneOf('geisha', 'charm'), version: V }, what) && (it.max_rounds !== 0 || it.tiebreak !== 'charm');
const GEISHAS_ROAD = { first: FIRST, markers: oneOf('choose', 'random'), name: isText, version: V };
const RULESET = named({ 'hanamikoji 1': HANAMIKOJI, 'geishas-road 1': GEISHAS_ROAD },
  it => `${it.name} ${typeof it.version === 'number' ? it.version : 1}`);

const CLOCK = by(it => ({ add: number(0, 2592000), bank: number(0, 31622400),
  cap: number(Math.max(it.add, it.bank), it.add === 0 ? it.bank : 31622400),
  move: number(it.bank === 0 ? 1 : 0, 5184000), rest: pattern('(?!1234567$)1?2?3?4?5?6?7?'),
  zone: it.rest === '' ? oneOf('+00:00') : pattern('(?!-00:00)[+-](0[0-9]|1[0-4]):(00|15|30|45)') }));
const SERIES = by(it => ({ games: oneOf(3, 5, 7, 9), id: ID, number: number(1, it.games) }));
const AGREEMENT = by(it => ({ clock: orNull(CLOCK), expires: orNull(isTime),
  rated: it.clock === null ? oneOf(false) : oneOf(false, true), rematch: orNull(ID), series: orNull(SERIES) }));
const INVITE = orNull(by(it =>
  (Object.hasOwn(it, 'link') ? { link: KEY, sig: isBase64 } : { key: orNull(KEY), name: NAME })));
const REQUIRES = value => list(isText)(value, 'requires') && known(value.length === 0, value);
const REASON = word(['charm', 'geisha', 'limit', 'rounds', 'resign', 'timeout', 'cancel']);
const RESULT = { reason: REASON, winner: orNull(SEAT) };

// --- forms of texts
const HEAD = { at: isTime, game: ID, head: HASH, seq: COUNT, v: V };
const ROUND = { cards: pattern('[A-Z0-9]{1,64}'), round: COUNT };
const DEALT = (value, what) => list(ROUND)(value, what) && value.every(({ round }, n) => round === n + 1);
/** By name the form and the most bytes of each signed text that pages read.
 *  @type {Object<string, [Form, number]>} */
export const TEXTS = {
  entry: [{ at: isTime, body: isObject, by: NAME, game: ID, kind: pattern('[a-z][a-z0-9_-]{0,31}'), prev: HASH,
    seen: orNull(isTime), seq: COUNT, v: V }, 2 ** 20],
  receipt: [HEAD, 1024],
  head: [HEAD, 1024],
  view: [{ dealt: DEALT, game: ID, head: HASH, seat: SEAT, seq: COUNT, v: V }, 65536],
  login: [{ expires: isTime, nonce: HASH, origin: ORIGIN, v: V }, 1024],
};

/** The value of a signed text that has the form `name` of TEXTS. */
export function readText(text, name) {
  const [form, most] = TEXTS[name], value = decode(text, most);
  need(isObject(value), 'check-form', { what: name });
  known(typeof value.v !== 'number' || value.v === 1, `v ${value.v}`);
  fits(value, form, name, true);
  if (name === 'entry') need((value.seq === 0) === (value.seen === null), 'check-form', { what: 'seen' });
  return value;
}

/** "Kinds": the form of each kind's body. @type {Object<string, (body: any) => Form>} */
const BODIES = {
  offer: () => ({ agreement: AGREEMENT, dealer: DEALER, requires: REQUIRES, ruleset: RULESET, server_key: KEY }),
  open: () => ({ entropy_commit: HASH, 'gateway?': GATEWAY, invite: INVITE, key: KEY, 'mail?': MAIL }),
  join: () => ({ entropy_commit: HASH, 'gateway?': GATEWAY, key: KEY, 'link_sig?': isBase64, 'mail?': MAIL }),
  lapse: () => ({ reason: word(['expired', 'declined']) }),
  seed: () => ({ entropy: HASH, 'mail?': mail('none') }),
  chance: () => ({ 'first?': SEAT, 'markers?': pattern('[A-Za-z]+') }),
  move: () => ({ action: pattern('[^"]{1,32}'), 'commit?': list(HASH, 1, 2), 'mail?': MAIL }),
  credit: () => ({ gift: GIFT, outages: OUTAGES }),
  reveal: () => ({ openings: OPENINGS }),
  rekey: () => ({ key: KEY, old: KEY, proof: isBase64 }),
  revoke: () => ({ key: KEY, name: NAME, old: KEY, proof: isBase64,
    revocation: orNull({ at: isTime, origin: ORIGIN, sig: isBase64 }) }),
  delegate: ({ gateway }) => gateway === null ? { gateway: oneOf(null), grade: oneOf(null) }
    : { gateway: GATEWAY, grade: word(['dkim', 'token'], 'none') },
  resign: () => ({ 'mail?': MAIL }),
  timeout: () => ({ seat: SEAT }),
  annul: () => ({ gift: GIFT, 'mails?': list(orNull(MAIL), 2, 2), outages: OUTAGES, seat: SEAT,
    sigs: list(isBase64, 2, 2) }),
  cancel: () => ({ 'mail?': MAIL }),
  end: () => ({ openings: OPENINGS, result: RESULT, seed: orNull(HASH) }),
  unseal: () => ({ seed: HASH }),
};

/** Refuses a body that has not the form of its kind. */
export function readBody(kind, body) {
  known(Object.hasOwn(BODIES, kind), kind); // hasOwn: a kind may be called "constructor"
  fits(body, { 'ext?': isObject, 'mail?': never, ...BODIES[kind](body) }, kind);
  const { gateway, mails } = body;
  need(!gateway || kind === 'delegate' || gateway.key === body.key, 'check-form', { what: 'gateway' });
  need(!mails || mails.some(Boolean), 'check-form', { what: 'mails' });
  need(kind !== 'credit' || body.gift || body.outages.length, 'check-form', { what: kind });
  need(kind !== 'chance' || 'first' in body || 'markers' in body, 'check-form', { what: kind });
}

// --- lines
const LONGEST_LINE = 2 ** 21 + 2 ** 13; // bytes of a line

const quoted = text => `"${String(text).replaceAll('"', '\\"')}"`;
export const signedText = ({ sig, text }) => `{"sig":${quoted(sig)},"text":${quoted(text)}}`;

/** An entry with its receipt as a line of a log file, without its newline. */
export const lineText = ({ entry, receipt, sig }) =>
  `{"entry":${quoted(entry)},${receipt ? `"receipt":${signedText(receipt)},` : ''}"sig":${quoted(sig)}}`;

/** "Files": reads a line without its newline. */
export function parseLine(line) {
  need(line.length <= LONGEST_LINE, 'check-too-long');
  const value = parse(line), { entry: text, receipt: signed, sig } = isObject(value) ? value : {};
  need(line === lineText({ entry: text, receipt: signed, sig }), 'check-no-line');
  need(isBase64(sig) && (!signed || isBase64(signed.sig)), 'check-no-base64');
  const entry = readText(text, 'entry');
  readBody(entry.kind, entry.body);
  return {
    line, entry, text, sig, receipt: signed ? readText(signed.text, 'receipt') : null,
    receiptText: signed?.text ?? null, receiptSig: signed?.sig ?? null,
  };
}
