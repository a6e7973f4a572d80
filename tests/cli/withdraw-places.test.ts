/**
 * `wispr withdraw` where a publication is, or may be, at more than one place: each owes it until it was brought there, whatever becomes of the
 * others; and the key server, the real one where what it refuses matters, is asked once and told once.
 */
import { copyFile, cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { confirmFromWorkspace } from '../../cli/confirm-publication.ts';
import { warnAboutKeys } from '../../cli/key-listing.ts';
import { METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { type RunningKeyServer, startKeyServer } from '../../keyserver/server.ts';
import { createToken } from '../../keyserver/tokens.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { DirectoryTarget } from '../../node-support/storage/directory.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import { openTarget } from '../../node-support/storage/open.ts';
import { listKeys } from '../../publisher/keys/list-keys.ts';
import { publishSite } from '../../publisher/publish/publish.ts';
import { renewerOf } from '../../publisher/publish/renew-timestamp.ts';
import { type Workspace, withLock, workspaceOf } from '../../publisher/workspace.ts';
import { alteredTarget } from '../support/altered-target.ts';
import { type ContentHost, startContentHost } from '../support/content-host.ts';
import { configIn, temporaryFolder } from '../support/keyserver-rig.ts';
import { lastOf } from '../support/last-published.ts';
import { TargetPlaces } from '../support/target-places.ts';
import { createWorkspace, PASSPHRASE, type TestWorkspace } from '../support/workspace.ts';

const TIMESTAMP = METADATA_PATH + TIMESTAMP_FILE;
const places = new TargetPlaces();
let made: TestWorkspace;
let workspace: Workspace;
let A: string;
let B: string;
let token: string | undefined;
let doubts: string[];

beforeEach(async () => {
  [{ place: A }, { place: B }] = [await places.next(), await places.next()];
  [token, doubts] = [undefined, []];
});
afterEach(() => made.remove());

const open = async (settings: Parameters<typeof createWorkspace>[1]) => {
  made = await createWorkspace({ 'a.html': '<p>1' }, settings);
  workspace = workspaceOf(made.configurationFile);
};
/** Without a token, or a key server that was ever told anything. */
const alone = async () => {
  await open({ timestampBy: 'publisher' });
  await made.protect();
};
const protectNext = async (text: string) => {
  await made.write('a.html', text);
  await made.protect();
};
/** @param cut - whether the run is killed while the timestamp is put: the host has it by then, or not; at the output itself, nothing is put */
const publish = async (where: string | null, cut?: 'taken' | 'lost') => {
  const honest = where === null ? undefined : await openTarget(where);
  const put: NonNullable<typeof honest>['put'] = async (path, ...rest) => {
    if (path !== TIMESTAMP || cut !== 'lost') await honest?.put(path, ...rest);
    if (path === TIMESTAMP) throw new Error('no power');
  };
  const target = honest && cut ? alteredTarget(honest, { put }) : honest;
  const renewTimestamp = renewerOf(workspace, made.out, PASSPHRASE, nowInSeconds());
  const keyServer = token !== undefined && cut === undefined ? { origin: server.url, token } : undefined;
  const options = { keysAreThere: true, renewTimestamp, onDoubt: (doubt: string) => void doubts.push(doubt) };
  const all = { workspace, out: made.out, ...options, ...(target && { target }), ...(keyServer && { keyServer }) };
  const publishing = publishSite(all);
  return cut ? expect(publishing).rejects.toThrow('no power') : publishing;
};
const confirm = (withdraw?: number, gone?: readonly string[], signal?: AbortSignal) =>
  confirmFromWorkspace(
    { passphrase: PASSPHRASE, withdraw },
    {
      config: made.configurationFile,
      ...(token !== undefined && { tokenFile: join(made.directory, 'token') }),
      ...(gone && { gone }),
    },
    { onDoubt: (doubt) => void doubts.push(doubt), ...(signal && { signal }) },
  );
const last = () => lastOf(workspace);
const saidBy = (bytes: Uint8Array) => {
  const { signed } = JSON.parse(Buffer.from(bytes).toString());
  return [signed.meta['snapshot.json'].version, signed['x-wispr-withdrawn'] ?? []];
};
const shown = async (where: string) => saidBy(await readFile(join(where, TIMESTAMP)));
/** Its timestamp cannot be read or written; @returns mends that. */
const breakHost = async (where: string) => {
  const file = join(where, TIMESTAMP);
  const bytes = await readFile(file);
  await rm(file);
  await mkdir(file);
  return async () => {
    await rm(file, { recursive: true });
    await writeFile(file, bytes);
  };
};
/** What is there now; @returns puts it back. */
const copyOut = async (withKeys: boolean) => {
  const copy = join(made.directory, 'before');
  await cp(made.out, copy, { recursive: true });
  const files = [workspace.index, ...(withKeys ? [workspace.keyStore] : [])];
  const bytes = await Promise.all(files.map((file) => readFile(file)));
  return async () => {
    await rm(made.out, { recursive: true });
    await cp(copy, made.out, { recursive: true });
    await Promise.all(files.map((file, index) => writeFile(file, bytes[index] ?? '')));
  };
};

let server: RunningKeyServer;

describe('with the real key server, and its token,', () => {
  let folder: string;

  beforeEach(async () => {
    isOpen = true;
    folder = temporaryFolder();
    const config = configIn(folder);
    // After a second refusal it is told nothing more.
    const limits = { publishingPerAddress: 60, publishingRefusals: 2 };
    server = await startKeyServer(config, { log: pino({ enabled: false }), limits });
    await open({ keyServer: server.url, reading: server.readingUrl, timestampBy: 'publisher' });
    await copyFile(config.publicKey, join(made.directory, 'keyserver.pub'));
    ({ token } = createToken(server.state, 'publisher', 30));
    await writeFile(join(made.directory, 'token'), `${token}\n`, { mode: 0o600 });
    await made.protect();
  });
  let isOpen: boolean;
  afterEach(async () => {
    if (isOpen) await server.close();
    await rm(folder, { recursive: true });
  });
  const atKeyServer = async () => saidBy(new Uint8Array(await (await fetch(server.url + TIMESTAMP)).arrayBuffer()));

  it('one that is older than what it has is withdrawn, and it is told of the highest, once', async () => {
    await publish(B, 'taken');
    await protectNext('<p>2');
    await publish(A);
    await confirm(1);
    expect([await shown(A), await shown(B), await atKeyServer()]).toEqual([
      [2, [1]],
      [1, [1]],
      [2, [1]],
    ]);
    expect(await last()).toMatchObject({ target: A, begun: [], unfinished: [] });
  });

  it('an output that was served once tells it of nothing that was never published', async () => {
    await publish(null);
    await protectNext('<p>2');
    await publish(A);
    await protectNext('<p>3');
    await confirm(1);
    expect([await shown(A), await atKeyServer(), (await last()).owed]).toEqual([[2, [1]], [2, [1]], []]);
    await confirm();
  });

  it('nor does a slip at another place, where what is withdrawn is out there as well', async () => {
    await publish(B);
    await protectNext('<p>2');
    await publish(A);
    await protectNext('<p>3');
    await publish(B, 'taken');
    await confirm(1);
    expect([await shown(A), await shown(B), await atKeyServer()]).toEqual([
      [2, [1]],
      [3, [1]],
      [2, [1]],
    ]);
    await confirm();
  });

  it('nor where what it has is at a place that fails', async () => {
    await publish(B);
    await protectNext('<p>2');
    await publish(A);
    await protectNext('<p>3');
    await publish(B, 'taken');
    await rename(A, `${A}-away`);
    await writeFile(A, '');
    await expect(confirm(1)).rejects.toThrow(`not at ${A}`);
    expect([await shown(B), await atKeyServer()]).toEqual([
      [3, [1]],
      [2, []],
    ]);
    await rm(A);
    await rename(`${A}-away`, A);
    await confirm(1);
    expect([await atKeyServer(), (await last()).owed]).toEqual([[2, [1]], []]);
  });

  it('where it has a later one than is signed, there is nothing to tell it, nor anything owed', async () => {
    await publish(A);
    await protectNext('<p>2');
    await publish(B);
    await rm(B, { recursive: true });
    expect(await confirm(1, [B])).toMatchObject({ target: A, keyServerTold: false, unfinished: [] });
    expect(doubts).toEqual([expect.stringContaining('has publication 2, which is later, and is told nothing')]);
    expect([await shown(A), await atKeyServer(), (await last()).owed]).toEqual([[1, [1]], [2, []], []]);
    await protectNext('<p>3');
    await publish(A);
    expect([await atKeyServer(), (await last()).owed]).toEqual([[3, [1]], []]);
  });

  it('that is gone for good can be given up while its token is there', async () => {
    await publish(A);
    isOpen = false;
    await server.close();
    const ways = expect.stringContaining(`"wispr withdraw 1 --gone ${server.url}"`);
    await expect(confirm(1)).rejects.toMatchObject({ code: 'key-server-unreachable', hint: ways });
    expect(await confirm(1, [server.url])).toMatchObject({ target: A, keyServerTold: false, unfinished: [] });
    expect((await last()).owed).toEqual([]);
  });

  it('where only it has what was at a place that is gone, it is told, and nothing else owes that', async () => {
    await publish(A);
    await protectNext('<p>2');
    await publish(B);
    await rm(B, { recursive: true });
    for (const gone of [[B], []])
      expect(await confirm(2, gone)).toMatchObject({ keyServerTold: true, isOnlyTold: true, besides: [] });
    expect([await atKeyServer(), await shown(A), (await last()).owed]).toEqual([[2, [2]], [1, []], []]);
    token = undefined;
    expect((await confirm()).target).toBe(A);
  });

  it('where it knows one of another machine, wispr timestamp tells it once, and not again and again', async () => {
    const putBack = await copyOut(true);
    await publish(A);
    const before = await readFile(workspace.lastPublished);
    await protectNext('<p>2');
    await publish(B);
    await putBack();
    await writeFile(workspace.lastPublished, before);
    await expect(confirm()).rejects.toThrow(/409.*it has publication 2 of this site, .*than 1$/);
    await expect(confirm()).rejects.toThrow(/409.*it has publication 2 of this site, .*than 1$/); // and not 429
  });

  it('what it was told once, it owes until it is told of the withdrawal: a run without the token says so', async () => {
    await publish(A);
    const withToken = token;
    token = undefined;
    expect(await confirm(1)).toMatchObject({ target: A, keyServerTold: false, isConfirmedByKeyServer: true });
    expect([await shown(A), await atKeyServer(), (await last()).owed]).toEqual([
      [1, [1]],
      [1, []],
      [[1, 'key server']],
    ]);
    token = withToken;
    await confirm(1);
    expect([await atKeyServer(), (await last()).owed]).toEqual([[1, [1]], []]);
  });

  it('what it was told of one place brings nothing to another that never had it', async () => {
    await publish(B);
    await protectNext('<p>2');
    await publish(B, 'lost');
    await publish(A);
    const { target, besides, notShown } = await confirm(2);
    expect([target, besides, notShown]).toEqual([A, [], [{ target: B, shown: 1 }]]);
    expect([await shown(A), await shown(B), await atKeyServer()]).toEqual([
      [2, [2]],
      [1, []],
      [2, [2]],
    ]);
  });

  it('a slip elsewhere, of which it knows nothing, does not end what it confirms', async () => {
    await publish(A);
    await protectNext('<p>2');
    await publish(B, 'taken');
    expect((await confirm(2)).keyServerTold).toBe(false);
    expect([await shown(B), await atKeyServer()]).toEqual([
      [2, [2]],
      [1, []],
    ]);
    await confirm();
    expect([await shown(A), (await last()).unfinished]).toEqual([[1, []], []]);
  });
});

describe('a place that fails', () => {
  let mend: () => Promise<void>;
  beforeEach(async () => {
    await alone();
    await publish(B, 'taken');
    await protectNext('<p>2');
    await publish(A);
    mend = await breakHost(B);
    const here = expect.stringMatching(`^it is signed, and at ${A}; but not at ${B}: `);
    const ways = expect.stringMatching(`run the same command again .*"wispr withdraw 1 --gone ${B}"`);
    await expect(confirm(1)).rejects.toMatchObject({ message: here, hint: ways });
  });

  it.each<[string, () => Promise<unknown>]>([
    ['wispr timestamp', () => confirm()],
    ['publishing to another', () => protectNext('<p>3').then(() => publish(A))],
    ['another withdrawal', () => confirm(2)],
  ])('goes on owing it after %s, which the same command finishes', async (_, work) => {
    await work();
    expect((await last()).owed).toEqual(expect.arrayContaining([[1, B]]));
    expect(await listed()).toContain(`that was not brought to everybody who is to have it: ${B}`);
    await mend();
    await confirm(1);
    expect([await shown(B), (await last()).owed.filter(([version]) => version === 1)]).toEqual([[1, [1]], []]);
  });

  it('and is gone for good can be given up', async () => {
    await rm(B, { recursive: true });
    await expect(confirm(1, [join(B, 'x')])).rejects.toMatchObject({ code: 'usage', hint: expect.stringContaining(B) });
    expect(await confirm(1, [B])).toMatchObject({ target: A, besides: [], unfinished: [] });
    expect(await last()).toMatchObject({ target: A, withdrawn: [1], owed: [] });
  });

  it('and is given up in a run that comes to nothing leaves it to be owed by the others', async () => {
    await mend();
    await publish(B);
    const run = { passphrase: 'wrong', withdraw: 2 };
    await expect(confirmFromWorkspace(run, { config: made.configurationFile, gone: [B] })).rejects.toThrow();
    expect(await last()).toMatchObject({ withdrawn: [1, 2], owed: [[2, A]] });
    await confirm(2);
    expect([await shown(A), (await last()).owed]).toEqual([[2, [1, 2]], []]);
  });

  it('is where publishing something higher ends it as well', async () => {
    await mend();
    await publish(B);
    expect((await last()).owed).toEqual([]);
  });
});

/** What `wispr keys list` says. */
const listed = async () => {
  const lines: string[] = [];
  const { write } = process.stderr;
  process.stderr.write = ((text: string) => lines.push(text) > 0) as typeof write;
  try {
    warnAboutKeys(await listKeys(made.configurationFile, undefined), 'wispr publish');
  } finally {
    process.stderr.write = write;
  }
  return lines.join('');
};

describe('between two places', () => {
  beforeEach(async () => {
    await alone();
    await publish(B, 'taken');
    await publish(A);
  });

  it('a signal ends it with what each of them has, and what is left stays owed', async () => {
    const ending = new AbortController();
    const { put } = DirectoryTarget.prototype;
    const stalled = Promise.withResolvers<never>();
    DirectoryTarget.prototype.put = async function (this: DirectoryTarget, path, ...rest) {
      if (this.name !== B) return put.call(this, path, ...rest);
      ending.signal.addEventListener('abort', () => stalled.reject(new StorageError('target-unreachable', 'closed')));
      await hasItAt(A);
      ending.abort();
      return stalled.promise;
    };
    try {
      await expect(confirm(1, undefined, ending.signal)).rejects.toMatchObject({
        code: 'stopped',
        message: expect.stringMatching(`${A} has it; whether ${B} has it is not known`),
        hint: expect.stringContaining('run "wispr withdraw 1" again'),
      });
    } finally {
      DirectoryTarget.prototype.put = put;
    }
    expect((await last()).owed).toEqual([[1, B]]);
    await confirm(1);
    expect([await shown(B), (await last()).owed]).toEqual([[1, [1]], []]);
  });

  it('somebody else who takes the lock hides nothing of what failed', async () => {
    const mend = await breakHost(B);
    const { put } = DirectoryTarget.prototype;
    const free = Promise.withResolvers<void>();
    DirectoryTarget.prototype.put = async function (this: DirectoryTarget, ...args) {
      void withLock(workspace, () => free.promise).catch(() => undefined);
      return put.apply(this, args);
    };
    try {
      await expect(confirm(1)).rejects.toThrow(`; but not at ${B}: `);
    } finally {
      DirectoryTarget.prototype.put = put;
      free.resolve();
    }
    expect((await last()).owed).toEqual(expect.arrayContaining([[1, B]]));
    await mend();
    await confirm(1);
    expect([await shown(B), (await last()).owed]).toEqual([[1, [1]], []]);
  });
});

it('of two that have the first publication, the last that it was on its way to is confirmed, not the quicker one', async () => {
  await alone();
  await publish(A, 'taken');
  await publish(B, 'taken');
  const { put } = DirectoryTarget.prototype;
  DirectoryTarget.prototype.put = async function (this: DirectoryTarget, ...args) {
    if (this.name === B) await hasItAt(A);
    return put.apply(this, args);
  };
  try {
    expect(await confirm(1)).toMatchObject({ target: B, besides: [A] });
  } finally {
    DirectoryTarget.prototype.put = put;
  }
  expect((await last()).target).toBe(B);
});

it('who publishes it while its first places are brought the withdrawal has it confirmed there', async () => {
  await alone();
  const { place: other } = await places.next();
  await publish(A, 'taken');
  await publish(B, 'taken');
  const { put } = DirectoryTarget.prototype;
  let publishing: Promise<unknown> | undefined;
  DirectoryTarget.prototype.put = async function (this: DirectoryTarget, ...args) {
    if (this.name !== other) {
      publishing ??= publish(other);
      await publishing;
    }
    return put.apply(this, args);
  };
  try {
    await confirm(1);
  } finally {
    DirectoryTarget.prototype.put = put;
  }
  expect((await last()).target).toBe(other);
});

/** Until a place shows that 1 is withdrawn, and it is remembered that it does. */
const hasItAt = async (where: string) => {
  while (JSON.stringify((await last()).owed).includes(where)) await new Promise(setImmediate);
};

describe('what the key server does not say', () => {
  let host: ContentHost;
  let status: number;
  let known: Uint8Array | undefined;
  let meanwhile: (() => Promise<unknown>) | undefined;
  let told: number[];
  beforeAll(async () => {
    host = await startContentHost();
    host.handlers.set(TIMESTAMP, async (_, response) => {
      await meanwhile?.();
      response.writeHead(status).end(status === 200 ? known : undefined);
    });
    host.handlers.set('/v1/publication', (request, response) => {
      told.push(2);
      request.resume().on('end', () => response.writeHead(200).end('{}'));
    });
  });
  afterAll(() => host.close());
  beforeEach(async () => {
    [status, known, meanwhile, told] = [404, undefined, undefined, []];
    await open({ keyServer: host.origin });
    token = `wispr-publish-${'a'.repeat(43)}`;
    await writeFile(join(made.directory, 'token'), `${token}\n`, { mode: 0o600 });
    await made.protect();
    const withToken = token;
    token = undefined;
    await publish(A);
    await protectNext('<p>2');
    await publish(A, 'lost');
    token = withToken;
    const mend = await breakHost(A);
    await expect(confirm(2)).rejects.toThrow(/^it is signed, but not where .*the key server was told/);
    await mend();
  });
  it('nobody waits for with the lock: a place that appears meanwhile owes it as well, and is named', async () => {
    meanwhile = async () => {
      meanwhile = undefined;
      token = undefined;
      await publish(B);
    };
    await expect(confirm(1)).rejects.toMatchObject({
      message: expect.stringMatching(`at ${A}.*; but not at ${B}: another wispr has published to it meanwhile`),
    });
    expect([await shown(B), (await last()).owed]).toEqual([[2, [2]], expect.arrayContaining([[1, B]])]);
    await confirm(1);
    expect((await shown(B))[1]).toEqual([1, 2]);
  });

  const unsure = { message: expect.stringContaining('the key server does not say whether it has it') };

  it.each([500, 429, 403])('is no proof that it does not have it: %s', async (answer) => {
    status = answer;
    await expect(confirm(2)).rejects.toMatchObject(unsure);
    expect((await last()).unfinished).toEqual([2]);
    expect((await last()).owed).toEqual([[2, 'key server']]);
    const before = await readFile(join(A, TIMESTAMP));
    await expect(confirm()).rejects.toMatchObject({
      code: 'publication-withdrawn',
      message: expect.stringMatching(`^it is signed, and at ${A}, .* publication 2 is withdrawn; but`),
    });
    expect(await shown(A)).toEqual([1, []]);
    expect(await readFile(join(A, TIMESTAMP))).not.toEqual(before);
    expect(told).toEqual([2]);
    status = 404;
    await expect(confirm(2)).rejects.toMatchObject({ code: 'version-unknown' });
    expect((await last()).unfinished).toEqual([]);
    await confirm();
  });

  it('is not a no either where nothing of ours has signed it', async () => {
    [status, known] = [200, Buffer.from('{}')];
    await expect(confirm(2)).rejects.toMatchObject(unsure);
  });

  it.each([true, false])('is said to be there, where what was signed for it is gone; begun: %s', async (isBegun) => {
    [status, known] = [200, await readFile(join(made.out, TIMESTAMP))];
    for (const where of [made.out, A]) await rm(join(where, METADATA_PATH, '2.snapshot.json'));
    const rest = JSON.parse(await readFile(workspace.lastPublished, 'utf8'));
    await cp(join(A, TIMESTAMP), join(made.out, TIMESTAMP));
    const [{ begun, ...there }] = rest.places;
    const remembered = [{ ...there, ...(isBegun && { begun }) }];
    await writeFile(workspace.lastPublished, JSON.stringify({ ...rest, places: remembered }));
    await expect(confirm(2)).rejects.toMatchObject({
      code: 'version-unknown',
      message: expect.stringMatching(/which shows 1; but the key server .* has it, and .* not here any more; here it/),
    });
    expect((await last()).owed).toEqual([[2, 'key server']]);
  });

  it('can be given up, if it is gone for good', async () => {
    status = 500;
    await expect(confirm(2)).rejects.toMatchObject({ hint: expect.stringContaining(`--gone ${host.origin}`) });
    await expect(confirm(2, [host.origin])).rejects.toMatchObject({ message: expect.stringMatching(/withdrawn$/) });
    expect((await last()).unfinished).toEqual([]);
    token = undefined;
    await confirm();
    expect(await shown(A)).toEqual([1, []]);
  });
});

describe('what an earlier version of wispr has written', () => {
  it('says nothing of a key server, which is asked whether it was ever told', async () => {
    const host = await startContentHost();
    let answer = 500;
    host.handlers.set(TIMESTAMP, (_, response) => void response.writeHead(answer).end());
    await open({ keyServer: host.origin, timestampBy: 'publisher' });
    await made.protect();
    await publish(A);
    const { target, publication } = await last();
    await writeFile(workspace.lastPublished, JSON.stringify({ target, withdrawn: [], elsewhere: [], publication }));
    await confirm(1);
    expect([await shown(A), (await last()).owed]).toEqual([[1, [1]], [[1, 'key server']]]);
    answer = 404;
    await confirm(1);
    expect((await last()).owed).toEqual([]);
    await host.close();
  });

  it('without a publication has a withdrawal brought to the target that is configured', async () => {
    await open({ timestampBy: 'publisher', publish: A });
    await made.protect();
    await publish(A);
    await writeFile(workspace.lastPublished, JSON.stringify({ target: null, withdrawn: [1], unfinished: [1] }));
    expect((await confirm(1)).besides).toEqual([A]);
    expect([await shown(A), (await last()).owed.filter(([, who]) => who !== 'key server')]).toEqual([[1, [1]], []]);
  });
});

describe('without a token, and so without a key server that was ever told,', () => {
  beforeEach(alone);

  it('the output that is served shows what was on its way elsewhere: it is withdrawn there', async () => {
    await publish(B);
    await publish(null);
    await protectNext('<p>2');
    await publish(B, 'lost');
    const { notShown } = await confirm(2);
    expect([notShown, await shown(B), await shown(made.out)]).toEqual([[{ target: B, shown: 1 }], [1, []], [2, [2]]]);
  });

  it('what did not arrive is no loop: either command has a way forward', async () => {
    await publish(A);
    await protectNext('<p>2');
    await publish(A, 'lost');
    const mend = await breakHost(A);
    await expect(confirm(2)).rejects.toThrow('it is signed');
    await mend();
    await expect(confirm()).rejects.toMatchObject({ hint: expect.stringContaining('wispr withdraw 2') });
    await expect(confirm(2)).rejects.toMatchObject({ message: expect.stringContaining('here it counts as withdrawn') });
    await confirm();
    expect([await shown(A), (await last()).owed]).toEqual([[1, []], []]);
  });

  it('nor is what did not arrive at two of them', async () => {
    await publish(B);
    await publish(A);
    await protectNext('<p>2');
    for (const where of [B, A]) await publish(where, 'lost');
    const mends = [await breakHost(A), await breakHost(B)];
    await expect(confirm(2)).rejects.toThrow('it is signed; but not at');
    for (const mend of mends) await mend();
    await expect(confirm(2)).rejects.toMatchObject({ message: expect.stringContaining(`which shows 1, nor at ${B}`) });
    await confirm();
    expect([await shown(A), (await last()).owed]).toEqual([[1, []], []]);
  });

  it('what one of them does not show, and another that cannot be opened may, stays owed there', async () => {
    await publish(A);
    await protectNext('<p>2');
    await publish(A, 'lost');
    await publish(B, 'taken');
    await protectNext('<p>3');
    await rename(B, `${B}-away`);
    await writeFile(B, '');
    await expect(confirm(2)).rejects.toThrow(`nothing was signed; but not at ${B}`);
    expect(await last()).toMatchObject({ withdrawn: [2], owed: [[2, B]] });
    await rm(B);
    await rename(`${B}-away`, B);
    await confirm(2);
    expect([await shown(B), (await last()).owed]).toEqual([[2, [2]], []]);
  });

  it('what arrives late elsewhere is withdrawn by the same command', async () => {
    await publish(B);
    await publish(A);
    await protectNext('<p>2');
    await publish(B, 'lost');
    const late = await readFile(join(made.out, TIMESTAMP));
    await publish(A, 'taken');
    await confirm(2);
    await writeFile(join(B, TIMESTAMP), late);
    expect((await confirm(2)).besides).toEqual([B]);
    expect(await shown(B)).toEqual([2, [2]]);
  });

  it('a target that has something higher never gets what is below it', async () => {
    await publish(B);
    await protectNext('<p>2');
    await publish(B, 'taken');
    await protectNext('<p>3');
    await publish(B, 'taken');
    await publish(A);
    await confirm(3);
    await protectNext('<p>4');
    await publish(A);
    await confirm(2);
    expect([await shown(A), await shown(B)]).toEqual([
      [4, [2, 3]],
      [3, [2, 3]],
    ]);
  });

  it('nor where nothing tells of that any more but the target', async () => {
    await publish(B);
    await protectNext('<p>2');
    await publish(B, 'lost');
    const { places: before } = JSON.parse(await readFile(workspace.lastPublished, 'utf8'));
    await protectNext('<p>3');
    await publish(B);
    const now = JSON.parse(await readFile(workspace.lastPublished, 'utf8'));
    await writeFile(workspace.lastPublished, JSON.stringify({ ...now, places: before }));
    await expect(confirm(2)).rejects.toMatchObject({ message: expect.stringContaining(`not at ${B}, which shows 3`) });
    expect(await shown(B)).toEqual([3, []]);
  });

  it('an output that is served, and is from before it, has nothing to be withdrawn', async () => {
    await publish(null);
    const putBack = await copyOut(false);
    await protectNext('<p>2');
    await publish(A);
    await putBack();
    const { target, notShown } = await confirm(2);
    expect([target, notShown]).toEqual([A, [{ target: made.out, shown: 1 }]]);
    expect([await shown(A), await shown(made.out), (await last()).owed]).toEqual([[2, [2]], [1, []], []]);
  });

  it('what was made, and is here no more, is found where it was begun', async () => {
    await publish(A);
    const putBack = await copyOut(false);
    await protectNext('<p>2');
    await publish(A, 'taken');
    await putBack();
    await rm(join(A, TIMESTAMP));
    await confirm(2);
    expect(await shown(A)).toEqual([2, [2]]);
  });
});

describe('an output that was put back', () => {
  beforeEach(alone);

  it('takes no number again, nor a lower one to where nobody takes it', async () => {
    await publish(A);
    const putBack = await copyOut(true);
    for (const text of ['<p>2', '<p>3']) await protectNext(text).then(() => publish(A));
    await putBack();
    await publish(B);
    expect(doubts).toEqual([
      expect.stringMatching(/^publication 1 is lower than 3, .*readers who have seen that refuse/),
    ]);
    expect((await last()).highest).toBe(3);
    expect((await made.protect()).publication.version).toBe(4); // the same documents
    await publish(B);
    expect(await shown(B)).toEqual([4, []]);
    const { signed } = JSON.parse(await readFile(join(made.out, METADATA_PATH, '4.snapshot.json'), 'utf8'));
    expect(new Set(Object.values<{ version: number }>(signed.meta).map(({ version }) => version))).toEqual(
      new Set([4]),
    );
  });

  it('and is served, does not show again what was withdrawn', async () => {
    await publish(null);
    const putBack = await copyOut(false);
    await confirm(1);
    await putBack();
    await expect(publish(null)).rejects.toMatchObject({ code: 'publication-withdrawn' });
    await confirm(1);
    expect((await publish(null)) as object).toMatchObject({ withdrawn: true });
  });
});
