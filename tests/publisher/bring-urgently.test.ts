/** A withdrawal on its way to target and key server, where the key server has something later, and it has to be signed once more. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as aMoment } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { PublishError } from '../../publisher/errors.ts';
import type { Step } from '../../publisher/publish/bring-timestamp.ts';
import { bringUrgently } from '../../publisher/publish/bring-urgently.ts';
import { publishSite } from '../../publisher/publish/publish.ts';
import { runTimestamp } from '../../publisher/timestamp/run.ts';
import { workspaceOf } from '../../publisher/workspace.ts';
import { alteredTarget } from '../support/altered-target.ts';
import { type ContentHost, startContentHost } from '../support/content-host.ts';
import { TargetPlaces } from '../support/target-places.ts';
import { createWorkspace, PASSPHRASE, type TestWorkspace } from '../support/workspace.ts';

const TIMESTAMP = METADATA_PATH + TIMESTAMP_FILE;
const places = new TargetPlaces();
let made: TestWorkspace;
let place: string;
let target: Target;
let keyServer: ContentHost;
/** How it answers, in turn. */
let answers: number[];

beforeAll(async () => {
  keyServer = await startContentHost();
  keyServer.handlers.set('/v1/publication', (request, response) => {
    request.resume();
    response.writeHead(answers.shift() ?? 500).end('{"error":"metadata-rollback"}');
  });
});
afterAll(() => keyServer.close());
beforeEach(async () => {
  ({ place, target } = await places.next());
  made = await createWorkspace({ 'a.html': '<p>1' });
  await made.protect();
  await publishSite({ workspace: workspaceOf(made.configurationFile), out: made.out, target, keysAreThere: true });
  await sign();
});
afterEach(() => made.remove());

const sign = () =>
  runTimestamp({ from: { configurationFile: made.configurationFile }, passphrase: PASSPHRASE, withdraw: 1 });
const bring = (to: Target, renew: () => Promise<void>, onDone: (step: Step) => void = () => undefined) =>
  bringUrgently({
    during: (step, work) => work().finally(() => onDone(step)),
    ...{ out: made.out, target: to, now: nowInSeconds(), isPublished: true, silent: undefined, renew },
    keyServer: { origin: keyServer.origin, token: 'a'.repeat(43) },
  });
const shown = () => readFile(join(place, TIMESTAMP), 'utf8');
const here = () => readFile(join(made.out, TIMESTAMP), 'utf8');
/** One that takes the timestamp only later. */
const slowUntil = (released: Promise<void>) =>
  alteredTarget(target, {
    put: async (...file) => {
      await released;
      for (let turn = 0; turn < 20; turn++) await aMoment();
      return target.put(...file);
    },
  });

it.each(['workspace-busy', 'stopped'] as const)('what keeps it from that gives nothing up: %s', async (code) => {
  answers = [409];
  const { promise, resolve } = Promise.withResolvers<void>();
  const run = bring(slowUntil(promise), async () => {
    resolve();
    throw new PublishError(code, 'it is so');
  });
  const said = /^the key server .* refuses .*: 409, metadata-rollback; and it could not be signed once more: it is so$/;
  await expect(run).rejects.toMatchObject(
    code === 'stopped' ? { code } : { code: 'key-server-refused', message: expect.stringMatching(said) },
  );
  expect(await shown()).toBe(await here());
});

it('what is signed once more is brought to the target as well, which had the one before', async () => {
  answers = [409, 200];
  const { promise: isBrought, resolve } = Promise.withResolvers<void>();
  const renew = async () => {
    await isBrought;
    const before = await here();
    expect(await shown()).toBe(before);
    await sign();
    expect(await here()).not.toBe(before);
  };
  await bring(target, renew, (step) => step === 'bringing' && resolve());
  expect(await shown()).toBe(await here());
});
