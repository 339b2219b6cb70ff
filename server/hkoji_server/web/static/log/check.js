// The audit of a log, steps 1 to 7: docs/spec/log.md, "Audit". Each step works on the lines that hold in those before.
// Steps 8 and 9, the rules of the games, are for `hkoji audit`.
import { encode, Finding, isBase64, isObject, need, parse, sha256 } from './text.js';
import { fingerprint, signed, point } from './sig.js';
import { readBody, readText } from './forms.js';
import { clockAfter, clockFault, creditFault, recordFault } from './times.js';
import { chanceFault, commitmentFault, dealOf } from './cards.js';

/** A key that a log names: `pinned` if it was expected from outside, `vouched` if only the service says whose it is,
 *  `held` if the service signs with it for the player; `holder` is the service then.
 *  @typedef {{name: string, key: string, pinned: boolean, vouched: boolean, held: boolean, holder: ?Party}} Party */
/** A line as it was read, with its head, the key that must have signed it, the service's, and the key of the link.
 *  @typedef {{entry: any, text: string, sig: string, receipt: any, receiptText: ?string, receiptSig: ?string,
 *    head: string, signer: ?Party, service: ?Party, link: ?string}} Line */
/** The first entry that a step rejects, why, and those whom that convicts.
 *  @typedef {{entry: ?number, why: Finding, blamed: Party[]}} Fault */
/** `text` is a key of WORDS and `values` fill its places; `signer` lists those whom it convicts in the same way. For a
 *  `signer` without `text` the name is all that is to be said.
 *  @typedef {{step: number, entry: ?number, kind: string, text: string, values: Object<string, any>,
 *    signer: {text: ?string, values: Object<string, string>}[]}} Found */

const MOST = 2 ** 21 + 2 ** 13; // bytes of a line
const PROOFS = { open: 'hkoji.invite.v1', join: 'hkoji.join.v1' };

/** Audits a log. `pins` are the keys expected from outside, by name. It never throws because of what is in a log. */
export async function check(data, pins = {}) {
  const { lines, total, failed } = readLines(data), /** @type {Found[]} */ found = [];
  for (const [step, find] of STEPS) {
    const fault = step === 1 ? failed : lines.length ? await find(lines, pins) : null;
    if (fault) {
      found.push(await describe(step, fault));
      lines.length = fault.entry ?? 0;
    }
  }
  return {
    holds: lines.length, total, head: lines.at(-1)?.head ?? null, found, lines, keys: keysOf(lines),
    deal: await dealOf(lines), reserves: clockAfter(lines)?.left ?? null,
  };
}

/** @type {[number, (lines: Line[], pins: Object<string, string[]>) => ?Fault | Promise<?Fault>][]} */
const STEPS = [[1, () => null], [2, chainFault], [3, keyFault], [4, signatureFault], [5, recordFault], [5, creditFault],
  [5, clockFault], [6, commitmentFault], [7, chanceFault]];

async function describe(step, { entry, why, blamed }) {
  const kind = why.kind === 'weak-key' ? 'finding' : why.kind;
  return { step, entry, kind, text: why.text, values: why.values, signer: await Promise.all(blamed.map(nameOf)) };
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

// --- step 1

function readLines(data) {
  // As UTF-8 one bad byte would become a character that is allowed elsewhere, or (at the beginning) nothing at all.
  const all = new TextDecoder('latin1').decode(data).split('\n'), rest = all.pop();
  /** @type {Line[]} */ const lines = [];
  try {
    for (const text of all) lines.push(parseLine(text));
    if (rest !== '') throw new Finding('malformed', 'check-cut-short');
  } catch (error) {
    if (!(error instanceof Finding)) throw error;
    const failed = { entry: lines.length, why: error, blamed: [] };
    return { lines, total: Math.max(lines.length + 1, all.length), failed };
  }
  const failed = lines.length ? null : { entry: null, why: new Finding('malformed', 'check-empty'), blamed: [] };
  return { lines, total: lines.length, failed };
}

/** "Files": reads a line without its newline. */
export function parseLine(line) {
  need(line.length <= MOST, 'check-too-long');
  const quote = text => `"${String(text).replaceAll('"', '\\"')}"`;
  const value = parse(line), { entry: text, receipt: signed, sig } = isObject(value) ? value : {};
  const receipt = signed ? `"receipt":{"sig":${quote(signed.sig)},"text":${quote(signed.text)}},` : '';
  need(line === `{"entry":${quote(text)},${receipt}"sig":${quote(sig)}}`, 'check-no-line');
  need(isBase64(sig) && (!signed || isBase64(signed.sig)), 'check-no-base64');
  const entry = readText(text, 'entry');
  readBody(entry.kind, entry.body);
  return {
    entry, text, sig, receipt: signed ? readText(signed.text, 'receipt') : null, receiptText: signed?.text ?? null,
    receiptSig: signed?.sig ?? null, head: '', signer: null, service: null, link: null,
  };
}

// --- step 2

async function chainFault(lines) {
  let head = '0'.repeat(64);
  for (const [n, line] of lines.entries()) {
    const { game, prev, seq } = line.entry;
    if (seq !== n || game !== lines[0].entry.game || prev !== head) {
      return { entry: n, why: new Finding('finding', 'check-chain'), blamed: [] };
    }
    head = line.head = await sha256(line.text);
  }
  return null;
}

// --- step 3

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

  /** Notes which key must have signed a line, and the keys that it names. */
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
  }

  party(name, key, held = false) {
    if (!held) return { name, key, pinned: this.pins.has(name), vouched: false, held, holder: null };
    const holder = this.own.get('server') ?? null, pinned = this.pins.get(name)?.includes(key) || holder?.pinned;
    return { name, key, pinned: Boolean(pinned), vouched: false, held, holder };
  }

  expect(name, key) {
    const keys = this.pins.get(name);
    if (keys && !keys.includes(key)) throw new Finding('finding', 'check-unexpected-key', { name });
  }

  add(name, key, held = false) {
    this.expect(name, key);
    if (this.own.has(name)) throw new Finding('finding', 'check-second-key', { name });
    this.own.set(name, this.party(name, key, held));
  }

  /** "Other keys". */
  replace({ body, by, kind }) {
    const name = kind === 'revoke' ? body.name : by, before = this.own.get(name);
    if (name === 'server' || (by === 'server') !== (kind === 'revoke') || before?.key !== body.old) {
      throw new Finding('finding', 'check-second-key', { name });
    }
    const after = this.party(name, body.key);
    if (kind === 'revoke') this.expect(name, body.key);
    after.vouched = kind === 'revoke' || (before.vouched && !after.pinned);
    this.own.set(name, after);
  }
}

/** By name the key that counts after the last line. */
function keysOf(lines) {
  const keys = new Map();
  for (const { entry: { body, by, kind } } of lines) {
    if (kind === 'offer') keys.set('server', body.server_key);
    else if (body.key) keys.set(kind === 'revoke' ? body.name : by, body.key);
  }
  return Object.fromEntries(keys);
}

// --- step 4

async function signatureFault(lines) {
  const verdicts = await Promise.all(lines.map(signatureFinding)), n = verdicts.findIndex(each => each !== null);
  const why = verdicts[n];
  return why ? { entry: n, why, blamed: [] } : null;
}

async function signatureFinding(line) {
  const { entry: { body, by, kind }, sig, signer, text } = line;
  if (!signer) return new Finding('finding', 'check-no-signer', { name: by });
  const space = by === 'server' ? 'hkoji.server.v1' : body.mail ? 'hkoji.gateway.v1' : 'hkoji.entry.v1';
  if (!await signed(signer.key, space, sig, text)) return new Finding('finding', 'check-signature', { name: by });
  const proven = kind === 'rekey' || kind === 'revoke' ? await isKeyProven(line)
    : line.link || body.link_sig ? await isLinkProven(line) : true;
  return proven ? null : new Finding('finding', line.link || body.link_sig ? 'check-link' : 'check-proof');
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
  return Boolean(link && sig) && signed(link, PROOFS[kind], sig, text);
}
