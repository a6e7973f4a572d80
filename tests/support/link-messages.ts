/** Single messages of TLS, written by hand. */
import { prefix } from '../../link/tls/cursor.ts';
import { MESSAGE, writeMessage } from '../../link/tls/messages.ts';
import { TLS12, writeRecord } from '../../link/tls/records.ts';

/** A record with one ClientHello. @param first - extensions in front of the server's name */
export function clientHello(name: string, first: readonly Buffer[] = []): Buffer {
  const entry = Buffer.concat([Buffer.of(0), prefix(Buffer.from(name), 2)]);
  const serverName = Buffer.concat([Buffer.of(0, 0), prefix(prefix(entry, 2), 2)]);
  const front = Buffer.concat([Buffer.of(3, 3), Buffer.alloc(32, 5), Buffer.of(0, 0, 2, 0xc0, 0x2b, 1, 0)]);
  const body = Buffer.concat([front, prefix(Buffer.concat([...first, serverName]), 2)]);
  return writeRecord(0x0301, writeMessage(MESSAGE.clientHello, body));
}

/** A record with one ServerHello of TLS 1.2. */
export function serverHello(): Buffer {
  const body = Buffer.concat([Buffer.of(3, 3), Buffer.alloc(32, 6), Buffer.of(0, 0xc0, 0x2b, 0)]);
  return writeRecord(TLS12, writeMessage(MESSAGE.serverHello, body));
}
