// Opens a game from the form of the front page: by link, or for a player whose name is given.
import { open } from '../client/game.js';
import { keyToInvite } from '../client/keys.js';

const DAYS = 14; // so long somebody can join

/** The terms of the form, as `open` takes them; `invite` is `link` or {name, key}. */
function terms(session, { clock, rated, ruleset }, invite) {
  const control = JSON.parse(clock.value), end = new Date((session.now + DAYS * 86_400) * 1000);
  const expires = end.toISOString().replace(/\.\d+/, '');
  const agreement = { clock: control, expires, rated: rated.checked && control !== null, rematch: null, series: null };
  return { agreement, invite, ruleset: JSON.parse(ruleset.value) };
}

/** Opens the game. Of a player for whom the service signs, it says so first, and waits for a second press. */
export async function openGame({ session, tell }, form) {
  const name = form.name.value.trim();
  if (!name) return open(session, terms(session, form, 'link'));
  const { held, ...invite } = await keyToInvite(session, name);
  if (held && form.name.dataset.told !== name) {
    form.name.dataset.told = name;
    return tell('held-player', { name });
  }
  return open(session, terms(session, form, invite));
}
