// What a player says beside the log: gifts of time, wishes to call a game off, messages, a decline, a rematch.
// docs/spec/log.md, "Statements" and "Talk". Each is kept before it is sent, as entries are.
import { base64, bytes, decode, encode, sha256, to64 } from '../log/text.js';
import { signed } from '../log/sig.js';
import { now, state } from '../log/write.js';
import { Game, open } from './game.js';
import { refuse } from './trust.js';

const DAY = 86_400;
const NOTHING_SEEN = '0'.repeat(64);

/** Says something about the last entry to the service: `give` with the seconds, or `annul`. */
function about(game, kind, more = {}) {
  return game.turn(async () => {
    await game.update();
    const { head } = game.last, { name } = game.session.me;
    const { sig } = await state(await game.signer(), `hkoji.${kind}.v1`, { game: game.id, head, name, ...more });
    const body = { head, kind, name, sig, ...more };
    await game.state([game.id, kind, head], { path: `${game.path}/statements`, body, head });
  });
}

/** Gives the opponent so many days for the entry that they owe. */
export const give = (game, days) => about(game, 'give', { seconds: days * DAY });

/** Asks to call the game off; the service ends it when both have asked about the same entry. */
export const annul = game => about(game, 'annul');

/** Asks the service to forget that wish. */
export const withdraw = game => game.turn(async () => {
  await game.session.call('DELETE', `${game.path}/statements/annul`, undefined, { login: true });
  await game.fetch();
});

/** Declines an invitation by name. @param {string} [why] */
export const decline = (game, why) => game.turn(async () => {
  await game.session.json('POST', `${game.path}/decline`, why ? { why } : {}, { login: true });
  await game.fetch();
});

// --- talk ------------------------------------------------------------------------------------------------------------

/** The messages of the game: `text` null if it was deleted, `proved` if its author has signed it, `gap` if one before
 *  it is missing. */
export async function messages(game) {
  const keys = new Map(game.seats.map(({ name, first, later }) => [name, [first, ...later.map(each => each.key)]]));
  const found = [], seen = new Set([NOTHING_SEEN]), texts = new Set();
  for (let next = 0; next !== null;) {
    const page = await game.session.json('GET', `${game.path}/talk?after=${next}`, undefined, { login: true });
    next = page.next;
    for (const { number, name, at, text, sig } of page.messages) {
      if (text === null) { found.push({ number, name, at, text: null, proved: false, gap: false }); continue }
      let said = null, words = '';
      try {
        said = decode(text);
        words = new TextDecoder('utf-8', { fatal: true }).decode(base64(said.text));
      } catch { /* it is no message */ }
      const ours = said?.game === game.id && said.name === name && !texts.has(text);
      const its = ours ? keys.get(name) ?? [] : [];
      const by = await Promise.all(its.map(key => signed(key, 'hkoji.talk.v1', sig, text)));
      found.push({ number, name, at, text: words, proved: by.includes(true), gap: ours && !seen.has(said.after) });
      texts.add(text);
      seen.add(game.lastMessage = await sha256(text));
    }
  }
  return found;
}

/** Sends a message to the opponent. @param {string} words */
export const say = (game, words) => game.turn(async () => {
  await game.load();
  await messages(game);
  const after = game.lastMessage ?? NOTHING_SEEN, { name } = game.session.me, text = to64(bytes(words));
  const body = await state(await game.signer(), 'hkoji.talk.v1', { after, at: now(), game: game.id, name, text });
  await game.state([game.id, 'talk', after], { path: `${game.path}/talk`, body, login: true });
});

// --- a rematch -------------------------------------------------------------------------------------------------------

/** The rematches of a game: mine that are open, the opponent's, and those that have begun, by id. */
async function rematches(game, players) {
  const lists = { mine: [], theirs: [], joined: [] }, { me } = game.session, ended = game.last.time;
  for (const status of ['open', 'playing', 'finished']) {
    for (let after = ''; after !== null;) {
      const query = `status=${status}&limit=100${after && `&after=${after}`}`;
      const page = await game.session.json('GET', `/v1/me/games?${query}`, undefined, { login: true });
      for (const { agreement, deadline, game: id, guest, host, invite } of page.games) {
        const ours = [host, guest ?? invite].sort().join() === players.join() && agreement.rematch === game.id;
        if (!ours || (status === 'open' && deadline && Date.parse(deadline) / 1000 < game.session.now)) continue;
        lists[status !== 'open' ? 'joined' : host === me.name ? 'mine' : 'theirs'].push(id);
      }
      after = page.games.at(-1)?.updated < ended ? null : page.next;
    }
  }
  return { mine: lists.mine.sort(), theirs: lists.theirs.sort(), joined: lists.joined.sort() };
}

/** The terms of the rematch if the player in `host` opens it: the other one begins. */
function rematchTerms(game, host) {
  const { agreement, ruleset } = game.offer, swapped = { host: 'guest', guest: 'host' };
  const first = host === 0 && Object.hasOwn(swapped, ruleset.first) ? swapped[ruleset.first] : ruleset.first;
  return { ruleset: { ...ruleset, first }, agreement: { ...agreement, expires: null, rematch: game.id } };
}

async function joinRematch(game, id) {
  const other = new Game(game.session, id), terms = rematchTerms(game, 1 - game.seat);
  await other.turn(() => other.fetch());
  const { agreement, ruleset } = other.offer;
  const offered = { agreement: { ...agreement, expires: null }, ruleset };
  if (encode(offered) !== encode(terms)) refuse('rematch-differs', { game: id });
  try { await other.join({ seen: other.last.head }) } catch (error) {
    if (!['conflict', 'game-over', 'time-over', undefined].includes(error.code)) throw error;
  }
}

/** Cancels an own rematch; if it is joined already, the next look finds that. */
const giveUp = (session, id) => new Game(session, id).cancel().catch(() => {});

/** Joins the opponent's rematch, or opens one; returns its id. Both may ask at once: the host of the larger id cancels,
 *  and joins the other one. The host of the smaller id waits a little for that, and then joins the opponent's. */
export async function rematch(game, expiresIn = 14 * DAY) {
  if (game.offer.agreement.series) refuse('series-by-command');
  const players = game.seats.map(each => each.name).sort(), other = game.seats[1 - game.seat];
  for (let tries = 0, patience = 10; tries < 30; tries++) {
    const { joined, mine, theirs } = await rematches(game, players);
    if (joined.length) {
      for (const id of mine) await giveUp(game.session, id);
      return joined[0];
    }
    if (!theirs.length && mine.length) return mine[0];
    if (!theirs.length) {
      const terms = rematchTerms(game, game.seat), { name, key } = other;
      const expires = new Date((game.session.now + expiresIn) * 1000).toISOString().replace(/\.\d+/, '');
      await open(game.session, { ...terms, agreement: { ...terms.agreement, expires }, invite: { key, name } });
    } else if (mine[0] < theirs[0] && patience-- > 0) await new Promise(done => setTimeout(done, 300));
    else {
      if (mine[0] > theirs[0]) await giveUp(game.session, mine[0]);
      await joinRematch(game, theirs[0]);
    }
  }
  return refuse('rematch-changes');
}
