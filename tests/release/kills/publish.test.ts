/** `kill -9` at any moment of publishing: readers find a whole publication every time. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openTarget } from '../../../node-support/storage/open.ts';
import type { Target } from '../../../node-support/storage/target.ts';
import { verifyTree } from '../../../publisher/verify/verify.ts';
import { startProgram } from '../../support/programs.ts';
import { Publishing, publicationAt, targetsOf } from '../../support/publishing.ts';
import { type S3Server, startS3Server } from '../../support/s3-server.ts';
import { createWorkspace, type TestWorkspace } from '../../support/workspace.ts';
import { KILLS } from './kills.ts';

const PROGRAM = 'tests/support/publish-once.ts';
let directory: string;
let made: TestWorkspace;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'wispr-publish-kill-'));
});
afterEach(async () => {
  await made.remove();
  await rm(directory, { recursive: true });
});

async function open(target: string): Promise<Publishing> {
  const files: Record<string, string> = { 'style.css': 'p { color: red }', 'large.bin': 'x'.repeat(300_000) };
  for (let number = 1; number <= 5; number++) files[`news/${number}.html`] = `<title>${number}</title><p>News.`;
  made = await createWorkspace(files, { public: ['style.css'], ...targetsOf(target) });
  return new Publishing(made);
}

/** Changes a document and publishes, until so many runs were killed at random moments. */
async function* kills(count: number, env: NodeJS.ProcessEnv = process.env): AsyncGenerator<number> {
  let usual = 300;
  for (let run = 0, killed = 0; killed < count; run++) {
    await made.write(`news/${1 + (run % 5)}.html`, `<p>${run}`);
    const program = startProgram(PROGRAM, [made.configurationFile], { env });
    await program.line(/^ready$/);
    const began = performance.now();
    const timer = setTimeout(() => program.stop('SIGKILL'), Math.random() * usual);
    const { code } = await program.ended;
    clearTimeout(timer);
    if (code === null) killed++;
    else usual = performance.now() - began;
    yield run;
  }
}

/** What a mirror finds wrong with a publication, pages and copies outside of it aside. */
async function wrongIn(place: string): Promise<string[]> {
  const { findings } = await verifyTree(place);
  const inside = findings.filter(({ kind, code }) => kind !== 'extra' && code !== 'file-altered');
  return inside.map(({ path, code }) => `${path} ${code}`);
}

/** A target's files in a directory. */
async function download(target: Target, place: string): Promise<void> {
  for await (const { path, length } of target.list('/')) {
    await mkdir(join(place, dirname(path)), { recursive: true });
    await writeFile(join(place, path), (await target.get(path, length)) ?? '');
  }
}

describe('attack 66: kill -9', () => {
  it('at random moments of publishing to a directory', { timeout: 900_000 }, async () => {
    const place = join(directory, 'place');
    const the = await open(place);
    await the.publish();
    let before = await publicationAt(place);
    for await (const run of kills(KILLS)) {
      expect(await wrongIn(place)).toEqual([]);
      expect(await publicationAt(place)).toBeGreaterThanOrEqual(before);
      if (run % 5 === 0) {
        expect((await the.publish()).summary.behind).toEqual([]);
        expect((await verifyTree(place)).findings).toEqual([]);
      }
      before = await publicationAt(place);
    }
  });

  it('at random moments of publishing to a bucket', { timeout: 900_000 }, async () => {
    const server: S3Server = await startS3Server();
    Object.assign(process.env, server.environment);
    try {
      await server.bucket('site');
      const the = await open('s3://site/news');
      await the.publish();
      const target = await openTarget('s3://site/news');
      for await (const run of kills(Math.ceil(KILLS / 10), { ...process.env, ...server.environment })) {
        const place = join(directory, `downloaded-${run}`);
        await download(target, place);
        expect(await wrongIn(place)).toEqual([]);
        expect((await the.publish()).summary.behind).toEqual([]);
      }
      target.close();
    } finally {
      for (const name of Object.keys(server.environment)) delete process.env[name];
      await server.stop();
    }
  });
});
