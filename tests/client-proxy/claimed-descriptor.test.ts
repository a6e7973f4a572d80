/** Descriptors by a foreign key, with the publisher's root in them, which is public. Rows 70 and 99 of the attack list. */
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { bindSite, type ConnectionRequest, parseConnectTo } from '../../client-proxy/index.ts';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { encodeDescriptor } from '../../core/keys/descriptor.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { secondsLater } from '../support/afterwards.ts';
import { startContentHost } from '../support/content-host.ts';
import { HostileKeyServer } from '../support/hostile-key-server.ts';
import { refusalCode, send } from '../support/http-client.ts';
import { CleanUp, type ReaderRig, startHostileReaderRig, storageIn } from '../support/reader-rig.ts';
import { TestPublisher } from '../support/test-publisher.ts';

const FAR = 4_000_000_000;

let rig: ReaderRig<HostileKeyServer>;
const cleanUp = new CleanUp();
beforeEach(async () => {
  rig = cleanUp.use(await startHostileReaderRig());
});
afterEach(() => cleanUp.run());

/** Everything as the publisher has it, but for the key, the reading site, and what a test says. */
async function forgedDescriptor(wish: { keyServer?: string; content?: string; issued?: number } = {}) {
  const { identity } = await TestPublisher.create();
  const { publisher } = rig;
  const { keyServer = rig.keyServer.origin, content = `http://${publisher.site}`, issued = FAR } = wish;
  const description = { content: [content], reading: 'https://read-news.evil.example', site: publisher.site };
  const about = { expires: FAR + 1, issued, keyServer, name: 'The Morning Paper' };
  const keys = { publisherKey: toBase64url(identity.publicKey), root: publisher.root.id };
  return encodeDescriptor({ ...about, ...keys, sites: [description] }, identity.secretKey);
}

/** A reader who is connected with nothing. */
function newcomer() {
  const storage = storageIn(join(rig.directory, 'newcomer'));
  const shown: ConnectionRequest[] = [];
  const confirm = async (request: ConnectionRequest) => {
    shown.push(request);
    return request.sites.map(({ site }) => site);
  };
  const connectTo = [parseConnectTo(`:80:127.0.0.1:${rig.host.port}`)]; // the genuine content host
  const bind = (link: string) => bindSite({ ...storage, connectTo, link, trustSites: [rig.publisher.site], confirm });
  return { storage, connectTo, bind, shown };
}

it('attack 99: a descriptor by a foreign key that names the genuine root is refused before anything is sent, shown or stored', async () => {
  const { publisher } = rig;
  const attacker = cleanUp.use(await HostileKeyServer.start(publisher));
  rig.publisher.setDescriptor(rig.keyServer.descriptor); // the publisher's own, as before
  await publisher.sign(rig.host.files);
  const content = await startContentHost(); // the attacker's, with a copy of the genuine publication
  cleanUp.add(content.close);
  for (const [path, file] of rig.host.files) content.files.set(path, file);
  const { bind, shown, storage, connectTo } = newcomer();
  for (const wish of [{}, { content: content.origin }]) {
    attacker.descriptor = await forgedDescriptor({ ...wish, keyServer: attacker.origin });
    for (const link of [await attacker.invite(), (await attacker.invite()).replace(/\..{43}$/, '')])
      await expect(bind(link)).rejects.toMatchObject({ code: 'descriptor-foreign' });
  }
  // The publisher's key, and a key server that the publication does not name: a descriptor of before, perhaps.
  attacker.descriptor = publisher.descriptor(attacker.origin, { issued: nowInSeconds() });
  await expect(bind(await attacker.invite())).rejects.toMatchObject({ code: 'descriptor-foreign' });
  expect([attacker.bodies, shown]).toEqual([[], []]);
  const proxy = await rig.another({ ...storage, connectTo });
  expect(await proxy.sites()).toEqual([]);
  expect((await send(proxy.port, rig.url('/none.html'))).text).not.toContain('evil.example');
});

it('attack 99: a claim of the genuine key server that is by another key is refused; so is an invitation of another publisher', async () => {
  const { keyServer } = rig;
  const { bind, shown } = newcomer();
  const genuine = keyServer.descriptor;
  keyServer.descriptor = await forgedDescriptor();
  await expect(bind(await keyServer.invite())).rejects.toMatchObject({ code: 'descriptor-foreign' });
  keyServer.descriptor = genuine;
  const other = await TestPublisher.create();
  const link = (await keyServer.invite()).replace(/\..{43}$/, `.${other.root.id}`);
  const asked = rig.host.requests.length;
  await expect(bind(link)).rejects.toMatchObject({ code: 'descriptor-foreign' });
  expect([keyServer.bodies.length, shown, rig.host.requests.length]).toEqual([1, [], asked]); // the rig's own connection
});

it('attack 99: what is shown is the later of the two descriptors, which the publisher signed both', async () => {
  const { keyServer, publisher, host } = rig;
  const now = nowInSeconds();
  publisher.setDescriptor(publisher.descriptor(keyServer.origin, { issued: now - 10, name: 'The Evening Paper' }));
  await publisher.sign(host.files);
  const { bind, shown } = newcomer();
  await bind(await keyServer.invite());
  keyServer.descriptor = publisher.descriptor(keyServer.origin, { issued: now - 5, name: 'The Night Paper' });
  await bind(keyServer.origin);
  expect(shown.map(({ name }) => name)).toEqual(['The Evening Paper']);
  expect((await bind(keyServer.origin)).name).toBe('The Night Paper');
});

it('attack 99: a site without a publication is not connected yet, and the code stays good', async () => {
  const { keyServer, host } = rig;
  const { bind } = newcomer();
  const files = [...host.files];
  host.files.clear();
  const link = await keyServer.invite();
  await expect(bind(link)).rejects.toMatchObject({ code: 'metadata-missing' });
  for (const [path, file] of files) host.files.set(path, file);
  expect((await bind(link)).sites).toHaveLength(1);
});

it('attack 70: where a descriptor has expired, the key server cannot renew it under another key', async () => {
  const { keyServer, publisher, host } = rig;
  const now = nowInSeconds();
  publisher.setDescriptor(publisher.descriptor(keyServer.origin, { issued: now, expires: now + 60 }));
  await publisher.publish(host.files, '/a.html', { content: 'good' });
  keyServer.descriptor = await forgedDescriptor();
  await secondsLater(61, async () => {
    expect(refusalCode(await send(rig.proxy.port, rig.url('/a.html')))).toBe('descriptor-expired');
    publisher.setDescriptor(publisher.descriptor(keyServer.origin, { issued: nowInSeconds() }));
    await publisher.sign(host.files);
    expect((await send(rig.proxy.port, rig.url('/a.html'))).text).toBe('good');
  });
});
