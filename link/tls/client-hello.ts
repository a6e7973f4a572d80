/** ClientHello (RFC 5246 section 7.4.1.2) with its extensions (RFC 6066), and how an extension is put in front of them and taken out. */
import { LIMITS } from '../limits.ts';
import { type Cursor, Malformed, number, prefix, readWhole } from './cursor.ts';
import { type Extension, MESSAGE, readExtensions, writeMessage } from './messages.ts';
import { CONTENT, type TlsRecord, writeRecord } from './records.ts';

/** The extension between the relays. */
export const LIST_EXTENSION = 0x0099;
const SERVER_NAME = 0;
const HOST_NAME = 0;
const NAME = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;
const NAME_LENGTH = 253;

export interface ClientHello {
  /** Name in lower case; `undefined` where there is none, or none that is a DNS name. */
  readonly serverName: string | undefined;
  /** The message up to its extensions, without header. */
  readonly front: Buffer;
  readonly extensions: readonly Extension[];
}

/** @returns `undefined` for everything but one whole ClientHello that has extensions */
export function readClientHello({ type, content }: TlsRecord): ClientHello | undefined {
  if (type !== CONTENT.handshake) return undefined;
  return readWhole(content, (message) => {
    const isClientHello = message.number(1) === MESSAGE.clientHello;
    const body = message.prefixed(3);
    return isClientHello ? readWhole(body, (cursor) => readBody(body, cursor)) : undefined;
  });
}

function readBody(body: Buffer, cursor: Cursor): ClientHello {
  cursor.read(2 + 32); // version, random
  cursor.prefixed(1); // session
  cursor.prefixed(2); // cipher suites
  cursor.prefixed(1); // compression
  const front = body.subarray(0, cursor.offset);
  const extensions = readExtensions(cursor.prefixed(2));
  if (extensions === undefined) throw new Malformed('extensions');
  const named = extensions.find(({ type }) => type === SERVER_NAME);
  return { front, extensions, serverName: named && readServerName(named.data) };
}

function readServerName(data: Buffer): string | undefined {
  const name = readWhole(data, (list) => {
    const entry = list.prefixed(2);
    return readWhole(entry, (cursor) => (cursor.number(1) === HOST_NAME ? cursor.prefixed(2) : undefined));
  });
  const text = name?.toString('latin1').toLowerCase() ?? '';
  return text.length <= NAME_LENGTH && NAME.test(text) ? text : undefined;
}

/** @returns the record with the extension in front; `undefined` if it would be too long */
export function withExtension(record: TlsRecord, hello: ClientHello, data: Buffer): Buffer | undefined {
  const inserted = Buffer.concat([number(LIST_EXTENSION, 2), prefix(data, 2)]);
  const content = write(hello, [inserted, ...hello.extensions.map(({ bytes }) => bytes)]);
  return content.length > LIMITS.record ? undefined : writeRecord(record.version, content);
}

/** The record without its first extension. */
export function withoutFirst(record: TlsRecord, hello: ClientHello): Buffer {
  const [, ...others] = hello.extensions;
  return writeRecord(
    record.version,
    write(
      hello,
      others.map(({ bytes }) => bytes),
    ),
  );
}

function write({ front }: ClientHello, extensions: readonly Buffer[]): Buffer {
  const body = Buffer.concat([front, prefix(Buffer.concat(extensions), 2)]);
  return writeMessage(MESSAGE.clientHello, body);
}
