import { cpSync, readFileSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { createServer, request as httpsRequest, type RequestOptions } from 'node:https';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { KeyServerConfig } from '../../keyserver/config/config.ts';
import { currentTicketKey, followTicketKey, TICKET_KEY_LIFETIME } from '../../keyserver/http/ticket-keys.ts';
import { inviteSubscriber } from '../../keyserver/readers/invitations.ts';
import { startKeyServer } from '../../keyserver/server.ts';
import { cutConnection, rememberConnections } from '../../node-support/plain-sockets.ts';
import { makeSelfSigned } from '../support/certificates.ts';
import { connectBy, sessionBy } from '../support/cluster.ts';
import { closeServer, listenOnLoopback } from '../support/content-host.ts';
import { forFile } from '../support/for-file.ts';
import { configIn, listen, logged, temporaryFolder } from '../support/keyserver-rig.ts';

const KEYS = 'keys.news.example';
const READ = 'read.news.example';
const PAGES = 'pages.news.example';
const folder = temporaryFolder();
beforeAll(async () => {
  for (const host of [KEYS, READ, PAGES]) await makeSelfSigned(join(folder, host), host);
  const past = { notBefore: new Date('2020-01-01'), notAfter: new Date('2021-01-01') };
  await makeSelfSigned(join(folder, 'expired'), KEYS, past);
});

function files(name: string) {
  return { certificate: join(folder, name, 'cert.pem'), key: join(folder, name, 'key.pem') };
}

function configure(changes: Partial<KeyServerConfig> = {}): KeyServerConfig {
  const documents = { origin: `https://${PAGES}`, listen, tls: files(PAGES) };
  const reading = { origin: `https://${READ}`, listen, tls: files(READ), documents };
  return { ...configIn(folder), dev: false, origin: `https://${KEYS}`, tls: files(KEYS), reading, ...changes };
}

async function start(changes?: Partial<KeyServerConfig>) {
  const { log, text } = logged();
  const limits = { bindingsPerAddress: 1 };
  const server = await startKeyServer(configure(changes), { log, limits, renewalInterval: 50 });
  return { ...server, log: text };
}

async function startForTest(changes?: Partial<KeyServerConfig>) {
  const server = await start(changes);
  onTestFinished(server.close);
  return server;
}

const the = forFile(() => start());

function wayTo(host: string, port: number) {
  return { host: '127.0.0.1', port, ca: readFileSync(files(host).certificate, 'utf8') };
}

function get(host: string, port: number, options: RequestOptions = {}, body = ''): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const all = { ...wayTo(host, port), servername: host, headers: { host }, agent: false, ...options };
    httpsRequest(all, (response) => resolve(response.resume()))
      .on('error', reject)
      .end(body);
  });
}

async function isResumed(host: string, port: number, session: Buffer): Promise<boolean> {
  const socket = await connectBy(wayTo(host, port), host, { session });
  const answer = socket.isSessionReused();
  socket.destroy();
  return answer;
}

describe('with certificates', () => {
  it('speaks TLS 1.3, with post-quantum key agreement, on all listeners', async () => {
    const { keyServer: keys, reading: read, documents } = the.ports;
    const urls = [the.url, the.readingUrl, the.documentsUrl];
    expect(urls).toEqual([`https://${KEYS}`, `https://${READ}`, `https://${PAGES}`]);
    const api = await get(KEYS, keys, { path: '/.well-known/wispr-provider', ecdhCurve: 'X25519MLKEM768' });
    expect(api.statusCode).toBe(404);
    expect((api.socket as TLSSocket).getProtocol()).toBe('TLSv1.3');
    expect(api.headers['strict-transport-security']).toContain('max-age=');
    const reading = await get(READ, read, { path: '/-/sign-in', ecdhCurve: 'X25519' });
    expect(reading.statusCode).toBe(200);
    expect((await get(PAGES, documents, { path: '/-/style.css' })).statusCode).toBe(200);
    await expect(get(KEYS, keys, { maxVersion: 'TLSv1.2' })).rejects.toThrow(/protocol version|handshake/i);
  });

  it('attack 61: answers under its own host only', async () => {
    const { keyServer: keys, reading: read, documents } = the.ports;
    expect((await get(PAGES, documents, { path: '/', headers: { host: READ } })).statusCode).toBe(421);
    expect((await get(KEYS, keys, { headers: { host: 'evil.example' } })).statusCode).toBe(421);
    for (const [host, status] of [
      ['evil.example', 421],
      [`${READ.toUpperCase()}:443`, 200],
      [`${READ}:80`, 421],
    ] as const)
      expect((await get(READ, read, { path: '/-/sign-in', headers: { host } })).statusCode).toBe(status);
    await vi.waitFor(() => expect(the.log()).toContain('"status":421,"ms":'));
    expect(the.log()).toContain('"host":"evil.example"');
  });

  it('sets cookies that no script reads and only this host can have set; the mark of a known browser for a year', async () => {
    const send = (path: string, more: Record<string, string>, body = '') => {
      const headers = { host: READ, origin: `https://${READ}`, ...more };
      return get(READ, the.ports.reading, { path, method: 'POST', headers }, body);
    };
    const left = await send('/-/sign-out', { cookie: 'wispr=x' });
    expect(left.statusCode).toBe(200);
    expect(left.headers['set-cookie']?.[0]).toMatch(
      /^__Host-wispr=; Path=\/; Expires=.*; HttpOnly; Secure; SameSite=Lax$/,
    );
    const { code } = await inviteSubscriber(the.state, { name: 'anna' });
    const body = new URLSearchParams({ code, password: 'correct horse battery' }).toString();
    const joined = await send('/-/join', { 'content-type': 'application/x-www-form-urlencoded' }, body);
    expect(joined.statusCode).toBe(303);
    expect(joined.headers['set-cookie']?.[1]).toMatch(
      /^__Host-wispr-known=[\w-]{70}; Max-Age=31536000; Path=\/; Expires=.*; HttpOnly; Secure; SameSite=Lax$/,
    );
  });

  it('goes on with a TLS session at another key server of the same database, and at no other origin', async () => {
    const other = await startForTest();
    const { keyServer: here } = the.ports;
    const { keyServer: there, reading: read } = other.ports;
    const session = await sessionBy(wayTo(KEYS, here), KEYS);
    expect(await isResumed(KEYS, here, session)).toBe(true);
    expect(await isResumed(KEYS, there, session)).toBe(true);
    expect(await isResumed(READ, read, session)).toBe(false);
    await other.reload();
    expect(await isResumed(KEYS, there, session)).toBe(true);
    const { database, vault, now } = the.state;
    const key = await currentTicketKey(the.state);
    await database.run('UPDATE ticket_key SET made = ?', now() - TICKET_KEY_LIFETIME);
    const made = await Promise.all([currentTicketKey(the.state), currentTicketKey(other.state)]);
    expect(made[0]).toEqual(made[1]);
    expect(made[0]).not.toEqual(key);
    expect(await isResumed(KEYS, there, session)).toBe(true); // follows within a minute
    const sealed = await database.first<{ sealed: Uint8Array }>('SELECT sealed FROM ticket_key');
    const place = { table: 'ticket_key', row: '1', keyId: 'ticket-key' };
    expect(await vault.tryOpen(place, sealed?.sealed ?? new Uint8Array())).toEqual(made[0]);
  });

  it('keeps the ticket key while the database cannot be reached', async () => {
    const used: Uint8Array[] = [];
    const { log, text: said } = logged();
    const database = { ...the.state.database, first: () => Promise.reject(new Error('gone')) };
    await (await followTicketKey({ ...the.state, database }, log, (key) => void used.push(key)))();
    expect(used).toEqual([]);
    expect(said()).toContain('stays as it was');
  });

  it('reads a renewed certificate without a restart', async () => {
    const renewed = files('renewed');
    await makeSelfSigned(join(folder, 'renewed'), KEYS);
    const { ports, reload } = await startForTest({ tls: renewed });
    const before = readFileSync(renewed.certificate);
    await get(KEYS, ports.keyServer, { ca: before });
    await makeSelfSigned(join(folder, 'renewed'), KEYS);
    await reload();
    await get(KEYS, ports.keyServer, { ca: readFileSync(renewed.certificate) });
    await expect(get(KEYS, ports.keyServer, { ca: before })).rejects.toThrow(/certificate/);
  });
});

it('starts with an expired certificate, which clients refuse and the log names, and takes a good one', async () => {
  const late = files('late');
  cpSync(join(folder, 'expired'), join(folder, 'late'), { recursive: true });
  const { ports, log } = await startForTest({ tls: late });
  expect((await get(READ, ports.reading, { path: '/-/sign-in' })).statusCode).toBe(200);
  await expect(get(KEYS, ports.keyServer, { ca: readFileSync(late.certificate) })).rejects.toThrow(/expired/);
  expect(log()).toContain('the certificate has expired');
  await makeSelfSigned(join(folder, 'late'), KEYS);
  const ca = readFileSync(late.certificate);
  await vi.waitFor(() => get(KEYS, ports.keyServer, { ca }), 10_000);
  cpSync(join(folder, 'expired'), join(folder, 'late'), { recursive: true });
  const stays = /late\/cert.pem has expired","msg":"the certificate stays as it was/;
  await vi.waitFor(() => expect(log()).toMatch(stays), 10_000);
  await get(KEYS, ports.keyServer, { ca });
});

it('attack 9: a connection that is cut over TLS does not look like the end of a document', async () => {
  const { certificate, key } = files(KEYS);
  const server = createServer({ cert: readFileSync(certificate), key: readFileSync(key) });
  rememberConnections(server);
  server.on('request', ({ url }, response) => {
    response.write('half a document', () => (url === '/cut' ? cutConnection(response.socket) : response.end()));
  });
  const port = await listenOnLoopback(server);
  const ask = (path: string) =>
    new Promise((resolve) => {
      const socket = connect({ ...wayTo(KEYS, port), servername: KEYS });
      socket.write(`GET ${path} HTTP/1.0\r\n\r\n`);
      socket.resume().once('end', () => resolve('end'));
      socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code));
    });
  expect([await ask('/cut'), await ask('/')]).toEqual(['ECONNRESET', 'end']);
  await closeServer(server);
});

it('refuses a certificate that is missing, of another host or of another key, and what is none', async () => {
  const mixed = { certificate: files(KEYS).certificate, key: files(READ).key };
  const swapped = { certificate: files(KEYS).key, key: files(KEYS).certificate };
  for (const tls of [files('none'), files(READ), mixed, swapped])
    await expect(startKeyServer(configure({ tls }))).rejects.toMatchObject({ code: 'configuration-invalid' });
});

it('behind a proxy, counts attempts by the address that the proxy names; others cannot connect', async () => {
  const documents = { origin: `https://${PAGES}`, listen };
  const reading = { origin: `https://${READ}`, listen, documents };
  const trustedProxies = ['127.0.0.1', '192.0.2.128/25'];
  const { ports } = await startForTest({ tls: undefined, trustedProxies, reading });
  const ask = (address: string, localAddress = '127.0.0.1') =>
    new Promise((resolve, reject) => {
      const headers = { host: KEYS, 'x-forwarded-for': `198.51.100.99, ${address}` };
      httpRequest(
        { host: '127.0.0.1', localAddress, port: ports.keyServer, path: '/v1/bindings', method: 'POST', headers },
        (response) => resolve(response.resume().statusCode),
      )
        .on('error', reject)
        .end('{}');
    });
  expect([await ask('192.0.2.1'), await ask('192.0.2.1'), await ask('192.0.2.2')]).toEqual([400, 429, 400]);
  expect(await ask('192.0.2.1, 192.0.2.200')).toBe(429); // the last that is no proxy
  await expect(ask('192.0.2.3', '127.0.0.2')).rejects.toThrow(/hang up|ECONNRESET/);
});
