/** A key server in a script, in its folder, with its publisher; devices and browsers of readers. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect } from 'vitest';
import { fromBase64url, toBase64url } from '../../../core/encoding/base64url.ts';
import { forDevelopment, readConfig } from '../../../keyserver/config/config.ts';
import { startKeyServer } from '../../../keyserver/server.ts';
import { askForKeys, type BoundDevice, bind } from '../device.ts';
import { writeServerConfig } from '../keyserver-rig.ts';
import { createPublisher, type PublisherWithSets, sealBundle, setOf } from '../publisher-with-sets.ts';
import { createVisitor } from '../reading-site-visitor.ts';
import { storeIn } from '../store.ts';
import { runWispr } from '../wispr.ts';
import type { Run } from './run.ts';
import type { Verb } from './verbs.ts';

interface KeyServer {
  readonly publisher: PublisherWithSets;
  readonly origin: string;
  readonly reading: string;
  readonly devices: Map<string, BoundDevice>;
}

const keyServerOf = ({ services }: Run) => services.get('key server') as KeyServer;

export const KEY_SERVER: Readonly<Record<string, Verb>> = {
  /** `keyserver`: runs in the folder, on SQLite or PostgreSQL; `${keyserver}` and `${reading}` are its origins, `${root}` the id of its publisher, whose sets are day-1 and day-2. */
  keyserver: async (run) => {
    const { folder, cleanUp } = run;
    writeServerConfig(folder, { ...(await storeIn(folder)), fetchFrom: { 'news.example': 'http://127.0.0.1:9' } });
    const development = forDevelopment(readConfig(join(folder, 'keyserver.json')));
    const server = cleanUp.use(await startKeyServer(development, { log: pino({ level: 'silent' }) }));
    const publisher = await createPublisher();
    for (const { key } of publisher.sets.values()) run.secrets.push(toBase64url(key));
    const { url: origin, readingUrl: reading } = server;
    run.services.set('key server', { publisher, origin, reading, devices: new Map() } satisfies KeyServer);
    run.variables.set('keyserver', origin).set('reading', reading).set('root', publisher.root.id);
  },
  /** `bundle FILE SERIAL`: keys of the publisher, for the key server. */
  bundle: async (run, [name = '', serial]) => {
    const { publisher, origin, reading } = keyServerOf(run);
    const recipient = fromBase64url((await readFile(join(run.folder, 'keyserver.pub'), 'utf8')).trimEnd());
    const options = { keyServer: origin, reading, content: 'https://cdn.example', serial: Number(serial) };
    await writeFile(join(run.folder, name), await sealBundle(publisher, recipient ?? new Uint8Array(), options));
  },
  /** `device NAME CODE`: a Reader is bound by an invitation. */
  device: async (run, [name = '', code = ''], isNegated) => {
    const { publisher, origin, devices } = keyServerOf(run);
    const binding = bind({ keyServer: origin, publisher: publisher.root.id }, code);
    if (isNegated) await expect(binding).rejects.toThrow();
    else devices.set(name, await binding);
  },
  /** `ask NAME SET...`: for keys; how many came, and why others did not, is JSON on standard output. */
  ask: async (run, [name = '', ...sets]) => {
    const { publisher, devices } = keyServerOf(run);
    const { keys, refused } = await askForKeys(
      devices.get(name) as BoundDevice,
      sets.map((set) => setOf(publisher, set).id),
    );
    run.last = { ...run.last, stdout: JSON.stringify({ keys: keys.length, refused }) };
  },
  /** `join CODE STATUS`: a browser opens an account at the reading site. */
  join: async (run, [code = '', status]) => {
    const browser = createVisitor(keyServerOf(run).reading);
    const page = await browser.post('/-/join', { code, password: 'ten characters' });
    expect(page.status).toBe(Number(status));
  },
  /** `push TOKEN STATUS`: nothing is published with a token. */
  push: async (run, [token = '', status]) => {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`${keyServerOf(run).origin}/v1/publication`, { method: 'PUT', headers });
    expect(answer.status).toBe(Number(status));
  },
  /** `at-once N wispr ARG...`: N commands beside one another, with a number in place of `#`. */
  'at-once': async ({ folder: cwd, env }, [count, , ...args]) => {
    const numbers = Array.from({ length: Number(count) }, (_, index) => String(index));
    const ended = await Promise.all(
      numbers.map((number) =>
        runWispr(
          args.map((arg) => arg.replace('#', number)),
          { cwd, env },
        ),
      ),
    );
    expect(ended.map(({ code }) => code)).toEqual(numbers.map(() => 0));
  },
};
