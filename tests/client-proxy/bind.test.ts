import { createServer as createSecureServer } from 'node:https';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type BindOptions,
  bindSite,
  type ConnectionRequest,
  type ConnectTo,
  parseConnectTo,
  type RunningProxy,
  startProxy,
} from '../../client-proxy/index.ts';
import { storeOptions } from '../../client-proxy/store/locations.ts';
import { ReaderStore } from '../../client-proxy/store/store.ts';
import { utf8 } from '../../core/encoding/bytes.ts';
import { hostProofLine } from '../../core/keys/descriptor.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { secondsLater } from '../support/afterwards.ts';
import { makeCertificate, type TestCertificate } from '../support/certificates.ts';
import { type ContentHost, closeServer, listenOnLoopback, startContentHost } from '../support/content-host.ts';
import { type DnsServer, startDnsServer } from '../support/dns-server.ts';
import { fillDisk } from '../support/full-disk.ts';
import { HostileKeyServer } from '../support/hostile-key-server.ts';
import { send } from '../support/http-client.ts';
import { CleanUp, storageIn, temporaryFolder } from '../support/reader-rig.ts';
import { TestPublisher } from '../support/test-publisher.ts';

const cleanUp = new CleanUp();
const certificates = new CleanUp();
let certificate: TestCertificate;
let storage: ReturnType<typeof storageIn>;
let publisher: TestPublisher;
let keyServer: HostileKeyServer;
let dns: DnsServer;
/** Content host of the publisher, with its publication. */
let host: ContentHost;

beforeAll(async () => {
  const names = ['DNS:news.example', 'DNS:second.example', 'DNS:keys.example', 'IP:127.0.0.1'];
  certificate = await makeCertificate(await temporaryFolder(certificates), names);
  const authorities = getCACertificates('default');
  setDefaultCACertificates([]); // a hundred, read anew for every connection of a Reader that trusts one more
  return () => {
    setDefaultCACertificates(authorities);
    return certificates.run();
  };
});
beforeEach(async () => {
  storage = storageIn(await temporaryFolder(cleanUp));
  publisher = await TestPublisher.create();
  keyServer = cleanUp.use(await HostileKeyServer.start(publisher, { tls: certificate }));
  dns = cleanUp.use(await startDnsServer());
  host = cleanUp.use(await startContentHost());
  await publisher.sign(host.files);
});
afterEach(() => cleanUp.run());

/** Nothing answers on port 443 of any host, unless a test says otherwise. */
const bind = async ({ connectTo = [], ...options }: Partial<BindOptions> = {}) =>
  bindSite({
    ...storage,
    link: await keyServer.invite(),
    ca: certificate.ca,
    dnsServers: [dns.address],
    connectTo: [...connectTo, ...[':443:127.0.0.1:9', `:80:127.0.0.1:${host.port}`].map(parseConnectTo)],
    ...options,
  });

/** Starts another publisher, by default of the same site, with a key server and a content host of its own. */
async function startRival(site = 'news.example') {
  const rival = await TestPublisher.create(site);
  const server = cleanUp.use(await HostileKeyServer.start(rival, { tls: certificate }));
  const content = cleanUp.use(await startContentHost());
  await rival.sign(content.files);
  return { server, connectTo: [parseConnectTo(`:80:127.0.0.1:${content.port}`)] };
}

/** Lets key server and publication name this descriptor. */
async function show(descriptor: Uint8Array): Promise<void> {
  keyServer.descriptor = descriptor;
  publisher.setDescriptor(descriptor);
  await publisher.sign(host.files);
}

/** Serves `/.well-known/wispr-site` over HTTPS. @param answer - the file, or a status without one */
async function startProofHost(answer: string | number, location = ''): Promise<ConnectTo[]> {
  const server = createSecureServer(certificate, (request, response) => {
    if (typeof answer === 'number') response.writeHead(answer, { location }).end();
    else if (request.url === '/.well-known/wispr-site') response.end(answer);
    else response.writeHead(404).end();
  });
  const port = await listenOnLoopback(server);
  cleanUp.add(() => closeServer(server));
  return port443(port);
}

const port443 = (port: number) => [parseConnectTo(`:443:127.0.0.1:${port}`)];
const proofLine = () => hostProofLine(publisher.root.id);
const OTHER_LINE = `wispr/1 root=${'A'.repeat(43)}`;
const trustSites = ['news.example'];

/** Nothing is connected, and no code is used up. */
async function expectNothing(): Promise<void> {
  expect([await connectedSites(), keyServer.bodies]).toEqual([[], []]);
}

/** Confirms these sites. @returns also every question */
function confirming(...sites: string[]) {
  const asked: ConnectionRequest[] = [];
  const confirm = async (request: ConnectionRequest) => {
    asked.push(request);
    return sites;
  };
  return { asked, confirm };
}

/** A Reader that runs on what was connected. */
async function startReader(content = host): Promise<RunningProxy> {
  const connectTo = [parseConnectTo(`:80:127.0.0.1:${content.port}`)];
  const proxy = cleanUp.use(await startProxy({ ...storage, port: 0, connectTo, ca: certificate.ca }));
  return proxy;
}

describe('a proof that the host belongs to the publisher', () => {
  it('may be a DNS TXT record, whole or in pieces', async () => {
    const line = proofLine();
    dns.records.set('_wispr.news.example', ['v=spf1 -all', [line.slice(0, 20), line.slice(20)]]);
    await bind();
    expect(dns.questions).toContain('_wispr.news.example');
  });

  it.each([
    ['names another publisher', () => `${OTHER_LINE}\n`],
    ['names it in the middle of a line', () => `see ${proofLine()}\n`],
    ['is too long', () => `${'x\n'.repeat(5000)}${proofLine()}\n`],
  ])('attack 70: a file that %s is refused, and so is a record', async (_, text) => {
    const connectTo = await startProofHost(text());
    await expect(bind({ connectTo })).rejects.toMatchObject({ code: 'host-proof' });
    dns.records.set('_wispr.news.example', [text().slice(0, 200)]);
    await expect(bind({ connectTo })).rejects.toMatchObject({ code: 'host-proof' });
    await expectNothing();
  });

  it('attack 70: a server that answers and cannot show to be the host is not called a lost connection', async () => {
    const other = await makeCertificate(await temporaryFolder(cleanUp), ['DNS:news.example']);
    const intercepting = createSecureServer({ key: other.key, cert: other.cert }, (_, response) => response.end());
    const port = await listenOnLoopback(intercepting);
    cleanUp.add(() => closeServer(intercepting));
    for (const answering of [port, host.port]) // the host speaks plain HTTP
      await expect(bind({ connectTo: port443(answering) })).rejects.toMatchObject({ code: 'host-proof' });
    await expectNothing();
  });

  it('attack 70: a redirect to where the proof is does not count', async () => {
    const connectTo = await startProofHost(302, 'https://127.0.0.1/');
    await expect(bind({ connectTo })).rejects.toMatchObject({ code: 'host-proof' });
  });

  it('attack 70: a host that names no publisher is refused; by hand it is believed', async () => {
    await expect(bind({ connectTo: await startProofHost(404) })).rejects.toMatchObject({ code: 'host-proof' });
    expect((await bind({ trustSites })).sites).toHaveLength(1);
  });

  it('attack 70: of two claimed hosts, one that does not name the publisher spoils both', async () => {
    dns.records.set('_wispr.news.example', [proofLine()]);
    keyServer.descriptor = publisher.descriptor(keyServer.origin, { sites: twoSites() });
    await expect(bind({ connectTo: await startProofHost('') })).rejects.toMatchObject({ code: 'host-proof' });
    expect(await connectedSites()).toEqual([]);
  });

  it('attack 70: a host that was not reached has said nothing, and is connected as little', async () => {
    await expect(bind()).rejects.toMatchObject({ code: 'host-unreachable' });
    await expectNothing();
    dns.records.set('_wispr.news.example', [OTHER_LINE]);
    await expect(bind()).rejects.toMatchObject({ code: 'host-proof' }); // records are the word of the host, too
  });

  it('attack 100: what the host says over HTTPS decides, whatever DNS answers', async () => {
    const rival = await startRival();
    dns.records.set('_wispr.news.example', [hostProofLine(rival.server.publisher.root.id)]);
    const link = await rival.server.invite();
    const connect = (proofHost: readonly ConnectTo[]) => bind({ link, connectTo: [...rival.connectTo, ...proofHost] });
    const genuine = await startProofHost(`# two lines\n${proofLine()}\n`);
    for (const answer of ['<h1>Welcome</h1>', 503, 403])
      await expect(connect(await startProofHost(answer))).rejects.toMatchObject({ code: 'host-proof' });
    for (const proofHost of [genuine, port443(host.port)]) // the second one speaks plain HTTP
      await expect(connect(proofHost)).rejects.toMatchObject({ code: 'host-proof' });
    const cutting = createServer((socket) => socket.resetAndDestroy()); // a network that blocks HTTPS does so
    cleanUp.add(() => new Promise((resolve) => cutting.close(resolve)));
    const cut = port443(await listenOnLoopback(cutting));
    await expect(connect(cut)).rejects.toMatchObject({ code: 'host-unreachable' });
    expect(dns.questions).toEqual([]);
    expect([rival.server.bodies, await connectedSites()]).toEqual([[], []]);
    const { asked, confirm } = confirming('news.example');
    await bind({ connectTo: genuine, confirm });
    expect(asked.map(({ sites }) => sites.map(({ proof }) => proof))).toEqual([['host']]);
  });

  it.each([404, 410])(
    'attack 100: where HTTPS answers %i, DNS alone counts, and that is said and kept',
    async (status) => {
      const proofs = async () => (await storedBindings()).flatMap(({ sites }) => sites.map(({ proof }) => proof));
      dns.records.set('_wispr.news.example', [proofLine()]);
      const { asked, confirm } = confirming('news.example');
      await bind({ connectTo: await startProofHost(status), confirm });
      expect([asked[0]?.sites.map(({ proof }) => proof), await proofs()]).toEqual([['dns'], ['dns']]);
      await bind({ connectTo: await startProofHost(proofLine()), link: keyServer.origin });
      expect(await proofs()).toEqual(['host']);
    },
  );
});

const BOTH = ['news.example', 'second.example'];
const twoSites = () => BOTH.map((site) => ({ site, content: [`http://${site}`], reading: `https://read.${site}` }));

describe('two bindings never share a host', () => {
  it('attack 70: a host bound to another publisher, or through another key server, is refused', async () => {
    await bind({ trustSites });
    for (const other of [await TestPublisher.create(), publisher]) {
      const server = cleanUp.use(await HostileKeyServer.start(other, { tls: certificate }));
      await expect(bind({ link: await server.invite(), trustSites })).rejects.toMatchObject({ code: 'site-taken' });
      expect(server.bodies).toHaveLength(0);
    }
    expect(await connectedSites()).toEqual(['news.example']);
  });

  it('attack 70: of two commands that connect the same host at once, one is refused, and changes nothing', async () => {
    const reader = await startReader();
    const rival = await startRival();
    let arrive: () => void = () => undefined;
    const bothLooked = new Promise<void>((resolve) => {
      let missing = 2;
      arrive = () => --missing === 0 && resolve();
    });
    // Commands wait here until both have seen that the host is free.
    const confirm = async ({ sites }: ConnectionRequest) => {
      arrive();
      await bothLooked;
      return sites.map(({ site }) => site);
    };
    const outcomes = await Promise.allSettled(
      [{ server: keyServer }, rival].map(async ({ server, ...reach }) =>
        bind({ link: await server.invite(), trustSites, confirm, ...reach }),
      ),
    );
    const refused = outcomes.filter((outcome) => outcome.status === 'rejected').map(({ reason }) => reason.code);
    expect(refused).toEqual(['site-taken']);
    await reader.close();
    const bindings = await storedBindings();
    const winner = outcomes[0]?.status === 'fulfilled' ? keyServer : rival.server;
    expect(bindings.map(({ descriptor, sites }) => [descriptor.keyServer, sites.map(({ site }) => site)])).toEqual([
      [winner.origin, ['news.example']],
    ]);
  });
});

describe('while the reader looks at what is shown', () => {
  it('attack 70: another publisher takes the host: that is seen before the code is sent', async () => {
    const { server: rival, connectTo } = await startRival();
    const confirm = async ({ sites }: ConnectionRequest) => {
      await bind({ link: await rival.invite(), trustSites, connectTo });
      return sites.map(({ site }) => site);
    };
    const reader = await startReader();
    await expect(bind({ trustSites, confirm })).rejects.toMatchObject({ code: 'site-taken' });
    expect(keyServer.bodies).toHaveLength(0);
    await reader.close();
    expect((await storedBindings()).map(({ descriptor }) => descriptor.keyServer)).toEqual([rival.origin]);
  });

  it('attack 71: a newer descriptor is accepted elsewhere: the older one does not take its place', async () => {
    await bind({ trustSites });
    const [now, sites, link] = [nowInSeconds(), twoSites(), keyServer.origin];
    const offer = (issued: number) => {
      keyServer.descriptor = publisher.descriptor(keyServer.origin, { sites, issued });
    };
    offer(now - 20);
    const confirm = async () => {
      offer(now - 10);
      await bind({ link, trustSites: BOTH, confirm: async () => ['second.example'] });
      return ['second.example'];
    };
    const asked = keyServer.bodies.length;
    const reader = await startReader();
    const older = bind({ link: await keyServer.invite(), trustSites: BOTH, confirm });
    await expect(older).rejects.toMatchObject({ code: 'key-server-answer' });
    expect(keyServer.bodies).toHaveLength(asked);
    await reader.close();
    expect((await storedBindings()).map(({ descriptor }) => descriptor.issued)).toEqual([now - 10]);
  });

  it('attack 71: the key server changes what it says: what was shown is what is connected', async () => {
    const confirm = async () => {
      keyServer.descriptor = publisher.descriptor(keyServer.origin, { sites: twoSites() });
      return BOTH;
    };
    await bind({ trustSites: BOTH, confirm });
    const shown = (await storedBindings()).map(({ descriptor }) => descriptor.sites.map(({ site }) => site));
    expect([shown, await connectedSites()]).toEqual([[['news.example']], ['news.example']]);
  });
});

describe('confirmation', () => {
  it('is asked for each site, and only confirmed ones are connected', async () => {
    keyServer.descriptor = publisher.descriptor(keyServer.origin, { sites: twoSites() });
    const { asked, confirm } = confirming('second.example', 'never-asked.example');
    const bound = await bind({ confirm, trustSites: BOTH });
    expect(bound.sites.map(({ site }) => site)).toEqual(['second.example']);
    expect(asked[0]?.sites.map(({ site, proof }) => [site, proof])).toEqual(
      BOTH.map((site) => [site, 'trusted-by-hand']),
    );
    expect(await connectedSites()).toEqual(['second.example']);
  });

  it('connects nothing where it is refused for all, and the code stays good', async () => {
    const link = await keyServer.invite();
    const refused = bind({ link, confirm: async () => [], trustSites });
    await expect(refused).rejects.toMatchObject({ code: 'argument-invalid' });
    expect(keyServer.bodies).toHaveLength(0);
    await bind({ link, trustSites });
  });

  it('attack 71: a later descriptor that adds a host leaves it inactive until the reader confirms it', async () => {
    await bind({ trustSites });
    keyServer.descriptor = publisher.descriptor(keyServer.origin, { sites: twoSites(), issued: nowInSeconds() });
    const link = keyServer.origin;
    await bind({ link, trustSites: BOTH, confirm: async () => [] });
    expect(await connectedSites()).toEqual(['news.example']);
    const { asked, confirm } = confirming('second.example');
    await bind({ link, trustSites: BOTH, confirm });
    expect(asked[0]?.sites.map(({ confirmed }) => confirmed)).toEqual([true, false]);
    expect(await connectedSites()).toEqual(BOTH);
    expect(keyServer.bodies).toHaveLength(1); // a single binding: the device key stays
  });
});

describe('a descriptor of a connected site', () => {
  const LIFE = 600;
  const connected = async (proxy: RunningProxy) => (await proxy.sites()).map(({ site }) => site);

  it('attack 71: is renewed by the running proxy when it expired, and the host that it adds is not served', async () => {
    const now = nowInSeconds();
    await show(publisher.descriptor(keyServer.origin, { issued: now - 60, expires: now + LIFE }));
    await bind({ trustSites });
    await publisher.publish(host.files, '/a.html', { content: 'read' });
    host.files.set('/a.html', utf8('unsigned'));
    const proxy = await startReader();
    keyServer.descriptor = publisher.descriptor(keyServer.origin, { sites: twoSites(), issued: now });
    await secondsLater(LIFE + 1, async () => {
      expect((await send(proxy.port, 'http://news.example/a.html')).text).toBe('read');
      expect((await send(proxy.port, 'http://second.example/a.html')).text).toBe('unsigned');
      expect(await connected(proxy)).toEqual(['news.example']);
    });
  });

  it('attack 71: is not used when it expired and cannot be renewed', async () => {
    const now = nowInSeconds();
    await show(publisher.descriptor(keyServer.origin, { issued: now - 60, expires: now + LIFE }));
    await bind({ trustSites });
    await publisher.publish(host.files, '/a.html', { content: 'not read' });
    const proxy = await startReader();
    await keyServer.close();
    await secondsLater(LIFE + 1, async () => {
      const { headers } = await send(proxy.port, 'http://news.example/a.html');
      expect(headers['wispr-refusal']).toBe('descriptor-expired');
    });
  });

  it('attack 71: is taken over from a publication, and the host that it adds is not served', async () => {
    await bind({ trustSites });
    const [before, after] = [await startContentHost(), await startContentHost()];
    for (const { close } of [before, after]) cleanUp.add(close);
    await publisher.publish(before.files, '/a.html', { content: 'read' });
    before.files.set('/b.html', utf8('unsigned'));
    const proxy = await startReader(before);
    const [news, second] = twoSites();
    if (!news || !second) throw new Error('two sites');
    const moved = { ...news, content: [after.origin], reading: 'https://new.news.example' };
    const descriptor = publisher.descriptor(keyServer.origin, { sites: [moved, second], issued: nowInSeconds() });
    publisher.setDescriptor(descriptor);
    await publisher.publish(before.files, '/gone.html', { content: 'gone' });
    for (const { files } of [before, after]) {
      await publisher.sign(files);
      files.delete(publisher.fileOf('/gone.html'));
    }
    await proxy.check();
    await before.close();
    const elsewhere = await send(proxy.port, 'http://news.example/gone.html');
    expect(elsewhere.text).toContain('href="https://new.news.example/gone.html"');
    expect((await send(proxy.port, 'http://news.example/a.html')).text).toBe('read');
    expect(await connected(proxy)).toEqual(['news.example']);
    expect((await send(proxy.port, 'http://second.example/')).headers['wispr-refusal']).toBe('host-unreachable');
  });

  it('changes nothing where the one in a publication is older, expired, or of others', async () => {
    const now = nowInSeconds();
    await bind({ trustSites });
    await publisher.publish(host.files, '/a.html', { content: 'read' });
    const proxy = await startReader();
    const stranger = await TestPublisher.create();
    const other = twoSites().slice(1);
    for (const descriptor of [
      publisher.descriptor(keyServer.origin, { sites: other, issued: now - 3600 }),
      publisher.descriptor(keyServer.origin, { sites: other, issued: now, expires: now - 1 }),
      publisher.descriptor('https://keys.example', { sites: other, issued: now }),
      stranger.descriptor(keyServer.origin, { sites: other, issued: now }),
      utf8('no descriptor at all'),
    ]) {
      publisher.setDescriptor(descriptor);
      await publisher.sign(host.files);
      await proxy.check();
      expect((await send(proxy.port, 'http://news.example/a.html')).text).toBe('read');
    }
  });

  it('leaves a site bound that it no longer names, and the site is refused', async () => {
    keyServer.descriptor = publisher.descriptor(keyServer.origin, { sites: twoSites() });
    await bind({ trustSites: BOTH });
    keyServer.descriptor = publisher.descriptor(keyServer.origin, { issued: nowInSeconds() });
    await bind({ link: keyServer.origin, trustSites });
    const proxy = await startReader();
    expect((await send(proxy.port, 'http://second.example/')).headers['wispr-refusal']).toBe('site-withdrawn');
  });
});

it('attack 70: a first root that is not the one that the descriptor names is refused', async () => {
  const stranger = await TestPublisher.create();
  host.files.clear();
  keyServer.metadata.set('/.well-known/wispr/1.root.json', stranger.root.bytes);
  await expect(bind({ trustSites })).rejects.toMatchObject({ code: 'root-unexpected' });
  keyServer.metadata.clear();
  await expect(bind({ trustSites })).rejects.toMatchObject({ code: 'metadata-missing' });
  await expectNothing(); // the code is still good
  await publisher.sign(host.files);
  await bind({ trustSites });
  expect(await connectedSites()).toEqual(['news.example']);
});

describe('the exchange', () => {
  it('uses a code once; what went wrong is told apart', async () => {
    const link = await keyServer.invite();
    await bind({ link, trustSites });
    const none = 'https://127.0.0.1:9#0000000000000000';
    for (const [options, code] of [
      [{ link }, 'code-refused'],
      [{ link: `${keyServer.origin}#not-a-code` }, 'code-refused'],
      [{ link: none }, 'key-server-unreachable'],
      [{ ca: undefined as never }, 'key-server-certificate'],
      [{ link: 'http://keys.example#0000000000000000' }, 'link-malformed'],
      [{ link: 'keys.example' }, 'link-malformed'],
      [{ link: 'https://keys.example/path#0000000000000000' }, 'link-malformed'],
      [{ link: 'javascript:alert(1)' }, 'link-malformed'],
      [{ link: 'wispr bind' }, 'link-malformed'],
      [{ link: 'wispr bind news.example' }, 'link-malformed'],
      [{ link: `see ${link}` }, 'link-malformed'],
      [{ link: 'https://read.example/-/join?mail=1' }, 'link-malformed'],
      [{ link: 'https://read.example/?mail=1#0000000000000000' }, 'link-malformed'],
    ] as const)
      await expect(bind({ trustSites, ...options }), JSON.stringify(options)).rejects.toMatchObject({ code });
  });

  it('without a code wants an earlier binding', async () => {
    await expect(bind({ link: keyServer.origin, trustSites })).rejects.toMatchObject({ code: 'link-malformed' });
  });

  it('refuses a descriptor that is forged, expired, older, or of another key server', async () => {
    const now = nowInSeconds();
    const good = Buffer.from(keyServer.descriptor).toString();
    keyServer.descriptor = utf8(good.replace('The Morning Paper', 'The Evening Paper'));
    await expect(bind({ trustSites })).rejects.toMatchObject({ code: 'descriptor-malformed' });
    keyServer.descriptor = publisher.descriptor(keyServer.origin, { expires: now - 1 });
    await expect(bind({ trustSites })).rejects.toMatchObject({ code: 'descriptor-expired' });
    keyServer.descriptor = publisher.descriptor('https://keys.example');
    await expect(bind({ trustSites })).rejects.toMatchObject({ code: 'key-server-answer' });
    keyServer.descriptor = utf8(good);
    await bind({ trustSites });
    keyServer.descriptor = publisher.descriptor(keyServer.origin, { issued: now - 3600 });
    await expect(bind({ trustSites })).rejects.toMatchObject({ code: 'key-server-answer' });
    expect(keyServer.bodies).toHaveLength(1);
  });
});

/** Reads the bindings that a proxy that starts now has. */
async function storedBindings() {
  const store = await ReaderStore.open({ directory: storage.dataDirectory, keyFile: storage.keyFile });
  try {
    return await store.bindings();
  } finally {
    store.close();
  }
}

async function connectedSites(): Promise<string[]> {
  const proxy = await startProxy({ ...storage, port: 0 });
  try {
    return (await proxy.sites()).map(({ site }) => site);
  } finally {
    await proxy.close();
  }
}

it('uses up no invitation on a full disk, and leaves what cannot be taken away again to the next run', async () => {
  const options = { link: await keyServer.invite(), trustSites };
  const store = await ReaderStore.open(storeOptions(storage));
  await store.deviceSeed(); // the store was connected with another publisher
  store.close();
  const disk = fillDisk(storage.dataDirectory);
  cleanUp.add(async () => disk.makeRoom());
  for (const transactions of [0, 1]) {
    disk.letThrough(transactions);
    await expect(bind(options)).rejects.toMatchObject({ code: 'disk-full' });
  }
  expect(keyServer.bodies).toEqual([]);
  disk.makeRoom();
  expect(rowsOfStorage()).toContain('room');
  expect((await bind(options)).sites.map(({ site }) => site)).toEqual(['news.example']);
  expect(rowsOfStorage()).not.toContain('room');
});

function rowsOfStorage(): unknown[] {
  const database = new DatabaseSync(join(storage.dataDirectory, 'reader.db'));
  const names = database.prepare('SELECT name FROM storage').all();
  database.close();
  return names.map(({ name }) => name);
}
