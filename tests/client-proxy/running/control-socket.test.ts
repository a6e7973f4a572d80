/** The socket of a Reader: its place, its bounds, and what becomes of those who stay connected. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LIMITS } from '../../../client-proxy/limits.ts';
import { ControlSocket } from '../../../client-proxy/running/control-socket.ts';
import { readLine } from '../../../client-proxy/running/lines.ts';
import { serveRequests } from '../../../client-proxy/running/serve-requests.ts';
import { isOwnSocket, makeSocketFolder, socketOf, socketsOf } from '../../../client-proxy/running/socket-place.ts';

let runtime: string;
let path: string;
const open = new Set<{ destroy(): unknown } | { close(): unknown }>();
beforeEach(() => {
  runtime = mkdtempSync(join(tmpdir(), 'wispr-run-'));
  path = socketOf('/data', 'a', { XDG_RUNTIME_DIR: runtime });
});
afterEach(async () => {
  for (const one of open) await ('close' in one ? one.close() : one.destroy());
  open.clear();
  rmSync(runtime, { recursive: true, force: true });
});

const url = 'http://127.0.0.1:8001';
const reader = {
  url,
  status: () => Promise.reject(new Error('not asked')),
  lock: { isLocked: true, lock: async () => undefined, unlock: async () => undefined },
};

async function serve(): Promise<ControlSocket> {
  const control = await serveRequests(path, reader);
  open.add(control);
  return control;
}

/** One that stays connected whatever the other side does. */
async function peer(): Promise<Socket> {
  const socket = connect({ path, allowHalfOpen: true });
  open.add(socket);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

async function answered(socket: Socket): Promise<unknown> {
  socket.write('{"do":"lock"}\n');
  return JSON.parse(await readLine(socket, { timeout: 10_000, length: 1000 }));
}

describe('the place', () => {
  it('is a folder of its own, for its user alone', async () => {
    const control = await serve();
    expect([control.problem, existsSync(path), isOwnSocket(path)]).toEqual([undefined, true, true]);
    expect(socketsOf('/data', { XDG_RUNTIME_DIR: runtime })).toEqual([path]);
  });

  it.each([0o777, 0o750, 0o701])('is not one that others can get at (%o), and that is said', async (mode) => {
    mkdirSync(dirname(path));
    chmodSync(dirname(path), mode);
    const control = await serve();
    expect(control.problem).toContain(dirname(path));
    expect([existsSync(path), isOwnSocket(path), makeSocketFolder(path)]).toEqual([false, false, false]);
    const server = createServer().listen(path); // of whoever could enter it
    open.add(server);
    await once(server, 'listening');
    expect(socketsOf('/data', { XDG_RUNTIME_DIR: runtime })).toEqual([]);
  });

  it("is not another user's", () => {
    let foreign = '/root';
    if (process.getuid?.() === 0) {
      foreign = dirname(path);
      mkdirSync(foreign, { mode: 0o700 });
      chownSync(foreign, 1, 1);
    }
    expect(isOwnSocket(join(foreign, 'x.sock'))).toBe(false);
    expect(makeSocketFolder(join(foreign, 'x.sock'))).toBe(false);
  });

  it('is not where a link leads', () => {
    mkdirSync(join(runtime, 'elsewhere'), { mode: 0o700 });
    symlinkSync(join(runtime, 'elsewhere'), dirname(path));
    expect([isOwnSocket(path), makeSocketFolder(path)]).toEqual([false, false]);
  });

  it('is made again where it vanished, and where it was not right before', async () => {
    const control = await serve();
    rmSync(dirname(path), { recursive: true });
    await control.lookAfter();
    expect(await answered(await peer())).toEqual({ url, locked: true });
    rmSync(dirname(path), { recursive: true });
    mkdirSync(dirname(path));
    chmodSync(dirname(path), 0o777);
    await control.lookAfter();
    expect([control.problem === undefined, readdirSync(dirname(path))]).toEqual([false, []]);
    chmodSync(dirname(path), 0o700);
    await control.lookAfter();
    expect([control.problem, await answered(await peer())]).toEqual([undefined, { url, locked: true }]);
  });

  it('is left alone while the socket is there', async () => {
    const control = await serve();
    const waiting = await peer();
    await control.lookAfter();
    expect(await answered(waiting)).toEqual({ url, locked: true });
  });
});

describe('a line', () => {
  const line = async (limits: { timeout: number; length: number }, ...parts: string[]) => {
    const server = createServer();
    open.add(server);
    const place = join(mkdtempSync(join(runtime, 'line-')), 's');
    await once(server.listen(place), 'listening');
    const sender = connect(place);
    open.add(sender);
    const [receiver] = (await once(server, 'connection')) as [Socket];
    open.add(receiver);
    receiver.on('error', () => undefined);
    for (const part of parts) sender.write(part);
    const outcome = await readLine(receiver, limits).catch((error: Error) => error);
    const listeners = receiver.listenerCount('data') + receiver.listenerCount('close');
    return { outcome, isPaused: receiver.isPaused(), listeners };
  };
  const settled = { isPaused: true, listeners: 0 };

  it('is read, and nothing after it', async () => {
    expect(await line({ timeout: 10_000, length: 10 }, 'abc\nde')).toEqual({ outcome: 'abc', ...settled });
  });

  it('has a length', async () => {
    expect(await line({ timeout: 10_000, length: 10 }, 'x'.repeat(11))).toEqual({
      outcome: expect.any(Error),
      ...settled,
    });
    expect(await line({ timeout: 10_000, length: 10 }, `${'x'.repeat(11)}\n`)).toMatchObject({
      outcome: expect.any(Error),
    });
  });

  it('has a time', async () => {
    expect(await line({ timeout: 20, length: 10 }, 'abc')).toEqual({ outcome: expect.any(Error), ...settled });
  });
});

describe('a socket', () => {
  it('that was to be made when the Reader stopped is not there', async () => {
    const control = new ControlSocket(path, (socket) => socket.end());
    const opening = control.open();
    await control.close();
    await opening;
    await expect.poll(() => readdirSync(dirname(path))).toEqual([]);
    expect(control.problem).toBeDefined();
  });

  it('outlives every error that the system tells of, the second as well', async () => {
    const servers: Server[] = [];
    const note = (message: unknown) => servers.push((message as { server: Server }).server);
    subscribe('tracing:net.server.listen:asyncStart', note);
    await serve();
    unsubscribe('tracing:net.server.listen:asyncStart', note);
    for (let count = 0; count < 2; count++) servers[0]?.emit('error', new Error('too many open files'));
    expect([servers.length, await answered(await peer())]).toEqual([1, { url, locked: true }]);
  });
});

describe('a connection', () => {
  it('has the length of a request', async () => {
    await serve();
    const socket = await peer();
    socket.write(JSON.stringify({ do: 'lock', more: 'x'.repeat(LIMITS.controlMessage) }).concat('\n'));
    expect(JSON.parse(await readLine(socket, { timeout: 10_000, length: 1000 }))).toMatchObject({ code: 'internal' });
  });

  it('ends with its answer, however much is still sent', async () => {
    await serve();
    const socket = await peer();
    expect(await answered(socket)).toEqual({ url, locked: true });
    const closed = new Promise((resolve) => socket.once('close', resolve));
    const timer = setInterval(() => socket.write(Buffer.alloc(1 << 20, 'x')), 1);
    await closed; // it would stay open, and fill memory
    clearInterval(timer);
    expect(socket.bytesWritten).toBeLessThan(1 << 30);
  });

  it('that was answered takes no place from others, whether its other side ends it or not', async () => {
    await serve();
    for (let count = 0; count < 2 * LIMITS.controlConnections; count++)
      expect(await answered(await peer())).toEqual({ url, locked: true });
  });

  // Less than what ends every connection, which would let these two come true as well.
  const { controlTimeout: timeout } = LIMITS;
  const atOnce = { timeout: timeout / 2 };

  it('is one of a few', atOnce, async () => {
    await serve();
    const first = await Promise.all(Array.from({ length: LIMITS.controlConnections }, peer));
    const further = await peer();
    await once(further.resume(), 'end');
    expect(first.some(({ readableEnded }) => readableEnded)).toBe(false);
    first[0]?.destroy();
    await expect.poll(async () => answered(await peer()).catch(() => undefined)).toEqual({ url, locked: true });
  });

  it('is not waited for when the Reader stops', atOnce, async () => {
    const control = await serve();
    const socket = await peer();
    const closed = once(socket.resume(), 'end');
    await control.close();
    await closed;
    expect(existsSync(path)).toBe(false);
  });

  it('whose other side takes nothing of its answer ends all the same', async () => {
    const before = { ...LIMITS };
    try {
      Object.assign(LIMITS, { controlTimeout: 200, controlConnections: 1 });
      const long = 'x'.repeat(1 << 22); // more than the system keeps for both
      const control = await serveRequests(path, { ...reader, status: () => Promise.resolve(long as never) });
      open.add(control);
      (await peer()).write('{"do":"status"}\n');
      await expect.poll(async () => answered(await peer()).catch(() => undefined)).toEqual({ url, locked: true });
    } finally {
      Object.assign(LIMITS, before);
    }
  });
});
