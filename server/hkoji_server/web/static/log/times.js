// Step 5 of the audit: clocks, and the times of record of entries. docs/spec/log.md, "Clocks", "Audit".
import { encode, Finding, signed } from './text.js';

const DAY = 86400, WEEK = 7 * DAY, FIRST_MONDAY = 4 * DAY; // 1970-01-05
const LAST = Date.UTC(8999, 11, 31, 23, 59, 59) / 1000;

export const seconds = text => Date.parse(text) / 1000;

export const timeText = at => new Date(at * 1000).toISOString().replace('.000', '');

/** The week of a control: when it begins in UTC, and which of its days count. */
function weekOf({ rest, zone }) {
  const [hours, minutes] = zone.slice(1).split(':').map(Number);
  const offset = (zone[0] === '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
  return { start: FIRST_MONDAY - offset, open: [0, 1, 2, 3, 4, 5, 6].filter(day => !rest.includes(String(day + 1))) };
}

/** The seconds that count before a moment, from a Monday on. */
function countBefore(control, at) {
  if (!control.rest) return at;
  const { start, open } = weekOf(control), week = Math.floor((at - start) / WEEK), inWeek = at - start - week * WEEK;
  return week * open.length * DAY + open.reduce((sum, day) => sum + Math.min(DAY, Math.max(0, inWeek - day * DAY)), 0);
}

/** The seconds of [from, until) that are in no rest day; negative if `until` comes first. */
const counted = (control, from, until) => countBefore(control, until) - countBefore(control, from);

/** The seconds of a gift and of outages. */
export const creditsOf = (control, gift, outages) =>
  outages.reduce((sum, { from, until }) => sum + counted(control, seconds(from), seconds(until)), gift);

/** The last second until which at most `count` seconds have counted. */
function reach(control, from, count) {
  const goal = countBefore(control, from) + count;
  if (!control.rest) return Math.min(LAST, goal);
  // A day that begins where rest days begin is the one after them.
  const { start, open } = weekOf(control), days = Math.floor(goal / DAY), week = Math.floor(days / open.length);
  return Math.min(LAST, start + week * WEEK + open[days - week * open.length] * DAY + goal - days * DAY);
}

/** The clocks of both seats. `turn` is the seat whose turn runs, null for none; `left` are the reserves after the
 *  last turns that have ended, `reserve` those of the running turn. */
export class Clock {
  constructor(control, since) {
    this.control = control; this.since = since; this.spent = 0; this.runs = true;
    this.turn = null;
    this.left = [control.bank, control.bank]; this.reserve = [...this.left];
  }
  copy() {
    const { control, since, left, reserve } = this;
    return Object.assign(new Clock(control, since), this, { left: [...left], reserve: [...reserve] });
  }
  endTurn() {
    const { turn, control } = this;
    if (turn !== null) this.left[turn] = Math.max(0, this.reserve[turn] - Math.max(0, this.spent - control.move));
    this.turn = null; this.spent = 0; this.reserve = [...this.left];
  }
  begin(seat) {
    if (this.turn === seat) return;
    this.endTurn();
    this.turn = seat;
    this.reserve[seat] = Math.min(this.control.cap, this.reserve[seat] + this.control.add);
  }
  /** A seed or move; returns whether it is late. */
  play(seat, at, credits = 0) {
    this.begin(seat);
    this.spent += counted(this.control, this.since, at) - credits;
    this.since = at;
    return this.spent > this.control.move + this.reserve[seat];
  }
  /** A chance or reveal. */
  breakTurn(at) { this.endTurn(); this.since = at; }
  end() { this.endTurn(); this.runs = false; }
  isLate(seat, at, credits) { return this.copy().play(seat, at, credits); }
  /** D of the entry that `seat` owes. */
  deadline(seat, credits = 0) {
    const it = this.copy();
    it.begin(seat);
    return reach(it.control, it.since, it.control.move + it.reserve[seat] - it.spent + credits);
  }
}

const SAME_TIME = ['credit', 'chance', 'reveal', 'end']; // of the transaction of the entry before
const ENDS = ['resign', 'timeout', 'annul', 'end'];
const SILENT = ['rekey', 'revoke', 'delegate']; // a gift for the next entry stays good across them
const ONLY_KEY = 'only';

/** Why an entry does not hold. */
export const bad = (text, values) => new Finding('finding', text, values);

/** The time of record as the service states it in this line. */
const ownTime = line => line?.receipt?.at ?? (line?.entry.by === 'server' ? line.entry.at : null);

const lastWorded = lines => lines.findLastIndex(line => line.receipt || line.entry.by === 'server');

/** The lines of a game from the first on: whose turn runs, who is held, and what is known of each time. */
class Timeline {
  // `worded` is the last line that has the service's word.
  constructor(lines, worded = lastWorded(lines)) {
    this.lines = lines; this.worded = worded;
    this.agreement = lines[0]?.entry.kind === 'offer' ? lines[0].entry.body.agreement : { clock: null, expires: null };
    this.players = [];
    this.held = new Map(); // the grade that a player demands of mails, or ONLY_KEY
    this.clock = null;
    this.heads = []; // those that a gift may name
    this.due = null; // a seed or move, for the credit after it: {seat, heads, since}
    this.invited = false;
  }

  /** T of an entry, null if nobody whose word counts has stated it. */
  time(n) { return ownTime(this.lines[n]) ?? (n < this.worded ? this.lines[n + 1]?.entry.seen : null) ?? null; }

  /** The seconds that a `credit` or `annul` gives back. */
  credits({ gift, outages }) { return creditsOf(this.agreement.clock, gift?.seconds ?? 0, outages) }
  creditsAfter(n) {
    const next = this.lines[n + 1]?.entry;
    return next?.kind === 'credit' ? this.credits(next.body) : 0;
  }

  /** What counts already for line n itself. */
  enter(n) {
    const { body, by, kind, prev } = this.lines[n].entry;
    this.heads = [...(SILENT.includes(this.lines[n - 1]?.entry.kind) ? this.heads : []), prev];
    if ((kind === 'open' || kind === 'join') && body.gateway) this.held.set(by, ONLY_KEY);
  }

  /** What counts after line n. */
  leave(n) {
    const { body, by, kind } = this.lines[n].entry, stated = ownTime(this.lines[n]) ?? this.lines[n + 1]?.entry.seen;
    if (kind === 'revoke') this.held.delete(body.name);
    if (kind === 'delegate' && body.gateway) this.held.set(by, body.grade);
    if (kind === 'delegate' && !body.gateway) this.held.delete(by);
    if (kind === 'open' && this.players.length === 0) {
      this.players.push(by);
      this.invited = Boolean(body.invite?.name);
    } else if (kind === 'join' && this.players.length === 1) {
      this.players.push(by);
      if (this.agreement.clock && stated) this.clock = new Clock(this.agreement.clock, seconds(stated));
    } else this.follow(n, stated);
  }

  /** `stated` is T of the line, by whomever. */
  follow(n, stated) {
    const { by, kind } = this.lines[n].entry, { clock, heads } = this, seat = this.players.indexOf(by);
    this.due = null;
    if (!clock?.runs) return;
    if ((kind === 'seed' || kind === 'move') && seat >= 0 && stated) {
      this.due = { seat, heads, since: timeText(clock.since) };
      clock.play(seat, seconds(stated), this.creditsAfter(n));
    } else if ((kind === 'chance' || kind === 'reveal') && stated) clock.breakTurn(seconds(stated));
    else if (ENDS.includes(kind)) clock.end();
  }
}

/** The first line in which a pass finds something. */
async function firstFault(log, pass) {
  for (const [n, { service }] of log.lines.entries()) {
    log.enter(n);
    const why = await pass(log, n);
    if (why) return { entry: n, why, blamed: n <= log.worded && service ? [service] : [] };
    log.leave(n);
  }
  return null;
}

export async function recordFault(lines) {
  const receipts = await receiptFault(lines), standing = lines.slice(0, receipts?.entry ?? lines.length);
  const signed = lines.findLastIndex(line => line.entry.by === 'server'); // false receipts say nothing
  return await firstFault(new Timeline(standing, Math.max(signed, lastWorded(standing))), recordFinding) ?? receipts;
}

async function receiptFault(lines) {
  const service = lines.at(-1)?.service;
  if (!service || !lines.some(line => line.receipt)) return null;
  const genuine = await Promise.all(lines.map(({ receipt, receiptSig, receiptText }) =>
    receipt && signed(service.key, 'hkoji.receipt.v1', receiptSig, receiptText)));
  for (const [n, { entry, head, receipt }] of lines.entries()) {
    if (!receipt) return { entry: n, why: bad('check-receipt-missing'), blamed: [] };
    if (!genuine[n]) return { entry: n, why: bad('check-receipt-unsigned'), blamed: [] };
    if (receipt.game !== entry.game || receipt.seq !== entry.seq || receipt.head !== head) {
      // Anybody can exchange two receipts; two statements of the service about one place convict it.
      const samePlace = receipt.game === entry.game && receipt.seq === entry.seq;
      const taken = lines.slice(n).some(line => line.entry.by === 'server');
      return { entry: n, why: bad('check-receipt-other'), blamed: samePlace && taken ? [service] : [] };
    }
    const { at } = receipt;
    const isEarlier = at < lines[n - 1]?.receipt.at;
    if (isEarlier) return { entry: n, why: bad('check-receipt-earlier', { at }), blamed: [service] };
  }
  return null;
}

async function recordFinding(log, n) {
  const { entry: { at, body, by, kind, seen }, receipt } = log.lines[n], before = log.lines[n - 1], time = log.time(n);
  if (before && seen !== (ownTime(before) ?? seen)) return bad('check-seen', { seen, at: ownTime(before) });
  const last = before?.entry.seen;
  if (last && seen < last) return bad('check-seen', { seen, at: last });
  if (by === 'server') {
    if (receipt && receipt.at !== at) return bad('check-own-time', { at });
    if (seen !== null && (at < seen || (SAME_TIME.includes(kind) && at !== seen))) return bad('check-own-time', { at });
  }
  const { expires } = log.agreement;
  if (kind === 'join' && time && expires && time > expires) return bad('check-joined-late', { at: time, expires });
  if (kind === 'lapse' && time && (body.reason === 'declined' ? !log.invited : !expires || time <= expires)) {
    return bad('check-lapse');
  }
  if (body.gateway && !await isCertified(log, n)) return bad('check-certificate');
  return by === 'server' ? null : mailFinding(log, by, body.mail, log.held.get(by));
}

/** "Held keys". */
async function isCertified(log, n) {
  const { entry: { body: { gateway: { address, at, key, origin, sig } }, by }, service } = log.lines[n];
  return !service || signed(service.key, 'hkoji.held.v1', sig, encode({ address, at, key, name: by, origin, v: 1 }));
}

/** "Mails": `demanded` is ONLY_KEY, a grade, or nothing; by default no grade. */
function mailFinding(log, name, mail, demanded = log.held.get(name) === ONLY_KEY ? ONLY_KEY : null) {
  if (!mail) return demanded === ONLY_KEY ? bad('check-mail-missing', { name }) : null;
  if (!demanded) return bad('check-mail-own-key', { name });
  const grades = ['none', 'token', 'dkim'];
  const isEnough = demanded === ONLY_KEY || grades.indexOf(mail.grade) >= grades.indexOf(demanded);
  return isEnough ? null : bad('check-mail-grade', { name });
}

export const creditFault = lines => firstFault(new Timeline(lines), creditFinding);

async function creditFinding(log, n) {
  const { body, kind, seen } = log.lines[n].entry, { clock, due } = log;
  if (kind === 'credit') return due ? helpFinding(log, n, due, seen) : bad('check-credit-place');
  if (kind !== 'annul') return null;
  const wrong = await callFinding(log, n);
  if (wrong || (!body.gift && !body.outages.length)) return wrong;
  if (!clock?.runs) return bad('check-credit-place');
  return helpFinding(log, n, { seat: body.seat, heads: log.heads, since: timeText(clock.since) }, log.time(n));
}

/** "Calling a game off": both players have said so about this head. */
async function callFinding(log, n) {
  const { entry: { body, game, prev }, keys } = log.lines[n];
  if (log.players.length !== 2) return bad('check-called-off-alone');
  for (const [seat, name] of log.players.entries()) {
    const mail = body.mails?.[seat], wrong = mailFinding(log, name, mail);
    if (wrong) return wrong;
    const text = encode({ game, head: prev, ...(mail && { mail }), name, v: 1 });
    if (!await signed(keys[name], 'hkoji.annul.v1', body.sigs[seat], text)) return bad('check-call', { name });
  }
  return null;
}

/** "Gifts of time", "Outages": what is given back to a seat for one entry, with T `until` if that is known. */
async function helpFinding(log, n, { seat, heads, since }, until) {
  const { entry: { body: { gift, outages }, game }, keys } = log.lines[n];
  const way = log.held.get(log.players[seat]) === ONLY_KEY ? 'mail' : 'http';
  if (gift) {
    const { sig, ...given } = gift, name = log.players[1 - seat];
    if (!heads.includes(gift.head)) return bad('check-gift-place');
    const wrong = mailFinding(log, name, gift.mail);
    if (wrong) return wrong;
    const text = encode({ game, name, ...given, v: 1 });
    if (!await signed(keys[name], 'hkoji.give.v1', sig, text)) return bad('check-gift', { name });
  }
  const times = log.lines.slice(0, n + 1).map((line, k) => wayOf(line) === way && log.time(k));
  for (const { from, until: end, way: its } of outages) {
    if (its !== way) return bad('check-outage-way');
    if (until && (from < since || end > until)) return bad('check-outage-place');
    if (until && times.some(at => at && from <= at && at < end)) return bad('check-outage-entry');
  }
  return null;
}

const wayOf = ({ entry: { by, body: { mail } } }) =>
  by === 'server' || mail?.grade === 'none' ? null : mail ? 'mail' : 'http';

export const clockFault = lines => firstFault(new Timeline(lines), clockFinding);

function clockFinding(log, n) {
  const { body, by, kind } = log.lines[n].entry, { clock } = log, time = log.time(n), seat = log.players.indexOf(by);
  if (!clock?.runs) return kind === 'timeout' ? bad('check-no-clock') : null;
  if (!time) return null;
  if (kind === 'timeout' && !clock.isLate(body.seat, seconds(time))) return bad('check-timeout-early', { at: time });
  if (kind === 'annul' && clock.isLate(body.seat, seconds(time), log.credits(body))) {
    return bad('check-late', { at: time });
  }
  // It is sure which credits an entry has only where the service has signed what follows it.
  if ((kind !== 'seed' && kind !== 'move') || seat < 0 || n >= log.worded) return null;
  return clock.isLate(seat, seconds(time), log.creditsAfter(n)) ? bad('check-late', { at: time }) : null;
}

/** The clock after the last line whose time is known; null if none has begun. */
export function clockAfter(lines) {
  const log = new Timeline(lines.slice(0, lastWorded(lines) + 1));
  for (const n of log.lines.keys()) { log.enter(n); log.leave(n); }
  return log.clock;
}
