/** Bodies in pieces, at the client: docs/spec/httpcrypt.md, "Sealed bodies". */
import { setTimeout as sleep } from 'node:timers/promises';
import type { AnswerHead, RequestHead } from '../../core/httpcrypt/binary-http.ts';
import { type Exchange, MessageReader, MessageWriter, type Ticket } from '../../core/httpcrypt/exchange.ts';

/** Milliseconds that more is waited for, before what is there goes as a chunk. */
const HELD = 50;

export interface OpenedAnswer extends AnswerHead {
  readonly ticket: Ticket;
  readonly body: AsyncGenerator<Uint8Array, void>;
}

/** Reads an answer until its head is there; the rest follows no faster than it is read. @param salt - of the request @throws ChannelError */
export async function openStream(exchange: Exchange, salt: Uint8Array, sealed: AsyncIterable<Uint8Array>) {
  const heard: (Ticket | AnswerHead | Uint8Array)[] = [];
  const hear = (part: Ticket | AnswerHead | Uint8Array) => void heard.push(part);
  const reader = MessageReader.ofAnswer(exchange, salt, { ticket: hear, head: hear, content: hear });
  async function* read() {
    for await (const bytes of sealed) {
      reader.push(bytes);
      yield* heard.splice(0);
    }
    reader.end();
    yield* heard.splice(0);
  }
  // Parts come in this order. The generator is begun here, so that whoever has no use for the body can end all of it.
  const parts = read();
  const [ticket, head] = [await parts.next(), await parts.next()];
  return { ticket: ticket.value, ...head.value, body: parts } as OpenedAnswer;
}

/** Seals a request as its content comes. @returns the body, and its salt, which the answer is opened with */
export function sealStream(exchange: Exchange, head: RequestHead, content: AsyncIterable<Uint8Array>) {
  const writer = MessageWriter.ofRequest(exchange, head);
  async function* body(): AsyncGenerator<Uint8Array> {
    const source = content[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = source.next();
        const here = () => false;
        const isLate = () => Promise.race([next.then(here, here), sleep(HELD, true, { ref: false })]);
        if (writer.isHolding && (await isLate())) yield* writer.flush();
        const { done, value } = await next;
        if (done) return yield* writer.end();
        yield* writer.push(value);
      }
    } finally {
      await source.return?.();
    }
  }
  return { body: body(), salt: writer.salt };
}
