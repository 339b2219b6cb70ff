// Checks logs in a worker, so that a page stays quick. The address of the worker is the first of the two that the policy
// of Trusted Types makes.

/** @param {string} base where the files of this version are @returns {(data: Uint8Array, pins?: object) => Promise<any>} */
export function inWorker(base) {
  const { trustedTypes } = /** @type {any} */ (globalThis), policy = trustedTypes?.createPolicy('hkoji', {
    createScriptURL(name) {
      if (name !== 'worker.js') throw new TypeError(name);
      return base + name;
    },
  });
  const worker = new Worker(policy?.createScriptURL('worker.js') ?? `${base}worker.js`, { type: 'module' });
  /** @type {Map<number, {done: Function, fail: Function}>} */ const waiting = new Map();
  worker.onmessage = ({ data: { id, result } }) => {
    waiting.get(id)?.done(result);
    waiting.delete(id);
  };
  worker.onerror = event => { for (const { fail } of waiting.values()) fail(new Error(event.message)); };
  let count = 0;
  return (data, pins = {}) => new Promise((done, fail) => {
    waiting.set(++count, { done, fail });
    worker.postMessage({ id: count, data, pins });
  });
}
