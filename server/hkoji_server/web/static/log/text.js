// Canonical text, base64, hex and hashes: docs/spec/log.md, "Canonical text". It knows no game, no page and no network.

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
