// What two players agree on, in words: clock, options of the game, whether it is rated, until when one can join.

const UNITS = /** @type {const} */ ([['day', 86_400], ['hour', 3_600], ['minute', 60], ['second', 1]]);

/** A length of time in the largest unit that fits. @param {number} seconds */
function long(seconds, lang) {
  const [unit, size] = UNITS.find(([, each]) => seconds % each === 0) ?? UNITS[3];
  return new Intl.NumberFormat(lang, { style: 'unit', unit, unitDisplay: 'long' }).format(seconds / size);
}

const joined = parts => parts.filter(Boolean).join(' ');

/** The agreement and the options of a checked log. */
export function terms(say, lang, { host, ruleset, agreement: { clock, expires, rated, series } }) {
  return {
    who: say('invite-who', { name: host, game: say(`game-${ruleset.name}`) }),
    clock: !clock ? say('invite-no-clock') : joined([
      clock.move && say('invite-move', { time: long(clock.move, lang) }),
      clock.bank && say('invite-bank', { time: long(clock.bank, lang) }),
      clock.add && say('invite-add', { time: long(clock.add, lang), most: long(clock.cap, lang) }),
      clock.rest && say('invite-rest', { days: clock.rest, zone: clock.zone }),
    ]),
    options: joined([
      say(`invite-first-${ruleset.first}`, { name: host }),
      ruleset.max_rounds > 0 && say('invite-rounds', { n: ruleset.max_rounds }),
      ruleset.max_rounds > 0 && say(`invite-tie-${ruleset.tiebreak}`),
      ruleset.markers && say(`invite-markers-${ruleset.markers}`),
    ]),
    rated: joined([
      say(rated ? 'invite-is-rated' : 'invite-not-rated'),
      series && say('invite-series', { number: series.number, games: series.games }),
    ]),
    until: expires ? new Date(expires).toLocaleString(lang) : say('invite-always'),
  };
}
