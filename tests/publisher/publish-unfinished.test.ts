/** `wispr publish` after a withdrawal that did not come to its end: it is finished where all who are to have it do, and named until then. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { warningsAfterPublishing } from '../../cli/publish-summary.ts';
import { METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { type PublishOptions, publishSite } from '../../publisher/publish/publish.ts';
import { runTimestamp } from '../../publisher/timestamp/run.ts';
import { workspaceOf } from '../../publisher/workspace.ts';
import { alteredTarget } from '../support/altered-target.ts';
import { type ContentHost, startContentHost } from '../support/content-host.ts';
import { lastOf } from '../support/last-published.ts';
import { TargetPlaces } from '../support/target-places.ts';
import { createWorkspace, PASSPHRASE, type TestWorkspace } from '../support/workspace.ts';

const TIMESTAMP = METADATA_PATH + TIMESTAMP_FILE;
const places = new TargetPlaces();
let made: TestWorkspace;
let place: string;
let target: Target;
let keyServer: ContentHost;
let status: number;

beforeAll(async () => {
  keyServer = await startContentHost();
  for (const path of ['/v1/publication', '/v1/bundle'])
    keyServer.handlers.set(path, (request, response) => {
      request.resume();
      response.writeHead(path === '/v1/bundle' ? 200 : status).end('{}');
    });
});
afterAll(() => keyServer.close());
beforeEach(async () => {
  status = 200;
  ({ place, target } = await places.next());
  made = await createWorkspace({ 'a.html': '<p>1' });
  await made.protect();
  await publish();
  const from = { configurationFile: made.configurationFile };
  await runTimestamp({
    from,
    passphrase: PASSPHRASE,
    withdraw: 1,
    bringing: { places: [place], keyServer: true, tells: true },
  });
});
afterEach(() => made.remove());

const publish = (more: Partial<PublishOptions> = {}) =>
  publishSite({ workspace: workspaceOf(made.configurationFile), out: made.out, target, keysAreThere: true, ...more });
const owed = async () => (await lastOf(workspaceOf(made.configurationFile))).owed;
const told = () => ({ keyServer: { origin: keyServer.origin, token: 'a'.repeat(43) } });

it.each([
  ['that took it', 200, []],
  ['that does not answer', 503, [[1, 'key server']]],
  ['that refuses it', 401, [[1, 'key server']]],
])('a key server %s', async (_, answer, left) => {
  status = answer;
  const summary = await publish(told()).catch((error) => expect(error.code).toBe('key-server-refused'));
  expect(await owed()).toEqual(left);
  if (answer === 503 && summary)
    expect(warningsAfterPublishing(summary).join('\n')).toContain('may confirm publication 1, though it is withdrawn');
});

it('a run without a token takes nothing from the key server', async () => {
  await publish();
  expect(await owed()).toEqual([[1, 'key server']]);
});

it('a host that takes it and shows what was before does not have it', async () => {
  const before = await readFile(join(place, TIMESTAMP));
  const reverting = alteredTarget(target, {
    get: async (path, maximum) => (path === TIMESTAMP ? before : target.get(path, maximum)),
  });
  await expect(publish({ target: reverting, ...told() })).rejects.toMatchObject({ code: 'target-reverted' });
  expect(await owed()).toEqual([[1, place]]);
});
