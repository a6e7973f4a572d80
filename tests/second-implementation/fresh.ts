/** Vectors that our own writers make at test time, with random keys, salts and nonces. */

import { x25519KeyPair } from '#channel';
import { ed25519KeyPair, randomBytes, xwingKeyPair } from '#primitives';
import { keyIdOf } from '../../core/crypto/key-id.ts';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { concat } from '../../core/encoding/bytes.ts';
import type { JsonObject } from '../../core/encoding/canonical-json.ts';
import { encodeHead, MAXIMUM_HEAD, type RequestHead } from '../../core/httpcrypt/binary-http.ts';
import {
  beginExchange,
  encodeCookie,
  MessageWriter,
  sealAnswer,
  sealRequest,
  type Ticket,
} from '../../core/httpcrypt/exchange.ts';
import { recordAnswer, serverKey, signRecord } from '../../core/httpcrypt/record.ts';
import { answerBinding, encodeBindingRequest, verifyBindingRequest } from '../../core/keys/binding.ts';
import { encodeBundle } from '../../core/keys/bundle.ts';
import { encodeDescriptor } from '../../core/keys/descriptor.ts';
import { deriveDeviceKeys } from '../../core/keys/device.ts';
import { encodeKeyAnswer, encodeKeyRequest } from '../../core/keys/key-request.ts';
import { wrapKey } from '../../core/keys/wrapped-key.ts';
import { encodeHtmlCarrier } from '../../core/object/carrier.ts';
import { encodeObject, publisherIdentity } from '../../core/object/writer.ts';
import { rootIdOf } from '../../core/publication/writer.ts';
import { zoneText } from '../../httpcrypt/announcement.ts';
import { makeChain } from '../support/certificates.ts';
import { NAME, newStore, visit } from '../support/link-pair.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import {
  type KeyVector,
  type KeyVectorFile,
  type ObjectVector,
  type ObjectVectorFile,
  pack,
  toBase64,
} from '../vectors/format.ts';
import { describeBytes } from '../vectors/run/objects.ts';

const NOTHING = new Uint8Array(0);
const NOW = 1_800_000_000;
const KEY_SERVER = 'https://keys.example';
const SITE = 'news.example';
const VALIDITY = { notBefore: NOW - 10, notAfter: NOW + 10 };
const publisher = await publisherIdentity(ed25519KeyPair(randomBytes(32)));
const key = randomBytes(32);
const set = { id: await keyIdOf('set', key), key };

/** Objects of many sizes, in both carriers, encrypted and signed. */
export async function freshObjectVectors(): Promise<ObjectVectorFile> {
  const vectors: ObjectVector[] = [];
  for (const size of [0, 1, 1000, 16_000, 16_384, 65_536, 70_000, 200_000]) {
    for (const blockChunks of [1, 3, 4]) {
      for (const encrypted of [true, false]) vectors.push(await freshObject(size, blockChunks, encrypted));
    }
  }
  const keys = [{ id: set.id, key: toBase64(key), ...VALIDITY }];
  return { reader: { site: SITE, publisherKey: toBase64(publisher.publicKey), keys, now: NOW }, vectors };
}

async function freshObject(size: number, blockChunks: number, encrypted: boolean): Promise<ObjectVector> {
  const content = randomBytes(size);
  const path = `/${size}/${blockChunks} ä.bin`;
  const metadata = { contentLength: size, lastModified: NOW, mediaType: 'application/octet-stream' };
  const common = { site: SITE, path, publisher, metadata, blockChunks };
  const object = await encodeObject(encrypted ? { ...common, set, paddingLength: size % 777 } : common, content);
  const carrier = size % 2 === 0 ? object : encodeHtmlCarrier(object, new Uint8Array(0));
  return {
    name: `${encrypted ? 'encrypted' : 'signed'}, ${size} bytes, blocks of ${blockChunks}`,
    object: pack(carrier),
    ...(!encrypted && { content: pack(content) }),
    reader: { path },
    outcome: 'success',
    metadata: { ...metadata },
    released: await describeBytes(content),
  };
}

/** The whole way of a key, from the publisher's bundle to the device. */
export async function freshKeyVectors(): Promise<KeyVectorFile> {
  return { vectors: [...(await fromPublisher()), ...(await betweenDeviceAndServer())] };
}

async function fromPublisher(): Promise<KeyVector[]> {
  const firstRoot = randomBytes(500);
  const root = await rootIdOf(firstRoot);
  const descriptor = encodeDescriptor(
    {
      expires: NOW + 1,
      issued: NOW,
      keyServer: KEY_SERVER,
      name: 'Example',
      publisherKey: toBase64url(publisher.publicKey),
      root,
      sites: [{ content: ['https://cdn.example'], reading: 'https://read.example', site: SITE }],
    },
    publisher.secretKey,
  );
  const about = { issued: NOW, serial: 3, workspace: toBase64url(randomBytes(16)) };
  const bundle = {
    descriptor: toBase64url(descriptor),
    root: toBase64url(firstRoot),
    sets: [{ id: set.id, key: toBase64url(key), name: 'subscribers', site: SITE }],
    timestampKey: toBase64url(randomBytes(32)),
  };
  const seed = randomBytes(32);
  const bytes = await encodeBundle(bundle, about, xwingKeyPair(seed).publicKey, publisher);
  return [
    success(
      'verify-descriptor',
      { descriptor: toBase64(descriptor), now: NOW },
      { publisher: root, publisherKey: publisher.id, keyServer: KEY_SERVER, sites: [SITE] },
    ),
    success(
      'open-bundle',
      { bundle: toBase64(bytes), seed: toBase64(seed) },
      { ...bundle, ...about, publisher: publisher.id },
    ),
  ];
}

async function betweenDeviceAndServer(): Promise<KeyVector[]> {
  const seed = randomBytes(32);
  const provider = { keyServer: KEY_SERVER, publisher: publisher.id };
  const code = '0123456789ABCDEF';
  const binding = encodeBindingRequest(await deriveDeviceKeys(seed, provider), publisher.id, code, NOW);
  const { answer, deviceKey } = await answerBinding(binding, await verifyBindingRequest(binding), KEY_SERVER);
  const request = await encodeKeyRequest(deviceKey, KEY_SERVER, [set.id], NOW);
  const wrapped = await wrapKey(deviceKey, { ...set, kind: 'set' }, VALIDITY);
  const refused = [{ id: publisher.id, reason: 'not-entitled' }] as const;
  const keyAnswer = await encodeKeyAnswer({ keys: [wrapped], refused, time: NOW }, request, deviceKey.key);
  const [device, sent] = [toBase64(deviceKey.key), toBase64(request)];
  return [
    success('verify-binding-request', { request: toBase64(binding) }, { code, publisher: publisher.id, time: NOW }),
    success(
      'accept-binding',
      { seed: toBase64(seed), ...provider, request: toBase64(binding), answer: toBase64(answer) },
      { id: deviceKey.id, key: device },
    ),
    success(
      'verify-key-request',
      { request: sent, keyServer: KEY_SERVER, deviceKey: device },
      { device: deviceKey.id, keys: [set.id], time: NOW },
    ),
    success(
      'open-key-answer',
      { answer: toBase64(keyAnswer), request: sent, deviceKey: device },
      { keys: [set.id], refused: [`${publisher.id} not-entitled`], time: NOW },
    ),
    success(
      'unwrap-key',
      { outerKind: 'device', outerKey: device, wrapped: JSON.stringify(wrapped), now: NOW },
      { key: toBase64(key) },
    ),
  ];
}

/** A record, a first request and its answer, and a request with the ticket that it brought. */
export async function freshHttpcryptVectors(): Promise<KeyVectorFile> {
  const [seed, signer, url] = [randomBytes(32), ed25519KeyPair(randomBytes(32)), 'http://keys.news.example/a/'];
  const server = x25519KeyPair(seed);
  const key = await serverKey(server.publicKey, NOW);
  const record = signRecord(key, url, signer.secretKey);
  const zone = zoneText(url, record, 3600);
  const ticket = { shown: randomBytes(32), secret: randomBytes(32) };
  const content = randomBytes(20_000);
  const first = beginExchange(server.publicKey);
  const { publicKey } = server;
  const head = {
    ...{ method: 'PUT', scheme: 'http', authority: 'a.example', path: '/é?b' },
    fields: ['x-one', 'é', 'x-two', ''],
  };
  const [sent, later] = [first, { ...ticket, publicKey }].map((exchange) => sealRequest(exchange, head, content));
  if (!sent || !later) throw new Error('unreachable');
  const answer = concat(...sealAnswer(first, sent.salt, ticket, { status: 200, fields: head.fields }, content));
  const writer = MessageWriter.ofAnswer(first, sent.salt, ticket, { status: 404, fields: [] });
  const flushed = [...writer.push(content), ...writer.flush(), ...writer.push(content), ...writer.end()];
  const asking = MessageWriter.ofRequest(first, head);
  const streamed = [...asking.push(content), ...asking.flush(), ...asking.push(content), ...asking.end()];
  const longest = headOf(MAXIMUM_HEAD);
  const opened = { ...head, content: await describeBytes(content) };
  const common = { seed: toBase64(seed), ticket: toBase64(ticket.shown), secret: toBase64(ticket.secret) };
  const shown = { publicKey: toBase64(publicKey), shown: toBase64(first.shown), secret: toBase64(first.secret) };
  const answered = (body: Uint8Array, result: JsonObject) =>
    success(
      'open-answer',
      { ...shown, salt: toBase64(sent.salt), body: toBase64(body) },
      { ...result, ticket: common.ticket, secret: common.secret },
    );
  const asked = (exchange: Ticket, body: Uint8Array, result: JsonObject = opened) =>
    success('open-request', { ...common, cookie: encodeCookie('sid', key.id, exchange), body: toBase64(body) }, result);
  const refused = (head: RequestHead, content: Uint8Array) => {
    const { result: _, ...vector } = asked(first, sealRequest(first, head, content).body);
    return { ...vector, outcome: 'channel-unreadable' } as const;
  };
  const saying = (...lengths: string[]) => ({
    ...head,
    fields: lengths.flatMap((length) => ['content-length', length]),
  });
  return {
    vectors: [
      success(
        'verify-record',
        { record: toBase64(record), url, key: toBase64(signer.publicKey), now: NOW },
        { publicKey: toBase64(server.publicKey), id: toBase64(key.id), notAfter: NOW },
      ),
      success('read-options', { text: recordAnswer(record) }, { record: toBase64(record) }),
      ...['TXT', 'TLSA', 'AAAA', 'A'].map((type) =>
        success('read-zone', { zone, url, type }, { record: toBase64(record) }),
      ),
      asked(first, sent.body),
      asked(ticket, later.body),
      asked(first, concat(...streamed), { ...head, content: await describeBytes(concat(content, content)) }),
      asked(first, sealRequest(first, longest, NOTHING).body, { ...longest, content: await describeBytes(NOTHING) }),
      refused(headOf(MAXIMUM_HEAD + 1), NOTHING),
      asked(first, sealRequest(first, saying('20000'), content).body, { ...opened, ...saying('20000') }),
      ...[['19999'], ['20001'], ['20000', '20000']].map((lengths) => refused(saying(...lengths), content)),
      answered(answer, { status: 200, fields: head.fields, content: await describeBytes(content) }),
      answered(concat(...flushed), { status: 404, fields: [], content: await describeBytes(concat(content, content)) }),
    ],
  };
}

/** A handshake of TLS 1.2 by way of both relays, which know its chain. */
export async function freshLinkVectors(): Promise<KeyVectorFile> {
  const chain = await makeChain(temporaryFolder(), 'server', 'ecdsa', [`DNS:${NAME}`]);
  const ends = { server: { key: chain.key, cert: chain.cert }, client: { ca: chain.root } };
  const stores = { near: newStore(), far: newStore() };
  await visit(stores, ends);
  const { crossed } = await visit(stores, ends);
  const listed = stores.near.recall(`${NAME}:443`).chain.map(toBase64).join(' ');
  const first = (stream: Buffer) => toBase64(stream.subarray(0, 5 + stream.readUInt16BE(3)));
  const [hello, onLink] = [first(crossed.up.client), first(crossed.up.link)];
  const [sent, compressed] = [toBase64(crossed.down.server), toBase64(crossed.down.link)];
  return {
    vectors: [
      success('list', { chain: listed, records: hello }, { records: onLink }),
      success('unlist', { records: onLink }, { records: hello }),
      success('substitute', { hello: onLink, records: sent }, { records: compressed }),
      success('restore', { hello, chain: listed, records: compressed }, { records: sent }),
    ],
  };
}

/** A head of so many bytes. */
function headOf(size: number) {
  const head = (length: number) => ({
    ...{ method: 'GET', scheme: 'http', authority: '', path: '/', fields: ['a', 'a'.repeat(length)] },
  });
  return head(2 * size - encodeHead(head(size), 0).length + 1);
}

function success(operation: string, input: KeyVector['input'], result: JsonObject): KeyVector {
  return { name: `fresh, ${operation}`, operation, input, outcome: 'success', result };
}
