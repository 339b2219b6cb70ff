// Every page loads this: times in the reader's zone, steps by arrow keys, news of the game that is shown. It knows no
// key; where this browser has one, or the page needs a script, it loads the module of the page.

const body = document.body;
const { page, static: base = '', lang = 'en', game, last, status: state } = body.dataset;
const UNITS = /** @type {const} */ ([['day', 86_400], ['hour', 3_600], ['minute', 60]]);

/** @param {string} role @returns {HTMLElement | null} */
const place = role => document.querySelector(`[data-role="${role}"]`);

/** Shows each time of the page in the zone of the reader; the time in UTC stays as its title. */
function showTimes() {
  const zone = new Intl.DateTimeFormat(lang, { dateStyle: 'medium', timeStyle: 'short' });
  for (const time of document.querySelectorAll('time')) {
    time.title ||= time.textContent ?? '';
    time.textContent = zone.format(new Date(time.dateTime));
  }
}

/** Steps by arrow keys, unless a control has the focus or the reader means something else with the key. */
function step(/** @type {KeyboardEvent} */ event) {
  const to = { ArrowLeft: 'back', ArrowRight: 'forward' }[event.key];
  const modified = event.altKey || event.ctrlKey || event.metaKey || event.shiftKey;
  if (!to || modified || (document.activeElement ?? body) !== body) return;
  const link = /** @type {HTMLAnchorElement | null} */ (document.querySelector(`[data-step="${to}"]`));
  // Beyond the last entry there is no page.
  if (link && !(to === 'forward' && shownLast())) link.click();
}

const shownLast = () => !new URLSearchParams(location.search).has('at');

/** How long there is until a time, in its largest unit. @param {string} until @param {number} now */
function howLong(until, now) {
  const seconds = Math.max(0, (Date.parse(until) - now) / 1000);
  const [unit, length] = UNITS.find(([, least]) => seconds >= least) ?? UNITS[2];
  return new Intl.NumberFormat(lang, { style: 'unit', unit, unitDisplay: 'long' }).format(Math.floor(seconds / length));
}

/** Shows a deadline, which a gift may have moved, and how long there is, by the clock of the service: that of this
 *  device may be wrong. @param {?string} until @param {number} now */
function showClock(until, now) {
  const deadline = /** @type {HTMLTimeElement | null} */ (place('deadline')), left = place('left');
  if (!deadline || !left) return;
  if (until && until !== deadline.dateTime) {
    deadline.dateTime = until;
    deadline.title = '';
    showTimes();
  }
  left.textContent = left.dataset.text?.replace('{time}', howLong(deadline.dateTime, now)) ?? '';
}

/** Asks for the clock: a gift moves the deadline without an entry. */
async function askClock() {
  if (document.hidden) return;
  const answer = await fetch(`/v1/games/${game}/clock`, { credentials: 'omit' }).catch(() => null);
  if (!answer?.ok) return;
  const { annul, deadline } = await answer.json();
  showClock(deadline, Date.parse(answer.headers.get('hkoji-time') ?? ''));
  for (const name of annul) if (!body.dataset.wishes?.split(' ').includes(name)) tellNews('wish', name);
}

/** Names what the page does not show: the kind of an entry, `wish` or `talk`. Nothing moves: the reader presses *Show*.
 *  A message does not replace other news, and an entry without words of its own does not either.
 *  @param {string} kind @param {string} name */
function tellNews(kind, name) {
  const news = document.getElementById('news'), text = place('news-text'), link = news?.querySelector('a');
  if (!news || !text || !link || !(news.hidden || (kind !== 'talk' && kind in news.dataset))) return;
  text.textContent = (news.dataset[kind] ?? news.dataset.other)?.replace('{name}', name) ?? '';
  link.hash = kind === 'talk' ? kind : '';
  link.onclick = () => { news.hidden = true; };
  news.hidden = false;
}

/** Hears of new entries while the page is visible. */
function hearNews() {
  /** @type {EventSource | null} */ let stream = null;
  function changed() {
    stream?.close();
    stream = null;
    if (document.hidden) return;
    stream = new EventSource(`/v1/games/${game}/events?after=${last}`);
    stream.addEventListener('entry', event => {
      const { by, kind } = JSON.parse(JSON.parse(event.data).entry);
      tellNews(kind, by);
    });
    stream.addEventListener('end', () => stream?.close());
  }
  document.addEventListener('visibilitychange', changed);
  addEventListener('pagehide', () => stream?.close());
  changed();
}

/** The module of a page; those that `always` load need no key. */
const MODULES = { check: 'check-file', front: 'home', game: 'game', invite: 'invite', me: 'me', player: 'me' };
const ALWAYS = ['check', 'invite', 'me'];

const hasKey = async () => (await indexedDB.databases?.() ?? []).some(each => each.name?.startsWith('hkoji-'));

/** The tabs of this browser: one in which the player leaves says so, and then nothing private stays in another. */
const tabs = new BroadcastChannel('hkoji-left');
tabs.onmessage = () => {
  body.replaceChildren();
  sessionStorage.clear();
  location.reload();
};

async function loadWords() {
  const answer = await fetch(`${base}words.${lang}.json`, { credentials: 'omit' });
  if (!answer.ok) throw new TypeError('there are no such words');
  return answer.json();
}

/** Loads the module of the page. Returns whether it follows the game by itself, as that of a player does. */
async function runModule() {
  const module = MODULES[/** @type {keyof typeof MODULES} */ (page)];
  if (!module) return;
  if (!ALWAYS.includes(page ?? '') && !await hasKey()) {
    // On an iPhone the page on the home screen has a storage of its own: it begins with bringing the key.
    if (page === 'front' && matchMedia('(display-mode: standalone)').matches) location.replace('/me');
    return;
  }
  try {
    const [words, { run }] = await Promise.all([loadWords(), import(`./pages/${module}.js`)]);
    const follows = await run({ body, base, howLong, lang, words, showClock, showTimes, tabs, tellNews });
    sessionStorage.removeItem('hkoji-reloaded');
    return follows;
  } catch (error) {
    // The service may have another version by now, whose files have other addresses: load the page again, once.
    if (!(error instanceof TypeError) || sessionStorage.getItem('hkoji-reloaded')) throw error;
    sessionStorage.setItem('hkoji-reloaded', 'yes');
    location.reload();
  }
}

showTimes();
if (game) addEventListener('keydown', step);
runModule().finally(() => { body.dataset.ready = ''; }).then(follows => {
  if (!game || !shownLast() || state === 'finished' || state === 'cancelled') return;
  setInterval(askClock, 60_000);
  if (follows) return;
  hearNews();
  askClock();
});
