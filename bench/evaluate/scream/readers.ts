/** Those who sign in and bind devices: accounts and devices in the database, and the requests of each. */
import { ed25519KeyPair, randomBytes } from '#primitives';
import { toBase64url } from '../../../core/encoding/base64url.ts';
import { BINDING_PATH, encodeBindingRequest, normaliseCode } from '../../../core/keys/binding.ts';
import { encodeDescriptor } from '../../../core/keys/descriptor.ts';
import { deriveDeviceKeys } from '../../../core/keys/device.ts';
import { keyIdOf } from '../../../core/keys/key-id.ts';
import { inviteSubscriber } from '../../../keyserver/readers/invitations.ts';
import { openState } from '../../../keyserver/storage/state.ts';
import { findSubscriber } from '../../../keyserver/subscriptions/subscribers.ts';
import { argon2id } from '../../../node-support/argon2id.ts';
import { nowInSeconds } from '../../../node-support/clock.ts';
import { configOf, type NodeOrigins, type NodeSetting } from './node.ts';

/** A quarter of the memory of the key server's own cost, so that a run has enough of them. */
export const COST = { memory: 16_384, passes: 3, parallelism: 1 };
const PASSWORD = 'correct horse battery';
const KEY_SERVER = 'https://keys.bench.example';

export const KINDS = ['sign-in', 'binding'] as const;
export type Kind = (typeof KINDS)[number];

export interface Asked {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | string;
}

/** One who asks. */
export interface Reader {
  readonly ask: (kind: Kind, node: NodeOrigins) => Asked;
}

/** Makes database, publisher and readers. */
export async function makeReaders(setting: NodeSetting, count: number): Promise<Reader[]> {
  const state = await openState(configOf(setting));
  try {
    const { database, now } = state;
    const keys = ed25519KeyPair(randomBytes(32));
    const publisher = await keyIdOf('publisher', keys.publicKey);
    const descriptor = encodeDescriptor(
      {
        expires: now() + 86_400,
        issued: now(),
        keyServer: KEY_SERVER,
        name: 'Bench',
        publisherKey: toBase64url(keys.publicKey),
        root: publisher,
        sites: [{ content: ['https://bench.example'], reading: 'https://read.bench.example', site: 'bench.example' }],
      },
      keys.secretKey,
    );
    await database.run(
      `INSERT INTO provider (id, publisher_key, root, first_root, workspace, serial, bundle_digest, descriptor, imported)
       VALUES (1, ?, ?, ?, ?, 1, ?, ?, ?)`,
      publisher,
      publisher,
      new Uint8Array(1),
      'bench',
      'bench',
      descriptor,
      now(),
    );
    const readers: Reader[] = [];
    for (let index = 0; index < count; index++) {
      const name = `reader-${index}`;
      const { code } = await inviteSubscriber(state, { name });
      const subscriber = (await findSubscriber(database, name))?.id ?? 0;
      const sql = 'INSERT INTO accounts (subscriber, password, changed) VALUES (?, ?, ?)';
      await database.run(sql, subscriber, await storedPassword(), now());
      const device = await deriveDeviceKeys(randomBytes(32), { keyServer: KEY_SERVER, publisher });
      const bind = () => encodeBindingRequest(device, publisher, normaliseCode(code) ?? '', nowInSeconds());
      readers.push({ ask: (kind, node) => (kind === 'binding' ? binding(node, bind()) : signIn(node, name)) });
    }
    return readers;
  } finally {
    await state.database.close();
  }
}

function signIn({ reading }: NodeOrigins, name: string): Asked {
  const headers = { origin: reading, 'content-type': 'application/x-www-form-urlencoded' };
  return {
    url: `${reading}/-/sign-in`,
    headers,
    body: new URLSearchParams({ name, password: PASSWORD, to: '/' }).toString(),
  };
}

/** A device that asks again takes its own place: it is bound anew each time. */
function binding({ api }: NodeOrigins, body: Uint8Array): Asked {
  return { url: api + BINDING_PATH, headers: { 'content-type': 'application/json' }, body };
}

async function storedPassword(): Promise<string> {
  const salt = randomBytes(16);
  const hash = await argon2id(PASSWORD, COST, salt);
  const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64').replace(/=+$/, '');
  return `$argon2id$v=19$m=${COST.memory},t=${COST.passes},p=${COST.parallelism}$${base64(salt)}$${base64(hash)}`;
}
