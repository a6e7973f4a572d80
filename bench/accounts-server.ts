/**
 * What is measured in the row sign-in, in a process of its own: a key server with a reader who has a password and with open invitations, or an HTTP
 * server that does nothing but the hashing of a sign-in. It prints where it is as a line of JSON; it ends with its standard input.
 *
 *   node accounts-server.ts keyserver FOLDER INVITATIONS
 *   node accounts-server.ts hashing
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { destination, pino } from 'pino';
import { normaliseCode } from '../core/keys/binding.ts';
import { localHashing } from '../keyserver/hashing/hashing.ts';
import { inviteSubscriber } from '../keyserver/readers/invitations.ts';
import { startKeyServer } from '../keyserver/server.ts';
import { joinWithPassword } from '../keyserver/sign-in/accounts.ts';
import { verifyPassword } from '../keyserver/sign-in/passwords.ts';
import { configIn, fresh, importer } from './bundles.ts';

export interface Accounts {
  /** Where people sign in, or where there is hashing. */
  readonly reading: string;
  readonly keyServer: string;
  readonly publisher: string;
  readonly reader: { readonly name: string; readonly password: string };
  readonly codes: readonly string[];
  /** Id of a set that all readers may have. */
  readonly set: string;
}

const READER = { name: 'reader', password: 'correct horse battery' };

const [kind = '', folder = '', invitations] = process.argv.slice(2);
const accounts = kind === 'hashing' ? await startHashing() : await startServer(Number(invitations));
process.stdout.write(`${JSON.stringify(accounts)}\n`);
await once(process.stdin.resume(), 'end');
process.exit();

async function startServer(count: number): Promise<Accounts> {
  const server = await startKeyServer(configIn(folder), {
    log: pino({ base: null }, destination('/dev/null')),
    limits: { keyRequestsPerAddress: 1e9 },
  });
  const { publisherId: publisher, importOf } = await importer(server.state, server.origins);
  const set = await fresh('set');
  await importOf([set], []);
  const invite = async (name: string) => (await inviteSubscriber(server.state, { name })).code;
  const code = normaliseCode(await invite(READER.name)) ?? '';
  await joinWithPassword(server.state, code, { password: READER.password, address: '127.0.0.1' });
  const codes: string[] = [];
  while (codes.length < count) codes.push(await invite(`subscriber ${codes.length}`));
  return { reading: server.readingUrl, keyServer: server.url, publisher, reader: READER, codes, set: set.id };
}

/** As many at a time as at the key server, and at the same cost: where there is no account, a sign-in is hashed all the same. */
async function startHashing(): Promise<Accounts> {
  const hashing = localHashing();
  const server = createServer(async (request, response) => {
    await verifyPassword(hashing, undefined, READER.password, '127.0.0.1');
    request.resume();
    response.writeHead(303).end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { reading: origin, keyServer: origin, publisher: '', reader: READER, codes: [], set: '' };
}
