// What the player of /me has chosen at the service, and what this browser keeps: invitations, blocks, channels, keys.
import { fingerprint } from '../log/text.js';
import { choose, unsent } from '../client/keys.js';
import { fill, place } from './here.js';

const asked = (session, method, path, body = undefined) =>
  session.json(method, `/v1/me/${path}`, body, { login: true });

/** Shows all of it. @param {any} here */
export async function showChoices({ say, session }) {
  const { me, store } = session, get = name => asked(session, 'GET', name);
  const [{ invites }, { blocks }, { channels }] = await Promise.all(['settings', 'blocks', 'channels'].map(get));
  place('invites').value = invites;
  place('blocks-none').hidden = blocks.length > 0;
  await fill('blocks', 't-blocked', blocks, name => ({ name, remove: { value: name } }));
  await fill('channels', 't-channel', channels, ({ confirmed, id, kind, off, target }) => {
    const waits = !confirmed && (kind === 'mail' ? 'channel-mail' : 'channel-code');
    return {
      what: target, state: say(off ? 'channel-off' : waits || 'channel-on'),
      confirm: { hidden: waits !== 'channel-code' }, id: { value: id }, remove: { value: id },
    };
  });
  place('kept-games').textContent = say('kept-games', { n: (await store.list('games')).length });
  place('kept-unsent').textContent = say('kept-unsent', { n: await unsent(session) });
  const pins = await store.list('pins'), { delegated = [], held = [] } = pins.find(each => each.name === me.name) ?? {};
  const others = pins.filter(each => each.name !== me.name);
  place('kept-pins').hidden = !others.length;
  await fill('pins', 't-pin', others, ({ how, name }) =>
    ({ name: { href: `/p/${name}`, textContent: name }, how: say(`pin-${how}`) }));
  const mailboxes = channels.flatMap(each => each.certificate?.key ?? []), all = [...held, ...delegated, ...mailboxes];
  place('kept-held').hidden = !all.length;
  await fill('held', 't-held', [...new Set(all)], async key => ({ key: await fingerprint(key) }));
}

/** What its buttons and forms do. @param {any} here */
export function choiceDeeds(here) {
  const ask = async (...words) => {
    await asked(here.session, ...words);
    await showChoices(here);
    here.tell('chosen');
  };
  return {
    async 'invites'({ value }) {
      await choose(here.session, () => ({ invites: value }));
      here.tell('chosen');
    },
    'block': ({ name }) => ask('PUT', `blocks/${encodeURIComponent(name.value)}`),
    'unblock': ({ value }) => ask('DELETE', `blocks/${value}`),
    'confirm-channel': ({ code, id }) => ask('POST', `channels/${id.value}/confirm`, { code: code.value.trim() }),
    'remove-channel': ({ value }) => ask('DELETE', `channels/${value}`),
  };
}
