/** Key files whose password hash costs as little as is accepted, for tests that open them very often. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { randomBytes, sha256 } from '#primitives';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { lengthPrefixed, utf8 } from '../../core/encoding/bytes.ts';
import { canonicalJson, type JsonObject, parseCanonicalJson } from '../../core/encoding/canonical-json.ts';
import { openMessage, sealMessage } from '../../core/object/chunked-encryption.ts';
import { type Argon2idParameters, keyFromPassphrase } from '../../node-support/argon2id.ts';

/** Seals the key files of a workspace anew, under the same passphrase. */
export async function cheapenKeys(directory: string, passphrase: string): Promise<void> {
  for (const name of ['publisher.keys', 'root.keys']) {
    const file = join(directory, name);
    await writeFile(file, await cheapen(await readFile(file), passphrase), { mode: 0o600 });
  }
}

async function cheapen(bytes: Uint8Array, passphrase: string): Promise<Uint8Array> {
  const { argon2id, sealed, version } = parseCanonicalJson(bytes) as JsonObject;
  const context = lengthPrefixed(utf8(String(version)));
  const key = await keyFromPassphrase(passphrase, argon2id as unknown as Argon2idParameters);
  const message = await openMessage(key, context, fromBase64url(sealed) ?? new Uint8Array(0));
  const cheap = { memory: 8192, parallelism: 1, passes: 1, salt: toBase64url(randomBytes(16)) };
  const again = await sealMessage(await keyFromPassphrase(passphrase, cheap), context, message ?? new Uint8Array(0));
  const file = { argon2id: cheap, sealed: toBase64url(again), version: String(version) };
  return canonicalJson({ ...file, digest: toBase64url(await sha256(canonicalJson(file))) });
}
