/** The folder of what was read, beside programs that are killed, and disks that are full. */
import { randomBytes } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LIMITS } from '../../client-proxy/limits.ts';
import type { HostileKeyServer } from '../support/hostile-key-server.ts';
import { send } from '../support/http-client.ts';
import { filesBelow, keptObjects } from '../support/kept-objects.ts';
import { ROOT, startCommand } from '../support/programs.ts';
import { CleanUp, proxyCommand, type ReaderRig, startHostileReaderRig } from '../support/reader-rig.ts';

const cleanUp = new CleanUp();
let rig: ReaderRig<HostileKeyServer>;
beforeEach(async () => {
  rig = cleanUp.use(await startHostileReaderRig());
});
afterEach(() => cleanUp.run());

const folder = () => join(rig.storage.dataDirectory, 'cache');
const files = (below: string) => filesBelow(join(folder(), below));

/** `wispr proxy` as a process of its own, in place of the rig's. @param limit - a command of the shell before it */
async function startProcess(limit = 'true') {
  await rig.proxy.close();
  const wispr = [process.execPath, `${ROOT}bin/wispr.js`, ...proxyCommand(rig, rig.host.port), '--json'];
  const program = startCommand(['bash', '-c', `${limit}; exec "$@"`, 'bash', ...wispr]);
  cleanUp.add(() => program.stop('SIGKILL'));
  const { proxy } = JSON.parse(await program.line(/^\{/)) as { proxy: string };
  return { ...program, port: Number(new URL(proxy).port) };
}

describe('the cache', () => {
  it('attack 66: kill -9 while an object is written leaves none that counts', async () => {
    const content = randomBytes(3_000_000);
    const object = await rig.publisher.publish(rig.host.files, '/film.mp4', { content });
    rig.host.handlers.set(rig.publisher.fileOf('/film.mp4'), (_, response) => {
      response.writeHead(200, { 'content-length': object.length });
      response.write(object.subarray(0, 2_000_000)); // the rest never comes
    });
    const process = await startProcess();
    const outgoing = request({ port: process.port, host: '127.0.0.1', path: rig.url('/film.mp4') }, (answer) =>
      answer.on('error', () => undefined).resume(),
    );
    outgoing.on('error', () => undefined).end();
    const written = async () => {
      const [file] = files('partial');
      return file === undefined ? 0 : (await stat(file)).size;
    };
    await expect.poll(written).toBeGreaterThan(1_000_000);
    await process.stop('SIGKILL');
    outgoing.destroy();
    expect([files('objects').length, files('partial').length]).toEqual([0, 1]);
    rig.host.handlers.clear();
    await rig.restart({ cacheBytes: LIMITS.cacheBytes });
    await expect.poll(() => files('partial')).toEqual([]);
    expect((await send(rig.proxy.port, rig.url('/film.mp4'))).body.equals(content)).toBe(true);
  });

  it('attack 67: on a disk that takes no more, reading goes on, and nothing half is left', async () => {
    const content = randomBytes(3_000_000);
    await rig.publisher.publish(rig.host.files, '/film.mp4', { content });
    await rig.publisher.publish(rig.host.files, '/small.bin', { content: randomBytes(1000) });
    const process = await startProcess('ulimit -f 2000');
    for (let turn = 0; turn < 2; turn++) {
      const answer = await send(process.port, rig.url('/film.mp4'));
      expect([answer.complete, answer.body.equals(content)]).toEqual([true, true]);
    }
    await expect.poll(() => [keptObjects(folder()), files('partial')]).toEqual([[], []]);
    expect((await send(process.port, rig.url('/small.bin'))).status).toBe(200);
  });

  it('goes on where it was when the proxy ended', async () => {
    await rig.restart({ cacheBytes: 10_000_000 });
    const content = randomBytes(500_000);
    await rig.publisher.publish(rig.host.files, '/a.bin', { content });
    await send(rig.proxy.port, rig.url('/a.bin'));
    await rig.proxy.close(); // documents read whole are written first
    expect(keptObjects(folder())).toHaveLength(1);
    await rig.restart({ cacheBytes: 10_000_000 });
    rig.host.requests.length = 0;
    expect((await send(rig.proxy.port, rig.url('/a.bin'))).body.equals(content)).toBe(true);
    expect(rig.host.requests.filter(({ url }) => url.includes('a.bin'))).toEqual([]);
  });
});
