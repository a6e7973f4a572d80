/** `wispr demo` and `wispr serve` in a folder of their own for each test, where it can be seen what a run leaves behind. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { send } from './http-client.ts';
import { processesIn, type RunningProgram, runProgram, startProgram } from './programs.ts';

const PROGRAM = 'bin/wispr.js';
export const KEYS = ['tour', 'proxy', 'gateway', 'site', 'keyserver', 'reading', 'origin', 'cache'] as const;
export type Addresses = Record<(typeof KEYS)[number], string>;

export function demoRuns() {
  let folder = '';
  let sites = '';
  let env: NodeJS.ProcessEnv = {};
  let running: RunningProgram | undefined;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'wispr-demo-test-'));
    sites = mkdtempSync(join(tmpdir(), 'wispr-demo-sites-'));
    chmodSync(folder, 0o711); // servers become other users, which have to get in
    const session = join(folder, 'session'); // Readers leave an empty folder for their sockets there
    mkdirSync(session, { mode: 0o700 });
    env = { ...process.env, TMPDIR: folder, XDG_RUNTIME_DIR: session };
  });
  afterEach(async () => {
    await running?.stop();
    running = undefined;
    for (const each of [folder, sites]) rmSync(each, { recursive: true, force: true });
  });
  const stays = (program: RunningProgram) => {
    running = program;
    return program;
  };
  return {
    /** Directories that are published. */
    sites: () => sites,
    /** Folder below which a run writes everything. */
    folder: () => folder,
    env: () => env,
    /** Runs a command to its end. */
    run: (...args: string[]) => runProgram(PROGRAM, args, { env }),
    /** Starts a command that stays, and is stopped after the test. */
    start: (...args: string[]) => stays(startProgram(PROGRAM, args, { env })),
    /** Stops it after the test. */
    stays,
    /** Expects nothing of a run to be left: no file, and no process once those that were killed are gone. */
    expectNothingLeft: async () => {
      // npm itself keeps something there.
      expect(readdirSync(folder).filter((name) => name.startsWith('wispr-'))).toEqual([]);
      const sockets = join(folder, 'session', 'wispr');
      expect(existsSync(sockets) ? readdirSync(sockets) : []).toEqual([]);
      await expect.poll(() => processesIn(folder)).toEqual([]);
    },
  };
}

export function stepsOf(output: string): string[] {
  return output.split('\n').slice(0, -1);
}

/** Asks as a program that is set to use a proxy: the gateway's names below localhost need no name server this way. */
export async function viaProxy(proxy: string, url: string): Promise<{ status: number }> {
  const { status } = await send(Number(new URL(proxy).port), url);
  return { status };
}
