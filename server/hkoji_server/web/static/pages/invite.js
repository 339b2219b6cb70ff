// The page of a link: from the code in the address to a seat in the game. docs/spec/log.md, "Invitation by link". The
// code stays in the address until the join has its receipt, and is in no request.
import { Game, readLink } from '../client/game.js';
import { refuse } from '../client/trust.js';
import { newSeed } from '../log/write.js';
import { copyDeeds, offerCopies, showTerms, visit } from './here.js';
import { obstacle, place as byId } from '../shared.js';

// Android names any browser inside another program by "wv"; on an iPhone such a one does not call itself Safari.
const IN_APP = /FBAN|FBAV|Instagram|Line\/|MicroMessenger|WhatsApp|Telegram|Snapchat|TikTok|; wv\)|iP(?!.*Safari)/;
const place = id => byId(`invite-${id}`);

/** Shows one step, and hides the other ones. @param {string[]} ids */
function show(...ids) {
  place('intro').hidden = ids.includes('terms'); // the invitation itself takes the place of what such a page is
  for (const id of ['right', 'terms', 'elsewhere', 'name', 'bring', 'join']) place(id).hidden = !ids.includes(id);
  byId('me-save').hidden = !ids.includes('save');
}

/** @param {import('./here.js').Context} context */
export async function run(context) {
  const here = visit(context, 'invite-says'), { act, copy, deeds, lang, say, session, tell } = here;
  const link = readLink(location.href), found = await obstacle();
  if (!link) return tell('invite-no-code');
  const { hash } = location, command = `hkoji join '${location.href}'`;
  for (const each of document.querySelectorAll('[hreflang]')) Object.assign(each, { hash, hidden: false });
  if (found) {
    show('elsewhere');
    tell(`invite-${found}`, { command });
  }
  const game = new Game(session, link.game);
  const seat = () => location.replace(`/g/${link.game}${game.seat ? '?side=guest' : ''}`);
  let known = false, saved = false, code = '', seen = ''; // `known`: the service knows the key that is here

  function showKey() {
    const { name, seed } = session.me, fresh = seed && !known;
    show('terms', ...(fresh ? ['save'] : []), 'join');
    place('go').textContent = say('invite-join-as', { name });
    if (!fresh) return;
    offerCopies(session.me, name, async () => {
      await session.proveCopy();
      tell('copy-proved');
      showKey();
    });
  }

  function askName() {
    place('code').hidden = session.service.registration !== 'code';
    place('name').elements.name.value ||= session.me?.name ?? '';
    show('terms', 'name', 'bring', ...(!session.me && IN_APP.test(navigator.userAgent) ? ['elsewhere'] : []));
  }

  async function takeName(form) {
    const name = form.name.value.toLowerCase(), { registration } = session.service;
    code = form.code.value.trim();
    if (registration === 'code' && !code) refuse('invite-code-needed');
    if (![undefined, session.me?.text].includes((await session.player(name))?.key)) refuse('problem-exists');
    await (session.me ? session.rename(name) : session.keepKey(newSeed(), name));
    tell('');
    return showKey();
  }

  async function join() {
    if (game.closed) refuse(`link-${game.closed}`); // it may have expired while the page was open
    if (session.me.seed && !known && !saved) {
      saved = true; // asked once: the next press joins without a file
      return tell('invite-without-file');
    }
    tell('invite-joining');
    if (await session.store.get('meta', 'registered') !== session.me.text) {
      await session.register(code).catch(error => {
        if (['exists', 'forbidden'].includes(error.code)) askName(); // the key stays: name and code are asked for again
        throw error;
      });
    }
    await game.join({ seen });
    return seat();
  }

  byId('me-save').onclick = event => { saved ||= Boolean(event.target.closest('a, button')) };
  byId('save-file').onclick = () => tell('save-kept');
  deeds({
    ...copyDeeds(here), 'invite-copy-link': () => copy(location.href), 'invite-name': takeName, 'invite-go': join,
  });
  if (found) return;
  const failed = await act(async () => {
    tell('invite-looking');
    await session.meet();
    await game.turn(() => game.fetchLog());
    if (session.me && (await session.store.list('outbox', link.game)).length) await game.refresh();
    if (game.seat !== null) return seat();
    const shown = await game.verifyLink(link.code);
    if (game.closed) refuse(`link-${game.closed}`);
    seen = game.last.head;
    for (const each of document.querySelectorAll(`.about:not(.${CSS.escape(shown.ruleset.name)})`)) each.remove();
    const about = /** @type {HTMLElement} */ (document.querySelector('section.about'));
    showTerms(say, lang, shown, Number(about.dataset.turns));
    tell('');
    known = Boolean(session.me) && await session.store.get('meta', 'registered') === session.me.text;
    const { registration } = session.service;
    if (known || (session.me && registration === 'open')) return showKey();
    if (registration !== 'closed') return askName();
    show('terms', 'bring');
    return tell('invite-closed');
  });
  if (failed?.key === 'dealer-sealed') tell('invite-sealed', { command });
  if (failed?.key !== 'other-origin') return;
  place('right').href = failed.values.origin + location.pathname + location.hash;
  show('right');
}
