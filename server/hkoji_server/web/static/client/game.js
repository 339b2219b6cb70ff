// Plays one game for the player of this browser: takes a seat, signs entries and statements, sends them until there is
// a receipt. docs/spec/log.md, "Client rules". All that is signed is kept first; what is kept is sent, and nothing else
// is signed for its place unless the player asks for that. It knows no rules of games.
import { Reading } from './reading.js';
import { refuse } from './trust.js';
import { base64, bytes, decode, encode, lineText, sha256, signed, to64 } from '../log/text.js';
import { seconds } from '../log/times.js';
import * as write from '../log/write.js';

/** The game and the code of an invitation's address, also of one with a query; or null. @param {string} address */
export function readLink(address) {
  const found = /\/i\/([0-9a-f]{32})(?:\?[^#]*)?#([0-9a-f]{32})$/.exec(address);
  return found && { game: found[1], code: found[2] };
}

export class Game extends Reading {
  /** @type {any} the key of the link that was verified */ link = null;

  /** Lets no other tab act in this game meanwhile. */
  turn(work) {
    return navigator.locks.request(`hkoji:${this.id}`, async () => {
      await this.load();
      return work();
    });
  }

  /** Brings the game up to date, and sends what is waiting or needs no decision. */
  refresh() { return this.turn(() => this.update()) }

  async update() {
    await this.fetch();
    await this.advance();
    if (this.seat !== null && !this.answer) await this.fetchView(); // an own entry has changed it
    return this;
  }

  /** The own view, after bringing the game up to date: null for a spectator. */
  async view() {
    await this.refresh();
    if (this.seat === null) return null;
    const { answer, deadline, hand } = this, faceDown = this.openings.filter(each => each.seq > this.roundStart);
    return { ...answer, deadline, faceDown, hand };
  }

  // --- taking a seat -------------------------------------------------------------------------------------------------

  /** Checks that the game was opened with this code, before anything is signed. Returns what a guest has to see. */
  async verifyLink(code) {
    const { by, body: { invite, gateway } } = this.lines[1]?.entry ?? refuse('link-not-open');
    const link = await write.linkKey(code);
    this.verifyDealer();
    if (invite?.link !== link.text) refuse('link-differs');
    this.link = link;
    return { host: by, held: Boolean(gateway), ruleset: this.offer.ruleset, agreement: this.offer.agreement };
  }

  verifyDealer() {
    const { dealer: { name } } = this.offer;
    if (name !== 'server/v1') refuse('dealer-alone', { dealer: name }); // the service alone could choose the cards
  }

  /** Why nobody can join: `used`, `expired`, `declined`, `cancelled`; null while somebody can. */
  get closed() {
    const { body, kind } = this.lines[2]?.entry ?? {};
    const { expires } = this.offer.agreement;
    if (!kind && expires && seconds(expires) < this.session.now) return 'expired';
    return kind === 'lapse' ? body.reason : kind === 'join' ? 'used' : kind ? 'cancelled' : null;
  }

  /** Joins, by the verified link or the own name, and sends the seed. `seen` is the head that the player was shown. */
  join({ seen }) {
    return this.turn(async () => {
      await this.update();
      const { session: { me } } = this, { invite } = this.lines[1].entry.body;
      if (this.seat === 0) refuse('own-game');
      if (this.seat === 1) return this;
      if (this.closed) refuse(`link-${this.closed}`);
      if (this.last.head !== seen) refuse('game-changed');
      this.verifyDealer();
      if (invite?.link && invite.link !== this.link?.text) refuse('link-differs');
      if (invite?.name && (invite.name !== me.name || (invite.key && invite.key !== me.text))) refuse('invited-other');
      const body = await this.seatBody(1);
      await this.post('join', invite?.link ? { ...body, link_sig: await this.linkSig('hkoji.join.v1', body) } : body);
      return this.advance();
    });
  }

  async seatBody(seat) {
    const entropy = await write.entropyOf(this.session.me, this.id, this.lines[0].head);
    return { entropy_commit: await write.commitEntropy(this.id, seat, entropy), key: this.session.me.text };
  }

  async linkSig(space, { entropy_commit, key }) {
    const said = { entropy_commit, game: this.id, key, name: this.session.me.name, prev: this.last.head };
    return (await write.state(this.link, space, said)).sig;
  }

  // --- what needs no decision ----------------------------------------------------------------------------------------

  /** Sends what is waiting, the seed, and a new key in this game. */
  async advance() {
    await this.deliver();
    await this.deliverStatements();
    const seeds = this.lines.filter(each => each.entry.kind === 'seed').length;
    if (this.status !== 'playing' || this.seat === null) return this;
    if (seeds < 2 && this.seat === 1 - seeds) await this.sendSeed();
    if (this.answer?.actor === this.seat) await this.bringKey();
    return this;
  }

  async sendSeed() {
    const { seat } = this, { entropy_commit, key } = this.lines[seat + 1].entry.body;
    const entropy = await write.entropyOf(await this.signer(key), this.id, this.lines[0].head);
    if (await write.commitEntropy(this.id, seat, entropy) === entropy_commit) {
      await this.post('seed', { entropy });
    } else this.session.remark('entropy-elsewhere'); // another program of the player has drawn it, and must send it
  }

  /** Puts the player's new key in the place of the earlier one. */
  async bringKey() {
    const { name, text: key } = this.session.me, old = this.seats[this.seat].keys.at(-1);
    if (old === key || ['rekey', 'delegate'].includes(this.lines.at(-1).entry.kind)) return;
    if (this.lines.some(each => each.text.includes(key))) return void this.session.remark('key-named-already');
    const place = { game: this.id, prev: this.last.head, seq: this.last.seq + 1 };
    const { sig: proof } = await write.state(this.session.me, 'hkoji.rekey.v1', { ...place, key, name, old });
    const { earlier } = await this.session.player(name);
    if (earlier.some(each => each.key === old && each.revoked)) { // then only the service can declare it
      await this.session.own('POST', `${this.path}/recovery`, { proof });
      await this.fetch();
    } else if (await this.store.get('keys', old)) await this.post('rekey', { key, old, proof });
    else this.session.remark('key-elsewhere');
  }

  /** The key that counts for this player in this game. */
  async signer(key = this.seats[this.seat]?.keys.at(-1) ?? this.session.me.text) {
    const { me } = this.session;
    return key === me.text ? me : await this.store.get('keys', key) ?? refuse('key-elsewhere');
  }

  // --- signing and sending -------------------------------------------------------------------------------------------

  /** Signs the next entry, keeps it, and sends it. `again` allows a second one where the service refused the first. */
  async post(kind, body, { openings = [], action = null, again = false } = {}) {
    const seq = this.last.seq + 1, before = await this.store.get('outbox', [this.id, seq]);
    if (before?.kind === kind && before.action === action) return this.deliver({ refused: true }); // the same bytes
    if (before && !(before.refused && again)) refuse('signed-before', { kind: before.kind, action: before.action });
    const entry = await write.entry(await this.signer(), this.session.me.name, this.last, kind, body);
    const bytes = JSON.stringify(openings.length ? { ...entry, opening: openings } : entry);
    await this.store.keep([
      ['outbox', [this.id, seq], { seq, kind, action, bytes, refused: null }],
      ...openings.map(it => ['openings', [this.id, seq, it.part, it.salt], it]),
    ]);
    return this.deliver();
  }

  /** Sends the kept entry until there is a receipt for it. One that was refused waits for the player. */
  async deliver({ refused = false } = {}) {
    for (const waiting of await this.store.list('outbox', this.id)) {
      if (waiting.refused && !refused) continue;
      let answer;
      try { answer = await this.session.json('POST', `${this.path}/entries`, waiting.bytes) } catch (error) {
        if (!error.refused) throw error;
        await this.store.keep([['outbox', [this.id, waiting.seq], { ...waiting, refused: error.code }]]);
        await this.fetch(); // shows the new head, if there is one
        throw error;
      }
      const { lines, receipt } = answer, fresh = lines.map(lineText), { entry } = JSON.parse(waiting.bytes);
      await this.guarded(fresh, null, async () => {
        if (fresh[0] !== lineText({ ...lines[0], entry, receipt })) refuse('receipt-false', { entry: waiting.seq });
        await this.accept(fresh, null);
      });
      this.session.compareTime(this.lines[waiting.seq].receipt.at, 'receipt-time');
    }
  }

  /** Keeps a statement, and sends it. `head` is that of the entry it is about, if it is about one. */
  async state(place, statement) {
    await this.store.keep([['statements', place, { place, ...statement }]]);
    await this.deliverStatements();
  }

  async deliverStatements() {
    for (const { body, head, login, path, place } of await this.store.list('statements', this.id)) {
      let failed = null;
      if (!head || head === this.last.head) { // one about an earlier entry counts for nothing any more
        try { await this.session.json('POST', path, body, { login }) } catch (error) {
          if (!error.refused) throw error;
          failed = error;
        }
      }
      await this.store.keep([['statements', place, undefined]]);
      if (failed) throw failed;
      await this.fetch(); // a second wish to call the game off ends it
    }
  }

  /** Makes a move of `legal`. */
  move(action, { again = false } = {}) {
    return this.turn(async () => {
      await this.update();
      if (this.answer?.actor !== this.seat || !this.answer.legal.includes(action)) refuse('not-legal-now', { action });
      const { body, opening } = await write.move(this.ruleset, this.last, action);
      await this.post('move', body, { openings: opening, action, again });
      return this;
    });
  }

  resign() { return this.plain('resign', 'playing') }

  /** Takes back a game that nobody has joined. */
  cancel() { return this.plain('cancel', 'open') }

  plain(kind, status) {
    return this.turn(async () => {
      await this.update();
      if (this.has(kind)) return this; // it was kept, and is sent now
      if (this.status !== status) refuse('game-changed');
      await this.post(kind, {}, { again: true });
      return this;
    });
  }
}

/** Opens a new game. `terms` are ruleset, agreement, and `invite`: null, {name, key}, or `link`. */
export async function open(session, { ruleset, agreement, invite }) {
  const { game: id, line } = await session.own('POST', '/v1/offers', { agreement, ruleset });
  const game = new Game(session, id);
  return game.turn(async () => {
    await game.guarded([lineText(line)], null, () => game.accept([lineText(line)], null));
    game.verifyDealer();
    const asked = encode({ agreement, ruleset }), { offer } = game;
    if (encode({ agreement: offer.agreement, ruleset: offer.ruleset }) !== asked) refuse('offer-differs');
    const body = { ...await game.seatBody(0), invite };
    if (invite === 'link') {
      const code = write.fresh(16);
      await session.store.keep([['games', id, { code }]]);
      game.link = await write.linkKey(code);
      body.invite = { link: game.link.text, sig: await game.linkSig('hkoji.invite.v1', body) };
    }
    await game.post('open', body);
    return game;
  });
}

const NOTHING_SEEN = '0'.repeat(64);

/** Says something about the last entry to the service: `give` with the seconds, or `annul`. */
function about(game, kind, more = {}) {
  return game.turn(async () => {
    await game.update();
    const { head } = game.last, { name } = game.session.me;
    const { sig } = await write.state(await game.signer(), `hkoji.${kind}.v1`, { game: game.id, head, name, ...more });
    const body = { head, kind, name, sig, ...more };
    await game.state([game.id, kind, head], { path: `${game.path}/statements`, body, head });
  });
}

/** Gives the opponent so many days for the entry that they owe. */
export const give = (game, days) => about(game, 'give', { seconds: days * 86_400 });

/** Asks to call the game off; the service ends it when both have asked about the same entry. */
export const annul = game => about(game, 'annul');

/** Asks the service to forget that wish. */
export const withdraw = game => game.turn(async () => {
  await game.session.own('DELETE', `${game.path}/statements/annul`);
  await game.fetch();
});

/** Declines an invitation by name. */
export const decline = game => game.turn(async () => {
  await game.session.own('POST', `${game.path}/decline`, {});
  await game.fetch();
});

// --- talk ------------------------------------------------------------------------------------------------------------

/** The messages of the game: `text` null if it was deleted, `proved` if its author has signed it, `gap` if one before
 *  it is missing. */
export async function messages(game) {
  const found = [], seen = new Set([NOTHING_SEEN]), texts = new Set();
  for (let next = 0; next !== null;) {
    const page = await game.session.own('GET', `${game.path}/talk?after=${next}`);
    next = page.next;
    for (const { at, name, number, text, sig } of page.messages) {
      game.talked = number;
      if (text === null) { found.push({ at, name, text, proved: false, gap: false }); continue }
      let said = null, words = '';
      try {
        said = decode(text);
        words = new TextDecoder('utf-8', { fatal: true }).decode(base64(said.text));
      } catch { /* it is no message */ }
      const ours = said?.game === game.id && said.name === name && !texts.has(text);
      const its = ours ? game.seats.find(each => each.name === name)?.keys ?? [] : [];
      const by = await Promise.all(its.map(key => signed(key, 'hkoji.talk.v1', sig, text)));
      found.push({ at, name, text: words, proved: by.includes(true), gap: ours && !seen.has(said.after) });
      texts.add(text);
      seen.add(game.lastMessage = await sha256(text));
    }
  }
  return found;
}

/** Whether there are messages after those that were read last. */
export const hasNews = async ({ path, session, talked = 0 }) =>
  (await session.own('GET', `${path}/talk?after=${talked}&limit=1`)).messages.length > 0;

/** Sends a message to the opponent. @param {string} words */
export const say = (game, words) => game.turn(async () => {
  await game.load();
  await messages(game);
  const after = game.lastMessage ?? NOTHING_SEEN, { name } = game.session.me, text = to64(bytes(words));
  const said = { after, at: write.now(), game: game.id, name, text };
  const body = await write.state(await game.signer(), 'hkoji.talk.v1', said);
  await game.state([game.id, 'talk', after], { path: `${game.path}/talk`, body, login: true });
});
