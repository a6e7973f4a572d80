/**
 * Sign-ins with a password, beside bare hashing, and bindings of devices, beside bare Express: at one key server on SQLite. Then many sign-ins at once,
 * and key requests beside them.
 */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { randomBytes } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { acceptBinding, BINDING_PATH, encodeBindingRequest, normaliseCode } from '../../core/keys/binding.ts';
import { deriveDeviceKeys } from '../../core/keys/device.ts';
import { KEY_REQUEST_PATH } from '../../core/keys/key-request.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import type { Accounts } from '../accounts-server.ts';
import { type Message, post, rateOf, rateOfSending, signInMessage, startServer } from '../key-clients.ts';
import type { MeasuredServer } from '../key-server.ts';
import { compare, measureAlternately, percentile, type Row } from '../measure.ts';
import { startProgram } from '../processes.ts';

const SERVER = fileURLToPath(new URL('../accounts-server.ts', import.meta.url));
const RUNS = 5;
const SIGN_INS = 12;
/** Twice as many as are hashed at a time. */
const SIGN_INS_AT_A_TIME = 4;
const BINDINGS = 100;
/** Fewer than may fail from one address: until they are answered, they count. */
const BINDINGS_AT_A_TIME = 8;
/** Who sign in at the same moment. */
const CROWD = 500;
/** Who sign in all the time beside key requests: some of them always wait. */
const SIGN_INS_BESIDE = 16;
const KEY_REQUESTS = 1000;
const DEVICES = 8;

export async function signIn(): Promise<Row[]> {
  const folder = await mkdtemp(join(tmpdir(), 'wispr-bench-accounts-'));
  await using endings = new AsyncDisposableStack();
  endings.defer(() => rm(folder, { recursive: true }));
  const start = async <Ready>(starting: Promise<{ facts: Ready; stop: () => Promise<void> }>) => {
    const { facts, stop } = await starting;
    endings.defer(stop);
    return facts;
  };
  const invitations = String(BINDINGS * RUNS + 1 + DEVICES);
  const server = await start(startProgram<Accounts>(SERVER, ['keyserver', folder, invitations]));
  const hashing = await start(startProgram<Accounts>(SERVER, ['hashing']));
  const codes = [...server.codes];
  const [length = 0] = await post(server.keyServer, await bindings(server, codes.splice(0, 1)), 200, 1);
  const express = await start<MeasuredServer>(startServer(['express', String(length)]));
  const contestants = [
    { name: 'sign-ins', run: () => rateOfPosting(server.reading, signIns(server), 303, SIGN_INS_AT_A_TIME) },
    { name: 'hashing', run: () => rateOfPosting(hashing.reading, signIns(hashing), 303, SIGN_INS_AT_A_TIME) },
    {
      name: 'bindings',
      run: async () =>
        rateOfPosting(server.keyServer, await bindings(server, codes.splice(0, BINDINGS)), 200, BINDINGS_AT_A_TIME),
    },
    {
      name: 'bare Express',
      run: async () => {
        const messages = await bindings(server, server.codes.slice(0, BINDINGS));
        const there = messages.map((message) => ({ ...message, path: KEY_REQUEST_PATH }));
        return rateOfPosting(express.origin, there, 200, BINDINGS_AT_A_TIME);
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
    ...(await crowdRows(server, signed)),
    ...(await besideRows(server, await connectDevices(server, codes.splice(0, DEVICES)))),
  ];
}

/** What becomes of many who sign in at the same moment, each from an address of their own. @param rate - sign-ins a second */
async function crowdRows(server: Accounts, rate: number): Promise<Row[]> {
  const answers = await Promise.all(Array.from({ length: CROWD }, (_, index) => signInFrom(addressOf(index), server)));
  const [served, refused] = [303, 503].map((status) => answers.filter((answer) => answer.status === status));
  if (!served || !refused || served.length + refused.length !== CROWD)
    throw new Error(`answered ${[...new Set(answers.map(({ status }) => status))]}`);
  const waited = (some: typeof answers) =>
    percentile(
      99,
      some.map(({ seconds }) => seconds),
    );
  const about = { runs: 1, bound: 'both cores: Argon2id; 256 wait, two are hashed' };
  const row = `sign-in: ${CROWD} at once`;
  return [
    ...compare({ ...about, row: `${row}, served`, unit: 'sign-ins' }, ['', 'asked'], [served.length, CROWD]),
    ...compare(
      { ...about, row: `${row}, p99`, unit: 's' },
      ['', 'as many at that rate'],
      [waited(served), served.length / rate],
    ),
    ...compare({ ...about, row: `${row}, p99 of "busy"`, unit: 's' }, ['', 'p99'], [waited(refused), waited(served)]),
  ];
}

/** Key requests while sign-ins wait for their turn all the time. */
async function besideRows(server: Accounts, devices: MeasuredServer['devices']): Promise<Row[]> {
  const facts = { origin: server.keyServer, set: server.set, devices };
  const rate = () => rateOf(facts, facts, KEY_REQUESTS);
  const beside = async () => {
    let isOver = false;
    const signInOn = async (_: unknown, index: number) => {
      while (!isOver) await signInFrom(addressOf(index), server);
    };
    const waiting = Promise.all(Array.from({ length: SIGN_INS_BESIDE }, signInOn));
    const found = await rate();
    isOver = true;
    await waiting;
    return found;
  };
  const contestants = [
    { name: 'beside sign-ins', run: beside },
    { name: 'alone', run: rate },
  ];
  const about = { unit: 'requests/s', runs: RUNS, bound: 'both cores, which clients and Argon2id share' };
  return compare(
    { ...about, row: 'sign-in: key requests beside' },
    ['', 'alone'],
    await measureAlternately(contestants, RUNS),
  );
}

function addressOf(index: number): string {
  return `127.0.${1 + Math.floor(index / 250)}.${1 + (index % 250)}`;
}

async function signInFrom(localAddress: string, server: Accounts): Promise<{ status: number; seconds: number }> {
  const { path, headers, body } = signInMessage(server.reading, server.reader);
  const start = performance.now();
  const options = { method: 'POST', localAddress, agent: false, headers };
  const outgoing = request(server.reading + path, options).end(body);
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  await once(answer.resume(), 'end');
  return { status: answer.statusCode ?? 0, seconds: (performance.now() - start) / 1000 };
}

/** Connects a device by each code. */
function connectDevices(server: Accounts, codes: readonly string[]): Promise<MeasuredServer['devices']> {
  return Promise.all(
    codes.map(async (code) => {
      const { keys, body } = await bindingOf(server, code);
      const answer = await fetch(server.keyServer + BINDING_PATH, { method: 'POST', body: body as BodyInit });
      const { id, key } = await acceptBinding(body, new Uint8Array(await answer.arrayBuffer()), keys, server);
      return { id, key: toBase64url(key) };
    }),
  );
}

function signIns({ reading, reader }: Accounts): Message[] {
  return Array<Message>(SIGN_INS).fill(signInMessage(reading, reader));
}

/** Made before the clock runs: a reader's own work is no part of this. */
function bindings(server: Accounts, codes: readonly string[]): Promise<Message[]> {
  return Promise.all(codes.map(async (code) => ({ path: BINDING_PATH, body: (await bindingOf(server, code)).body })));
}

async function bindingOf({ keyServer, publisher }: Accounts, code: string) {
  const keys = await deriveDeviceKeys(randomBytes(32), { keyServer, publisher });
  return { keys, body: encodeBindingRequest(keys, publisher, normaliseCode(code) ?? '', nowInSeconds()) };
}

/** Messages a second. */
function rateOfPosting(origin: string, messages: readonly Message[], status: number, atATime: number): Promise<number> {
  return rateOfSending(messages.length, () => post(origin, messages, status, atATime));
}
