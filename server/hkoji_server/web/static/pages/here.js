// What the pages of a player share: the session of this browser, one line that says what happens, the deeds of buttons
// and forms; and the ways to keep a copy of a key (save_key.html).
import { Session } from '../client/session.js';
import { refuse } from '../client/trust.js';
import { keyFile, readCopy, toLetters } from '../log/write.js';
import { addressOf, explain, inWorker, place, speaker } from '../shared.js';

/** @typedef {{body: HTMLElement, words: import('../shared.js').Words, base: string, lang: string,
 *   tabs: BroadcastChannel, howLong: (until: string, now: number) => string}} Context */

/** Fills a list with copies of a `<template>`. `read` gives for an item what its parts get, by their role: a text, or
 *  values of attributes. @param {any[]} items @param {(item: any) => any} read */
export async function fill(id, template, items, read) {
  const rows = [];
  for (const item of items) {
    const row = place(template).content.firstElementChild.cloneNode(true);
    for (const [role, value] of Object.entries(await read(item))) {
      const part = row.querySelector(`[data-role="${role}"]`);
      Object.assign(part, typeof value === 'string' ? { textContent: value } : value);
    }
    rows.push(row);
  }
  place(id).replaceChildren(...rows);
}

/** The session of this browser, and how it speaks. `tell` says a text of WORDS. `attempt` does some work, and says why
 *  if that fails; `act` does it after that before it, while no button can be pressed. `deeds` says what elements with
 *  `data-do` do: buttons when pressed, forms when sent, others when changed. A form may have a line of its own.
 *  `busy` says whether some of it is still being done.
 *  @param {Context} context @param {string} says the id of the line */
export function visit({ base, body, lang, words }, says = 'says') {
  const session = new Session({ origin: location.origin, check: inWorker(base) }), say = speaker(words);
  /** @type {any} */ let own = null;
  const write = (text, wrong = true) => {
    place(says)?.replaceChildren();
    const line = own ?? place(says);
    line?.replaceChildren(text);
    line?.classList.toggle('wrong', wrong);
    if (text) line?.scrollIntoView({ block: 'nearest' });
  };
  const tell = (key, values = {}) => write(key && say(key, values), false);
  /** @param {() => any} work @returns {Promise<any>} what it threw, if it did */
  async function attempt(work) {
    try { return void await work(); } catch (error) {
      write(explain(words, error));
      return error;
    }
  }
  /** @type {Promise<any>} */ let last = Promise.resolve();
  let running = 0;
  /** @param {() => any} work @returns {Promise<any>} */
  const act = work => (last = last.then(async () => {
    const enabled = /** @type {any[]} */ ([...document.querySelectorAll('main button:enabled')]);
    for (const each of enabled) each.disabled = true;
    running += 1;
    const failed = await attempt(work);
    own = null; // what happens later is not about the form
    running -= 1;
    for (const each of enabled) each.disabled = false;
    return failed;
  }));
  /** @param {Record<string, (it: any) => any>} all @param {() => any} after what follows each of them */
  function deeds(all, after = () => {}) {
    for (const type of ['click', 'submit', 'change']) {
      body.addEventListener(type, event => {
        const it = /** @type {any} */ (event.target).closest('[data-do]'), deed = it && all[it.dataset.do];
        if (!deed || type !== ({ BUTTON: 'click', FORM: 'submit' }[it.tagName] ?? 'change')) return;
        event.preventDefault();
        act(async () => {
          own = it.querySelector('[role=status]');
          own?.replaceChildren();
          await deed(it.elements ?? it);
          await after();
        });
      });
    }
  }
  const copy = (text, said = 'copied') =>
    navigator.clipboard.writeText(text).then(() => tell(said), () => tell('no-clipboard'));
  return { act, attempt, busy: () => running > 0, copy, deeds, lang, say, session, tell, write };
}

/** @type {any} the key that is offered, its file and name, and what to do when the player has shown the copy */
let offer;

/** Shows the ways. @param {any} key @param {string} name @param {() => any} proved */
export function offerCopies(key, name, proved) {
  const file = keyFile(key.seed, key.raw, name), fileName = `${name}.key`;
  const shared = { files: [new File([file], `${fileName}.txt`, { type: 'text/plain' })] };
  offer = { file, key, proved, shared };
  Object.assign(place('save-file'), { href: addressOf(file), download: fileName });
  place('save-share').hidden = !navigator.canShare?.(shared);
  const { username, password } = place('save-password');
  username.value = name;
  password.value = toLetters(key.seed);
}

async function prove(text) {
  if ((await readCopy(text)).text !== offer.key.text) refuse('copy-differs');
  await offer.proved();
}

/** What the buttons do. */
export const copyDeeds = ({ copy, tell }) => ({
  'save-copy': () => copy(offer.file, 'save-kept'),
  'save-share': () => navigator.share(offer.shared).then(() => tell('save-kept'), () => {}),
  'save-password'({ username, password }) {
    // Some password managers take a form that is sent, and some only what they are asked to keep.
    const { PasswordCredential: Credential } = /** @type {any} */ (globalThis);
    const asked = Credential && new Credential({ id: username.value, password: password.value });
    if (asked) navigator.credentials.store(asked).catch(() => {});
    tell('save-kept');
  },
  'save-again': async ({ files }) => prove(await files[0].text()),
  'save-pasted': ({ text }) => prove(text.value),
  'save-have': () => offer.proved(),
});

const UNITS = /** @type {const} */ ([['day', 86_400], ['hour', 3_600], ['minute', 60], ['second', 1]]);

/** A length of time in the largest unit that fits. */
function long(seconds = 0, lang) {
  const [unit, size] = UNITS.find(([, each]) => seconds % each === 0) ?? UNITS[3];
  return new Intl.NumberFormat(lang, { style: 'unit', unit, unitDisplay: 'long' }).format(seconds / size);
}

/** Shows what a guest agrees to, from a checked log: nothing of it comes from HTML. It fills the parts of terms.html,
 *  and those that only the page of a link has.
 *  @param {any} say @param {string} lang @param {any} shown @param {number} [turns] the most turns of a round */
export function showTerms(say, lang, { host: name, held, ruleset, agreement }, turns = 0) {
  const { clock, expires, rated, series } = agreement;
  const { first, markers, max_rounds: n, tiebreak } = ruleset, { add, bank, cap, move, rest, zone } = clock ?? {};
  const values = {
    name, game: say(`game-${ruleset.name}`), n, zone, days: rest, ...series,
    move: long(move, lang), bank: long(bank, lang), add: long(add, lang), cap: long(cap, lang),
    round: long(turns * (move + add) + 2 * cap, lang), // no reserve is above its limit when a round begins
    date: new Date(expires).toLocaleString(lang, { dateStyle: 'long' }),
  };
  const said = {
    who: ['invite-who'],
    clock: [
      !clock && 'invite-no-clock', move && 'invite-move', bank && 'invite-bank', add && 'invite-add',
      rest && 'invite-rest',
    ],
    options: [
      `invite-first-${first}`, n && 'invite-rounds', n && `invite-tie-${tiebreak}`,
      markers && `invite-markers-${markers}`,
    ],
    rated: [rated ? 'invite-is-rated' : 'invite-not-rated', series && 'invite-series'],
    until: [expires ? 'invite-until' : 'invite-always'],
    slowest: [clock && 'invite-slowest', rest && 'invite-rest-too'],
    held: [held && 'held-player'],
  };
  for (const [id, keys] of Object.entries(said)) {
    place(`invite-${id}`)?.replaceChildren(keys.filter(Boolean).map(key => say(key, values)).join(' '));
  }
}
