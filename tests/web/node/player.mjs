// A player of the page's client without a page: reads commands as lines of JSON, and answers each with one. It keeps its
// store in a file, synced before `keep` is done, so a test may kill it anywhere; `die` says at which step it kills itself.
// `tab` forgets everything, and begins anew as a player with another store: a process that has run is fast.
// node player.mjs ORIGIN FOLDER
import { appendFileSync, closeSync, existsSync, fsyncSync, mkdirSync, openSync, readdirSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { check } from '../../../server/hkoji_server/web/static/log/check.js';
import { keyOf } from '../../../server/hkoji_server/web/static/log/write.js';
import * as write from '../../../server/hkoji_server/web/static/log/write.js';
import { Session } from '../../../server/hkoji_server/web/static/client/session.js';
import * as statements from '../../../server/hkoji_server/web/static/client/game.js';
import { rematch } from '../../../server/hkoji_server/web/static/client/rematch.js';
import { Game, open, readLink } from '../../../server/hkoji_server/web/static/client/game.js';

let origin, folder, session, games, left, passed, sent, cut;
const queues = new Map(), values = new Map();
const seeds = new Map(); // by key: a CryptoKey cannot be kept in a file

function begin(at, place) {
  [origin, folder] = [at, place];
  [left, passed, sent, cut, games] = [Infinity, [], [], { request: 0, when: '' }, new Map()];
  for (const each of [queues, values, seeds]) each.clear();
  mkdirSync(folder, { recursive: true });
  // A fingerprint may have a slash, which no name of a file can have.
  session = new Session({ origin, check, open: name => openFile(`${place}/${name.replaceAll('/', '_')}.json`) });
}

// --- steps at which a process can be killed ---------------------------------------------------------------------------
function step(what) {
  passed.push(what);
  if (--left <= 0) process.kill(process.pid, 'SIGKILL');
}

// --- a store on a file ------------------------------------------------------------------------------------------------
const unbytes = (_, value) => value?.bytes_ ? Uint8Array.from(value.bytes_) : value;
function tobytes(key, value) {
  if (key === 'key' && typeof value !== 'string') return undefined; // a CryptoKey: it is made anew of the seed
  return value instanceof Uint8Array ? { bytes_: [...value] } : value;
}

async function openFile(file) {
  const rows = new Map(existsSync(file) ? JSON.parse(readFileSync(file), unbytes) : []);
  const place = (store, key) => JSON.stringify([store, key]);
  for (const [key, it] of rows) if (JSON.parse(key)[0] === 'keys') seeds.set(it.text, it.seed);
  return {
    async get(store, key) {
      const value = structuredClone(rows.get(place(store, key)));
      return store === 'keys' && value ? { ...value, key: (await keyOf(seeds.get(value.text))).key } : value;
    },
    async list(store, ...prefix) {
      const found = [...rows].map(([key, value]) => [...JSON.parse(key), value])
        .filter(([each, key]) => each === store && prefix.every((part, n) => [key].flat()[n] === part));
      const order = (a, b) => a < b ? -1 : a > b ? 1 : 0;
      const places = (a, b) => [a].flat().reduce((was, part, n) => was || order(part, [b].flat()[n]), 0);
      return found.sort((a, b) => places(a[1], b[1])).map(([, , value]) => structuredClone(value));
    },
    async keep(changes) {
      for (const [store, key, value] of changes) {
        if (value === undefined) rows.delete(place(store, key));
        else {
          if (store === 'keys') seeds.set(value.text, value.seed ?? seeds.get(value.text));
          const { key: _, ...rest } = Object(value);
          const kept = store === 'keys' ? { ...rest, seed: seeds.get(value.text) } : value;
          rows.set(place(store, key), store === 'keys' ? kept : structuredClone(kept));
        }
      }
      const written = openSync(`${file}.new`, 'w');
      writeSync(written, JSON.stringify([...rows], (key, value) => value instanceof Uint8Array ? tobytes(key, value) : value));
      fsyncSync(written);
      closeSync(written);
      renameSync(`${file}.new`, file);
      step(`keep ${changes.map(([store]) => store)}`);
    },
  };
}

// --- the network ------------------------------------------------------------------------------------------------------
const { fetch } = globalThis;
globalThis.fetch = async (url, options) => {
  const path = url.slice(origin.length);
  sent.push([options.method, path, options.body ?? null, options.headers.Authorization ? 'token' : null]);
  if (options.method !== 'GET') appendFileSync(`${folder}/sent.jsonl`, `${JSON.stringify([path, options.body ?? null])}\n`);
  const cuts = --cut.request === 0;
  if (cuts && cut.when === 'before') throw new TypeError('the connection was cut before the request');
  const answer = await fetch(url, options);
  if (cuts) throw new TypeError('the connection was cut before the answer');
  if (options.method !== 'GET') step(`${options.method} ${path}`);
  return answer;
};

// --- turns and the login, as a browser has them -----------------------------------------------------------------------
function lock(name, work) {
  const turn = (queues.get(name) ?? Promise.resolve()).then(work, work);
  queues.set(name, turn.catch(() => {}));
  return turn;
}
const sessionStorage = {
  getItem: name => values.get(name) ?? null, setItem: (name, value) => values.set(name, value), clear: () => values.clear(),
};
const databases = async () => readdirSync(folder).filter(each => each.endsWith('.json')).map(each => ({ name: `hkoji-${each.slice(0, -5)}` }));
for (const [name, value] of Object.entries({ indexedDB: { databases }, navigator: { locks: { request: lock } }, sessionStorage })) {
  Object.defineProperty(globalThis, name, { value });
}

begin(...process.argv.slice(2));
const gameOf = id => games.get(id) ?? games.set(id, new Game(session, id)).get(id);
const unhex = text => Uint8Array.from(text.match(/../g), each => parseInt(each, 16));

const commands = {
  tab: async ({ at, place }) => begin(at, place),
  meet: async () => ({ service: await session.meet(), me: session.me && { name: session.me.name, key: session.me.text } }),
  async key({ name, seed = write.fresh(32) }) {
    const me = await session.keepKey(unhex(seed), name);
    return { name: me.name, key: me.text, file: write.keyFile(me.seed, me.raw, name) };
  },
  link: async ({ text }) => {
    const { game, code } = readLink(text), it = gameOf(game);
    await it.turn(() => it.fetchLog());
    return { ...await it.verifyLink(code), closed: it.closed, head: it.last.head };
  },
  open: async terms => {
    const it = await open(session, terms);
    games.set(it.id, it);
    return { game: it.id, ...await session.store.get('games', it.id) };
  },
  async call({ on, call, args = [] }) {
    const target = on === 'session' ? session : gameOf(on);
    if (call === 'changeKey') {
      args[0] = Uint8Array.from(args[0]);
      seeds.set((await keyOf(args[0])).text, args[0]);
    }
    const value = await target[call](...args);
    return value === target || value === undefined || value === session.me ? null : value;
  },
  statement: async ({ game, call, args = [] }) => await { ...statements, rematch }[call](gameOf(game), ...args) ?? null,
  state: async ({ game }) => {
    const { closed, deal, last, lines, seat, status } = gameOf(game);
    return { closed, deal, last, raw: lines.map(each => each.line), seat, status };
  },
  list: ({ store, prefix = [] }) => session.store.list(store, ...prefix),
  sent: async () => sent.splice(0),
  remarks: async () => session.remarks,
  die: async ({ at }) => { left = at; passed = []; return null },
  steps: async () => passed,
  cut: async ({ request, when }) => { cut = { request, when }; return null },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { do: command, ...rest } = JSON.parse(line);
  let answer;
  try { answer = { value: await commands[command](rest) ?? null } } catch (error) {
    const { key, values: said, status, code } = error;
    answer = { error: { key: key ?? 'unexpected', values: said, status, code, text: key ? error.message : error.stack } };
  }
  console.log(JSON.stringify(answer));
}
