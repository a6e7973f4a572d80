/** Where `wispr fetch` writes, what a script learns of it, and what it refuses; one reader for all, and a folder for each. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { refusalOf } from '../../client-proxy/offline/fetch-document.ts';
import {
  fetchInShell,
  isInTheOneVoice,
  publishLarge,
  type ReaderHome,
  startReaderHome,
} from '../support/reader-home.ts';
import { CleanUp } from '../support/reader-rig.ts';
import { runOnTerminal } from '../support/wispr.ts';

const cleanUp = new CleanUp();
let reader: ReaderHome;
/** Where the commands run. */
let folder: string;
beforeAll(async () => {
  reader = await startReaderHome(cleanUp);
  await reader.publisher.publish(reader.host.files, '/a.html', { content: 'read at last' });
  expect((await reader.bind()).code).toBe(0);
});
beforeEach(async () => {
  folder = await mkdtemp(join(reader.home, 'test-'));
});
afterAll(() => cleanUp.run());

const fetched = (...args: string[]) => reader.run(['fetch', ...args, ...reader.connectTo]);

describe('a condition among the header fields', () => {
  const ADDRESS = 'http://news.example/a.html';
  const etag = async () => /^etag: (.*)$/im.exec((await fetched(ADDRESS, '--head')).stdout)?.[1]?.trim() ?? '';

  it('by which nothing has changed leaves the file alone, and says so; that is no failure', async () => {
    const kept = join(folder, 'kept');
    writeFileSync(kept, 'precious');
    for (const [field, ...more] of [
      ['If-None-Match: *'],
      [`If-None-Match: ${await etag()}`, '--include'],
      ['If-None-Match: *', '--head'],
    ] as const) {
      const { code, stdout, stderr } = await fetched(ADDRESS, '-o', kept, '--header', field, ...more);
      expect([code, stdout, stderr]).toEqual([0, '', expect.stringMatching(/^wispr: not changed: .*kept\n$/)]);
      expect(isInTheOneVoice(stderr)).toBe(true);
    }
    const quiet = await fetched(ADDRESS, '-o', kept, '--header', 'If-None-Match: *', '--quiet');
    expect(quiet).toEqual({ code: 0, stdout: '', stderr: '' });
    const { code, stdout } = await fetched(ADDRESS, '-o', kept, '--header', 'If-None-Match: *', '--json');
    expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ status: 304, bytes: 0 })]);
    expect(JSON.parse(stdout)).not.toHaveProperty('file');
    expect(readFileSync(kept, 'utf8')).toBe('precious');
    expect(readdirSync(folder).filter((name) => name.startsWith('kept'))).toEqual(['kept']);
    const none = await fetched(ADDRESS, '-o', join(folder, 'none'), '--header', 'If-None-Match: *');
    expect([none.code, existsSync(join(folder, 'none'))]).toEqual([0, false]);
  });

  it('by which nothing has changed leaves standard output empty, and says why', async () => {
    const { code, stdout, stderr } = await fetched(ADDRESS, '--header', 'If-None-Match: *');
    expect([code, stdout, stderr]).toEqual([0, '', `wispr: not changed: ${ADDRESS}\n`]);
  });

  it('is no hindrance where there is another version: it replaces the file', async () => {
    const kept = join(folder, 'kept');
    writeFileSync(kept, 'older');
    expect((await fetched(ADDRESS, '-o', kept, '--header', 'If-None-Match: "x"')).code).toBe(0);
    expect(readFileSync(kept, 'utf8')).toBe('read at last');
  });

  it('by which another version is wanted is exit code 1, and leaves the file alone', async () => {
    const kept = join(folder, 'kept');
    writeFileSync(kept, 'precious');
    for (const where of [['-o', kept], [], ['--head'], ['--include']]) {
      const { code, stdout, stderr } = await fetched(ADDRESS, '--header', 'If-Match: "x"', ...where);
      expect([where, code, stdout, stderr]).toEqual([where, 1, '', expect.stringContaining('[condition-unmet]')]);
      expect([isInTheOneVoice(stderr), stderr.includes(ADDRESS), stderr.includes('If-Match')]).toEqual([
        true,
        true,
        true,
      ]);
    }
    expect(readFileSync(kept, 'utf8')).toBe('precious');
    expect((await fetched(ADDRESS, '--header', `If-Match: ${await etag()}`)).stdout).toBe('read at last');
  });

  it('is all that there may be no document for: an answer of any other kind is a refusal', () => {
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
});

describe('what takes the output', () => {
  it('a file gets the permissions that the umask leaves, and JSON says what was written', async () => {
    const { code, stdout } = await fetchInShell(
      reader,
      folder,
      'umask 027; eval "$WISPR"',
      'http://news.example/a.html',
      '-o',
      'a.html',
      '--json',
    );
    const file = join(folder, 'a.html');
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      expect.objectContaining({ status: 200, bytes: 12, file: 'a.html' }),
    ]);
    expect(statSync(file).mode & 0o777).toBe(0o640);
  });

  it('all that was written is counted, the head too', async () => {
    const file = join(folder, 'head');
    for (const flag of ['--head', '--include']) {
      const { stdout } = await fetched('http://news.example/a.html', '-o', file, flag, '--json');
      expect(JSON.parse(stdout)).toMatchObject({ bytes: statSync(file).size, file });
      const { stderr } = await fetched('http://news.example/a.html', '-o', file, flag);
      expect(stderr).toContain(`${statSync(file).size} bytes`);
    }
  });

  it('a reader of a pipe may leave early', async () => {
    await publishLarge(reader, '/film', 3_000_000);
    const { code, stdout, stderr } = await fetchInShell(
      reader,
      folder,
      'set -o pipefail; eval "$WISPR" | head -c 10 | wc -c',
      'http://news.example/film',
    );
    expect([code, stdout.trim(), stderr]).toEqual([0, '10', '']);
  });

  it('what is no file on a disk is written as it is: devices, pipes, and what a shell has opened', async () => {
    const address = 'http://news.example/a.html';
    for (const [script, file, expected] of [
      ['eval "$WISPR"', '/dev/null', ''],
      ['eval "$WISPR" | cat', '/dev/stdout', 'read at last'],
      ['{ printf "to be "; eval "$WISPR"; } > kept; cat kept', '/dev/stdout', 'to be read at last'],
      ['exec 3> kept; eval "$WISPR"; cat kept', '/dev/fd/3', 'read at last'],
      ['exec 3> kept; eval "$WISPR"; cat kept', '/proc/self/fd/3', 'read at last'],
      ['mkfifo pipe; cat pipe & eval "$WISPR"; wait', 'pipe', 'read at last'],
      [
        `eval "$(printf %s "$WISPR" | sed "s/'SUBSTITUTED'/>(cat > kept)/")"; wait $!; cat kept`,
        'SUBSTITUTED',
        'read at last',
      ],
    ] as const) {
      const { code, stdout, stderr } = await fetchInShell(reader, folder, script, address, '-q', '-o', file);
      expect([file, code, stdout, stderr]).toEqual([file, 0, expected, '']);
    }
    expect(existsSync('/dev/stdout')).toBe(true);
    const same = await fetched(address, '-o', '/dev/null', '-H', 'If-None-Match: *');
    expect([same.code, same.stderr]).toEqual([0, expect.stringContaining('not changed')]);
  });

  it('a program that has read enough of a named pipe is no failure', async () => {
    await publishLarge(reader, '/film', 3_000_000);
    const script = 'mkfifo pipe; head -c 10 pipe | wc -c & eval "$WISPR"; code=$?; wait; exit $code';
    const { code, stdout, stderr } = await fetchInShell(
      reader,
      folder,
      script,
      'http://news.example/film',
      '-q',
      '-o',
      'pipe',
    );
    expect([code, stdout.trim(), stderr]).toEqual([0, '10', '']);
  });

  it('a full device that is named is said, with a way out', async () => {
    const { code, stderr } = await fetched('http://news.example/a.html', '-o', '/dev/full');
    const said = /the disk is full: cannot write \/dev\/full \[disk-full\]\n.*hint: make room/;
    expect([code, stderr]).toEqual([1, expect.stringMatching(said)]);
    expect(stderr).not.toContain('ENOSPC');
  });

  it('a full disk is exit code 1', async () => {
    const { code, stderr } = await fetchInShell(
      reader,
      folder,
      'eval "$WISPR" > /dev/full',
      'http://news.example/a.html',
    );
    expect([code, stderr]).toEqual([1, expect.stringContaining('cannot write to standard output')]);
  });

  it('a terminal is spared what is not text, unless it is asked for', async () => {
    await publishLarge(reader, '/film', 1000);
    const env = Object.entries(reader.atHome().env ?? {});
    const before = env.map(([name]) => [name, process.env[name]] as const);
    Object.assign(process.env, Object.fromEntries(env));
    cleanUp.add(async () => {
      for (const [name, value] of before) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    });
    const { code, shown } = await runOnTerminal(['fetch', 'http://news.example/film', ...reader.connectTo], [], {
      cwd: folder,
    });
    expect([code, shown]).toEqual([2, expect.stringContaining('--output -')]);
    const text = await runOnTerminal(['fetch', 'http://news.example/a.html', ...reader.connectTo], [], {
      cwd: folder,
    });
    expect([text.code, text.shown]).toEqual([0, 'read at last']);
    const content = `${'a line of text\n'.repeat(20_000)}\u001b]0;upset\u0007`;
    await reader.publisher.publish(reader.host.files, '/late.txt', { content });
    const late = await runOnTerminal(['fetch', 'http://news.example/late.txt', ...reader.connectTo], [], {
      cwd: folder,
    });
    expect([late.code, late.shown]).toEqual([2, expect.stringContaining('only its beginning is shown')]);
    expect(late.shown).not.toContain('\u001b]0;upset');
  });
});

describe('what is typed wrong is exit code 2', () => {
  it.each([
    [['ftp://news.example/a.html'], /address/],
    [['http://me:secret@news.example/'], /^(?!.*secret).*address/s],
    [['http://news.example/a.html', '--range', '9-2'], /range/],
    [['http://news.example/a.html', '--range', '0-1,4-5'], /range/],
    [['http://news.example/a.html', '--header', 'nonsense'], /header/],
    [['http://news.example/a.html', '--header', 'Content-Length: 5'], /not for a caller/],
    [['http://news.example/a.html', '--header', 'A: b\r\nc: d'], /characters/],
    [['http://news.example/a.html', '--json'], /--output/],
    [['http://news.example/a.html', '-o', '.'], /directory/],
    [['http://news.example/a.html', '-o', ''], /--output needs the name of a file/],
    [['http://news.example/a.html', '-o', '/nowhere/at/all'], /cannot write .*\n.*hint: /],
    [['http://news.example/a.html', '-o', `/tmp/${'x'.repeat(300)}`], /cannot write .*\n.*hint: /],
    [[], /argument/],
  ])('%j', async (args, words) => {
    const { code, stdout, stderr } = await fetched(...args);
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringMatching(words)]);
    expect(isInTheOneVoice(stderr)).toBe(true);
    expect(existsSync('/nowhere')).toBe(false);
  });
});
