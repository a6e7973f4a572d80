/** `wispr fetch` where the shell, a device or a pipe takes its output, and the heads of ranges; the rest is in scripts. */
import { closeSync, existsSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { refusalOf } from '../../client-proxy/offline/fetch-document.ts';
import { startCommand } from '../support/programs.ts';
import { fetchInShell, publishLarge, type ReaderHome, startReaderHome } from '../support/reader-home.ts';
import { CleanUp } from '../support/reader-rig.ts';
import { runOnTerminal } from '../support/wispr.ts';

const ADDRESS = 'http://news.example/a.html';
const cleanUp = new CleanUp();
let reader: ReaderHome;
/** Folder in which commands run. */
let folder: string;
beforeAll(async () => {
  reader = await startReaderHome(cleanUp);
  await reader.publisher.publish(reader.host.files, '/a.html', { content: 'read at last' });
  expect((await reader.bind()).code).toBe(0);
  await publishLarge(reader, '/film', 3_000_000);
});
beforeEach(async () => {
  folder = await mkdtemp(join(reader.home, 'test-'));
});
afterAll(() => cleanUp.run());

const fetched = (...args: string[]) => reader.run(['fetch', ...args, ...reader.connectTo]);
const inShell = (script: string, ...args: string[]) => fetchInShell(reader, folder, script, ...args);

it('the head that is printed before a range fits it, also where the document was cut here', async () => {
  const content = 'It was a bright cold day in April. '.repeat(60_000);
  const metadata = { mediaType: 'text/plain', contentCoding: 'gzip' as const };
  const coded = gzipSync(content);
  await reader.publisher.publish(reader.host.files, '/t.txt', { content: coded, metadata });
  const { length } = coded;
  const gzip = ['-H', 'Accept-Encoding: gzip'];
  for (const [range, more, body, contentRange] of [
    ['9-14', [], content.slice(9, 15), 'bytes 9-14/*'],
    ['2099990-', [], content.slice(2_099_990), 'bytes 2099990-2099999/*'],
    ['2-3', gzip, coded.toString('utf8', 2, 4), `bytes 2-3/${length}`],
    ['-4', gzip, coded.toString('utf8', length - 4), `bytes ${length - 4}-${length - 1}/${length}`],
    ['10-', [], content.slice(10), undefined], // the end is too far behind to be waited for
  ] as const) {
    const { code, stdout } = await fetched('http://news.example/t.txt', '-i', '-r', range, ...more);
    const [head = '', ...rest] = stdout.split('\r\n\r\n');
    const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1]?.trim();
    const isWhole = rest.join('\r\n\r\n') === body;
    expect([code, head.split('\r\n')[0], isWhole]).toEqual([0, 'HTTP/1.1 206 Partial Content', true]);
    expect([range, field('content-range')]).toEqual([range, contentRange]);
    if (contentRange !== undefined && more.length === 0) expect(field('content-length')).toBe(String(body.length));
    expect(field('transfer-encoding')).toBeUndefined();
  }
});

it('an answer that is no document and no condition is refused, whatever its status', () => {
  expect([200, 206, 304].map((status) => refusalOf(status, []))).toEqual([undefined, undefined, undefined]);
  expect([404, 412, 416, 204, 302, 500].map((status) => refusalOf(status, [])?.code)).toEqual([
    'no-such-document',
    'condition-unmet',
    'condition-unmet',
    'internal',
    'internal',
    'internal',
  ]);
});

it('a header field that would be two is refused', async () => {
  const { code, stdout, stderr } = await fetched(ADDRESS, '--header', 'A: b\r\nc: d');
  expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining('characters')]);
});

describe('what takes the output', () => {
  it('a file gets the permissions that the umask leaves', async () => {
    const script = 'umask 027; eval "$WISPR"';
    const { code, stdout } = await inShell(script, ADDRESS, '-o', 'a.html', '--json');
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { status: 200, bytes: 12, file: 'a.html' }]);
    expect(statSync(join(folder, 'a.html')).mode & 0o777).toBe(0o640);
  });

  it('a reader of a pipe may leave early', async () => {
    const script = 'set -o pipefail; eval "$WISPR" | head -c 10 | wc -c';
    const { code, stdout, stderr } = await inShell(script, 'http://news.example/film');
    expect([code, stdout.trim(), stderr]).toEqual([0, '10', '']);
  });

  it('/dev/stdout is written where the shell has come to in it', async () => {
    const script = '{ printf "to be "; eval "$WISPR"; } > kept; cat kept';
    const ended = await inShell(script, ADDRESS, '-q', '-o', '/dev/stdout');
    expect(ended).toEqual({ code: 0, stdout: 'to be read at last', stderr: '' });
    expect(existsSync('/dev/stdout')).toBe(true);
  });

  it.each(['/dev/fd', '/proc/self/fd'])('a file that is open is written as it is: %s', async (place) => {
    writeFileSync(join(folder, 'kept'), '');
    const open = openSync(join(folder, 'kept'), 'a');
    expect(await fetched(ADDRESS, '-q', '-o', `${place}/${open}`)).toEqual({ code: 0, stdout: '', stderr: '' });
    closeSync(open);
    expect(readFileSync(join(folder, 'kept'), 'utf8')).toBe('read at last');
  });

  it.each([
    ['cat pipe', '/a.html', 'read at last'],
    ['head -c 10 pipe | wc -c', '/film', '10\n'], // has read enough, which is no failure
  ])('a named pipe is written as it is: %s', async (script, path, read) => {
    await startCommand(['mkfifo', 'pipe'], { cwd: folder }).ended;
    const { ended } = startCommand(['bash', '-c', script], { cwd: folder });
    const fetching = fetched(`http://news.example${path}`, '-q', '-o', join(folder, 'pipe'));
    expect(await fetching).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(await ended).toMatchObject({ code: 0, stdout: read });
  });

  it('a full disk is exit code 1', async () => {
    const { code, stderr } = await inShell('eval "$WISPR" > /dev/full', ADDRESS);
    expect([code, stderr]).toEqual([1, expect.stringContaining('cannot write to standard output')]);
  });

  it('a terminal is shown the beginning of what is text until it is none', async () => {
    const content = `${'a line of text\n'.repeat(20_000)}\u001b]0;upset\u0007`;
    await reader.publisher.publish(reader.host.files, '/late.txt', { content });
    const args = ['fetch', 'http://news.example/late.txt', ...reader.connectTo];
    const { code, shown } = await runOnTerminal(args, [], { cwd: folder, env: reader.atHome().env ?? {} });
    expect([code, shown]).toEqual([2, expect.stringContaining('only its beginning is shown')]);
    expect(shown).not.toContain('\u001b]0;upset');
  });
});
