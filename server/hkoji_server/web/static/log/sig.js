// Keys and SSHSIG signatures: docs/spec/log.md, "Keys" and "Signatures". WebCrypto alone is not as strict.
import { base64, bytes, concat, Finding, hex, need, to64 } from './text.js';

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
