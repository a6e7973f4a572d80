/** A publishing that is told to stop at its last steps: while the timestamp is put, and while a key server is waited for. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { BUNDLE_PATH, PUBLICATION_PATH } from '../../core/publication/hand-over-1.ts';
import { METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { openTarget } from '../../node-support/storage/open.ts';
import { rotateRole } from '../../publisher/keys/change-roles.ts';
import { type PublishOptions, publishSite } from '../../publisher/publish/publish.ts';
import { workspaceOf } from '../../publisher/workspace.ts';
import { type ContentHost, startContentHost } from '../support/content-host.ts';
import { startProgram } from '../support/programs.ts';
import { type S3Server, startS3Server } from '../support/s3-server.ts';
import { type StallingServer, startStallingServer } from '../support/stalling-s3.ts';
import { createWorkspace, PASSPHRASE, type TestWorkspace } from '../support/workspace.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 90_000 });

const TIMESTAMP = METADATA_PATH + TIMESTAMP_FILE;
let number = 0;
let s3: S3Server;
let front: StallingServer;
let keyServer: ContentHost;
let made: TestWorkspace;
let place: string;
let controller: AbortController;

beforeAll(async () => {
  [s3, keyServer] = await Promise.all([startS3Server(), startContentHost()]);
  front = await startStallingServer(s3.endpoint);
  for (const [name, value] of Object.entries(s3.environment)) vi.stubEnv(name, value);
  vi.stubEnv('AWS_ENDPOINT_URL_S3', front.endpoint);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await Promise.all([front.close(), keyServer.close(), s3.stop()]);
});
beforeEach(async () => {
  [controller, front.stalls, front.passesOn] = [new AbortController(), () => false, false];
  keyServer.handlers.clear();
  await s3.bucket(`late-${++number}`);
  place = `s3://late-${number}`;
  const settings = { keyServer: keyServer.origin, publish: place, keyServerTokenFile: 'token' };
  made = await createWorkspace({ 'a.html': '<p>1' }, settings);
  await made.protect();
  await writeFile(workspaceOf(made.configurationFile).bundle, 'a bundle');
});
afterEach(() => made.remove());

const publish = async (more: Partial<PublishOptions> = {}) => {
  const target = await openTarget(place);
  const workspace = workspaceOf(made.configurationFile);
  const { signal } = controller;
  return publishSite({ workspace, out: made.out, target, keysAreThere: true, signal, ...more }).finally(() =>
    target.close(),
  );
};
const access = () => ({ origin: keyServer.origin, token: 'x'.repeat(20) });
const published = async () => {
  const target = await openTarget(place);
  const bytes = await target.get(TIMESTAMP, 20_000);
  target.close();
  return bytes && JSON.parse(Buffer.from(bytes).toString()).signed.meta['snapshot.json'].version;
};
const stallTimestamp = () => {
  front.stalls = (method, path) => method === 'PUT' && path.endsWith(TIMESTAMP);
  return front.nextStalled();
};
/** @returns when it was asked, and says nothing */
const silentAt = (path: string) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  keyServer.handlers.set(path, (request) => {
    request.resume();
    resolve();
  });
  return promise;
};
const endWhen = async (moment: Promise<void>) => {
  await moment;
  controller.abort();
};

it.each([false, true])('says that readers find either publication, at the timestamp: taken %s', async (passesOn) => {
  await publish();
  await made.write('a.html', '<p>2');
  await made.protect();
  front.passesOn = passesOn;
  const message = expect.stringMatching(/^stopped while the timestamp .*; readers find this publication, or the one/);
  const run = expect(publish()).rejects.toMatchObject({ code: 'stopped', message });
  await endWhen(stallTimestamp());
  await run;
  [controller, front.stalls] = [new AbortController(), () => false];
  await publish();
  expect(await published()).toBe(2);
});

it('says that readers may have nothing, at the timestamp after a root with other keys', async () => {
  await publish();
  await rotateRole({ configurationFile: made.configurationFile, passphrase: PASSPHRASE }, 'snapshot');
  await made.protect();
  const message = expect.stringMatching(/^stopped while the timestamp was put there; readers may have no publication/);
  const run = expect(publish()).rejects.toMatchObject({ code: 'stopped', message });
  await endWhen(stallTimestamp());
  await run;
});

it('waits no longer for a key server that is told of what is published', async () => {
  keyServer.handlers.set(BUNDLE_PATH, (_, response) => response.writeHead(200).end('{}'));
  const asked = silentAt(PUBLICATION_PATH);
  const run = publish({ keyServer: access() });
  await endWhen(asked);
  expect(await run).toMatchObject({
    publication: 1,
    keyServerTold: false,
    keyServerFailure: expect.stringContaining('not waited for any longer'),
  });
  expect(await published()).toBe(1);
});

it.each(['asked for the time', 'given the keys'])('nor for one that is %s', async (what) => {
  const asked = silentAt(what === 'given the keys' ? BUNDLE_PATH : TIMESTAMP);
  const message = 'stopped; readers find the publication before';
  const run = expect(publish({ keyServer: access(), keysAreThere: false })).rejects.toMatchObject({
    code: 'stopped',
    message,
  });
  await endWhen(asked);
  await run;
  expect(await published()).toBeUndefined();
});

it('nor for one that is given the keys of what goes into a directory', async () => {
  const asked = silentAt(BUNDLE_PATH);
  const target = await openTarget(join(made.directory, 'web'));
  const run = expect(publish({ keyServer: access(), keysAreThere: false, target })).rejects.toMatchObject({
    code: 'stopped',
    message: 'stopped; readers find the publication before',
  });
  await endWhen(asked);
  await run;
  expect(await target.head(TIMESTAMP)).toBeUndefined();
});

it('says what is served where there is no target', async () => {
  const asked = silentAt(BUNDLE_PATH);
  const { signal } = controller;
  const run = expect(
    publishSite({ workspace: workspaceOf(made.configurationFile), out: made.out, keyServer: access(), signal }),
  ).rejects.toMatchObject({ code: 'stopped', message: expect.stringContaining('before the key server was told') });
  await endWhen(asked);
  await run;
});

it('Ctrl-C is heard by the program, at the timestamp', async () => {
  await writeFile(join(made.directory, 'token'), 'a-token-for-tests-1234\n', { mode: 0o600 });
  keyServer.handlers.set(BUNDLE_PATH, (_, response) => response.writeHead(200).end('{}'));
  const stalled = stallTimestamp();
  const program = startProgram('bin/wispr.js', ['publish', '--no-protect', '--yes'], { cwd: made.directory });
  await stalled;
  const { code, stderr } = await program.stop('SIGINT');
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/stopped while the timestamp was put there; .*\[stopped\]/),
  ]);
});
