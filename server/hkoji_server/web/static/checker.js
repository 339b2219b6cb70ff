// Checks logs in a worker, so that a page stays quick.
import { workerAddress } from './trusted.js';

/** @param {string} base where the files of this version are
 *  @returns {(data: Uint8Array, pins?: object) => Promise<any>} */
export function inWorker(base) {
  const worker = new Worker(workerAddress(base), { type: 'module' });
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
