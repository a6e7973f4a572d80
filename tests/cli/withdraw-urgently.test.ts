/** `wispr withdraw` and `timestamp` where bucket or key server leave everybody waiting, and where somebody ends them meanwhile. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { confirmFromWorkspace } from '../../cli/confirm-publication.ts';
import type { ConfirmLimits } from '../../cli/confirm-steps.ts';
import { warnAboutKeys } from '../../cli/key-listing.ts';
import { parseHandOver } from '../../core/publication/hand-over-1.ts';
import { METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { openTarget } from '../../node-support/storage/open.ts';
import { listKeys } from '../../publisher/keys/list-keys.ts';
import { metadataIn } from '../../publisher/publication/places.ts';
import { publishSite } from '../../publisher/publish/publish.ts';
import { withdrawVersion } from '../../publisher/timestamp/sign-timestamp.ts';
import { workspaceOf } from '../../publisher/workspace.ts';
import { type ContentHost, startContentHost } from '../support/content-host.ts';
import { lastOf } from '../support/last-published.ts';
import { startProgram } from '../support/programs.ts';
import { type S3Server, startS3Server } from '../support/s3-server.ts';
import { type StallingServer, startStallingServer } from '../support/stalling-s3.ts';
import { createWorkspace, PASSPHRASE, type TestWorkspace } from '../support/workspace.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 90_000 });

const TIMESTAMP = METADATA_PATH + TIMESTAMP_FILE;
const QUICK: ConfirmLimits = { looking: 300, moment: 30 };
const PATIENT: ConfirmLimits = { ...QUICK, looking: 60_000 };
let number = 0;
let s3: S3Server;
let front: StallingServer;
let keyServer: ContentHost;
let made: TestWorkspace;
let place: string;
/** What the key server confirms; what it was told, and how it answers the next time. */
let known: Uint8Array | undefined;
let told: number[][];
/** How many of its answers to that have left it. */
let answered: number;
/** Whether it has no answer for who asks what it has; what its clock says. */
let silent = false;
let headDate: string | undefined;
let answer: (request: IncomingMessage, response: ServerResponse) => void;
/** What people are shown, and the end of it. */
let said: string[];
let doubts: string[];
let controller: AbortController;

beforeAll(async () => {
  [s3, keyServer] = await Promise.all([startS3Server(), startContentHost()]);
  front = await startStallingServer(s3.endpoint);
  for (const [name, value] of Object.entries(s3.environment)) vi.stubEnv(name, value);
  vi.stubEnv('AWS_ENDPOINT_URL_S3', front.endpoint);
  keyServer.handlers.set(TIMESTAMP, (request, response) => {
    if (request.method === 'GET') return silent ? request.resume() : response.writeHead(known ? 200 : 404).end(known);
    response.writeHead(404, headDate === undefined ? {} : { date: headDate }).end();
  });
  keyServer.handlers.set('/v1/publication', async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    told.push(withdrawnBy(parseHandOver(Buffer.concat(parts)).timestamp));
    response.once('finish', () => answered++);
    answer(request, response);
  });
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await Promise.all([front.close(), keyServer.close(), s3.stop()]);
});

beforeEach(async () => {
  [known, told, said, doubts, controller] = [undefined, [], [], [], new AbortController()];
  answered = 0;
  [silent, headDate, front.stalls, front.passesOn] = [false, undefined, () => false, false];
  answer = (_, response) => response.writeHead(200).end('{}');
  await s3.bucket(`urgent-${++number}`);
  place = `s3://urgent-${number}`;
  const settings = { keyServer: keyServer.origin, keyServerTokenFile: 'token', publish: place };
  made = await createWorkspace({ 'a.txt': 'a mistake' }, settings);
  await writeFile(join(made.directory, 'token'), `wispr-publish-${'a'.repeat(43)}\n`, { mode: 0o600 });
  await writeFile(join(made.directory, 'passphrase'), PASSPHRASE, { mode: 0o600 });
  await made.protect();
  await publish();
});
afterEach(() => made.remove());

const publish = async () => {
  const target = await openTarget(place);
  const workspace = workspaceOf(made.configurationFile);
  await publishSite({ workspace, out: made.out, target, keysAreThere: true, signal: controller.signal });
  known = await readFile(join(made.out, TIMESTAMP));
  target.close();
};
const protectNext = async () => {
  await made.write('a.txt', 'another');
  await made.protect();
};
const confirm = (withdraw?: number, limits: ConfirmLimits = QUICK) =>
  confirmFromWorkspace(
    { passphrase: PASSPHRASE, withdraw },
    { config: made.configurationFile },
    {
      ...{ limits, signal: controller.signal },
      onWait: (what) => void said.push(what),
      onDoubt: (doubt) => void doubts.push(doubt),
    },
  );
const withdrawnBy = (bytes: Uint8Array) => JSON.parse(Buffer.from(bytes).toString()).signed['x-wispr-withdrawn'] ?? [];
const here = async () => withdrawnBy(await readFile(join(made.out, TIMESTAMP)));
const shown = async () => {
  const target = await openTarget(place);
  const bytes = await target.get(TIMESTAMP, 20_000);
  target.close();
  return withdrawnBy(bytes ?? new Uint8Array());
};
const unfinished = async () => (await lastOf(workspaceOf(made.configurationFile))).unfinished;
/** What `wispr keys list` says on standard error. */
const listed = async () => {
  const lines: string[] = [];
  const spy = vi.spyOn(process.stderr, 'write').mockImplementation((text) => lines.push(String(text)) > 0);
  warnAboutKeys(await listKeys(made.configurationFile, undefined), 'wispr publish');
  spy.mockRestore();
  return lines.join('');
};
const isPutOfTimestamp = (method: string, path: string) => method === 'PUT' && path.endsWith(TIMESTAMP);
const ended = (message: RegExp, hint = /./) => ({
  code: 'stopped',
  message: expect.stringMatching(message),
  hint: expect.stringMatching(hint),
});
/** And has said that it is: the one who is told is this process, and reads that in its next turns. */
const isTold = async (times = 1) => {
  await vi.waitFor(() => expect(answered).toBeGreaterThanOrEqual(times), { timeout: 30_000 });
  for (let turn = 0; turn < 3; turn++) await setImmediate();
};

describe('a bucket that never answers', () => {
  beforeEach(() => {
    front.stalls = () => true;
  });

  it('keeps nothing from being signed, nor the key server from hearing of it', async () => {
    const run = expect(confirm(1)).rejects.toMatchObject(
      ended(
        /^stopped; publication 1 is withdrawn, and that is signed, in .*; the key server .* has it; s3:.* does not have it$/,
        /^run "wispr withdraw 1" again: it finishes this/,
      ),
    );
    await isTold();
    controller.abort();
    await run;
    expect([told, await here(), await unfinished()]).toEqual([[[1]], [1], [1]]);
    expect(said[0]).toBe(`looking at what ${place} has`);
    expect(doubts).toEqual([expect.stringMatching(/did not show in time what it has; it is signed without/)]);
  });

  it('is brought it by the same command again, which the others name until then', async () => {
    const run = expect(confirm(1)).rejects.toMatchObject({ code: 'stopped' });
    await isTold();
    controller.abort();
    await run;
    expect(await listed()).toMatch(/not brought to everybody .*\n.*run "wispr withdraw 1" again/);
    expect(await listed()).not.toContain('readers refuse it');
    front.stalls = () => false;
    controller = new AbortController();
    await expect(confirm()).rejects.toMatchObject({
      code: 'publication-withdrawn',
      message: expect.stringContaining('not brought to everybody'),
      hint: expect.stringContaining('run "wispr withdraw 1" again'),
    });
    expect(await shown()).toEqual([]);
    await confirm(1);
    expect([await shown(), await unfinished()]).toEqual([[1], []]);
    expect(await listed()).toMatch(/^wispr: publication 1 is WITHDRAWN: readers refuse it/);
  });

  it('is none the key server waits for that has something later, either', async () => {
    const answers = [409, 200];
    answer = (_, response) => response.writeHead(answers.shift() ?? 500).end('{"error":"metadata-rollback"}');
    const run = expect(confirm(1)).rejects.toMatchObject(ended(/the key server .* has it/));
    await isTold(2);
    controller.abort();
    await run;
    expect(told).toEqual([[1], [1]]);
  });

  it('leaves nothing signed where that is ended before', async () => {
    const stalled = front.nextStalled();
    const run = confirm(1, PATIENT);
    const end = expect(run).rejects.toMatchObject(ended(/^stopped; nothing was signed$/));
    await stalled;
    controller.abort();
    await end;
    expect([told, await here(), await unfinished()]).toEqual([[], [], []]);
  });

  it('is waited for by a confirmation, which says so, and signs nothing where that is ended', async () => {
    const run = expect(confirm()).rejects.toMatchObject(ended(/^stopped; nothing was signed$/));
    await vi.waitFor(() => expect(said).toContain(`looking at what ${place} has`));
    const before = await readFile(join(made.out, TIMESTAMP));
    controller.abort();
    await run;
    expect(await readFile(join(made.out, TIMESTAMP))).toEqual(before);
  });
});

it.each([false, true])('a timestamp on its way may be there or not: taken %s', async (passesOn) => {
  [front.stalls, front.passesOn] = [isPutOfTimestamp, passesOn];
  const stalled = front.nextStalled();
  const run = expect(confirm(1)).rejects.toMatchObject(ended(/has it; whether s3:.* has it is not known$/));
  await stalled;
  await isTold();
  controller.abort();
  await run;
  front.stalls = () => false;
  controller = new AbortController();
  await confirm(1);
  expect([await shown(), await unfinished()]).toEqual([[1], []]);
});

it('publishing again finishes it as well', async () => {
  front.stalls = isPutOfTimestamp;
  const stalled = front.nextStalled();
  const run = expect(confirm(1)).rejects.toMatchObject({ code: 'stopped' });
  await stalled;
  controller.abort();
  await run;
  front.stalls = () => false;
  controller = new AbortController();
  await publish();
  expect([await shown(), await unfinished()]).toEqual([[1], []]);
});

it('what is signed for a publication that the output has gone on from is said to be in no place where it is not', async () => {
  await protectNext();
  const before = await readFile(join(made.out, TIMESTAMP));
  front.stalls = isPutOfTimestamp;
  const stalled = front.nextStalled();
  const run = expect(confirm(1)).rejects.toMatchObject(
    ended(/^stopped; publication 1 is withdrawn, and that is signed; the key/, /again: it signs that once more, and b/),
  );
  await stalled;
  await isTold();
  controller.abort();
  await run;
  expect(await readFile(join(made.out, TIMESTAMP))).toEqual(before);
});

it.each([1, 2])('a bucket that falls silent keeps from nothing what may be out, gone on to %s', async (further) => {
  await protectNext();
  [front.stalls, front.passesOn] = [isPutOfTimestamp, true];
  const stalled = front.nextStalled();
  const stopped = expect(publish()).rejects.toMatchObject({ code: 'stopped' });
  await stalled;
  controller.abort();
  await stopped;
  front.stalls = () => true;
  controller = new AbortController();
  if (further === 2) await protectNext();
  const run = expect(confirm(2)).rejects.toMatchObject(ended(/^stopped; publication 2 is withdrawn, .*has it; /));
  await isTold();
  controller.abort();
  await run;
  expect([told, await unfinished()]).toEqual([[[2]], [2]]);
  expect(doubts).toContain(`publication 2 may be out, for all that ${place} shows; it is withdrawn as if it were`);
  front.stalls = () => false;
  controller = new AbortController();
  await confirm(2);
  expect([await shown(), await unfinished()]).toEqual([[2], []]);
});

it('what was never made is asked the bucket for, and that is ended like all else', async () => {
  await protectNext();
  front.stalls = () => true;
  const run = expect(confirm(7)).rejects.toMatchObject(ended(/^stopped; nothing was signed$/));
  await vi.waitFor(() => expect(said).toContain(`looking at what ${place} has`));
  controller.abort();
  await run;
});

it('a confirmation that is ended says what is signed, and where', async () => {
  front.stalls = isPutOfTimestamp;
  const stalled = front.nextStalled();
  const message =
    /^stopped; the publication is confirmed, and that is signed, in .*; the key server .* does not have it; w/;
  const run = expect(confirm()).rejects.toMatchObject(ended(message, /^run "wispr timestamp" again/));
  await stalled;
  controller.abort();
  await run;
  expect(await unfinished()).toEqual([]);
});

it('a key server that never answers keeps nothing from the bucket', async () => {
  silent = true;
  answer = () => undefined;
  const run = expect(confirm(1)).rejects.toMatchObject(ended(/whether the key server .* has it is not known; /));
  await vi.waitFor(async () => expect(await shown()).toEqual([1]), { timeout: 30_000 });
  await vi.waitFor(() => expect(told).not.toEqual([]), { timeout: 30_000 }); // and answers nothing
  controller.abort();
  await run;
});

it('what is nowhere but at the bucket is waited for', async () => {
  await protectNext();
  await rm(join(made.out, METADATA_PATH, '1.snapshot.json'));
  let first = true;
  front.stalls = () => {
    const isFirst = first;
    first = false;
    return isFirst;
  };
  await confirm(1);
  expect([told, await shown()]).toEqual([[[1]], [1]]);
});

it('what others withdrew is kept, where it is seen in time', async () => {
  await protectNext();
  await publish();
  const { signers, rootId } = await made.keyStore();
  const options = { signer: signers.timestamp, rootId, now: nowInSeconds() + 1 };
  const before = await readFile(join(made.out, TIMESTAMP));
  const own = metadataIn(join(made.out, METADATA_PATH));
  const { bytes } = await withdrawVersion(1, { ...options, own });
  await own.replaceTimestamp(before);
  const target = await openTarget(place);
  await target.put(TIMESTAMP, bytes, { contentType: 'application/json', cacheControl: 'no-cache' });
  target.close();
  await confirm(2, PATIENT);
  expect([told, await shown()]).toEqual([[[1, 2]], [1, 2]]);
});

it('a key server whose clock is behind keeps nothing from being withdrawn', async () => {
  headDate = new Date(Date.now() - 3_600_000).toUTCString();
  await confirm(1, PATIENT);
  expect([told, await shown()]).toEqual([[[1]], [1]]);
  expect(doubts).toEqual([
    expect.stringMatching(/this machine's clock says .*; what is urgent is signed all the same/),
  ]);
});

it.each(['withdraw', 'timestamp'])(
  'Ctrl-C ends %s with what is true; what is waited for was said by then',
  async (name) => {
    front.stalls = () => true;
    const what = name === 'withdraw' ? ['1', '--yes'] : [];
    const args = [name, ...what, '--passphrase-file', 'passphrase'];
    const program = startProgram('bin/wispr.js', args, { cwd: made.directory });
    const waiting = `wispr: looking at what ${place} has`;
    await vi.waitFor(() => expect(program.stderr()).toContain(waiting), { timeout: 30_000 });
    const { code, stdout, stderr } = await program.stop('SIGINT');
    expect([code, stdout, stderr]).toEqual([
      1,
      '',
      `${waiting}\nwispr: stopped; nothing was signed [stopped]\nwispr: hint: run the same command again\n`,
    ]);
  },
);
