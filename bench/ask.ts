/** One request to a proxy, in absolute form, for what wrk does not do: ranges, conditions, first bytes. */
import { type Agent, request } from 'node:http';

export interface Question {
  readonly proxy: string;
  readonly url: string;
  readonly agent?: Agent;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
}

export interface Answered {
  readonly status: number;
  /** Bytes of the body. */
  readonly length: number;
  /** Milliseconds until its head was there. */
  readonly firstByte: number;
}

/** @returns once all of the answer is there; rejects where it breaks off */
export function ask({ proxy, url, agent, headers = {}, method = 'GET' }: Question): Promise<Answered> {
  const { hostname, port } = new URL(proxy);
  const fields = { host: new URL(url).host, ...headers };
  return new Promise((resolve, reject) => {
    const before = performance.now();
    const sent = request({ hostname, port, path: url, method, headers: fields, agent: agent ?? false }, (answer) => {
      const firstByte = performance.now() - before;
      let length = 0;
      answer.on('data', (part: Buffer) => {
        length += part.length;
      });
      answer.on('error', reject);
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, length, firstByte }));
    });
    sent.on('error', reject).end();
  });
}
