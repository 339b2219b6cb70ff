// Shows what the service pushes, and opens the game. It answers no request and keeps nothing. The service puts two
// values before this: TEXTS, the sentences in each language, and BASE, where the files are.
const worker = /** @type {any} */ (globalThis);
const TURN = ['turn', 'remind1', 'remind2', 'release'];

/** A notification, in the language of the page that has asked for it and the time of this device. @param {any} said */
function worded({ event, game = '', opponent, deadline, lang }) {
  const texts = worker.TEXTS[lang] ?? worker.TEXTS.en, date = new Date(deadline);
  const time = date.toLocaleString(lang, { weekday: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' });
  const text = key => texts[key].replace('{opponent}', opponent ?? texts.opponent).replace('{time}', time);
  const body = [opponent && [...TURN, 'over'].includes(event) && text('against'), +date && text('until')];
  return [text(Object.hasOwn(texts, event) ? event : 'other'), {
    body: body.filter(Boolean).join('\n'), data: game, icon: `${worker.BASE}icon-192.png`, lang,
    // A newer notice of a turn takes the place of the one before, and is heard again.
    tag: `${game} ${TURN.includes(event) ? 'turn' : event}`, renotify: true,
  }];
}

const pages = () => worker.clients.matchAll({ type: 'window', includeUncontrolled: true });

/** Shows also what cannot be read: else the permission is lost. @param {any} said */
async function show({ channel, code, ...said }) {
  if (code) for (const page of await pages()) page.postMessage({ channel, code });
  await worker.registration.showNotification(...worded(said));
}

async function visit(game) {
  const path = /^[0-9a-f]{32}$/.test(game) ? `/g/${game}` : '/';
  const there = (await pages()).find(page => new URL(page.url).pathname === path);
  await (there ? there.focus() : worker.clients.openWindow(path));
}

worker.oninstall = () => worker.skipWaiting();
worker.onpush = event => event.waitUntil((async () => show(event.data.json()))().catch(() => show({})));
worker.onnotificationclick = event => {
  event.notification.close();
  event.waitUntil(visit(event.notification.data));
};
