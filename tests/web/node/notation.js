// For each action of a ruleset: the body of a move that a page would sign, and the openings that it would keep.
import { cardsOf, move } from '../../../server/hkoji_server/web/static/log/write.js';

export const run = rows => Promise.all(rows.map(async ({ ruleset, game, seq, action }) => {
  const { body, opening } = await move(ruleset, { game, seq: seq - 1, head: '', time: '' }, action);
  return { ...body, opening, cards: cardsOf(ruleset, action) };
}));
