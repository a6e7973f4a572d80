/** `wispr demo` in its other ways: told in lines, and stopped. */
import { request } from 'undici';
import { describe, expect, test } from 'vitest';
import { type Addresses, demoRuns, KEYS, stepsOf, viaProxy } from '../../support/demo-runs.ts';
import { listeningOn, processesIn, ROOT, startCommand } from '../../support/programs.ts';

const runs = demoRuns();

describe('npm run demo', () => {
  test('--once prints the journey in six to twelve lines, and ends well', async () => {
    const { code, stdout, stderr } = await runs.run('demo', '--once');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const steps = stepsOf(stdout);
    expect(steps.length).toBeGreaterThanOrEqual(6);
    expect(steps.length).toBeLessThanOrEqual(12);
    for (const [index, step] of steps.entries()) expect(step).toMatch(new RegExp(`^ ?${index + 1}  \\S`));
    expect(steps.at(-1)).toContain('block-digest');
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
    const running = runs.start('demo');
    await running.line(/^ 1 /);
    const { code, stderr } = await running.stop();
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
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
