// The page of a link: from the code in the address to a seat in the game. docs/spec/log.md, "Invitation by link". The
// code stays in the address until the join has its receipt, and is in no request.
import { Game, readLink } from '../client/game.js';
import { Session } from '../client/session.js';
import { inWorker } from '../checker.js';
import { explain, speaker } from '../words.js';
import { terms } from './terms.js';
import { fresh, keyFile, toLetters } from '../log/write.js';
import { unhex } from '../log/text.js';

const IN_APP = /FBAN|FBAV|Instagram|Line\/|MicroMessenger|WhatsApp|Telegram|Snapchat|TikTok|; wv\)/;
const place = id => /** @type {any} */ (document.getElementById(`invite-${id}`));

/** Shows one step, and hides the other ones. @param {string[]} ids */
function show(...ids) {
  place('intro').hidden = ids.includes('terms'); // the invitation itself takes the place of what such a page is
  for (const id of ['right', 'terms', 'elsewhere', 'name', 'key', 'join']) place(id).hidden = !ids.includes(id);
}

/** Whether a key can be made and kept here: WebCrypto and locks exist on https and on this machine only. */
async function canPlay() {
  if (!isSecureContext || !navigator.locks) return 'invite-plain-http';
  const pair = await crypto.subtle.generateKey('Ed25519', false, ['sign', 'verify']).catch(() => null);
  return pair ? null : 'invite-old-browser';
}

/** Shows the agreement and the options. */
function showTerms(say, lang, { host, held, ruleset, agreement }) {
  const said = terms(say, lang, { host, ruleset, agreement });
  for (const [id, text] of Object.entries(said)) place(id).textContent = text;
  place('held').hidden = !held;
  place('held').textContent = say('held-player', { name: host });
}

/** @param {{body: HTMLElement, words: import('../words.js').Words, base: string}} context */
export async function run({ body, words, base }) {
  const say = speaker(words), lang = body.dataset.lang ?? 'en', link = readLink(location.href);
  const tell = (key, values) => { place('says').textContent = key ? say(key, values) : '' };
  if (!link) return tell('invite-no-code');
  place('copy-link').onclick = () => navigator.clipboard.writeText(location.href).then(() => tell('copied'));
  const obstacle = await canPlay();
  if (obstacle) {
    show('elsewhere');
    return tell(obstacle, { command: `hkoji join '${location.href}'` });
  }
  const session = new Session({ origin: location.origin, check: inWorker(base) }), game = new Game(session, link.game);
  const seat = () => location.replace(`/g/${link.game}`);
  let saved = false, code = '';

  /** Does what a button asks for, once; says why if it fails. */
  async function act(work) {
    for (const button of document.querySelectorAll('#invite button')) /** @type {any} */ (button).disabled = true;
    try { await work() } catch (error) {
      place('says').textContent = explain(words, error);
      if (error.code === 'exists') show('terms', 'name'); // the key stays: only the name is asked for again
      if (error.key === 'other-origin') {
        place('right').href = error.values.origin + location.pathname + location.hash;
        show('right');
      }
    }
    for (const button of document.querySelectorAll('#invite button')) /** @type {any} */ (button).disabled = false;
  }

  function showKey() {
    const { name, raw, seed } = session.me;
    show('terms', ...(seed ? ['key'] : []), 'join');
    place('go').textContent = say('invite-join-as', { name });
    if (!seed) return;
    const file = keyFile(seed, raw, name), save = place('save'), keyAs = `${name}.key`;
    const kept = () => { saved = true; tell('invite-saved') };
    save.href = URL.createObjectURL(new Blob([file], { type: 'application/octet-stream' }));
    save.download = keyAs;
    save.onclick = kept;
    place('copy').onclick = () => navigator.clipboard.writeText(file).then(kept, () => tell('invite-no-clipboard'));
    const shared = { files: [new File([file], `${keyAs}.txt`, { type: 'text/plain' })] };
    place('share').hidden = !navigator.canShare?.(shared);
    place('share').onclick = () => navigator.share(shared).then(kept, () => {});
    const [username, password] = place('passwords').elements; // without names: no form can ever send them
    username.value = name;
    password.value = toLetters(seed);
    place('passwords').onsubmit = event => { event.preventDefault(); kept() };
  }

  async function takeName(form) {
    const name = form.name.value, { registration } = session.service;
    code = form.code.value.trim();
    if (registration === 'code' && !code) return tell('invite-code-needed');
    if (await session.player(name)) return tell('problem-exists');
    await session.keepKey(session.me?.seed ?? unhex(fresh(32)), name);
    tell('');
    return showKey();
  }

  async function join() {
    if (session.me.seed && !saved) {
      saved = true; // asked once: the next press joins without a file
      return tell('invite-without-file');
    }
    tell('invite-joining');
    if (await session.store.get('meta', 'registered') !== session.me.text) await session.register(code);
    await game.join({ seen });
    return seat();
  }

  let seen = '';
  await act(async () => {
    tell('invite-looking');
    await session.meet();
    await game.turn(() => game.fetchLog());
    if (session.me && (await session.store.list('outbox', link.game)).length) await game.refresh();
    if (game.seat !== null) return seat();
    const found = await game.verifyLink(link.code);
    if (game.closed) return tell(`link-${game.closed}`);
    seen = game.last.head;
    showTerms(say, lang, found);
    place('name').onsubmit = event => { event.preventDefault(); act(() => takeName(place('name').elements)) };
    place('go').onclick = () => act(join);
    tell('');
    if (session.me) return showKey();
    if (session.service.registration === 'closed') {
      show('terms');
      return tell('invite-closed');
    }
    place('code').hidden = session.service.registration !== 'code';
    return show('terms', 'name', ...(IN_APP.test(navigator.userAgent) ? ['elsewhere'] : []));
  });
}
