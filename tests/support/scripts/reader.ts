/** A reader in a script, with a home, a publisher, a content host and a key server; what runs beside the commands, runs in this process too. */
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { SettingsKeeper } from '../../../client-proxy/store/settings.ts';
import { ReaderStore } from '../../../client-proxy/store/store.ts';
import { nowInSeconds } from '../../../node-support/clock.ts';
import { send } from '../http-client.ts';
import { keptObjects } from '../kept-objects.ts';
import { createSetKey } from '../publisher-with-sets.ts';
import { type ReaderHome, startReaderHome } from '../reader-home.ts';
import { TEST_SETTINGS } from '../test-publication.ts';
import { startInProcess } from '../wispr.ts';
import type { Run } from './run.ts';
import type { Verb } from './verbs.ts';

const GZIP = { mediaType: 'text/plain', contentCoding: 'gzip' as const };

function readerOf({ services }: Run): ReaderHome {
  const reader = services.get('reader') as ReaderHome | undefined;
  if (reader === undefined) throw new Error('there is no reader yet');
  return reader;
}

export const READER: Readonly<Record<string, Verb>> = {
  /**
   * `reader`: from now on commands run in the home of a reader, `${home}`. `${here}` is how to reach the content host, `${invitation}` a new link of the
   * key server each time, `${root}` and `${set}` ids of the publisher. `close host` and `close keyserver` end these.
   */
  reader: async (run) => {
    const reader = await startReaderHome(run.cleanUp);
    run.env = reader.atHome().env ?? {};
    run.services.set('reader', reader).set('host', reader.host).set('keyserver', reader.keyServer);
    run.variables
      .set('home', reader.home)
      .set('here', reader.connectTo.join(' '))
      .set('hostport', String(reader.host.port))
      .set('keyserver', reader.keyServer.origin)
      .set('invitation', () => reader.keyServer.invite())
      .set('root', reader.publisher.root.id)
      .set('set', reader.publisher.set.id);
  },
  /** `document PATH TEXT [gzip] [public] [unread]`: published; `unread` is in a set of its own, whose id is `${unread}`, that the reader may not read. */
  document: async (run, [path = '', text = '', ...wishes]) => {
    const { publisher, host } = readerOf(run);
    if (wishes.includes('public')) return publisher.publishSigned(host.files, path, { content: text });
    const set = wishes.includes('unread') ? await createSetKey() : undefined;
    run.variables.set('unread', set?.id ?? '');
    const how = wishes.includes('gzip') ? { content: gzipSync(text), metadata: GZIP } : { content: text };
    return publisher.publish(host.files, path, { ...how, ...(set && { set }) });
  },
  /** `film PATH BYTES FILE [text]`: a document of many blocks, whose content is in a file as well; random bytes, or letters. */
  film: async (run, [path = '', bytes, file = '', wish]) => {
    const { publisher, host } = readerOf(run);
    const random = randomBytes(Number(bytes));
    const content = wish === 'text' ? Buffer.from(random.toString('hex').slice(0, random.length)) : random;
    const metadata = { mediaType: 'application/octet-stream' };
    await publisher.publish(host.files, path, { content, metadata, blockChunks: 1 });
    await writeFile(resolve(run.folder, file), content);
  },
  /** `redirects [FROM STATUS TO]...`: published. */
  redirects: async (run, words) => {
    const { publisher, host } = readerOf(run);
    const redirects = words.flatMap((from, index) =>
      index % 3 === 0 ? [{ from, status: Number(words[index + 1]) as 301, to: words[index + 2] ?? '' }] : [],
    );
    publisher.publication.setSettings({ ...TEST_SETTINGS, redirects });
    await publisher.sign(host.files);
  },
  /** `damage PATH [FROM-END]`: one byte of the object of a document is another one; the last, or one before it. Done twice, it is repaired. */
  damage: (run, [path = '', fromEnd = '1']) => {
    const { publisher, host } = readerOf(run);
    const file = publisher.fileOf(path);
    const object = Buffer.from(host.files.get(file) ?? []);
    object[object.length - Number(fromEnd)] = (object.at(-Number(fromEnd)) ?? 0) ^ 1;
    host.files.set(file, object);
  },
  /** `descriptor NAME`: the next publication has a newer one, in which the publisher has this name. */
  descriptor: (run, [name = '']) => {
    const { publisher, keyServer } = readerOf(run);
    publisher.setDescriptor(publisher.descriptor(keyServer.origin, { issued: nowInSeconds() + 1, name }));
  },
  /** `fails ENDING STATUS`: how the content host answers for the newest file whose name ends so; `0`: with the file. */
  fails: (run, [ending = '', status]) => {
    const { host } = readerOf(run);
    const path = [...host.files.keys()].filter((path) => path.endsWith(ending)).at(-1) ?? '';
    if (status === '0') host.handlers.delete(path);
    else host.handlers.set(path, (_, response) => response.writeHead(Number(status)).end());
  },
  /** `swap PATH OTHER`: the content host has the object of one document where that of another is asked for. */
  swap: (run, [path = '', other = '']) => {
    const { publisher, host } = readerOf(run);
    host.files.set(publisher.fileOf(other), host.files.get(publisher.fileOf(path)) ?? new Uint8Array());
  },
  /** `revoke`: the reader's subscription ends. */
  revoke: (run) => readerOf(run).keyServer.revoke(),
  /** `devices N`: so many are connected. */
  devices: async (run, [count]) => expect(await readerOf(run).keyServer.devices()).toBe(Number(count)),

  /** `start wispr ARG...`: a command that stays, until `stop` or the end of the script; what it printed when it was ready is `stdout`, and `${port}` that of a Reader. */
  start: async (run, [, ...args]) => {
    const running = await startInProcess<{ proxy?: string }>(args, { cwd: run.folder, env: run.env });
    run.cleanUp.add(() => running.stop());
    run.running = running;
    run.last = { code: 0, stdout: running.stdout(), stderr: running.stderr() };
    if (running.ready.proxy) run.variables.set('port', new URL(running.ready.proxy).port);
  },
  /** `stop`: as Ctrl-C does; its exit code has to be 0. All that it said is `stdout` and `stderr`. */
  stop: async (run) => {
    run.last = (await run.running?.stop()) ?? run.last;
    run.printed += run.last.stdout + run.last.stderr;
    expect(run.last.code).toBe(0);
  },
  /** `said PATTERN`: the command that was started says it, sooner or later. */
  said: (run, [pattern = '']) => expect.poll(() => run.running?.stderr()).toMatch(new RegExp(pattern, 'm')),
  /** `get STATUS URL [HOST]`: through the Reader that runs, or of HOST at it; the body is `stdout`. */
  get: async (run, [status, url = '', host]) => {
    const answer = await send(Number(run.variables.get('port')), url, host === undefined ? {} : { headers: { host } });
    run.last = { code: 0, stdout: answer.text, stderr: '' };
    expect(answer.status).toBe(Number(status));
  },
  /** `kept N`: so many documents are in the cache of the Reader, sooner or later. */
  kept: async (run, [count]) => {
    const directory = join(readerOf(run).home, 'cache/wispr');
    await expect.poll(() => keptObjects(directory).length).toBe(Number(count));
  },
  /** `usual-port PORT`: the Reader has had this one so far. */
  'usual-port': async (run, [port = '']) => {
    const { home } = readerOf(run);
    const keyFile = join(home, 'config/wispr/reader.key');
    const store = await ReaderStore.open({ directory: join(home, 'data/wispr'), keyFile });
    new SettingsKeeper(store.preferences).save(new Map([['port', port]]));
    store.close();
  },
};
