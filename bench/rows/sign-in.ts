/** Sign-ins with a password, beside bare hashing, and bindings of devices, beside bare Express: at one key server on SQLite. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Pool } from 'undici';
import { randomBytes } from '#primitives';
import { BINDING_PATH, encodeBindingRequest, normaliseCode } from '../../core/keys/binding.ts';
import { deriveDeviceKeys } from '../../core/keys/device.ts';
import { KEY_REQUEST_PATH } from '../../core/keys/key-request.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import type { Accounts } from '../accounts-server.ts';
import type { Asked } from '../key-server.ts';
import { compare, measureAlternately, type Row } from '../measure.ts';
import { startProgram, startServer } from './key-requests.ts';

const SERVER = fileURLToPath(new URL('../accounts-server.ts', import.meta.url));
const RUNS = 5;
const SIGN_INS = 12;
/** Twice as many as are hashed at a time. */
const SIGN_INS_AT_A_TIME = 4;
const BINDINGS = 100;
/** Fewer than may fail from one address: until they are answered, they count. */
const BINDINGS_AT_A_TIME = 8;

interface Message {
  readonly path: string;
  readonly body: Uint8Array | string;
  readonly headers?: Record<string, string>;
}

export async function signIn(): Promise<Row[]> {
  const folder = await mkdtemp(join(tmpdir(), 'wispr-bench-accounts-'));
  const endings: (() => Promise<void>)[] = [() => rm(folder, { recursive: true })];
  const start = async <Ready>(starting: Promise<{ asked: Ready; stop: () => Promise<void> }>) => {
    const { asked, stop } = await starting;
    endings.push(stop);
    return asked;
  };
  try {
    const invitations = String(BINDINGS * RUNS + 1);
    const server = await start(startProgram<Accounts>(SERVER, ['keyserver', folder, invitations]));
    const hashing = await start(startProgram<Accounts>(SERVER, ['hashing']));
    const codes = [...server.codes];
    const [length = 0] = await send(server.keyServer, await bindings(server, codes.splice(0, 1)), 200, 1);
    const express = await start<Asked>(startServer(['express', String(length)]));
    const contestants = [
      { name: 'sign-ins', run: () => rateOf(server.reading, signIns(server), 303, SIGN_INS_AT_A_TIME) },
      { name: 'hashing', run: () => rateOf(hashing.reading, signIns(hashing), 303, SIGN_INS_AT_A_TIME) },
      {
        name: 'bindings',
        run: async () =>
          rateOf(server.keyServer, await bindings(server, codes.splice(0, BINDINGS)), 200, BINDINGS_AT_A_TIME),
      },
      {
        name: 'bare Express',
        run: async () => {
          const messages = await bindings(server, server.codes.slice(0, BINDINGS));
          const there = messages.map((message) => ({ ...message, path: KEY_REQUEST_PATH }));
          return rateOf(express.origin, there, 200, BINDINGS_AT_A_TIME);
        },
      },
    ];
    const [signed = 0, hashed = 0, bound = 0, bare = 0] = await measureAlternately(contestants, RUNS);
    const about = { unit: 'a second', runs: RUNS };
    return [
      ...compare(
        { ...about, row: 'sign-in: by password', bound: 'both cores: Argon2id' },
        ['', 'bare Argon2id'],
        [signed, hashed],
      ),
      ...compare(
        { ...about, row: 'sign-in: bindings', bound: 'one core: X-Wing; the disk' },
        ['', 'bare Express'],
        [bound, bare],
      ),
    ];
  } finally {
    for (const end of endings.reverse()) await end();
  }
}

function signIns({ reading, reader }: Accounts): Message[] {
  const headers = { origin: reading, 'content-type': 'application/x-www-form-urlencoded' };
  const message = { path: '/-/sign-in', body: new URLSearchParams(reader).toString(), headers };
  return Array<Message>(SIGN_INS).fill(message);
}

/** Made before the clock runs: a reader's own work is no part of this. */
function bindings({ keyServer, publisher }: Accounts, codes: readonly string[]): Promise<Message[]> {
  const made = codes.map(async (code) => {
    const keys = await deriveDeviceKeys(randomBytes(32), { keyServer, publisher });
    return {
      path: BINDING_PATH,
      body: encodeBindingRequest(keys, publisher, normaliseCode(code) ?? '', nowInSeconds()),
    };
  });
  return Promise.all(made);
}

/** Messages a second. */
async function rateOf(origin: string, messages: readonly Message[], status: number, atATime: number): Promise<number> {
  const start = performance.now();
  await send(origin, messages, status, atATime);
  return (messages.length * 1000) / (performance.now() - start);
}

/** @returns the lengths of the answers */
async function send(origin: string, messages: readonly Message[], status: number, atATime: number): Promise<number[]> {
  const pool = new Pool(origin, { connections: atATime });
  const lengths: number[] = [];
  let next = 0;
  const sendOn = async () => {
    for (let message = messages[next++]; message; message = messages[next++]) {
      const answer = await pool.request({ ...message, method: 'POST' });
      lengths.push((await answer.body.bytes()).length);
      if (answer.statusCode !== status) throw new Error(`${origin} answered ${answer.statusCode}`);
    }
  };
  await Promise.all(Array.from({ length: atATime }, sendOn));
  await pool.close();
  return lengths;
}
