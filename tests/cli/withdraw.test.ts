/** `wispr withdraw` where not everybody can be told: what is urgent is done as far as it can be. */
import { cp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { freePort } from '../../cache-config/child.ts';
import { confirmFromWorkspace } from '../../cli/confirm-publication.ts';
import { parseHandOver } from '../../core/publication/hand-over-1.ts';
import { METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { signMetadata, timestampMetadata } from '../../core/publication/writer.ts';
import { openTarget } from '../../node-support/storage/open.ts';
import type { PublishError } from '../../publisher/errors.ts';
import { publishSite } from '../../publisher/publish/publish.ts';
import { workspaceOf } from '../../publisher/workspace.ts';
import { type ContentHost, startContentHost } from '../support/content-host.ts';
import { createPublication } from '../support/signed-publication.ts';
import { runWispr } from '../support/wispr.ts';
import { createWorkspace, PASSPHRASE, type TestWorkspace } from '../support/workspace.ts';

let workspace: TestWorkspace;
afterEach(() => workspace.remove());

it('signs, and says so, where the key server does not answer', async () => {
  const keyServer = `http://127.0.0.1:${await freePort()}`;
  workspace = await createWorkspace({ 'a.txt': 'a mistake' }, { keyServer, keyServerTokenFile: 'token' });
  const file = (name: string) => join(workspace.directory, name);
  await writeFile(file('token'), `wispr-publish-${'a'.repeat(43)}\n`, { mode: 0o600 });
  await writeFile(file('passphrase'), PASSPHRASE, { mode: 0o600 });
  await workspace.protect();
  const options = ['--yes', '--passphrase-file', 'passphrase'];
  const { code, stderr } = await runWispr(['withdraw', '1', ...options], { cwd: workspace.directory });
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/it is signed, and at .*protected; but .*\[key-server-unreachable\]/),
  ]);
  const timestamp = JSON.parse(await readFile(join(workspace.out, METADATA_PATH, TIMESTAMP_FILE), 'utf8'));
  expect(timestamp.signed['x-wispr-withdrawn']).toEqual([1]);
});

describe('where the web host is in no state for it', () => {
  let host: ContentHost;
  let told: { withdrawn: number[] }[];
  let known: Uint8Array | undefined;
  let place: string;
  let status: number;
  let refusal: { status: number; error: string } | undefined;
  beforeAll(async () => {
    host = await startContentHost();
    host.handlers.set(METADATA_PATH + TIMESTAMP_FILE, (_, response) => {
      response.writeHead(known ? 200 : 404).end(known);
    });
    host.handlers.set('/v1/publication', async (request, response) => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part as Buffer);
      const { signed } = JSON.parse(Buffer.from(parseHandOver(Buffer.concat(parts)).timestamp).toString());
      told.push({ withdrawn: signed['x-wispr-withdrawn'] });
      response
        .writeHead(refusal?.status ?? status)
        .end(JSON.stringify({ error: refusal?.error ?? 'metadata-rollback' }));
      status = 200;
    });
  });
  afterAll(() => host.close());
  beforeEach(async () => {
    [told, status, refusal] = [[], 200, undefined];
    const settings = { keyServer: host.origin, keyServerTokenFile: 'token', publish: 'web' };
    workspace = await createWorkspace({ 'a.txt': 'a mistake' }, settings);
    place = join(workspace.directory, 'web');
    await writeFile(join(workspace.directory, 'token'), `wispr-publish-${'a'.repeat(43)}\n`, { mode: 0o600 });
    await workspace.protect();
    const { configurationFile, out } = workspace;
    const target = await openTarget(place);
    await publishSite({ workspace: workspaceOf(configurationFile), out, target, keysAreThere: true });
    known = await readFile(timestampIn(workspace.out));
  });

  const timestampIn = (directory: string) => join(directory, METADATA_PATH, TIMESTAMP_FILE);
  const atPlace = (name: string) => join(place, METADATA_PATH, name);
  const withdraw = () =>
    confirmFromWorkspace({ passphrase: PASSPHRASE, withdraw: 1 }, { config: workspace.configurationFile });
  const withdrawnIn = async (directory: string) =>
    JSON.parse(await readFile(timestampIn(directory), 'utf8')).signed['x-wispr-withdrawn'] ?? [];

  const STATES: [string, string, () => Promise<unknown>][] = [
    ['has lost the snapshot', 'target-behind', () => rm(atPlace('1.snapshot.json'))],
    [
      'has a directory in its place',
      'target-failed',
      () => rm(atPlace(TIMESTAMP_FILE)).then(() => mkdir(atPlace(TIMESTAMP_FILE))),
    ],
    [
      'has the root of another site',
      'target-behind',
      async () => writeFile(atPlace('1.root.json'), (await createPublication()).root.bytes),
    ],
  ];
  it.each(STATES)('the key server is told though the host %s', async (_, code, spoil) => {
    await spoil();
    await expect(withdraw()).rejects.toMatchObject({
      code,
      message: expect.stringContaining('the key server was told'),
      hint: expect.stringContaining('run the same command again'),
    });
    expect(told).toEqual([{ withdrawn: [1] }]);
    expect(await withdrawnIn(workspace.out)).toEqual([1]);
  });

  it('a key server that was quicker is told again, with what is newer', async () => {
    status = 409;
    await withdraw();
    expect(told).toHaveLength(2);
    expect(await readFile(timestampIn(place))).toEqual(await readFile(timestampIn(workspace.out)));
  });

  const cannotBeWritten = async () => {
    await rm(atPlace(TIMESTAMP_FILE));
    await mkdir(atPlace(TIMESTAMP_FILE));
  };

  it.each([
    [401, 'token-refused', 'key-server-refused', 'make a new token'],
    [503, 'no-provider', 'key-server-refused', 'no keys of this site yet'],
    [503, 'busy', 'key-server-unreachable', 'does it run?'],
    [409, 'clock-behind', 'key-server-refused', 'one of the two clocks is wrong'],
    [400, 'bundle-recipient', 'key-server-refused', '"recipient" in wispr.json'],
    [409, 'metadata-rollback', 'key-server-refused', 'it knows something newer'],
  ])(
    'what the key server refuses hides nothing of what is done, nor of the host: %s %s',
    async (code, error, ...said) => {
      const [expected, advice] = said;
      refusal = { status: code, error };
      await expect(withdraw()).rejects.toMatchObject({
        code: expected,
        message: expect.stringContaining(`it is signed, and at ${place}; but the key server`),
        hint: expect.stringMatching(/run the same command again.*readers ask the key server first$/),
      });
      expect(await withdrawnIn(place)).toEqual([1]);
      await cannotBeWritten();
      await expect(withdraw()).rejects.toMatchObject({
        code: 'target-failed',
        message: expect.stringMatching(
          /^it is signed, but not where the site is served: .*timestamp\.json.*; and the key server/,
        ),
        hint: expect.stringContaining(advice as string),
      });
    },
  );

  it('says once to run the command again, and names no other directory', async () => {
    await cannotBeWritten();
    refusal = { status: 502, error: '' };
    const { hint } = await withdraw().then(
      () => expect.fail('it cannot be done'),
      (error: PublishError) => error,
    );
    expect(hint?.match(/run the same command again/g)).toHaveLength(1);
    expect(hint).not.toContain('another directory');
  });

  it('what a thief claims at the host, and a key server that refuses, are both said', async () => {
    const { version } = JSON.parse(await readFile(timestampIn(workspace.out), 'utf8')).signed;
    const { signers } = await workspace.keyStore();
    const about = { version: version + 1, expires: version + 7200 };
    const snapshot = { version: 9, length: 1, sha256: 'ab'.repeat(32) };
    await writeFile(timestampIn(place), signMetadata(timestampMetadata(about, snapshot, []), [signers.timestamp]));
    refusal = { status: 401, error: 'token-refused' };
    await expect(withdraw()).rejects.toMatchObject({
      code: 'target-newer',
      message: expect.stringContaining('token-refused'),
    });
  });

  it('a number that only another machine has made is said to be at the host', async () => {
    const copy = `${workspace.directory}-copy`;
    await cp(workspace.directory, copy, { recursive: true });
    await workspace.write('a.txt', 'another');
    await workspace.protect();
    const target = await openTarget(place);
    await publishSite({
      workspace: workspaceOf(workspace.configurationFile),
      out: workspace.out,
      target,
      keysAreThere: true,
    });
    const behind = { config: join(copy, 'wispr.json') };
    const withdrawing = (version: number) =>
      confirmFromWorkspace({ passphrase: PASSPHRASE, withdraw: version }, behind);
    await expect(withdrawing(2).finally(() => rm(copy, { recursive: true }))).rejects.toMatchObject({
      code: 'version-unknown',
      message: expect.stringMatching(/no publication 2 here; the last one is 1; .* has publication 2/),
      hint: expect.stringContaining('withdraw it where it was made'),
    });
  });

  it('a timestamp that is too long for one is no hindrance', async () => {
    await writeFile(atPlace(TIMESTAMP_FILE), Buffer.alloc(20_000));
    await withdraw();
    expect([told, await withdrawnIn(place)]).toEqual([[{ withdrawn: [1] }], [1]]);
  });

  it('the key server is not told of what it does not have where nobody can see whether the host does', async () => {
    known = undefined;
    await rm(atPlace(''), { recursive: true });
    await symlink(workspace.source, join(place, METADATA_PATH.slice(0, -1)));
    await expect(withdraw()).rejects.toMatchObject({ code: 'target-path' });
    expect([told, await withdrawnIn(workspace.out)]).toEqual([[], [1]]);
  });

  it('nothing is signed for a publication that neither host nor key server has', async () => {
    known = undefined;
    await rm(atPlace('1.snapshot.json'));
    await expect(withdraw()).rejects.toMatchObject({ code: 'target-behind' });
    expect([told, await withdrawnIn(workspace.out)]).toEqual([[], []]);
  });
});
