/** `wispr inspect FILE`: what a protected object says about itself. Nothing is proved by it. */
import { createReadStream } from 'node:fs';
import { ByteReader } from '../../core/encoding/byte-reader.ts';
import { isHtmlCarrier, openCarrier } from '../../core/object/carrier.ts';
import { blockCount, messageLength } from '../../core/object/geometry.ts';
import { type Header, isEncrypted, payloadShape } from '../../core/object/header.ts';
import { readUnverifiedHead } from '../../core/object/read-head.ts';
import { whenUnreadable } from '../errors.ts';
import { startOf } from '../publication/sources.ts';

/** Facts in an object's head, and whether the file has the length that follows from it. */
export interface Inspection {
  readonly carrier: 'bare' | 'html';
  readonly header: Header;
  readonly headLength: number;
  readonly blocks: number;
  /** Bytes of what is encrypted, its padding included; of the content of a signed document. */
  readonly messageLength: number;
  /** Bytes that follow the head in this file, or in its carrier. */
  readonly bytesAfterHead: number;
  /** Bytes that should. A signed document's content lies beside its head. */
  readonly expectedAfterHead: number;
}

/**
 * Reads the head of an object in either carrier.
 *
 * @throws ObjectError if it has no form that could be verified; PublishError `unreadable`
 */
export async function inspectFile(file: string): Promise<Inspection> {
  const start = await startOf(createReadStream(file), 16).catch(whenUnreadable('unreadable', file));
  const input = new ByteReader(openCarrier(createReadStream(file)));
  const head = await readUnverifiedHead(input).catch(async (error: unknown) => {
    await input.cancel();
    throw error;
  });
  let bytesAfterHead = 0;
  for await (const piece of input.remaining()) bytesAfterHead += piece.length;
  const { header, length } = head;
  const shape = payloadShape(header);
  return {
    carrier: isHtmlCarrier(start) ? 'html' : 'bare',
    header,
    headLength: length,
    blocks: blockCount(shape),
    messageLength: messageLength(shape),
    bytesAfterHead,
    expectedAfterHead: isEncrypted(header) ? header.payloadLength : 0,
  };
}
