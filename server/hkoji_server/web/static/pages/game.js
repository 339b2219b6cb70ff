// The page of a game for a player: hand, composer, messages and what else one can do. The board is that of the page.
import * as client from '../client/game.js';
import { addressOf, element, explain, follow, inWorker, speaker, watch } from '../shared.js';
import { Session } from '../client/session.js';
import { cardsOf, NOTATION, without } from '../log/write.js';

const MOVED = 'hkoji-moved'; // what the page is loaded anew for: after it the focus goes to whose turn it is
const COMPOSED = 'hkoji-composed';
const TALK_DAYS = 7;
const ASKED = { '-': 'play-answer', '>': 'play-order', '!': 'play-marker', '^': 'play-start' };
const place = role => /** @type {any} */ (document.querySelector(`[data-role="${role}"]`));
const partOf = (within, role) => within.querySelector(`[data-role="${role}"]`);
const tell = text => place('says').append(element('p', text));
const copyOf = id => /** @type {HTMLTemplateElement} */ (document.getElementById(id)).content.cloneNode(true);

/** Returns whether the page follows the game: it does so for a player.
 *  @param {{body: HTMLElement, words: import('../shared.js').Words, base: string, lang: string,
 *    tellNews: (name: string) => void, showClock: (until: ?string, now: number) => void}} context */
export async function run(context) {
  const follows = await show(context);
  addEventListener('pagehide', clear);
  addEventListener('pageshow', event => { if (event.persisted) show(context); });
  return follows;
}

/** Removes what only the player may see: a browser may keep the page and show it to somebody else. */
function clear() {
  const own = ['[data-role="mine"]', '[data-role="more"]', '#talk > *', '[data-role="down-near"] > *'];
  for (const each of document.querySelectorAll(own.join())) each.remove();
}

async function show(context) {
  const { body, words, base } = context;
  const address = new URLSearchParams(location.search), data = body.dataset;
  if (address.has('at') || address.has('eyes')) return; // a look back: there is nothing to do
  clear();
  document.getElementById('play')?.append(copyOf('t-play'));
  try {
    const session = new Session({ origin: location.origin, check: inWorker(base) });
    await session.meet();
    if (!session.me) return clear();
    const game = new client.Game(session, data.game ?? '');
    await game.turn(async () => { if (!game.lines.length) await game.fetchLog(); });
    if (game.seat === 1 && data.near === 'host' && !address.has('side')) {
      address.set('side', 'guest');
      location.replace(`?${address}`);
      return true;
    }
    const view = await game.view();
    if (game.last.head !== data.head) return again(game.last.head); // the page is of an earlier moment
    await new Player(session, game, view, context).show();
    return game.seat !== null;
  } catch (error) { tell(explain(words, error)) }
}

/** Loads the page anew, once for each head. Returns whether it does. */
function again(head) {
  if (sessionStorage.getItem(MOVED) === head) return false;
  sessionStorage.setItem(MOVED, head);
  location.reload();
  return true;
}

class Player {
  /** @param {Session} session @param {client.Game} game @param {any} view @param {any} page what `run` has got */
  constructor(session, game, view, page) {
    this.session = session;
    this.game = game;
    this.view = view;
    this.page = page;
    this.say = speaker(page.words);
    this.names = game.seats.map(each => each.name);
    this.other = this.names[1 - (game.seat ?? 0)] ?? '';
  }

  async show() {
    const { game, session } = this, { seat, status } = game;
    for (const [key, values] of session.remarks) tell(this.say(key, values));
    if (seat === null) return this.showInvited();
    const kept = await session.store.get('games', game.id);
    this.showSince(kept?.seen ?? game.last.seq);
    await session.store.keep([['games', game.id, { ...kept, seen: game.last.seq }]]);
    if (status === 'playing') place('turn').textContent = this.turn();
    if (status === 'open') this.showOpen(kept?.code);
    if (status === 'playing') this.showHand();
    this.showMore();
    this.bind();
    this.act(() => this.showTalk());
    this.hear();
    if (sessionStorage.getItem(MOVED) === 'own') {
      sessionStorage.removeItem(MOVED);
      place('turn').tabIndex = -1;
      place('turn').focus();
      await this.offerPush();
    }
    if (await session.store.get('meta', 'push')) await (await import('./push.js')).tend(session, this.page.lang);
  }

  /** Does what a button asks for, once, and says why if it fails. With `reload` the page is loaded anew after it. */
  async act(work, reload = false) {
    const buttons = [...document.querySelectorAll('[data-role="mine"] button, [data-role="more"] button')];
    const enabled = /** @type {HTMLButtonElement[]} */ (buttons).filter(each => reload && !each.disabled);
    for (const each of enabled) each.disabled = true;
    try {
      await work();
      if (!reload) return;
      await this.session.store.keep([['meta', this.game.remarksPlace, undefined]]); // the player has acted after them
      sessionStorage.setItem(MOVED, 'own');
      location.reload();
    } catch (error) {
      place('says')?.replaceChildren();
      tell(explain(this.page.words, error));
      for (const each of enabled) each.disabled = false;
    }
  }

  get begun() { return this.game.lines.filter(each => each.entry.kind === 'seed').length === 2 }

  /** Whose turn it is in a game that is being played. */
  turn() {
    const { game: { seat }, other, say, view } = this;
    if (!this.begun) return say('play-begins', { name: other });
    return say(view.actor !== seat ? 'play-theirs' : ASKED[view.legal[0]?.[0]] ?? 'play-yours', { name: other });
  }

  showHand() {
    const { game, names, other, say, view } = this, down = place('down-near'), hand = [...view.hand].sort();
    const closed = view.faceDown.flatMap(({ cards }) => cardsOf(game.ruleset, `?${cards}`));
    down?.replaceChildren(...closed.map(name => picture(name, 'slip')));
    if (down) down.hidden = !closed.length;
    document.querySelector('.who.near .hold')?.replaceChildren(); // the backs of the cards that are shown now
    if (place('time')) place('time').firstChild.textContent = '';
    if (view.legal.length) {
      const before = `${game.id} `, kept = sessionStorage.getItem(COMPOSED) ?? '', { legal } = view;
      const send = action => this.act(async () => {
        sessionStorage.setItem(COMPOSED, before + action); // it is chosen again if the game has moved on meanwhile
        await game.move(action, { again: true });
        sessionStorage.removeItem(COMPOSED);
      }, true);
      const composed = kept.startsWith(before) ? kept.slice(before.length) : '';
      compose({ place: place('mine'), ruleset: game.ruleset, names, other, hand, legal, say, send, composed });
      return;
    }
    place('hand').append(...hand.map(name => picture(name, 'card')));
    place('hand').hidden = !hand.length;
  }

  /** What was played since the own last move: first of all if a round has ended after `seen`. @param {number} seen */
  showSince(seen) {
    const { game: { lines }, session: { me } } = this, since = place('since');
    const own = lines.findLast(each => each.entry.by === me.name && each.entry.kind === 'move')?.entry.seq ?? 0;
    const fresh = [...document.querySelectorAll('#moves li')].filter(each => /** @type {any} */ (each).value > own);
    if (lines.slice(seen + 1).some(each => each.entry.kind === 'reveal')) since.parentElement.prepend(since);
    since.querySelector('ol').append(...fresh.map(each => each.cloneNode(true)));
    for (const each of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('#moves [data-ended]'))) {
      if (Number(each.dataset.ended) > seen) since.append(each.cloneNode(true));
    }
  }

  /** The host waits: the link again, and a way back. @param {string} [code] */
  showOpen(code) {
    const shown = place('invited'), [field] = shown.children;
    shown.hidden = false;
    field.hidden = field.nextElementSibling.hidden = !code;
    field.value = code ? `${location.origin}/i/${this.game.id}#${code}` : '';
  }

  /** Somebody without a seat, whom the game waits for. */
  showInvited() {
    const { game, session: { me } } = this, invite = game.lines[1]?.entry.body.invite;
    if (game.status !== 'open' || invite?.link || (invite?.name && invite.name !== me.name)) return clear();
    place('asked').hidden = false;
    place('asked').lastElementChild.hidden = !invite;
    this.bind();
  }

  /** Has each button with `data-do` do what it names. */
  bind() {
    const { game } = this, bind = (deeds, reload = false) => {
      for (const it of document.querySelectorAll('main [data-do]')) {
        const each = /** @type {HTMLButtonElement} */ (it), deed = deeds[each.dataset.do ?? ''];
        if (deed) each.onclick = () => this.act(deed, reload);
      }
    };
    bind({
      annul: () => client.annul(game),
      cancel: () => game.cancel(),
      decline: () => client.decline(game),
      give: () => client.give(game, Number(place('give').querySelector('select').value)),
      join: () => game.join({ seen: game.last.head }),
      resign: () => game.resign(),
      withdraw: () => client.withdraw(game),
    }, true);
    bind({
      copy: () => navigator.clipboard.writeText(place('invited').firstElementChild.value),
      evidence: () => this.saveEvidence(place('cards').querySelector('input').checked),
      rematch: async () => location.assign(`/g/${await client.rematch(game)}`),
    });
  }

  showMore() {
    const { game, session: { me }, view } = this, playing = game.status === 'playing';
    document.querySelector('.aside')?.prepend(copyOf('t-more'));
    const more = place('more'), wishes = game.clock?.annul ?? [];
    const part = name => more.querySelector(`[data-do="${name}"]`);
    place('give').hidden = !(playing && view.deadline && view.actor === 1 - view.seat);
    part('annul').hidden = !playing || wishes.includes(me.name);
    part('withdraw').hidden = !playing || !wishes.includes(me.name);
    place('resign').hidden = !playing;
    place('cards').hidden = game.has('end');
    if (place('over')) place('over').hidden = !game.has('join'); // nobody has played
  }

  async saveEvidence(cards) {
    const href = addressOf(await this.game.evidence({ cards })), download = `${this.game.id.slice(0, 8)}.evidence`;
    Object.assign(element('a'), { download, href }).click();
  }

  /** Shows the messages, with a form for another one. */
  async showTalk() {
    const { game, session } = this, ended = game.status === 'over' && Date.parse(game.last.time) / 1000;
    if (!game.has('join') || (ended && ended + TALK_DAYS * 86_400 < session.now)) return;
    const talk = /** @type {HTMLElement} */ (document.getElementById('talk'));
    talk.replaceChildren(copyOf('t-talk'));
    talk.hidden = false;
    const form = /** @type {HTMLFormElement} */ (talk.querySelector('form')), area = form.text;
    const list = async () => talk.querySelector('ol')?.replaceChildren(...(await client.messages(game)).map(message));
    form.onsubmit = event => {
      event.preventDefault();
      if (area.value.trim()) this.act(async () => {
        await client.say(game, area.value);
        area.value = '';
        await list();
      });
    };
    await list();
  }

  /** Hears of entries: what needs no decision is sent at once, and of what the page does not show it tells. */
  hear() {
    const { begun, game, session, view } = this, { head } = game.last;
    const look = () => document.hidden || this.act(async () => {
      await game.refresh();
      if (game.last.head === head) return;
      if (begun) this.page.tellNews(game.lines.at(-1).entry.by);
      else again(game.last.head);
    });
    this.page.showClock(game.clock?.deadline ?? null, session.now * 1000);
    follow(session, entry => { if (entry.game === game.id) look(); });
    document.addEventListener('visibilitychange', look); // a hidden page holds no stream
    if (game.status !== 'over' && view.actor !== game.seat) setTimeout(look, 1500); // nor one that has just begun
    if (!begun && game.status !== 'over') setInterval(look, 30_000);
    watch(game, look);
  }

  /** Asks once, after the first own move, whether this browser shall tell. */
  async offerPush() {
    const { store } = this.session;
    if (await store.get('meta', 'push-offered')) return;
    await store.keep([['meta', 'push-offered', true]]);
    const push = await import('./push.js');
    await push.show(this.session, place('push'), this.page.words, this.page.lang);
  }
}

const DEAD = 400; // for so many ms after each change nothing can be sent: a finger may be on its way to another button

/** A card as the page draws it. @param {string} name @param {'card' | 'slip'} role @returns {HTMLElement} */
export function picture(name, role) {
  const template = /** @type {HTMLTemplateElement} */ (document.getElementById(`t-${role}-${name}`));
  return /** @type {any} */ (template.content.firstElementChild).cloneNode(true);
}

/** @param {Node[]} inside */
function button(inside, press) {
  const made = element('button');
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
 * @param {{place: HTMLElement, ruleset: string, names: string[], other: string, hand: string[], legal: string[],
 *   say: import('../shared.js').Say, send: (action: string) => any, composed?: string}} given
 *   `composed` is a move that was chosen before, and is chosen again if it is still legal
 */
export function compose({ place, ruleset, names, other, hand, legal, say, send, composed = '' }) {
  const part = role => /** @type {any} */ (place.querySelector(`[data-role="${role}"]`)), { acts } = NOTATION[ruleset];
  const go = part('send').querySelector('button');
  const own = legal.some(action => acts.includes(action[0]));
  const first = legal.length === 1 ? legal[0] : legal.find(each => each === composed);
  const offered = Array.from(document.querySelectorAll('.offer .slip'), each => each.getAttribute('data-card'));
  let action = '', timer = 0;

  /** Takes up what would be sent now: an action, or none, where `missing` says what is to be chosen. */
  function ready(found = '', missing = say('act-one')) {
    action = found;
    go.textContent = found ? words(say, ruleset, names, found) : missing;
    const rest = found[0] === '-' && without(offered, cardsOf(ruleset, found));
    if (rest) part('hint').textContent = say('act-rest', { name: other, cards: rest.join(' ') });
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

  const text = said => [element('span', said)];
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
    const missing = kind ? say('act-cards', { n: size(kind) - picked.length }) : say('act-none');
    ready(full.length === 1 ? full[0] : '', full.length ? undefined : missing);
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

/** Characters that nobody sees, or that turn text round, are shown as codes. @param {string} text */
export const visible = text => text.replace(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, each =>
  `[U+${(each.codePointAt(0) ?? 0).toString(16).toUpperCase()}]`);

/** A message as the page shows it. */
function message({ name, text, proved, gap }) {
  const item = copyOf('t-message'), sent = text !== null;
  partOf(item, 'name').textContent = name;
  partOf(item, 'text').textContent = visible(text ?? '');
  for (const [role, wanted] of Object.entries({ gap, text: sent, deleted: !sent, unproved: sent && !proved })) {
    if (!wanted) partOf(item, role).remove();
  }
  return item;
}
