// A rematch, for which both players may ask at once: opens one, or joins the one that the opponent has opened. And its
// place in a series. docs/cli.md, "Rematches and series"; hkoji/client/rematch.py says why at most one is played.
import { Game, open } from './game.js';
import { refuse } from './trust.js';
import { encode } from '../log/text.js';
import { seconds, timeText } from '../log/times.js';

const EXPIRES = 14 * 86_400; // so many seconds an opponent can join
const MOST_GAMES = 100; // of a series, those included that were called off and played again
const APART = 120; // the clocks of a service's processes may be so many seconds apart

/** A game as the service shows it now, checked. */
async function fetched(session, id) {
  const game = new Game(session, id);
  await game.turn(() => game.fetch());
  return game;
}

/** The game of the same series, between the same players, that a game names as the one before it; null if none. */
async function gameBefore({ offer: { agreement: { rematch, series } }, players, session }) {
  if (!rematch) return null;
  const before = await fetched(session, rematch), place = before.offer.agreement.series;
  const same = place?.id === series.id && place.games === series.games && before.players.join() === players.join();
  return same ? before : null;
}

/** The place of the rematch in the series of a game: the next one, the same after a game that was called off, and none
 *  with the `score` once the series is over. Each game names the one before it, and both have signed that. */
async function nextInSeries(game) {
  const { series } = game.offer.agreement, played = [], winners = new Map();
  if (!series || game.result.reason === 'cancel') return { series };
  for (let each = game; each && played.length < MOST_GAMES; each = await gameBefore(each)) played.push(each);
  const ended = ({ id, last }) => `${last.time} ${id}`;
  played.sort((a, b) => (ended(a) < ended(b) ? -1 : 1));
  for (const { offer: { agreement: { series: { number } } }, result, seats } of played) {
    if (!result || result.reason === 'cancel' || winners.has(number)) continue; // of one number the first counts
    winners.set(number, seats[result.winner]?.name);
  }
  const won = game.players.map(name => [...winners.values()].filter(each => each === name).length);
  const over = winners.size >= series.games || won.some(each => 2 * each > series.games);
  if (over || series.number === series.games) {
    return { series: null, score: game.players.map((name, n) => `${name} ${won[n]}`).join(', ') };
  }
  return { series: { ...series, number: series.number + 1 } };
}

/** The rematches of a game that the service lists with a status, and that can be played. */
async function listed(game, status) {
  const { id, last, players, session } = game, ended = timeText(seconds(last.time) - APART), found = [];
  for (let after = ''; after !== null;) {
    const query = `status=${status}&limit=100${after && `&after=${after}`}`;
    const { games, next } = await session.own('GET', `/v1/me/games?${query}`);
    found.push(...games.filter(({ agreement, deadline, guest, host, invite }) =>
      agreement.rematch === id && [host, guest ?? invite].sort().join() === players.join()
      && !(status === 'open' && deadline && seconds(deadline) < session.now)));
    after = games.at(-1)?.created < ended ? null : next; // the newest come first
  }
  return found;
}

/** The terms of the rematch if the player in `host` opens it: the other one begins. */
function rematchTerms(game, series, host, expires) {
  const { agreement, ruleset } = game.offer, swapped = { host: 'guest', guest: 'host' };
  const first = host === 0 && Object.hasOwn(swapped, ruleset.first) ? swapped[ruleset.first] : ruleset.first;
  return { ruleset: { ...ruleset, first }, agreement: { ...agreement, expires, rematch: game.id, series } };
}

async function openRematch(game, series) {
  const { name } = game.seats[1 - game.seat], expires = timeText(Math.floor(game.session.now + EXPIRES));
  const { key } = await game.store.get('pins', name); // the one of the game, or one that has followed it since
  await open(game.session, { ...rematchTerms(game, series, game.seat, expires), invite: { key, name } });
}

/** Joins the opponent's rematch, unless something has come before that. Returns false if it is open to another key of
 *  this player. */
async function joinRematch(game, series, id) {
  const other = await fetched(game.session, id), { agreement, ruleset } = other.offer;
  const terms = rematchTerms(game, series, 1 - game.seat, agreement.expires);
  if (encode({ agreement, ruleset }) !== encode(terms)) refuse('rematch-differs', { game: id });
  try { await other.join({ seen: other.last.head }) } catch (error) {
    if (error.key === 'invited-other') return false;
    if (!other.closed) throw error;
  }
  return true;
}

/** Cancels own rematches. Returns false if something has come before that in one of them. */
async function giveUp(session, ids) {
  let all = true;
  for (const id of ids) {
    try { await new Game(session, id).cancel() } catch (error) {
      if (!error.refused && error.key !== 'game-changed') throw error;
      all = false;
    }
  }
  return all;
}

/** Joins the opponent's rematch, or opens one; returns its id. Both may ask at once: the host of the larger id cancels,
 *  and joins the other one. The host of the smaller id waits a little for that, and then joins the opponent's. */
async function arrange(game, series) {
  const /** @type {string[]} */ closed = [], { session } = game;
  for (let tries = 0, patience = 10; tries < 30; tries++) {
    const open = await listed(game, 'open'); // first: one that is joined meanwhile is in another list
    const others = [...await listed(game, 'playing'), ...await listed(game, 'finished')];
    const idsOf = list => list.map(each => each.game).sort(), joined = idsOf(others);
    const mine = idsOf(open.filter(each => each.host === session.me.name));
    const theirs = idsOf(open).filter(each => !mine.includes(each) && !closed.includes(each));
    if (joined.length) {
      await giveUp(session, mine);
      return joined[0];
    }
    if (!theirs.length && mine.length === 1) return mine[0];
    if (!theirs.length) await (mine.length ? giveUp(session, mine.slice(1)) : openRematch(game, series));
    else if (mine[0] < theirs[0] && patience-- > 0) await new Promise(done => setTimeout(done, 300));
    else if (mine[0] < theirs[0] || await giveUp(session, mine)) {
      if (!await joinRematch(game, series, theirs[0])) closed.push(theirs[0]);
    }
  }
  return refuse('rematch-changes');
}

/** Makes the rematch of a game that is over, and returns its id. */
export async function rematch(game) {
  const { series, score } = await nextInSeries(game), id = await arrange(game, series), { store } = game;
  if (score) {
    const place = new Game(game.session, id).remarksPlace, told = await store.get('meta', place) ?? [];
    await store.keep([['meta', place, [...told, ['series-over', { score }]]]]);
  }
  return id;
}
