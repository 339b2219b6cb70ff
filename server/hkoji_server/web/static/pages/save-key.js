// Ways to keep a copy of a key, and ways for the player to show that there is one: save_key.html. Whether a file was
// saved, no page can know.
import { keyFile, toLetters } from '../log/write.js';
import { readCopy } from '../client/keys.js';
import { refuse } from '../client/trust.js';
import { place } from './here.js';

/** @type {any} the key that is offered, its file and name, and what to do when the player has shown the copy */
let offer;

/** Shows the ways. @param {import('../client/keys.js').Copy} key @param {string} name @param {() => any} proved */
export function offerCopies(key, name, proved) {
  const file = keyFile(key.seed, key.raw, name), fileName = `${name}.key`;
  const shared = { files: [new File([file], `${fileName}.txt`, { type: 'text/plain' })] };
  offer = { file, key, proved, shared };
  const href = URL.createObjectURL(new Blob([file], { type: 'application/octet-stream' }));
  Object.assign(place('save-file'), { href, download: fileName });
  place('save-name').textContent = fileName;
  place('save-share').hidden = !navigator.canShare?.(shared);
  const { username, password } = place('save-password');
  username.value = name;
  password.value = toLetters(key.seed);
}

async function prove(text) {
  if ((await readCopy(text)).text !== offer.key.text) refuse('copy-differs');
  await offer.proved();
}

/** What the buttons do. */
export const copyDeeds = tell => ({
  'save-copy': () =>
    navigator.clipboard.writeText(offer.file).then(() => tell('save-kept'), () => tell('no-clipboard')),
  'save-share': () => navigator.share(offer.shared).then(() => tell('save-kept'), () => {}),
  'save-password'({ username, password }) {
    // Some password managers take a form that is sent, and some only what they are asked to keep.
    const { PasswordCredential: Credential } = /** @type {any} */ (globalThis);
    const asked = Credential && new Credential({ id: username.value, password: password.value });
    if (asked) navigator.credentials.store(asked).catch(() => {});
    tell('save-kept');
  },
  'save-again': async ({ files }) => prove(await files[0].text()),
  'save-pasted': ({ text }) => prove(text.value),
  'save-have': () => offer.proved(),
});
