/** `wispr withdraw` where nobody knows what the key server has: it does not say, or what is remembered is of an earlier version of wispr. */
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { type ContentHost, startContentHost } from '../support/content-host.ts';
import { breakTimestamp, TIMESTAMP } from '../support/target-timestamp.ts';
import { TwoPlaces } from '../support/two-places.ts';

const rig = new TwoPlaces();
const { open, setToken, protectNext, publish, confirm, last, shown } = rig;
let A: string;
let B: string;
beforeEach(() => {
  ({ A, B } = rig);
});

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
    rig.keyServer = host.origin;
    await setToken(`wispr-publish-${'a'.repeat(43)}`);
    await rig.made.protect();
    const withToken = rig.token;
    rig.token = undefined;
    await publish(A);
    await protectNext('<p>2');
    await publish(A, 'lost');
    rig.token = withToken;
    const mend = await breakTimestamp(A);
    await expect(confirm(2)).rejects.toThrow(/^it is signed, but not where .*the key server was told/);
    await mend();
  });
  it('nobody waits for with the lock: a place that appears meanwhile owes it as well, and is named', async () => {
    meanwhile = async () => {
      meanwhile = undefined;
      rig.token = undefined;
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
    [status, known] = [200, await readFile(join(rig.made.out, TIMESTAMP))];
    for (const where of [rig.made.out, A]) await rm(join(where, METADATA_PATH, '2.snapshot.json'));
    const rest = JSON.parse(await readFile(rig.workspace.lastPublished, 'utf8'));
    await cp(join(A, TIMESTAMP), join(rig.made.out, TIMESTAMP));
    const [{ begun, ...there }] = rest.places;
    const remembered = [{ ...there, ...(isBegun && { begun }) }];
    await writeFile(rig.workspace.lastPublished, JSON.stringify({ ...rest, places: remembered }));
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
    rig.token = undefined;
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
    await rig.made.protect();
    await publish(A);
    const { target, publication } = await last();
    await writeFile(rig.workspace.lastPublished, JSON.stringify({ target, withdrawn: [], elsewhere: [], publication }));
    await confirm(1);
    expect([await shown(A), (await last()).owed]).toEqual([[1, [1]], [[1, 'key server']]]);
    answer = 404;
    await confirm(1);
    expect((await last()).owed).toEqual([]);
    await host.close();
  });

  it('without a publication has a withdrawal brought to the target that is configured', async () => {
    await open({ timestampBy: 'publisher', publish: A });
    await rig.made.protect();
    await publish(A);
    await writeFile(rig.workspace.lastPublished, JSON.stringify({ target: null, withdrawn: [1], unfinished: [1] }));
    expect((await confirm(1)).besides).toEqual([A]);
    expect([await shown(A), (await last()).owed.filter(([, who]) => who !== 'key server')]).toEqual([[1, [1]], []]);
  });
});
