// When a page looks at a game while it waits: in seconds after `now`, until `end`, by a clock of its own.
import { watch } from '../../../server/hkoji_server/web/static/shared.js';

export async function run({ now, end, slack, clock, seat }) {
  const looks = [], real = globalThis.setTimeout, session = { now, service: { slack } };
  let due = Infinity, work = null;
  globalThis.setTimeout = (todo, pause) => { [work, due] = [todo, session.now + pause / 1000]; };
  watch({ session, clock, seat }, async () => { looks.push(session.now - now); });
  while (work && due <= end) {
    const todo = work;
    [session.now, work] = [due, null];
    await todo();
  }
  globalThis.setTimeout = real;
  return looks;
}
