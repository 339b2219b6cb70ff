// The parts that pages share: the one policy of Trusted Types, the words, and the checker in its worker.

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

/** @param {string} base where the files of this version are
 *  @returns {(data: Uint8Array, pins?: object) => Promise<any>} */
export function inWorker(base) {
  const worker = new Worker(workerAddress(`${base}log/check.js`), { type: 'module' });
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
