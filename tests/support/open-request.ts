import { concatAll } from '../../core/encoding/bytes.ts';
import type { RequestHead } from '../../core/httpcrypt/binary-http.ts';
import { type Exchange, MessageReader } from '../../core/httpcrypt/exchange.ts';

/** Opens a whole request over HTTPCrypt, which no program takes as a whole. @throws ChannelError `channel-unreadable` */
export function openRequest(exchange: Exchange, body: Uint8Array) {
  const heads: RequestHead[] = [];
  const pieces: Uint8Array[] = [];
  const reader = MessageReader.ofRequest(exchange, {
    head: (head) => heads.push(head),
    content: (piece) => pieces.push(piece),
  });
  reader.end(body);
  return { head: heads[0] as RequestHead, content: concatAll(pieces), salt: reader.salt };
}
