/** Period keys and envelopes, as `wispr protect` makes them: docs/spec/keys.md, "Key envelopes". */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { randomBytes, xwingKeyPair } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { openBundle } from '../../core/keys/bundle.ts';
import { envelopeTargetOf, parseEnvelope } from '../../core/keys/envelope.ts';
import { unwrapKey, type WrappedKey } from '../../core/keys/wrapped-key.ts';
import { openEnvelope } from '../../core/publication/envelope.ts';
import { parseTargets } from '../../core/publication/metadata.ts';
import { METADATA_PATH, metadataFile, targetFile } from '../../core/publication/names.ts';
import { type NamedPeriod, namePeriods } from '../../publisher/keys/periods.ts';
import { configurationSchema } from '../../publisher/workspace/configuration/schema.ts';
import { createWorkspace, type TestWorkspace } from '../support/workspace.ts';

const at = (text: string) => Date.parse(text) / 1000;
/** December has begun in Berlin. */
const START = at('2026-11-30T23:30Z');
const PLANS = [
  { name: 'daily', sets: ['day-*', 'extra'], period: 'month' as const, zone: 'Europe/Berlin' },
  { name: 'library', sets: ['photos'], period: 'week' as const },
];
const SETTINGS = {
  sets: [
    { name: 'day-{yyyy}-{mm}-{dd}', path: '{yyyy}/{mm}/{dd}/**' },
    { name: 'extra', path: 'extra/**' },
    { name: 'photos', path: 'photos/**' },
  ],
  plans: PLANS,
};
const FILES = { '2026/12/01/a.html': 'today', 'photos/a.html': 'a view', 'extra/a.html': 'more', 'other.html': 'else' };
const recipient = xwingKeyPair(randomBytes(32));

let made: TestWorkspace;
beforeEach(async () => {
  made = await createWorkspace(FILES, SETTINGS);
  await writeFile(join(made.directory, 'keyserver.pub'), toBase64url(recipient.publicKey));
});
afterEach(() => made.remove());

/** The periods in the key store, in their order: of each plan the current one and the next. */
async function periods(): Promise<NamedPeriod[]> {
  return namePeriods((await made.keyStore()).contents.periods);
}

/** The envelope of a period in the newest publication; `undefined` where that has none. */
async function envelopeOf({ id }: NamedPeriod, version: number): Promise<readonly WrappedKey[] | undefined> {
  const role = await readFile(join(made.out, METADATA_PATH, metadataFile('targets', version)));
  const target = parseTargets(openEnvelope(role, 'targets').signed(), 'targets').target(envelopeTargetOf(id));
  if (target === undefined) return undefined;
  return parseEnvelope(await readFile(join(made.out, targetFile(envelopeTargetOf(id), target.sha256))), id);
}

/** Names of the sets whose keys a period key opens. */
async function opens(period: NamedPeriod, version: number): Promise<string[] | undefined> {
  const envelope = await envelopeOf(period, version);
  const { sets } = (await made.keyStore()).contents;
  const names = envelope?.map(async (wrapped) => {
    const key = toBase64url(await unwrapKey(period, wrapped, period.until));
    return [...sets].find(([, known]) => toBase64url(known) === key)?.[0] ?? 'an earlier key';
  });
  return names && (await Promise.all(names)).sort();
}

const ids = (list: readonly NamedPeriod[]) => list.map(({ id }) => id);

describe('protecting', () => {
  it('makes the keys of this period and the next, and an envelope for each: a dated set in its own', async () => {
    const { publication } = await made.protect({ now: START });
    const [december, january, week, nextWeek] = (await periods()) as [
      NamedPeriod,
      NamedPeriod,
      NamedPeriod,
      NamedPeriod,
    ];
    expect(december).toMatchObject({
      plan: 'daily',
      from: at('2026-11-30T23:00Z'),
      until: at('2026-12-31T23:00Z') - 1,
    });
    expect(january).toMatchObject({ from: december.until + 1, until: at('2027-01-31T23:00Z') - 1 });
    expect(week).toMatchObject({ plan: 'library', from: at('2026-11-30T00:00Z'), until: at('2026-12-07T00:00Z') - 1 });
    const { version } = publication;
    expect(await opens(december, version)).toEqual(['day-2026-12-01', 'extra']);
    expect(await opens(january, version)).toEqual(['extra']);
    expect([await opens(week, version), await opens(nextWeek, version)]).toEqual([['photos'], ['photos']]);
  });

  it('hands them to the key server, once', async () => {
    await made.protect({ now: START });
    const bundle = join(made.directory, 'keys.bundle');
    const handed = (await openBundle(await readFile(bundle), recipient)).periods ?? [];
    expect(handed.map(({ id }) => id)).toEqual(ids(await periods()));
    expect(handed[0]).toMatchObject({
      plan: 'daily',
      sets: ['day-*', 'extra'],
      zone: 'Europe/Berlin',
      site: 'news.example',
    });
    expect(handed[2]).not.toHaveProperty('zone');
    const before = await readFile(bundle);
    expect((await made.protect({ now: START + 60 })).bundleIsNew).toBe(false);
    expect(await readFile(bundle)).toEqual(before);
  });

  it('signs nothing where nothing is new; one key more where a set is, the others as they were', async () => {
    const first = await made.protect({ now: START });
    expect((await made.protect({ now: START + 60 })).publication.isNew).toBe(false);
    await made.write('2026/12/02/b.html', 'tomorrow');
    const second = await made.protect({ now: START + 120 });
    const [december] = (await periods()) as [NamedPeriod];
    const [before, after] = [
      await envelopeOf(december, first.publication.version),
      await envelopeOf(december, second.publication.version),
    ];
    expect(await opens(december, second.publication.version)).toEqual(['day-2026-12-01', 'day-2026-12-02', 'extra']);
    expect(after).toEqual(expect.arrayContaining([...(before ?? [])]));
  });

  it('goes on with the next period when it has come, and drops the one that has ended', async () => {
    await made.protect({ now: START });
    const [december, january] = (await periods()) as [NamedPeriod, NamedPeriod];
    const { publication } = await made.protect({ now: january.from });
    const [first, second] = await periods();
    expect([first?.id, second?.from]).toEqual([january.id, january.until + 1]);
    expect(await envelopeOf(december, publication.version)).toBeUndefined();
  });

  it('makes new period keys where a set of the plan gets a new key', async () => {
    await made.protect({ now: START });
    const before = await periods();
    const { publication } = await made.protect({ now: START + 60, rekey: ['extra'] });
    const after = await periods();
    expect(ids(after).slice(2)).toEqual(ids(before).slice(2));
    expect(ids(before)).not.toEqual(expect.arrayContaining(ids(after).slice(0, 2)));
    expect(await envelopeOf(before[0] as NamedPeriod, publication.version)).toBeUndefined();
    expect(await opens(after[0] as NamedPeriod, publication.version)).toEqual(['day-2026-12-01', 'extra']);
  });

  it('attack 47: makes new period keys where the plan is another one: those who have the old key get no more by it', async () => {
    await made.protect({ now: START });
    const [before] = (await periods()) as [NamedPeriod];
    await made.configure({ plans: [{ ...PLANS[0], sets: ['*'] } as (typeof PLANS)[number]] });
    const { publication } = await made.protect({ now: START + 60 });
    const [after, ...rest] = (await periods()) as [NamedPeriod];
    expect([after.id === before.id, rest.length]).toEqual([false, 1]);
    expect(await envelopeOf(before, publication.version)).toBeUndefined();
    expect(await opens(after, publication.version)).toEqual(['day-2026-12-01', 'extra', 'photos', 'subscribers']);
  });
});

it('plans need a key server that gives keys out, names of their own, and time zones', () => {
  const base = { site: 'news.example', source: 'site', out: 'protected', content: 'https://news.example' };
  const served = { ...base, keyServer: 'https://keys.news.example', reading: 'https://read.news.example' };
  const isGood = (settings: object, plans: unknown) => configurationSchema.safeParse({ ...settings, plans }).success;
  expect([isGood(served, PLANS), isGood(base, PLANS), isGood(base, [])]).toEqual([true, false, true]);
  const [daily] = PLANS;
  expect(isGood(served, [daily, daily])).toBe(false);
  for (const wrong of [{ zone: 'Mars/Olympus' }, { sets: [] }, { sets: ['a b'] }, { period: 'year' }, { name: 'A' }])
    expect(isGood(served, [{ ...daily, ...wrong }])).toBe(false);
});
