/** link.json: docs/spec/link.md. Records are put together here by hand. */
import { createHash } from 'node:crypto';
import type { KeyVector, KeyVectorFile } from './format.ts';

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest();
const bytes = (...parts: readonly (number | Buffer)[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'number' ? Buffer.of(part) : part)));
/** An unsigned number of so many bytes. */
const uint = (value: number, length: number) => Buffer.from(value.toString(16).padStart(2 * length, '0'), 'hex');
const sized = (length: number, content: Buffer) => bytes(uint(content.length, length), content);
const record = (content: Buffer, version = 0x0303) => bytes(22, uint(version, 2), sized(2, content));
const base64 = (...all: readonly Buffer[]) => all.map((each) => each.toString('base64')).join(' ');

/** Bytes that stand for a certificate: what is in one is nothing to the relays. */
function certificate(name: string, length: number): Buffer {
  const filler = Array.from({ length: Math.ceil(length / 32) }, (_, index) => sha256(`wispr ${name} ${index}`));
  return bytes(0x30, 0x82, uint(length - 4, 2), ...filler).subarray(0, length);
}

/** The first has the length of the paper's. */
const [server, issuing, cross] = [certificate('server', 926), certificate('issuing', 480), certificate('cross', 400)];
const person = certificate('person', 100);
const chain = [server, issuing, cross];
const entries = (all: readonly Buffer[]) => all.map((each) => sha256(each).subarray(0, 8));
const listOf = (own: readonly Buffer[], clients: readonly Buffer[] = []) =>
  bytes(uint(0x99, 2), sized(2, bytes(own.length, ...entries(own), clients.length, ...entries(clients))));

const random = sha256('wispr random');
const named = sized(2, bytes(0, sized(2, Buffer.from('server.example'))));
const serverName = bytes(uint(0, 2), sized(2, named));
function clientHello(...first: readonly Buffer[]): Buffer {
  const front = bytes(3, 3, random, 0, sized(2, uint(0xc02b, 2)), 1, 0);
  return record(bytes(1, sized(3, bytes(front, sized(2, bytes(...first, serverName))))), 0x0301);
}
const serverHello = (...extensions: readonly Buffer[]) =>
  bytes(2, sized(3, bytes(3, 3, random, 0, uint(0xc02b, 2), 0, sized(2, bytes(...extensions)))));
const done = bytes(14, 0, 0, 0);
const certificateOf = (all: readonly Buffer[]) =>
  bytes(11, sized(3, sized(3, bytes(...all.map((each) => sized(3, each))))));
const whole = (each: Buffer) => bytes(1, sized(3, each));
const reference = (each: Buffer) => bytes(0, sha256(each).subarray(0, 16));
const compressed = (all: readonly Buffer[], lengths: readonly number[] = [], held = 0) =>
  bytes(0x99, sized(3, bytes(held, lengths.length, ...lengths.map((length) => uint(length, 2)), ...all)));
const flight = (message: Buffer, hello = serverHello()) => bytes(hello, message, done);
/** Records of at most so many bytes. */
const cut = (content: Buffer, length: number) =>
  Array.from({ length: Math.ceil(content.length / length) }, (_, index) =>
    content.subarray(index * length, (index + 1) * length),
  );

const plain = record(flight(certificateOf(chain)));
const short = record(flight(compressed(chain.map(reference))));

export function makeLinkVectors(): KeyVectorFile {
  return { vectors: [...lists(), ...unlists(), ...substitutions(), ...restorations()] };
}

function vector(operation: string, name: string, input: KeyVector['input'], records?: Buffer): KeyVector {
  const outcome = records ? { outcome: 'success', result: { records: base64(records) } } : { outcome: 'refused' };
  return { name: `${operation}, ${name}`, operation, input, ...outcome };
}

function lists(): KeyVector[] {
  const list = (name: string, own: readonly Buffer[], clients: readonly Buffer[], hello: Buffer, records: Buffer) => {
    const input = { chain: base64(...own), clients: base64(...clients.map(sha256)), records: base64(hello) };
    return vector('list', name, input, records);
  };
  const taken = bytes(uint(0x99, 2), sized(2, Buffer.of(7)));
  const hello = clientHello();
  return [
    list('three certificates', chain, [], hello, clientHello(listOf(chain))),
    list('one of a client too', chain, [person], hello, clientHello(listOf(chain, [person]))),
    list('nothing', [], [], hello, hello),
    list("a client's own extension 0x0099", [], [], clientHello(taken), clientHello(listOf([]), taken)),
    list('no ClientHello', chain, [], plain, plain),
  ];
}

function unlists(): KeyVector[] {
  const unlist = (name: string, records: Buffer, result?: Buffer) =>
    vector('unlist', name, { records: base64(records) }, result);
  const wrong = (data: Buffer) => clientHello(bytes(uint(0x99, 2), sized(2, data)));
  const behind = record(bytes(clientHello(listOf([])).subarray(5), 0), 0x0301);
  return [
    unlist('three certificates', clientHello(listOf(chain)), clientHello()),
    unlist('nothing', clientHello(listOf([])), clientHello()),
    unlist('no list', clientHello(), clientHello()),
    unlist('behind a ClientHello', behind, behind),
    unlist('cut', wrong(Buffer.of(1, 2, 3))),
    unlist('continued', wrong(Buffer.of(0, 0, 0))),
  ];
}

function substitutions(): KeyVector[] {
  const substitute = (
    name: string,
    records: Buffer,
    result: Buffer | undefined,
    listed = chain,
    { clients = [], held = [] }: { clients?: Buffer[]; held?: Buffer[] } = {},
  ) => {
    const input = { hello: base64(clientHello(listOf(listed, clients))), held: base64(...held) };
    return vector('substitute', name, { ...input, records: base64(records) }, result);
  };
  const same = (name: string, records: Buffer, listed = chain) => substitute(name, records, records, listed);
  const pieces = cut(flight(certificateOf(chain)), 700);
  const lengths = pieces.slice(0, -1).map((piece) => piece.length);
  const tls13 = serverHello(bytes(uint(43, 2), sized(2, Buffer.of(3, 4))));
  const mixed = compressed([reference(server), whole(issuing), whole(cross)]);
  const person3 = { clients: [server, person], held: [person] };
  return [
    substitute('three certificates', plain, short),
    substitute('one of three', plain, record(flight(mixed)), [server]),
    substitute(
      'in records of 700 bytes',
      bytes(...pieces.map((piece) => record(piece))),
      record(flight(compressed(chain.map(reference), lengths))),
    ),
    substitute('a client certificate is held', plain, record(flight(compressed(chain.map(whole), [], 2))), [], person3),
    same('another chain', plain, [person]),
    same('TLS 1.3', record(flight(certificateOf(chain), tls13))),
    same('TLS 1.1', record(flight(certificateOf(chain)), 0x0302)),
    same('no ServerHello', record(certificateOf(chain))),
    same('17 certificates', record(flight(certificateOf(Array.from({ length: 17 }, () => person)))), [person]),
    same('no certificate', record(flight(certificateOf([])))),
    same('lengths that do not agree', record(flight(bytes(11, sized(3, bytes(uint(9, 3), server)))))),
    substitute('message 0x99 of a server', short, undefined),
  ];
}

function restorations(): KeyVector[] {
  const restore = (name: string, message: Buffer, result?: Buffer, known = chain) => {
    const input = { chain: base64(...known), hello: base64(clientHello()), records: base64(record(flight(message))) };
    return vector('restore', name, input, result);
  };
  const pieces = cut(flight(certificateOf(chain)), 700).map((piece) => record(piece));
  const references = chain.map(reference);
  return [
    restore('three references', compressed(references), plain),
    restore('one reference', compressed([reference(server), whole(issuing), whole(cross)]), plain, [server]),
    restore('in records of 700 bytes', compressed(references, [700, 700]), bytes(...pieces)),
    restore('Certificate itself', certificateOf(chain), plain),
    restore('L1, no entry', compressed([])),
    restore('L1, 17 entries', compressed(Array.from({ length: 17 }, () => reference(server)))),
    restore('L1, an entry of another kind', compressed([...references, Buffer.of(2, 0, 0, 0)])),
    restore('L1, an entry that is cut', compressed([...references, Buffer.of(0, 1)])),
    restore('L2, not listed', compressed([reference(person)])),
    restore('L2, nothing listed', compressed(references), undefined, []),
    restore('L4, a record without a byte', compressed(references, [700, 0])),
    restore('L4, records longer than the messages', compressed(references, [9000])),
  ];
}

/** Sample of the specification: figures 4-7 and 4-8 of the paper. */
export function linkSample(): string {
  const hex = (part: Buffer) => part.toString('hex');
  const line = (label: string, value: string) => `${label.padEnd(16)} ${value}`;
  const normal = certificateOf(chain);
  const crossing = compressed(chain.map(reference));
  return [
    'A chain of 926, 480 and 400 bytes, as servers send it, and as it crosses the link:',
    '',
    '```',
    line('list', hex(listOf(chain).subarray(0, 5))),
    ...entries(chain).map((entry) => line('', hex(entry))),
    line('', '00'),
    '',
    line('record', `${hex(plain.subarray(0, 5))}  = ${plain.length} bytes`),
    line('ServerHello', `${hex(serverHello().subarray(0, 6))}…`),
    line('Certificate', hex(normal.subarray(0, 7))),
    ...chain.map((each) => line('', `${hex(sized(3, each).subarray(0, 19))}…`)),
    line('ServerHelloDone', hex(done)),
    '',
    line('record', `${hex(short.subarray(0, 5))}  = ${short.length} bytes`),
    line('ServerHello', `${hex(serverHello().subarray(0, 6))}…`),
    line('Compressed', hex(crossing.subarray(0, 6))),
    ...chain.map((each) => line('', hex(reference(each)))),
    line('ServerHelloDone', hex(done)),
    '```',
  ].join('\n');
}
