/** The floor for the personal proxy: the least forward proxy that node:http allows, with kept connections. Prints its port. */
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

const origin = new URL(process.argv[2] ?? 'http://127.0.0.1:80');
const agent = new Agent({ keepAlive: true, maxSockets: 64 });

const server = createServer((incoming, outgoing) => {
  const { pathname } = new URL(incoming.url ?? '/');
  const { range } = incoming.headers;
  const headers = range === undefined ? {} : { range };
  const upstream = request(
    { agent, host: origin.hostname, port: origin.port, path: pathname, method: incoming.method ?? 'GET', headers },
    (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    },
  );
  upstream.on('error', () => outgoing.destroy());
  outgoing.on('close', () => {
    if (!outgoing.writableFinished) upstream.destroy(); // the client left
  });
  incoming.pipe(upstream);
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
