// The messages of a game: what the opponent writes stays text, in a box of its own. Signatures are checked before.
import { messages, say as write } from '../client/statements.js';

/** Characters that nobody sees, or that turn text round, are shown as codes. @param {string} text */
export const visible = text => text.replace(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, each =>
  `[U+${(each.codePointAt(0) ?? 0).toString(16).toUpperCase()}]`);

/** Shows the messages in `place`, with a form for another one. `act` does work, and says why it fails. */
export async function showTalk(game, place, say, act) {
  const template = /** @type {HTMLTemplateElement} */ (document.getElementById('t-talk'));
  place.replaceChildren(template.content.cloneNode(true));
  place.hidden = false;
  const list = place.querySelector('ol'), form = place.querySelector('form'), [area] = form.elements;
  const add = (parent, name, textContent) =>
    parent.appendChild(Object.assign(document.createElement(name), { textContent }));

  async function show() {
    const found = await messages(game);
    list.replaceChildren();
    for (const { name, text, proved, gap } of found) {
      const item = add(list, 'li', '');
      if (gap) add(item, 'p', say('talk-gap'));
      add(item, 'b', name);
      if (text === null) add(item, 'p', say('talk-deleted'));
      else add(item, 'p', visible(text)).dir = 'auto';
      if (text !== null && !proved) add(item, 'p', say('talk-unproved', { name }));
    }
  }

  form.onsubmit = event => {
    event.preventDefault();
    if (area.value.trim()) act(async () => {
      await write(game, area.value);
      area.value = '';
      await show();
    });
  };
  await show();
}
