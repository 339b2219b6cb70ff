// What a player does at the name of another: compares the key, blocks.
import { compared } from '../client/keys.js';
import { fingerprint } from '../log/text.js';
import { obstacle, place, visit } from './here.js';

/** @param {import('./here.js').Context} context */
export async function run(context) {
  const { act, deeds, session, tell } = visit(context), { key, name } = context.body.dataset;
  if (await obstacle()) return;
  const path = `/v1/me/blocks/${name}`, login = { login: true };

  async function render() {
    const pin = await session.store.get('pins', name);
    const { blocks } = await session.json('GET', '/v1/me/blocks', undefined, login);
    const agreed = pin?.key === key && pin.how === 'compared', blocked = blocks.includes(name);
    const shown = { compare: !agreed, block: !blocked, unblock: blocked };
    for (const [id, wanted] of Object.entries(shown)) place(id).hidden = !wanted;
    if (pin && pin.key !== key) tell('pin-differs', { name, fingerprint: await fingerprint(pin.key) });
    else if (agreed) tell('compared', { name });
  }
  const then = work => async () => {
    await work();
    await render();
  };
  deeds({
    compare: then(() => compared(session, name, key)),
    block: then(() => session.call('PUT', path, undefined, login)),
    unblock: then(() => session.call('DELETE', path, undefined, login)),
  });
  await act(async () => {
    await session.meet();
    if (!session.me || session.me.name === name) return;
    place('player-acts').hidden = false;
    await render();
  });
}
