// Compares the modules of pages with the vectors of the log format. Returns the number of each sort, and what is wrong.
import { decode, encode, Finding, hex, hmac, sha256, unhex } from '../../../server/hkoji_server/web/static/log/text.js';
import { fingerprint, point, signed } from '../../../server/hkoji_server/web/static/log/text.js';
import { parseLine, readText } from '../../../server/hkoji_server/web/static/log/text.js';
import { Clock, seconds, timeText } from '../../../server/hkoji_server/web/static/log/times.js';
import { chanceFault, dealOf } from '../../../server/hkoji_server/web/static/log/check.js';
import { check } from '../../../server/hkoji_server/web/static/log/check.js';
import * as write from '../../../server/hkoji_server/web/static/log/write.js';

const same = (mine, theirs) => JSON.stringify(mine) === JSON.stringify(theirs);
const kindOf = error => { if (!(error instanceof Finding)) throw error; return error.kind; };
/** The kind of the finding that `act` throws; null if it throws none. */
const refusal = act => { try { act(); return null; } catch (error) { return kindOf(error); } };

const SORTS = {
  async keys({ good, bad, links }) {
    const rows = good.map(async ({ seed, public: half, text, fingerprint: print }) => {
      const key = await write.keyOf(unhex(seed)), file = write.keyFile(unhex(seed), key.raw, 'alice');
      const letters = write.toLetters(unhex(seed)), { seed: read, comment } = write.readKeyFile(file);
      return same([key.text, hex(key.raw), await fingerprint(text), hex(read), comment, hex(write.fromLetters(letters))],
        [text, half, print, seed, 'alice', seed]) && /^[a-z2-7]{52}$/.test(letters);
    });
    return [...rows, ...bad.map(({ text, error }) => refusal(() => point(text)) === error),
      ...links.map(async ({ code, text }) => (await write.linkKey(code)).text === text)];
  },
  canonical: ({ good, bad }) => [
    ...good.map(({ value, text }) => encode(value) === text && same(encode(decode(text)), text)),
    ...bad.map(({ text }) => refusal(() => decode(text)) === 'malformed')],
  signatures: ({ signatures }) => signatures.map(async ({ key, namespace, blob, message, verifies }) => {
    const text = message.endsWith('\n') ? message.slice(0, -1) : message;
    const found = refusal(() => point(key)) ? false : await signed(key, namespace, blob, text);
    return (found && message.endsWith('\n')) === verifies;
  }),
  entries({ good, bad }) {
    const read = ({ form, text }) => (form === 'line' ? parseLine(text) : readText(text, form));
    return [...good.map(async it => {
      const found = refusal(() => read(it));
      return found === null && (it.head === undefined || await sha256(it.text) === it.head);
    }), ...bad.map(it => {
      const found = refusal(() => { const value = read(it); if (value.key) point(value.key); });
      return found === it.error;
    })];
  },
  commitments: ({ commitments, key_entropy: entropies, deals, duplicate_deals: duplicates }) => [
    ...entropies.map(async ({ seed, game, head, entropy }) =>
      await write.entropyOf(await write.keyOf(unhex(seed)), game, head) === entropy),
    ...commitments.map(async ({ message, commit }) => await sha256(...message.trimEnd().split('\n')) === commit),
    ...deals.map(isDeal), ...duplicates.map(isDeal)],
  logs: ({ keys, logs }) => logs.map(async ({ log, holds, finding }) => {
    const mine = await check(new TextEncoder().encode(log), keys), [found] = mine.found;
    if (!finding || finding.step > 7) return !found && mine.holds >= holds;
    const names = found.signer.map(({ text, values: { name } }) => (text === 'check-by-holder' ? `the service, for ${name}` : name));
    return same([mine.holds, found.step, found.entry, names.join(' and ') || null],
      [holds, finding.step, finding.entry, finding.names]) && (found.kind === 'not-understood') === (finding.error === 'not-understood');
  }),
  games: games => games.map(async ({ log, keys, entries, head }) => {
    const mine = await check(new TextEncoder().encode(log), keys);
    const again = performance.now();
    const second = await check(new TextEncoder().encode(log), keys);
    return same([mine.found, mine.holds, mine.total, mine.head], [[], entries, entries, head]) && same(mine, second)
      && performance.now() - again < 60000;
  }),
  clocks: games => games.flatMap(isTimed),
};

/** The first round of a deal, as a log that is over gives it. */
async function isDeal({ ruleset, game, deal, seed, host_entropy: host, guest_entropy: guest, round, ...it }) {
  const dealer = deal ? { name: 'duplicate/v1', deal } : { name: 'server/v1' }, copies = ruleset === 'geishas-road';
  const rules = { name: ruleset, first: 'random', ...(copies && { markers: 'random' }) };
  const entry = (kind, body, by = 'server') => ({ entry: { kind, body, by, game: game ?? 'ab' } });
  const chance = { ...('first' in it && { first: it.first }), ...(copies && 'markers' in it && { markers: it.markers }) };
  const reveals = Array.from({ length: round - 1 }, () => entry('reveal', { openings: [] }));
  const lines = [entry('offer', { dealer, ruleset: rules }), entry('open', {}, 'alice'), entry('join', {}, 'bob'),
    entry('seed', { entropy: guest ?? 'ab' }, 'bob'), entry('seed', { entropy: host ?? 'cd' }, 'alice'),
    ...reveals, ...(round === 1 ? [entry('chance', chance)] : []),
    entry('end', { openings: [], result: { reason: 'resign' }, seed })];
  const found = (await dealOf(lines))[round - 1];
  const key = await hmac(seed, ...it.deck_key_message.trimEnd().split('\n'));
  const other = lines.map(line => (line.entry.kind === 'chance' ? entry('chance', { ...chance, first: 1 - chance.first }) : line));
  return key === it.deck_key && same([found.aside, ...found.hands, found.draws].map(cards => cards.join('')), [it.removed, it.seat_0, it.seat_1, it.draws])
    && await chanceFault(lines) === null && (round > 1 || (await chanceFault(other)) !== null);
}

function isTimed({ control, entries }) {
  const clock = new Clock(control, seconds(entries[0].at));
  return entries.map(({ kind, by, at, credits, late, owes, banks, spent, deadline }) => {
    let found = null;
    if (kind === 'seed' || kind === 'move') found = clock.play(by, seconds(at), credits ?? 0);
    else if (kind === 'chance' || kind === 'reveal') clock.breakTurn(seconds(at));
    else if (['resign', 'timeout', 'annul', 'end'].includes(kind)) clock.end();
    const next = clock.copy();
    if (owes === null) next.endTurn(); else next.begin(owes);
    const mine = [found, next.reserve, owes === null ? null : next.spent, owes === null ? null : timeText(clock.deadline(owes))];
    return same(mine, [late, banks, spent, deadline]);
  });
}

export async function run(data) {
  const counts = {}, wrong = [];
  for (const [sort, rows] of Object.entries(data)) {
    const right = await Promise.all(await SORTS[sort](rows));
    counts[sort] = right.length;
    right.forEach((each, n) => { if (each !== true) wrong.push(`${sort} ${n}`); });
  }
  return { counts, wrong };
}
