/** Has each writer of what other users read write under a umask: UMASK. A process of its own, because a thread has none. Prints the modes. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { COMMANDS } from '../../cli/commands/index.ts';
import { runCommandLine } from '../../cli/run.ts';
import { writeConfig } from '../../keyserver/config/template.ts';
import { writePublicKey } from '../../keyserver/storage/state.ts';
import { publishFromWorkspace } from '../../publisher/publish/publish.ts';
import { locateTargets } from '../../publisher/publish/targets.ts';
import { createWorkspace, PASSPHRASE } from './workspace.ts';

const FILES = { 'deep/a/index.html': '<title>i</title>', 'open.txt': 'open', 'film.bin': new Uint8Array(9_000_000) };
const ALONE = { content: 'https://news.example', keyServer: undefined, reading: undefined };

for (const umask of process.argv.slice(2)) {
  process.umask(Number.parseInt(umask, 8));
  const made = await createWorkspace(FILES, { ...ALONE, carrier: 'html', public: ['open.txt'], publish: 'srv/news' });
  const inside = (path: string) => join(made.directory, path);
  const places = await locateTargets({ configurationFile: made.configurationFile });
  await publishFromWorkspace({ places, passphrase: PASSPHRASE, protect: {} });
  writeConfig(inside('keyserver.json'), { dev: false });
  writePublicKey(inside('keyserver.pub'), new Uint8Array(32));
  const argv = ['cache-config', 'nginx', '--root', '/x', '--host', 'n.example', '--write', inside('conf/nginx')];
  await runCommandLine(COMMANDS, { argv: [...argv, '--reading-origin', 'https://r.example'] });
  for (const path of readdirSync(made.directory, { recursive: true }).map(String)) {
    const stats = statSync(inside(path));
    process.stdout.write(`${umask} ${stats.isDirectory() ? 'd' : '-'}${(stats.mode & 0o777).toString(8)} ${path}\n`);
  }
  await made.remove();
}
