// What somebody agrees to who joins, said from a checked log: nothing of it comes from HTML. docs/spec/log.md, "Client
// rules".
import { place } from '../shared.js';

const UNITS = /** @type {const} */ ([['day', 86_400], ['hour', 3_600], ['minute', 60], ['second', 1]]);

/** A length of time in the largest unit that fits. */
function long(seconds = 0, lang) {
  const [unit, size] = UNITS.find(([, each]) => seconds % each === 0) ?? UNITS[3];
  return new Intl.NumberFormat(lang, { style: 'unit', unit, unitDisplay: 'long' }).format(seconds / size);
}

/** Shows the agreement and the options in the parts of terms.html, and in those that only the page of a link has.
 *  @param {any} say @param {string} lang @param {any} shown @param {number} [turns] the most turns of a round */
export function showTerms(say, lang, { host: name, held, ruleset, agreement }, turns = 0) {
  const { clock, expires, rated, series } = agreement;
  const { first, markers, max_rounds: n, tiebreak } = ruleset, { add, bank, cap, move, rest, zone } = clock ?? {};
  const values = {
    name, game: say(`game-${ruleset.name}`), n, zone, days: rest, ...series,
    move: long(move, lang), bank: long(bank, lang), add: long(add, lang), cap: long(cap, lang),
    round: long(turns * (move + add) + 2 * cap, lang), // no reserve is above its limit when a round begins
    date: new Date(expires).toLocaleString(lang, { dateStyle: 'long' }),
  };
  const said = {
    who: ['invite-who'],
    clock: [
      !clock && 'invite-no-clock', move && 'invite-move', bank && 'invite-bank', add && 'invite-add',
      rest && 'invite-rest',
    ],
    options: [
      `invite-first-${first}`, n && 'invite-rounds', n && `invite-tie-${tiebreak}`,
      markers && `invite-markers-${markers}`,
    ],
    rated: [rated ? 'invite-is-rated' : 'invite-not-rated', series && 'invite-series'],
    until: [expires ? 'invite-until' : 'invite-always'],
    slowest: [clock && 'invite-slowest', rest && 'invite-rest-too'],
    held: [held && 'held-player'],
  };
  for (const [id, keys] of Object.entries(said)) {
    place(`invite-${id}`)?.replaceChildren(keys.filter(Boolean).map(key => say(key, values)).join(' '));
  }
}
