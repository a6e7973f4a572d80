/** `kill -9` at any moment of publishing, a target that fails, and rsync instead: readers find a whole publication every time. */
import { chmod, cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { openTarget } from '../../node-support/storage/open.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { publishSite } from '../../publisher/publish/publish.ts';
import { verifyTree } from '../../publisher/verify/verify.ts';
import { workspaceOf } from '../../publisher/workspace.ts';
import { ROOT, startCommand, startProgram } from '../support/programs.ts';
import { type S3Server, startS3Server } from '../support/s3-server.ts';
import { KILLS } from '../support/thorough.ts';
import { makeTwoPublications, type TwoPublications } from '../support/two-publications.ts';
import { snapshot } from '../support/workspace.ts';

const PROGRAM = 'tests/support/publish-once.ts';
let two: TwoPublications;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'wispr-publish-kill-'));
  two = await makeTwoPublications();
});
afterAll(async () => {
  await rm(directory, { recursive: true });
  await two.workspace.remove();
});

async function publish(out: string, target: Target): Promise<number> {
  const workspace = workspaceOf(two.workspace.configurationFile);
  return (await publishSite({ workspace, out, target, keysAreThere: true })).publication;
}

/** Starts publishing the second publication, and waits until it begins. */
async function start(target: string, env: NodeJS.ProcessEnv = process.env) {
  const program = startProgram(PROGRAM, [two.workspace.configurationFile, two.second, target], { env });
  await program.line(/^ready$/);
  return { program, began: performance.now() };
}

/** Milliseconds that publishing takes when nobody kills it. */
async function durationOf(target: string, env?: NodeJS.ProcessEnv): Promise<number> {
  const { program, began } = await start(target, env);
  expect((await program.ended).stdout).toContain('published 2');
  return performance.now() - began;
}

/** Kills publishing at moments between its beginning and its end, until so many runs were killed; each may be looked at before the next. */
async function* kills(
  count: number,
  duration: number,
  prepare: (run: number) => Promise<string>,
  env?: NodeJS.ProcessEnv,
) {
  let usual = duration;
  for (let run = 0, killed = 0; killed < count; run++) {
    const { program, began } = await start(await prepare(run), env);
    const timer = setTimeout(() => program.stop('SIGKILL'), Math.random() * usual);
    const { code } = await program.ended;
    clearTimeout(timer);
    if (code === null) killed++;
    else usual = performance.now() - began; // The machine is faster or slower than it was.
    yield run;
  }
}

/** What a mirror finds wrong with a publication, pages and copies outside of it aside. */
async function wrongIn(place: string): Promise<{ version: number | undefined; wrong: string[] }> {
  const { findings, publication } = await verifyTree(place);
  const inside = findings.filter(({ kind, code }) => kind !== 'extra' && code !== 'copy-altered');
  return { version: publication?.version, wrong: inside.map(({ path, code }) => `${path} ${code}`) };
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
    const before = join(directory, 'before');
    await publish(two.first, await openTarget(before));
    const place = join(directory, 'place');
    const restore = async () => {
      await rm(place, { recursive: true, force: true });
      await cp(before, place, { recursive: true });
    };
    await restore();
    const duration = await durationOf(place);
    const prepare = async () => {
      await restore();
      return place;
    };
    const versions: (number | undefined)[] = [];
    for await (const run of kills(KILLS, duration, prepare)) {
      const { version, wrong } = await wrongIn(place);
      expect(wrong).toEqual([]);
      versions.push(version);
      if (run % 5 > 0) continue;
      expect(await publish(two.second, await openTarget(place))).toBe(2);
      expect((await verifyTree(place)).findings).toEqual([]);
    }
    expect(versions.every((version) => version === 1 || version === 2)).toBe(true);
  });

  it('at random moments of publishing to a bucket', { timeout: 900_000 }, async () => {
    const server: S3Server = await startS3Server();
    const env = { ...process.env, ...server.environment };
    Object.assign(process.env, server.environment);
    try {
      await server.bucket('site');
      const measured = await openTarget('s3://site/measured');
      await publish(two.first, measured);
      const duration = await durationOf(measured.name, env);
      const targets: Target[] = [];
      const prepare = async (run: number) => {
        targets[run] = await openTarget(`s3://site/${run}`);
        await publish(two.first, targets[run]);
        return targets[run].name;
      };
      for await (const run of kills(Math.ceil(KILLS / 10), duration, prepare, env)) {
        const target = targets[run] as Target;
        const place = join(directory, `downloaded-${run}`);
        await download(target, place);
        expect((await wrongIn(place)).wrong).toEqual([]);
        expect(await publish(two.second, target)).toBe(2);
        await download(target, `${place}-whole`);
        expect((await verifyTree(`${place}-whole`)).findings).toEqual([]);
        target.close();
      }
    } finally {
      for (const name of Object.keys(server.environment)) delete process.env[name];
      await server.stop();
    }
  });
});

describe('attack 67: a target', () => {
  it.each([
    ['that is full', ['sh', '-c', 'ulimit -f 1; exec "$@"', 'sh'], 'target-failed'],
    ['that may not be written', ['setpriv', '--reuid=65534', '--clear-groups', '--inh-caps=-all'], 'target-denied'],
  ])('%s: a clear error, and the publication before', { timeout: 60_000 }, async (what, wrapper, code) => {
    const place = join(directory, what);
    await publish(two.first, await openTarget(place));
    const before = await snapshot(place);
    // Whoever runs this test may be root, whom permissions do not stop.
    const asOther = process.getuid?.() === 0 || code !== 'target-denied';
    for (const path of [directory, two.workspace.directory]) await chmod(path, 0o777);
    await chmod(join(two.workspace.directory, 'publisher.db'), 0o666);
    await chmod(join(two.workspace.directory, 'publisher.last'), 0o644);
    for (const path of [join(place, 'news'), join(place, METADATA_PATH), place]) await chmod(path, 0o555);
    const args = [two.workspace.configurationFile, two.second, place];
    const command = [...(asOther ? wrapper : []), process.execPath, ROOT + PROGRAM, ...args];
    const { stdout } = await startCommand(command).ended;
    for (const path of [place, join(place, 'news'), join(place, METADATA_PATH)]) await chmod(path, 0o755);
    expect(stdout).toContain(`failed ${code}`);
    expect((await wrongIn(place)).wrong).toEqual([]);
    for (const [path, content] of before)
      if (path.includes('wispr/')) expect((await snapshot(place)).get(path)).toBe(content);
    expect(await publish(two.second, await openTarget(place))).toBe(2);
    expect((await verifyTree(place)).findings).toEqual([]);
  });
});

describe('rsync', () => {
  it('in the three passes that docs/publishing.md names leaves a whole publication after each', async () => {
    const place = join(directory, 'rsynced');
    await mkdir(place);
    const passes = [
      ['--include=*/', '--include=*.protected', '--exclude=*'],
      ['--exclude=/.well-known/wispr/timestamp.json'],
      ['--delete-after'],
    ];
    for (const out of [two.first, two.second]) {
      for (const options of passes) {
        const { code, stderr } = await startCommand(['rsync', '-rt@-1', ...options, `${out}/`, `${place}/`]).ended;
        expect([code, stderr]).toEqual([0, '']);
        if (out === two.second) expect((await wrongIn(place)).wrong).toEqual([]);
      }
    }
    expect(await verifyTree(place)).toMatchObject({ findings: [], publication: { version: 2 } });
  });
});
