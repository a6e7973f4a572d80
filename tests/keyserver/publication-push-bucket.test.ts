/** The key server puts timestamps into a bucket that a web host serves, on a real S3 server. */
import { GetObjectCommand, HeadObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { utf8 } from '../../core/encoding/bytes.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { PushTarget } from '../../keyserver/publication/push-target.ts';
import { HOUR, PublicationRig, TIMESTAMP_PATH } from '../support/publication-rig.ts';
import { type S3Server, startS3Server } from '../support/s3-server.ts';

let server: S3Server;
let number = 0;
let the: PublicationRig;
beforeAll(async () => {
  server = await startS3Server();
  for (const [name, value] of Object.entries(server.environment)) vi.stubEnv(name, value);
}, 90_000);
afterEach(() => the?.close());
afterAll(async () => {
  vi.unstubAllEnvs();
  await server.stop();
});

const bucket = () => `timestamps-${number}`;
const object = () => ({ Bucket: bucket(), Key: `site${TIMESTAMP_PATH}` });

async function start(): Promise<void> {
  number++;
  await server.bucket(bucket());
  the = await PublicationRig.start({
    publication: { resignMinutes: 60, freshHours: 48, push: [`s3://${bucket()}/site`] },
  });
}

async function there(): Promise<Uint8Array> {
  const { Body } = await server.client.send(new GetObjectCommand(object()));
  return (await Body?.transformToByteArray()) ?? new Uint8Array();
}

async function put(name: string, bytes: Uint8Array, to = bucket()): Promise<void> {
  const Key = `${to === bucket() ? 'site' : ''}${METADATA_PATH}${name}`.replace(/^\//, '');
  await server.client.send(new PutObjectCommand({ Bucket: to, Key, Body: bytes }));
}

async function upload(version: number, to = bucket()): Promise<Uint8Array> {
  const snapshot = the.snapshot(version);
  await put('1.root.json', the.rig.publisher.root.bytes, to);
  await put(`${version}.snapshot.json`, snapshot, to);
  return snapshot;
}

describe('a bucket that timestamps are pushed to', () => {
  it('has each as soon as it is signed, and says how long caches may keep it', async () => {
    await start();
    await the.handOver(await upload(7));
    expect(await there()).toEqual(await the.served());
    the.rig.passTime(HOUR);
    await the.run();
    expect(await there()).toEqual(await the.served());
    expect(await server.client.send(new HeadObjectCommand(object()))).toMatchObject({
      CacheControl: 'public, max-age=60',
      ContentType: 'application/json',
    });
  });

  it('that does not exist is reported, without a word of the credentials, and tried again', async () => {
    await start();
    await the.close();
    const gone = `gone-${number}`;
    the = await PublicationRig.start({ publication: { resignMinutes: 60, freshHours: 48, push: [`s3://${gone}`] } });
    await the.handOver(the.snapshot(7));
    expect(the.rig.log()).toContain('the timestamp could not be pushed');
    expect(the.rig.log()).not.toContain(server.environment.AWS_SECRET_ACCESS_KEY);
    await server.bucket(gone);
    await upload(7, gone);
    await the.run();
    const found = await PushTarget.open(`s3://${gone}`);
    expect(Buffer.from((await found.read()).bytes ?? [])).toEqual(Buffer.from(await the.served()));
    found.close();
  });
});

it.each(['a bucket', 'a directory'])(
  'what another program puts there between look and push is not replaced: %s',
  async (kind) => {
    await start();
    const target = await PushTarget.open(kind === 'a bucket' ? `s3://${bucket()}/site` : the.site);
    for (const before of [undefined, utf8('before')]) {
      if (before) await target.write(before, await target.read());
      const found = await target.read();
      const other = utf8(`another publication, after ${before}`);
      await target.write(other, await target.read());
      await expect(target.write(utf8('ours'), found)).rejects.toMatchObject({ code: 'target-changed' });
      expect(Buffer.from((await target.read()).bytes ?? [])).toEqual(Buffer.from(other));
    }
    target.close();
  },
);
