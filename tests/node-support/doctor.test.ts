/** Parts of `wispr doctor`: checks that fail or hang, clocks, disks, versions. */
import { createServer } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../cache-config/child.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { type Check, diagnose, ok, untilEnd } from '../../node-support/doctor/diagnosis.ts';
import { diskChecks, versionCheck } from '../../node-support/doctor/machine.ts';
import { clockCheck, timeOf } from '../../node-support/doctor/network.ts';
import { closeServer, listenOnLoopback } from '../support/content-host.ts';

const check = (name: string, run: Check['run']): Check => ({ check: name, remedy: 'mend it', run });

it('a check that throws or hangs is a problem, and the others are done', async () => {
  const hanging = check('hangs', () => new Promise(() => undefined));
  const failing = check('fails', () => Promise.reject(new Error('no')));
  expect(await diagnose([hanging, failing, check('works', async () => ok('good'))], 50)).toEqual([
    { check: 'hangs', status: 'problem', says: 'it did not answer in time', remedy: 'mend it' },
    { check: 'fails', status: 'problem', says: 'no', remedy: 'mend it' },
    { check: 'works', status: 'ok', says: 'good' },
  ]);
});

it('an end that is near is a warning, and one that has passed a problem', () => {
  const statuses = [-1, 1, 10, 31].map((days) => untilEnd(1000 + days * 86_400, 1000, 30, '').status);
  expect(statuses).toEqual(['problem', 'warning', 'warning', 'ok']);
});

/** A server whose clock differs by so many seconds. @returns its origin */
async function serverOff(seconds: number, age?: number): Promise<string> {
  const server = createServer((_, response) => {
    const date = new Date((nowInSeconds() + seconds - (age ?? 0)) * 1000).toUTCString();
    response.writeHead(200, { date, ...(age !== undefined && { age: String(age) }) }).end();
  });
  onTestFinished(() => closeServer(server));
  return `http://127.0.0.1:${await listenOnLoopback(server)}`;
}

it.each([
  [[0], 'ok', /^[01] s/],
  [[-100], 'warning', /^(?:100|101) s ahead of a server/],
  [[1000], 'problem', /^(?:999|1000) s behind a server/],
  [[0, 0, 5000], 'ok', /servers$/],
  [[0, 5000, 5000], 'problem', /behind servers$/],
])('the clock, beside servers that differ by %j seconds, is %s', async (offs, status, says) => {
  const origins = await Promise.all(offs.map((off) => serverOff(off)));
  const nobody = `http://127.0.0.1:${await freePort()}`;
  const [found] = await diagnose([clockCheck([...origins, nobody].map(timeOf))]);
  expect(found).toMatchObject({ status, says: expect.stringMatching(says) });
});

it('an answer that a cache has kept tells the time with its age', async () => {
  const [found] = await diagnose([clockCheck([timeOf(await serverOff(0, 4000))])]);
  expect(found).toMatchObject({ status: 'ok' });
});

it('each disk is looked at once, and directories that are not there are passed over', async () => {
  const checks = await diskChecks([import.meta.dirname, '/none', import.meta.dirname, '/proc']);
  expect(checks.map((one) => one.check)).toEqual([`disk of ${import.meta.dirname}`, 'disk of /proc']);
  const [, full] = await diagnose(checks);
  expect(full).toMatchObject({ status: 'problem', says: '0 bytes free' });
});

it('a Node.js that is too old is a problem', async () => {
  const statuses = ['24.14.9', '23.99.0', '24.15.0', '26.1.0'].map((node) => versionCheck('1.0.0', '>=24.15', node));
  expect((await diagnose(statuses)).map(({ status }) => status)).toEqual(['problem', 'problem', 'ok', 'ok']);
});
