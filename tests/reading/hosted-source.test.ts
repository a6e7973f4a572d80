/** Sources of a publication's files when a site has several content hosts. No host here is slow by the clock: what is late says so. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { utf8 } from '../../core/encoding/bytes.ts';
import { hexDigest } from '../../core/encoding/digest.ts';
import { hedged } from '../../reading/hedged.ts';
import { type HostedFile, HostedSource } from '../../reading/hosted-source.ts';
import { READING_TIMES } from '../../reading/times.ts';

type Answer = string | undefined | Error | 'late';

/** Outlasts any test, in milliseconds. */
const PATIENT = 2 ** 30;

interface Rig {
  readonly source: HostedSource;
  /** `host path`, in order. */
  readonly asked: string[];
  readonly slow: string[];
  /** Hosts whose request was ended. */
  readonly ended: string[];
  /** Lets a late host answer. */
  readonly answer: (host: string, text: string) => void;
}

/**
 * @param answers - by host: what it has, for any path; `late`: nothing until the test answers
 * @param own - by path: what is at hand
 */
function rig(
  answers: Record<string, Answer>,
  hedgeAfter = PATIENT,
  key: Answer = undefined,
  own: Readonly<Record<string, Uint8Array | null>> = {},
): Rig {
  const seen = { asked: [] as string[], slow: [] as string[], ended: [] as string[] };
  const late = new Map<string, (bytes: Uint8Array) => void>();
  const fetch = async (host: string, { path, signal }: HostedFile) => {
    seen.asked.push(`${host} ${path}`);
    const answer = host === 'key server' ? key : answers[host];
    if (answer instanceof Error) throw answer;
    if (answer !== 'late') return answer === undefined ? undefined : utf8(answer);
    return new Promise<Uint8Array>((resolve, reject) => {
      late.set(host, resolve);
      signal?.addEventListener('abort', () => {
        seen.ended.push(host);
        reject(signal.reason);
      });
    });
  };
  const source = new HostedSource({
    hosts: () => Object.keys(answers),
    fetch,
    own: (path) => own[path],
    keyServer: (file) => fetch('key server', file),
    onSlow: (host) => seen.slow.push(host),
    times: { ...READING_TIMES, metadataTimeout: PATIENT, timestampTimeout: PATIENT, checkTimeout: PATIENT, hedgeAfter },
  });
  return { source, ...seen, answer: (host, text) => late.get(host)?.(utf8(text)) };
}

const text = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString();
/** Requests for a root. The key server is also asked for its timestamp. */
const roots = (asked: readonly string[]) => asked.filter((one) => one.endsWith('.root.json'));
const hashOf = (content: string) => hexDigest(utf8(content));

describe('a file of a publication comes from', () => {
  it('the first host that has it, and no other is asked', async () => {
    const { source, asked } = rig({ a: 'here', b: 'here' });
    expect(text(await source.file('/x', 10))).toBe('here');
    expect(asked).toEqual(['a /x']);
  });

  it('the next one at once, where one fails or has none', async () => {
    const { source, asked, slow } = rig({ a: new Error('gone'), b: undefined, c: 'here' });
    expect(text(await source.file('/x', 10))).toBe('here');
    expect([asked, slow]).toEqual([['a /x', 'b /x', 'c /x'], []]);
  });

  it('the next host where one is slow, which is reported, given up, and asked last for the rest of the check', async () => {
    const { source, asked, slow, ended } = rig({ a: 'late', b: 'here' }, 0);
    await source.check(async () => {
      expect(text(await source.metadata('1.root.json', 10))).toBe('here');
      expect([slow, ended]).toEqual([['a'], ['a']]);
      expect(text(await source.file('/x', 10))).toBe('here');
    });
    expect(asked.map((one) => one[0])).toEqual(['a', 'b', 'b']);
  });

  it('a slow one all the same, where the others have none or fail; a failed one is not slow', async () => {
    const { source, asked, slow, answer } = rig({ a: 'late', b: new Error('gone') }, 0);
    const file = source.file('/x', 10);
    await expect.poll(() => asked.length).toBe(2);
    answer('a', 'here');
    expect(text(await file)).toBe('here');
    expect(slow).toEqual([]);
  });

  it('a host that has what is named, however quick another one has something else', async () => {
    const { source, asked } = rig({ a: 'other', b: 'here' });
    for (const path of ['/x', '/y']) expect(text(await source.file(path, 10, await hashOf('here')))).toBe('here');
    expect(asked).toEqual(['a /x', 'b /x', 'b /y']); // host a is asked last from then on
  });

  it('the first other file, where no host has the named one: the caller refuses it', async () => {
    const { source } = rig({ a: 'other', b: undefined });
    expect(text(await source.file('/x', 10, await hashOf('here')))).toBe('other');
    expect(text(await source.file('/x', 10, await hashOf('here')))).toBe('other');
  });

  it('no host, where one has none; a failure is thrown where all failed', async () => {
    expect(await rig({ a: new Error('gone'), b: undefined }).source.file('/x', 10)).toBeUndefined();
    await expect(rig({ a: new Error('gone'), b: new Error('too') }).source.file('/x', 10)).rejects.toThrow('gone');
  });

  it('nowhere, where it is at hand, unless that is another one', async () => {
    const own = { '/x': utf8('here'), '/y': utf8('other'), '/z': null };
    const { source, asked } = rig({ a: 'here' }, PATIENT, undefined, own);
    for (const path of ['/x', '/y']) expect(text(await source.file(path, 10, await hashOf('here')))).toBe('here');
    expect(await source.file('/z', 10)).toBeUndefined();
    expect(asked).toEqual(['a /y']);
  });
});

describe('the next root, which mostly there is none of,', () => {
  const isGood = async (bytes: Uint8Array) => text(bytes) === 'here';
  const ask = ({ source }: Rig) => source.metadata('2.root.json', 10, undefined, isGood);

  it('is asked for everywhere at once, and the first with it wins; none is reported as slow', async () => {
    const one = rig({ a: undefined, b: 'late', c: 'late', d: 'late' });
    const file = ask(one);
    await expect.poll(() => roots(one.asked).length).toBe(5);
    one.answer('c', 'here');
    expect(text(await file)).toBe('here');
    expect([one.slow, one.ended]).toMatchObject([[], expect.arrayContaining(['b', 'd'])]);
  });

  it('is not waited for before the key server is asked for its timestamp, which is then asked for once', async () => {
    const one = rig({ a: 'late' }, PATIENT, 'own');
    const { source, asked, answer } = one;
    const root = ask(one);
    await expect.poll(() => asked.length).toBe(3);
    expect(asked).toContain('key server /.well-known/wispr/timestamp.json');
    answer('a', 'here');
    await root;
    const found: unknown[] = [];
    for await (const { result } of source.timestamps(10, () => found.length > 0)) found.push(text(result));
    expect([found, asked.length]).toEqual([['own'], 3]);
  });

  it('is that of the key server where every host says that there is none', async () => {
    expect(text(await ask(rig({ a: undefined, b: undefined }, PATIENT, 'here')))).toBe('here');
  });

  it('is none where no host answers and the key server has none', async () => {
    expect(await ask(rig({ a: new Error('gone'), b: new Error('gone') }))).toBeUndefined();
  });

  it('is not what one host has in its place, where another has a good one, or none', async () => {
    expect(text(await ask(rig({ a: 'junk', b: 'here' })))).toBe('here');
    expect(await ask(rig({ a: 'junk', b: undefined }))).toBeUndefined();
    expect(text(await ask(rig({ a: 'junk' }, PATIENT, 'junk')))).toBe('junk');
  });

  it('is the only file that is not waited for where one host has none', async () => {
    const { source, asked, answer } = rig({ a: 'late', b: undefined }, 0);
    const file = source.metadata('1.root.json', 10);
    await expect.poll(() => asked.length).toBe(2);
    await sleep(20);
    answer('a', 'here');
    expect(text(await file)).toBe('here');
  });
});

describe('a snapshot that the hosts hide', () => {
  it.each<[string, Record<string, Answer>]>([
    ['by having none', { a: undefined, b: undefined }],
    ['by failing', { a: new Error('gone'), b: new Error('gone') }],
    ['by silence', { a: 'late', b: 'late' }],
    ['behind another file', { a: 'other', b: 'other' }],
  ])('%s comes from the key server', async (_, answers) => {
    const { source, asked } = rig(answers, 0, 'closing');
    const found = await source.metadata('8.snapshot.json', 10, await hashOf('closing'));
    expect(text(found)).toBe('closing');
    expect(asked.map((one) => one[0])).toEqual(['a', 'b', 'k']);
  });

  it('no other file is asked for there', async () => {
    const { source, asked } = rig({ a: undefined }, 0, 'targets');
    expect(await source.metadata('8.targets.json', 10)).toBeUndefined();
    expect(asked).toHaveLength(1);
  });
});

describe('timestamps come', () => {
  it('from the key server, and then in order, until there is enough', async () => {
    const { source, asked } = rig({ a: 'one', b: 'two', c: 'three' }, PATIENT, 'own');
    const came: (string | undefined)[] = [];
    for await (const { result } of source.timestamps(10, () => came.includes('two'))) came.push(text(result));
    expect([came, asked.map((one) => one[0])]).toEqual([
      ['own', 'one', 'two'],
      ['k', 'a', 'b'],
    ]);
  });

  it('from all that were asked, also from the one that was slow: it may have the newest', async () => {
    const { source, asked, slow, ended, answer } = rig({ a: 'late', b: 'old', c: 'never' }, 0);
    const came: (string | undefined)[] = [];
    for await (const { result } of source.timestamps(10, () => came.includes('old'))) {
      came.push(text(result));
      if (came.includes('old')) answer('a', 'new');
    }
    expect(came).toEqual([undefined, 'old', 'new']);
    expect([asked.map((one) => one[0]), slow, ended]).toEqual([['k', 'a', 'b'], ['a'], []]);
  });

  it('with every failure, each reported', async () => {
    const { source } = rig({ a: new Error('gone'), b: 'here' });
    const came: unknown[] = [];
    for await (const { result, error } of source.timestamps(10, () => false)) came.push(error ?? text(result));
    expect(came).toEqual([undefined, new Error('gone'), 'here']);
  });
});

it('ends where a candidate throws at once', async () => {
  const start = () => {
    throw new Error('ended');
  };
  const all = hedged(['a', 'b'], start, { hedgeAfter: PATIENT });
  await expect(all.next()).rejects.toThrow('ended');
});
