/** A relay of TCP that counts the bytes of each direction: what crosses the link, without the headers of IP and TCP. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Counted {
  /** Bytes from the near relay to the far one. */
  readonly up: number;
  readonly down: number;
}

/** Changes bytes as a hostile link does. */
export type Altered = (bytes: Buffer, direction: keyof Counted) => Buffer;

/** Changes the first reference of a CompressedCertificate, so that it names a certificate which nobody has. */
export const otherReference: Altered = (bytes, direction) => {
  const at = bytes.indexOf(Buffer.of(0x99, 0, 0));
  if (direction === 'up' || at < 0) return bytes;
  bytes.writeUInt8(bytes.readUInt8(at + 20) ^ 1, at + 20);
  return bytes;
};

/** @param port - of `host`, where connections go on to */
export async function startCounter(port: number, altered: Altered = (bytes) => bytes, host = '127.0.0.1') {
  let counted = { up: 0, down: 0 };
  const sockets = new Set<Socket>();
  const carry = (from: Socket, to: Socket, direction: keyof Counted) => {
    sockets.add(from);
    from.on('data', (bytes: Buffer) => {
      counted[direction] += bytes.length;
      to.write(altered(bytes, direction));
    });
    from.on('end', () => to.end()).on('error', () => to.destroy());
    from.once('close', () => to.destroy()).once('close', () => sockets.delete(from));
  };
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (near) => {
    const far = connect({ port, host, allowHalfOpen: true, noDelay: true });
    carry(near, far, 'up');
    carry(far, near, 'down');
  });
  await once(server.listen(0, host), 'listening');
  /** Counts since the last call. */
  const take = (): Counted => {
    const taken = counted;
    counted = { up: 0, down: 0 };
    return taken;
  };
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  };
  return { port: (server.address() as AddressInfo).port, take, close };
}
