import { relative, resolve } from 'node:path';
import type { Command } from 'commander';
import { checkInit, type InitResult, initWorkspace } from '../../publisher/init.ts';
import { readNewPassphrase } from '../passphrase.ts';
import { print } from '../voice.ts';

interface Options {
  passphraseFile?: string;
  json?: boolean;
}

/** `wispr init URL` */
export function addInitCommand(program: Command): void {
  program
    .command('init')
    .summary('make the keys and the configuration of a site')
    .description('make wispr.json and publisher.keys, the key store that stays offline, in this directory')
    .argument('<url>', 'the site, such as https://news.example')
    .option('--passphrase-file <file>', 'take the passphrase from a file instead of asking for it')
    .option('--json', 'print one JSON object')
    .action(init);
}

async function init(url: string, { passphraseFile, json }: Options): Promise<void> {
  const directory = resolve('.');
  checkInit(directory, url);
  const passphrase = await readNewPassphrase(passphraseFile, 'a passphrase for the new keys');
  const made = await initWorkspace({ directory, url, passphrase });
  print(json ? JSON.stringify(asJson(made)) : describe(made));
}

function asJson({ workspace, publisher, settings }: InitResult): unknown {
  const { configuration, keyStore } = workspace;
  return { configuration, keys: keyStore, publisher, site: settings.site };
}

function describe({ workspace, publisher, settings, sourceExists }: InitResult): string {
  const name = (file: string) => relative('.', file);
  const put = sourceExists ? `your site is in ${settings.source}/` : `put your site into ${settings.source}/`;
  return `Made for ${settings.site}:

  ${name(workspace.configuration).padEnd(15)} what to protect, and how. Every setting is explained there
  ${name(workspace.keyStore).padEnd(15)} SECRET: your signing key and the keys of your sets, encrypted under your passphrase.
                  Keep it offline, never on a web server, and keep a copy of it elsewhere: without the
                  file and its passphrase, nobody can ever publish this site again.

Your publisher key is ${publisher}
(its fingerprint; your readers' programs check that the site names it).

Next:
  1. ${put} (or change "source" in wispr.json), and look through the settings
  2. copy your key server's public key to keyserver.pub here ("wispr keyserver" says where it is)
  3. wispr protect`;
}
