/** `kill -9` in the middle of protecting: readers find a whole publication, and the next run goes on. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { keyIdOf } from '../../../core/crypto/key-id.ts';
import { openKeyStore } from '../../../publisher/keys/key-store.ts';
import { carriedContent, readPublished, type TrustedStore } from '../../support/published.ts';
import { createWorkspace, PASSPHRASE, SITE, type TestWorkspace } from '../../support/workspace.ts';
import { KILLS } from './kills.ts';

let workspace: TestWorkspace;
afterEach(() => workspace.remove());

it('attack 66: protect, killed at random moments, leaves one whole publication each time', async () => {
  workspace = await createWorkspace({ '0.txt': 'state 0' }, { public: ['*.css'] });
  await workspace.protect();
  const store: TrustedStore = new Map();
  const keys = new Map<string, Uint8Array>();
  const states = new Set<number>();
  let next = start(1);
  for (let kill = 0; kill < KILLS; kill++) {
    const running = next;
    next = start((kill + 1) * 1000 + 1);
    await runAndKill(running, kill);
    await learnKeys(keys);
    states.add(await checkPublication(store, keys));
  }
  next.kill('SIGKILL');
  expect(states.size).toBeGreaterThan(KILLS / 10); // some of the runs ended
  await clearSite();
  const { publication } = await workspace.protect();
  expect(publication.version).toBeGreaterThan(states.size);
  await learnKeys(keys);
  expect(await checkPublication(store, keys)).toBeGreaterThan(0);
  expect(await readdir(workspace.directory)).not.toContain('publisher.db-journal');
}, 600_000);

function start(state: number): ChildProcess {
  const script = join(import.meta.dirname, '../../support/protect-loop.ts');
  return spawn(process.execPath, [script, workspace.configurationFile, String(state)], { stdio: 'pipe' });
}

/** A moment of the first run or of one after it: the time from one to the next is measured on the way. A run that fails by itself is an error. */
async function runAndKill(child: ChildProcess, kill: number): Promise<void> {
  const errors: Buffer[] = [];
  child.stderr?.on('data', (text: Buffer) => errors.push(text));
  const gone = new Promise((resolve) => child.once('close', resolve));
  const done = new Promise((resolve) => child.stdout?.once('data', resolve));
  const begun = performance.now();
  child.stdin?.write('go\n');
  if (kill % 3 === 0) await Promise.race([done, gone]); // then in the second run, which is warm
  const least = kill % 3 === 0 ? 0 : 40;
  await new Promise((resolve) =>
    setTimeout(resolve, least + Math.random() * Math.min(400, performance.now() - begun + 300)),
  );
  child.kill('SIGKILL');
  await gone;
  expect([child.signalCode, Buffer.concat(errors).toString()]).toEqual(['SIGKILL', '']);
}

/** The key store as it is, and as it was whenever something was published. */
async function learnKeys(keys: Map<string, Uint8Array>): Promise<void> {
  const copies = join(workspace.directory, 'key-stores');
  const whole = (await readdir(copies)).filter((name) => /^\d+$/.test(name));
  for (const file of [...whole.map((name) => join(copies, name)), join(workspace.directory, 'publisher.keys')]) {
    const { contents } = await openKeyStore(await readFile(file), PASSPHRASE);
    for (const key of contents.sets.values()) keys.set(await keyIdOf('set', key), key);
  }
  for (const name of whole) await rm(join(copies, name));
}

/** Reads every document of the publication, and returns the state that all of them are of. */
async function checkPublication(store: TrustedStore, keys: ReadonlyMap<string, Uint8Array>): Promise<number> {
  const now = Math.floor(Date.now() / 1000) + 60; // timestamps of runs within one second are ahead of the clock
  const published = await readPublished(workspace.out, { site: SITE, keys, now, store });
  const contents = new Set<string>();
  for (const path of published.paths) {
    const text = (await carriedContent(await published.open(path))).toString();
    contents.add(/state \d+/.exec(text)?.[0] ?? path);
  }
  expect([...contents]).toHaveLength(1);
  const [, state = ''] = [...contents][0]?.split(' ') ?? [];
  expect(existsSync(join(workspace.out, '.well-known/wispr/timestamp.json'))).toBe(true);
  return Number(state);
}

/** Killed runs leave the sources of two states. */
async function clearSite(): Promise<void> {
  for (const name of await readdir(workspace.source)) await rm(join(workspace.source, name));
  for (const name of ['0.txt', 'page.html']) await workspace.write(name, 'state 9999999');
}
