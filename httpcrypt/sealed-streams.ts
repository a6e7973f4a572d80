/** Bodies in pieces: docs/spec/httpcrypt.md, "Sealed bodies". */
import { setTimeout as sleep } from 'node:timers/promises';
import { concatAll } from '../core/encoding/bytes.ts';
import type { AnswerHead, RequestHead } from '../core/httpcrypt/binary-http.ts';
import { type Exchange, MessageReader, MessageWriter, type Ticket } from '../core/httpcrypt/exchange.ts';

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
  // Parts come in this order. The generator is begun here, so that whoever has no use for the body can end all of it.
  const parts = openPieces(reader, heard, sealed);
  const [ticket, head] = [await parts.next(), await parts.next()];
  return { ticket: ticket.value, ...head.value, body: parts } as OpenedAnswer;
}

/** Seals a request as its content comes. @returns the body, and its salt, which the answer is opened with */
export function sealStream(exchange: Exchange, head: RequestHead, content: AsyncIterable<Uint8Array>) {
  const writer = MessageWriter.ofRequest(exchange, head);
  async function* body(): AsyncGenerator<Uint8Array> {
    yield yield* sealPieces(writer, content);
  }
  return { body: body(), salt: writer.salt };
}

/** Opens a message as it comes. @param heard - where `reader` puts its parts @throws ChannelError; what `sealed` throws */
export async function* openPieces<Part>(
  reader: MessageReader,
  heard: Part[],
  sealed: AsyncIterable<Uint8Array>,
): AsyncGenerator<Part, void> {
  for await (const bytes of sealed) {
    reader.push(bytes);
    yield* heard.splice(0);
  }
  reader.end();
  yield* heard.splice(0);
}

/** Seals content as it comes, so that slow streams pass at once, and fast ones fill their chunks. @returns the end of the body */
export async function* sealPieces(
  writer: MessageWriter,
  content: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, Uint8Array> {
  const source = content[Symbol.asyncIterator]();
  const here = () => false;
  try {
    for (let late: Promise<boolean> | undefined; ; ) {
      const next = source.next();
      if (writer.isHolding) late ??= sleep(HELD, true, { ref: false });
      if (late && (await Promise.race([next.then(here, here), late]))) {
        yield* writer.flush();
        late = undefined;
      }
      const { done, value } = await next;
      if (done) return concatAll(writer.end());
      const full = writer.push(value);
      if (full.length > 0) late = undefined;
      yield* full;
    }
  } finally {
    await source.return?.();
  }
}
