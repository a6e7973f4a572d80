/** Fixtures that scripts may have around them. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { DeleteObjectCommand, HeadObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { expect } from 'vitest';
import { randomBytes, xwingKeyPair } from '#primitives';
import { toBase64url } from '../../../core/encoding/base64url.ts';
import { hostProofLine } from '../../../core/keys/descriptor.ts';
import type { RoleSigner } from '../../../core/publication/keys.ts';
import { METADATA_PATH, metadataFile } from '../../../core/publication/names.ts';
import { ROLE_VALIDITY } from '../../../core/publication/writer.ts';
import { nowInSeconds } from '../../../node-support/clock.ts';
import { openKeyStore } from '../../../publisher/keys/key-store.ts';
import { type ContentHost, startContentHost } from '../content-host.ts';
import { startDnsServer } from '../dns-server.ts';
import { publicationAt } from '../publishing.ts';
import { type S3Server, startS3Server } from '../s3-server.ts';
import { TestPublication } from '../test-publication.ts';
import { PASSPHRASE, snapshot } from '../workspace.ts';
import { IDENTITY } from './identity.ts';
import { KEY_SERVER } from './keyserver.ts';
import { READER } from './reader.ts';
import type { Verb } from './verbs.ts';

export const FIXTURES: Readonly<Record<string, Verb>> = {
  ...READER,
  ...KEY_SERVER,
  ...IDENTITY,

  /** `recipient FILE`: the public key of a key server. */
  recipient: ({ folder }, [file = '']) =>
    writeFile(resolve(folder, file), toBase64url(xwingKeyPair(randomBytes(32)).publicKey)),
  /** `publication VERSION [snapshot-days=N]`: a signed publication without documents, in `protected`. */
  publication: async ({ folder }, [version, wish = '']) => {
    const { roots, signers } = await openKeyStore(await readFile(join(folder, 'publisher.keys')), PASSPHRASE);
    const [, days] = /^snapshot-days=(\d+)$/.exec(wish) ?? [];
    const now = nowInSeconds();
    const ring = (signer: RoleSigner) => ({ signers: [signer], threshold: 1 });
    const { targets, snapshot, timestamp } = signers;
    const roles = { targets: ring(targets), snapshot: ring(snapshot), timestamp: ring(timestamp) };
    const made = await TestPublication.create(now, roles);
    for (const [index, bytes] of roots.entries())
      made.files.set(METADATA_PATH + metadataFile('root', index + 1), bytes);
    made.version = Number(version) - 1;
    await made.publish(days === undefined ? now : now + Number(days) * 86_400 - ROLE_VALIDITY.snapshot);
    await made.publishTimestamp(now);
    await mkdir(join(folder, 'protected', METADATA_PATH), { recursive: true });
    for (const [path, bytes] of made.files) await writeFile(join(folder, 'protected', path), bytes);
  },
  /** `publication-of DIRECTORY VERSION`: what is published there. */
  'publication-of': async ({ folder }, [directory = '', version]) =>
    expect(await publicationAt(resolve(folder, directory))).toBe(Number(version)),
  /** `s3 BUCKET`: an S3 server has it, and commands find that server. */
  s3: async (run, [bucket = '']) => {
    const server = await startS3Server();
    run.cleanUp.add(server.stop);
    await server.bucket(bucket);
    run.env = { ...run.env, ...server.environment };
    run.services.set('s3', { ...server, close: server.stop, name: bucket });
  },
  /** `bucket head|put|delete KEY`: an object of that bucket; what `head` tells is JSON on standard output. */
  bucket: async (run, [action, Key = '']) => {
    const { client, name: Bucket } = run.services.get('s3') as S3Server & { readonly name: string };
    if (action === 'put') await client.send(new PutObjectCommand({ Bucket, Key, Body: 'x' }));
    else if (action === 'delete') await client.send(new DeleteObjectCommand({ Bucket, Key }));
    else run.last = { ...run.last, stdout: JSON.stringify(await client.send(new HeadObjectCommand({ Bucket, Key }))) };
  },
  /** `host DIRECTORY`: a content host has the files in it; `${host}` is its origin. */
  host: async (run, [directory = '']) => {
    const { folder, cleanUp, variables } = run;
    const host = cleanUp.use(await startContentHost());
    for (const [path, content] of await snapshot(resolve(folder, directory)))
      host.files.set(encodeURI(`/${path}`), Buffer.from(content, 'base64'));
    variables.set('host', host.origin);
    run.services.set('host', host);
  },
  /** `requests [N [HOST]]`: so many have reached the content host since the last `requests`, for hosts whose name begins so. */
  requests: ({ services }, [count, name = '']) => {
    const seen = (services.get('host') as ContentHost).requests.splice(0);
    const counted = seen.filter(({ headers }) => headers.host?.startsWith(name));
    if (count !== undefined) expect(counted).toHaveLength(Number(count));
  },
  /** `dns [NAME]`: a DNS server, `${dns}`, that has the proof of the publisher at NAME, or as yet nothing. */
  dns: async ({ services, cleanUp, variables }, [name]) => {
    if (!services.has('dns')) {
      const dns = cleanUp.use(await startDnsServer());
      services.set('dns', dns);
      variables.set('dns', dns.address);
    }
    const { records } = services.get('dns') as Awaited<ReturnType<typeof startDnsServer>>;
    if (name !== undefined) records.set(name, [hostProofLine(String(variables.get('root')))]);
  },
  /** `close NAME`: a fixture goes away. */
  close: ({ services }, [name = '']) => (services.get(name) as { close(): Promise<unknown> }).close(),
};
