// What a player does with the keys of this browser: bring one here, take one up again, leave, be forgotten.
// docs/spec/http.md, "Keys". It shows nothing.
import { keyOf, newSeed } from '../log/write.js';
import { fingerprint } from '../log/text.js';
import { forgetStore } from './session.js';
import { newPin, refuse, successor } from './trust.js';

/** How a key stands to what the service says of its name: `new` to it, `right`, `code` if only a code of a letter or of
 *  the operator makes it right, or `other`. */
export function standing(found, key) {
  if (!found) return 'new';
  if (found.key === key && !found.revoked) return 'right';
  return found.revoked || found.held?.key === found.key ? 'code' : 'other';
}

/** How the own key stands, and the key that is to replace it; finishes what an earlier visit has begun. */
export async function ownStanding(session) {
  const { store } = session;
  if (await store.get('meta', 'moving')) await session.changeKey();
  const seed = await store.get('meta', 'next'), next = seed ? await keyOf(seed) : null;
  const player = await session.player(session.me.name), how = standing(player, session.me.text);
  const registered = await store.get('meta', 'registered') === session.me.text;
  if (how === 'right' && !registered) await session.registered(session.me.text, player.earlier);
  return { how, next, player, registered };
}

/** Brings a key here that the service knows by this name. The player has a copy, so its seed is not kept. */
export async function bring(session, copy, name) {
  const found = await session.player(name), how = standing(found, copy.text);
  if (how === 'code' && found.key === copy.text) refuse('key-revoked', { name });
  if (how !== 'right') refuse('key-of-another', { name });
  await session.keepKey(copy.seed, name);
  await session.registered(session.me.text, found.earlier);
  return session.proveCopy();
}

/** Makes the key that is to replace the own one as soon as the player has a copy. */
export const beginReplacing = ({ store }) => store.keep([['meta', 'next', newSeed()]]);

/** The key of a player who is to be invited, as the service says it and as it is known here. */
export async function keyToInvite(session, name) {
  const found = await session.player(name) ?? refuse('no-such-player', { name });
  const pin = await session.store.get('pins', name), { origin } = session.service;
  if (found.revoked) refuse('their-key-revoked', { name });
  const known = !pin || [...pin.compared, pin.key].includes(found.key);
  if (!known && !await successor(found, pin.key, origin)) {
    refuse('another-key', { name, known: await fingerprint(pin.key), shown: await fingerprint(found.key) });
  }
  const held = found.held?.key === found.key;
  if (held && pin && !pin.held.includes(found.key)) refuse('held-instead', { name });
  return { held, key: found.key, name };
}

/** Changes what the player has chosen at the service. A request that leaves something out would forget it. */
export async function choose(session, change) {
  const chosen = await session.own('GET', '/v1/me/settings');
  await session.own('PUT', '/v1/me/settings', { ...chosen, ...change(chosen) });
}

/** The player has compared a key, so what was learned before of this name counts no more. For the player's choice of
 *  invitations the name is a known one from now on. */
export async function compared(session, name, key) {
  const pin = await session.store.get('pins', name) ?? newPin(name, key);
  const keys = [...new Set([...pin.keys, key])], all = [...new Set([...pin.compared, key])];
  await session.store.keep([['pins', name, { ...pin, compared: all, how: 'compared', key, keys }]]);
  await choose(session, ({ known }) => ({ known: [...new Set([...known, name])].slice(-400) }));
}

/** How many signed texts have no answer yet. */
export async function unsent({ store }) {
  const entries = (await store.list('outbox')).filter(each => !each.refused);
  return entries.length + (await store.list('statements')).filter(each => each.path).length;
}

/** Ends the login; without a network it ends by itself within a day. */
async function endLogin(session) {
  await session.own('POST', '/v1/logout').catch(() => {});
  sessionStorage.clear();
}

/** Refuses where a log out would lose something. */
export async function mayLeave(session) {
  const n = await unsent(session);
  if (session.me.seed) refuse('copy-unproved');
  if (n) refuse('unsent', { n });
}

/** Logs out: nothing private stays but the key, which cannot leave this browser. */
export async function logOut(session) {
  const { me, store } = session;
  await endLogin(session);
  const changes = [['openings', IDBKeyRange.lowerBound([]), undefined]];
  for (const { code, view } of (await store.list('games')).filter(each => each.view)) {
    const { game } = view, views = IDBKeyRange.bound([game, 'view'], [game, 'view', []]);
    changes.push(['games', game, code ? { code } : undefined], ['evidence', views, undefined]);
  }
  for (const refused of await store.list('outbox')) { // its place stays signed for, but its cards are not told
    const { entry, sig } = JSON.parse(refused.bytes), bytes = JSON.stringify({ entry, sig });
    changes.push(['outbox', [JSON.parse(entry).game, refused.seq], { ...refused, action: null, bytes }]);
  }
  await store.keep([...changes, ['meta', 'me', undefined], ['meta', 'left', { name: me.name, key: me.text }]]);
  await session.load();
}

/** Who has logged out here, if anybody has. */
export const whoLeft = ({ store }) => store.get('meta', 'left');

/** Logs in again with the key that stayed. */
export async function comeBack(session) {
  await session.store.keep([['meta', 'me', await whoLeft(session)], ['meta', 'left', undefined]]);
  return session.load();
}

/** Removes everything that this browser keeps for this service, its key too. */
export async function forget(session) {
  if (session.me) await endLogin(session);
  await forgetStore(await fingerprint(session.service.key));
}
