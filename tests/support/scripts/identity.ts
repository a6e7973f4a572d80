/** A reader in a script who is connected, in a database that was filled without a key server, and a publisher whose site can be proved. */
import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { expect } from 'vitest';
import { formatConnectTo } from '../../../client-proxy/index.ts';
import { toBase64url } from '../../../core/encoding/base64url.ts';
import { makeRoamingCheap } from '../cheap-roaming.ts';
import { fillStore, secretsIn } from '../filled-store.ts';
import { startProvablePublisher } from '../provable-publisher.ts';
import type { Run } from './run.ts';
import type { Verb } from './verbs.ts';

interface Identity {
  readonly storage: { readonly dataDirectory: string; readonly keyFile: string };
  readonly secrets: unknown;
}

const identityOf = ({ services }: Run) => services.get('identity') as Identity;

/** Commands run as a person who has this folder for a home. */
function moveTo(run: Run, home: string): void {
  const { PATH } = process.env;
  run.env = { PATH, HOME: home, XDG_DATA_HOME: join(home, 'data'), XDG_CONFIG_HOME: join(home, 'config') };
}

export const IDENTITY: Readonly<Record<string, Verb>> = {
  /**
   * `identity`: a reader who is connected with news.example, with the folder for a home; `${keyfile}` and `${database}` are where they are, `${trusted}`
   * what proves and trusts the site, `${reach}` the same without trust. Nothing may print a key of theirs.
   */
  identity: async (run) => {
    const makeRoamingDear = makeRoamingCheap();
    run.cleanUp.add(async () => makeRoamingDear());
    moveTo(run, run.folder);
    const keyFile = join(run.folder, 'config/wispr/reader.key');
    const storage = { dataDirectory: join(run.folder, 'data/wispr'), keyFile };
    const { publisher, server, connectTo } = await startProvablePublisher(run.cleanUp);
    const { seed, deviceKey, set } = await fillStore(storage, { publisher, keyServer: server.origin });
    for (const key of [seed, deviceKey.key, set.key])
      run.secrets.push(toBase64url(key), Buffer.from(key).toString('hex'));
    const identity: Identity = { storage, secrets: await secretsIn(storage) };
    run.services.set('identity', identity);
    const reach = `--connect-to ${formatConnectTo(connectTo)} --allow-local 127.0.0.1`;
    run.variables
      .set('root', publisher.root.id)
      .set('keyfile', keyFile)
      .set('database', join(storage.dataDirectory, 'reader.db'))
      .set('keyserver', server.origin)
      .set('reach', reach)
      .set('trusted', `${reach} --trust-site ${publisher.site}`);
  },
  /** `home DIRECTORY`: commands run as another person, whose home this is; it need not be there. */
  home: (run, [directory = '']) => moveTo(run, resolve(run.folder, directory)),
  /** `same-keys`: the reader has the keys and sites of the beginning. */
  'same-keys': async (run) => {
    const { storage, secrets } = identityOf(run);
    expect(await secretsIn(storage)).toEqual(secrets);
  },
  /** `words FILE WRONG`: seven words are in a file; WRONG gets them with the fourth mistyped. No two of them may be printed beside one another, nor the mistyped one. */
  words: async (run, [file = '', wrong = '']) => {
    const words = (await readFile(resolve(run.folder, file), 'utf8')).trim().split(' ');
    expect(words).toHaveLength(7);
    const mistyped = `${words[3]}q`;
    await writeFile(resolve(run.folder, wrong), words.with(3, mistyped).join(' '), { mode: 0o600 });
    run.secrets.push(
      mistyped,
      ...words.slice(1).map((word, index) => new RegExp(`${words[index]}[^a-z]+${word}`, 'i')),
    );
  },
};
