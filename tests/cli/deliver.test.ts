/** Where a fetched document goes that breaks off in the middle. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { deliver } from '../../cli/io/deliver.ts';
import type { FetchedDocument } from '../../client-proxy/index.ts';

async function* brokenOff() {
  yield Buffer.from('half of the ne');
  throw new Error('broken off');
}
const broken = (): FetchedDocument => ({
  address: 'http://news.example/a.html',
  status: 200,
  statusMessage: 'OK',
  headers: {},
  rawHeaders: [],
  content: brokenOff(),
});

it.each([tmpdir(), '/dev/shm'].filter((folder) => existsSync(folder)))(
  'a file in %s keeps what was there, or is not there at all',
  async (folder) => {
    const directory = mkdtempSync(join(folder, 'wispr-deliver-'));
    const file = join(directory, 'x.html');
    writeFileSync(file, 'the good old copy');
    for (const output of [file, join(directory, 'y.html')])
      await expect(deliver(broken(), { output })).rejects.toThrow('broken off');
    expect([readFileSync(file, 'utf8'), readdirSync(directory)]).toEqual(['the good old copy', ['x.html']]);
    rmSync(directory, { recursive: true });
  },
);
