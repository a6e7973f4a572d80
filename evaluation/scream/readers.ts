/** Readers who sign in and bind devices: accounts and devices in the database, and the requests of each. */
import { randomBytes } from '#primitives';
import { fresh, importer, ORIGINS } from '../../bench/bundles.ts';
import { signInMessage } from '../../bench/key-clients.ts';
import { BINDING_PATH, encodeBindingRequest, normaliseCode } from '../../core/keys/binding.ts';
import { deriveDeviceKeys } from '../../core/keys/device.ts';
import { inviteSubscriber } from '../../keyserver/readers/invitations.ts';
import { storedForm } from '../../keyserver/sign-in/passwords.ts';
import { openState } from '../../keyserver/storage/state.ts';
import { findSubscriber } from '../../keyserver/subscriptions/subscribers.ts';
import { argon2id } from '../../node-support/argon2id.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { configOf, type NodeOrigins, type NodeSetting } from './node.ts';

/** A quarter of the memory of the key server's own cost, so that a run has enough of them. */
export const COST = { memory: 16_384, passes: 3, parallelism: 1 };
const PASSWORD = 'correct horse battery';

/** `page`: that of the sign-in, which is no work that could be redistributed. */
export type Kind = 'sign-in' | 'binding' | 'page';

export interface ReaderRequest {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Makes it a POST. */
  readonly body?: Uint8Array | string | undefined;
}

export interface Reader {
  readonly ask: (kind: Kind, node: NodeOrigins) => ReaderRequest;
}

/** Makes database, publisher and readers. */
export async function makeReaders(setting: NodeSetting, count: number): Promise<Reader[]> {
  const state = await openState(configOf(setting));
  try {
    const { database, now } = state;
    const { publisherId: publisher, importOf } = await importer(state);
    await importOf([await fresh('set')], []);
    const readers: Reader[] = [];
    for (let index = 0; index < count; index++) {
      const name = `reader-${index}`;
      const { code } = await inviteSubscriber(state, { name });
      const subscriber = (await findSubscriber(database, name))?.id ?? 0;
      const sql = 'INSERT INTO accounts (subscriber, password, changed) VALUES (?, ?, ?)';
      await database.run(sql, subscriber, await storedPassword(), now());
      const device = await deriveDeviceKeys(randomBytes(32), { keyServer: ORIGINS.keyServer, publisher });
      const bind = () => encodeBindingRequest(device, publisher, normaliseCode(code) ?? '', nowInSeconds());
      const ask = (kind: Kind, node: NodeOrigins): ReaderRequest => {
        if (kind === 'page') return { url: `${node.reading}/-/sign-in` };
        return kind === 'binding' ? binding(node, bind()) : signIn(node, name);
      };
      readers.push({ ask });
    }
    return readers;
  } finally {
    await state.database.close();
  }
}

function signIn({ reading }: NodeOrigins, name: string): ReaderRequest {
  const { path, headers, body } = signInMessage(reading, { name, password: PASSWORD });
  return { url: reading + path, headers, body };
}

/** A device that asks again takes its own place: it is bound anew each time. */
function binding({ api }: NodeOrigins, body: Uint8Array): ReaderRequest {
  return { url: api + BINDING_PATH, headers: { 'content-type': 'application/json' }, body };
}

async function storedPassword(): Promise<string> {
  const salt = randomBytes(16);
  const hash = await argon2id(PASSWORD, COST, salt);
  return storedForm({ ...COST, salt, hash });
}
