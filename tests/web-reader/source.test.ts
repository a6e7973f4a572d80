/** Sources of the publication's files for the worker: the bundle at the first visit, and then all hosts that may have them. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { utf8 } from '../../core/encoding/bytes.ts';
import { hexDigest } from '../../core/encoding/digest.ts';
import { createSource } from '../../web-reader/worker/source.ts';

const [OWN, HOST] = ['https://pages.news.example', 'https://news.example'];
const METADATA = '/.well-known/wispr/';
/** Content by address. */
const files = new Map<string, string>();
const asked: string[] = [];

beforeEach(() => {
  files.clear();
  asked.length = 0;
  vi.stubGlobal('location', { origin: OWN });
  vi.stubGlobal('wisprSite', { reading: 'https://read.news.example', root: '', site: 'news.example' });
  vi.stubGlobal('fetch', async (url: string) => {
    asked.push(url);
    return new Response(files.get(url), { status: files.has(url) ? 200 : 404 });
  });
});
afterEach(() => vi.unstubAllGlobals());

let source: ReturnType<typeof createSource>;

const textOf = (bytes: Uint8Array | undefined) => bytes && new TextDecoder().decode(bytes);

/** Makes one check, as the client of the publication does. */
async function check(isFirst: boolean): Promise<(string | undefined)[]> {
  const hashOf = (text: string) => hexDigest(utf8(text));
  const found = isFirst ? [await source.metadata('1.root.json', 10, await hashOf('root 1'))] : [];
  found.push(await source.metadata('2.root.json', 10, undefined, async (bytes) => textOf(bytes) === 'root 2'));
  for await (const { result } of source.timestamps(10, () => found.length > 0 && found.at(-1) !== undefined))
    found.push(result);
  found.push(await source.metadata('1.snapshot.json', 10, await hashOf('snapshot')));
  return found.map(textOf);
}

it('takes all from the bundle at the first visit, and asks all at the next check', async () => {
  const bundle = { '1.root.json': 'root 1', 'timestamp.json': 'time', '1.snapshot.json': 'snapshot' };
  const paths = Object.entries(bundle).map(([name, text]) => [METADATA + name, text]);
  files.set(`${OWN}/-/publication/current`, JSON.stringify(Object.fromEntries(paths)));
  source = createSource(async () => [HOST]);
  expect(await check(true)).toEqual(['root 1', undefined, 'time', 'snapshot']);
  expect(asked).toEqual([`${OWN}/-/publication/current`]);
  files.set(`${OWN}/-/publication/2.root.json`, 'root 2');
  files.set(`${OWN}/-/publication/timestamp.json`, 'later');
  expect(await check(false)).toEqual(['root 2', 'snapshot']);
  expect(asked).toContain(`${HOST}${METADATA}2.root.json`);
});

it('asks the content hosts where the bundle has another root, or none can be had', async () => {
  for (const bundle of [JSON.stringify({ [`${METADATA}1.root.json`]: 'forged' }), 'no JSON', '[1]', undefined]) {
    if (bundle !== undefined) files.set(`${OWN}/-/publication/current`, bundle);
    for (const [name, text] of [['1.root.json', 'root 1'] as const, ['1.snapshot.json', 'snapshot'] as const])
      files.set(HOST + METADATA + name, text);
    files.set(`${OWN}/-/publication/timestamp.json`, 'time');
    source = createSource(async () => [HOST]);
    expect(await check(true)).toEqual(['root 1', undefined, 'time', 'snapshot']);
    files.clear();
  }
});
