/** Limits of what a key server can do to its publisher: it cannot hold a run up, or choose the words of a hint. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { utf8 } from '../../core/encoding/bytes.ts';
import {
  fetchTimestamp,
  handOverKeys,
  type KeyServerAccess,
  putPublication,
} from '../../publisher/authority/key-server.ts';
import { Publishing } from '../support/publishing.ts';
import { dripping, silent, startWaywardServer, type WaywardServer } from '../support/wayward-server.ts';
import { createWorkspace, type TestWorkspace } from '../support/workspace.ts';

let server: WaywardServer;
let made: TestWorkspace;

beforeAll(async () => {
  made = await createWorkspace({ 'a.html': '<p>1' });
  await made.protect();
});
afterAll(() => made.remove());
beforeEach(async () => {
  server = await startWaywardServer();
});
afterEach(() => server.close());

const access = (limits = { request: 200, sending: 1e6 }): KeyServerAccess => ({
  origin: server.origin,
  token: 'x'.repeat(20),
  limits,
});

describe.each([
  ['says nothing', silent],
  ['answers byte by byte', dripping],
] as const)('attack 65: a key server that %s', (_, answer) => {
  it.each([
    ['asked for a timestamp', () => fetchTimestamp(access())],
    ['given keys', () => handOverKeys(access(), utf8('a bundle'))],
    ['given a publication', () => putPublication(access(), utf8('{}'), 1)],
  ])('does not answer: %s', async (_, work) => {
    server.answer = answer;
    await expect(work()).rejects.toMatchObject({
      code: 'key-server-unreachable',
      message: expect.stringContaining('in time'),
    });
    expect(server.asked).toHaveLength(1);
  });

  it('delays a withdrawal by no more than its time limit', async () => {
    server.answer = answer;
    const publishing = new Publishing(made);
    await publishing.publish();
    publishing.changes = {
      keyServer: server.origin,
      token: 'x'.repeat(20),
      options: { keyServerLimits: { request: 200, sending: 1e6 } },
    };
    expect(await publishing.withdraw()).toMatchObject({ outcome: 'withdrawn', keyServer: 'does not answer' });
  });
});

it.each(['constructor', 'toString', '__proto__'])(
  'attack 81: takes no hint from what every object has: %s',
  async (code) => {
    server.answer = (request, response) => {
      request.resume();
      response.writeHead(400).end(JSON.stringify({ error: code }));
    };
    const refusal = handOverKeys(access(), utf8('a bundle'));
    await expect(refusal).rejects.toMatchObject({ code: 'key-server-refused' });
    await expect(refusal).rejects.toMatchObject({ message: expect.stringMatching(/\(\w+\)$/) });
  },
);
