/** A DNS server for tests: real packets over UDP. It never answers for names that end in `.silent`, and fails for those that end in `.broken`. */
import { createSocket } from 'node:dgram';
import { decode, encode } from 'dns-packet';

export interface DnsServer {
  /** `127.0.0.1:PORT`. */
  readonly address: string;
  /** Records by name; each is one text, or its pieces. */
  readonly records: Map<string, (string | string[])[]>;
  /** IPv4 addresses by name. */
  readonly addresses: Map<string, string>;
  readonly questions: string[];
  close(): Promise<void>;
}

export async function startDnsServer(): Promise<DnsServer> {
  const records: DnsServer['records'] = new Map();
  const addresses = new Map<string, string>();
  const questions: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (message, from) => {
    const query = decode(message);
    const [question] = query.questions ?? [];
    const name = question?.name.toLowerCase() ?? '';
    questions.push(name);
    if (name.endsWith('.silent')) return;
    const address = addresses.get(name);
    const texts = (records.get(name) ?? []).map((data) => ({ type: 'TXT' as const, name, ttl: 1, data }));
    const answers = address && question?.type === 'A' ? [{ type: 'A' as const, name, ttl: 1, data: address }] : texts;
    const isThere = records.has(name) || address !== undefined;
    const flags = 0x8580 | (name.endsWith('.broken') ? 2 : isThere ? 0 : 3); // an answer with authority; 2: failure; 3: no such name
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
    addresses,
    questions,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}
