/** The dispatcher of a cluster and the key servers at it, over real connections; those that are killed are processes of their own. */
import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2, createSecureServer } from 'node:http2';
import { connect as connectPlain } from 'node:net';
import { connect, createServer } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { randomBytes } from '#primitives';
import { Dispatcher } from '../../keyserver/hashing/dispatcher.ts';
import type { Hashing } from '../../keyserver/hashing/hashing.ts';
import { Member } from '../../keyserver/hashing/member.ts';
import { clientTls, LONGEST_MESSAGE, serverTls, TIMING, type Timing } from '../../keyserver/hashing/messages.ts';
import type { HashingWork } from '../../keyserver/hashing/threads.ts';
import { argon2id } from '../../node-support/argon2id.ts';
import { makeCertificate } from '../support/certificates.ts';
import { CHEAP } from '../support/cheap-keys.ts';
import { logged, temporaryFolder } from '../support/keyserver-rig.ts';
import { startProgram } from '../support/programs.ts';

const SECRET = randomBytes(32);
/** Connects again at once; waits as long as it takes. All give ten signs of life a second, processes too. */
const PATIENT: Timing = { ...TIMING, alive: 100, silence: 120_000, answer: 120_000, again: 20, slowest: 20 };
const IMPATIENT: Timing = { ...PATIENT, silence: 1500 };

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).toReversed()) await end();
});

const hex = (hash: Uint8Array) => Buffer.from(hash).toString('hex');

/** Has a work done. @returns in hexadecimal */
async function hashed(hashing: Hashing, address: string, { typed, cost, salt }: HashingWork): Promise<string> {
  return hex(await hashing.hash(address, { typed, cost, salt }));
}

/** A work, and what comes of it. */
async function work(): Promise<HashingWork & { readonly hash: string }> {
  const [typed, salt] = [`pass ${randomBytes(8).join('-')} wörd`, randomBytes(16)];
  return { typed, salt, cost: CHEAP, hash: hex(await argon2id(typed, CHEAP, salt)) };
}

async function startDispatcher(slots: number, { port = 0, timing = PATIENT } = {}) {
  const { log, text } = logged();
  const listen = { host: '127.0.0.1', port };
  const dispatcher = await Dispatcher.start({ listen, secret: SECRET, slots, log, timing });
  endings.push(() => dispatcher.close());
  return { dispatcher, text, port: dispatcher.port };
}

/** Starts one, unconnected. */
function startMember(port: number, slots: number, timing = PATIENT) {
  const { log, text } = logged();
  const member = new Member({ host: '127.0.0.1', port, secret: SECRET, slots, log, timing });
  endings.push(() => member.close());
  return { member, text };
}

/** Connects a member; waits until it is known. */
async function connectedMember(dispatcher: Dispatcher, slots: number, timing = PATIENT): Promise<Member> {
  const before = dispatcher.connected();
  const { member } = startMember(dispatcher.port, slots, timing);
  await isConnected(dispatcher, before + 1);
  await isConnected(member, 1);
  return member;
}

const isConnected = (hashing: Hashing, count: number) => expect.poll(() => hashing.connected()).toBe(count);

/** Starts one that listens, or is connected. */
async function startProcess(kind: 'dispatcher' | 'member', port: number, slots: number) {
  const env = { ...process.env, WISPR_TEST_SECRET: hex(SECRET) };
  const program = startProgram('tests/support/hashing-process.ts', [kind, String(port), String(slots)], { env });
  endings.push(() => program.stop('SIGKILL'));
  return { ...program, port: Number(JSON.parse(await program.line(/port/)).port) };
}

/** A connection of one who knows the secret. */
function sessionAt(port: number): ClientHttp2Session {
  const session = connectHttp2(`https://127.0.0.1:${port}`, clientTls(SECRET)).on('error', () => undefined);
  endings.push(() => session.destroy());
  return session;
}

function send(session: ClientHttp2Session, path: string, message: string | Buffer) {
  const stream = session.request({ ':method': 'POST', ':path': path }).on('error', () => undefined);
  stream.resume().end(message);
  return stream;
}

/** A key server that takes up a slot, and does nothing more. */
async function idleWorker(port: number): Promise<ClientHttp2Session> {
  const session = sessionAt(port);
  await once(send(session, '/join', '{"slots":1}'), 'response');
  return session;
}

/** Has one hash after another be asked for; the names of those that are done or refused, in order. */
function asking() {
  const [done, refused, all] = [[], [], []] as [string[], string[], Promise<unknown>[]];
  const same = work();
  return {
    done,
    refused,
    all,
    ask: async (hashing: Hashing, address: string, count: number) => {
      const { hash, ...asked } = await same;
      for (let index = 0; index < count; index++) {
        const answer = hashed(hashing, address, asked).then(
          (given) => void (given === hash && done.push(address)),
          ({ code }) => void refused.push(`${address} ${code}`),
        );
        all.push(answer);
      }
    },
  };
}

describe('works of a key server', () => {
  it('are done where there is a slot: at others too, one at each', async () => {
    const { dispatcher } = await startDispatcher(1);
    const one = await connectedMember(dispatcher, 1);
    const two = await connectedMember(dispatcher, 2);
    const works = await Promise.all(Array.from({ length: 12 }, work));
    const hashes = await Promise.all(works.map((each, index) => hashed(one, `a${index}`, each)));
    expect(hashes).toEqual(works.map(({ hash }) => hash));
    expect(one.counts()).toMatchObject({ dispatched: 12, local: 0, refused: 0 });
    // The first four took the four slots; so the one that asked did one of these at most.
    expect(one.counts()['for-dispatcher']).toBeGreaterThan(0);
    expect(two.counts()['for-dispatcher']).toBeGreaterThan(1);
    expect(one.counts()['for-dispatcher'] + two.counts()['for-dispatcher']).toBeLessThan(12);
  });

  it('attack 104: wait in bounds: of one address, and of all; then they are told to come again', async () => {
    const { dispatcher, port } = await startDispatcher(0);
    const member = await connectedMember(dispatcher, 0);
    const worker = await idleWorker(port);
    const { done, refused, all, ask } = asking();
    await ask(member, 'a', 18); // a work runs, 16 wait
    await expect.poll(() => refused).toEqual(['a busy']);
    for (let address = 0; address < 112; address++) await ask(member, `b${address}`, 1);
    await ask(member, 'a', 1);
    await expect.poll(() => refused).toEqual(['a busy', 'a busy']);
    await ask(member, 'c', 1); // the queue is full: c takes a place from one who has most
    await expect.poll(() => refused).toEqual(['a busy', 'a busy', 'a busy']);
    await connectedMember(dispatcher, 1);
    await expect.poll(() => done).toHaveLength(128);
    worker.destroy();
    await Promise.all(all);
    expect(done).toHaveLength(1 + 128);
    expect(member.counts()).toMatchObject({ dispatched: 129, local: 0, refused: 3 });
  });
});

describe('what is lost', () => {
  it.each(['SIGKILL', 'SIGSTOP'] as const)(
    'a key server in the middle of its work, by %s: another one does it',
    async (signal) => {
      const timing = signal === 'SIGSTOP' ? IMPATIENT : PATIENT;
      const { dispatcher, port, text } = await startDispatcher(0, { timing });
      const member = await connectedMember(dispatcher, 0);
      const worker = await startProcess('member', port, 2);
      await isConnected(dispatcher, 2);
      process.kill(worker.pid, 'SIGSTOP');
      const { hash, ...asked } = await work();
      const answers = [hashed(member, 'a', asked), hashed(member, 'b', asked)];
      const other = await connectedMember(dispatcher, 1);
      process.kill(worker.pid, signal);
      expect(await Promise.all(answers)).toEqual([hash, hash]);
      expect(other.counts()['for-dispatcher']).toBe(2);
      expect(member.counts()).toMatchObject({ dispatched: 2, local: 0 });
      expect(text()).toMatch(/"again":[12],"msg":"a key server left the dispatcher"/);
    },
  );

  it('the dispatcher: the works that it had are done here, and it is found again', async () => {
    const { port, ...first } = await startProcess('dispatcher', 0, 1);
    const { member, text } = startMember(port, 0);
    await isConnected(member, 1);
    process.kill(first.pid, 'SIGSTOP');
    const { hash, ...asked } = await work();
    const answers = [hashed(member, 'a', asked), hashed(member, 'b', asked)];
    await first.stop('SIGKILL');
    expect(await Promise.all(answers)).toEqual([hash, hash]);
    expect(await hashed(member, 'a', asked)).toEqual(hash);
    expect(member.counts()).toMatchObject({ dispatched: 0, local: 3 });
    expect(member.connected()).toBe(0);
    await startDispatcher(1, { port });
    await isConnected(member, 1);
    expect(await hashed(member, 'a', asked)).toEqual(hash);
    expect(member.counts()).toMatchObject({ dispatched: 1, local: 3 });
    const lines = text().match(/the dispatcher is (?:there|lost)/g);
    expect(lines).toEqual(['the dispatcher is there', 'the dispatcher is lost', 'the dispatcher is there']);
  });

  it('an answer that does not come: the work is done here, and the connection stays', async () => {
    const { dispatcher, port } = await startDispatcher(0);
    const member = await connectedMember(dispatcher, 0, { ...PATIENT, answer: 100 });
    await idleWorker(port);
    const { hash, ...asked } = await work();
    expect(await hashed(member, 'a', asked)).toEqual(hash);
    expect([member.counts().local, member.connected()]).toEqual([1, 1]);
  });

  it('a work that is too long for a message is done here', async () => {
    const { dispatcher } = await startDispatcher(1);
    const member = await connectedMember(dispatcher, 0);
    const typed = 'x'.repeat(LONGEST_MESSAGE);
    const asked = { ...(await work()), typed };
    expect(await hashed(member, 'a', asked)).toEqual(hex(await argon2id(typed, CHEAP, asked.salt)));
    expect([member.counts().local, dispatcher.connected()]).toEqual([1, 1]);
  });

  it('attack 104: works of the dispatcher that no slot does are done here in bounds', async () => {
    const { dispatcher } = await startDispatcher(0);
    await connectedMember(dispatcher, 8);
    const { hash, ...asked } = await work();
    await expect.poll(() => hashed(dispatcher, 'a', asked).catch(() => '')).toBe(hash); // the slots are known then
    const tooLong = { ...asked, typed: 'x'.repeat(LONGEST_MESSAGE) };
    // The 24 works get a slot or wait for one, and are back before the first hash is done.
    const ends = await Promise.allSettled(Array.from({ length: 24 }, () => hashed(dispatcher, 'a', tooLong)));
    const refused = ends.filter((end) => end.status === 'rejected').map(({ reason }) => reason.code);
    expect(refused).toEqual(Array(6).fill('busy')); // two are done here at a time, 16 wait
  });
});

describe('a stranger', () => {
  it('attack 125: without TLS, or without the secret, is refused', async () => {
    const { dispatcher, port, text } = await startDispatcher(1);
    const plain = connectPlain(port, '127.0.0.1').on('error', () => undefined);
    plain.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    await once(plain, 'close');
    const withoutSecret = connect({ host: '127.0.0.1', port, minVersion: 'TLSv1.3', rejectUnauthorized: false });
    const [error] = await once(withoutSecret, 'error');
    expect(error.code).toMatch(/^ERR_SSL/);
    const otherProtocol = connect({ host: '127.0.0.1', port, ...clientTls(SECRET), ALPNProtocols: ['http/1.1'] });
    await once(otherProtocol, 'error');
    const noProtocol = connect({ host: '127.0.0.1', port, ...clientTls(SECRET), ALPNProtocols: [] });
    await once(noProtocol.on('error', () => undefined).resume(), 'close');
    await expect.poll(() => text().match(/before it was authenticated/g)).toHaveLength(4);
    expect(dispatcher.connected()).toBe(0);
  });

  it('attack 125: holds no place that a key server needs, with many connections from many addresses', async () => {
    const { dispatcher, port } = await startDispatcher(1);
    const held = Array.from({ length: 300 }, (_, index) =>
      connectPlain({ port, host: '127.0.0.1', localAddress: `127.0.1.${index % 60}` }).on('error', () => undefined),
    );
    endings.push(() => held.map((socket) => socket.destroy()));
    await Promise.all(held.map((socket) => once(socket, 'connect')));
    await connectedMember(dispatcher, 1);
    await expect.poll(() => held.filter(({ destroyed }) => !destroyed)).toHaveLength(127);
    const own = Array.from({ length: 20 }, () => connectPlain(port, '127.0.0.1').on('error', () => undefined));
    endings.push(() => own.map((socket) => socket.destroy()));
    await expect.poll(() => own.filter(({ destroyed }) => !destroyed)).toHaveLength(8);
    expect(dispatcher.connected()).toBe(1);
  });

  it('attack 125: a false dispatcher with a certificate gets nothing', async () => {
    const folder = temporaryFolder();
    const { key, cert } = await makeCertificate(folder, ['IP:127.0.0.1']);
    const received: string[] = [];
    const server = createServer({ key, cert, ALPNProtocols: ['h2'] }, (socket) =>
      socket.on('error', () => undefined).on('data', (data) => received.push(data.toString())),
    );
    await once(server.on('tlsClientError', () => undefined).listen(0, '127.0.0.1'), 'listening');
    endings.push(() => server.close());
    const { member, text } = startMember((server.address() as { port: number }).port, 1);
    await expect.poll(text).toContain('the dispatcher is lost');
    const { hash, ...asked } = await work();
    expect(await hashed(member, 'a', asked)).toEqual(hash);
    expect([member.connected(), received]).toEqual([0, []]);
  });
});

describe('attack 125: what does not fit, from one who knows the secret', () => {
  const hash = Buffer.alloc(32).toString('base64url');
  const salt = Buffer.alloc(16).toString('base64url');
  const ask = (change: object = {}, cost: object = CHEAP) =>
    JSON.stringify({ address: 'a', work: { typed: 'x', cost, salt }, ...change });
  const join = (slots = 1): [string, string] => ['/join', JSON.stringify({ slots })];

  it.each<readonly [string, (readonly [string, string | Buffer])[]]>([
    ['another path', [['/', '{}']]],
    ['no JSON', [['/hash', 'hash me']]],
    ['no UTF-8', [['/hash', Buffer.from(ask().replace('x', 'ÿ'), 'latin1')]]],
    ['a message that is too long', [['/hash', ask({ address: 'a'.repeat(LONGEST_MESSAGE) })]]],
    ['an address that is too long', [['/hash', ask({ address: 'a'.repeat(65) })]]],
    ['another member', [['/hash', ask({ more: 1 })]]],
    ['too much memory', [['/hash', ask({}, { ...CHEAP, memory: 262_145 })]]],
    ['a salt of another length', [['/hash', ask({ work: { typed: 'x', cost: CHEAP, salt: hash } })]]],
    ['too many slots', [join(1025)]],
    ['joining twice', [join(), join()]],
    ['work without joining', [['/work', JSON.stringify({ slot: 0 })]]],
    ['work at a slot that is not there', [join(), ['/work', JSON.stringify({ slot: 1 })]]],
    ['a hash that was not asked for', [join(), ['/work', JSON.stringify({ slot: 0, hash })]]],
    ['waiting twice at one slot', [join(), ...Array(2).fill(['/work', JSON.stringify({ slot: 0 })])]],
  ])('%s: the connection ends', async (_, messages) => {
    const { dispatcher, port, text } = await startDispatcher(1);
    const session = sessionAt(port);
    const closed = once(session, 'close');
    for (const [path, message] of messages) {
      const stream = send(session, path, message);
      if (path === '/join') await Promise.race([once(stream, 'response'), closed]);
    }
    await closed;
    await expect.poll(() => dispatcher.connected()).toBe(0);
    expect(text()).toContain('it sent what does not fit');
    const { hash: expected, ...asked } = await work();
    expect(await hashed(dispatcher, 'a', asked)).toEqual(expected);
  });

  it('a work of a dispatcher that asks too much is not done', async () => {
    const server = createSecureServer(serverTls(SECRET), (request, response) => {
      response.statusCode = request.url === '/join' ? 204 : 200;
      response.end(
        request.url === '/join' ? '' : JSON.stringify({ work: { typed: 'x', cost: { ...CHEAP, passes: 11 }, salt } }),
      );
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    endings.push(() => server.close());
    const { member, text } = startMember((server.address() as { port: number }).port, 1);
    await expect.poll(text).toContain('it sent what does not fit');
    expect(member.counts()['for-dispatcher']).toBe(0);
  });
});
