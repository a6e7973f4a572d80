/** What is remembered by place, against a world in which hosts take, lose and hide things: what was withdrawn is owed until it was brought there. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  currentPlace,
  type LastPublished,
  NOTHING,
  PLACES_LIMITS,
  type Place,
  placeOf,
  placesToWithdraw,
  unfinishedOf,
  withBegun,
  withNews,
  withoutKeyServer,
  withoutOwed,
  withoutOwedByKeyServer,
  withoutPlace,
  withPublished,
  withShown,
  withTelling,
  withTold,
  withWithdrawn,
} from '../../publisher/published-places.ts';

const snapshotOf = (version: number) => ({ version, sha256: String(version).padStart(64, '0') });

interface Showing {
  readonly version: number;
  readonly withdrawn: readonly number[];
}

const PLACES: readonly Place[] = ['A', 'B', null];
const one = <Value>(...values: readonly Value[]) => fc.constantFrom(...values);
/** Which of A, B, the output and the key server answer. */
const reach = fc.record({ A: fc.boolean(), B: fc.boolean(), keyServer: fc.boolean() });
const ACTIONS = fc.oneof(
  fc.record({
    what: one('publish' as const),
    place: one(...PLACES),
    cut: one('taken', 'lost', undefined),
    isNew: fc.boolean(),
    hasToken: fc.boolean(),
    reach,
  }),
  fc.record({
    what: one('withdraw' as const),
    version: fc.nat({ max: 8 }),
    cut: fc.boolean(),
    hasToken: fc.boolean(),
    reach,
  }),
  fc.record({ what: one('timestamp' as const), hasToken: fc.boolean(), reach }),
  fc.record({ what: one('arrive' as const), place: one(...PLACES) }),
);
type Action = typeof ACTIONS extends fc.Arbitrary<infer Value> ? Value : never;
type Reach = typeof reach extends fc.Arbitrary<infer Value> ? Value : never;

/** What hosts and key server really have, beside what is remembered of them. */
class World {
  last: LastPublished = NOTHING;
  readonly shows = new Map<Place, Showing>();
  keyServer: Showing | undefined;
  readonly #late = new Map<Place, Showing>();
  readonly numbers: number[] = [];
  #out = 0;

  do(action: Action): void {
    if (action.what === 'publish') this.#publish(action);
    else if (action.what === 'withdraw') this.withdraw(1 + (action.version % Math.max(1, this.#out)), action);
    else if (action.what === 'timestamp') this.#confirm(action);
    else this.#arrive(action.place);
  }

  #says(version: number): Showing {
    return { version, withdrawn: this.last.withdrawn.filter((each) => each <= version) };
  }

  #publish({ place, cut, isNew, hasToken, reach }: Action & { what: 'publish' }): void {
    if (isNew || this.#out === 0) {
      this.#out = this.last.highest + 1;
      this.numbers.push(this.#out);
    }
    const shown = this.#says(this.#out);
    if ((this.shows.get(place)?.version ?? 0) > this.#out) return; // it is refused
    if (place !== null) this.last = withBegun(this.last, place, snapshotOf(this.#out));
    if (cut === 'lost' && place !== null) return void this.#late.set(place, shown);
    this.shows.set(place, shown);
    this.#late.delete(place);
    if (cut !== undefined && place !== null) return;
    this.last = withPublished(this.last, place, snapshotOf(this.#out), { ...shown, publication: shown.version });
    if (hasToken) this.#tell(shown, reach);
  }

  #tell(shown: Showing, { keyServer }: Reach): void {
    this.last = withTelling(this.last, shown.version);
    if (!keyServer || shown.version < (this.keyServer?.version ?? 0)) return;
    this.keyServer = shown;
    this.last = withTold(this.last, { ...shown, publication: shown.version });
  }

  /** As the command does it: who shows something lower owes nothing; all others do, until they were brought it. */
  withdraw(version: number, { cut, hasToken, reach }: { cut: boolean; hasToken: boolean; reach: Reach }): void {
    const names = placesToWithdraw(this.last, version);
    const isReached = (place: Place) => place === null || reach[place as 'A' | 'B'];
    const isLower = (place: Place) => isReached(place) && (this.shows.get(place)?.version ?? 0) < version;
    const owing = names.filter((place) => !isLower(place));
    const isSigned = owing.some(isReached);
    for (const place of names.filter(isLower)) this.last = withoutOwed(this.last, place, version);
    const mayKnow = this.last.keyServer.told >= version;
    if (owing.length === 0 && (!reach.keyServer || this.keyServer?.version !== version)) {
      if (reach.keyServer || !mayKnow) this.last = withoutOwedByKeyServer(this.last, version);
      if (names.length > 0) this.last = withNews(this.last, { withdrawn: [version] });
      return;
    }
    if (!isSigned && owing.length > 0) return;
    this.last = withWithdrawn(this.last, version, { places: owing, keyServer: mayKnow });
    if (cut) return;
    const brought = owing.filter(isReached).map((place) => this.#bring(place));
    const highest = Math.max(version, ...brought);
    if (hasToken && mayKnow) this.#tell(this.#says(highest), reach);
  }

  #bring(place: Place): number {
    const shown = this.#says(this.shows.get(place)?.version ?? 0);
    this.shows.set(place, shown);
    this.last = withShown(this.last, place, { ...shown, publication: shown.version });
    return shown.version;
  }

  #confirm({ reach }: Action & { what: 'timestamp' }): void {
    const place = currentPlace(this.last);
    if (place === undefined || (place.target !== null && !reach[place.target as 'A' | 'B'])) return;
    const version = this.shows.get(place.target)?.version ?? 0;
    if (version === 0 || this.last.withdrawn.includes(version) || place.owed.some((owed) => owed > version)) return;
    this.#bring(place.target);
  }

  #arrive(place: Place): void {
    const late = this.#late.get(place);
    this.#late.delete(place);
    if (late && late.version > (this.shows.get(place)?.version ?? 0)) this.shows.set(place, late);
  }
}

const worldAfter = (actions: readonly Action[]) => {
  const world = new World();
  for (const action of actions) world.do(action);
  return world;
};
const RUNS = { numRuns: 600 };
const ALL: Reach = { A: true, B: true, keyServer: true };

describe('whatever is published, cut off, withdrawn, confirmed and arrives late,', () => {
  it('a version that is withdrawn, and that a place shows all the same, is brought there by the same command', () => {
    fc.assert(
      fc.property(fc.array(ACTIONS, { maxLength: 14 }), (actions) => {
        const { last, shows, keyServer } = worldAfter(actions);
        for (const [place, { version, withdrawn }] of shows)
          if (last.withdrawn.includes(version) && !withdrawn.includes(version))
            expect(placesToWithdraw(last, version)).toContain(place);
        if (keyServer && last.withdrawn.includes(keyServer.version) && !keyServer.withdrawn.includes(keyServer.version))
          expect(last.keyServer.owed).toContain(keyServer.version);
      }),
      RUNS,
    );
  });

  it('what is owed is brought by it, once all answer: nothing stays unfinished', () => {
    fc.assert(
      fc.property(fc.array(ACTIONS, { maxLength: 14 }), (actions) => {
        const world = worldAfter(actions);
        for (const { version } of unfinishedOf(world.last))
          world.withdraw(version, { cut: false, hasToken: true, reach: ALL });
        expect(unfinishedOf(world.last)).toEqual([]);
      }),
      RUNS,
    );
  });

  it('no number is given twice, and the highest never goes down', () => {
    fc.assert(
      fc.property(fc.array(ACTIONS, { maxLength: 14 }), (actions) => {
        const world = new World();
        for (const action of actions) {
          const { highest } = world.last;
          world.do(action);
          expect(world.last.highest).toBeGreaterThanOrEqual(highest);
        }
        expect(new Set(world.numbers).size).toBe(world.numbers.length);
      }),
      RUNS,
    );
  });
});

describe('what is owed by one place', () => {
  const published = (...places: readonly Place[]) =>
    places.reduce((all, place) => withPublished(all, place, snapshotOf(1), undefined), NOTHING);
  const owing = withWithdrawn(published('A', 'B', null), 1, { places: ['A', 'B', null], keyServer: true });
  const owedIn = (last: LastPublished) =>
    unfinishedOf(last).flatMap(({ places, atKeyServer }) => [...places, atKeyServer]);

  it.each<[string, LastPublished, (Place | boolean)[]]>([
    ['brought there', withShown(owing, 'A', { publication: 1, withdrawn: [1] }), ['B', null, true]],
    ['overtaken there', withShown(owing, 'A', { publication: 2, withdrawn: [] }), ['B', null, true]],
    ['still shown there', withShown(owing, 'A', { publication: 1, withdrawn: [] }), ['A', 'B', null, true]],
    ['told the key server', withTold(owing, { publication: 1, withdrawn: [1] }), ['A', 'B', null, false]],
    ['given up', withoutKeyServer(withoutPlace(owing, 'A')), ['B', null, false]],
    ['of another version', withWithdrawn(owing, 1, { places: ['C'], keyServer: false }), ['A', 'B', null, 'C', true]],
  ])('is %s, and by no other', (_, last, left) => expect(owedIn(last)).toEqual(left));
});

describe('which place is confirmed', () => {
  const first = withPublished(NOTHING, 'A', snapshotOf(1), undefined);
  const slip = withBegun(first, 'B', snapshotOf(2));

  it('stays where something was published completely, whatever is withdrawn elsewhere', () => {
    const after = withShown(slip, 'B', { publication: 2, withdrawn: [2] });
    expect([after.current, placeOf(after, 'B').publication?.version]).toEqual(['A', 2]);
    expect(withShown(withBegun(NOTHING, 'B', snapshotOf(1)), 'B', { publication: 1, withdrawn: [] }).current).toBe('B');
  });

  it('is another one that has the site, where that is gone', () => {
    expect(withoutPlace(withPublished(first, 'B', snapshotOf(1), undefined), 'B').current).toBe('A');
    expect(withoutPlace(first, 'A').current).toBeUndefined();
  });

  it('is the one that it was on its way to last, where it was so to several', () => {
    const begun = ['B', 'A', 'B'].reduce((all, place) => withBegun(all, place, snapshotOf(1)), NOTHING);
    expect(currentPlace(begun)?.target).toBe('B');
  });
});

it('the highest number stays, whatever is published after it, put back or given up', () => {
  const first = withPublished(NOTHING, 'A', snapshotOf(3), undefined);
  const lower = withPublished(first, 'A', snapshotOf(1), undefined);
  expect([lower.highest, withoutPlace(lower, 'A').highest, withoutKeyServer(withTelling(NOTHING, 4)).highest]).toEqual([
    3, 3, 4,
  ]);
});

describe('what is on its way', () => {
  it('is forgotten at a place that has something as high, and nowhere else', () => {
    const begun = [1, 2, 3].reduce(
      (all, version) => withBegun(withBegun(all, 'A', snapshotOf(version)), 'B', snapshotOf(version)),
      NOTHING,
    );
    const after = withPublished(begun, 'A', snapshotOf(2), undefined);
    const versions = ['A', 'B'].map((place) => placeOf(after, place).begun.map(({ version }) => version));
    expect(versions).toEqual([[3], [1, 2, 3]]);
  });

  it('is bounded at each place by itself', () => {
    const one = withBegun(NOTHING, 'B', snapshotOf(1));
    const all = Array.from({ length: 40 }, (_, index) => index + 2);
    const after = all.reduce((last, version) => withBegun(last, 'A', snapshotOf(version)), one);
    expect([placeOf(after, 'A').begun.length, placeOf(after, 'B').begun.length]).toEqual([PLACES_LIMITS.begun, 1]);
  });

  it('and the places are: those that owe nothing go first', () => {
    const owing = withWithdrawn(withPublished(NOTHING, 'first', snapshotOf(1), undefined), 1, {
      places: ['first'],
      keyServer: false,
    });
    const all = Array.from({ length: PLACES_LIMITS.places + 5 }, (_, index) => `place ${index}`);
    const after = all.reduce((last, place) => withPublished(last, place, snapshotOf(1), undefined), owing);
    expect([after.places.length, placeOf(after, 'first').owed, after.current]).toEqual([
      PLACES_LIMITS.places,
      [1],
      all.at(-1),
    ]);
  });

  it('and of them those to which something was on its way go last', () => {
    const begun = withBegun(withPublished(NOTHING, 'last', snapshotOf(1), undefined), 'first', snapshotOf(2));
    const all = Array.from({ length: PLACES_LIMITS.places + 5 }, (_, index) => `place ${index}`);
    const after = all.reduce((last, place) => withPublished(last, place, snapshotOf(1), undefined), begun);
    expect(placesToWithdraw(after, 2)).toEqual(['first']);
  });
});
