/** A protected site on nginx, with Varnish and Squid before it; beside each object a plain file of exactly its length. */
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type CacheServer, startNginx, startReverse, startVarnish } from '../cache-config/servers.ts';
import { createWorkspace, protectArguments, type Workspace } from './workspace.ts';

/** Seconds, more than any measurement takes: no cache asks again meanwhile. */
const MAX_AGE = 86_400;
const PLAIN = 'plain';

/** An object of the site, and a plain file of its length: URL paths. */
export interface Pair {
  readonly name: string;
  readonly length: number;
  readonly object: string;
  readonly plain: string;
}

/** @param lengths - of the documents, by names for them */
export async function withCaches<Result>(
  name: string,
  lengths: Readonly<Record<string, number>>,
  work: (servers: readonly CacheServer[], pairs: readonly Pair[]) => Promise<Result>,
): Promise<Result> {
  const workspace = await createWorkspace(name);
  await using endings = new AsyncDisposableStack();
  endings.defer(workspace.remove);
  const pairs = await writePairs(workspace, lengths);
  return await work(await startServers(join(workspace.directory, 'protected'), endings), pairs);
}

/** Writes both into one tree, which nginx serves and the caches fetch from. */
async function writePairs(workspace: Workspace, lengths: Readonly<Record<string, number>>): Promise<Pair[]> {
  const { directory, source, wispr } = workspace;
  for (const [name, length] of Object.entries(lengths))
    await writeFile(join(source, `${name}.bin`), randomBytes(length));
  await wispr(...protectArguments(workspace));
  const root = join(directory, 'protected');
  await mkdir(join(root, PLAIN));
  const files = await readdir(root);
  return Promise.all(
    Object.keys(lengths).map(async (name) => {
      const object = files.find((file) => file.endsWith(`.${name}.bin.protected`));
      if (object === undefined) throw new Error(`there is no object of ${name}.bin`);
      const { size } = await stat(join(root, object));
      await writeFile(join(root, PLAIN, `${name}.bin`), randomBytes(size));
      return { name, length: size, object: `/${object}`, plain: `/${PLAIN}/${name}.bin` };
    }),
  );
}

async function startServers(root: string, endings: AsyncDisposableStack): Promise<CacheServer[]> {
  const started = (server: CacheServer) => {
    endings.defer(server.stop);
    return server;
  };
  const host = { root, readingOrigin: 'https://read.bench.example', maxAgeSeconds: MAX_AGE };
  const nginx = started(await startNginx(host));
  const varnish = started(await startVarnish({ backend: nginx }));
  const squid = started(await startReverse('squid-reverse', { backend: nginx, diskMegabytes: 0 }));
  return [nginx, varnish, squid];
}
