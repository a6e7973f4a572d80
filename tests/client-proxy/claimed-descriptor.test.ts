/** Attack 70: a key server that signs a descriptor itself, with the root of the publisher in it, which everybody knows. */
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { bindSite, parseConnectTo, startProxy } from '../../client-proxy/index.ts';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { encodeDescriptor } from '../../core/keys/descriptor.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import type { HostileKeyServer } from '../support/hostile-key-server.ts';
import { refusalCode, send } from '../support/http-client.ts';
import { CleanUp, type ReaderRig, startHostileReaderRig, storageIn } from '../support/reader-rig.ts';
import { TestPublisher } from '../support/test-publisher.ts';

const FAR = 4_000_000_000;

let rig: ReaderRig<HostileKeyServer>;
const cleanUp = new CleanUp();
beforeEach(async () => {
  rig = await startHostileReaderRig();
  cleanUp.add(() => rig.close());
});
afterEach(() => cleanUp.run());

/** Everything as the publisher has it, but for the key, the content host, and the time. */
async function forgedDescriptor(): Promise<Uint8Array> {
  const { identity } = await TestPublisher.create();
  const { keyServer, publisher } = rig;
  const description = { content: ['http://elsewhere.example'], reading: 'https://read.example', site: publisher.site };
  const about = { expires: FAR + 1, issued: FAR, keyServer: keyServer.origin, name: 'The Morning Paper' };
  const keys = { publisherKey: toBase64url(identity.publicKey), root: publisher.root.id };
  return encodeDescriptor({ ...about, ...keys, sites: [description] }, identity.secretKey);
}

it('attack 70: a claim of the key server when a device is connected gives way to what the publication says', async () => {
  const { keyServer, publisher, host } = rig;
  publisher.setDescriptor(keyServer.descriptor);
  await publisher.publish(host.files, '/a.html', { content: 'good' });
  keyServer.descriptor = await forgedDescriptor();
  const storage = storageIn(join(rig.directory, 'another'));
  const connectTo = [parseConnectTo(`:80:127.0.0.1:${host.port}`)];
  await bindSite({ ...storage, connectTo, link: keyServer.invite(), trustSites: [publisher.site] });
  const proxy = await startProxy({ ...storage, port: 0, connectTo });
  cleanUp.add(() => proxy.close());
  const answer = await send(proxy.port, rig.url('/a.html'));
  expect([answer.status, answer.text]).toEqual([200, 'good']);
  expect(host.requests.at(-1)?.headers.host).not.toBe('elsewhere.example');
});

it('attack 70: where a descriptor has expired, the key server cannot renew it under another key', async () => {
  const { keyServer, publisher, host } = rig;
  const now = nowInSeconds();
  const expiring = publisher.descriptor(keyServer.origin, { issued: now, expires: now + 1 });
  publisher.setDescriptor(expiring);
  await publisher.publish(host.files, '/a.html', { content: 'good' });
  keyServer.descriptor = await forgedDescriptor();
  await expect.poll(nowInSeconds, { timeout: 5000 }).toBeGreaterThan(now + 1);
  expect(refusalCode(await send(rig.proxy.port, rig.url('/a.html')))).toBe('descriptor-expired');
  publisher.setDescriptor(publisher.descriptor(keyServer.origin, { issued: nowInSeconds() }));
  await publisher.sign(host.files);
  expect((await send(rig.proxy.port, rig.url('/a.html'))).text).toBe('good');
});
