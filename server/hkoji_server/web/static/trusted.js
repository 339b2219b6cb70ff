// The one policy of Trusted Types. It makes exactly two addresses of scripts: the checker's worker, and the service
// worker. Everything else that would run a text as code stays forbidden.

const types = /** @type {any} */ (globalThis).trustedTypes;
const SERVICE_WORKER = '/sw.js';

/** @param {string} address @returns {string} */
function allowed(address) {
  if (address !== SERVICE_WORKER && !/^\/static\/[0-9a-f]+\/worker\.js$/.test(address)) throw new TypeError(address);
  return address;
}

const policy = types?.createPolicy('hkoji', { createScriptURL: allowed }) ?? { createScriptURL: allowed };

/** The address of the worker that checks logs. @param {string} base where the files of this version are */
export const workerAddress = base => policy.createScriptURL(`${base}worker.js`);

/** The address of the service worker. */
export const serviceWorkerAddress = () => policy.createScriptURL(SERVICE_WORKER);
