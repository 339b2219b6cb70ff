// Has this browser told while no page is open: docs/spec/http.md, "Pushes". Only a press of a button asks for the
// permission. In the store `meta` keeps the channel of this browser and its subscription, as `push`.
import { Refused } from '../client/trust.js';
import { element, workerAddress } from '../shared.js';

const SETTINGS = { digest: [], format: 'json', quiet: null, zone: '+00:00' };
const CODE_SECONDS = 60;

/** @param {any} [value] */
const ask = (session, method, path = '', value) => session.own(method, `/v1/me/channels${path}`, value);
const subscription = async () => (await navigator.serviceWorker.getRegistration('/'))?.pushManager.getSubscription();

// `sw.js` passes the code of a channel on, perhaps before its id is known here.
/** @type {Map<string, string>} */ const codes = new Map();
let look = () => {};
navigator.serviceWorker?.addEventListener('message', ({ data }) => { codes.set(data.channel, data.code); look(); });

/** @returns {Promise<string>} */
const codeOf = id => new Promise((done, fail) => {
  look = () => { if (codes.has(id)) done(/** @type {string} */ (codes.get(id))); };
  look();
  setTimeout(() => fail(new Refused('push-no-code')), CODE_SECONDS * 1000);
});

/** Asks the browser for a subscription, and makes a channel of it in place of the one before. */
export async function subscribe(session, lang) {
  if (await Notification.requestPermission() !== 'granted') return;
  const { pushManager } = await navigator.serviceWorker.register(workerAddress('/sw.js')), key = session.service.push;
  await navigator.serviceWorker.ready;
  await unsubscribe(session);
  const made = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
  const { endpoint: target, keys } = made.toJSON();
  const { id } = await ask(session, 'POST', '', { kind: 'push', target, keys, lang, settings: SETTINGS });
  await session.store.keep([['meta', 'push', { id, target, key }]]);
  await ask(session, 'POST', `/${id}/confirm`, { code: await codeOf(id) });
}

/** Ends the subscription, and removes its channel. */
export async function unsubscribe(session) {
  const kept = await session.store.get('meta', 'push');
  await (await subscription())?.unsubscribe();
  if (!kept) return;
  await ask(session, 'DELETE', `/${kept.id}`).catch(error => { if (error.status !== 404) throw error; });
  await session.store.keep([['meta', 'push', undefined]]);
}

/** At each visit: a subscription that browser or service have changed is replaced; one that has ended is removed. */
export async function tend(session, lang) {
  const kept = await session.store.get('meta', 'push');
  if (!kept) return;
  const granted = Notification.permission === 'granted', there = granted && await subscription();
  if (there && there.endpoint === kept.target && session.service.push === kept.key) return;
  await unsubscribe(session);
  if (granted) await subscribe(session, lang);
}

/** The state in a text of WORDS, and what a button offers: its text and its deed. @returns {Promise<any[]>} */
async function standing(session) {
  if (!session.service.push || !globalThis.PushManager) return ['push-impossible'];
  if (Notification.permission === 'denied') return ['push-denied'];
  const kept = await session.store.get('meta', 'push'), channels = kept ? (await ask(session, 'GET')).channels : [];
  const mine = channels.find(each => each.id === kept.id);
  if (mine?.off) return ['push-off', 'push-again', subscribe];
  if (mine?.confirmed) return ['push-on', 'push-stop', unsubscribe];
  if (kept) await unsubscribe(session); // a revocation has removed the channel, or its code has never come
  return ['push-none', 'push-start', subscribe];
}

/** Shows the state in a place, with a button. @param {any} here what `visit` gives @param {HTMLElement} place */
export async function show(here, place) {
  const { act, lang, say, session } = here, [text, label, deed] = await standing(session);
  place.replaceChildren(element('p', say(text)));
  if (!label) return;
  const button = place.appendChild(element('button', say(label)));
  button.onclick = () => act(() => deed(session, lang).finally(() => show(here, place)));
}
