// Hears what is new in the player's games: one stream for all tabs of this browser, only while one of them is visible.
// docs/spec/http.md, "Waiting". What it hears is a hint: the log is fetched and checked as ever.
const HIDDEN_PAUSE = 60_000; // a hidden tab asks once a minute, because it holds no stream
const LONGEST_PAUSE = 60_000;

/** Reads server-sent events from the body of an answer. @param {ReadableStream<Uint8Array>} body */
export async function* events(body) {
  const reader = body.getReader(), decoder = new TextDecoder();
  for (let text = ''; ;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (text + decoder.decode(value, { stream: true })).split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const event = /** @type {Record<string, string>} */ ({});
      for (const line of block.split('\n')) {
        const [, field, content] = /^([a-z]+): ?(.*)$/.exec(line) ?? [];
        if (field) event[field] = content;
      }
      yield event;
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

/** How many games wait for the player. */
export const waiting = async session =>
  (await session.json('GET', '/v1/me/games?waiting=true&limit=100', undefined, { login: true })).games.length;

/** Shows the number in the title and in the icon of the tab. @param {number} count */
export function showWaiting(count) {
  document.title = document.title.replace(/^(\(\d+\) )?/, count ? `(${count}) ` : '');
  const icon = /** @type {HTMLLinkElement} */ (document.querySelector('link[rel="icon"]'));
  if (!icon) return;
  icon.dataset.plain ??= icon.href;
  const canvas = document.createElement('canvas'), pen = canvas.getContext('2d');
  if (!count || !pen) return void (icon.href = icon.dataset.plain);
  canvas.width = canvas.height = 64;
  pen.fillStyle = '#b3261e';
  pen.arc(32, 32, 32, 0, 7);
  pen.fill();
  pen.fillStyle = '#fff';
  pen.font = 'bold 44px sans-serif';
  pen.textAlign = 'center';
  pen.fillText(count > 9 ? '9+' : String(count), 32, 48);
  icon.href = canvas.toDataURL();
}

const LOOK = 300; // seconds: a signed head from time to time proves later that a move was held back

/** Looks at a game from time to time while the opponent's clock runs and the tab is visible, and once when the time is
 *  over. Each look brings a signed head. @param {import('./game.js').Game} game @param {() => void} looked */
export function watch(game, looked) {
  const { session, clock, seat } = game;
  if (!clock?.deadline || clock.seat === seat) return;
  const over = Date.parse(clock.deadline) / 1000 + session.service.slack + 1 - session.now;
  setTimeout(async () => {
    if (!document.hidden) await game.refresh().then(looked, () => {});
    watch(game, looked);
  }, 1000 * (over > 0 ? Math.min(LOOK, over) : LOOK));
}

/** Follows the news in this tab: `hear` is called for each entry, here or in the tab that holds the stream. */
export function follow(session, hear) {
  const others = new BroadcastChannel('hkoji-news'), count = () => waiting(session).then(showWaiting, () => {});
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
  setInterval(() => { if (document.hidden) count() }, HIDDEN_PAUSE);
  changed();
}
