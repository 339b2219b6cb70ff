// The front page of a browser with a key: own games, those that wait first, least time left first; and the form of a
// new game. What the list says is a hint: a game is checked on its page, which has all that can be done with it.
import { Game, open } from '../client/game.js';
import { keyToInvite } from '../client/keys.js';
import { timeText } from '../log/times.js';
import { fill, visit } from './here.js';
import { follow, obstacle, place } from '../shared.js';

const OVER_SHOWN = 5;
const BEFORE_DEAL = 4; // the number of the host's seed, the last entry that needs no decision

/** @param {import('./here.js').Context} context */
export async function run(context) {
  const { act, deeds, lang, say, session, tell } = visit(context, 'home-says');
  if (await obstacle()) return;

  function state({ agreement, deadline, host, status, to_move: name }) {
    if (status === 'finished') return say('home-over');
    const invites = agreement.rematch ? 'rematch-asked' : 'home-invites';
    if (status === 'open') return say(host === session.me.name ? 'home-open' : invites, { name: host });
    if (name !== session.me.name) return say('home-theirs', { name });
    if (!deadline) return say('home-mine');
    return say('home-mine-until', { time: context.howLong(deadline, session.now * 1000) });
  }

  /** Shows the list, and sends before what needs no decision: the seed of a game that somebody has joined. */
  async function show() {
    for (const { dealer, game, seq, status } of await session.games('&waiting=true')) {
      if (status === 'playing' && seq < BEFORE_DEAL && dealer === 'server/v1') await new Game(session, game).refresh();
    }
    const { name } = session.me, queries = ['&waiting=true&order=deadline', ''];
    const [first, all] = await Promise.all(queries.map(each => session.games(each)));
    const rest = all.filter(each => !first.some(({ game }) => game === each.game));
    const going = rest.filter(each => ['open', 'playing'].includes(each.status));
    const over = rest.filter(each => each.status === 'finished').slice(0, OVER_SHOWN);
    await fill('own-games', 't-own', [...first, ...going, ...over], each => ({
      title: say(`game-${each.ruleset.name}`), state: state(each),
      players: (each.host === name ? each.guest ?? each.invite : each.host) ?? '',
      link: { href: `/g/${each.game}`, className: first.includes(each) ? 'mine' : '' },
    }));
  }

  deeds({ open: form => openGame(session, tell, form) });
  place('home').hidden = false;
  await act(async () => {
    await session.meet();
    place('home').hidden = !session.me; // an invitation was only looked at here
    if (!session.me) return sessionStorage.clear();
    const known = await session.store.get('meta', 'registered') === session.me.text;
    place(known ? 'home-lists' : 'home-key').hidden = false;
    if (!known) return;
    place('new-game').hidden = false;
    place('new-key').hidden = true;
    await show();
    follow(session, ({ game, seq }) => {
      place('news').hidden = false; // nothing moves under the finger: the reader loads the page anew
      if (seq < BEFORE_DEAL) act(() => new Game(session, game).refresh());
    });
    if (await session.store.get('meta', 'push')) await (await import('./push.js')).tend(session, lang);
  });
}

const DAYS = 14; // so long somebody can join

/** Opens the game, whose page has its link. Of a player for whom the service signs, it says so first, and waits for a
 *  second press. */
async function openGame(session, tell, { clock, name: field, rated, ruleset }) {
  const name = field.value.trim(), { held, ...invited } = name ? await keyToInvite(session, name) : {};
  if (held && field.dataset.told !== name) {
    field.dataset.told = name;
    return tell('held-player', { name });
  }
  const control = JSON.parse(clock.value), expires = timeText(Math.floor(session.now + DAYS * 86_400));
  const agreement = { clock: control, expires, rated: rated.checked && control !== null, rematch: null, series: null };
  const invite = name ? invited : 'link';
  const game = await open(session, { agreement, invite, ruleset: JSON.parse(ruleset.value) });
  location.assign(`/g/${game.id}`);
}
