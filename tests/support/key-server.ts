/** The real key server of one publisher on loopback, for tests of the reader. */
import { rm } from 'node:fs/promises';
import type { KeyServerConfig } from '../../keyserver/config/config.ts';
import { importBundle } from '../../keyserver/publication/import-bundle.ts';
import { readProviderRow } from '../../keyserver/publication/provider.ts';
import { inviteSubscriber } from '../../keyserver/readers/invitations.ts';
import { startKeyServer } from '../../keyserver/server.ts';
import { revokeSubscriber } from '../../keyserver/subscriptions/subscribers.ts';
import { configIn, logged, temporaryFolder } from './keyserver-rig.ts';
import type { DescriptorWish, TestPublisher } from './test-publisher.ts';

export interface TestKeyServer {
  readonly origin: string;
  /** A fresh invitation to all sets, by the address of the key server: nothing listens at that of the reading site. */
  invite(): Promise<string>;
  /** Ends the subscription of the invited reader. */
  revoke(): Promise<void>;
  /** Returns its log. */
  log(): string;
  /** Counts connected devices. */
  devices(): Promise<number>;
  close(): Promise<void>;
}

/** Starts a key server, and hands it the publisher's keys in a sealed bundle. What is published from then on names the same descriptor. */
export async function startKeyServerOf(
  publisher: TestPublisher,
  wish?: DescriptorWish,
  own: Partial<KeyServerConfig> = {},
): Promise<TestKeyServer> {
  const folder = temporaryFolder();
  const config = { ...configIn(folder), ...own };
  const reading = { ...config.reading, origin: publisher.reading };
  const { log, text } = logged();
  const server = await startKeyServer({ ...config, reading }, { log });
  const named = server.httpcrypt && { httpcrypt: server.httpcrypt };
  const bundle = await publisher.bundle(server.url, server.state.recipient.publicKey, { ...named, ...wish });
  await importBundle(server.state, bundle, server.origins);
  const { descriptor } = (await readProviderRow(server.state.database)) ?? {};
  if (descriptor) publisher.setDescriptor(descriptor);
  let closing: Promise<void> | undefined;
  const close = async () => {
    await server.close();
    await rm(folder, { recursive: true });
  };
  return {
    origin: server.url,
    invite: async () => {
      const { code } = await inviteSubscriber(server.state, { name: 'ada' });
      return `${server.url}#${code}.${publisher.root.id}`;
    },
    revoke: async () => void (await revokeSubscriber(server.state, 'ada')),
    log: text,
    devices: async () =>
      (await server.state.database.first<{ count: number }>('SELECT count(*) AS count FROM devices'))?.count ?? 0,
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}
