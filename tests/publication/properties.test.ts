/** Answers to whatever a host gives: a result or a PublicationError, never another error, never another state than a publisher's. */
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { utf8 } from '../../core/encoding/bytes.ts';
import { PublicationError } from '../../core/publication/errors.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import {
  encodeSettings,
  parseSettings,
  type RedirectStatus,
  type SiteSettings,
} from '../../core/publication/settings.ts';
import { MemoryStore, readerOf } from '../support/publication-source.ts';
import { runs } from '../support/tier.ts';
import { expectOldState, LATER, NOW, PAGE, publishMore, readSite, SET, type Site } from './reading.ts';

const FILES = ['2.root.json', 'timestamp.json', '2.snapshot.json', '2.targets.json', 'settings'];
const BINS = [
  '1.documents.json',
  '1.documents-0.json',
  '1.documents-1.json',
  '2.documents-0.json',
  '2.documents-1.json',
];

/** Changes a file: a byte, a piece of it, the whole, or its JSON. */
type Change = (bytes: Uint8Array) => Uint8Array;

const change: fc.Arbitrary<Change> = fc.oneof(
  fc.uint8Array({ maxLength: 300 }).map(
    (bytes): Change =>
      () =>
        bytes,
  ),
  fc.json().map(
    (text): Change =>
      () =>
        utf8(text),
  ),
  fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 })).map(
    ([at, mask]): Change =>
      (bytes) => {
        const copy = Uint8Array.from(bytes);
        if (copy.length > 0) copy[at % copy.length] = (copy[at % copy.length] ?? 0) ^ mask;
        return copy;
      },
  ),
  fc.tuple(fc.nat(), fc.nat({ max: 60 })).map(
    ([at, length]): Change =>
      (bytes) => {
        const start = at % (bytes.length + 1);
        return Uint8Array.from([...bytes.subarray(0, start), ...bytes.subarray(start + length + 1)]);
      },
  ),
  fc.tuple(fc.nat(), fc.jsonValue()).map(
    ([at, value]): Change =>
      (bytes) =>
        withMember(bytes, at, value),
  ),
);

/** Puts another value in the place of any member, however deep. */
function withMember(bytes: Uint8Array, at: number, value: unknown): Uint8Array {
  if (bytes.length === 0) return bytes;
  const places: [Record<string, unknown>, string][] = [];
  const root = JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>;
  const walk = (object: Record<string, unknown>) => {
    for (const [name, member] of Object.entries(object)) {
      places.push([object, name]);
      if (typeof member === 'object' && member !== null) walk(member as Record<string, unknown>);
    }
  };
  walk(root);
  const [object, name] = places[at % places.length] ?? [root, 'signed'];
  object[name] = value;
  return utf8(JSON.stringify(root));
}

describe('hosts that give anything', () => {
  let first: Site;
  let bytesOf: (path: string) => Uint8Array;
  let paths: Map<string, string>;

  beforeAll(async () => {
    first = await readSite();
    first.publication.setSettings({ cleanUrls: true, grace: 1, redirects: [] });
    await publishMore(first.publication, LATER);
    paths = new Map([...FILES, ...BINS].map((file) => [file, METADATA_PATH + file]));
    paths.set(
      'settings',
      [...first.publication.files.keys()].findLast((path) => path.endsWith('wispr-settings')) ?? '',
    );
    bytesOf = (path) => first.publication.files.get(path) ?? utf8('{"signed":{},"signatures":[]}');
  });

  it('an update ends in the old state and a PublicationError, or in the publisher’s new one', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...FILES), change, async (file, how) => {
        const { store, site, source } = readerOf(first.publication, copyOf(first.store));
        const path = paths.get(file) ?? '';
        source.instead.set(path, () => how(bytesOf(path)));
        const error: unknown = await site.refresh(LATER).then(
          () => undefined,
          (reason: unknown) => reason,
        );
        if (error === undefined) {
          expect(site.freshness(LATER).version).toBe(2);
          return;
        }
        expect(error).toBeInstanceOf(PublicationError);
        await expectOldState({ publication: first.publication, store, site, source }, 1, NOW);
      }),
      { numRuns: runs(80) },
    );
  });

  it('a look-up ends in a PublicationError, or in what the publisher said', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...BINS), change, async (file, how) => {
        const { site, source } = readerOf(first.publication, new MemoryStore());
        await site.refresh(LATER);
        const path = paths.get(file) ?? '';
        source.instead.set(path, () => how(bytesOf(path)));
        for (const [page, expected] of [
          [PAGE, { set: SET }],
          ['/more/1.html', { set: SET }],
          ['/none', undefined],
        ] as const) {
          const outcome: unknown = await site.document(page, LATER).catch((error: unknown) => error);
          if (outcome instanceof Error) expect(outcome).toBeInstanceOf(PublicationError);
          else if (expected === undefined) expect(outcome).toBeUndefined();
          else expect(outcome).toMatchObject(expected);
        }
      }),
      { numRuns: runs(40) },
    );
  });

  it('a store that holds anything never stops a reader who reaches the host', async () => {
    const names = [...first.store.kept.keys()];
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...names), change, async (name, how) => {
        const store = copyOf(first.store);
        const isSettings = name.endsWith('settings');
        const kept = isSettings ? utf8('{}') : (store.kept.get(name) ?? new Uint8Array(0));
        store.kept.set(name, how(kept));
        const { site } = readerOf(first.publication, store);
        await site.refresh(LATER);
        expect(site.freshness(LATER).version).toBe(2);
        expect(await site.document('/more/1.html', LATER)).toMatchObject({ set: SET });
      }),
      { numRuns: runs(40) },
    );
  });
});

describe('site settings', () => {
  const path = fc
    .array(fc.stringMatching(/^[a-zé ?#%"]{1,6}$/), { minLength: 1, maxLength: 3 })
    .map((parts) => `/${parts.join('/')}`);
  const settings: fc.Arbitrary<SiteSettings> = fc.record(
    {
      cleanUrls: fc.boolean(),
      grace: fc.integer({ min: 0, max: 7_776_000 }),
      notFound: path,
      redirects: fc.uniqueArray(
        fc.record({
          from: path,
          status: fc.constantFrom<RedirectStatus>(301, 302, 307, 308),
          to: fc.constantFrom('/', '/new?a=1#b', 'https://other.example/%20'),
        }),
        { selector: ({ from }) => from, maxLength: 5 },
      ),
      accent: fc.stringMatching(/^#[0-9a-f]{6}$/),
      logo: path,
      subscribe: fc.constantFrom('https://shop.example/', 'https://shop.example/?a=%C3%A9'),
      titles: fc.uniqueArray(
        fc.record({ set: fc.constantFrom('a', 'day-{yyyy}', 'é {mm}.{dd}'), title: fc.constantFrom('A', 'Ä – b') }),
        { selector: ({ set }) => set, minLength: 1 },
      ),
    },
    { requiredKeys: ['cleanUrls', 'grace', 'redirects'] },
  );

  it('are read as they were written', () => {
    fc.assert(
      fc.property(settings, (value) => {
        expect(parseSettings(encodeSettings(value))).toEqual(value);
      }),
    );
  });

  it('are refused with a PublicationError where they are anything else', () => {
    fc.assert(
      fc.property(settings, change, (value, how) => {
        const bytes = encodeSettings(value);
        try {
          expect(encodeSettings(parseSettings(how(bytes)))).toEqual(how(bytes));
        } catch (error) {
          expect(error).toBeInstanceOf(PublicationError);
          expect(error).toMatchObject({ code: 'settings-malformed' });
        }
      }),
    );
  });
});

function copyOf(store: MemoryStore): MemoryStore {
  const copy = new MemoryStore();
  for (const [name, bytes] of store.kept) copy.kept.set(name, bytes);
  return copy;
}
