/**
 * A cache that passes everything on as it is, but for one byte of one protected object. It stands between a Reader and the honest cache, in its place
 * or as a proxy, and is honest itself until it is told which object to change.
 */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { close, listen } from './hosts.ts';

export interface DishonestCache {
  readonly url: string;
  /** Changes one byte of the object at this URL path from now on. */
  tamperWith(urlPath: string): void;
  /** Answers nothing from now on. */
  cutOff(): void;
  /** Changes nothing from now on. */
  beHonest(): void;
  stop(): Promise<void>;
}

/** @param behind - URL of the cache or host that it asks, and nothing else: an address in a request leads nowhere */
export async function startDishonestCache(behind: string): Promise<DishonestCache> {
  let target: string | undefined;
  let isCutOff = false;
  const { hostname, port } = new URL(behind);
  const server = createServer(({ url: path = '/', headers }, outgoing) => {
    if (isCutOff) return void outgoing.destroy();
    const upstream = request({ hostname, port, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      forward(answer, outgoing, path.split('?')[0] === target);
    });
    upstream.on('error', () => outgoing.destroy());
    upstream.end();
  });
  return {
    url: await listen(server),
    tamperWith: (urlPath) => {
      target = urlPath;
    },
    cutOff: () => {
      isCutOff = true;
    },
    beHonest: () => {
      isCutOff = false;
      target = undefined;
    },
    stop: () => close(server),
  };
}

function forward(answer: IncomingMessage, outgoing: ServerResponse, tamper: boolean): void {
  if (!tamper) {
    answer.pipe(outgoing);
    return;
  }
  const pieces: Buffer[] = [];
  answer.on('data', (piece: Buffer) => pieces.push(piece));
  answer.on('end', () => {
    const body = Buffer.concat(pieces);
    const last = body.length - 1;
    if (last >= 0) body.writeUInt8(body.readUInt8(last) ^ 1, last);
    outgoing.end(body);
  });
}
