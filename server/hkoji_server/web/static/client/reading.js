// Reads one game as its player sees it: the log, the own cards, what the service says beside them. It believes nothing
// that it has not checked against all that is kept here, and keeps as evidence what it refuses. It signs nothing.
import { bytes, decode, lineText, sha256 } from '../log/text.js';
import { clockAfter, creditsOf, seconds, timeText } from '../log/times.js';
import { cardsOf, cut, NOTATION, without } from '../log/write.js';
import * as trust from './trust.js';

const { refuse } = trust;

export class Reading {
  /** @param {import('./session.js').Session} session @param {string} id */
  constructor(session, id) {
    this.session = session;
    this.id = id;
    this.path = `/v1/games/${id}`;
    /** @type {any[]} the lines, read */ this.lines = [];
    /** @type {any[]} the cards of each round, once the seed is known */ this.deal = [];
    /** @type {any} the last answer about the own view */ this.answer = null;
    /** @type {any[]} those that open own face-down cards */ this.openings = [];
    /** @type {string[]} the own cards */ this.hand = [];
  }

  get store() { return this.session.store }
  /** Where `meta` keeps what the player is to be told of this game, also by another page that has learned it. */
  get remarksPlace() { return `remarks ${this.id}` }
  get server() { return this.session.service.key }
  get offer() { return this.lines[0].entry.body }
  get seats() { return trust.seatsOf(this.lines) }
  get players() { return this.seats.map(each => each.name).sort() }
  get ruleset() { return this.offer.ruleset.name }
  get clock() { return this.answer?.clock ?? null }

  /** The seat of this player: 0, 1, or null. */
  get seat() {
    const { me, mine } = this.session;
    const found = this.seats.findIndex(each => each.name === me?.name && each.keys.some(key => mine.includes(key)));
    return found < 0 ? null : found;
  }

  /** The last entry, as the next one names it. */
  get last() {
    const { entry, head, receipt } = this.lines.at(-1);
    return { game: this.id, seq: entry.seq, head, time: receipt.at };
  }

  /** Why the game is over, and the seat of the winner, null if nobody has won; while it runs undefined. */
  get result() { return this.lines.find(each => each.entry.kind === 'end')?.entry.body.result }

  has(kind) { return this.lines.some(each => each.entry.kind === kind) }

  /** `offered`, `open`, `playing` or `over`: as far as the log says it without rules. */
  get status() {
    if (this.has('end')) return 'over';
    return this.has('join') ? 'playing' : this.has('open') ? 'open' : 'offered';
  }

  // --- what is new ---------------------------------------------------------------------------------------------------

  /** Takes up what another tab has kept meanwhile. */
  async load() {
    const raw = await this.store.list('lines', this.id);
    if (raw.length > this.lines.length) Object.assign(this, await this.read(raw));
  }

  async fetch() {
    if (!this.lines.length || this.seat === null) await this.fetchLog();
    if (this.seat !== null) await this.fetchView();
  }

  async fetchLog() {
    const count = this.lines.length, after = count ? `?after=${count - 2}` : ''; // the last one again, to compare it
    const fresh = (await this.session.call('GET', `${this.path}/log${after}`)).split('\n').filter(Boolean);
    const same = !count || fresh[0] === this.lines.at(-1).line;
    if (!count && fresh[0]?.includes('\\"sealed/v1\\"')) refuse('dealer-sealed', { game: this.id.slice(0, 8) });
    await this.guarded(fresh, null, async () => {
      if (!same) refuse(fresh.length ? 'log-differs' : 'log-shorter');
      await this.accept(count ? fresh.slice(1) : fresh, null);
    });
  }

  async fetchView() {
    const last = this.lines.length - 1, path = `${this.path}/view?after=${last}&clock=true`;
    const answer = await this.session.own('GET', path);
    const fresh = answer.lines.map(lineText);
    await this.guarded(fresh, answer, async () => {
      if (answer.seq < last) refuse('log-shorter');
      if (answer.seq === last && answer.head !== this.last.head) refuse('log-differs');
      await this.accept(fresh, answer);
    });
  }

  /** Keeps as evidence what the service has signed of an answer that `work` refuses. */
  async guarded(fresh, answer, work) {
    const { lines } = this;
    try { await work() } catch (error) {
      this.lines = lines;
      if (!(error instanceof trust.Refused)) throw error;
      // A late entry convicts only with the service's word on what follows it.
      const head = answer?.signed_head ?? await this.session.json('GET', `${this.path}/head`).catch(() => null);
      await trust.keepRefused(this.store, this.server, this.id, { fresh, view: answer?.view, head });
      throw error;
    }
  }

  /** Checks a whole log. Returns its lines, read, and the deal. */
  async read(raw) {
    const result = await this.session.check(bytes(raw.map(line => `${line}\n`).join('')), { server: [this.server] });
    if (result.found.length) {
      const { step, entry, text, values } = result.found[0];
      refuse('log-fails', { step, entry, why: { key: text, values } });
    }
    const { deal, lines } = result, { entry: { by, game, kind, seq }, receipt } = lines.at(-1);
    if (game !== this.id) refuse('another-game');
    if (!receipt) refuse('no-receipt');
    // The audit does not judge the last entry by the clock, because its credit could follow. An answer has all of both.
    const clock = kind === 'seed' || kind === 'move' ? clockAfter(lines.slice(0, -1)) : null;
    const seat = trust.seatsOf(lines).findIndex(each => each.name === by);
    if (clock?.runs && clock.isLate(seat, seconds(receipt.at))) refuse('entry-late', { entry: seq });
    return { lines, deal };
  }

  /** Checks new lines, and a view and head after the last of them, against all that is kept here; then keeps them. */
  async accept(fresh, answer) {
    const { id, server, session, store } = this, start = this.lines.length, changes = [];
    if (fresh.length) Object.assign(this, await this.read([...this.lines.map(each => each.line), ...fresh]));
    const heads = (await store.list('heads', id)).flat().map(each => decode(each.text));
    if (answer?.signed_head) {
      heads.push(await trust.readStatement(server, 'head', answer.signed_head, id));
      changes.push(...await trust.keepHead(store, id, answer.signed_head, answer.clock?.deadline));
    }
    trust.verifyHeads(heads, this.lines);
    if (answer) changes.push(...await this.acceptView(answer));
    const { pins, remarks } = await trust.meet(this.lines, {
      me: session.me?.name, origin: session.service.origin, pinOf: name => store.get('pins', name),
      ask: name => session.player(name),
    });
    changes.push(...pins.map(pin => ['pins', pin.name, pin]));
    changes.push(...fresh.map((line, n) => ['lines', [id, start + n], line]));
    for (const { bytes: sent, seq } of await store.list('outbox', id)) {
      if (seq >= this.lines.length) continue;
      changes.push(['outbox', [id, seq], undefined]);
      if (this.lines[seq].text !== JSON.parse(sent).entry) remarks.push(['place-taken', { entry: seq }]);
    }
    const told = await store.get('meta', this.remarksPlace) ?? [], all = [...told, ...remarks];
    const unseen = [...new Map(all.map(each => [JSON.stringify(each), each])).values()];
    if (unseen.length > told.length) changes.push(['meta', this.remarksPlace, unseen]);
    await store.keep(changes);
    for (const [key, values] of unseen) session.remark(key, values);
    if (answer?.signed_head) session.compareTime(heads.at(-1).at, 'head-time');
    this.answer = answer;
  }

  // --- own cards -----------------------------------------------------------------------------------------------------

  /** Checks the own view. Returns what is to be kept of it. */
  async acceptView(answer) {
    const { id, server, store } = this, kept = await store.get('games', id), last = this.last;
    const view = await trust.readStatement(server, 'view', answer.view, id);
    if (view.head !== last.head || view.seq !== last.seq || view.seat !== this.seat) refuse('view-elsewhere');
    trust.verifyGrowth(kept?.view, view);
    if (this.has('end')) trust.verifyEnd(this.deal, view, this.seat, this.ruleset);
    this.openings = await this.ownOpenings(answer.openings);
    this.hand = view.dealt.length ? this.handOf(view.dealt.at(-1).cards) : [];
    const { acts } = NOTATION[this.ruleset];
    for (const action of answer.legal.filter(each => acts.includes(each[0]))) {
      if (!without(this.hand, cardsOf(this.ruleset, action))) refuse('legal-outside-hand', { action });
    }
    const same = JSON.stringify(kept?.view?.dealt ?? []) === JSON.stringify(view.dealt);
    return [
      ['games', id, { ...kept, view }], ...same ? [] : await trust.keepView(store, id, answer.view),
      ...this.openings.map(it => ['openings', [id, it.seq, it.part, it.salt], it]),
    ];
  }

  /** Those openings, of here and of the service, that open face-down cards of the log. */
  async ownOpenings(told) {
    const found = new Map();
    for (const it of [...await this.store.list('openings', this.id), ...told]) {
      const commit = this.lines[it.seq]?.entry.body.commit?.[it.part];
      const hash = await sha256('hkoji.hidden.v1', this.id, it.seq, it.part, it.cards, it.salt);
      if (commit === hash) found.set(hash, it);
    }
    return [...found.values()];
  }

  /** The number of the last entry of the round before. */
  get roundStart() { return this.lines.findLastIndex(each => each.entry.kind === 'reveal') }

  /** The cards of the round that are still in the hand: those of the view, less what was played since. */
  handOf(dealt) {
    const { ruleset } = this, { acts } = NOTATION[ruleset];
    let hand = cut(ruleset, dealt);
    for (const { entry: { body, by, kind, seq } } of this.lines.slice(this.roundStart + 1)) {
      if (kind !== 'move' || by !== this.session.me.name || !acts.includes(body.action[0])) continue;
      const down = this.openings.filter(each => each.seq === seq).map(each => each.cards).join('');
      const played = body.commit ? cut(ruleset, down) : cardsOf(ruleset, body.action);
      hand = without(hand, played) ?? refuse('card-not-shown', { entry: seq });
    }
    return hand;
  }

  /** The deadline of the entry that is owed, by the log and by what the service says of it; null without a clock. */
  get deadline() {
    const { clock: said } = this, clock = said && clockAfter(this.lines);
    if (!clock?.runs) return null;
    const gift = Math.max(0, ...said.gifts.map(each => each.seconds));
    const deadline = timeText(clock.deadline(said.seat, creditsOf(clock.control, gift, said.outages)));
    if (deadline !== said.deadline) this.session.remark('deadline-differs', { deadline, told: said.deadline });
    return deadline;
  }

  /** The file of evidence of this game; while it runs, own cards are in it only with `cards`. */
  evidence(options) { return trust.evidenceFile(this.store, this.server, this.id, this.lines, options) }
}
