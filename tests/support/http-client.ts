/** A client that sends exactly the given bytes and reports exactly what it received, also where an answer breaks off. */
import { type Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';

export interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: string[];
  readonly body: Buffer;
  readonly text: string;
  /** Tells whether the answer came to its proper end. */
  readonly complete: boolean;
}

export interface Sent {
  readonly method?: string;
  readonly headers?: Record<string, string | string[]>;
  readonly body?: Uint8Array | string;
  /** Keeps connections for later requests; otherwise each has its own. */
  readonly agent?: Agent;
}

/** Sends a request to a port on loopback. @param target - the request target, in whatever form */
export function send(
  port: number,
  target: string,
  { method = 'GET', headers = {}, body, agent }: Sent = {},
): Promise<Received> {
  return new Promise((resolve, reject) => {
    const [, authority = `127.0.0.1:${port}`] = /^[a-z]+:\/\/([^/?#]*)/i.exec(target) ?? [];
    const place = { host: '127.0.0.1', port, path: target, method, agent: agent ?? false };
    const outgoing = httpRequest({ ...place, headers: { host: authority, ...headers } }, (answer) => {
      const { headers, rawHeaders, statusCode: status = 0 } = answer;
      const parts: Buffer[] = [];
      answer.on('data', (part) => parts.push(part));
      answer.on('error', () => undefined); // reported by `complete`
      answer.on('close', () => {
        const body = Buffer.concat(parts);
        resolve({
          ...{ status, headers, rawHeaders, body, complete: answer.complete },
          get text() {
            return body.toString();
          },
        });
      });
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

/** Sends bytes, and takes everything until the other side closes. */
export function sendRaw(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes, 'latin1'));
    const parts: Buffer[] = [];
    socket.on('data', (part: Buffer) => parts.push(part));
    socket.on('error', reject);
    socket.on('close', () => resolve(Buffer.concat(parts).toString('latin1')));
  });
}

/** The short code on a refusal page. */
export function refusalCode({ headers }: Received): string | undefined {
  return headers['wispr-refusal'] as string | undefined;
}
