/** A TCP relay that keeps every byte of both directions, as one who captures a network does. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { listenOnLoopback } from './content-host.ts';

/** A message of HTTP/1.1 as it was on the wire. */
export interface CapturedMessage {
  /** Bytes of its connection before it. */
  readonly at: number;
  /** Request line or status line. */
  readonly start: string;
  /** Names as they were written, and values. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** Content without the framing of chunks. */
  readonly body: Buffer;
}

/** Bytes that came at once. */
interface Piece {
  readonly bytes: Buffer;
  readonly time: number;
}

export interface CapturedExchange {
  /** Counts up. */
  readonly time: number;
  readonly request: CapturedMessage;
  readonly answer: CapturedMessage;
}

export interface RecordingRelay {
  readonly port: number;
  /** Says where connections lead from now on. */
  to(port: number): void;
  /** Bytes of both directions since the last call of `forget`, one character a byte. */
  bytes(): string;
  /** Exchanges since then, in the order in which they began. */
  exchanges(): CapturedExchange[];
  forget(): void;
  close(): Promise<void>;
}

export async function startRecordingRelay(): Promise<RecordingRelay> {
  const sockets = new Set<Socket>();
  let connections: { up: Piece[]; down: Piece[] }[] = [];
  let [target, time] = [0, 0];
  const keep = (socket: Socket) => sockets.add(socket).delete.bind(sockets, socket);
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    const recorded = { up: [] as Piece[], down: [] as Piece[] };
    connections.push(recorded);
    for (const [from, to, into] of [
      [client, upstream, recorded.up],
      [upstream, client, recorded.down],
    ] as const) {
      from.on('data', (bytes: Buffer) => into.push({ bytes, time: time++ })).on('error', () => to.destroy());
      from.on('close', keep(from)).pipe(to);
    }
  });
  return {
    port: await listenOnLoopback(server),
    to: (port) => {
      target = port;
    },
    bytes: () =>
      connections
        .flatMap(({ up, down }) => [joined(up), joined(down)].map((bytes) => bytes.toString('latin1')))
        .join(''),
    exchanges: () => connections.flatMap(exchangesOf).sort((one, other) => one.time - other.time),
    forget: () => {
      for (const socket of sockets) socket.destroy(); // makes what follows connect anew
      connections = [];
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await once(server.close(), 'close');
    },
  };
}

function joined(pieces: readonly Piece[]): Buffer {
  return Buffer.concat(pieces.map(({ bytes }) => bytes));
}

function exchangesOf({ up, down }: { up: readonly Piece[]; down: readonly Piece[] }): CapturedExchange[] {
  const answers = messagesIn(joined(down));
  return messagesIn(joined(up)).map((request, index) => {
    const answer = answers[index];
    if (!answer) throw new Error(`no answer to ${request.start}`);
    const before = up.findLast((_, last) => joined(up.slice(0, last)).length <= request.at);
    return { request, answer, time: before?.time ?? 0 };
  });
}

/** The value of a field, whatever the case of its name. */
export function fieldOf({ fields }: CapturedMessage, name: string): string | undefined {
  return fields.find(([each]) => each.toLowerCase() === name)?.[1];
}

function messagesIn(stream: Buffer): CapturedMessage[] {
  const messages: CapturedMessage[] = [];
  for (let rest = stream; rest.length > 0; ) {
    const end = rest.indexOf('\r\n\r\n');
    const [start = '', ...lines] = rest.subarray(0, end).toString('latin1').split('\r\n');
    const fields = lines.map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string]);
    const message = { at: stream.length - rest.length, start, fields, body: Buffer.alloc(0) };
    const { body, length } = bodyAt(rest.subarray(end + 4), message);
    messages.push({ ...message, body });
    rest = rest.subarray(end + 4 + length);
  }
  return messages;
}

/** @returns the body, and how long it was on the wire */
function bodyAt(bytes: Buffer, head: CapturedMessage): { body: Buffer; length: number } {
  if (fieldOf(head, 'transfer-encoding') === undefined) {
    const length = Number(fieldOf(head, 'content-length') ?? 0);
    return { body: bytes.subarray(0, length), length };
  }
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const line = bytes.indexOf('\r\n', at);
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16);
    parts.push(bytes.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
    if (size === 0) return { body: Buffer.concat(parts), length: at };
  }
}
