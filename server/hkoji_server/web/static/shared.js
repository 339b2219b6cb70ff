// The parts that pages share: the one policy of Trusted Types, the words, the checker in its worker, and what is new in
// the player's games: one stream for all tabs of this browser, only while one of them is visible. docs/spec/http.md,
// "Waiting". What it hears is a hint: the log is fetched and checked as ever.
const WORKERS = /^(\/sw\.js|\/static\/[0-9a-f]+\/log\/check\.js)$/;

/** @param {string} address @returns {string} */
function allowed(address) {
  if (!WORKERS.test(address)) throw new TypeError(address);
  return address;
}

const policies = /** @type {any} */ (globalThis).trustedTypes;
const policy = policies?.createPolicy('hkoji', { createScriptURL: allowed }) ?? { createScriptURL: allowed };

/** The address of one of the two workers, as a browser takes it: that which checks logs, and the service worker. */
export const workerAddress = address => policy.createScriptURL(address);

/** @param {string} id @returns {any} */
export const place = id => document.getElementById(id);

/** Why no key can be used here, as a key of WORDS: WebCrypto and locks exist on https and on this machine only. */
export async function obstacle() {
  if (!isSecureContext || !navigator.locks) return 'needs-https';
  const pair = await crypto.subtle.generateKey('Ed25519', false, ['sign', 'verify']).catch(error => error);
  return pair.name === 'NotSupportedError' ? 'needs-ed25519' : null; // any other error may not come again
}

/** A new element with a text. @param {string} name @param {string} [textContent] @returns {any} */
export const element = (name, textContent) => Object.assign(document.createElement(name), { textContent });

/** The address of a file that is made here. @param {BlobPart} content */
export const addressOf = content => URL.createObjectURL(new Blob([content], { type: 'application/octet-stream' }));

/** @typedef {Object<string, string | string[]>} Words  a list has the form for 1 and that for all other numbers */
/** @typedef {(key: string, values?: Object<string, any>) => string} Say */

/** @param {Words} words @returns {Say} */
export const speaker = words => (key, values = {}) => {
  const found = words[key] ?? key, text = Array.isArray(found) ? found[Number(values.n) === 1 ? 0 : 1] : found;
  return text.replace(/\{(\w+)\}/g, (place, name) => String(values[name] ?? place));
};

/** Why something failed, in the reader's language. @param {Words} words @param {any} error */
export function explain(words, error) {
  const say = speaker(words), { key = 'unexpected', values = {} } = error?.text ? { key: error.text, ...error } : error;
  const why = values.why ? say(values.why.key, values.why.values) : undefined;
  if (!(key in words) && key.startsWith('problem-')) return say('problem-other', values);
  return say(key in words ? key : 'unexpected', { detail: error.message, ...values, why });
}

/** `check` of log/check.js, beside the page. @param {string} base where the files of this version are
 *  @returns {(data: Uint8Array, pins?: object) => Promise<any>} */
export function inWorker(base) {
  const worker = new Worker(workerAddress(`${base}log/check.js`), { type: 'module' });
  const broken = new Promise((_, fail) => { worker.onerror = event => fail(new Error(event.message)); });
  broken.catch(() => {}); // it is told with the next check
  return (data, pins = {}) => Promise.race([broken, new Promise(done => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = event => done(event.data);
    worker.postMessage({ data, pins }, [port2]);
  })]);
}

const LONGEST_PAUSE = 60_000; // a hidden tab asks as often, because it holds no stream
const FIELD = /^([a-z]*): ?(.*)$/;

/** Reads server-sent events from the body of an answer. @param {ReadableStream<Uint8Array>} body */
export async function* events(body) {
  const reader = body.getReader(), decoder = new TextDecoder();
  for (let text = ''; ;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (text + decoder.decode(value, { stream: true })).split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      yield Object.fromEntries(block.split('\n').map(line => FIELD.exec(line)?.slice(1) ?? []));
    }
  }
}

/** Follows the stream of all own games until `signal` ends it. `hear` gets what an entry's line says of itself. */
export async function stream(session, hear, signal) {
  for (let place = '', retry = 2000, wait = retry; !signal.aborted;) {
    try {
      const headers = place ? { 'Last-Event-ID': place } : {};
      const answer = await session.send('GET', '/v1/events', undefined, await session.token(), { headers, signal });
      if (answer.status === 401) await session.token(true);
      else if (!answer.ok) wait = Math.max(wait, 1000 * Number(answer.headers.get('Retry-After') ?? 0));
      else {
        for await (const { data, event, id, retry: told } of events(answer.body)) {
          wait = retry = Number(told ?? retry);
          if (id) place = id;
          if (event === 'entry') hear(JSON.parse(JSON.parse(data).entry));
          if (event === 'end') break;
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error.key === 'login-elsewhere') throw error;
      wait = Math.min(2 * wait, LONGEST_PAUSE);
    }
    await new Promise(done => {
      const timer = setTimeout(done, wait);
      signal.addEventListener('abort', () => { clearTimeout(timer); done(undefined) }, { once: true });
    });
  }
}

const LOOK = 300; // seconds: a signed head from time to time proves later that a move was held back

/** Looks at a game from time to time while the opponent's clock runs, and once when the time is over. Each look brings
 *  a signed head. @param {import('./client/game.js').Game} game @param {() => any} look */
export function watch(game, look) {
  const { session, clock, seat } = game;
  if (!clock?.deadline || clock.seat === seat) return;
  const over = Date.parse(clock.deadline) / 1000 + session.service.slack + 1 - session.now;
  setTimeout(async () => {
    await look();
    watch(game, look);
  }, 1000 * (over > 0 ? Math.min(LOOK, over) : LOOK));
}

/** Follows the news in this tab: `hear` is called for each entry, here or in the tab that holds the stream. */
export function follow(session, hear) {
  const others = new BroadcastChannel('hkoji-news');
  /** Shows in the title of the tab how many games wait for the player. */
  const count = () => session.games('&waiting=true').then(({ length }) => {
    document.title = document.title.replace(/^(\(\d+\) )?/, length ? `(${length}) ` : '');
  }, () => {});
  const heard = entry => { hear(entry); count() };
  others.onmessage = ({ data }) => heard(data);
  let ends = null;
  function changed() {
    ends?.abort();
    ends = null;
    if (document.hidden) return;
    const { signal } = ends = new AbortController();
    count();
    navigator.locks.request('hkoji-news', { signal }, () => stream(session, entry => {
      others.postMessage(entry);
      heard(entry);
    }, signal)).catch(() => {}); // the tab was hidden before its turn came
  }
  document.addEventListener('visibilitychange', changed);
  setInterval(() => { if (document.hidden) count() }, LONGEST_PAUSE);
  changed();
}
