/** Room on the disks that a key server writes to. */
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isBucket } from '../../node-support/storage/open.ts';
import type { KeyServerConfig } from '../config/config.ts';

/** Lists the bytes that are free, by place: `database`, or the number of a push target. Places that are not there are left out. */
export async function freeOnDisks({ data, publication }: KeyServerConfig): Promise<[string, number][]> {
  const targets = (publication?.push ?? []).map((target, index) => [`push ${index + 1}`, target] as const);
  const places = [...(data === undefined ? [] : [['database', dirname(data)] as const]), ...targets];
  const found = places
    .filter(([, target]) => !isBucket(target))
    .map(async ([place, directory]): Promise<[string, number][]> => {
      const stats = await statfs(directory).catch(() => undefined);
      return stats ? [[place, stats.bavail * stats.bsize]] : [];
    });
  return (await Promise.all(found)).flat();
}
