/** Objects whose signature or digest list is wrong: steps 6 and 7. */
import { CHUNK_LENGTH, ed25519Sign, sha256 } from '#primitives';
import { keyIdOf } from '../../../core/crypto/key-id.ts';
import { concat } from '../../../core/encoding/bytes.ts';
import { type ObjectVector, toBase64 } from '../format.ts';
import { encryptedOptions, otherPublisher, publisher, sparseObject } from './fixed.ts';
import { flipBit, joinObject, splitObject, withDigests, withHeader } from './forge.ts';
import { refused, smallParts, TEXT } from './vector.ts';

export async function badSignatures(): Promise<ObjectVector[]> {
  return [...(await signatures()), ...(await digestLists())];
}

async function signatures(): Promise<ObjectVector[]> {
  const parts = await smallParts('signature');
  const { signature, header } = parts;
  const withSignature = (bytes: Uint8Array) => joinObject({ ...parts, signature: bytes });
  const bySubscriber = withHeader(parts, { path: '/b.html' }, otherPublisher.secretKey);
  const unlabelled = ed25519Sign(header, publisher.secretKey);
  const smallOrderKey = new Uint8Array(32);
  smallOrderKey[0] = 1;
  const smallOrder = withHeader(parts, { publisher: await keyIdOf('publisher', smallOrderKey) });
  const text = new TextDecoder().decode(header);
  const flippable = [text.indexOf('/a.html') + 1, text.indexOf('news.example'), text.indexOf('"blockChunks":4') + 14];
  return Promise.all([
    refused('signature of zeros', 'signature-invalid', withSignature(new Uint8Array(64)), { attacks: [5] }),
    refused('signature, R flipped', 'signature-invalid', withSignature(flipBit(signature, 0)), { attacks: [5] }),
    refused('signature, S flipped', 'signature-invalid', withSignature(flipBit(signature, 32)), { attacks: [5] }),
    refused('signature, L added to S', 'signature-invalid', withSignature(addGroupOrder(signature)), { attacks: [5] }),
    refused('signature over the header without its label', 'signature-invalid', withSignature(unlabelled), {
      attacks: [5],
    }),
    refused('signature left out', 'signature-invalid', withSignature(new Uint8Array(0)), { attacks: [5] }),
    refused(
      'a byte between signature and digests',
      'block-digest',
      withSignature(concat(signature, new Uint8Array(1))),
      { attacks: [5] },
    ),
    ...flippable.map((offset) =>
      refused(
        `header, bit flipped at byte ${offset}`,
        'signature-invalid',
        joinObject({ ...parts, header: flipBit(header, offset) }),
        { attacks: [6] },
      ),
    ),
    refused('header signed by another key under the publisher id', 'signature-invalid', joinObject(bySubscriber), {
      attacks: [17, 20],
      reader: { path: '/b.html' },
    }),
    refused(
      'publisher key of small order',
      'signature-invalid',
      joinObject({ ...smallOrder, signature: concat(smallOrderKey, new Uint8Array(32)) }),
      {
        attacks: [5],
        reader: { publisherKey: toBase64(smallOrderKey) },
      },
    ),
  ]);
}

/** S + L is the same number modulo L: a second spelling of the same signature. */
function addGroupOrder(signature: Uint8Array): Uint8Array {
  const order = 2n ** 252n + 27742317777372353535851937790883648493n;
  let s = 0n;
  for (let index = 63; index >= 32; index--) s = (s << 8n) | BigInt(signature[index] ?? 0);
  s += order;
  const changed = new Uint8Array(signature);
  for (let index = 32; index < 64; index++, s >>= 8n) changed[index] = Number(s & 0xffn);
  return changed;
}

async function digestLists(): Promise<ObjectVector[]> {
  const options = await encryptedOptions('digests', CHUNK_LENGTH + 100, { blockChunks: 1 });
  const parts = splitObject((await sparseObject(options)).object);
  const { digests } = parts;
  const withList = (bytes: Uint8Array) => joinObject({ ...parts, digests: bytes });
  const [first, second] = [digests.subarray(0, 32), digests.subarray(32)];
  const foreign = concat(await sha256(TEXT), second);
  return Promise.all([
    refused('digest list, bit flipped', 'block-digest', withList(flipBit(digests, 40)), { attacks: [7] }),
    refused('digest list, one missing', 'block-digest', withList(first), { attacks: [7] }),
    refused('digest list, one too many', 'block-digest', withList(concat(digests, second)), { attacks: [7] }),
    refused('digest list, exchanged', 'block-digest', withList(concat(second, first)), { attacks: [7] }),
    refused('digest list, one replaced', 'block-digest', withList(foreign), { attacks: [7] }),
    refused('digest list, signed with one missing', 'block-digest', joinObject(await withDigests(parts, first)), {
      attacks: [7],
    }),
  ]);
}
