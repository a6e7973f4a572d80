/**
 * A dispatcher, or a key server's side of one, in a process that can be stopped and killed. It prints `{ "port" }` when it listens or is connected.
 * The secret is in WISPR_TEST_SECRET, in hexadecimal.
 *
 *   node hashing-process.ts dispatcher|member PORT PLACES
 */
import { setTimeout as wait } from 'node:timers/promises';
import { destination, pino } from 'pino';
import { Dispatcher } from '../../keyserver/hashing/dispatcher.ts';
import { Member } from '../../keyserver/hashing/member.ts';
import { TIMING } from '../../keyserver/hashing/messages.ts';

const [kind, port, slots] = process.argv.slice(2);
const secret = Buffer.from(process.env.WISPR_TEST_SECRET ?? '', 'hex');
const timing = { ...TIMING, alive: 100 };
const common = { secret, timing, slots: Number(slots), log: pino({ base: null }, destination(2)) };
const address = { host: '127.0.0.1', port: Number(port) };
const hashing =
  kind === 'dispatcher'
    ? await Dispatcher.start({ ...common, listen: address })
    : new Member({ ...common, ...address });
while (kind === 'member' && hashing.connected() === 0) await wait(10);
process.stdout.write(`${JSON.stringify({ port: hashing instanceof Dispatcher ? hashing.port : address.port })}\n`);
