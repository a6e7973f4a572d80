import { relative } from 'node:path';
import { type Command, Option } from 'commander';
import { checkInit, type InitResult, initWorkspace } from '../../publisher/init.ts';
import { JSON_OPTION, PASSPHRASE_OPTION } from '../io/common-options.ts';
import { currentIo } from '../io/context.ts';
import { readNewPassphrase } from '../io/passphrase.ts';
import { print } from '../io/voice.ts';

interface Options {
  serverless?: boolean;
  keyServer?: string;
  reading?: string;
  passphraseFile?: string;
  json?: boolean;
}

export function addInitCommand(program: Command): void {
  program
    .command('init')
    .summary('make the keys and configuration of a site')
    .description('make wispr.json, publisher.keys and root.keys, which stay offline, in this directory')
    .argument('<url>', 'the site, such as https://news.example')
    .option('--serverless', 'without a key server: people read in their browsers, by links (docs/serverless.md)')
    .addOption(new Option('--key-server <url>', 'where your key server runs').conflicts('serverless'))
    .addOption(new Option('--reading <url>', 'where its reading site is').conflicts('serverless'))
    .option(...PASSPHRASE_OPTION)
    .option(...JSON_OPTION)
    .action(init);
}

async function init(url: string, options: Options): Promise<void> {
  const { passphraseFile, json, serverless = false, keyServer, reading } = options;
  const settings = { ...(keyServer && { keyServer }), ...(reading && { reading }) };
  const wish = { directory: currentIo().cwd, url, serverless, settings };
  checkInit(wish);
  const passphrase = await readNewPassphrase(passphraseFile, 'a passphrase for the new keys');
  const made = await initWorkspace({ ...wish, passphrase });
  print(json ? JSON.stringify(asJson(made)) : describe(made));
}

function asJson({ workspace, publisher, settings, generator }: InitResult): unknown {
  const { configuration, keyStore, rootKeys } = workspace;
  return { configuration, keys: keyStore, publisher, rootKeys, site: settings.site, generator };
}

function describe({ workspace, publisher, settings, generator, sourceExists }: InitResult): string {
  const name = (file: string) => relative(currentIo().cwd, file);
  const put = sourceExists ? `your site is in ${settings.source}/` : `put your site into ${settings.source}/`;
  const make =
    generator === undefined ? put : `build the site: ${generator} writes it to ${settings.source}/ by default`;
  return `Made for ${settings.site}:

  ${name(workspace.configuration).padEnd(15)} what to protect, and how. Every setting is explained there
  ${name(workspace.keyStore).padEnd(15)} SECRET: the keys that sign your site and the keys of your sets
                  (encrypted under your passphrase). Keep it offline, never on
                  a web server, and keep a copy elsewhere: without the file and
                  its passphrase your sets cannot be read or signed again
  ${name(workspace.rootKeys).padEnd(15)} SECRET, same passphrase: the root key, which says what the
                  other keys are. Only "wispr keys" needs it, every two years:
                  put it on a stick in a safe, and a copy elsewhere

Keep both out of git: write *.keys into .gitignore.

Your fingerprint is ${publisher}
It stays the same whatever keys you change. Readers' programs check that the
site names it.

Next:
  1. ${make} (or change "source" in wispr.json),
     and look through the settings
${settings.keyServer === undefined ? stepsAlone(settings) : STEPS}`;
}

const STEPS = `  2. copy your key server's public key to keyserver.pub here
     ("wispr keyserver" says where it is)
  3. wispr protect`;

function stepsAlone({ out, content }: InitResult['settings']): string {
  return `  2. wispr invite NAME, for each of your readers: it prints a link
  3. wispr publish, now, after every change, and once a month at least
  4. copy ${out}/ to ${content}: any web host for plain files will do,
     if you trust it, because it also serves the program that your readers use`;
}
