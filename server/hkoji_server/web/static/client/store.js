// Keeps what this browser has of one player at one service, in an IndexedDB. docs/spec/log.md, "Client rules": a text
// is on disk before it is sent. It knows no keys and no games: values are kept as they come.

/**
 * @typedef {IDBValidKey | IDBKeyRange} Place  a text, or a list such as [game, seq]; a range is removed as a whole
 * @typedef {any[]} Change  store, place and value; a value of undefined removes what is there
 * @typedef {{get(store: string, place: Place): Promise<any>, list(store: string, ...prefix: string[]): Promise<any[]>,
 *   keep(changes: Change[]): Promise<void>}} Store
 */

/** `meta`: `service`, `me`, `registered`, and `moving`, a key that is to replace the one of `me`. `keys` by text,
 *  `pins` by name. `games` by id: the link's code, the last view. `lines` and `outbox` by [game, seq]. `statements` by
 *  [game or word, kind, …], `openings` by [game, seq, part, salt], `heads` by [game, seq, head], `evidence` by [game,
 *  kind, number]. Stores are only added: each version of the page must be able to read what another has kept. */
export const STORES = [
  'meta', 'keys', 'games', 'lines', 'outbox', 'statements', 'openings', 'heads', 'pins', 'evidence',
];
const VERSION = 1;
const PREFIX = 'hkoji-';

/** Tells which services this browser has kept something of, by the fingerprints of their keys. */
export async function keptServices() {
  const found = await indexedDB.databases();
  const names = found.map(each => each.name ?? '').filter(name => name.startsWith(PREFIX));
  return names.map(name => name.slice(PREFIX.length));
}

/** Removes all that is kept of the service whose key has this fingerprint. Other tabs let go of it by themselves. */
export function forgetStore(fingerprint) {
  return new Promise((done, fail) => {
    const asked = indexedDB.deleteDatabase(PREFIX + fingerprint);
    asked.onsuccess = () => done(undefined);
    asked.onerror = () => fail(asked.error);
  });
}

/** @param {string} name @param {number} [version] @returns {Promise<IDBDatabase>} */
function opened(name, version) {
  return new Promise((done, fail) => {
    const asked = indexedDB.open(name, version);
    asked.onupgradeneeded = () => {
      const there = asked.result.objectStoreNames;
      for (const store of STORES) if (!there.contains(store)) asked.result.createObjectStore(store);
    };
    asked.onsuccess = () => done(asked.result);
    asked.onerror = () => fail(asked.error);
  });
}

/** Opens the store of the service whose key has this fingerprint. @returns {Promise<Store>} */
export async function openStore(fingerprint) {
  const name = PREFIX + fingerprint;
  const database = await opened(name, VERSION).catch(error => {
    if (error?.name !== 'VersionError') throw error;
    return opened(name); // another tab has a newer page: its stores are those here and some more
  });
  database.onversionchange = () => database.close(); // a newer page wants to add stores: it must not wait for this one

  /** @template T @param {IDBRequest<T>} request @returns {Promise<T>} */
  const answer = request => new Promise((done, fail) => {
    request.onsuccess = () => done(request.result);
    request.onerror = () => fail(request.error);
  });
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
        writing.oncomplete = () => done();
        writing.onabort = writing.onerror = () => fail(writing.error);
        for (const [store, place, value] of changes) {
          const target = writing.objectStore(store);
          if (value === undefined) target.delete(place);
          else target.put(value, /** @type {IDBValidKey} */ (place));
        }
      });
    },
  };
}
