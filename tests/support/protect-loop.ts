/**
 * Changes a site and protects it, again and again, until it is killed: `node protect-loop.ts CONFIGURATION FIRST`. Begins at a line on
 * standard input. A copy of each key store that published something is kept in `key-stores`.
 */
import { copyFileSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { protectSite } from '../../publisher/protect/protect.ts';
import { PASSPHRASE } from './workspace.ts';

const [configurationFile = '', first = '1'] = process.argv.slice(2);
const directory = dirname(configurationFile);
const site = join(directory, 'site');
const keyStores = join(directory, 'key-stores');
mkdirSync(keyStores, { recursive: true });

/** Every document says the number of the state it belongs to, so that two states that were mixed would show. */
function writeState(state: number): void {
  for (let index = 0; index < 6; index++) writeFileSync(join(site, `${index}.txt`), `state ${state}`);
  writeFileSync(join(site, 'page.html'), `<title>x</title>state ${state}`);
  writeFileSync(join(site, 'open.css'), `state ${state}`);
  writeFileSync(join(site, `only-${state}.txt`), `state ${state}`);
  for (const name of readdirSync(site))
    if (/^only-/.test(name) && name !== `only-${state}.txt`) rmSync(join(site, name));
}

/** A later run may replace the keys of this one, and be killed before it has published anything under its own. */
function keepKeyStore(state: number): void {
  const copy = join(keyStores, `${state}`);
  copyFileSync(join(directory, 'publisher.keys'), `${copy}.part`);
  renameSync(`${copy}.part`, copy);
}

await new Promise((resolve) => process.stdin.once('data', resolve));
for (let state = Number(first); ; state++) {
  writeState(state);
  await protectSite({ configurationFile, passphrase: PASSPHRASE, ...(state % 3 === 0 && { rekey: ['subscribers'] }) });
  keepKeyStore(state);
  process.stdout.write(`${state}\n`);
}
