// The front page of a browser with a key: own games, those that wait first, least time left first; invitations to
// answer; links that nobody has used; and the form of a new game. What lists say is a hint: a game is checked when
// something is done with it.
import { decline, Game, open } from '../client/game.js';
import { keyToInvite } from '../client/keys.js';
import { timeText } from '../log/times.js';
import { fill, terms, visit } from './here.js';
import { follow, obstacle, place } from '../shared.js';

const OVER_SHOWN = 5;
const BEFORE_DEAL = 4; // the number of the host's seed, the last entry that needs no decision

/** @param {import('./here.js').Context} context */
export async function run(context) {
  const here = visit(context, 'home-says'), { act, copy, deeds, lang, say, session, tell } = here;
  if (await obstacle()) return;
  const titleOf = name => say(`game-${name}`);
  const left = ({ deadline }) => (!deadline ? '' :
    new Intl.RelativeTimeFormat(lang).format(...context.howLong(deadline, session.now * 1000)));

  async function all() {
    const found = [];
    for (let after = ''; after !== null;) {
      const path = `/v1/me/games?limit=100${after && `&after=${after}`}`;
      const page = await session.own('GET', path);
      found.push(...page.games);
      // Games that go on come first, then invitations.
      after = ['finished', 'cancelled'].includes(page.games.at(-1)?.status) ? null : page.next;
    }
    return found;
  }

  async function render() {
    const games = await all(), { name } = session.me, ours = each => each.to_move === name;
    const end = each => (each.deadline ? Date.parse(each.deadline) : Infinity);
    const sooner = (a, b) => Number(ours(b)) - Number(ours(a)) || (end(a) < end(b) ? -1 : 1);
    const playing = games.filter(each => each.status === 'playing').sort(sooner);
    const over = games.filter(each => each.status === 'finished').slice(0, OVER_SHOWN);
    const open = games.filter(each => each.status === 'open');
    const invited = open.filter(each => each.invite === name), waiting = open.filter(each => each.host === name);
    const row = (each, other) => ({ title: titleOf(each.ruleset.name), players: other ?? '' });
    const state = each => {
      if (each.status === 'finished') return say('home-over');
      return ours(each) ? say('home-mine', { time: left(each) }) :
        say('home-theirs', { name: each.to_move });
    };
    await fill('own-games', 't-own', [...playing, ...over], each => ({
      ...row(each, each.host === name ? each.guest : each.host), state: state(each),
      link: { href: `/g/${each.game}`, className: ours(each) ? 'mine' : '' },
    }));
    await fill('invited', 't-invited', invited, each => ({
      ...row(each, say('home-invites', { name: each.host })), link: { href: `/g/${each.game}` },
      look: { value: each.game }, take: { value: each.game }, decline: { value: each.game },
    }));
    await fill('waiting', 't-waiting', waiting, async each => {
      const { code } = await session.store.get('games', each.game) ?? {};
      const value = code ? `${location.origin}/i/${each.game}#${code}` : '', hidden = !code;
      const time = left(each);
      return {
        ...row(each, each.invite), state: time && say('home-expires', { time }), shown: { hidden }, address: { value },
        copy: { hidden, value }, share: { hidden: hidden || !navigator.share, value }, back: { value: each.game },
      };
    });
    place('home-invited').hidden = !invited.length;
    place('home-waiting').hidden = !waiting.length;
    place('home-own').hidden = !playing.length && !over.length;
    place('home-none').hidden = games.some(each => each.status !== 'cancelled');
    return playing.filter(each => ours(each) && each.seq < BEFORE_DEAL);
  }

  /** Shows the lists, and sends what needs no decision: the seed of a game that somebody has joined. */
  async function refresh() {
    const seeds = await render();
    for (const { game } of seeds) await new Game(session, game).refresh();
    if (seeds.length) await render();
  }

  deeds({
    async open(form) {
      const game = await openGame(here, form);
      if (!game) return;
      await refresh();
      tell(form.name.value ? 'opened-for' : 'opened-link', { name: form.name.value });
      place('home').scrollIntoView();
    },
    'copy-link': ({ value }) => copy(value),
    'share-link': ({ value }) => navigator.share({ url: value }).catch(() => {}),
    async 'take-back'({ value }) {
      await new Game(session, value).cancel();
      await refresh();
    },
    async look({ parentElement: row, value }) {
      const game = new Game(session, value), part = role => row.querySelector(`[data-role="${role}"]`);
      await game.turn(() => game.fetchLog());
      const { by } = game.lines[1].entry, { agreement, ruleset } = game.offer;
      const { clock, options, rated } = terms(say, lang, { host: by, ruleset, agreement });
      part('terms').textContent = `${clock} ${options} ${rated}`;
      part('take').dataset.head = game.last.head;
      part('look').hidden = !(part('answer').hidden = false);
    },
    async take({ value, dataset: { head } }) {
      await new Game(session, value).join({ seen: head });
      location.assign(`/g/${value}?side=guest`);
    },
    async decline({ value }) {
      await decline(new Game(session, value));
      await refresh();
    },
  });
  await act(async () => {
    await session.meet();
    place('home').hidden = false;
    const known = session.me && await session.store.get('meta', 'registered') === session.me.text;
    place('home-key').hidden = Boolean(known);
    if (!known) return;
    place('home-lists').hidden = place('new-game').hidden = false;
    place('new-key').hidden = true;
    await refresh();
    follow(session, ({ game, seq }) => {
      place('news').hidden = false; // nothing moves under the finger: the reader loads the page anew
      if (seq < BEFORE_DEAL) act(() => new Game(session, game).refresh());
    });
    if (await session.store.get('meta', 'push')) await (await import('./push.js')).tend(session, lang);
  });
}

const DAYS = 14; // so long somebody can join

/** The terms of the form, as `open` takes them; `invite` is `link` or {name, key}. */
function newTerms(session, { clock, rated, ruleset }, invite) {
  const control = JSON.parse(clock.value), expires = timeText(Math.floor(session.now + DAYS * 86_400));
  const agreement = { clock: control, expires, rated: rated.checked && control !== null, rematch: null, series: null };
  return { agreement, invite, ruleset: JSON.parse(ruleset.value) };
}

/** Opens the game. Of a player for whom the service signs, it says so first, and waits for a second press. */
async function openGame({ session, tell }, form) {
  const name = form.name.value.trim();
  if (!name) return open(session, newTerms(session, form, 'link'));
  const { held, ...invite } = await keyToInvite(session, name);
  if (held && form.name.dataset.told !== name) {
    form.name.dataset.told = name;
    return tell('held-player', { name });
  }
  return open(session, newTerms(session, form, invite));
}
