// The forms of texts and bodies: docs/spec/log.md, "Entries", "Kinds", "Agreement" and "Statements".
// A form is a function that says whether a value has it, or an object of the forms of its keys ("?": may be missing).
import { decode, isBase64, isObject, KEY as KEY_PATTERN, known, need } from './text.js';

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
const isNull = value => value === null;
const isFlag = value => typeof value === 'boolean';
const never = () => false;

const DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
/** A real date and time of the years 2000 to 8999. Date.parse takes 30 February for 2 March in some browsers. */
function isTime(value) {
  const found = isText(value) && /^([2-8]\d{3})-(\d\d)-(\d\d)T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/.exec(value);
  if (!found) return false;
  const [year, month, day] = found.slice(1, 4).map(Number);
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return day >= 1 && day <= (DAYS[month - 1] ?? 0) - (month === 2 && !leap ? 1 : 0);
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
const mail = (...more) => (it, what) => isObject(it) && fits(it, { commit: it.grade === 'none' ? isNull : HASH,
  grade: word(['dkim', 'token', ...more], more.length ? undefined : 'none') }, what);
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
const ROUNDS = (it, what) => HANAMIKOJI(it, what) && (it.max_rounds !== 0 || it.tiebreak !== 'charm');
const HANAMIKOJI = (it, what) => fits(it, { first: FIRST, max_rounds: number(0, 99), name: isText,
  tiebreak: oneOf('geisha', 'charm'), version: V }, what);
const RULESET = named({ 'hanamikoji 1': ROUNDS, 'geishas-road 1': { first: FIRST, markers: oneOf('choose', 'random'),
  name: isText, version: V } }, it => `${it.name} ${typeof it.version === 'number' ? it.version : 1}`);

const numberOr = (value, other) => typeof value === 'number' ? value : other;
const CLOCK = (it, what) => isObject(it) && fits(it, { add: number(0, 2592000), bank: number(0, 31622400),
  cap: number(Math.max(numberOr(it.add, 0), numberOr(it.bank, 0)), it.add === 0 ? numberOr(it.bank, 0) : 31622400),
  move: number(it.bank === 0 ? 1 : 0, 5184000), rest: pattern('(?!1234567$)1?2?3?4?5?6?7?'),
  zone: it.rest === '' ? oneOf('+00:00') : pattern('(?!-00:00)[+-](0[0-9]|1[0-4]):(00|15|30|45)') }, what);
const SERIES = (it, what) => isObject(it) && fits(it, { games: oneOf(3, 5, 7, 9), id: ID,
  number: number(1, numberOr(it.games, 9)) }, what);
const AGREEMENT = (it, what) => isObject(it) && fits(it, { clock: orNull(CLOCK), expires: orNull(isTime),
  rated: it.clock === null ? oneOf(false) : isFlag, rematch: orNull(ID), series: orNull(SERIES) }, what);
const INVITE = orNull((it, what) => isObject(it)
  && fits(it, Object.hasOwn(it, 'link') ? { link: KEY, sig: isBase64 } : { key: orNull(KEY), name: NAME }, what));
const REQUIRES = value => list(isText)(value, 'requires') && known(value.length === 0, value);
const REASON = word(['charm', 'geisha', 'limit', 'rounds', 'resign', 'timeout', 'cancel']);
const RESULT = { reason: REASON, winner: orNull(SEAT) };

// --- forms of texts
const HEAD = { at: isTime, game: ID, head: HASH, seq: COUNT, v: V };
const KEY_CHANGE = { at: isTime, key: KEY, name: NAME, origin: ORIGIN, v: V };
const WISH = { game: ID, head: HASH, 'mail?': MAIL, name: NAME, v: V };
const ROUND = { cards: pattern('[A-Z0-9]{1,64}'), round: COUNT };
const DEALT = (value, what) => list(ROUND)(value, what) && value.every(({ round }, n) => round === n + 1);
/** By name the form of each signed text, and the most bytes that it may have. @type {Object<string, [Form, number]>} */
export const TEXTS = {
  entry: [{ at: isTime, body: isObject, by: NAME, game: ID, kind: pattern('[a-z][a-z0-9_-]{0,31}'), prev: HASH,
    seen: orNull(isTime), seq: COUNT, v: V }, 2 ** 20],
  receipt: [HEAD, 1024],
  head: [HEAD, 1024],
  view: [{ dealt: DEALT, game: ID, head: HASH, seat: SEAT, seq: COUNT, v: V }, 65536],
  registration: [KEY_CHANGE, 1024],
  login: [{ expires: isTime, nonce: HASH, origin: ORIGIN, v: V }, 1024],
  give: [{ ...WISH, seconds: number(1, 2592000) }, 1024],
  annul: [WISH, 1024],
  link: [{ entropy_commit: HASH, game: ID, key: KEY, name: NAME, prev: HASH, v: V }, 1024],
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

// --- bodies
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
  delegate: ({ gateway }) => gateway === null ? { gateway: isNull, grade: isNull }
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
