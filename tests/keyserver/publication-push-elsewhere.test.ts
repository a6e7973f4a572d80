/** A publication that is at one of two hosts: the key server sends nobody to the other for it. On a directory, and on a real S3 server. */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { overview } from '../../keyserver/overview.ts';
import { PushTarget } from '../../keyserver/timestamp/push-target.ts';
import type { TimestampWish } from '../support/first-root.ts';
import { temporaryFolder } from '../support/keyserver-rig.ts';
import { HOUR, PublicationRig } from '../support/publication-rig.ts';
import { type S3Server, startS3Server } from '../support/s3-server.ts';

let server: S3Server;
let number = 0;
let folder: string;
let the: PublicationRig;
let [first, second] = ['', ''];
beforeAll(async () => {
  folder = temporaryFolder();
  server = await startS3Server();
  for (const [name, value] of Object.entries(server.environment)) vi.stubEnv(name, value);
}, 90_000);
afterEach(() => the.close());
afterAll(async () => {
  vi.unstubAllEnvs();
  await server.stop();
  rmSync(folder, { recursive: true });
});

async function aBucket(): Promise<string> {
  const name = `host-${++number}`;
  await server.bucket(name);
  return `s3://${name}/site`;
}

/** The timestamp at a host. */
async function at(host: string): Promise<Uint8Array | undefined> {
  const target = await PushTarget.open(host);
  const { bytes } = await target.read();
  target.close();
  return bytes && new Uint8Array(bytes);
}

/** Published at some hosts, and told to the key server. */
async function publish(hosts: readonly string[], wish: TimestampWish): Promise<Uint8Array> {
  the.hosts = hosts;
  the.rig.passTime(10);
  return the.publish({ signed: the.now(), ...wish });
}

const nextRun = () => {
  the.rig.passTime(HOUR);
  return the.rig.server.keeper.attempt();
};
const pushTo = (host: string) =>
  overview(the.rig.server.state).publication?.pushes.find(({ target }) => target === host);

describe.each([
  ['a directory', async () => mkdtempSync(join(folder, 'host-'))],
  ['a bucket', aBucket],
])('%s without the publication that the key server was told of', (_, makeHost) => {
  beforeEach(async () => {
    [first, second] = [await makeHost(), await makeHost()];
    the = await PublicationRig.start({
      publication: { resignMinutes: 60, freshHours: 48, push: [first, second] },
    });
  });

  it('keeps the good timestamp of the one before, until the publication is there', async () => {
    const before = await publish([first, second], { publication: 50 });
    expect([await at(first), await at(second)]).toEqual([before, before]);
    const after = await publish([second], { publication: 51 });
    expect([await at(first), await at(second)]).toEqual([before, after]);
    expect(await nextRun()).toBe('signed');
    expect([await at(first), await at(second)]).toEqual([before, await the.served()]);
    the.hosts = [first];
    await the.bring(51); // by a copy that was on its way, say
    expect(await nextRun()).toBe('signed');
    expect([await at(first), await at(second)]).toEqual([await the.served(), await the.served()]);
  });

  it('is named in the log and counted as failed, at each run', async () => {
    await publish([second], { publication: 51 });
    await nextRun();
    const said = /"level":50,.*"target":1,"reason":"publication-not-there: publication 51 is not there yet/g;
    expect(the.rig.log().match(said)).toHaveLength(2);
    expect(pushTo(first)).toMatchObject({ succeeded: null, failed: expect.any(Number) });
    expect(pushTo(second)).toMatchObject({ succeeded: expect.any(Number), failed: null });
  });

  it('gets no timestamp where it has none, and the first one once the publication is there', async () => {
    await publish([], { publication: 51 });
    expect(await at(first)).toBeUndefined();
    await publish([first], { publication: 51 });
    expect(await at(first)).toEqual(await the.served());
  });

  it('keeps it also where that publication was found at the other host', async () => {
    const before = await publish([first, second], { publication: 50 });
    the.hosts = [second];
    await the.bring(51);
    the.rig.passTime(10);
    const shown = the.timestamp({ publication: 51, signed: the.now() });
    const target = await PushTarget.open(second);
    await target.write(shown, await target.read());
    target.close();
    expect(await nextRun()).toBe('signed');
    expect(the.read(await the.served()).snapshot.version).toBe(51);
    expect([await at(first), await at(second)]).toEqual([before, await the.served()]);
  });

  it('gets no withdrawal of it; the host that has it does', async () => {
    const before = await publish([first, second], { publication: 50 });
    await publish([second], { publication: 51 });
    const withdrawal = await publish([second], { publication: 51, withdrawn: [51] });
    expect([await at(first), await at(second)]).toEqual([before, withdrawal]);
    expect(await nextRun()).toBe('withdrawn');
    expect([await at(first), await at(second)]).toEqual([before, withdrawal]);
  });
});
