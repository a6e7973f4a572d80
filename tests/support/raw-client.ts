/** A client that speaks in bytes, and waits for what it is to see: for whatever a proper client would never send. */
import { connect, type Socket } from 'node:net';

export interface RawClient {
  readonly socket: Socket;
  /** Everything that came so far, one character a byte. */
  received(): string;
  send(bytes: string): void;
  /** Waits until `wanted` has come. @throws Error if the connection ends before */
  until(wanted: string | RegExp): Promise<string>;
  /** Waits until the other side has closed. */
  ended(): Promise<string>;
  close(): void;
}

export async function rawClient(port: number, host = '127.0.0.1'): Promise<RawClient> {
  const socket = connect({ port, host, allowHalfOpen: true });
  let text = '';
  let isEnded = false;
  let changed = Promise.withResolvers<void>();
  const change = () => {
    changed.resolve();
    changed = Promise.withResolvers();
  };
  const end = () => {
    isEnded = true;
    change();
  };
  socket.on('data', (part: Buffer) => {
    text += part.toString('latin1');
    change();
  });
  socket.on('end', end).on('close', end).on('error', end);
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve).once('error', reject);
  });
  const matches = (wanted: string | RegExp) => (typeof wanted === 'string' ? text.includes(wanted) : wanted.test(text));
  return {
    socket,
    received: () => text,
    send: (bytes) => socket.write(bytes, 'latin1'),
    until: async (wanted) => {
      while (!matches(wanted)) {
        if (isEnded) throw new Error(`the connection ended without ${wanted}: ${JSON.stringify(text.slice(-300))}`);
        await changed.promise;
      }
      return text;
    },
    ended: async () => {
      while (!isEnded) await changed.promise;
      return text;
    },
    close: () => socket.destroy(),
  };
}
