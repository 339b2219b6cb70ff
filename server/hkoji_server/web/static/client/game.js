// Plays one game for the player of this browser: reads and checks its log, signs entries, sends them until there is a
// receipt. docs/spec/log.md, "Client rules". It knows no rules: the service says what is legal, and the signed view which
// cards there are. All that is signed is kept first; what is kept is sent, and nothing else is signed for its place.
import { bytes, decode, encode, sha256 } from '../log/text.js';
import { signed } from '../log/sig.js';
import { parseLine } from '../log/check.js';
import * as write from '../log/write.js';
import * as trust from './trust.js';

const { refuse } = trust;
const quoted = text => `"${text.replaceAll('"', '\\"')}"`;
const formatted = ({ entry, receipt, sig }) => `{"entry":${quoted(entry)},"receipt":{"sig":"${receipt.sig}","text":`
  + `${quoted(receipt.text)}},"sig":"${sig}"}`;
const ENDS = ['lapse', 'cancel', 'resign', 'timeout', 'annul', 'end'];

/** The link of an invitation in an address: the game and the code, or null. */
export function readLink(address) {
  const found = /\/i\/([0-9a-f]{32})#([0-9a-f]{32})$/.exec(address);
  return found && { game: found[1], code: found[2] };
}

export class Game {
  /** @param {import('./session.js').Session} session @param {string} id */
  constructor(session, id) {
    this.session = session;
    this.id = id;
    this.path = `/v1/games/${id}`;
    this.raw = []; // the lines as they came
    this.lines = []; // the same, read
    this.deal = [];
    this.answer = null; // the last answer about the own view
    this.clock = null; // what the service says beside the log
  }

  get store() { return this.session.store }
  get server() { return this.session.service.key }
  get offer() { return this.lines[0]?.entry.body }
  get seats() { return trust.seatsOf(this.lines) }
  get ruleset() { return this.offer.ruleset.name }

  /** The seat of this player: 0, 1, or null. */
  get seat() {
    const { me } = this.session, found = me ? this.seats.findIndex(each => each.name === me.name) : -1;
    return found < 0 ? null : found;
  }

  /** The last entry, as the next one names it. */
  get last() {
    const { entry, head, receipt } = this.lines.at(-1);
    return { game: this.id, seq: entry.seq, head, time: receipt.at };
  }

  has(...kinds) { return this.lines.some(each => kinds.includes(each.entry.kind)) }

  /** `offered`, `open`, `playing` or `over`: as far as the log says it without rules. */
  get status() {
    if (this.has(...ENDS)) return 'over';
    return this.has('join') ? 'playing' : this.has('open') ? 'open' : 'offered';
  }

  // --- reading -------------------------------------------------------------------------------------------------------

  /** Lets no other tab act in this game meanwhile. */
  turn(work) {
    return this.session.lock(`hkoji:${this.id}`, async () => {
      await this.load();
      return work();
    });
  }

  /** Takes up what another tab has kept meanwhile. */
  async load() {
    const raw = await this.store.list('lines', this.id);
    if (raw.length > this.raw.length) await this.read(raw);
  }

  async read(raw) {
    const result = await this.session.check(bytes(raw.map(line => `${line}\n`).join('')), { server: [this.server] });
    if (result.found.length) refuse('log-fails', result.found[0]);
    const lines = result.lines.map((line, n) => ({ ...line, line: raw[n] }));
    if (lines[0].entry.game !== this.id) refuse('another-game');
    if (lines.some(each => !each.receipt)) refuse('no-receipt');
    Object.assign(this, { raw, lines, deal: result.deal, result });
    return lines;
  }

  /** Brings the game up to date, and sends what is waiting or needs no decision. */
  refresh() { return this.turn(() => this.update()) }

  async update() {
    await this.fetch();
    await this.advance();
    return this;
  }

  async fetch() {
    if (!this.lines.length || this.seat === null) await this.fetchLog();
    if (this.seat !== null) await this.fetchView();
  }

  async fetchLog() {
    const count = this.raw.length, after = count ? `?after=${count - 2}` : '';
    const fresh = (await this.session.call('GET', `${this.path}/log${after}`)).split('\n').filter(Boolean);
    if (count && fresh.shift() !== this.raw.at(-1)) {
      await this.refused(fresh);
      refuse(fresh.length ? 'log-differs' : 'log-shorter');
    }
    await this.accept(fresh);
  }

  async fetchView() {
    const last = this.raw.length - 1, { json } = this.session;
    const answer = await json.call(this.session, 'GET', `${this.path}/view?after=${last}&clock=true`, undefined, { login: true });
    const fresh = answer.lines.map(formatted);
    if (answer.seq < last || (answer.seq === last && answer.head !== this.last.head)) {
      await this.refused(fresh, answer);
      refuse(answer.seq < last ? 'log-shorter' : 'log-differs');
    }
    await this.accept(fresh, answer);
    this.clock = answer.clock ?? null;
  }

  /** Checks new lines, and a view and head of the last of them, against all that is kept here; then keeps them. */
  async accept(fresh, answer = null) {
    const { id, server, session, store } = this, before = { raw: this.raw, lines: this.lines };
    let pins, view, head;
    try {
      const lines = fresh.length ? await this.read([...this.raw, ...fresh]) : this.lines;
      const heads = (await store.list('heads', id)).flat().map(each => decode(each.text));
      if (answer?.signed_head) heads.push(head = await trust.readHead(server, answer.signed_head, id));
      trust.verifyHeads(heads, lines);
      if (answer) view = await this.verifyView(answer);
      const { me, service: { origin } } = session;
      pins = await trust.meet(lines, {
        me: me?.name, origin, pinOf: name => store.get('pins', name), ask: name => session.player(name),
      });
    } catch (error) {
      Object.assign(this, before);
      if (error instanceof trust.Refused) await this.refused(fresh, answer);
      throw error;
    }
    for (const [key, values] of pins.remarks) session.remark(key, values);
    if (head) session.compareTime(head.at, 'head-time');
    const start = before.raw.length;
    const changes = fresh.map((line, n) => ['lines', [id, start + n], line]);
    changes.push(...pins.pins.map(pin => ['pins', pin.name, pin]));
    for (const waiting of await store.list('outbox', id)) {
      const taken = this.lines[waiting.seq];
      if (!taken) continue;
      changes.push(['outbox', [id, waiting.seq], undefined]);
      if (taken.text !== JSON.parse(waiting.bytes).entry) session.remark('place-taken', { entry: waiting.seq });
    }
    if (view) changes.push(...await this.viewChanges(answer, view));
    if (head) changes.push(...await trust.keepHead(store, id, answer.signed_head, answer.clock?.deadline));
    await store.keep(changes);
    if (answer) this.answer = answer;
  }

  async verifyView(answer) {
    const { id, lines, server } = this, kept = await this.store.get('games', id);
    const view = await trust.readView(server, answer.view, id), last = lines.at(-1);
    if (view.head !== last.head || view.seq !== last.entry.seq || view.seat !== this.seat) refuse('view-elsewhere');
    trust.verifyGrowth(kept?.view, view);
    if (this.has('end')) trust.verifyEnd(this.deal, view, this.seat, write.NOTATION[this.ruleset].width);
    this.openings = await this.ownOpenings(answer.openings);
    this.hand = view.dealt.length ? this.handOf(view.dealt.at(-1).cards) : [];
    for (const action of answer.legal) this.verifyAction(action);
    return view;
  }

  async viewChanges(answer, view) {
    const { id, store } = this, kept = await store.get('games', id);
    const changes = [['games', id, { ...kept, view }]];
    if (JSON.stringify(kept?.view?.dealt ?? []) !== JSON.stringify(view.dealt)) {
      changes.push(...await trust.keepView(store, id, answer.view));
    }
    return [...changes, ...this.openings.map(it => ['openings', [id, it.seq, it.part, it.salt], it])];
  }

  /** Keeps as evidence what the service has signed of what was refused. */
  async refused(fresh, answer = null) {
    const lines = [];
    for (const line of fresh) {
      try { lines.push({ ...parseLine(line), line }) } catch { /* a file of evidence has no line that cannot be read */ }
    }
    let head = answer?.signed_head;
    // A late entry convicts only with the service's word on what follows it.
    if (lines.length && !head) head = await this.session.json('GET', `${this.path}/head`).catch(() => null);
    await trust.keepRefused(this.store, this.server, this.id, { lines, view: answer?.view, head });
  }

  /** The file of evidence of this game. */
  evidence(options) { return trust.evidenceFile(this.store, this.server, this.id, this.lines, options) }

  // --- own cards -----------------------------------------------------------------------------------------------------

  /** Those openings, of here and of the service, that open face-down cards of this player in the log. */
  async ownOpenings(told) {
    const found = [];
    for (const it of [...await this.store.list('openings', this.id), ...told]) {
      const commit = this.lines[it.seq]?.entry.body.commit?.[it.part];
      const fits = commit === await sha256('hkoji.hidden.v1', this.id, it.seq, it.part, it.cards, it.salt);
      if (fits && !found.some(each => each.salt === it.salt)) found.push(it);
    }
    return found;
  }

  /** The cards of the round that are still in the hand: those of the view, less what was played since. */
  handOf(dealt) {
    const { width, acts } = write.NOTATION[this.ruleset];
    const cut = text => text.match(new RegExp(`.{${width}}`, 'g')) ?? [], hand = cut(dealt);
    const start = this.lines.findLastIndex(each => each.entry.kind === 'reveal');
    for (const { entry: { body, by, kind, seq } } of this.lines.slice(start + 1)) {
      if (kind !== 'move' || by !== this.session.me.name || !acts.includes(body.action[0])) continue;
      const down = this.openings.filter(each => each.seq === seq).map(each => each.cards).join('');
      const played = body.commit ? cut(down) : write.cardsOf(this.ruleset, body.action);
      for (const card of played) {
        if (!hand.includes(card)) refuse('card-not-shown', { entry: seq });
        hand.splice(hand.indexOf(card), 1);
      }
    }
    return hand;
  }

  verifyAction(action) {
    if (!write.NOTATION[this.ruleset].acts.includes(action[0])) return;
    const left = [...this.hand];
    for (const card of write.cardsOf(this.ruleset, action)) {
      if (!left.includes(card)) refuse('legal-outside-hand', { action });
      left.splice(left.indexOf(card), 1);
    }
  }

  /** The own view, after bringing the game up to date: null for a spectator. */
  async view() {
    await this.refresh();
    if (this.seat === null || !this.answer) return null;
    const { actor, head, legal, seat, seq, state, status } = this.answer;
    const round = this.lines.findLastIndex(each => each.entry.kind === 'reveal');
    const faceDown = this.openings.filter(each => each.seq > round);
    return { actor, head, legal, seat, seq, state, status, hand: this.hand, faceDown, clock: this.clock };
  }

  // --- taking a seat -------------------------------------------------------------------------------------------------

  /** Checks that the game was opened with this code, before anything is signed. Returns what a guest has to see. */
  async verifyLink(code) {
    const { body: { invite, gateway }, by } = this.lines[1]?.entry ?? refuse('link-not-open');
    const link = await write.linkKey(code);
    if (this.offer.dealer.name !== 'server/v1') refuse('dealer-alone', { dealer: this.offer.dealer.name });
    if (invite?.link !== link.text) refuse('link-differs');
    this.link = link;
    return { host: by, held: Boolean(gateway), ruleset: this.offer.ruleset, agreement: this.offer.agreement };
  }

  /** Why nobody can join any more: null, `used`, `expired`, `declined`, `cancelled`. */
  get closed() {
    const { body, kind } = this.lines[2]?.entry ?? {};
    if (kind === 'lapse') return body.reason;
    return { join: 'used', cancel: 'cancelled', [kind ?? '']: kind ? 'cancelled' : null }[kind ?? ''];
  }

  /** Joins, by the verified link or the own name, and sends the seed. `seen` is the head that the player was shown. */
  join({ seen }) {
    return this.turn(async () => {
      await this.update();
      const { id, lines, link, session: { me } } = this, { invite } = lines[1].entry.body;
      if (this.seat === 0) refuse('own-game');
      if (this.seat === 1) return this;
      if (this.closed) refuse(`link-${this.closed}`);
      if (this.last.head !== seen) refuse('game-changed');
      if (this.offer.dealer.name !== 'server/v1') refuse('dealer-alone', { dealer: this.offer.dealer.name });
      if (invite?.link && invite.link !== link?.text) refuse('link-differs');
      if (invite?.name && (invite.name !== me.name || (invite.key && invite.key !== me.text))) refuse('invited-other');
      const body = await this.seatBody(1);
      if (invite?.link) body.link_sig = await this.linkSig('hkoji.join.v1', body.entropy_commit);
      await this.post('join', body);
      return this.advance();
    });
  }

  async entropy() { return write.entropyOf(this.session.me, this.id, this.lines[0].head) }

  async seatBody(seat) {
    return { entropy_commit: await write.commitEntropy(this.id, seat, await this.entropy()), key: this.session.me.text };
  }

  async linkSig(space, commit) {
    const { name, text: key } = this.session.me;
    const said = { entropy_commit: commit, game: this.id, key, name, prev: this.last.head };
    return (await write.state(this.link, space, said)).sig;
  }

  // --- signing and sending -------------------------------------------------------------------------------------------

  /** Does what needs no decision: sends what is waiting, the seed, and a new key in this game. */
  async advance() {
    await this.deliver();
    const owes = this.has('join') && !this.has(...ENDS);
    const seeds = this.lines.filter(each => each.entry.kind === 'seed').length;
    if (owes && seeds < 2 && this.seat === 1 - seeds) await this.sendSeed();
    if (owes && this.answer?.actor === this.seat && this.seat !== null) await this.bringKey();
    return this;
  }

  async sendSeed() {
    const own = this.lines.find(each => ['open', 'join'].includes(each.entry.kind) && each.entry.by === this.session.me.name);
    const entropy = await this.entropy();
    if (await write.commitEntropy(this.id, this.seat, entropy) !== own.entry.body.entropy_commit) {
      this.session.remark('entropy-elsewhere'); // another program of the player has drawn it, and must send it
    } else await this.post('seed', { entropy });
  }

  /** Puts the player's new key in the place of the earlier one. */
  async bringKey() {
    const { me } = this.session, old = this.seats[this.seat].key, kinds = ['rekey', 'delegate'];
    const named = this.lines.some(each => each.text.includes(me.text));
    if (old === me.text || kinds.includes(this.lines.at(-1).entry.kind)) return;
    if (named) return void this.session.remark('key-named-already');
    const place = { game: this.id, prev: this.last.head, seq: this.last.seq + 1 };
    const { sig: proof } = await write.state(me, 'hkoji.rekey.v1', { ...place, key: me.text, name: me.name, old });
    if (await this.store.get('keys', old)) await this.post('rekey', { key: me.text, old, proof });
    else {
      const player = await this.session.player(me.name);
      if (!player.earlier.some(each => each.key === old && each.revoked)) return void this.session.remark('key-elsewhere');
      await this.session.json('POST', `${this.path}/recovery`, { proof }, { login: true });
      await this.fetch();
    }
  }

  /** The key that counts for this player in this game. */
  async signer() {
    const { me } = this.session, key = this.seats[this.seat]?.key ?? me.text;
    return key === me.text ? me : await this.store.get('keys', key) ?? refuse('key-elsewhere');
  }

  /** Signs the next entry, keeps it, and sends it. `again` allows a second one where the service refused the first. */
  async post(kind, body, { openings = [], action = null, again = false } = {}) {
    const place = [this.id, this.last.seq + 1], before = await this.store.get('outbox', place);
    if (before && !(before.kind === kind && before.action === action)) {
      if (!before.refused || !again) refuse('signed-before', { kind: before.kind, action: before.action });
    } else if (before) return this.deliver(true); // the same once more: the same bytes
    const signer = this.seat === null ? this.session.me : await this.signer();
    const entry = await write.entry(signer, this.session.me.name, this.last, kind, body);
    const bytes_ = JSON.stringify(openings.length ? { ...entry, opening: openings } : entry);
    await this.store.keep([
      ['outbox', place, { seq: place[1], kind, action, bytes: bytes_, refused: null }],
      ...openings.map(it => ['openings', [this.id, it.seq, it.part, it.salt], it]),
    ]);
    return this.deliver();
  }

  /** Sends the entry that is kept until there is a receipt for it. One that was refused waits for the player. */
  async deliver(refusedToo = false) {
    for (const waiting of await this.store.list('outbox', this.id)) {
      if (waiting.refused && !refusedToo) continue;
      let answer;
      try { answer = await this.session.json('POST', `${this.path}/entries`, waiting.bytes) } catch (error) {
        if (error.refused) {
          await this.store.keep([['outbox', [this.id, waiting.seq], { ...waiting, refused: error.code }]]);
          await this.fetch(); // shows the new head, if there is one
        }
        throw error;
      }
      await this.verifyReceipt(waiting, answer);
      await this.fetch();
      if (this.lines[waiting.seq]?.receiptText !== answer.receipt.text) refuse('another-receipt', { entry: waiting.seq });
    }
  }

  async verifyReceipt(waiting, { lines, receipt: { sig, text } }) {
    const { entry } = JSON.parse(waiting.bytes), said = decode(text, 1024);
    const fits = said.game === this.id && said.seq === waiting.seq && said.head === await sha256(entry);
    if (!fits || !await signed(this.server, 'hkoji.receipt.v1', sig, text)) {
      await this.refused(lines.map(formatted));
      refuse('receipt-false', { entry: waiting.seq });
    }
    this.session.compareTime(said.at, 'receipt-time');
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

  resign() { return this.plain('resign') }

  /** Takes back a game that nobody has joined. */
  cancel() { return this.plain('cancel') }

  plain(kind) {
    return this.turn(async () => {
      await this.update();
      await this.post(kind, {}, { again: true });
      return this;
    });
  }
}

/** Opens a new game. `terms` are ruleset, agreement, and `invite`: null, {name, key}, or `link`. */
export async function open(session, { ruleset, agreement, invite }) {
  const { game: id, line } = await session.json('POST', '/v1/offers', { agreement, ruleset }, { login: true });
  const game = new Game(session, id);
  return game.turn(async () => {
    await game.accept([formatted(line)]);
    const { offer } = game, same = (a, b) => encode(a) === encode(b);
    if (!same(offer.ruleset, ruleset) || !same(offer.agreement, agreement) || offer.dealer.name !== 'server/v1') {
      refuse('offer-differs');
    }
    const body = { ...await game.seatBody(0), invite };
    if (invite === 'link') {
      const code = write.fresh(16);
      await session.store.keep([['games', id, { code }]]);
      game.link = await write.linkKey(code);
      body.invite = { link: game.link.text, sig: await game.linkSig('hkoji.invite.v1', body.entropy_commit) };
    }
    await game.post('open', body);
    return game;
  });
}
