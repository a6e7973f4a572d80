/** Readers who each ask again as soon as they have an answer. */
import { Agent, request } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import type { NodeOrigins } from './node.ts';
import type { Kind, Reader, ReaderRequest } from './readers.ts';

export interface Flood {
  readonly kind: Kind;
  readonly readers: readonly Reader[];
  readonly pick: () => NodeOrigins;
  readonly seconds: number;
}

export interface Flooded {
  /** Answers a second. */
  readonly rate: number;
  /** Told to try again. */
  readonly refused: number;
}

const WARM_UP = 3000;
const GOOD: Readonly<Record<Kind, number>> = { 'sign-in': 303, binding: 200, page: 200 };

/** @throws Error for an answer that is neither good nor "try again" */
export async function flood({ kind, readers, pick, seconds }: Flood): Promise<Flooded> {
  const counted = { answered: 0, refused: 0 };
  let isOver = false;
  const askOn = async (reader: Reader, index: number) => {
    // Addresses take turns at the key server, and each reader has one.
    const agent = new Agent({ keepAlive: true, localAddress: `127.0.1.${index + 1}` });
    while (!isOver) {
      const status = await send(reader.ask(kind, pick()), agent);
      if (status === GOOD[kind]) counted.answered++;
      else if (status === 503) counted.refused++;
      else throw new Error(`a ${kind} was answered ${status}`);
    }
    agent.destroy();
  };
  const all = Promise.all(readers.map(askOn));
  const measured = async () => {
    await wait(WARM_UP);
    const [before, start] = [{ ...counted }, performance.now()];
    await wait(seconds * 1000);
    const elapsed = (performance.now() - start) / 1000;
    isOver = true;
    return { rate: (counted.answered - before.answered) / elapsed, refused: counted.refused - before.refused };
  };
  const [found] = await Promise.all([measured(), all]);
  return found;
}

function send({ url, headers, body }: ReaderRequest, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    const method = body === undefined ? 'GET' : 'POST';
    const outgoing = request(url, { method, agent, headers: { ...headers, ...length } });
    outgoing.on('response', (answer) => answer.resume().on('end', () => resolve(answer.statusCode ?? 0)));
    // A kept connection that the server has ended at the same moment.
    const again = ({ code }: NodeJS.ErrnoException) => outgoing.reusedSocket && code === 'ECONNRESET';
    outgoing.on('error', (error) => (again(error) ? resolve(send({ url, headers, body }, agent)) : reject(error)));
    outgoing.end(body);
  });
}
