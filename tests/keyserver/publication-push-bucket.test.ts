/** The key server puts timestamps into a bucket that a web host serves, on a real S3 server. */
import { GetObjectCommand, HeadObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { utf8 } from '../../core/encoding/bytes.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { PushTarget } from '../../keyserver/publication/push-target.ts';
import { temporaryFolder } from '../support/keyserver-rig.ts';
import { HOUR, PublicationRig, TIMESTAMP_PATH } from '../support/publication-rig.ts';
import { type S3Server, startS3Server } from '../support/s3-server.ts';

let server: S3Server;
let number = 0;
let the: PublicationRig;
beforeAll(async () => {
  server = await startS3Server();
  for (const [name, value] of Object.entries(server.environment)) vi.stubEnv(name, value);
}, 90_000);
afterAll(async () => {
  vi.unstubAllEnvs();
  await server.stop();
});

const bucket = () => `timestamps-${number}`;
const object = () => ({ Bucket: bucket(), Key: `site${TIMESTAMP_PATH}` });

/** Makes a new bucket. @returns the part of it that is pushed to */
async function newTarget(): Promise<string> {
  number++;
  await server.bucket(bucket());
  return `s3://${bucket()}/site`;
}

async function start(target: string): Promise<void> {
  the = await PublicationRig.start({ publication: { resignMinutes: 60, freshHours: 48, push: [target] } });
  onTestFinished(() => the.close());
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
    await start(await newTarget());
    await the.handOver(await upload(7));
    expect(await there()).toEqual(await the.served());
    the.rig.passTime(HOUR);
    await the.run();
    expect(await there()).toEqual(await the.served());
    const head = await server.client.send(new HeadObjectCommand(object()));
    expect(head).toMatchObject({ CacheControl: 'public, max-age=60', ContentType: 'application/json' });
  });

  it('that does not exist is reported, without a word of the credentials, and tried again', async () => {
    const gone = 'gone';
    await start(`s3://${gone}`);
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
    const target = await PushTarget.open(kind === 'a bucket' ? await newTarget() : temporaryFolder());
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
