// Texts as they are signed: canonical JSON, hashes, keys, and signatures in the form of OpenSSH (SSHSIG).
// docs/spec/log.md, "Canonical JSON", "Keys", "Signatures".

/** Why something does not hold: `text` is a key of WORDS, `values` are for its places. */
export class Finding extends Error {
  constructor(kind, text, values = {}) {
    super(`${text} ${Object.values(values)}`);
    this.kind = kind; this.text = text; this.values = values;
  }
}

export function need(ok, text, values) { if (!ok) throw new Finding('malformed', text, values); }

/** "Growing": a later version may understand `what`. */
export function known(ok, what) {
  if (!ok) throw new Finding('not-understood', 'check-not-understood', { what: String(what).slice(0, 60) });
  return true;
}

// By UTF-16 unit, which in ASCII is by code point.
export const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

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
  return `{${Object.keys(value).sort(order).map(key => `${encode(key)}:${encode(value[key], depth - 1)}`).join(',')}}`;
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

export const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI[A-P][A-Za-z0-9+/]{42}';
const P = 2n ** 255n - 19n;
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
    need(typeof text === 'string' && new RegExp(`^${KEY}$`).test(text), 'check-no-key');
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
