// What the pages of a player begin with: the session of this browser, one line that says what happens, and the deeds of
// buttons and forms.
import { Session } from '../client/session.js';
import { explain, inWorker, speaker } from '../shared.js';

/** @typedef {{body: HTMLElement, words: import('../shared.js').Words, base: string}} Context */

/** @param {string} id @returns {any} */
export const place = id => document.getElementById(id);

/** Why no key can be used here, as a key of WORDS: WebCrypto and locks exist on https and on this machine only. */
export async function obstacle() {
  if (!isSecureContext || !navigator.locks) return 'needs-https';
  const pair = await crypto.subtle.generateKey('Ed25519', false, ['sign', 'verify']).catch(() => null);
  return pair ? null : 'needs-ed25519';
}

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

/** The session of this browser, and how it speaks. `tell` says a text of WORDS. `act` does some work after that before
 *  it, while no button can be pressed, and says why if that fails. `deeds` says what elements with `data-do` do:
 *  buttons when pressed, forms when sent, others when changed.
 *  @param {Context} context @param {string} says the id of the line */
export function visit({ body, base, words }, says = 'says') {
  const session = new Session({ origin: location.origin, check: inWorker(base) }), say = speaker(words);
  const write = text => {
    place(says).textContent = text;
    if (text) place(says).scrollIntoView({ block: 'nearest' });
  };
  const tell = (key, values = {}) => write(key && say(key, values));
  /** @type {Promise<any>} */ let last = Promise.resolve();
  const disable = off => {
    for (const each of document.querySelectorAll('main button')) each.toggleAttribute('disabled', off);
  };
  /** @param {() => any} work @returns {Promise<any>} what it threw, if it did */
  const act = work => (last = last.then(async () => {
    disable(true);
    try { return void await work(); } catch (error) {
      write(explain(words, error));
      return error;
    } finally { disable(false); }
  }));
  /** @param {Record<string, (it: any) => any>} all */
  function deeds(all) {
    for (const type of ['click', 'submit', 'change']) {
      body.addEventListener(type, event => {
        const it = /** @type {any} */ (event.target).closest('[data-do]'), deed = it && all[it.dataset.do];
        if (!deed || type !== ({ BUTTON: 'click', FORM: 'submit' }[it.tagName] ?? 'change')) return;
        event.preventDefault();
        act(() => deed(it.elements ?? it));
      });
    }
  }
  return { act, deeds, lang: body.dataset.lang ?? 'en', say, session, tell };
}
