/** Binary HTTP beside the examples of RFC 9292, and bhttp-js. */
import { BHttpDecoder, BHttpEncoder } from 'bhttp-js';
import { describe, expect, it } from 'vitest';
import { concat, utf8 } from '../../core/encoding/bytes.ts';
import { fromHex, toHex } from '../../core/encoding/hex.ts';
import {
  type AnswerHead,
  END_OF_PIECES,
  encodeHead,
  encodeLength,
  MAXIMUM_HEAD,
  MessageDecoder,
  type RequestHead,
} from '../../core/httpcrypt/binary-http.ts';

const bytes = (hex: string) => fromHex(hex.replace(/\s/g, '')) ?? new Uint8Array(0);

/** Section 5.1: of known length, and of indeterminate length with ten bytes of padding. */
const KNOWN_REQUEST = bytes(`
  00034745 54056874 74707300 0a2f6865 6c6c6f2e 74787440 6c0a7573 65722d61 67656e74 34637572 6c2f372e 31362e33
  206c6962 6375726c 2f372e31 362e3320 4f70656e 53534c2f 302e392e 376c207a 6c69622f 312e322e 3304686f 73740f77
  77772e65 78616d70 6c652e63 6f6d0f61 63636570 742d6c61 6e677561 67650665 6e2c206d 690000`);
const REQUEST_IN_PIECES = bytes(`
  02034745 54056874 74707300 0a2f6865 6c6c6f2e 7478740a 75736572 2d616765 6e743463 75726c2f 372e3136 2e33206c
  69626375 726c2f37 2e31362e 33204f70 656e5353 4c2f302e 392e376c 207a6c69 622f312e 322e3304 686f7374 0f777777
  2e657861 6d706c65 2e636f6d 0f616363 6570742d 6c616e67 75616765 06656e2c 206d6900 00000000 00000000 00000000`);
/** Section 5.2: after two interim answers; and of known length, with a trailer. */
const ANSWER_IN_PIECES = bytes(`
  03406607 72756e6e 696e670a 22736c65 65702031 35220040 67046c69 6e6b233c 2f737479 6c652e63 73733e3b 2072656c
  3d707265 6c6f6164 3b206173 3d737479 6c65046c 696e6b24 3c2f7363 72697074 2e6a733e 3b207265 6c3d7072 656c6f61
  643b2061 733d7363 72697074 0040c804 64617465 1d4d6f6e 2c203237 204a756c 20323030 39203132 3a32383a 35332047
  4d540673 65727665 72064170 61636865 0d6c6173 742d6d6f 64696669 65641d57 65642c20 3232204a 756c2032 30303920
  31393a31 353a3536 20474d54 04657461 67142233 34616133 38372d64 2d313536 38656230 30220d61 63636570 742d7261
  6e676573 05627974 65730e63 6f6e7465 6e742d6c 656e6774 68023531 04766172 790f4163 63657074 2d456e63 6f64696e
  670c636f 6e74656e 742d7479 70650a74 6578742f 706c6169 6e003348 656c6c6f 20576f72 6c642120 4d792063 6f6e7465
  6e742069 6e636c75 64657320 61207472 61696c69 6e672043 524c462e 0d0a0000`);
const KNOWN_ANSWER = bytes(`
  0140c800 1d546869 7320636f 6e74656e 7420636f 6e746169 6e732043 524c462e 0d0a0d07 74726169 6c657204 74657874`);

const REQUEST: RequestHead = {
  method: 'GET',
  scheme: 'https',
  authority: '',
  path: '/hello.txt',
  fields: [
    ...['user-agent', 'curl/7.16.3 libcurl/7.16.3 OpenSSL/0.9.7l zlib/1.2.3'],
    ...['host', 'www.example.com', 'accept-language', 'en, mi'],
  ],
};

interface Decoded {
  readonly head: RequestHead | AnswerHead;
  readonly content: string;
}

/** Decodes a message out of pieces of a length. */
function decode(kind: 'request' | 'answer', message: Uint8Array, length = message.length): Decoded {
  const heads: (RequestHead | AnswerHead)[] = [];
  let content = '';
  const parts = {
    head: (head: RequestHead | AnswerHead) => void heads.push(head),
    content: (piece: Uint8Array) => {
      expect(heads).toHaveLength(1);
      content += Buffer.from(piece).toString('latin1');
    },
  };
  const decoder = kind === 'request' ? MessageDecoder.ofRequest(parts) : MessageDecoder.ofAnswer(parts);
  for (let from = 0; from < message.length; from += length) decoder.push(message.slice(from, from + length));
  decoder.end();
  expect(heads).toHaveLength(1);
  return { head: heads[0] as RequestHead, content };
}

function outcome(kind: 'request' | 'answer', message: Uint8Array): string {
  try {
    return `${decode(kind, message).content.length} bytes`;
  } catch (error) {
    return (error as { code: string }).code;
  }
}

describe('the examples of RFC 9292', () => {
  it.each([1, 2, 7, 1000])('are read in pieces of %i bytes', (length) => {
    expect(decode('request', KNOWN_REQUEST, length)).toEqual({ head: REQUEST, content: '' });
    expect(decode('request', REQUEST_IN_PIECES, length)).toEqual({ head: REQUEST, content: '' });
    const { head, content } = decode('answer', ANSWER_IN_PIECES, length);
    expect(head).toMatchObject({ status: 200 });
    expect(head.fields.slice(0, 4)).toEqual(['date', 'Mon, 27 Jul 2009 12:28:53 GMT', 'server', 'Apache']);
    expect(head.fields).toHaveLength(16);
    expect(content).toBe('Hello World! My content includes a trailing CRLF.\r\n');
    expect(decode('answer', KNOWN_ANSWER, length)).toEqual({
      head: { status: 200, fields: [] },
      content: 'This content contains CRLF.\r\n',
    });
  });

  it('are written as they stand there, but for what may be left out at their ends', () => {
    const whole = toHex(encodeHead(REQUEST, 0));
    expect(whole).toBe(toHex(KNOWN_REQUEST.subarray(0, -1)));
    expect(toHex(REQUEST_IN_PIECES).startsWith(toHex(encodeHead(REQUEST, undefined)))).toBe(true);
    const { head, content } = decode('answer', ANSWER_IN_PIECES);
    const again = concat(encodeHead(head, undefined), encodeLength(51), utf8(content), END_OF_PIECES);
    expect(toHex(ANSWER_IN_PIECES).endsWith(toHex(again.subarray(1)))).toBe(true);
  });

  it('are refused when they are cut anywhere but where RFC 9292 has it', () => {
    const whole = (kind: 'request' | 'answer', message: Uint8Array) =>
      Array.from({ length: message.length }, (_, length) => length).filter(
        (length) => outcome(kind, message.subarray(0, length)) !== 'channel-unreadable',
      );
    // Cuts are allowed before content and trailers.
    expect(whole('request', KNOWN_REQUEST)).toEqual([133, 134]);
    expect(whole('answer', KNOWN_ANSWER)).toEqual([4, 34]);
    const { length } = REQUEST_IN_PIECES;
    expect(whole('request', REQUEST_IN_PIECES)).toEqual(Array.from({ length: 12 }, (_, at) => length - 12 + at));
    const at = (hex: string) => toHex(ANSWER_IN_PIECES).indexOf(hex) / 2;
    expect(whole('answer', ANSWER_IN_PIECES)).toEqual([at('3348656c'), ANSWER_IN_PIECES.length - 1]);
  });
});

describe('bhttp-js', () => {
  it('reads what is written here', async () => {
    const fields = ['content-type', 'text/plain', 'x-long', 'a'.repeat(300)];
    const head: RequestHead = { method: 'POST', scheme: 'http', authority: 'a.example', path: '/b', fields };
    for (const length of [1, 100, 20_000]) {
      const content = new Uint8Array(length).fill(65);
      const request = new BHttpDecoder().decodeRequest(concat(encodeHead(head, length), content));
      expect([request.method, request.url]).toEqual(['POST', 'http://a.example/b']);
      expect([request.headers.get('content-type'), request.headers.get('x-long')]).toEqual([fields[1], fields[3]]);
      expect(await request.text()).toBe('A'.repeat(length));
      const pieces = [encodeLength(length), content, encodeLength(length), content, END_OF_PIECES];
      const answer = new BHttpDecoder().decodeResponse(
        concat(encodeHead({ status: 404, fields }, undefined), ...pieces),
      );
      expect([answer.status, answer.headers.get('x-long')]).toEqual([404, fields[3]]);
      expect(await answer.text()).toBe('A'.repeat(2 * length));
    }
  });

  it('writes what is read here', async () => {
    const headers = { 'x-name': 'value', accept: '*/*' };
    for (const body of ['', 'abc', 'x'.repeat(70_000)]) {
      const request = new Request('http://a.example:81/path', { method: 'PUT', headers, body });
      const { head, content } = decode('request', await new BHttpEncoder().encodeRequest(request));
      expect(head).toMatchObject({ method: 'PUT', scheme: 'http', authority: 'a.example:81', path: '/path' });
      expect(head.fields.join()).toContain('accept,*/*');
      expect(content).toBe(body);
      const response = new Response(body, { status: 503, headers });
      const answer = decode('answer', await new BHttpEncoder().encodeResponse(response));
      expect(answer.head).toMatchObject({ status: 503 });
      expect(answer.content).toBe(body);
    }
  });
});

describe('a message that is no message', () => {
  const request = (changes: Partial<RequestHead>) =>
    outcome(
      'request',
      encodeHead({ method: 'GET', scheme: 'http', authority: 'a', path: '/', fields: [], ...changes }, 0),
    );

  it('is refused for a method, a URL or fields that HTTP does not have', () => {
    expect(request({ fields: ['a', '', 'b', 'c d\té'] })).toBe('0 bytes');
    const bad: Partial<RequestHead>[] = [
      ...['', 'GET ', 'G\r\nT'].map((method) => ({ method })),
      ...['', 'a', '/a b', '/\n', '**'].map((path) => ({ path })),
      ...['a b', 'a\n', 'é'].map((authority) => ({ authority })),
      ...['', ':path', 'a b', 'a:', 'é'].map((name) => ({ fields: [name, 'x'] })),
      ...['1e1', '0xa', '+10', '1.0', '', '1, 1', '1', '0'.repeat(16)].map((length) => ({
        fields: ['Content-Length', length],
      })),
      { fields: ['content-length', '0', 'Content-Length', '0'] },
      ...[' a', 'a ', 'a\r\nb: c', 'a\0b', '\x7f', 'č'].map((value) => ({ fields: ['x', value] })),
    ];
    for (const changes of bad) expect({ changes, is: request(changes) }).toEqual({ changes, is: 'channel-unreadable' });
  });

  it('attack 112: is refused where a request has not as much content as it says, before more of it is heard', () => {
    const pieces = (said: number, ...lengths: number[]) => {
      const fields = ['x', 'content-length', 'content-length', String(said)];
      const head = encodeHead({ method: 'PUT', scheme: 'http', authority: 'a', path: '/', fields }, undefined);
      const content = lengths.flatMap((length) => [encodeLength(length), new Uint8Array(length)]);
      return outcome('request', concat(head, ...content, END_OF_PIECES));
    };
    expect([pieces(3, 1, 2), pieces(0)]).toEqual(['3 bytes', '0 bytes']);
    expect([pieces(3, 1, 1), pieces(3, 1, 3), pieces(1)]).toEqual(Array(3).fill('channel-unreadable'));
  });

  it('is refused for another kind, no such status, or something behind it', () => {
    expect(outcome('answer', KNOWN_REQUEST)).toBe('channel-unreadable');
    expect(outcome('request', KNOWN_ANSWER)).toBe('channel-unreadable');
    expect(outcome('request', concat(Uint8Array.of(4), KNOWN_REQUEST.subarray(1)))).toBe('channel-unreadable');
    for (const status of [0, 99, 600, 16_383])
      expect(outcome('answer', encodeHead({ status, fields: [] }, 0))).toBe('channel-unreadable');
    expect(outcome('answer', encodeHead({ status: 103, fields: [] }, 0))).toBe('channel-unreadable');
    expect(outcome('request', concat(KNOWN_REQUEST, Uint8Array.of(0, 0)))).toBe('0 bytes');
    expect(outcome('request', concat(KNOWN_REQUEST, Uint8Array.of(0, 1)))).toBe('channel-unreadable');
    // A field that is longer than the section that says it has it.
    expect(outcome('answer', bytes('0140c8 03 01 61 05 6161616161'))).toBe('channel-unreadable');
  });

  it('is refused for a length beyond all bounds, and not for numbers in more bytes than they take', () => {
    expect(outcome('answer', bytes('4001 80 0000c8 4000 c0 00000000000002 6161'))).toBe('2 bytes');
    expect(outcome('answer', bytes('01 40c8 00 ff ffffffffffffff'))).toBe('channel-unreadable');
  });
});

it('heads, interim answers and trailers are read up to their bounds, announced or bit by bit', () => {
  const field = (length: number) => ['x', 'a'.repeat(length)];
  const head = (fields: string[]) => encodeHead({ status: 200, fields }, undefined);
  expect(outcome('answer', head(field(MAXIMUM_HEAD - 20)))).toBe('0 bytes');
  expect(outcome('answer', head(field(MAXIMUM_HEAD)))).toBe('channel-unreadable');
  expect(outcome('answer', head(Array.from({ length: 70 }, () => field(1000)).flat()))).toBe('channel-unreadable');
  const fields = (count: number) => head(Array.from({ length: count }, () => field(1)).flat());
  expect([1000, 1001].map((count) => outcome('answer', fields(count)))).toEqual(['0 bytes', 'channel-unreadable']);
  // A length alone is enough.
  expect(() =>
    MessageDecoder.ofAnswer({ head: () => {}, content: () => {} }).push(bytes('03 40c8 01 61 80020000')),
  ).toThrow(expect.objectContaining({ code: 'channel-unreadable' }));
  // Interim answers count; trailers have a bound of their own.
  const interim = bytes(`4066 01 61 4400 ${'61'.repeat(1024)} 00`);
  const many = (count: number) => concat(bytes('03'), ...Array.from({ length: count }, () => interim), bytes('40c800'));
  expect(outcome('answer', many(60))).toBe('0 bytes');
  expect(outcome('answer', many(70))).toBe('channel-unreadable');
  const long = head(field(MAXIMUM_HEAD - 20));
  const trailers = (length: number) =>
    concat(long, bytes('00 01 61'), encodeLength(length), new Uint8Array(length).fill(97), bytes('00'));
  expect(outcome('answer', trailers(MAXIMUM_HEAD - 20))).toBe('0 bytes');
  expect(outcome('answer', trailers(MAXIMUM_HEAD))).toBe('channel-unreadable');
});

it('a head that comes in very many pieces is refused before it costs the square of its length', () => {
  const decoder = MessageDecoder.ofAnswer({ head: () => {}, content: () => {} });
  const begun = encodeHead({ status: 200, fields: ['x', 'a'.repeat(60_000)] }, undefined).subarray(0, 60_000);
  const pieces = [begun, ...Array.from({ length: 20 }, () => new Uint8Array(0))];
  expect(() => pieces.forEach((piece) => void decoder.push(piece))).toThrow(
    expect.objectContaining({ code: 'channel-unreadable' }),
  );
});
