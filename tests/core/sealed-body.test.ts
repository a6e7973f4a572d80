/** Bodies in sealed chunks, beside libsodium's XChaCha20-Poly1305. */
import sodium from 'libsodium-wrappers';
import { describe, expect, it } from 'vitest';
import { chachaOpen, chachaSeal, hchacha20 } from '#channel';
import { randomBytes } from '#primitives';
import { concat, utf8 } from '../../core/encoding/bytes.ts';
import { fromHex, toHex } from '../../core/encoding/hex.ts';
import { BodyOpener, BodySealer, CHUNK_DATA, SEALED_CHUNK } from '../../core/httpcrypt/sealed-body.ts';

const secret = randomBytes(32);
const context = utf8('the context');

function sealed(parts: readonly Uint8Array[], random?: Uint8Array): Uint8Array {
  const sealer = new BodySealer(secret, context, random);
  return concat(...parts.flatMap((part) => sealer.push(part)), ...sealer.end());
}

/** Content of a body that comes in pieces of a length; the code of the error. */
function opened(body: Uint8Array, length = body.length, more = context): Uint8Array | string {
  const opener = new BodyOpener(secret, more);
  try {
    const data: Uint8Array[] = [];
    for (let from = 0; from < body.length; from += length) data.push(...opener.push(body.slice(from, from + length)));
    data.push(...opener.end());
    return concat(...data);
  } catch (error) {
    return (error as { code: string }).code;
  }
}

describe('the cipher', () => {
  const bytes = (hex: string) => fromHex(hex) ?? new Uint8Array(0);

  it('seals the example of draft-irtf-cfrg-xchacha-03, A.3.1', () => {
    const plaintext = utf8(
      "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it.",
    );
    const key = Uint8Array.from({ length: 32 }, (_, index) => 0x80 + index);
    const nonce = Uint8Array.from({ length: 24 }, (_, index) => 0x40 + index);
    const [inner, short] = [hchacha20(key, nonce.subarray(0, 16)), concat(new Uint8Array(4), nonce.subarray(16))];
    const data = bytes('50515253c0c1c2c3c4c5c6c7');
    const ciphertext = chachaSeal(inner, short, plaintext, data);
    expect(toHex(ciphertext)).toBe(
      'bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54c216cb96b72e1213b4522f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff921f9664c97637da9768812f615c68b13b52ec0875924c1c7987947deafd8780acf49',
    );
    expect(chachaOpen(inner, short, ciphertext, data)).toEqual(Buffer.from(plaintext));
    expect(chachaOpen(inner, short, ciphertext, new Uint8Array(0))).toBeUndefined();
    expect(chachaOpen(inner, short, ciphertext.subarray(0, 15), data)).toBeUndefined();
  });

  it('is that of libsodium under keys and nonces of any kind', () => {
    for (let round = 0; round < 200; round++) {
      const [key, nonce, plaintext] = [randomBytes(32), randomBytes(24), randomBytes(round)];
      if (round < 3) for (const each of [key, nonce]) each.fill([0, 255, 128][round] ?? 0);
      const short = concat(new Uint8Array(4), nonce.subarray(16));
      const ours = chachaSeal(hchacha20(key, nonce.subarray(0, 16)), short, plaintext, context);
      const theirs = sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(plaintext, context, null, nonce, key);
      expect(toHex(ours)).toBe(toHex(theirs));
    }
  });
});

describe('a sealed body', () => {
  it('is opened however it was cut into pieces on both sides', () => {
    for (const length of [0, 1, 1021, 1022, CHUNK_DATA - 1, CHUNK_DATA, CHUNK_DATA + 1, 3 * CHUNK_DATA, 100_000]) {
      const message = randomBytes(length);
      const parts = [7, 20_000].map((cut) => [message.subarray(0, cut), message.subarray(cut)]);
      for (const body of [[message], ...parts].map((each) => sealed(each)))
        for (const pieces of [1000, SEALED_CHUNK, SEALED_CHUNK + 16, body.length])
          expect(toHex(opened(body, pieces) as Uint8Array)).toBe(toHex(message));
      const sealer = new BodySealer(secret, context);
      expect(toHex(opened(concat(...sealer.end(message))) as Uint8Array)).toBe(toHex(message));
    }
  });

  it('is refused where the padding of any chunk is not zeros', () => {
    const salt = randomBytes(16);
    const chunk = (plain: Uint8Array, number: number, isLast: boolean) => {
      const nonce = concat(salt, Uint8Array.of(0, 0, 0, 0, 0, 0, number, isLast ? 1 : 0));
      return sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(plain, context, null, nonce, secret);
    };
    const whole = (first: number, last: number) => {
      const plain = [new Uint8Array(SEALED_CHUNK - 16), new Uint8Array(1024)] as const;
      plain[0][SEALED_CHUNK - 17] = first;
      plain[1][1023] = last;
      return opened(concat(salt, chunk(plain[0], 0, false), chunk(plain[1], 1, true)));
    };
    expect(whole(0, 0)).toEqual(new Uint8Array(0));
    expect([whole(1, 0), whole(0, 1)]).toEqual(['channel-unreadable', 'channel-unreadable']);
  });

  it('is as long as its KiB, and up to 63 bytes', () => {
    const lengthOf = (length: number, padding: number) =>
      sealed([new Uint8Array(length)], concat(new Uint8Array(16), Uint8Array.of(padding))).length - 32;
    for (const length of [0, 1, 1022, 1023, 5000, 9000, 15_000]) {
      const padded = Math.ceil((length + 2) / 1024) * 1024;
      expect([0, 17, 63, 64].map((padding) => lengthOf(length, padding) - padded)).toEqual([0, 17, 63, 0]);
    }
    expect(lengthOf(CHUNK_DATA - 1000, 0)).toBe(SEALED_CHUNK - 16);
    expect(lengthOf(CHUNK_DATA, 63)).toBe(SEALED_CHUNK - 16);
  });

  it('gives what it has as soon as it is flushed', () => {
    const sealer = new BodySealer(secret, context);
    const opener = new BodyOpener(secret, context);
    for (const text of ['one', 'two', 'three']) {
      expect(sealer.push(utf8(text))).toEqual([]);
      expect(sealer.isHolding).toBe(true);
      expect(opener.push(concat(...sealer.flush())).map((each) => Buffer.from(each).toString())).toEqual([text]);
      expect(sealer.isHolding).toBe(false);
    }
    expect(opener.end(concat(...sealer.end())).map(({ length }) => length)).toEqual([0]);
  });

  it('attack 112: is refused when it is cut, continued, or put together otherwise', () => {
    const message = randomBytes(3 * CHUNK_DATA);
    const body = sealed([message]);
    const chunk = (number: number, from = body) =>
      from.subarray(16 + number * SEALED_CHUNK, 16 + (number + 1) * SEALED_CHUNK);
    const salt = body.subarray(0, 16);
    const other = sealed([message]);
    const bad: Record<string, Uint8Array> = {
      nothing: new Uint8Array(0),
      'half a salt': salt.subarray(0, 8),
      'a salt': salt,
      'without its last chunk': body.subarray(0, 16 + 2 * SEALED_CHUNK),
      'without its first chunk': concat(salt, chunk(1), chunk(2)),
      'cut in a chunk': body.subarray(0, -1),
      'cut to a tag': body.subarray(0, 32),
      'continued by a byte': concat(body, new Uint8Array(1)),
      'continued by a chunk': concat(body, chunk(0)),
      'in another order': concat(salt, chunk(1), chunk(0), chunk(2)),
      'a chunk twice': concat(salt, chunk(0), chunk(0), chunk(1), chunk(2)),
      'a chunk of another body': concat(salt, chunk(0, other), chunk(1), chunk(2)),
      'a salt of another body': concat(other.subarray(0, 16), body.subarray(16)),
    };
    for (const [name, each] of Object.entries(bad))
      for (const pieces of [1000, SEALED_CHUNK, 100_000])
        expect({ name, opened: opened(each, pieces) }).toEqual({ name, opened: 'channel-unreadable' });
    for (const at of [0, 20, SEALED_CHUNK, body.length - 1]) {
      const flipped = body.slice();
      flipped[at] = (flipped[at] ?? 0) ^ 1;
      expect(opened(flipped)).toBe('channel-unreadable');
    }
    expect(opened(body, undefined, utf8('another context'))).toBe('channel-unreadable');
    expect(opened(body)).toEqual(message);
  });
});
