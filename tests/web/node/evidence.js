// Fills the evidence of a game by what a service signs, until no more is kept. tests/web/test_attacks.py
import { evidenceFile, keepEvidence, keepHead } from '../../../server/hkoji_server/web/static/client/trust.js';

const rows = new Map();
const store = {
  get: async (name, key) => rows.get(JSON.stringify([name, ...[key].flat()])),
  list: async (name, ...prefix) => [...rows].filter(([place]) => place.startsWith(JSON.stringify([name, ...prefix]).slice(0, -1)))
    .map(([, value]) => value),
  async keep(changes) {
    for (const [name, key, value] of changes) rows.set(JSON.stringify([name, ...[key].flat()]), value);
  },
};

export async function run(size) {
  const game = '0'.repeat(32), tail = 'x'.repeat(size), at = '2026-11-20T12:00:00Z', head = 'ab'.repeat(32);
  const heads = seq => keepHead(store, game, { sig: tail, text: `{"at":"${at}","head":"${head}","seq":${seq}}` });
  const others = kind => number => keepEvidence(store, game, kind, `{"${kind}":"${number}${tail}"}`);
  const kept = {};
  for (const [kind, add] of [['head', heads], ['view', others('view')], ['refused', others('refused')]]) {
    kept[kind] = 0;
    for (let changes = await add(0); changes.length && kept[kind] < 99; changes = await add(++kept[kind])) {
      await store.keep(changes);
    }
  }
  return [kept, (await evidenceFile(store, 'a key', game, [], { cards: true })).length];
}
