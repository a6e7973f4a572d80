/** `wispr proxy` as a process, and `wispr bind` with certificates; the rest is in scripts. */
import { readFileSync } from 'node:fs';
import tls from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FRUGAL_FLAGS } from '../../cli/start-frugally.ts';
import { hostProofLine } from '../../core/keys/descriptor.ts';
import { makeCertificate } from '../support/certificates.ts';
import { startDnsServer } from '../support/dns-server.ts';
import { HostileKeyServer } from '../support/hostile-key-server.ts';
import { send } from '../support/http-client.ts';
import { isInTheOneVoice, type ReaderHome, startReaderHome } from '../support/reader-home.ts';
import { CleanUp } from '../support/reader-rig.ts';
import { startWispr } from '../support/wispr.ts';

const cleanUp = new CleanUp();
let reader: ReaderHome;
beforeEach(async () => {
  reader = await startReaderHome(cleanUp);
});
afterEach(() => cleanUp.run());

describe('the process of wispr proxy', () => {
  it('is the one that was started, with small heaps, and ends at once on SIGINT, also while a request is under way', async () => {
    const { host } = reader;
    host.handlers.set('/never', () => undefined);
    const running = await reader.startProxy('--quiet');
    const started = (file: string) => readFileSync(`/proc/${running.pid}/${file}`, 'utf8').split('\0');
    expect(started('cmdline')).toEqual(expect.arrayContaining(FRUGAL_FLAGS));
    expect(started('environ')).toContain('MALLOC_ARENA_MAX=1');
    const port = Number(new URL(running.ready.proxy).port);
    const waiting = send(port, 'http://elsewhere.example/never').catch(() => undefined);
    await expect.poll(() => host.requests.length).toBe(1);
    const { code, stderr } = await running.stop('SIGINT');
    expect([code, stderr]).toEqual([0, '']);
    await waiting;
  });

  it('loads neither a compiler, once it has run, nor the fetch of Node.js, which would take 25 MiB and a tenth of a second', async () => {
    const tell = "process.on('exit',()=>console.error(process.moduleLoadList.join('\\n')))";
    const options = reader.atHome({ env: { NODE_OPTIONS: `--import=data:text/javascript,${tell}` } });
    const running = await startWispr(['proxy', '--port', '0', '--quiet'], options);
    const { stderr } = await running.stop();
    expect(stderr).toContain('NativeModule _http_server');
    expect(stderr.match(/internal\/deps\/(?:amaro|undici).*/g)).toBeNull();
  });
});

it('bind proves a host by DNS, and a key server by its certificate', async () => {
  const { publisher, host, connectTo } = reader;
  const certificate = await makeCertificate(reader.home, ['IP:127.0.0.1', 'DNS:news.example']);
  const secure = await HostileKeyServer.start(publisher, { tls: certificate });
  cleanUp.add(() => secure.close());
  await publisher.sign(host.files);
  const dns = await startDnsServer();
  cleanUp.add(dns.close);
  const bindAt = async (port: string) => {
    const proof = ['--dns-server', dns.address, '--connect-to', `:443:127.0.0.1:${port}`];
    const ended = await reader.run(['bind', `wispr bind ${await secure.invite()}`, '--yes', ...proof, ...connectTo]);
    expect(ended.code === 0 || isInTheOneVoice(ended.stderr), ended.stderr).toBe(true);
    return ended;
  };
  const { port } = new URL(secure.origin); // a server that answers, and knows nothing of a publisher
  expect(await bindAt(port)).toMatchObject({ code: 1, stderr: expect.stringContaining('certificate') });
  trust(certificate.caFile);
  expect(await bindAt('9')).toMatchObject({ code: 1, stderr: expect.stringContaining('[host-unreachable]') });
  const unproved = await bindAt(port);
  expect([unproved.code, unproved.stderr]).toEqual([1, expect.stringContaining('does not name this publisher')]);
  const [, hint = ''] = unproved.stderr.split('\nwispr: hint: ');
  for (const words of [
    'https://news.example/.well-known/wispr-site',
    '_wispr.news.example',
    '--trust-site news.example',
    hostProofLine(publisher.root.id),
  ])
    expect(hint).toContain(words);
  dns.records.set('_wispr.news.example', [hostProofLine(publisher.root.id)]);
  expect((await bindAt(port)).code).toBe(0);
});

/** Trusts a certificate as `NODE_EXTRA_CA_CERTS` does, until the test is over. */
function trust(caFile: string): void {
  const before = tls.getCACertificates('default');
  tls.setDefaultCACertificates([...before, readFileSync(caFile, 'utf8')]);
  cleanUp.add(async () => tls.setDefaultCACertificates(before));
}
