/** Whole messages over HTTPCrypt, which no program opens as a whole. Both functions throw ChannelError `channel-unreadable`. */
import { concatAll } from '../../core/encoding/bytes.ts';
import type { AnswerHead, RequestHead } from '../../core/httpcrypt/binary-http.ts';
import { type Exchange, MessageReader, type Ticket } from '../../core/httpcrypt/exchange.ts';

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

/** @param salt - of the request */
export function openAnswer(exchange: Exchange, salt: Uint8Array, body: Uint8Array) {
  const heads: AnswerHead[] = [];
  const tickets: Ticket[] = [];
  const pieces: Uint8Array[] = [];
  const parts = {
    ticket: (ticket: Ticket) => void tickets.push(ticket),
    head: (head: AnswerHead) => void heads.push(head),
    content: (piece: Uint8Array) => void pieces.push(piece),
  };
  MessageReader.ofAnswer(exchange, salt, parts).end(body);
  return { ...(heads[0] as AnswerHead), ticket: tickets[0] as Ticket, content: concatAll(pieces) };
}
