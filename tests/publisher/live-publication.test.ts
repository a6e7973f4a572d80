/** Withdrawing and confirming what was published last, where `out` has gone on: whatever the host hides, and whichever keys were replaced since. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { freePort } from '../../cache-config/child.ts';
import { confirmFromWorkspace } from '../../cli/confirm-publication.ts';
import { parseHandOver } from '../../core/publication/hand-over-1.ts';
import { METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { openTarget } from '../../node-support/storage/open.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { rotateRole } from '../../publisher/keys/change-roles.ts';
import { publishSite } from '../../publisher/publish/publish.ts';
import { renewerOf } from '../../publisher/publish/renew-timestamp.ts';
import { verifyTree } from '../../publisher/verify/verify.ts';
import { workspaceOf } from '../../publisher/workspace.ts';
import { type ContentHost, startContentHost } from '../support/content-host.ts';
import { changePublication, lastOf } from '../support/last-published.ts';
import { TargetPlaces } from '../support/target-places.ts';
import { NO_POWER, type Said, saidAt, saidBy, TIMESTAMP, withoutPower } from '../support/target-timestamp.ts';
import { createWorkspace, PASSPHRASE, snapshot, type TestWorkspace } from '../support/workspace.ts';

vi.setConfig({ testTimeout: 60_000 });

let keyServer: ContentHost;
/** What the key server confirms, and what it was told. */
let known: Uint8Array | undefined;
let told: (Said & { readonly roots: number })[];
let made: TestWorkspace;
let place: string;
const places = new TargetPlaces();

beforeAll(async () => {
  await writeFile(join(places.directory, 'token'), `wispr-publish-${'a'.repeat(43)}\n`, { mode: 0o600 });
  keyServer = await startContentHost();
  keyServer.handlers.set(TIMESTAMP, (_, response) => response.writeHead(known ? 200 : 404).end(known));
  keyServer.handlers.set('/v1/publication', async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const { timestamp, roots } = parseHandOver(Buffer.concat(parts));
    told.push({ ...saidBy(timestamp), roots: roots.length });
    response.writeHead(200).end('{}');
  });
});
afterAll(async () => {
  await keyServer.close();
});
beforeEach(async () => {
  [told, known] = [[], undefined];
  keyServer.files.clear();
  ({ place } = await places.next());
  made = await createWorkspace({ 'a.html': '<p>1' }, { keyServer: keyServer.origin, publish: place });
  await made.protect();
  await publish();
});
afterEach(() => made.remove());

const publish = async (target?: Target) => {
  const to = target ?? (await openTarget(place));
  const workspace = workspaceOf(made.configurationFile);
  const renewTimestamp = renewerOf(workspace, made.out, PASSPHRASE, nowInSeconds());
  return publishSite({ workspace, out: made.out, target: to, keysAreThere: true, renewTimestamp });
};
const protectNext = async (text: string) => {
  await made.write('a.html', text);
  await made.protect();
};
const rotate = (role: 'snapshot' | 'timestamp' | 'targets') =>
  rotateRole({ configurationFile: made.configurationFile, passphrase: PASSPHRASE }, role);
const confirm = (withdraw?: number, tokenFile?: string) =>
  confirmFromWorkspace(
    { passphrase: PASSPHRASE, withdraw },
    { config: made.configurationFile, ...(tokenFile !== undefined && { tokenFile }) },
  );
const withToken = (withdraw?: number) => confirm(withdraw, join(places.directory, 'token'));
const atPlace = (name: string) => join(place, METADATA_PATH, name);
const shown = () => saidAt(place);
const hasRoot = (version: number) =>
  readFile(atPlace(`${version}.root.json`)).then(
    () => true,
    () => false,
  );
/** An upload that ends right before its last step. */
const publishAllButTheTimestamp = async () => {
  const full = withoutPower(await openTarget(place), 'lost');
  await expect(publish(full)).rejects.toThrow(NO_POWER);
};

describe('the key server learns of it, and confirms nothing else,', () => {
  let first: Uint8Array;
  beforeEach(async () => {
    first = await readFile(join(place, TIMESTAMP));
    await rotate('snapshot');
    await protectNext('<p>2');
    await publish();
    known = await readFile(join(place, TIMESTAMP));
    await rotate('snapshot');
    await protectNext('<p>3');
  });

  const nobodyAnswers = async () => {
    vi.stubEnv('AWS_ENDPOINT_URL_S3', `http://127.0.0.1:${await freePort()}`);
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'a');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'b');
    const workspace = workspaceOf(made.configurationFile);
    const last = JSON.parse(await readFile(workspace.lastPublished, 'utf8'));
    const [known] = last.places;
    const before = { ...known, publication: { ...known.publication, version: 1 } };
    const elsewhere = { current: 's3://bucket', places: [before, { ...known, target: 's3://bucket' }] };
    await writeFile(workspace.lastPublished, JSON.stringify({ ...last, ...elsewhere }));
  };
  afterEach(() => vi.unstubAllEnvs());

  const HOSTS: [string, () => Promise<unknown>, string | undefined][] = [
    ['is honest', async () => undefined, undefined],
    ['keeps the root back', () => rm(atPlace('2.root.json')), 'target-behind'],
    [
      'keeps all roots back',
      () => Promise.all([1, 2].map((root) => rm(atPlace(`${root}.root.json`)))),
      'target-behind',
    ],
    ['shows no timestamp', () => rm(atPlace(TIMESTAMP_FILE)), undefined],
    ['shows the timestamp of before', () => writeFile(atPlace(TIMESTAMP_FILE), first), undefined],
    ['shows no snapshot', () => rm(atPlace('2.snapshot.json')), 'target-behind'],
    ['shows nothing at all', () => rm(place, { recursive: true }), 'target-behind'],
    ['does not answer', nobodyAnswers, 'target-unreachable'],
  ];
  it.each(HOSTS)('though the host %s', async (_, spoil, code) => {
    const before = await snapshot(made.out);
    await spoil();
    for (const version of [undefined, 2]) {
      const run = withToken(version);
      if (code === undefined) await run;
      else
        await expect(run).rejects.toMatchObject({
          code,
          message: expect.stringMatching(/^it is signed, but not where .*; the key server was told$/),
          hint: expect.stringContaining('run the same command again'),
        });
    }
    expect(told).toEqual([
      { publication: 2, withdrawn: [], roots: 1 },
      { publication: 2, withdrawn: [2], roots: 1 },
    ]);
    if (code === undefined) expect(await shown()).toEqual({ publication: 2, withdrawn: [2] });
    expect(await snapshot(made.out)).toEqual(before);
  });

  it('what is gone from the output, or damaged there, is taken from the host by its hash', async () => {
    const own = (name: string) => join(made.out, METADATA_PATH, name);
    await writeFile(own('2.snapshot.json'), 'damaged');
    await withToken();
    await rm(own('2.snapshot.json'));
    await withToken(2);
    expect(await shown()).toEqual({ publication: 2, withdrawn: [2] });
    await writeFile(atPlace('2.snapshot.json'), await readFile(atPlace('1.snapshot.json')));
    await expect(withToken(1)).rejects.toMatchObject({
      code: 'target-behind',
      message: expect.stringContaining('neither in'),
    });
    expect(told).toHaveLength(2);
  });

  it('what was not published is said not to be, whether it was made or not', async () => {
    for (const version of [3, 4])
      await expect(withToken(version)).rejects.toMatchObject({
        code: 'version-unknown',
        message: expect.stringContaining('nobody has it'),
      });
    expect(told).toEqual([]);
  });
});

describe('keys that were replaced, and not published,', () => {
  /** @returns the output, which has gone on */
  async function rotateAndConfirm(
    role: 'snapshot' | 'timestamp',
    text: string,
    { isRootBrought }: { isRootBrought: boolean },
  ) {
    await rotate(role);
    await protectNext(text);
    const before = await snapshot(made.out);
    await confirm();
    expect([await shown(), await hasRoot(2), (await verifyTree(place)).findings]).toEqual([
      { publication: 1, withdrawn: [] },
      isRootBrought,
      [],
    ]);
    return before;
  }

  it.each(['<p>1', '<p>2'])('do not matter, where they are those of the snapshot: %s', async (text) => {
    const before = await rotateAndConfirm('snapshot', text, { isRootBrought: false });
    await confirm(1);
    expect([await shown(), await hasRoot(2)]).toEqual([{ publication: 1, withdrawn: [1] }, false]);
    expect(await snapshot(made.out)).toEqual(before);
    await publish();
    expect(await shown()).toEqual({ publication: 2, withdrawn: [1] });
  });

  it.each(['<p>1', '<p>2'])('are brought along, where they are those of the timestamp: %s', async (text) => {
    const before = await rotateAndConfirm('timestamp', text, { isRootBrought: true });
    expect(await snapshot(made.out)).toEqual(before);
    await confirm(1);
    expect(await shown()).toEqual({ publication: 1, withdrawn: [1] });
  });

  it('end what can be said of the publication, where they are those of both', async () => {
    await rotate('snapshot');
    await rotate('timestamp');
    await protectNext('<p>2');
    const before = await snapshot(place);
    for (const version of [undefined, 1])
      await expect(confirm(version)).rejects.toMatchObject({
        code: 'signer-unknown',
        hint: expect.stringContaining(`run "wispr publish ${place}"`),
      });
    expect(await snapshot(place)).toEqual(before);
  });

  it('have to be in the output first', async () => {
    await protectNext('<p>2');
    await rotate('timestamp');
    await expect(confirm(1)).rejects.toMatchObject({
      code: 'signer-unknown',
      hint: expect.stringContaining('run "wispr protect" first'),
    });
  });

  it('do not put online what an interrupted upload left', async () => {
    await rotate('timestamp');
    await protectNext('<p>2');
    await publishAllButTheTimestamp();
    await confirm();
    expect(await shown()).toEqual({ publication: 1, withdrawn: [] });
    await confirm(1);
    expect(await shown()).toEqual({ publication: 1, withdrawn: [1] });
  });

  it('are said to leave readers with nothing, where the upload ended behind them', async () => {
    await rotate('targets');
    await protectNext('<p>2');
    await publishAllButTheTimestamp();
    await expect(confirm()).rejects.toMatchObject({
      code: 'target-behind',
      message: expect.stringContaining('readers have nothing until it is finished'),
    });
    await confirm(1);
    expect(await shown()).toEqual({ publication: 1, withdrawn: [1] });
    await publish();
    expect(await shown()).toEqual({ publication: 2, withdrawn: [1] });
  });

  it('are told to a key server that knows them already', async () => {
    await rotate('snapshot');
    await protectNext('<p>2');
    known = await readFile(join(place, TIMESTAMP));
    await withToken();
    keyServer.files.set(`${METADATA_PATH}2.root.json`, await readFile(join(made.out, METADATA_PATH, '2.root.json')));
    await withToken(1);
    expect(told.map(({ roots }) => roots)).toEqual([0, 1]);
  });
});

describe('keys that were put back from before a change', () => {
  let older: Buffer;
  const putBack = () => writeFile(workspaceOf(made.configurationFile).keyStore, older);
  const OLDER = (root: number) => ({
    code: 'key-store-older',
    message: `${made.out} has root ${root}, and publisher.keys knows none after 1`,
    hint: expect.stringContaining('bring the publisher.keys that knows it'),
  });
  beforeEach(async () => {
    older = await readFile(workspaceOf(made.configurationFile).keyStore);
    await rotate('timestamp');
    await protectNext('<p>2');
  });

  it('are said to be so', async () => {
    await publish();
    await putBack();
    for (const version of [undefined, 2]) await expect(confirm(version)).rejects.toMatchObject(OLDER(2));
  });

  it('are said to be so where the output has gone on', async () => {
    await publish();
    await rotate('snapshot');
    await protectNext('<p>3');
    await putBack();
    for (const version of [undefined, 2]) await expect(confirm(version)).rejects.toMatchObject(OLDER(3));
  });

  it('withdraw what was published before that change', async () => {
    await putBack();
    await confirm(1);
    expect(await shown()).toEqual({ publication: 1, withdrawn: [1] });
  });
});

it('where the output is gone, it is said where that was looked for, and what to do', async () => {
  await rm(made.out, { recursive: true });
  const missing = {
    code: 'publication-missing',
    message: `there is no publication in ${made.out}: it has no .well-known/wispr/1.root.json`,
    hint: expect.stringContaining('docs/publishing.md, "When the disk is gone"'),
  };
  const { lastPublished } = workspaceOf(made.configurationFile);
  for (const forget of [async () => undefined, () => rm(lastPublished)]) {
    await forget();
    for (const run of [() => confirm(), () => confirm(1), () => publish()])
      await expect(run()).rejects.toMatchObject(missing);
  }
});

describe('where an earlier version of wispr remembered no root', () => {
  const forgetRoot = async () => {
    const workspace = workspaceOf(made.configurationFile);
    const { publication } = await lastOf(workspace);
    if (publication === undefined) throw new Error('nothing was published');
    const { version, sha256 } = publication;
    await changePublication(workspace, { version, sha256 });
  };
  const COMBINATIONS = (['targets', 'snapshot', 'timestamp'] as const).flatMap((role) =>
    ['<p>1', '<p>2'].map((text) => [role, text] as const),
  );

  it.each(COMBINATIONS)('all are tried: another key of the %s, and the text %s', async (role, text) => {
    await forgetRoot();
    await rotate(role);
    await protectNext(text);
    await confirm();
    expect([await hasRoot(2), (await verifyTree(place)).findings]).toEqual([role === 'timestamp', []]);
    await confirm(1);
    expect(await shown()).toEqual({ publication: 1, withdrawn: [1] });
  });

  it('what was published under a later one is confirmed under that', async () => {
    await rotate('targets');
    await protectNext('<p>2');
    await publish();
    await forgetRoot();
    await rotate('snapshot');
    await protectNext('<p>3');
    await confirm(2);
    expect([await shown(), await hasRoot(3)]).toEqual([{ publication: 2, withdrawn: [2] }, false]);
  });

  it('and all keys are others, that is said', async () => {
    await forgetRoot();
    await rotate('snapshot');
    await rotate('timestamp');
    await protectNext('<p>2');
    await expect(confirm(1)).rejects.toMatchObject({ code: 'signer-unknown' });
  });
});

it('what is there already, and was not remembered, is confirmed and withdrawn like any other', async () => {
  const workspace = workspaceOf(made.configurationFile);
  const before = await readFile(workspace.lastPublished);
  await rotate('timestamp');
  await protectNext('<p>2');
  await publish();
  await writeFile(workspace.lastPublished, before);
  await confirm(2);
  expect(await shown()).toEqual({ publication: 2, withdrawn: [2] });
});
