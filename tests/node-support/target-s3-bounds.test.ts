/** Bounds on a bucket's server: it can neither hold nor fill those who ask it. */
import { truncateSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { utf8 } from '../../core/encoding/bytes.ts';
import { S3Target } from '../../node-support/storage/s3.ts';
import { S3_LIMITS, type S3Limits } from '../../node-support/storage/s3-client.ts';
import { forEachTest } from '../support/for-file.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { dripping, silent, startWaywardServer } from '../support/wayward-server.ts';
import { all, codeOf, OPTIONS } from './target-contract.ts';

const server = forEachTest(startWaywardServer);
let target: S3Target;
const large = join(temporaryFolder(), 'large');
writeFileSync(large, '');
truncateSync(large, 9 * 1024 * 1024);

beforeEach(() => {
  vi.stubEnv('AWS_ENDPOINT_URL_S3', server.origin);
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'tests');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'of-no-value');
  vi.stubEnv('AWS_REGION', 'us-east-1');
});
afterEach(() => {
  target.close();
  vi.unstubAllEnvs();
});

function open(limits: Partial<S3Limits>, prefix = ''): S3Target {
  target = new S3Target('bucket', prefix, { ...S3_LIMITS, ...limits });
  return target;
}

/** Limits with a short time for the whole only: no attempt ends by itself. */
const SHORT = { operation: 1000, sending: 1e6, reading: 1e6 };

const OPERATIONS: readonly (readonly [string, () => Promise<unknown>])[] = [
  ['list', () => all(target)],
  ['look at', () => target.head('/a')],
  ['read', () => target.get('/a', 16_000)],
  ['write', () => target.upload('/a', utf8('x'), OPTIONS)],
  ['write in parts', () => target.upload('/large', { file: large }, OPTIONS)],
  ['remove', () => target.remove(['/a'])],
  ['list uploads of', () => target.removeLeftovers(1)],
];

describe('attack 65: a server that never answers', () => {
  it('has time for an operation, and no more', async () => {
    open(SHORT);
    const end = { code: 'target-unreachable', message: expect.stringContaining('in time') };
    await Promise.all(OPERATIONS.map(([name, work]) => expect(work(), name).rejects.toMatchObject(end)));
    expect(server.asked).toHaveLength(OPERATIONS.length);
  });

  it('is asked again where only an attempt took too long', async () => {
    server.answer = (request, response) => {
      if (server.asked.length === 1) silent(request);
      else response.writeHead(200, { etag: '"x"', 'content-length': 3 }).end();
    };
    open({ attempt: 500, operation: 15_000 }); // ends before a line on which nothing moves does
    expect(await target.head('/a')).toMatchObject({ length: 3 });
    expect(server.asked.length).toBeGreaterThan(1);
  });

  it('is given up where nothing moves on the line', async () => {
    open({ silence: 50 });
    const message = expect.stringContaining('in time');
    await expect(target.upload('/a', utf8('x'), OPTIONS)).rejects.toMatchObject({
      code: 'target-unreachable',
      message,
    });
    expect(server.asked.length).toBeGreaterThan(1);
  });

  it('is let go by who closes', async () => {
    open({});
    const outcome = codeOf(target.get('/a', 10));
    await vi.waitUntil(() => server.asked.length > 0);
    target.close();
    expect(await outcome).toBe('target-unreachable');
    expect(await codeOf(target.head('/a'))).toBe('target-unreachable');
  });
});

describe('attack 65: a server that answers byte by byte', () => {
  it('has time for an operation, and its line ends with it', async () => {
    let ended = 0;
    server.answer = (request, response) => {
      dripping(request, response);
      response.on('close', () => ended++);
    };
    open(SHORT);
    // The client reads the body of these answers.
    const reading = OPERATIONS.filter(([name]) => !['look at', 'write', 'remove'].includes(name));
    await Promise.all(
      reading.map(async ([name, work]) => expect([name, await codeOf(work())]).toEqual([name, 'target-unreachable'])),
    );
    expect(server.asked).toHaveLength(reading.length);
    await expect.poll(() => ended).toBe(reading.length);
  });

  it('has time for what is long', async () => {
    server.answer = (_, response) => {
      response.writeHead(200, { 'content-length': 3 });
      for (const [index, byte] of ['o', 'n', 'e'].entries()) setTimeout(() => response.write(byte), 150 * (index + 1));
    };
    open({ operation: 50, reading: 0.0003 });
    expect(Buffer.from((await target.get('/a', 3)) ?? []).toString()).toBe('one');
  });
});

/** Says without an end what is wrong. */
function babbling(request: IncomingMessage, response: ServerResponse): void {
  request.resume();
  response.writeHead(403, { 'content-type': 'application/xml' });
  const babble = () => {
    while (response.write('<Error>'.repeat(1000)));
  };
  response.on('drain', babble);
  babble();
}

// The answer to HEAD has no body; and a server that lists no uploads is forgiven.
it.each(OPERATIONS.filter(([name]) => !['look at', 'list uploads of'].includes(name)))(
  'attack 65: a server that does not end what is wrong fills no memory: to %s',
  async (_, work) => {
    server.answer = babbling;
    open({ ...SHORT, operation: 10_000, answerLength: 100_000 });
    expect(await codeOf(work())).toBe('target-failed');
  },
);

/** Answers every listing with a page, whose successor has the token that is returned. */
function listing(
  page: (number: number) => { readonly keys: readonly string[]; readonly next: string; etag?: string },
  delay = 0,
) {
  let number = 0;
  server.answer = (_: IncomingMessage, response: ServerResponse) => {
    const { keys, next, etag = '"x"' } = page(++number);
    const files = keys.map((key) => `<Contents><Key>${key}</Key><Size>1</Size><ETag>${etag}</ETag></Contents>`);
    const token = `<IsTruncated>true</IsTruncated><NextContinuationToken>${next}</NextContinuationToken>`;
    const text = `<?xml version="1.0"?><ListBucketResult>${token}${files.join('')}</ListBucketResult>`;
    response.writeHead(200, { 'content-type': 'application/xml' });
    if (delay === 0) response.end(text);
    else setTimeout(() => response.end(text), delay);
  };
}

describe('attack 65: a server that lists without an end', () => {
  it.each([
    ['more and more files', { files: 100 }, (page: number) => ({ keys: [`${page}-a`, `${page}-b`], next: `${page}` })],
    ['pages without files', { pages: 20 }, (page: number) => ({ keys: [], next: `${page}` })],
    ['the same page', {}, () => ({ keys: ['a'], next: 'again' })],
    ['an answer that is too long', { answerLength: 10_000 }, () => ({ keys: ['a'.repeat(20_000)], next: '' })],
  ])('is refused: %s', async (_, limits, page) => {
    listing(page);
    open(limits);
    expect(await codeOf(all(target))).toBe('target-failed');
  });

  it('is refused where every page comes in time, and all of them do not', async () => {
    listing((page) => ({ keys: [`${page}`], next: `${page}` }), 20);
    open({ listings: 400, listing: 1e6 });
    const message = expect.stringContaining('in time');
    await expect(all(target)).rejects.toMatchObject({ code: 'target-unreachable', message });
    await expect(all(target)).rejects.toMatchObject({ code: 'target-unreachable', message }); // a time for all listings
  });

  it('has time for what is long', async () => {
    listing((page) => ({ keys: [`${page}`], next: page === 5 ? '' : `${page}` }), 100);
    open({ listings: 400, listing: 0.001 });
    expect((await all(target)).length).toBe(5);
  });

  it('is refused where it lists what was not asked for', async () => {
    listing((page) => ({ keys: page === 1 ? ['site/a'] : ['other/b'], next: page === 1 ? 'x' : '' }));
    open({}, 'site');
    expect(await codeOf(all(target))).toBe('target-failed');
  });

  it('may list in any order, as some do', async () => {
    listing((page) => ({ keys: [page === 1 ? 'b' : 'a'], next: page === 1 ? 'x' : '' }));
    open({});
    expect((await all(target)).map(({ path }) => path)).toEqual(['/a', '/b']);
  });
});

it("a server's clock is that of its last answer, good or not", async () => {
  const time = 1_700_000_000;
  server.answer = ({ url = '' }, response) => {
    const date = url.endsWith('c') ? 'never' : new Date((time + url.length) * 1000).toUTCString();
    response.writeHead(404, { date }).end();
  };
  open({});
  expect(target.time()).toBeUndefined();
  const times: unknown[] = [];
  for (const path of ['/a', '/bb', '/c']) {
    await target.head(path);
    times.push(target.time());
  }
  expect(times).toEqual([time + 9, time + 10, time + 10]);
});
