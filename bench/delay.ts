/** A line with a long way: in front of a server, everything that it answers comes later. Nothing is made slower otherwise. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Delay {
  readonly port: number;
  stop(): Promise<void>;
}

/** @param port - of a server on this machine */
export async function startDelay(port: number, milliseconds: number): Promise<Delay> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket.setNoDelay().on('error', () => socket.destroy()));
      socket.on('close', () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far);
    far.on('data', (bytes) => setTimeout(() => near.destroyed || near.write(bytes), milliseconds));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
