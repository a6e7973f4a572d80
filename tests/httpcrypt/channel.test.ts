/** The client's side of HTTPCrypt, by itself and as a dispatcher, against a real endpoint behind nginx, and hops that a test plays. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer, text } from 'node:stream/consumers';
import { Agent, type Dispatcher, fetch, Pool, request } from 'undici';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { x25519KeyPair } from '#channel';
import { randomBytes } from '#primitives';
import { beginExchange } from '../../core/httpcrypt/exchange.ts';
import { HttpcryptChannel } from '../../httpcrypt/client/channel.ts';
import { HttpcryptDispatcher } from '../../httpcrypt/client/dispatcher.ts';
import { sealStream } from '../../httpcrypt/sealed-streams.ts';
import { drained } from '../../node-support/drained.ts';
import { load } from '../../node-support/load.ts';
import { closeServer, listenOnLoopback } from '../support/content-host.ts';
import { startEndpoint, type TestEndpoint } from '../support/httpcrypt-endpoint.ts';

const PIECE = Buffer.alloc(65_536, 7);
const MANY = 800;
/** Requests that came to the server behind. */
const arrived: string[] = [];
/** How the last of them says its length. */
let framing: { readonly length: string | undefined; readonly coding: string | undefined };
/** Pieces that it has written of a long answer. */
let written = 0;
/** Set when that answer is wanted no more. */
let isEnded = false;
const behind = createServer((incoming, response) => void answer(incoming, response));
let front: TestEndpoint;
let origin: string;

beforeAll(async () => {
  front = await startEndpoint('127.0.0.1', await listenOnLoopback(behind));
  ({ origin } = new URL(front.endpoint.url));
});
afterAll(async () => {
  await front.close();
  await closeServer(behind);
});

async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  arrived.push(`${incoming.method} ${incoming.url}`);
  if (incoming.url === '/long') {
    isEnded = false;
    response.once('close', () => {
      isEnded = true;
    });
    for (written = 0; written < MANY && !response.destroyed; written++)
      if (!response.write(PIECE)) await drained(response);
    return void response.end();
  }
  framing = { length: incoming.headers['content-length'], coding: incoming.headers['transfer-encoding'] };
  let length = 0;
  for await (const part of incoming) length += part.length;
  response.writeHead(200, { 'X-Twice': ['1', '2'] }).end(`${incoming.method} ${incoming.url} ${length}`);
}

/** A client with no keys and tickets yet. @param to - port to connect to, of a hop */
function client(to = front.port) {
  const pool = new Pool(`http://127.0.0.1:${to}`);
  onTestFinished(() => pool.destroy());
  const dispatcher = new Agent({ factory: () => pool });
  const channel = new HttpcryptChannel({ endpoint: front.endpoint, dispatcher });
  return { channel, dispatcher: new HttpcryptDispatcher(channel) };
}

/** A hop to the endpoint. @param change - writes the answer to a POST @param opened - passes nothing on before */
async function hop(
  change: (came: Dispatcher.ResponseData, response: ServerResponse, posts: number) => Promise<unknown>,
  opened?: Promise<void>,
): Promise<number> {
  let posts = 0;
  const server = createServer(async (incoming, response) => {
    await opened;
    const { method = '', url, headers } = incoming;
    const isPost = method === 'POST';
    const body = isPost ? await buffer(incoming) : null;
    const cookie = headers.cookie === undefined ? {} : { cookie: headers.cookie };
    const came = await request(`http://127.0.0.1:${front.port}${url}`, { method, headers: cookie, body });
    if (isPost) await change(came, response, ++posts);
    else response.end(await came.body.bytes());
  });
  onTestFinished(() => void server.close());
  return listenOnLoopback(server);
}

const code = (sent: Promise<unknown>) =>
  sent.then(
    () => 'answered',
    (error: { code?: string }) => error.code,
  );

it('sends several requests at once, and shows no ticket or key twice', async () => {
  const { dispatcher } = client();
  const before = (await front.requests()).length;
  const round = () =>
    Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const method = index % 2 ? 'PATCH' : 'GET';
        const body = index % 2 ? PIECE : null;
        const { body: came } = await request(`${origin}/${index}?q`, { dispatcher, method, body });
        expect(await came.text()).toBe(`${method} /${index}?q ${body?.length ?? 0}`);
      }),
    );
  await round();
  await round();
  const cookies = (await front.requests())
    .slice(before)
    .trim()
    .split('\n')
    .map((line) => line.split('|')[1]?.slice(0, 60))
    .filter((cookie) => cookie !== '-');
  expect(cookies.length).toBeGreaterThan(40);
  expect(new Set(cookies).size).toBe(cookies.length);
});

it('gets a ticket before what may not be repeated, and goes on with tickets', async () => {
  const { channel } = client();
  arrived.length = 0;
  const before = (await front.requests()).length;
  for (let round = 0; round < 3; round++) {
    const { status, body } = await channel.send({ method: 'POST', path: '/form', fields: [], body: PIECE });
    expect([status, await text(body)]).toEqual([200, `POST /form ${PIECE.length}`]);
  }
  expect(arrived).toEqual(['POST /form', 'POST /form', 'POST /form']);
  expect((await front.requests()).slice(before).trim().split('\n')).toHaveLength(5); // OPTIONS in clear, and one inside
});

it('attack 109: a hop that replaces answers has GET sent again, and POST never', async () => {
  const { channel } = client(
    await hop(async (came, response, posts) => {
      const bytes = await came.body.bytes();
      response.writeHead(posts > 1 ? 500 : 200).end(posts > 1 ? 'no' : bytes);
    }),
  );
  const send = (method: string, path: string) => channel.send({ method, path, fields: [] });
  arrived.length = 0;
  expect(await code(send('POST', '/pay'))).toBe('channel-not-repeated');
  expect(arrived).toEqual(['POST /pay']);
  arrived.length = 0;
  expect(await code(send('GET', '/page'))).toBe('channel-key-refused');
  expect(arrived).toEqual(['GET /page']);
});

it('sends bytes again after the endpoint has lost its keys, and a stream never', async () => {
  const { channel } = client();
  const put = async (body: Uint8Array | AsyncIterable<Uint8Array>) => {
    const answered = await channel.send({ method: 'PUT', path: '/it', fields: [], body });
    return text(answered.body);
  };
  async function* stream() {
    yield PIECE;
    yield PIECE;
  }
  expect(await put(stream())).toBe(`PUT /it ${2 * PIECE.length}`);
  await front.restart();
  expect(await put(PIECE)).toBe(`PUT /it ${PIECE.length}`);
  await Promise.all([put(PIECE), put(PIECE), put(PIECE)]); // each leaves a ticket
  await front.restart();
  let begun = 0;
  async function* counted() {
    begun++;
    yield PIECE;
  }
  expect(await code(put(counted()))).toBe('channel-not-repeated');
  expect(begun).toBe(1);
  expect(await put(counted())).toBe(`PUT /it ${PIECE.length}`); // OPTIONS goes first, since no ticket is left
});

it('ends at once when it is aborted while a server key is looked for, which goes on for others', async () => {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  const pass = async (came: Dispatcher.ResponseData, response: ServerResponse) =>
    response.writeHead(came.statusCode).end(await came.body.bytes());
  const { channel } = client(await hop(pass, opened));
  const ending = new AbortController();
  const get = { method: 'GET', path: '/', fields: [] };
  const aborted = channel.send({ ...get, signal: ending.signal });
  const other = channel.send(get);
  ending.abort(new Error('enough'));
  await expect(aborted).rejects.toThrow('enough');
  open();
  expect((await other).status).toBe(200);
});

it('says the length that the caller says to the server behind, of bytes and of streams, and no wrong one', async () => {
  const { channel } = client();
  const put = async (body: Uint8Array | AsyncIterable<Uint8Array>, length: number, method = 'PUT') => {
    const fields = ['Content-Length', String(length)];
    for await (const _ of (await channel.send({ method, path: '/it', fields, body })).body);
    return framing;
  };
  async function* stream() {
    yield PIECE;
  }
  const { length } = PIECE;
  const framed = { length: String(length), coding: undefined };
  expect([await put(PIECE, length), await put(stream(), length)]).toEqual([framed, framed]);
  expect(await put(stream(), length, 'GET')).toEqual({}); // its content is not passed on either
  arrived.length = 0;
  for (const wrong of [9, 11]) expect(await code(put(PIECE.subarray(0, 10), wrong))).toBe('channel-key-refused');
  expect(arrived).toEqual([]);
});

it('takes requests of fetch as its dispatcher, and gives it fields that come twice', async () => {
  const { dispatcher } = client();
  const answered = await fetch(`${origin}/f`, { dispatcher, method: 'POST', body: 'text' });
  expect([answered.status, answered.headers.get('x-twice'), await answered.text()]).toEqual([200, '1, 2', 'POST /f 4']);
});

it('holds a long answer back until it is read, and ends it when it is aborted', async () => {
  const { dispatcher } = client(front.ownPort); // nginx would take all of it meanwhile
  const ending = new AbortController();
  const { body } = await request(`${origin}/long`, { dispatcher, signal: ending.signal });
  await new Promise((resolve) => setTimeout(resolve, 1500));
  const held = written;
  expect(held).toBeLessThan(MANY / 2);
  let length = 0;
  const reading = (async () => {
    for await (const piece of body) {
      length += piece.length;
      if (length > (held + 10) * PIECE.length) ending.abort(new Error('enough'));
    }
  })();
  await expect(reading).rejects.toThrow('enough');
  await expect.poll(() => isEnded).toBe(true);
  expect(written).toBeLessThan(MANY);
});

it('takes no answer that a hop has cut for a whole one', async () => {
  const { channel } = client(
    await hop(async ({ body }, response) => {
      let left = 16 + 3 * 16_384; // bytes of the salt, and of whole chunks
      for await (const piece of body) {
        response.write(piece.subarray(0, left));
        left -= Math.min(left, piece.length);
        if (left === 0) break;
      }
      response.end();
    }),
  );
  const { status, body } = await channel.send({ method: 'GET', path: '/long', fields: [] });
  expect(status).toBe(200);
  let length = 0;
  const reading = (async () => {
    for await (const piece of body) length += piece.length;
  })();
  await expect(reading).rejects.toMatchObject({ code: 'channel-unreadable' });
  expect(length).toBeGreaterThan(40_000);
});

it('attack 46: a request whose content comes slowly leaves the places of messages to others', async () => {
  const { channel } = client(front.ownPort); // nginx waits for all of it
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  async function* slow() {
    yield PIECE;
    await ended;
  }
  const before = arrived.length;
  const sent = channel.send({ method: 'GET', path: '/slow', fields: [], body: slow() });
  await expect.poll(() => arrived.length).toBe(before + 1);
  const places = Array.from({ length: 1000 }, () => load.begin());
  for (const place of places) place?.end();
  expect(places).not.toContain(undefined);
  end();
  expect((await sent).status).toBe(200);
});

it('passes paths on as they are', async () => {
  const { channel } = client();
  const path = '/a/../%2e%2e/b\\..//"c|{d}?';
  for await (const _ of (await channel.send({ method: 'GET', path, fields: [] })).body);
  expect(arrived.at(-1)).toBe(`GET ${path}`);
});

it('passes on small pieces that come one soon after the other, before they fill a chunk', async () => {
  const { publicKey } = x25519KeyPair(randomBytes(32));
  const head = { method: 'PUT', scheme: 'http', authority: 'a', path: '/', fields: [] };
  let sent = 0;
  async function* pieces() {
    for (; sent < 20; sent++) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      yield new Uint8Array(1);
    }
  }
  await sealStream(beginExchange(publicKey), head, pieces()).body.next();
  expect(sent).toBeLessThan(20);
});
