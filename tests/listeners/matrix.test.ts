/** A matrix of exchanges in bytes, at every listener and at nginx: method × version × framing × Host × Expect × form of the target × close. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { accepts, freePort, startChild, until } from '../../cache-config/child.ts';
import { forEachInFlight } from '../../node-support/in-flight.ts';
import { LISTENERS, type Listening, startListeners } from '../support/listeners.ts';
import { rawClient } from '../support/raw-http.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** Fields and body of each framing; the second column: whether it can be read in one way only, in that version. */
const FRAMINGS = {
  none: ['', '', ['1.1', '1.0']],
  length: ['Content-Length: 5\r\n', 'hello', ['1.1', '1.0']],
  zeros: ['Content-Length: 0005\r\n', 'hello', ['1.1', '1.0']],
  chunked: ['Transfer-Encoding: chunked\r\n', '5\r\nhello\r\n0\r\n\r\n', ['1.1']],
  'sign in a chunk': ['Transfer-Encoding: chunked\r\n', '+5\r\nhello\r\n0\r\n\r\n', []],
  'two lengths': ['Content-Length: 5\r\nContent-Length: 6\r\n', 'hello', []],
  both: ['Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', '5\r\nhello\r\n0\r\n\r\n', []],
  'unknown coding': ['Transfer-Encoding: gzip\r\n', '', []],
} as const;
const AXES = {
  method: ['GET', 'HEAD', 'POST', 'PUT', 'OPTIONS', 'PATCH'],
  version: ['1.1', '1.0'],
  framing: Object.keys(FRAMINGS) as (keyof typeof FRAMINGS)[],
  host: ['own', 'none', 'two', 'foreign', 'malformed'],
  expect: ['', '100-continue', '200-ok'],
  target: ['origin', 'absolute', 'absolute elsewhere', 'form'],
  close: [false, true],
} as const;

type Case = { readonly [Axis in keyof typeof AXES]: (typeof AXES)[Axis][number] };

/** Prime that leaves every value of every axis with every other. */
const EACH = 23;
const ALL = Object.values(AXES).reduce((count, values) => count * values.length, 1);
const CASES = Array.from({ length: Math.ceil(ALL / EACH) }, (_, index) => caseAt(index * EACH));

/** Returns a case by its number, which has a digit for each axis. */
function caseAt(number: number): Case {
  let rest = number;
  const chosen = Object.entries(AXES).map(([axis, values]): [string, unknown] => {
    const value = values[rest % values.length];
    rest = Math.floor(rest / values.length);
    return [axis, value];
  });
  return Object.fromEntries(chosen) as Case;
}

let listeners: Awaited<ReturnType<typeof startListeners>>;
let nginx: Omit<Listening, 'name'> & { stop(): Promise<void> };
beforeAll(async () => {
  [listeners, nginx] = await Promise.all([startListeners(), startNginx()]);
});
afterAll(() => Promise.all([listeners.close(), nginx.stop()]));

async function startNginx() {
  const [directory, port] = [temporaryFolder(), await freePort()];
  const logs = 'access_log off; error_log stderr;';
  const server = (name: string, status: number) =>
    `server { listen 127.0.0.1:${port}${status === 421 ? ' default_server' : ''}; server_name ${name}; return ${status}; }`;
  writeFileSync(
    join(directory, 'nginx.conf'),
    `pid ${directory}/pid; events {} http { ${logs} ${server('own.example', 204)} ${server('_', 421)} }`,
  );
  const child = startChild(
    ['nginx', '-c', join(directory, 'nginx.conf'), '-e', 'stderr', '-g', 'daemon off;'],
    directory,
    { stopSignal: 'SIGTERM' },
  );
  expect(await until(() => accepts(port), 20_000)).toBe(true);
  return { port, host: 'own.example', path: '/', elsewhere: 421, stop: () => child.stop() };
}

/** The bytes of an exchange, and behind it a request that a sound listener answers where the connection goes on. */
function bytesOf(one: Case, { host, path, form }: Omit<Listening, 'name'>): string {
  const [framing, body] = FRAMINGS[one.framing];
  const isForm = one.target === 'form' && form !== undefined;
  const absolute = { absolute: `http://${host}`, 'absolute elsewhere': 'http://elsewhere.example' }[
    one.target as string
  ];
  const hosts = {
    own: [host],
    none: [],
    two: [host, 'elsewhere.example'],
    foreign: ['elsewhere.example'],
    malformed: ['a b'],
  }[one.host];
  const fields = [
    ...hosts.map((name) => `Host: ${name}`),
    ...(isForm ? form.fields : []),
    ...(one.expect ? [`Expect: ${one.expect}`] : []),
    ...(one.close ? ['Connection: close'] : []),
  ];
  const target = `${absolute ?? ''}${isForm ? form.path : path}`;
  const head = `${one.method} ${target} HTTP/${one.version}\r\n${fields.map((field) => `${field}\r\n`).join('')}${framing}\r\n`;
  return `${head}${body}GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
}

interface Answer {
  readonly status: number;
  readonly fields: string;
}

/** Reads the answers of a connection, the interim ones too. @throws Error for what is no answer */
function answersIn(text: string, methods: readonly string[]): Answer[] {
  const answers: Answer[] = [];
  for (let rest = text, final = 0; rest !== ''; ) {
    const [head = '', status = '', fields = ''] =
      /^HTTP\/1\.1 (\d{3})[^\r]*\r\n((?:[^\r\n]+\r\n)*)\r\n/.exec(rest) ?? [];
    if (head === '') throw new Error(`no answer: ${JSON.stringify(rest.slice(0, 200))}`);
    answers.push({ status: Number(status), fields: fields.toLowerCase() });
    rest = rest.slice(head.length);
    if (Number(status) < 200) continue;
    const hasNone = methods[final++] === 'HEAD' || status === '204' || status === '304';
    const length = /^content-length: (\d+)/im.exec(fields)?.[1];
    if (hasNone) continue;
    if (length !== undefined) rest = rest.slice(Number(length));
    else if (/^transfer-encoding: chunked/im.test(fields)) rest = rest.slice(rest.indexOf('0\r\n\r\n') + 5);
    else rest = '';
  }
  return answers;
}

async function exchange(one: Case, listener: Omit<Listening, 'name'>): Promise<Answer[]> {
  const client = await rawClient(listener.port);
  client.send(bytesOf(one, listener));
  const text = await client.ended();
  client.close();
  return answersIn(text, [one.method, 'GET']);
}

const isMalformed = ({ framing, version, host }: Case) =>
  !(FRAMINGS[framing][2] as readonly string[]).includes(version) ||
  host === 'two' ||
  host === 'malformed' ||
  (host === 'none' && version === '1.1');

/** @returns what is wrong with the answers of a listener */
function faultOf(one: Case, listener: Listening, answers: readonly Answer[]): string | undefined {
  const { elsewhere, form, path, isProxy } = listener;
  const interim = answers.filter(({ status }) => status < 200);
  const [first, second, third] = answers.filter(({ status }) => status >= 200);
  if (first === undefined) return 'no answer';
  if (third) return 'more answers than requests';
  const isPassed = isProxy && one.target === 'absolute elsewhere';
  const isRead = isPassed || (form && one.method === 'POST' && (one.target === 'form' || form.path === path));
  const mayInvite = one.version === '1.1' && one.expect === '100-continue' && isRead;
  if (interim.length > (mayInvite ? 1 : 0)) return 'an invitation that nobody asked for';
  if ((isMalformed(one) || one.close || one.version === '1.0') && second)
    return 'an answer on a connection that is over';
  if (isMalformed(one)) {
    const isLate = one.framing === 'sign in a chunk'; // an answer may come before the body is read
    return first.status === 400 || isLate ? undefined : `malformed, and answered ${first.status}`;
  }
  const isElsewhere = one.target.startsWith('absolute') ? one.target !== 'absolute' : one.host === 'foreign';
  const isRefused = isElsewhere && elsewhere !== undefined && !isPassed;
  if (one.version === '1.1' && one.expect === '200-ok' && !isPassed)
    return first.status === 417 || isRefused ? undefined : 'an expectation is ignored';
  if (isRefused && first.status !== elsewhere) return `of another host, and answered ${first.status}`;
  if (!isElsewhere && one.host !== 'none' && first.status === 421) return 'misdirected at home';
  const isSaid = one.close || one.version === '1.0' || /^connection: close/m.test(first.fields);
  return second || isSaid ? undefined : 'a connection closed without a word';
}

it('has at least 400 exchanges', () => expect(CASES.length).toBeGreaterThanOrEqual(400));

it.each(LISTENERS)('answers each request once, by HTTP’s rules, at the listener “%s”', async (wanted) => {
  const faults: string[] = [];
  const listener = listeners.all.find(({ name }) => name === wanted) as Listening;
  await forEachInFlight(CASES, 8, async (one) => {
    const fault = await exchange(one, listener).then(
      (answers) => faultOf(one, listener, answers),
      (error: Error) => error.message,
    );
    if (fault) faults.push(`${listener.name}: ${fault}: ${Object.values(one).join(' ')}`);
  });
  expect(faults).toEqual([]);
});

/** nginx ignores expectations, and answers before it reads a body: there it refuses later, or not at all. */
const isOwnWay = ({ framing, expect: expected }: Case) => framing === 'sign in a chunk' || expected === '200-ok';

it('takes and refuses what nginx takes and refuses', async () => {
  const [api] = listeners.all as [Listening];
  const kind = (answers: readonly Answer[]) => {
    const { status = 0 } = answers.find((answer) => answer.status >= 200) ?? {};
    return [400, 501].includes(status) ? 'malformed' : status === 421 ? 'elsewhere' : 'taken';
  };
  const differences: string[] = [];
  const compared = CASES.filter((each) => each.target !== 'form' && !isOwnWay(each));
  await forEachInFlight(compared, 8, async (one) => {
    const [theirs, ours] = [kind(await exchange(one, nginx)), kind(await exchange(one, api))];
    if (theirs !== ours) differences.push(`${Object.values(one).join(' ')}: ${theirs} by nginx, ${ours} here`);
  });
  expect(differences).toEqual([]);
});
