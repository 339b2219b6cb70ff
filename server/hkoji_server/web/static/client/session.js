// Speaks to the service for one player, and keeps what a player has in IndexedDB: requests, registration, login.
// docs/spec/http.md; docs/spec/log.md, "Client rules". Every text is kept before it is sent, and sent again with the
// same bytes. It shows nothing.
import { newPin, refuse } from './trust.js';
import { fingerprint, readText, sign } from '../log/text.js';
import { seconds } from '../log/times.js';
import { keyOf, now, state } from '../log/write.js';

/** `meta`: `service`, `me`, `registered`; `next`, the seed of a key that is to replace that of `me`, and `moving`, what
 *  is sent for that. `keys` by text, `pins` by name. `games` by id: the link's code, the last view. `lines` and
 *  `outbox` by [game, seq]. `statements` by [game or word, kind, …], `openings` by [game, seq, part, salt], `heads` by
 *  [game, seq, head], `evidence` by [game, kind, number]. Stores are only added: each version of the page must be able
 *  to read what another has kept. */
export const STORES = [
  'meta', 'keys', 'games', 'lines', 'outbox', 'statements', 'openings', 'heads', 'pins', 'evidence',
];
const VERSION = 1;
const PREFIX = 'hkoji-';

/** @template T @param {IDBRequest<T>} request @returns {Promise<T>} */
const answer = request => new Promise((done, fail) => {
  request.onsuccess = () => done(request.result);
  request.onerror = () => fail(request.error);
});

/** Removes all that is kept of the service whose key has this fingerprint. Other tabs let go of it by themselves. */
export const forgetStore = fingerprint => answer(indexedDB.deleteDatabase(PREFIX + fingerprint));

/** @param {string} name @param {number} [version] */
function opened(name, version) {
  const asked = indexedDB.open(name, version);
  asked.onupgradeneeded = () => {
    const there = asked.result.objectStoreNames;
    for (const store of STORES) if (!there.contains(store)) asked.result.createObjectStore(store);
  };
  return answer(asked);
}

/** Opens the store of the service whose key has this fingerprint: `get` a value by its place, a text or a list such as
 *  [game, seq]; `list` all at places that begin so; `keep` changes, each a store, a place and a value, where undefined
 *  removes what is there. @param {string} fingerprint @returns {Promise<any>} */
export async function openStore(fingerprint) {
  const name = PREFIX + fingerprint;
  const database = await opened(name, VERSION).catch(error => {
    if (error?.name !== 'VersionError') throw error;
    return opened(name); // another tab has a newer page: its stores are those here and some more
  });
  database.onversionchange = () => database.close(); // a newer page wants to add stores: it must not wait for this one

  return {
    get: (store, place) => answer(database.transaction(store).objectStore(store).get(place)),
    list(store, ...prefix) {
      // A list sorts after every text and number, so [game, []] is behind all that begins with [game].
      const range = prefix.length ? IDBKeyRange.bound(prefix, [...prefix, []]) : undefined;
      return answer(database.transaction(store).objectStore(store).getAll(range));
    },
    keep(changes) {
      const stores = [...new Set(changes.map(([store]) => store))];
      if (!stores.length) return Promise.resolve();
      return new Promise((done, fail) => {
        const writing = database.transaction(stores, 'readwrite', { durability: 'strict' });
        writing.oncomplete = done;
        writing.onabort = writing.onerror = () => fail(writing.error);
        for (const [store, place, value] of changes) {
          const target = writing.objectStore(store);
          if (value === undefined) target.delete(place);
          else target.put(value, place);
        }
      });
    },
  };
}

/** An answer of the service that is none of 200 to 299, or none at all (`status` 0). `key` is a text of WORDS. */
export class ServiceError extends Error {
  constructor(status, { code = status ? 'other' : 'no-answer', ...more } = {}) {
    super(code);
    this.status = status;
    this.code = code;
    this.key = `problem-${code}`;
    this.values = more;
  }

  /** Whether the service has refused: after any other answer it may have taken what was sent. */
  get refused() {
    return [400, 403, 409, 422].includes(this.status) || this.code === 'too-many-games';
  }
}

const pause = seconds => new Promise(done => setTimeout(done, seconds * 1000));
const LONGEST_WAIT = 60; // of all pauses of one request together, in seconds
const CLOCK_SECONDS = 120;

export class Session {
  /** `check` is that of log/check.js, in a page by a worker. Tests bring another storage. */
  constructor({ origin, check, open = openStore }) {
    this.origin = origin;
    this.check = check;
    this.open = open;
    /** @type {[string, object][]} keys and values of WORDS for the player, each once */ this.remarks = [];
    /** by how many seconds the service's clock is ahead of this device's */ this.ahead = 0;
    /** @type {any} */ this.service = null;
    /** @type {any} */ this.me = null;
    /** @type {string[]} */ this.mine = [];
    /** @type {any} */ this.store = null;
  }

  /** Tells the player something once. */
  remark(key, values = {}) {
    const text = JSON.stringify([key, values]);
    if (!this.remarks.some(each => JSON.stringify(each) === text)) this.remarks.push([key, values]);
  }

  /** The time by the service's clock, in seconds since 1970. */
  get now() { return Date.now() / 1000 + this.ahead }

  // --- requests ------------------------------------------------------------------------------------------------------

  /** @param {{headers?: object, signal?: AbortSignal}} more */
  async send(method, path, body = undefined, token = null, more = {}) {
    /** @type {Record<string, string>} */ const headers = { ...more.headers };
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    if (token) headers.Authorization = `Bearer ${token}`;
    try {
      const answer = await fetch(this.origin + path, {
        method, body, headers, signal: more.signal,
        redirect: 'error', credentials: 'omit', cache: 'no-store', referrerPolicy: 'no-referrer',
      });
      this.compareClocks(answer.headers.get('Hkoji-Time'));
      return answer;
    } catch (error) {
      if (error?.name === 'AbortError') throw error;
      throw new ServiceError(0);
    }
  }

  /** One request: the text of the answer. The same bytes are sent again after `Retry-After`, and after a new login. */
  async call(method, path, body = undefined, { login = false } = {}) {
    for (let waited = 0, renewed = false; ;) {
      const answer = await this.send(method, path, body, login ? await this.token(renewed) : null);
      const text = await answer.text().catch(() => { throw new ServiceError(0) });
      if (answer.ok) return text;
      const after = Number(answer.headers.get('Retry-After') ?? NaN);
      if (answer.status === 401 && login && !renewed) renewed = true;
      else if ([429, 503].includes(answer.status) && waited + after <= LONGEST_WAIT) {
        waited += Math.max(1, after);
        await pause(Math.max(1, after));
      } else {
        let problem = {};
        try { problem = JSON.parse(text) } catch { /* it comes from a proxy */ }
        throw new ServiceError(answer.status, problem);
      }
    }
  }

  async json(method, path, value = undefined, options = {}) {
    const body = value === undefined || typeof value === 'string' ? value : JSON.stringify(value);
    return JSON.parse(await this.call(method, path, body, options) || 'null');
  }

  /** The same of the player who is logged in. */
  own(method, path, value = undefined) { return this.json(method, path, value, { login: true }) }

  /** At most 100 games of that player. */
  async games(query = '') { return (await this.own('GET', `/v1/me/games?limit=100${query}`)).games }

  compareClocks(time) {
    if (!time) return;
    this.ahead = seconds(time) - Date.now() / 1000;
    const off = Math.abs(this.ahead);
    if (off > CLOCK_SECONDS) this.remark('clock-of-device', { n: Math.round(off / 60) });
  }

  /** Warns if a time that the service has signed just now is far off the time that its answers state. */
  compareTime(at, key) {
    if (Math.abs(seconds(at) - this.now) > CLOCK_SECONDS) this.remark(key, { at });
  }

  // --- the service and the player ------------------------------------------------------------------------------------

  /** Meets the service of this address, and opens what this browser keeps for it. */
  async meet() {
    const service = this.service = await this.json('GET', '/v1/service');
    // The login is signed for this text, so an origin with a path or of another place is none that may be signed here.
    if (new URL(service.origin).href !== `${this.origin}/`) refuse('other-origin', { origin: service.origin });
    const here = await fingerprint(service.key), kept = (await indexedDB.databases()).map(each => each.name ?? '');
    const others = kept.some(name => name.startsWith(PREFIX) && name !== PREFIX + here);
    this.store = await this.open(here);
    if (others && !await this.store.get('meta', 'service')) refuse('other-service-key', { fingerprint: here });
    await this.load();
    return service;
  }

  /** Reads who plays here: `me` has the name and the key, or is null. `mine` are all keys of that player. */
  async load() {
    const me = await this.store.get('meta', 'me'), key = me && await this.store.get('keys', me.key);
    this.me = me && key ? { name: me.name, ...key } : null;
    const pin = me && await this.store.get('pins', me.name);
    this.mine = [...(await this.store.list('keys')).map(each => each.text), ...pin?.keys ?? []];
    return this.me;
  }

  /** The player said that the new key of this address's service is right. */
  confirmService() { return this.store.keep([['meta', 'service', { key: this.service.key }]]) }

  /** Keeps a new key, with its seed until the player has proved a copy of it. @param {Uint8Array} seed */
  async keepKey(seed, name) {
    const key = await keyOf(seed);
    await this.store.keep([['keys', key.text, key], ['meta', 'me', { name, key: key.text }],
      ['meta', 'service', { key: this.service.key }]]);
    return this.load();
  }

  /** Takes another name for a key that is not registered yet. */
  async rename(name) {
    await this.store.keep([['meta', 'me', { name, key: this.me.text }]]);
    return this.load();
  }

  /** Forgets the seed: from now on the key can sign here, and cannot be copied. */
  async proveCopy() {
    const { seed, name, ...key } = this.me;
    await this.store.keep([['keys', key.text, key]]);
    return this.load();
  }

  /** What the service says of a player; null if nobody has this name. */
  async player(name) {
    try { return await this.json('GET', `/v1/players/${name}`) } catch (error) {
      if (error.status === 404) return null;
      throw error;
    }
  }

  /** A statement about the own key, as it was kept before it was sent for the first time. @param {string} kind */
  async stated(kind) {
    const { name, text: key } = this.me, place = [kind, key, name];
    const said = await this.store.get('statements', place)
      ?? await state(this.me, `hkoji.${kind}.v1`, { at: now(), key, name, origin: this.service.origin });
    await this.store.keep([['statements', place, said]]);
    return said;
  }

  /** Keeps that the service knows the player by this key, after earlier ones. @param {{key: string}[]} earlier */
  registered(key, earlier = []) {
    const { name } = this.me, pin = newPin(name, key, 'compared');
    const keys = [key, ...earlier.map(each => each.key)];
    return this.store.keep([['meta', 'registered', key], ['meta', 'me', { name, key }], ['meta', 'moving', undefined],
      ['meta', 'next', undefined], ['pins', name, { ...pin, keys, compared: keys }]]);
  }

  /** Registers the player. `code` is that of the operator. @param {string} [code] */
  async register(code) {
    const said = await this.stated('register');
    await this.json('POST', '/v1/players', code ? { ...said, code } : said);
    await this.registered(this.me.text);
  }

  /** The token of a login with the key, which a tab keeps until it is closed; a new one if the last has ended. */
  async token(renew = false) {
    const place = `hkoji-token ${this.me.text}`, kept = JSON.parse(sessionStorage.getItem(place) ?? 'null');
    if (kept && !renew && seconds(kept.expires) > this.now + 60) return kept.token;
    const { text } = await this.json('POST', '/v1/login/challenge');
    const { origin } = readText(text, 'login'); // the one foreign text that is signed here
    if (origin !== this.service.origin) refuse('login-elsewhere', { origin });
    const sig = await sign(this.me, 'hkoji.login.v1', text);
    const given = await this.json('POST', '/v1/login', { name: this.me.name, sig, text });
    sessionStorage.setItem(place, JSON.stringify(given));
    return given.token;
  }

  // --- other keys ----------------------------------------------------------------------------------------------------

  /** Replaces the key by a new one, of which the player has a copy. Games follow with their next turn. */
  async changeKey(seed) {
    const { name, text: old } = this.me, { origin } = this.service;
    let moving = await this.store.get('meta', 'moving');
    if (!moving) {
      const { seed: copied, ...key } = await keyOf(seed);
      const said = await state(key, 'hkoji.newkey.v1', { at: now(), key: key.text, name, old, origin });
      moving = { key: key.text, body: { ...said, old_sig: await sign(this.me, 'hkoji.newkey.v1', said.text) } };
      await this.store.keep([['keys', key.text, key], ['meta', 'moving', moving]]);
    }
    const { earlier } = await this.json('POST', `/v1/players/${name}/key`, moving.body);
    await this.registered(moving.key, earlier);
    return this.load();
  }

  /** Revokes the current key: nothing that it signs counts any more. */
  async revoke() { return this.json('POST', `/v1/players/${this.me.name}/revocation`, await this.stated('revoke')) }

  /** Takes up a name with this browser's key, by a code of the operator or of a letter. @param {string} code */
  async recover(code) {
    const said = await this.stated('recover');
    const { earlier } = await this.json('POST', `/v1/players/${this.me.name}/recovery`, { ...said, code });
    await this.registered(this.me.text, earlier);
    return this.load();
  }
}
