// The clock of a game: docs/spec/log.md, "Clock". It knows who has played and when, and nothing of rules or signatures.
// Times are whole seconds since 1970, as `seconds` gives them.

/** @typedef {{move: number, bank: number, add: number, cap: number, rest: string, zone: string}} Control */

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
export const counted = (control, from, until) => countBefore(control, until) - countBefore(control, from);

/** The last second until which at most `count` seconds have counted. */
export function reach(control, from, count) {
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
