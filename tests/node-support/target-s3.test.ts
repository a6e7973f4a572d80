import { createServer } from 'node:http';
import {
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { utf8 } from '../../core/encoding/bytes.ts';
import { openTarget } from '../../node-support/storage/open.ts';
import { S3Target } from '../../node-support/storage/s3.ts';
import { S3_LIMITS } from '../../node-support/storage/s3-client.ts';
import { targetCheck, timeOfTarget } from '../../publisher/doctor/targets.ts';
import { closeServer, listenOnLoopback } from '../support/content-host.ts';
import { type S3Server, startS3Server } from '../support/s3-server.ts';
import { all, codeOf, describeTarget, OPTIONS } from './target-contract.ts';

let server: S3Server;
let number = 0;

beforeAll(async () => {
  server = await startS3Server();
  for (const [name, value] of Object.entries(server.environment)) vi.stubEnv(name, value);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await server.stop();
});

async function open(prefix = '') {
  const bucket = `bucket-${++number}`;
  await server.bucket(bucket);
  return openTarget(`s3://${bucket}${prefix}`);
}

describeTarget('a part of a bucket', () => open('/sites/news of today/'));

describe('a bucket as a target', () => {
  it('keeps to its part', async () => {
    await server.bucket('shared');
    const [one, two] = [await openTarget('s3://shared/one'), await openTarget('s3://shared/one-two')];
    await one.upload('/a', utf8('1'), OPTIONS);
    await two.upload('/a', utf8('22'), OPTIONS);
    expect(await all(one)).toHaveLength(1);
    await one.remove(['/a']);
    expect((await two.head('/a'))?.length).toBe(2);
  });

  it('is examined by wispr doctor, which leaves nothing there and learns the time', async () => {
    const target = await open();
    const signal = new AbortController().signal;
    expect(await targetCheck(target.name, '.').run(signal)).toEqual({ status: 'ok', says: 'can be written to' });
    expect(await all(target)).toEqual([]);
    expect(Math.abs(((await timeOfTarget(target.name, '.')(signal)) ?? 0) - Date.now() / 1000)).toBeLessThan(60);
    await expect(targetCheck('s3://none', '.').run(signal)).rejects.toMatchObject({ code: 'target-unreachable' });
  });

  it('gives files their type and how long they may be kept', async () => {
    const target = await open();
    await target.upload('/a', utf8('x'), { contentType: 'image/svg+xml', cacheControl: 'public, max-age=60' });
    const answer = await server.client.send(new HeadObjectCommand({ Bucket: `bucket-${number}`, Key: 'a' }));
    expect(answer).toMatchObject({ ContentType: 'image/svg+xml', CacheControl: 'public, max-age=60' });
  });

  it('lists more than one page', async () => {
    await server.bucket('pages');
    const target = new S3Target('pages', '', { ...S3_LIMITS, page: 2 });
    for (const path of ['/a', '/b', '/c', '/d', '/e']) await target.upload(path, utf8(''), OPTIONS);
    const asked = vi.spyOn(S3Client.prototype, 'send');
    expect(await all(target)).toHaveLength(5);
    expect(asked).toHaveBeenCalledTimes(3);
    asked.mockRestore();
    target.close();
  });

  it('removes uploads that were never completed', async () => {
    const target = await open();
    const Bucket = `bucket-${number}`;
    await server.client.send(new CreateMultipartUploadCommand({ Bucket, Key: 'half' }));
    await target.removeLeftovers(Date.now() / 1000 + 4000);
    const { Uploads = [] } = await server.client.send(new ListMultipartUploadsCommand({ Bucket }));
    expect(Uploads).toEqual([]);
  });

  it('refuses names that are too long for any bucket', async () => {
    expect(await codeOf((await open()).upload(`/${'n'.repeat(1025)}`, utf8('x'), OPTIONS))).toBe('path-refused');
  });

  it('says so when the bucket is not there', async () => {
    const absent = await openTarget('s3://no-such-bucket');
    expect(await codeOf(absent.upload('/a', utf8('x'), OPTIONS))).toBe('target-unreachable');
    expect(await codeOf(all(absent))).toBe('target-unreachable');
  });

  it('names AWS_REGION for a bucket of Amazon whose region nothing says', async () => {
    for (const name of ['AWS_ENDPOINT_URL_S3', 'AWS_REGION', 'AWS_DEFAULT_REGION']) vi.stubEnv(name, undefined);
    vi.stubEnv('AWS_CONFIG_FILE', '/dev/null');
    const somewhere = await openTarget('s3://bucket');
    await expect(somewhere.upload('/a', utf8('x'), OPTIONS)).rejects.toMatchObject({
      code: 'region-missing',
      remedy: expect.stringContaining('AWS_REGION'),
    });
    vi.stubEnv('AWS_ENDPOINT_URL_S3', server.endpoint);
  });

  it.each(['http://127.0.0.1:9', '127.0.0.1:9000'])(
    'says what to set where there is no answer at %s',
    async (endpoint) => {
      vi.stubEnv('AWS_ENDPOINT_URL_S3', endpoint);
      const silent = await openTarget('s3://bucket');
      await expect(silent.upload('/a', utf8('x'), OPTIONS)).rejects.toMatchObject({
        code: 'target-unreachable',
        remedy: expect.stringContaining('AWS_ENDPOINT_URL_S3'),
      });
      vi.stubEnv('AWS_ENDPOINT_URL_S3', server.endpoint);
    },
  );

  const NO_S3 = '<!doctype html><meta charset="utf-8"><h1>Not found</h1><br>';
  const REFUSED = '<Error><Code>InvalidAccessKeyId</Code><Message>No such id.</Message></Error>';
  it.each([
    ['http', 404, NO_S3, 'target-failed', /: it answered 404, and not as an S3 server does$/],
    ['http', 200, NO_S3, 'target-failed', /: it answered 200, and not as an S3 server does$/],
    ['http', 403, REFUSED, 'target-failed', /: InvalidAccessKeyId \(403\): No such id\.$/],
    ['https', 200, '', 'target-unreachable', /: there is no TLS .* \(wrong version number\)$/],
  ])('says on one line what is there instead, at %s with %i', async (scheme, status, body, code, message) => {
    const host = createServer((_, response) => response.writeHead(status, { 'Content-Type': 'text/html' }).end(body));
    vi.stubEnv('AWS_ENDPOINT_URL_S3', `${scheme}://127.0.0.1:${await listenOnLoopback(host)}`);
    const target = await openTarget('s3://bucket');
    await expect(all(target)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
    target.close();
    await closeServer(host);
    vi.stubEnv('AWS_ENDPOINT_URL_S3', server.endpoint);
  });
});
