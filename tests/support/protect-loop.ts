/** Changes a site and protects it, again and again, until somebody kills it: `node protect-loop.ts CONFIGURATION FIRST`. Begins at a line on standard input. */
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { protectSite } from '../../publisher/protect/protect.ts';
import { PASSPHRASE } from './workspace.ts';

const [configurationFile = '', first = '1'] = process.argv.slice(2);
const site = join(dirname(configurationFile), 'site');

/** Every document says the number of the state it belongs to, so that two states that were mixed would show. */
function writeState(state: number): void {
  for (let index = 0; index < 6; index++) writeFileSync(join(site, `${index}.txt`), `state ${state}`);
  writeFileSync(join(site, 'page.html'), `<title>x</title>state ${state}`);
  writeFileSync(join(site, 'open.css'), `state ${state}`);
  writeFileSync(join(site, `only-${state}.txt`), `state ${state}`);
  for (const name of readdirSync(site))
    if (/^only-/.test(name) && name !== `only-${state}.txt`) rmSync(join(site, name));
}

await new Promise((resolve) => process.stdin.once('data', resolve));
for (let state = Number(first); ; state++) {
  writeState(state);
  await protectSite({
    configurationFile,
    passphrase: PASSPHRASE,
    ...(state % 3 === 0 && { rekey: ['subscribers'] }),
  });
  process.stdout.write(`${state}\n`);
}
