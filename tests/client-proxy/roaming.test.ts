/** Taking the identity along: docs/spec/roaming.md. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { randomBytes } from '#primitives';
import { describeIdentity } from '../../client-proxy/identity/manage.ts';
import {
  type ArrivingSite,
  type ConnectTo,
  exportIdentity,
  importIdentity,
  parseConnectTo,
} from '../../client-proxy/index.ts';
import { storeOptions } from '../../client-proxy/store/locations.ts';
import { ReaderStore } from '../../client-proxy/store/store.ts';
import { padmeLength } from '../../core/crypto/padding.ts';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { MESSAGE_LIMITS } from '../../core/keys/limits.ts';
import { ROAMING_SALT_LENGTH, readRoamingSalt } from '../../core/keys/roaming.ts';
import { PREFIX_LENGTH, plainChunkLengths, TAG_LENGTH } from '../../core/primitives/contract.ts';
import { makeRoamingCheap } from '../support/cheap-roaming.ts';
import { type ContentHost, flood, startContentHost } from '../support/content-host.ts';
import { startDnsServer } from '../support/dns-server.ts';
import { type Filled, type Filling, fillStore, secretsIn } from '../support/filled-store.ts';
import { startProvablePublisher } from '../support/provable-publisher.ts';
import { CleanUp, storageIn, temporaryFolder } from '../support/reader-rig.ts';
import { TestPublisher } from '../support/test-publisher.ts';

const cleanUp = new CleanUp();
beforeAll(() => makeRoamingCheap());
let folder: string;
let home: ReturnType<typeof storageIn>;
let away: ReturnType<typeof storageIn>;
let file: string;
let words: string;
let filled: Filled;
/** Rules that lead to the content hosts of all publishers. */
let reach: ConnectTo[];
beforeEach(async () => {
  reach = [];
  folder = await temporaryFolder(cleanUp);
  home = storageIn(join(folder, 'home'));
  away = storageIn(join(folder, 'away'));
  file = join(folder, 'my.roaming');
  filled = await connectIn(home);
});
afterEach(() => cleanUp.run());

/** Connects with a publisher of its own, who can be proved. */
async function connectIn(storage: typeof home, site = 'news.example'): Promise<Filled> {
  const { publisher, server, connectTo } = await startProvablePublisher(cleanUp, site);
  reach.push(connectTo);
  return fillStore(storage, { site, publisher, keyServer: server.origin });
}

/** Writes the file; remembers new words. */
async function leave(options: { to?: string; newWords?: boolean; from?: typeof home } = {}) {
  const { to = file, newWords = false, from = home } = options;
  const showWords = async (shown: string) => {
    words = shown;
  };
  return exportIdentity({ ...from, to, newWords, showWords });
}

const arrive = ({ connectTo = [], ...changes }: Partial<Parameters<typeof importIdentity>[0]> = {}) =>
  importIdentity({
    ...away,
    from: file,
    words: async () => words,
    replace: false,
    acceptOlder: false,
    connectTo: [...reach, ...connectTo],
    trustSites: reach.flatMap(({ fromHost }) => fromHost ?? []),
    confirm: async (sites) => sites.map(({ site }) => site),
    ...changes,
  });

describe('a roaming file', () => {
  it('brings seed, bindings and sites to a new machine, also by its URL', async () => {
    expect(await leave()).toEqual({ number: 1, sites: ['news.example'], hasNewWords: true });
    const report = await arrive({ from: pathToFileURL(file).href });
    expect(report).toMatchObject({ number: 1, age: 'unknown', added: ['news.example'], taken: [], sameDevice: true });
    expect(await secretsIn(away)).toEqual(await secretsIn(home));
  });

  it('is written again under the same words, counted, with what was added; the words are shown once', async () => {
    await leave();
    const [first, given] = [readFileSync(file), words];
    await connectIn(home, 'second.example');
    words = 'not shown again';
    expect(await leave()).toMatchObject({ number: 2, hasNewWords: false });
    expect([words, readFileSync(file).equals(first)]).toEqual(['not shown again', false]);
    words = given;
    expect((await arrive()).added).toEqual(['news.example', 'second.example']);
  });

  it('shows neither how many bindings are in it, nor any secret, nor a name', async () => {
    const { seed, deviceKey } = filled;
    for (const more of [[], ['a.example', 'b.example', 'c.example']]) {
      for (const site of more) await fillStore(home, { site, keyServer: `https://keys.${site}` });
      await leave();
      const bytes = readFileSync(file);
      expect([bytes.length, bytes.includes('example'), statSync(file).mode & 0o777]).toEqual([16_504, false, 0o600]);
      for (const secret of [seed, deviceKey.key])
        for (const spelling of [Buffer.from(secret), toBase64url(secret)]) expect(bytes.includes(spelling)).toBe(false);
    }
  });

  it('is refused by other words or changed; cut, huge or none before anybody is asked for words; nothing is made of it', async () => {
    await leave();
    const good = readFileSync(file);
    const other = words.split(' ').reverse().join(' ');
    await expect(arrive({ words: async () => other })).rejects.toMatchObject({ code: 'roaming-unreadable' });
    const changed = Buffer.from(good);
    changed[2000] = (changed[2000] ?? 0) ^ 1;
    writeFileSync(file, changed);
    await expect(arrive()).rejects.toMatchObject({ code: 'roaming-unreadable' });
    const never = () => expect.unreachable();
    const none = [good.subarray(0, 9000), '', '<html>', Buffer.alloc(6_000_000, good)];
    for (const bytes of none) {
      writeFileSync(file, bytes);
      await expect(arrive({ words: never })).rejects.toMatchObject({ code: 'roaming-malformed' });
    }
    expect(existsSync(away.dataDirectory)).toBe(false); // the question how to protect it was not asked
  });

  it('is bounded before Argon2id takes memory for it, also where it has the form of one', async () => {
    await leave();
    const good = readFileSync(file);
    const head = 16 + ROAMING_SALT_LENGTH;
    expect(Buffer.from(readRoamingSalt(good)).equals(good.subarray(16, head))).toBe(true);
    const ofMessage = (length: number) => {
      const chunks = plainChunkLengths(length, true).length;
      return Buffer.concat([good], head + PREFIX_LENGTH + length + chunks * TAG_LENGTH);
    };
    expect(readRoamingSalt(ofMessage(padmeLength(MESSAGE_LIMITS.roaming / 2)))).toHaveLength(ROAMING_SALT_LENGTH);
    const long = ofMessage(padmeLength(MESSAGE_LIMITS.roaming));
    expect(() => readRoamingSalt(long)).toThrow(expect.objectContaining({ code: 'roaming-malformed' }));
  });

  it('does not take the place of another file, and is not there where its words could not be shown', async () => {
    const showWords = () => Promise.reject(new Error('no terminal'));
    await expect(exportIdentity({ ...home, to: file, newWords: false, showWords })).rejects.toThrow('no terminal');
    expect(existsSync(file)).toBe(false);
    writeFileSync(file, 'the only copy of a novel');
    for (const to of [file, folder, join(folder, 'no', 'where')])
      await expect(leave({ to })).rejects.toMatchObject({ code: 'output-failed' });
    expect(readFileSync(file, 'utf8')).toBe('the only copy of a novel');
    expect(await leave({ to: join(folder, 'other') })).toMatchObject({ number: 1, hasNewWords: true }); // failures do not count
  });
});

describe('attack 86: an older roaming file', () => {
  it('is refused by a device that wrote or read a newer one, and changes nothing', async () => {
    await leave();
    const old = join(folder, 'old.roaming');
    writeFileSync(old, readFileSync(file));
    await connectIn(home, 'second.example');
    await leave();
    await arrive();
    const before = await secretsIn(away);
    for (const device of [home, away])
      await expect(arrive({ ...device, from: old })).rejects.toMatchObject({ code: 'roaming-older' });
    await expect(arrive({ from: old, replace: true })).rejects.toMatchObject({ code: 'roaming-older' });
    expect(await secretsIn(away)).toEqual(before);
    expect(await arrive({ from: old, acceptOlder: true })).toMatchObject({ age: 'beside', added: [] });
    await expect(arrive({ from: old })).rejects.toMatchObject({ code: 'roaming-older' }); // the newest is not forgotten by it
  });

  it('is not the newest again; another with its number is said to be that', async () => {
    await leave();
    await arrive();
    expect(await arrive()).toMatchObject({ age: 'newest', added: [] });
    const both = [home, away].map((from, index) => ({ from, to: join(folder, `${index}`) }));
    for (const one of both) expect((await leave(one)).number).toBe(2);
    expect(await arrive({ from: join(folder, '0') })).toMatchObject({ age: 'beside' });
  });
});

describe('attack 105: a roaming file by another author', () => {
  const asked: ArrivingSite[] = [];
  const confirm = async (sites: readonly ArrivingSite[]) => {
    asked.push(...sites);
    return sites.map(({ site }) => site);
  };
  beforeEach(() => asked.splice(0));

  it('connects no host that cannot be proved, takes no seed, and replaces nothing by it', async () => {
    await leave();
    const dns = cleanUp.use(await startDnsServer());
    const how = { confirm, trustSites: [], dnsServers: [dns.address], connectTo: [parseConnectTo(':443:127.0.0.1:9')] };
    await expect(arrive(how)).rejects.toMatchObject({ code: 'host-unreachable' });
    dns.records.set('_wispr.news.example', [`wispr/1 root=${'A'.repeat(43)}`]);
    await connectIn(away, 'own.example');
    const before = await secretsIn(away);
    for (const replace of [false, true])
      await expect(arrive({ ...how, replace })).rejects.toMatchObject({ code: 'host-proof' });
    expect([asked, await secretsIn(away)]).toEqual([[], before]);
    dns.records.set('_wispr.news.example', [`wispr/1 root=${filled.publisher.root.id}`]);
    expect((await arrive(how)).added).toEqual(['news.example']);
    expect(asked).toMatchObject([{ site: 'news.example', publisher: filled.publisher.root.id, proof: 'dns' }]);
  });

  it('brings no site that cannot be proved beside one that can: it is said to be left out, and cannot be confirmed', async () => {
    await connectIn(home, 'second.example');
    await leave();
    const trustSites = ['second.example'];
    const how = { confirm, trustSites, connectTo: [parseConnectTo(':443:127.0.0.1:9')], dnsServers: ['127.0.0.1:9'] };
    expect(await arrive(how)).toMatchObject({ added: ['second.example'], left: ['news.example'] });
    expect(asked).toMatchObject([
      { site: 'news.example', problem: expect.stringContaining('news.example') },
      { site: 'second.example', proof: 'trusted-by-hand' },
    ]);
    const { publishers } = await describeIdentity(away);
    expect(publishers.map(({ proofs }) => proofs)).toEqual([{ 'second.example': 'trusted-by-hand' }]);
  });

  it('is refused with the root of the genuine publisher and a descriptor by a foreign key', async () => {
    const genuine = await startProvablePublisher(cleanUp, 'bank.example');
    const attacker = await TestPublisher.create('bank.example');
    const { root, site } = genuine.publisher;
    const evil = { site, content: ['http://evil.example'], reading: 'https://evil.example' };
    const times = { issued: 3_000_000_000, expires: 4_000_000_000 };
    const impostor: TestPublisher = Object.create(attacker, { root: { value: root } });
    const forged = impostor.descriptor(genuine.server.origin, { name: 'Bank', sites: [evil], ...times });
    const theirs = { ...attacker, site, root, descriptor: () => forged } as unknown as TestPublisher;
    await fillStore(home, { publisher: theirs, keyServer: genuine.server.origin, site });
    await leave();
    genuine.server.descriptor = forged; // the attacker may have the key server too
    const trustSites = ['bank.example', 'news.example'];
    const connectTo = [genuine.connectTo];
    expect(await arrive({ confirm, trustSites, connectTo })).toMatchObject({ left: ['bank.example'] });
    genuine.server.descriptor = genuine.publisher.descriptor(genuine.server.origin);
    expect(await arrive({ confirm, trustSites, connectTo })).toMatchObject({ added: ['bank.example'] });
    const store = await ReaderStore.open(storeOptions(away));
    const stored = (await store.bindings()).find(({ sites }) => sites.some((one) => one.site === site));
    store.close();
    expect(stored?.descriptor.publisherKey).toBe(toBase64url(genuine.publisher.identity.publicKey));
  });

  it('takes no device key from it without a question, where the publisher is connected already', async () => {
    const { publisher, keyServer } = filled;
    await leave();
    await arrive();
    await fillStore(home, { publisher, keyServer, bound: 100 });
    await leave();
    const before = await secretsIn(away);
    const none = async (sites: readonly ArrivingSite[]) => {
      asked.push(...sites);
      return [];
    };
    await expect(arrive({ confirm: none })).rejects.toMatchObject({ code: 'argument-invalid' });
    expect([asked.map(({ site }) => site), await secretsIn(away)]).toEqual([['news.example'], before]);
  });
});

describe('where there is something already', () => {
  const fillAway = (filling: Filling) => fillStore(away, filling);

  it('keeps what is here, and the seed of this device, or nothing of it where it is to be replaced', async () => {
    await leave();
    const own = await fillAway({ site: 'own.example', keyServer: 'https://own.example' });
    expect(await arrive()).toMatchObject({ added: ['news.example'], removed: [], sameDevice: false });
    expect(await secretsIn(away)).toMatchObject({ seed: toBase64url(own.seed) });
    expect(await arrive({ replace: true })).toMatchObject({ removed: ['own.example'], sameDevice: true });
    expect(await secretsIn(away)).toEqual(await secretsIn(home));
  });

  it('leaves a site to another publisher who has it here', async () => {
    await leave();
    await fillAway({ keyServer: 'https://other.example' });
    const before = await secretsIn(away);
    expect(await arrive()).toMatchObject({ added: [], taken: ['news.example'] });
    expect(await secretsIn(away)).toEqual(before);
  });

  it('takes the later of two device keys for one publisher', async () => {
    await leave();
    const { publisher, keyServer } = filled;
    const later = await fillAway({ publisher, keyServer, bound: 100 });
    await arrive();
    expect(await secretsIn(away)).toMatchObject({ keys: [[toBase64url(later.deviceKey.key), ['news.example']]] });
    const earlier = storageIn(join(folder, 'earlier'));
    await fillStore(earlier, { publisher, keyServer, bound: 0 });
    await arrive(earlier);
    expect(await secretsIn(earlier)).toMatchObject({ keys: [[toBase64url(filled.deviceKey.key), ['news.example']]] });
  });
});

describe('a roaming file on the web', () => {
  let host: ContentHost;
  beforeEach(async () => {
    host = cleanUp.use(await startContentHost());
  });
  const fromWeb = (path: string) =>
    arrive({ from: `http://store.example${path}`, connectTo: [parseConnectTo(`:80:127.0.0.1:${host.port}`)] });

  it('is fetched, also behind redirects', async () => {
    await leave();
    host.files.set('/my.roaming', readFileSync(file));
    host.handlers.set('/link', (_, response) => response.writeHead(302, { location: '/my.roaming?secret' }).end());
    expect((await fromWeb('/my.roaming')).added).toEqual(['news.example']);
    expect((await fromWeb('/link')).age).toBe('newest');
  });

  it.each([
    ['a 404', '/nothing', 'host-unreachable'],
    ['redirects without an end', '/circle', 'host-unreachable'],
    ['a redirect to a file', '/to-file', 'host-unreachable'],
    ['a page', '/page', 'roaming-malformed'],
    ['an answer without an end', '/endless', 'roaming-malformed'],
  ])('is refused where there is %s, and nothing of the address is repeated but the host', async (_, path, code) => {
    const redirects = { '/circle': '/circle?token', '/to-file': 'file:///etc/hostname' };
    for (const [from, location] of Object.entries(redirects))
      host.handlers.set(from, (_request, response) => response.writeHead(301, { location }).end());
    host.handlers.set('/page', (_request, response) => response.end('<html>'));
    let sent = 0;
    host.handlers.set('/endless', (_request, response) => flood(response, randomBytes(65_536), () => (sent += 65_536)));
    const error = await fromWeb(`${path}?token`).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code });
    expect(String(error)).not.toContain('token');
    expect(sent).toBeLessThan(4 * MESSAGE_LIMITS.roaming);
  });
});

it.each(['ftp://store.example/x', 'data:,x', 'http://', '/no/such/file'])(
  'fetches no roaming file from %s',
  async (from) => {
    const refused = { code: 'host-unreachable', typed: true };
    await expect(arrive({ from, words: async () => '' })).rejects.toMatchObject(refused);
  },
);
