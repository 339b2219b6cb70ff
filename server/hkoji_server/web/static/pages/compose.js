// Composes a move from those that are legal, which the service tells with the own view. It knows no rules: of notation
// it knows how long a card is and which letters are actions. It shows, and sends nothing.
import { cardsOf, NOTATION } from '../log/write.js';

const DEAD = 400; // for so many ms after each change nothing can be sent: a finger may be on its way to another button

/** The cards that are left of `from` without those of `list`; null if they are not all there. */
function without(from, list) {
  const left = [...from];
  for (const each of list) {
    if (!left.includes(each)) return null;
    left.splice(left.indexOf(each), 1);
  }
  return left;
}

/** A card as the page draws it. @param {string} name @param {'card' | 'slip'} role @returns {HTMLElement} */
export function picture(name, role) {
  const template = /** @type {HTMLTemplateElement} */ (document.getElementById(`t-${role}-${name}`));
  return /** @type {any} */ (template.content.firstElementChild).cloneNode(true);
}

/** @param {Node[]} inside */
function button(inside, press) {
  const made = document.createElement('button');
  made.type = 'button';
  made.ariaPressed = 'false';
  made.append(...inside);
  made.onclick = press;
  return made;
}

/** The name of an act: "Play secret: G". */
export function words(say, ruleset, names, action) {
  const kind = action[0], cards = kind === '!' ? [action[1]] : cardsOf(ruleset, action), half = cards.length / 2;
  const both = list => list.join(' '), ordered = NOTATION[ruleset].width === 2 && cards.length === 2;
  if (kind === '^') return say('act-start', { name: names[Number(action[1])] });
  const key = { '-': ordered ? 'act-order' : 'act-take', '>': 'act-order', '!': 'act-marker' }[kind] ?? `act-${kind}`;
  return say(key, { cards: both(cards), first: both(cards.slice(0, half)), second: both(cards.slice(half)) });
}

/**
 * Shows in `place` what can be chosen, and calls `send` with the action that the player sends.
 * @param {{place: HTMLElement, ruleset: string, names: string[], hand: string[], legal: string[],
 *   say: import('../words.js').Say, send: (action: string) => any, composed?: string}} given  `composed` is a move that
 *   was chosen before, and is chosen again if it is still legal
 */
export function compose({ place, ruleset, names, hand, legal, say, send, composed = '' }) {
  const part = role => /** @type {any} */ (place.querySelector(`[data-role="${role}"]`)), { acts } = NOTATION[ruleset];
  const go = part('send').querySelector('button');
  const own = legal.some(action => acts.includes(action[0]));
  const first = legal.length === 1 ? legal[0] : legal.find(each => each === composed);
  let action = '', timer = 0;

  /** Takes up what would be sent now: an action, or none. */
  function ready(found = '') {
    action = found;
    go.textContent = found ? words(say, ruleset, names, found) : say('act-none');
    part('notation').textContent = found;
    go.disabled = true;
    clearTimeout(timer);
    timer = setTimeout(() => { go.disabled = !found; }, DEAD);
  }

  /** A row of buttons for actions, of which one is pressed. */
  function row(role, actions, face) {
    const buttons = actions.map(each => button(face(each), () => press(each)));
    buttons.forEach((made, n) => { made.ariaLabel = words(say, ruleset, names, actions[n]); });
    const press = chosen => {
      buttons.forEach((made, n) => { made.ariaPressed = String(actions[n] === chosen); });
      ready(chosen);
    };
    part(role).replaceChildren(...buttons);
    part(role).hidden = false;
    if (first && actions.includes(first)) press(first);
    part('send').scrollIntoView({ block: 'nearest' }); // the button may be below the edge of the screen now
  }

  const text = said => [Object.assign(document.createElement('span'), { textContent: said })];
  part('send').hidden = false;
  go.onclick = () => { if (action) send(action); };
  ready();
  part('hand').hidden = !hand.length;
  const cards = hand.map((name, n) => button([picture(name, 'card')], () => toggle(n)));
  part('hand').replaceChildren(...cards);
  if (!own) {
    for (const each of cards) each.disabled = true;
    row('choices', legal, each => ('^!'.includes(each[0]) ? text(words(say, ruleset, names, each))
      : cardsOf(ruleset, each).map(name => picture(name, 'card'))));
    return;
  }

  // --- an action of the own hand
  const kinds = /** @type {HTMLButtonElement[]} */ ([...part('kinds').querySelectorAll('button')]);
  const size = kind => cardsOf(ruleset, legal.find(each => each[0] === kind) ?? kind).length;
  let /** @type {number[]} */ picked = [], /** @type {string | undefined} */ pressed;
  part('kinds').hidden = false;

  function toggle(n) {
    picked = picked.includes(n) ? picked.filter(each => each !== n) : [...picked, n];
    update();
  }

  function choose(kind) {
    pressed = pressed === kind ? undefined : kind;
    if (pressed) picked = picked.slice(0, size(kind));
    update();
  }

  function update() {
    const chosen = picked.map(n => hand[n]), open = legal.filter(each => !pressed || each[0] === pressed);
    const fits = list => open.filter(each => without(cardsOf(ruleset, each), list));
    cards.forEach((made, n) => {
      made.ariaPressed = String(picked.includes(n));
      made.disabled = !picked.includes(n) && !fits([...chosen, hand[n]]).length;
    });
    const full = fits(chosen).filter(each => cardsOf(ruleset, each).length === chosen.length);
    const kind = pressed ?? full[0]?.[0];
    for (const made of kinds) {
      made.disabled = !size(made.dataset.kind);
      made.ariaPressed = String(made.dataset.kind === kind);
    }
    part('hint').textContent = kinds.find(made => made.dataset.kind === kind)?.dataset.hint ?? '';
    part('variants').hidden = true;
    ready(full.length === 1 ? full[0] : '');
    if (action) part('send').scrollIntoView({ block: 'nearest' });
    if (full.length > 1) vary(full);
  }

  /** Several actions have the same cards: pairings, of which the partner of the first card is shown, or two orders. */
  function vary(actions) {
    const pairs = cardsOf(ruleset, actions[0]).length === 4, shown = each => cardsOf(ruleset, each)[pairs ? 1 : 0];
    row('variants', actions, each => [picture(shown(each), 'slip')]);
    const [card] = cardsOf(ruleset, actions[0]);
    part('variants').prepend(...text(pairs ? say('act-with', { card }) : say('act-keep')));
  }

  for (const made of kinds) made.onclick = () => choose(made.dataset.kind);
  if (first) {
    for (const name of cardsOf(ruleset, first)) {
      picked.push(hand.findIndex((each, n) => each === name && !picked.includes(n)));
    }
    pressed = first[0];
  }
  update();
}
