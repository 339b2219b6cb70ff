// The page on which a log is checked: a chosen file, or the game that the address names. The file is sent nowhere.
import { element, inWorker, obstacle, place, speaker } from '../shared.js';
import { fingerprint } from '../log/text.js';

const MOST = 16 * 2 ** 20; // bytes
const PIN = /^([a-z0-9][a-z0-9_-]*)\s*[=:\s]\s*(ssh-ed25519 [A-Za-z0-9+/]+=*)(?:\s.*)?$/;

export async function run({ base, words }) {
  const say = speaker(words), result = place('result'), file = place('file'), pins = place('pins');
  const tell = text => result.replaceChildren(element('p', text));
  if (await obstacle()) return tell(say('check-no-ed25519'));
  const check = inWorker(base), game = new URLSearchParams(location.search).get('game') ?? '';
  let read = /^[0-9a-f]{32}$/.test(game) ? () => fetchLog(game, say) : () => readFile(file.files[0], say);

  async function look() {
    try {
      const data = await read();
      if (!data) return;
      tell(say('check-busy'));
      const expected = readPins(pins.value, say);
      result.replaceChildren(await shown(say, data, await check(data, expected), expected));
    } catch (error) { tell(error.message) }
  }

  file.disabled = false;
  file.onchange = () => { read = () => readFile(file.files[0], say); look(); };
  pins.onchange = look;
  await look();
}

async function fetchLog(game, say) {
  const answer = await fetch(`/v1/games/${game}/log`, { credentials: 'omit', cache: 'no-store' });
  if (!answer.ok) throw new Error(say('check-no-game'));
  return new Uint8Array(await answer.arrayBuffer());
}

async function readFile(chosen, say) {
  if (chosen?.size > MOST) throw new Error(say('check-too-large'));
  return chosen && new Uint8Array(await chosen.arrayBuffer());
}

/** The expected keys by name: `typed` has a name and a key in each line. */
function readPins(typed, say) {
  const pins = {};
  for (const [n, line] of typed.split('\n').entries()) {
    const [, name, key] = PIN.exec(line.trim()) ?? [];
    if (name) (pins[name] ??= []).push(key);
    else if (line.trim()) throw new Error(say('check-no-pin', { line: n + 1 }));
  }
  return pins;
}

/** The result of a check, by the template of the page. */
async function shown(say, data, result, pins) {
  const view = place('t-check').content.cloneNode(true), part = role => view.querySelector(`[data-role="${role}"]`);
  const add = (role, text) => part(role).append(element('li', text));
  part('verdict').textContent = verdict(say, data, result);
  for (const each of result.found) add('found', wordFinding(say, each));
  for (const step of view.querySelectorAll('[data-step]')) {
    const state = step.dataset.state = stateOf(Number(step.dataset.step), result);
    step.querySelector(`.${state}`).hidden = false;
  }
  part('head').textContent = result.head;
  for (const [name, key] of Object.entries(result.keys)) {
    add('keys', say(pins[name] ? 'check-key-expected' : 'check-key', { name, fingerprint: await fingerprint(key) }));
  }
  part('details').hidden = !result.holds;
  return view;
}

/** What the file is, or how much of it holds. */
function verdict(say, data, { found, holds, total }) {
  const text = new TextDecoder('latin1').decode(data), logs = text.match(/\\"seen\\":null,\\"seq\\":0,/g) ?? [];
  if (text.startsWith('{"evidence":')) return say('check-evidence');
  if (logs.length > 1) return say('check-archive');
  if (!holds && found[0]?.kind === 'malformed') return say('check-no-log');
  return say(found.length ? 'check-fails' : 'check-holds', { n: total, total, holds });
}

/** After a finding nothing is said to hold, and step 7 is reached only where the log has published the seed. */
function stateOf(step, { found, holds, deal }) {
  if (found.some(each => each.step === step)) return 'fails';
  return !holds || found.some(each => each.step < step) || (step === 7 && !deal.length) ? 'none' : 'holds';
}

function wordFinding(say, { step, entry, text, values, signer }) {
  const why = say(text, values);
  const [first, second] = signer.map(each => (each.text ? say(each.text, each.values) : each.values.name));
  const who = second ? say('check-and', { first, second }) : first;
  return say(who ? 'check-found-by' : 'check-found', { step, entry: entry ?? 0, why, who });
}
