/** Provider descriptors and host proofs: docs/spec/keys.md section 5. */
import { toBase64url } from '../../../core/encoding/base64url.ts';
import { utf8 } from '../../../core/encoding/bytes.ts';
import { canonicalJson, type Json, type JsonObject } from '../../../core/encoding/canonical-json.ts';
import { signMessage } from '../../../core/keys/sealed-message.ts';
import { type KeyVector, toBase64 } from '../format.ts';
import { NOW, otherPublisher, otherRootId, publisher, rootId, SITE } from './fixed.ts';

export const KEY_SERVER = 'https://keys.example';
const LABEL = 'wispr/1 provider descriptor';
const SITE_ENTRY = { content: ['http://news.example'], reading: 'https://read.example', site: SITE };

const DESCRIPTOR: JsonObject = {
  expires: NOW + 86_400,
  issued: NOW - 86_400,
  keyServer: KEY_SERVER,
  name: 'The Example News',
  publisherKey: toBase64url(publisher.publicKey),
  root: rootId,
  sites: [SITE_ENTRY],
};

const HTTPCRYPT = { key: toBase64url(otherPublisher.publicKey), url: 'http://keys.example:8080/a/b_2/' };

function signed(changes: Record<string, Json | undefined> = {}, label = LABEL): JsonObject {
  const members = Object.entries({ ...DESCRIPTOR, ...changes }).filter(([, value]) => value !== undefined);
  return signMessage(label, Object.fromEntries(members) as JsonObject, publisher.secretKey);
}

export const descriptor = canonicalJson(signed());

export function descriptorVectors(): KeyVector[] {
  return [...goodDescriptors(), ...malformedDescriptors(), ...refusedDescriptors(), ...hostProofs()];
}

function verify(
  name: string,
  outcome: string,
  bytes: Uint8Array,
  details: { now?: number; sites?: string[]; keyServer?: string } = {},
): KeyVector {
  const { now = NOW, sites, keyServer = KEY_SERVER } = details;
  return {
    name: `descriptor, ${name}`,
    operation: 'verify-descriptor',
    input: { descriptor: toBase64(bytes), now },
    outcome,
    ...(sites && { result: { publisher: rootId, publisherKey: publisher.id, keyServer, sites } }),
  };
}

function goodDescriptors(): KeyVector[] {
  const many = Array.from({ length: 16 }, (_, index) => ({ ...SITE_ENTRY, site: `s${index}.example` }));
  const hosts = [
    'http://127.0.0.1:8080',
    'https://cdn.example',
    'http://cdn.example:8080',
    'http://[::1]:80'.replace(':80', ':81'),
  ];
  const loopback = 'http://keys.localhost:8443';
  return [
    verify('good', 'success', descriptor, { sites: [SITE] }),
    verify('at its last second', 'success', descriptor, { now: NOW + 86_400, sites: [SITE] }),
    verify('sixteen sites', 'success', canonicalJson(signed({ sites: many })), { sites: many.map(({ site }) => site) }),
    verify(
      'content hosts of all kinds',
      'success',
      canonicalJson(signed({ sites: [{ ...SITE_ENTRY, content: hosts }] })),
      { sites: [SITE] },
    ),
    verify('key server on loopback', 'success', canonicalJson(signed({ keyServer: loopback })), {
      sites: [SITE],
      keyServer: loopback,
    }),
    verify('with HTTPCrypt', 'success', canonicalJson(signed({ httpcrypt: HTTPCRYPT })), { sites: [SITE] }),
    verify('name beyond ASCII', 'success', canonicalJson(signed({ name: 'Die Übersicht 📰' })), { sites: [SITE] }),
  ];
}

function malformedDescriptors(): KeyVector[] {
  const site = (changes: Record<string, Json>) => ({ sites: [{ ...SITE_ENTRY, ...changes }] });
  const many = Array.from({ length: 17 }, (_, index) => ({ ...SITE_ENTRY, site: `s${index}.example` }));
  const changes: Record<string, Record<string, Json | undefined>> = {
    'without a member': { issued: undefined },
    'with a member more': { extra: 1 },
    'key server over http': { keyServer: 'http://keys.example' },
    'key server with a path': { keyServer: 'https://keys.example/' },
    'key server in capitals': { keyServer: 'https://KEYS.example' },
    'key server with the port of its scheme': { keyServer: 'https://keys.example:443' },
    'key server with a user': { keyServer: 'https://me@keys.example' },
    'key server as javascript': { keyServer: 'javascript:alert(1)' },
    'no name': { name: '' },
    'name of 101 characters': { name: 'n'.repeat(101) },
    'no sites': { sites: [] },
    'seventeen sites': { sites: many },
    'a site twice': { sites: [SITE_ENTRY, SITE_ENTRY] },
    'a site with a port': site({ site: 'news.example:80' }),
    'a site that is an address': site({ site: '127.0.0.1' }),
    'a site with a member more': site({ extra: 1 }),
    'reading site over http': site({ reading: 'http://read.example' }),
    'reading site as data': site({ reading: 'data:text/html,x' }),
    'no content hosts': site({ content: [] }),
    'nine content hosts': site({ content: Array.from({ length: 9 }, () => 'http://cdn.example') }),
    'content host with a path': site({ content: ['http://cdn.example/x'] }),
    'content host of another scheme': site({ content: ['ftp://cdn.example'] }),
    'publisher key too short': { publisherKey: 'AAAA' },
    'publisher key with padding': { publisherKey: `${toBase64url(publisher.publicKey)}=` },
    'without a root': { root: undefined },
    'root too short': { root: 'AAAA' },
    'root in hexadecimal': { root: '0'.repeat(64) },
    'expires as text': { expires: '1' },
    'HTTPCrypt as text': { httpcrypt: HTTPCRYPT.url },
    'HTTPCrypt with a member more': { httpcrypt: { ...HTTPCRYPT, extra: 1 } },
    'HTTPCrypt key too short': { httpcrypt: { ...HTTPCRYPT, key: 'AAAA' } },
    'HTTPCrypt over https': { httpcrypt: { ...HTTPCRYPT, url: 'https://keys.example/a/' } },
    'HTTPCrypt without a slash at the end': { httpcrypt: { ...HTTPCRYPT, url: 'http://keys.example/a' } },
    'HTTPCrypt with a query': { httpcrypt: { ...HTTPCRYPT, url: 'http://keys.example/a/?b/' } },
    'HTTPCrypt with dots': { httpcrypt: { ...HTTPCRYPT, url: 'http://keys.example/../a/' } },
    'HTTPCrypt with a user': { httpcrypt: { ...HTTPCRYPT, url: 'http://me@keys.example/' } },
    'HTTPCrypt at 201 characters': { httpcrypt: { ...HTTPCRYPT, url: `http://keys.example/${'a'.repeat(180)}/` } },
  };
  return [
    ...Object.entries(changes).map(([name, change]) =>
      verify(name, 'descriptor-malformed', canonicalJson(signed(change))),
    ),
    verify('with a line feed at the end', 'descriptor-malformed', utf8(`${new TextDecoder().decode(descriptor)}\n`)),
    verify('empty', 'descriptor-malformed', new Uint8Array(0)),
    verify('an array', 'descriptor-malformed', utf8('[]')),
  ];
}

function refusedDescriptors(): KeyVector[] {
  const good = signed();
  const changed = { ...good, name: 'Another name' };
  const moved = { ...good, root: otherRootId };
  const byOther = { ...good, publisherKey: toBase64url(otherPublisher.publicKey) };
  const otherLabel = signed({}, 'wispr/1 binding request');
  return [
    verify('changed', 'descriptor-malformed', canonicalJson(changed)),
    verify('with another root', 'descriptor-malformed', canonicalJson(moved)),
    verify('under another key', 'descriptor-malformed', canonicalJson(byOther)),
    verify('signed as another message', 'descriptor-malformed', canonicalJson(otherLabel)),
    verify('signature too short', 'descriptor-malformed', canonicalJson({ ...good, signature: 'AAAA' })),
    verify('signature a number', 'descriptor-malformed', canonicalJson({ ...good, signature: 7 })),
    verify('expired', 'descriptor-expired', descriptor, { now: NOW + 86_401 }),
    verify('changed, and expired', 'descriptor-malformed', canonicalJson(changed), { now: NOW + 86_401 }),
  ];
}

function hostProofs(): KeyVector[] {
  const line = `wispr/1 root=${rootId}`;
  const proof = (name: string, outcome: string, text: string): KeyVector => ({
    name: `host proof, ${name}`,
    attacks: [70],
    operation: 'host-proof',
    input: { text, publisher: rootId },
    outcome,
  });
  return [
    proof('one line', 'success', line),
    proof('with a line feed', 'success', `${line}\n`),
    proof('with CR LF, among others', 'success', `wispr/1 root=${otherRootId}\r\n${line}\r\n`),
    proof('of another publisher', 'host-proof', `wispr/1 root=${otherRootId}\n`),
    proof('of the key and not the root', 'host-proof', `wispr/1 root=${publisher.id}\n`),
    proof('inside a longer line', 'host-proof', `${line}.example\n`),
    proof('with a space in front', 'host-proof', ` ${line}`),
    proof('in capitals', 'host-proof', line.replace('wispr', 'WISPR')),
    proof('empty', 'host-proof', ''),
  ];
}
