/** `npm run demo` in its other ways: told in lines, tampered with, stopped, and with a directory of one's own. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { request } from 'undici';
import { describe, expect, test } from 'vitest';
import { type Addresses, DEMO, demoRuns, KEYS, stepsOf, viaProxy } from '../../support/demo-runs.ts';
import { listeningOn, processesIn, ROOT, startCommand, startProgram } from '../../support/programs.ts';

const runs = demoRuns();

describe('npm run demo', () => {
  test('--once prints the journey in six to twelve lines, and ends well', async () => {
    const { code, stdout, stderr } = await runs.demo('--once');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const steps = stepsOf(stdout);
    expect(steps.length).toBeGreaterThanOrEqual(6);
    expect(steps.length).toBeLessThanOrEqual(12);
    for (const [index, step] of steps.entries()) expect(step).toMatch(new RegExp(`^ ?${index + 1}  \\S`));
    await runs.expectNothingLeft();
  });

  test('--tamper shows that an altered document is refused, and that counts as good', async () => {
    const { code, stdout, stderr } = await runs.demo('--once', '--tamper');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stepsOf(stdout).length).toBeLessThanOrEqual(12);
    expect(stepsOf(stdout).at(-1)).toContain('block-digest');
    await runs.expectNothingLeft();
  });

  test('--json stays up, every address answers, and everything ends when npm is stopped', async () => {
    const running = runs.stays(
      startCommand(['npm', 'run', '--silent', 'demo', '--', '--json'], { env: runs.env(), cwd: ROOT }),
    );
    const addresses: Addresses = JSON.parse(await running.line(/^\{/));
    expect(Object.keys(addresses)).toEqual(KEYS);
    await expectAllAnswer(addresses);
    const { site, ...local } = addresses;
    const ports = Object.values(local).map((url) => Number(new URL(url).port));
    const sockets = listeningOn(ports);
    expect(sockets.length).toBeGreaterThanOrEqual(5); // proxy and gateway share one
    expect(processesIn(runs.folder()).length).toBeGreaterThan(0);

    const { stdout } = await running.stop('SIGTERM');
    expect(stdout).toBe(`${JSON.stringify(addresses)}\n`);
    expect(listeningOn(ports).filter((inode) => sockets.includes(inode))).toEqual([]);
    await runs.expectNothingLeft();
  });

  test('ends cleanly when it is stopped while it starts', async () => {
    const running = runs.stays(startProgram(DEMO, [], { env: runs.env() }));
    await running.line(/^ 1 /);
    const { code, stderr } = await running.stop();
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    await runs.expectNothingLeft();
  });
});

describe('npm run demo -- --site', () => {
  test('publishes any directory: nested folders, spaces, other scripts, an empty file, none with an extension', async () => {
    const files = [
      'page.html',
      'a/b/c/deep down.html',
      'a/Grüße aus 東京.txt',
      'LICENCE',
      'empty',
      '100% & more?.html',
      'ünï/#1.svg',
    ];
    for (const file of files) put(file, file === 'empty' ? '' : `content of ${file}`);
    const { code, stdout, stderr } = await runs.demo('--site', runs.sites(), '--once', '--json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [, summary] = stepsOf(stdout).map((line) => JSON.parse(line));
    expect(summary).toMatchObject({ good: true, documents: files.length, same: 2 * files.length, different: [] });
    await runs.expectNothingLeft();
  });

  test('names the files that cannot be published, and ends with 1', async () => {
    put('good.html', 'good');
    put('bad.protected', 'bad');
    const { code, stdout, stderr } = await runs.demo('--site', runs.sites(), '--once');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('/bad.protected');
    expect(stderr).toContain('demo: hint: ');
    await runs.expectNothingLeft();
  });

  test('refuses an empty directory, and one that is not there', async () => {
    for (const directory of [runs.sites(), join(runs.sites(), 'absent')]) {
      const { code, stdout, stderr } = await runs.demo('--site', directory, '--once');
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toContain(directory);
      expect(stderr).not.toContain('    at ');
    }
    await runs.expectNothingLeft();
  });
});

describe('npm run demo, wrongly', () => {
  test.each([['--wrong'], ['--site'], ['surplus']])('%s: says what there is, and ends with 2', async (...args) => {
    const { code, stdout, stderr } = await runs.demo(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('--tamper');
    await runs.expectNothingLeft();
  });
});

async function expectAllAnswer(addresses: Addresses): Promise<void> {
  const { tour, proxy, gateway, site, keyserver, reading, origin, cache } = addresses;
  const descriptor = '/.well-known/wispr-provider';
  expect((await viaProxy(proxy, site)).status).toBe(200);
  expect((await viaProxy(proxy, gateway)).status).toBe(200);
  for (const url of [tour, proxy, `${keyserver}${descriptor}`, `${reading}/-/sign-in`, origin, cache])
    expect({ url, status: (await request(url)).statusCode }).toEqual({ url, status: 200 });
}

function put(file: string, content: string): void {
  mkdirSync(dirname(join(runs.sites(), file)), { recursive: true });
  writeFileSync(join(runs.sites(), file), content);
}
