/** Answers of a host that are broken in every way that fast-check thinks of: from good ones with small faults to noise. */
import fc from 'fast-check';

export interface MalformedAnswer {
  readonly bytes: Buffer;
  /** Offsets at which the bytes are cut into pieces that are sent one by one. */
  readonly cuts: readonly number[];
  /** Tells whether the connection ends with a reset, or properly. */
  readonly reset: boolean;
}

type Change = (bytes: Buffer) => Buffer;

const STATUS_LINES = [
  'HTTP/1.1 200 OK',
  'HTTP/1.1 206 Partial Content',
  'HTTP/1.0 200 OK',
  'HTTP/1.1 204 No Content',
  'HTTP/1.1 304 Not Modified',
  'HTTP/1.1 416 Range Not Satisfiable',
  'HTTP/1.1 100 Continue',
  'HTTP/1.1 101 Switching Protocols',
  'HTTP/1.1 302 Found',
  'HTTP/1.1 999 ?',
  'HTTP/2.0 200 OK',
  'HTTP/1.1  200',
  'ICY 200 OK',
  '',
];

const FIELDS = [
  'Content-Length: 5',
  'Content-Length: -1',
  'Content-Length: 18446744073709551617',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: \u000bchunked',
  'Connection: close',
  'Connection: keep-alive, upgrade',
  'Upgrade: h2c',
  'Content-Encoding: gzip',
  'Content-Range: bytes 0-4/5',
  'Content-Range: bytes 9-1/*',
  'Location: http://127.0.0.1/',
  'Set-Cookie: a=b',
  'Trailer: x',
  ' folded: line',
  'no colon',
  ': empty',
  'X: a\0b',
  'X: \r',
];

const change: fc.Arbitrary<Change> = fc.oneof(
  at((bytes, place, value) => {
    bytes[place] = value;
    return bytes;
  }),
  at((bytes, place) => bytes.subarray(0, place)),
  at((bytes, place, value) => Buffer.concat([bytes.subarray(0, place), Buffer.of(value), bytes.subarray(place)])),
  at((bytes, place, value) => Buffer.concat([bytes.subarray(0, place), bytes.subarray(place + value)])),
  at((bytes, place, value) => Buffer.concat([bytes.subarray(0, place), bytes.subarray(Math.max(0, place - value))])),
);

function at(work: (bytes: Buffer, place: number, value: number) => Buffer): fc.Arbitrary<Change> {
  // Places are mostly near the beginning, where the head of the answer is.
  const place = fc.oneof(fc.nat({ max: 120 }), fc.nat({ max: 100_000 }));
  return fc.tuple(place, fc.nat({ max: 255 })).map(([where, value]) => (bytes) => {
    return bytes.length === 0 ? bytes : work(Buffer.from(bytes), where % bytes.length, value);
  });
}

/** @param object - what a good host would send */
export function malformedAnswer(object: Uint8Array): fc.Arbitrary<MalformedAnswer> {
  const body = Buffer.from(object);
  const head = fc
    .tuple(fc.constantFrom(...STATUS_LINES), fc.array(fc.constantFrom(...FIELDS), { maxLength: 4 }))
    .map(([status, fields]) => Buffer.from(`${[status, ...fields].join('\r\n')}\r\n\r\n`, 'latin1'));
  const bytes = fc.oneof(
    { weight: 4, arbitrary: changed(fc.constant(withLength(body))) },
    { weight: 3, arbitrary: changed(fc.integer({ min: 1, max: 70_000 }).map((size) => inChunks(body, size))) },
    { weight: 3, arbitrary: changed(head.map((one) => Buffer.concat([one, body]))) },
    { weight: 1, arbitrary: head },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 300 }).map((one) => Buffer.from(one)) },
  );
  return fc.record({ bytes, cuts: fc.array(fc.nat({ max: 1000 }), { maxLength: 3 }), reset: fc.boolean() });
}

function changed(answer: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> {
  return fc
    .tuple(answer, fc.array(change, { maxLength: 3 }))
    .map(([bytes, changes]) => changes.reduce((before, one) => one(before), bytes));
}

function withLength(body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`), body]);
}

function inChunks(body: Buffer, size: number): Buffer {
  const parts: Buffer[] = [Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')];
  for (let start = 0; start < body.length; start += size) {
    const part = body.subarray(start, start + size);
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'));
    if (parts.length > 300) break;
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}
