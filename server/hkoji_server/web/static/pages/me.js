// The page of the own key: make it or bring it, keep a copy, register, replace, revoke, recover, leave; what the player
// has chosen at the service, and what this browser keeps. Each state of the key shows some sections of me.html. And the
// page of another player, whose key can be compared, and who can be blocked.
import * as keys from '../client/keys.js';
import { refuse } from '../client/trust.js';
import { fingerprint } from '../log/text.js';
import { newSeed, readCopy } from '../log/write.js';
import { copyDeeds, fill, offerCopies, visit } from './here.js';
import { obstacle, place } from '../shared.js';
import * as push from './push.js';

const NAME = /^[a-z0-9][a-z0-9_-]{1,31}$/;

/** Shows these sections of the page, and hides the other ones. @param {string[]} names */
function show(...names) {
  for (const each of place('me').querySelectorAll(':scope > .side')) each.hidden = !names.includes(each.id.slice(3));
}

/** @param {import('./here.js').Context} context */
export async function run(context) {
  if (context.body.dataset.page === 'player') return showOther(context);
  const here = visit(context), { act, deeds, say, session, tell } = here;
  const found = await obstacle();
  if (found) return tell(found);

  // --- what the state of the key shows

  async function render() {
    tell('');
    if (await session.load()) return renderOwn();
    const left = await keys.whoLeft(session);
    if (!left) return show('make', 'bring');
    place('me-back').textContent = say('me-back', { name: left.name });
    return show('left', 'forget');
  }

  async function renderOwn() {
    const { how, next, player, registered } = await keys.ownStanding(session), { me } = session;
    place('own-name').textContent = me.name;
    place('own-fingerprint').textContent = await fingerprint(me.text);
    place('own-page').href = place('own-page').textContent = `/p/${me.name}`;
    const copying = next ?? (me.seed && me), own = ['own', ...copying ? ['save'] : [], 'forget'];
    if (copying) offerCopies(copying, me.name, () => proved(next));
    if (how === 'new' || (how === 'other' && !registered)) return renderNew(how, own);
    if (how === 'other') return show('own', 'other', 'bring', 'forget');
    if (how === 'code') return show(...own, player.key === me.text ? 'revoked' : 'recover');
    show(...own, 'push', 'choices', 'kept', 'more');
    if (next) tell('replace-save');
    await Promise.all([showChoices(here), push.show(here, place('push'))]);
  }

  function renderNew(how, own) {
    const { registration } = session.service;
    place('me-register').elements.name.value = session.me.name;
    place('register-code').hidden = registration !== 'code';
    show(...own, 'register');
    if (how === 'other') tell('problem-exists');
    else if (registration === 'closed') tell('registration-closed');
  }

  async function proved(next) {
    await (next ? session.changeKey(next.seed) : session.proveCopy());
    await render();
    tell(next ? 'replaced' : 'copy-proved');
  }

  // --- a key comes here

  async function make({ name: { value: name } }) {
    const how = keys.standing(await session.player(name), '');
    if (how === 'other') refuse('problem-exists');
    if (how === 'new' && session.service.registration === 'closed') refuse('registration-closed');
    await session.keepKey(newSeed(), name);
    return render();
  }

  async function bring(text) {
    const copy = await readCopy(text), typed = place('bring-password').elements.username.value.trim();
    const name = NAME.test(copy.name) ? copy.name : typed; // a browser may have filled in that of another key
    await keys.bring(session, copy, name || refuse('key-without-name'));
  }

  // --- what is done with the own key

  const endPush = () => push.unsubscribe(session).catch(() => {}); // a channel without a browser removes itself

  async function logOut() {
    await keys.mayLeave(session);
    await endPush();
    await keys.logOut(session);
    context.tabs.postMessage('left');
  }

  async function forget() {
    const n = session.me ? await keys.unsent(session) : 0, button = place('forget');
    if ((n || session.me?.seed) && !button.value) {
      button.value = 'asked';
      return tell(n ? 'forget-unsent' : 'forget-unproved', { n });
    }
    if (session.me) await endPush();
    await keys.forget(session);
    context.tabs.postMessage('left');
    return location.assign('/');
  }

  deeds({
    ...copyDeeds(here), make, forget,
    'confirm-service': () => session.confirmService().then(() => location.reload()),
  });
  deeds({
    'bring-file': async ({ files }) => bring(await files[0].text()),
    'bring-pasted': ({ text }) => bring(text.value),
    'bring-password': ({ password }) => bring(password.value),
    async register({ name, code }) {
      if (name.value !== session.me.name) await session.rename(name.value);
      await session.register(code.value.trim());
    },
    'recover': ({ code }) => session.recover(code.value.trim()),
    'make-again': () => session.keepKey(newSeed(), session.me.name),
    'replace': () => keys.beginReplacing(session),
    'revoke': () => session.revoke(),
    'come-back': () => keys.comeBack(session),
    'log-out': logOut,
  }, render);
  const ask = (method, path, value = undefined) => session.own(method, `/v1/me/${path}`, value);
  deeds({
    'invites': ({ value }) => keys.choose(session, () => ({ invites: value })),
    'block': ({ name }) => ask('PUT', `blocks/${encodeURIComponent(name.value)}`),
    'unblock': ({ value }) => ask('DELETE', `blocks/${value}`),
    'confirm-channel': ({ code, id }) => ask('POST', `channels/${id.value}/confirm`, { code: code.value.trim() }),
    'remove-channel': ({ value }) => ask('DELETE', `channels/${value}`),
  }, async () => {
    await showChoices(here);
    tell('chosen');
  });
  const failed = await act(() => session.meet().then(render));
  if (failed?.key === 'other-service-key') show('service');
}

// --- what the player has chosen, and what this browser keeps

/** Shows all of it. @param {any} here */
async function showChoices({ say, session }) {
  const get = name => session.own('GET', `/v1/me/${name}`);
  const [{ invites }, { blocks }, { channels }] = await Promise.all(['settings', 'blocks', 'channels'].map(get));
  place('invites').value = invites;
  await fill('blocks', 't-blocked', blocks, name => ({ name, remove: { value: name } }));
  await fill('channels', 't-channel', channels, ({ confirmed, id, kind, off, target }) => {
    const waits = !confirmed && (kind === 'mail' ? 'channel-mail' : 'channel-code');
    return {
      what: target, state: say(off ? 'channel-off' : waits || 'channel-on'),
      confirm: { hidden: waits !== 'channel-code' }, id: { value: id }, remove: { value: id },
    };
  });
  place('kept-unsent').textContent = say('kept-unsent', { n: await keys.unsent(session) });
  const others = (await session.store.list('pins')).filter(each => each.name !== session.me.name);
  await fill('pins', 't-pin', others, ({ how, name }) =>
    ({ name: { href: `/p/${name}`, textContent: name }, how: say(`pin-${how}`) }));
}

/** @param {import('./here.js').Context} context */
async function showOther(context) {
  const { act, deeds, session, tell } = visit(context), { key, name } = context.body.dataset;
  if (await obstacle()) return;

  async function render() {
    const pin = await session.store.get('pins', name);
    const { blocks } = await session.own('GET', '/v1/me/blocks');
    const agreed = pin?.key === key && pin.how === 'compared', blocked = blocks.includes(name);
    const shown = { compare: !agreed, block: !blocked, unblock: blocked };
    for (const [id, wanted] of Object.entries(shown)) place(id).hidden = !wanted;
    if (pin && pin.key !== key) tell('pin-differs', { name, fingerprint: await fingerprint(pin.key) });
    else if (agreed) tell('compared', { name });
  }
  deeds({
    compare: () => keys.compared(session, name, key),
    block: () => session.own('PUT', `/v1/me/blocks/${name}`),
    unblock: () => session.own('DELETE', `/v1/me/blocks/${name}`),
  }, render);
  await act(async () => {
    await session.meet();
    if (!session.me || session.me.name === name) return;
    place('player-acts').hidden = false;
    await render();
  });
}
