// The page of a game for a player: hand, composer, messages and what else one can do. The board is that of the page.
import * as client from '../client/game.js';
import { addressOf, element, follow, watch } from '../shared.js';
import { cardsOf, NOTATION, without } from '../log/write.js';
import { fill, showTerms, visit } from './here.js';

const MOVED = 'hkoji-moved'; // what the page is loaded anew for: a head, or `own` after an own act
const TALK_DAYS = 7;
const SHOW_PAUSE = 1000; // a finger may be on its way to something that a new page would end
const TALK_PAUSE = 20_000; // messages are in no stream
const ASKED = { '-': 'play-answer', '>': 'play-order', '!': 'play-marker', '^': 'play-start' };
const place = role => /** @type {any} */ (document.querySelector(`[data-role="${role}"]`));
const copyOf = id => /** @type {any} */ (document.getElementById(id)).content.cloneNode(true);

/** Returns whether the page follows the game: it does so for a player. @param {any} page */
export async function run(page) {
  const address = new URLSearchParams(location.search), { game: id, head, near } = page.body.dataset;
  if (!document.getElementById('t-play')) return false; // a look back, or a sealed game: there is nothing to do
  document.getElementById('play')?.append(copyOf('t-play'));
  addEventListener('pagehide', clear);
  addEventListener('pageshow', event => { if (event.persisted) location.reload(); });
  const here = visit(page), { session } = here;
  let follows = false;
  await here.attempt(async () => {
    await session.meet();
    if (!session.me) {
      sessionStorage.clear();
      return clear();
    }
    const game = new client.Game(session, id);
    await game.turn(async () => { if (!game.lines.length) await game.fetchLog(); });
    follows = game.seat !== null;
    if (game.seat === 1 && near === 'host' && !address.has('side')) {
      address.set('side', 'guest');
      return location.replace(`?${address}`);
    }
    const view = await game.view();
    here.write(session.remarks.map(each => here.say(...each)).join('\n'));
    if (game.last.head !== head) follows = again(game.last.head); // the page is of an earlier moment
    else await (follows ? show(here, game, view, page) : showInvited(here, game, page));
  });
  return follows;
}

/** Removes what only the player may see: a browser may keep the page and show it to somebody else. */
function clear() {
  const own = ['[data-role="talks"] b', '[data-role="mine"]', '[data-role="more"]', '#talk > *', '.down > *'];
  for (const each of document.querySelectorAll(own.join())) each.remove();
}

/** Loads the page anew, once for each head. Returns whether it does. */
function again(head) {
  if (sessionStorage.getItem(MOVED) === head) return false;
  sessionStorage.setItem(MOVED, head);
  leaving = document.body.inert = true; // what is pressed now would be lost half-way
  location.reload();
  return true;
}

/** What a player has and can do. */
async function show(here, game, view, page) {
  const { session, store, status } = game, kept = await store.get('games', game.id);
  const moved = sessionStorage.getItem(MOVED), own = moved === 'own';
  sessionStorage.removeItem(MOVED);
  // A page that was loaded by itself is no new visit: it shows what was new to the visit.
  const since = (moved && !own ? kept?.since : kept?.seen) ?? game.last.seq;
  await store.keep([['games', game.id, { ...kept, seen: game.last.seq, since }]]);
  showSince(game, since);
  if (status === 'open') showOpen(game, kept?.code);
  if (status === 'playing') showHand(here, game, view);
  if (game.result) showResult(here, game);
  showMore(game, view);
  bind(here, game, page);
  here.attempt(() => showTalk(here, game, page));
  if (game.result) here.attempt(() => tellRematch(here, game));
  hear(here, game, view, page);
  if (own) {
    place('turn').tabIndex = -1;
    place('turn').focus();
  }
  await offerPush(here, own);
  if (await store.get('meta', 'push')) await (await import('./push.js')).tend(session, here.lang);
}

/** Somebody without a seat, whom the game may wait for, sees what the log says of it instead of what the HTML says. */
async function showInvited(here, game, page) {
  const { offer, session: { me }, lines, status } = game, { by: host, body: { invite } = {} } = lines[1]?.entry ?? {};
  if (status !== 'open' || invite?.link || (invite?.name && invite.name !== me.name)) return clear();
  showTerms(here.say, here.lang, { host, ...offer });
  document.querySelector('#terms ul')?.remove();
  place('asked').hidden = false;
  place('decline').hidden = !invite;
  bind(here, game, page);
}

let leaving = false;

/** Loads the page anew after an own act. */
async function loadAnew(game) {
  leaving = true;
  await game.store.keep([['meta', game.remarksPlace, undefined]]); // the player has acted after them
  sessionStorage.setItem(MOVED, 'own');
  location.reload();
  await new Promise(() => {}); // until then nothing can be pressed
}

const begun = game => game.lines.filter(each => each.entry.kind === 'seed').length === 2;

function showHand({ act, say }, game, { actor, faceDown, hand: dealt, legal }) {
  const names = game.seats.map(each => each.name), hand = [...dealt].sort();
  const side = (document.body.dataset.near === 'host') === (game.seat === 0) ? 'near' : 'far';
  const strip = name => document.querySelector(`.table > .${side} .${name}`);
  const asked = actor !== game.seat ? 'play-theirs' : ASKED[legal[0]?.[0]] ?? 'play-yours';
  place('turn').textContent = say(begun(game) ? asked : 'play-begins', { name: names[1 - game.seat] });
  const boxes = new Map(); // own cards that lie face down, by the entry of their action, whose name is the box's title
  for (const { cards, seq } of faceDown) {
    const sign = strip('acts')?.querySelector(`[data-action="${game.lines[seq].entry.body.action[0]}"]`);
    if (!boxes.has(seq)) boxes.set(seq, Object.assign(sign?.cloneNode() ?? element('span'), { role: 'group' }));
    boxes.get(seq).append(...cardsOf(game.ruleset, `?${cards}`).map(name => picture(name, 'slip')));
  }
  strip('down')?.replaceChildren(...boxes.values());
  strip('you')?.removeAttribute('hidden');
  strip('hold')?.replaceChildren(); // the backs of the cards that are shown now
  place('hand').replaceChildren(...hand.map(name => picture(name, 'card')));
  place('hand').hidden = !hand.length;
  if (!legal.length) return;
  const kept = `hkoji-composed ${game.id}`, composed = sessionStorage.getItem(kept);
  const send = action => act(async () => {
    sessionStorage.setItem(kept, action); // it is chosen again if the game has moved on meanwhile
    await game.move(action, { again: true });
    sessionStorage.removeItem(kept);
    await loadAnew(game);
  });
  compose({ ruleset: game.ruleset, names, hand, legal, say, send, composed });
}

/** What was played since the own last move. Rounds that have ended after entry `seen` come before the hand, closed: the
 *  hand stays in reach. */
function showSince({ lines, session: { me }, status }, seen) {
  const own = lines.findLast(each => each.entry.by === me.name && each.entry.kind === 'move')?.entry.seq ?? 0;
  const since = place('since'), all = /** @type {any[]} */ ([...document.querySelectorAll('#moves li')]);
  since.querySelector('ol').append(...all.filter(each => each.value > own).map(each => each.cloneNode(true)));
  const tables = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('#moves [data-ended]')]);
  const ended = tables.filter(each => Number(each.dataset.ended) > seen);
  if (!ended.length) return;
  const scores = ended.map(({ dataset }) => all.find(each => each.value === Number(dataset.ended)).lastElementChild);
  since.firstElementChild.replaceChildren(...scores.map(each => element('span', each.textContent)));
  since.append(...ended.map(each => each.cloneNode(true)));
  since.parentElement.prepend(since);
  since.open = status === 'over';
}

/** Says to the player who has won, before the reason. */
function showResult({ say }, { result: { winner }, seat }) {
  if (winner !== null) place('turn').prepend(say(winner === seat ? 'play-won' : 'play-lost'), ' ');
}

/** The host waits: the link again, if the game has one, and a way back. */
function showOpen({ id }, code) {
  place('invited').hidden = false;
  place('link').hidden = !code;
  place('address').value = `${location.origin}/i/${id}#${code}`;
  place('share').hidden = !navigator.share;
}

/** Says on the button for a rematch that the opponent has asked for one. */
async function tellRematch({ say, session }, { id }) {
  const { host: name } = (await session.games('&waiting=true')).find(({ agreement }) => agreement.rematch === id) ?? {};
  if (name) document.querySelector('[data-do=rematch]')?.replaceChildren(say('rematch-asked', { name }));
}

/** What buttons do. */
function bind({ copy, deeds }, game, page) {
  const seen = game.last.head; // what the page shows
  deeds({
    async annul(pressed) {
      await game.refresh();
      if (asked(game) === place('agree').contains(pressed)) await client.annul(game); // else the page shows it now
    },
    cancel: () => game.cancel(),
    decline: () => client.decline(game),
    give: () => client.give(game, Number(place('give').querySelector('select').value)),
    join: () => game.join({ seen }),
    resign: () => game.resign(),
    withdraw: () => client.withdraw(game),
  }, () => loadAnew(game));
  deeds({
    copy: () => copy(place('address').value),
    share: () => navigator.share({ url: place('address').value }).catch(() => {}),
    rematch: async () => location.assign(`/g/${await (await import('../client/rematch.js')).rematch(game)}`),
    async say({ text }) {
      if (!text.value.trim()) return;
      await client.say(game, text.value);
      text.value = '';
      sessionStorage.removeItem(draftOf(game));
      await listMessages(game, page);
    },
    async evidence() {
      const cards = Boolean(place('cards')?.querySelector('input').checked);
      const href = addressOf(await game.evidence({ cards })), download = `${game.id.slice(0, 8)}.evidence`;
      Object.assign(element('a'), { download, href }).click();
    },
  });
}

/** Whether the opponent asks to call the game off. */
const asked = ({ clock, session: { me } }) => clock?.annul.some(name => name !== me.name) ?? false;

function showMore(game, { actor, deadline, seat }) {
  const { session: { me }, status } = game;
  document.querySelector('.aside')?.prepend(copyOf('t-more'));
  if (status !== 'playing') return;
  const wished = game.clock?.annul.includes(me.name) ?? false;
  place('give').hidden = !deadline || actor !== 1 - seat;
  place('annul').hidden = wished || asked(game);
  place('agree').hidden = !asked(game);
  place('withdraw').hidden = !wished;
}

/** Shows the messages, with a form for another one. */
async function showTalk({ attempt }, game, page) {
  const ended = game.status === 'over' && Date.parse(game.last.time) / 1000;
  if (!game.has('join') || (ended && ended + TALK_DAYS * 86_400 < game.session.now)) return;
  const talk = /** @type {HTMLElement} */ (document.getElementById('talk'));
  talk.replaceChildren(copyOf('t-talk'));
  talk.hidden = false;
  const text = /** @type {HTMLTextAreaElement} */ (talk.querySelector('textarea')), draft = draftOf(game);
  text.value = sessionStorage.getItem(draft) ?? '';
  text.oninput = () => sessionStorage.setItem(draft, text.value);
  const last = await listMessages(game, page), { me, store } = game.session;
  const unread = Boolean(last) && last.name !== me.name && await store.get(...readOf(game)) !== game.talked;
  place('talks').classList.toggle('new', unread);
  setInterval(() => document.hidden || attempt(async () => {
    if (await client.hasNews(game)) page.tellNews('talk', (await listMessages(game, page)).name);
  }), TALK_PAUSE);
}

const draftOf = game => `hkoji-draft ${game.session.me.name} ${game.id}`;
const readOf = game => ['meta', `talk ${game.id}`];

/** Shows all messages, the last one in view; keeps that they are read when it is on the screen. Returns it. */
async function listMessages(game, { showTimes }) {
  const all = await client.messages(game), n = String(all.length), talks = place('talks');
  await fill('messages', 't-message', all, ({ at, name, text, proved, gap }) => ({
    name, at: { dateTime: at }, text: { textContent: visible(text ?? ''), hidden: text === null },
    gap: { hidden: !gap }, deleted: { hidden: text !== null }, unproved: { hidden: text === null || proved },
  }));
  showTimes();
  const list = /** @type {HTMLElement} */ (document.getElementById('messages'));
  list.scrollTop = list.scrollHeight;
  const seen = new IntersectionObserver(([each]) =>
    each.isIntersecting && game.store.keep([[...readOf(game), game.talked]]));
  if (list.lastElementChild) seen.observe(list.lastElementChild);
  talks.hidden = !all.length;
  talks.lastChild.textContent = n;
  talks.ariaLabel = talks.dataset.text.replace('{n}', n);
  return all.at(-1);
}

/** Characters that nobody sees, or that turn text round, are shown as codes. @param {string} text */
const visible = text => text.replace(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, each =>
  `[U+${(each.codePointAt(0) ?? 0).toString(16).toUpperCase()}]`);

/** What the player may be about that a new page would end; a score that the player has opened is one. */
const HALF_DONE = ['.mine [aria-pressed=true]', '[data-role=more][open]', '.since[open]:first-child', '#talk :focus',
  '#help:popover-open'].join();

/** Hears of entries: what needs no decision is sent at once. What the page does not show it shows, or tells of it. */
function hear({ attempt, busy }, game, { actor }, { showClock, tellNews }) {
  const { session } = game, { head, seq } = game.last;
  const look = () => document.hidden || attempt(async () => {
    await game.refresh();
    if (game.last.head === head) return;
    await new Promise(done => setTimeout(done, SHOW_PAUSE));
    if (leaving) return;
    if (!busy() && !document.querySelector(HALF_DONE) && again(game.last.head)) return;
    for (const { entry } of game.lines.slice(seq + 1)) tellNews(entry.kind, entry.by);
  });
  showClock(game.clock?.deadline ?? null, session.now * 1000);
  follow(session, entry => { if (entry.game === game.id) look(); });
  document.addEventListener('visibilitychange', look); // a hidden page holds no stream
  if (game.status !== 'over' && actor !== game.seat) setTimeout(look, 1500); // nor one that has just begun
  if (!begun(game) && game.status !== 'over') setInterval(look, 30_000);
  watch(game, look);
}

/** Asks once, from the first own move to the answer or the next own move, whether this browser shall tell. */
async function offerPush(here, own) {
  const { store } = here.session, kept = await store.get('meta', 'push-offered');
  const keep = value => store.keep([['meta', 'push-offered', value]]);
  if (own && kept !== true) await keep(kept ? true : 'open');
  if (own ? kept : kept !== 'open') return;
  await (await import('./push.js')).show(here, place('push'));
  place('push').querySelector('button')?.addEventListener('click', () => keep(true));
}

const DEAD = 400; // for so many ms after each change nothing can be sent: a finger may be on its way to another button

/** A card as the page draws it. @param {string} name @param {'card' | 'slip'} role */
const picture = (name, role) => copyOf(`t-${role}-${name}`).firstElementChild;

function button(inside, press, ariaLabel = null) {
  const made = Object.assign(element('button'), { type: 'button', ariaLabel, ariaPressed: 'false', onclick: press });
  made.append(...inside);
  return made;
}

/** The name of an act: "Play secret: G". */
function nameOf(say, ruleset, names, action) {
  const kind = action[0], cards = kind === '!' ? [action[1]] : cardsOf(ruleset, action), half = cards.length / 2;
  const both = list => list.join(' '), ordered = NOTATION[ruleset].width === 2 && cards.length === 2;
  if (kind === '^') return say('act-start', { name: names[Number(action[1])] });
  const key = { '-': ordered ? 'act-order' : 'act-take', '>': 'act-order', '!': 'act-marker' }[kind] ?? `act-${kind}`;
  return say(key, { cards: both(cards), first: both(cards.slice(0, half)), second: both(cards.slice(half)) });
}

/**
 * Shows what can be chosen, and calls `send` with the action that the player sends. `composed` is a move that was
 * chosen before, and is chosen again if it is still legal.
 * @param {{ruleset: string, names: string[], hand: string[], legal: string[], say: import('../shared.js').Say,
 *   send: (action: string) => any, composed: ?string}} given
 */
function compose({ ruleset, names, hand, legal, say, send, composed }) {
  const { acts } = NOTATION[ruleset], own = legal.some(each => acts.includes(each[0]));
  const go = place('send').querySelector('button');
  const first = legal.length === 1 ? legal[0] : legal.find(each => each === composed);
  const named = action => nameOf(say, ruleset, names, action);
  let action = '', timer = 0;

  /** Takes up what would be sent now: an action, or none, where `missing` says what is to be chosen. */
  function ready(found = '', missing = say('act-one')) {
    action = found;
    go.textContent = found ? named(found) : missing;
    place('notation').textContent = found;
    go.disabled = true;
    clearTimeout(timer);
    timer = setTimeout(() => { go.disabled = !found; }, DEAD);
  }

  /** A row of buttons for actions, of which one is pressed. */
  function row(role, actions, face) {
    const buttons = actions.map((each, n) => button(face(each), () => press(n), named(each)));
    const press = chosen => {
      buttons.forEach((made, n) => { made.ariaPressed = String(n === chosen); });
      ready(actions[chosen]);
    };
    place(role).replaceChildren(...buttons);
    place(role).hidden = false;
    if (first && actions.includes(first)) press(actions.indexOf(first));
    place('send').scrollIntoView({ block: 'nearest' }); // the button may be below the edge of the screen now
  }

  const text = said => [element('span', said)];
  place('send').hidden = false;
  go.onclick = () => { if (action) send(action); };
  ready();
  if (!own) {
    const offered = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('[data-role=offer] .group')])
      .map(({ children }) => Array.from(children, slip => /** @type {any} */ (slip).dataset.card).join(''));
    const copies = each => Math.max(1, offered.filter(cards => cards === each.slice(1)).length);
    const all = legal.flatMap(each => Array(copies(each)).fill(each));
    row('choices', all, each => ('^!'.includes(each[0]) ? text(named(each))
      : cardsOf(ruleset, each).map(name => picture(name, 'card'))));
    return;
  }

  // --- an action of the own hand
  const cards = hand.map((name, n) => button([picture(name, 'card')], () => toggle(n)));
  place('hand').replaceChildren(...cards);
  const kinds = /** @type {HTMLButtonElement[]} */ ([...place('kinds').querySelectorAll('button')]);
  const size = kind => cardsOf(ruleset, legal.find(each => each[0] === kind) ?? kind).length;
  let /** @type {number[]} */ picked = [], /** @type {string | undefined} */ pressed;
  place('kinds').hidden = false;

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
    place('hint').textContent = kinds.find(made => made.dataset.kind === kind)?.dataset.hint ?? '';
    place('variants').hidden = true;
    const missing = kind ? say('act-cards', { n: size(kind) - picked.length }) : say('act-none');
    ready(full.length === 1 ? full[0] : '', full.length ? undefined : missing);
    if (action) place('send').scrollIntoView({ block: 'nearest' });
    if (full.length > 1) vary(full);
  }

  /** Several actions have the same cards: pairings, of which the partner of the first card is shown, or two orders. */
  function vary(actions) {
    const pairs = cardsOf(ruleset, actions[0]).length === 4, shown = each => cardsOf(ruleset, each)[pairs ? 1 : 0];
    row('variants', actions, each => [picture(shown(each), 'slip')]);
    const [card] = cardsOf(ruleset, actions[0]);
    place('variants').prepend(...text(pairs ? say('act-with', { card }) : say('act-keep')));
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
