/** A DNS server for tests: real packets over UDP, TXT records only. */
import { createSocket } from 'node:dgram';
import { decode, encode } from 'dns-packet';

export interface DnsServer {
  /** `127.0.0.1:PORT`. */
  readonly address: string;
  /** By name; each record is one text, or its pieces. */
  readonly records: Map<string, (string | string[])[]>;
  readonly questions: string[];
  close(): Promise<void>;
}

export async function startDnsServer(): Promise<DnsServer> {
  const records: DnsServer['records'] = new Map();
  const questions: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (message, from) => {
    const query = decode(message);
    const [question] = query.questions ?? [];
    const name = question?.name.toLowerCase() ?? '';
    questions.push(name);
    const found = records.get(name);
    const answers = (found ?? []).map((data) => ({ type: 'TXT' as const, name, ttl: 1, data }));
    const flags = 0x8580 | (found ? 0 : 3); // an answer with authority; 3: no such name
    socket.send(
      encode({ type: 'response', id: query.id, flags, questions: query.questions, answers }),
      from.port,
      from.address,
    );
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${socket.address().port}`,
    records,
    questions,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}
