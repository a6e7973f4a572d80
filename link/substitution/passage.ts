/** A direction of a connection: records go to a flow, which says what becomes of them, until it ends. Then bytes pass as they come. */
import { RecordReader, type TlsRecord } from '../tls/records.ts';

/** `hold`: keep it and what is held; `pass`: let all that is held go; bytes: these in the place of all that is held. */
export type RecordAction = 'hold' | 'pass' | Buffer;

/** Gets a record for each answer; the first answer is asked for before there is a record, and is of no account. Where it ends, all that is held goes. */
export type Flow<Result = void> = Generator<RecordAction, Result, TlsRecord>;

/** A relay got what an honest peer does not send: the connection has to end. */
export class ProtocolViolation extends Error {}

export class Passage {
  readonly #records = new RecordReader();
  readonly #flow: Flow;
  readonly #held: Buffer[] = [];
  #isOver: boolean;

  constructor(flow: Flow) {
    this.#flow = flow;
    this.#isOver = flow.next().done ?? false;
  }

  /** @returns what goes on @throws ProtocolViolation */
  push(chunk: Buffer): Buffer {
    if (this.#isOver) return chunk;
    this.#records.push(chunk);
    const out: Buffer[] = [];
    for (;;) {
      const record = this.#isOver ? 'foreign' : this.#records.next();
      if (record === 'more') return Buffer.concat(out);
      if (record === 'foreign') return Buffer.concat([...out, this.end()]);
      out.push(this.#pass(record));
    }
  }

  #pass(record: TlsRecord): Buffer {
    this.#held.push(record.bytes);
    const { done, value } = this.#flow.next(record);
    if (done) this.#isOver = true;
    const answer = value ?? 'pass';
    if (answer === 'hold') return Buffer.alloc(0);
    const held = this.#held.splice(0);
    return answer === 'pass' ? Buffer.concat(held) : answer;
  }

  /** The stream ended, or is not what it seemed. @returns all that is still here */
  end(): Buffer {
    this.#isOver = true;
    return Buffer.concat([...this.#held.splice(0), this.#records.rest()]);
  }
}
