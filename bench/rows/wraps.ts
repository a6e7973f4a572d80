/**
 * Wraps one key for each of a million devices, and keeps them: what WISPr's publisher does ahead for each day (Stubblefield, Rubin and Wallach, section 10).
 * The key server here wraps when it is asked.
 */
import { randomBytes } from 'node:crypto';
import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { concat } from '../../core/encoding/bytes.ts';
import { wrapKey } from '../../core/keys/wrapped-key.ts';
import { fresh } from '../bundles.ts';
import { milliseconds, type Row, round } from '../measure.ts';
import { temporaryFolder } from '../workspace.ts';

const SUBSCRIBERS = 1_000_000;
const AT_ONCE = 1000;
/** The paper's bounds: seconds a day, and megabytes for the keys of a week. */
const PAPER = { seconds: 3600, megabytes: 2000, days: 7 };

export async function wrapsForAll(): Promise<Row[]> {
  await using endings = new AsyncDisposableStack();
  const file = join(await temporaryFolder('wraps', endings), 'wraps');
  const day = { ...(await fresh('set')), kind: 'set' as const };
  const seconds = (await milliseconds(() => wrapAll(day, file))) / 1000;
  const megabytes = (PAPER.days * (await stat(file)).size) / 1e6;
  const memory = Math.round(process.resourceUsage().maxRSS / 1024);
  const about = {
    peer: 'the paper',
    runs: 1,
    bound: `one thread: HKDF and AES-256-GCM, each by itself; ${memory} MiB`,
  };
  const row = (name: string, value: number, unit: string, peerValue: number): Row => {
    return {
      ...about,
      row: `wraps-1m: ${name}`,
      value: round(value),
      unit,
      peerValue,
      ratio: round(value / peerValue),
    };
  };
  return [row('a day', seconds, 's', PAPER.seconds), row('a week, stored', megabytes, 'MB', PAPER.megabytes)];
}

/** Writes, for each device, its id and the key under the device's own: 92 bytes. */
async function wrapAll(day: Parameters<typeof wrapKey>[1], path: string): Promise<void> {
  await using file = await open(path, 'w', 0o600);
  for (let done = 0; done < SUBSCRIBERS; done += AT_ONCE) {
    const wraps = Array.from({ length: AT_ONCE }, async () => {
      const [id, key] = [randomBytes(32), randomBytes(32)];
      const { wrapped } = await wrapKey({ id: toBase64url(id), key }, day, { notBefore: 0, notAfter: 2 ** 32 });
      return concat(id, fromBase64url(wrapped) ?? new Uint8Array());
    });
    await file.writeFile(concat(...(await Promise.all(wraps))));
  }
  await file.sync();
}
