import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fromBase64url } from '../../core/encoding/base64url.ts';
import { askForKeys, bind } from '../support/device.ts';
import { temporaryFolder, writeServerConfig } from '../support/keyserver-rig.ts';
import { createPublisher, type PublisherWithSets, sealBundle, setOf } from '../support/publisher-with-sets.ts';
import { createVisitor } from '../support/reading-site-visitor.ts';
import { storeIn } from '../support/store.ts';
import { type RunningWispr, runWispr, startWispr } from '../support/wispr.ts';

let folder: string;
let server: RunningWispr<Record<string, string>>;
let publisher: PublisherWithSets;
beforeAll(async () => {
  folder = temporaryFolder();
  writeServerConfig(folder, { ...(await storeIn(folder)), fetchFrom: { 'news.example': 'http://127.0.0.1:9' } });
  server = await startWispr(['keyserver', '--dev'], { cwd: folder });
  publisher = await createPublisher();
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

const wispr = (...args: string[]) => runWispr(args, { cwd: folder });

async function writeBundle(name: string, serial: number): Promise<void> {
  const recipient = fromBase64url(readFileSync(join(folder, 'keyserver.pub'), 'utf8').trimEnd()) ?? new Uint8Array();
  const { keyserver = '', reading = '' } = server.ready;
  const options = { keyServer: keyserver, reading, content: 'https://cdn.example', serial };
  writeFileSync(join(folder, name), await sealBundle(publisher, recipient, options));
}

describe('beside the running key server', () => {
  it('an invitation before any bundle says that it leads to nothing yet, and works from the import on', async () => {
    const early = await wispr('invite', 'early', '--json');
    expect(early.code).toBe(0);
    expect(early.stderr).toMatch(
      /^wispr: there is no publisher here yet: .*\nwispr: hint: "wispr admin import FILE".*\n$/,
    );
    const { code } = JSON.parse(early.stdout);
    const { keyserver = '' } = server.ready;
    const binding = () => bind({ keyServer: keyserver, publisher: publisher.root.id }, code);
    await expect(binding()).rejects.toThrow();
    await writeBundle('one.bundle', 1);
    const first = await wispr('admin', 'import', 'one.bundle');
    expect(first).toMatchObject({ code: 0, stdout: '' });
    expect(first.stderr).toContain(`fingerprint with what the publisher tells you: ${publisher.root.id}`);
    expect(first.stderr).toContain('imported serial 1: 2 sets, 2 new');
    expect(await askForKeys(await binding(), [setOf(publisher, 'day-1').id])).toMatchObject({
      keys: [{}],
      refused: [],
    });
    expect((await wispr('invite', 'early')).stderr).not.toContain('no publisher');
  });

  it('a bundle is imported again, and refused when it is older or none', async () => {
    await writeBundle('two.bundle', 2);
    expect((await wispr('admin', 'import', 'one.bundle')).stderr).toContain('here already');
    expect((await wispr('admin', 'import', 'two.bundle', '--json')).stdout).toContain('"outcome":"updated"');
    const older = await wispr('admin', 'import', 'one.bundle');
    expect(older.code).toBe(1);
    expect(older.stderr).toMatch(
      /^wispr: the bundle has serial 1; serial 2 is already here \[bundle-older\]\nwispr: hint: .*\n$/,
    );
    expect((await wispr('admin', 'import', 'none.bundle')).stderr).toContain('there is no none.bundle');
    expect((await wispr('admin', 'import', 'keyserver.pub')).code).toBe(1);
  });

  it('an invitation works at once, in the Reader and in a browser', async () => {
    const plain = await wispr('invite', 'anna', '--sets', 'day-1', '--until', '2099-06-30');
    expect(plain.code).toBe(0);
    const { keyserver = '', reading = '' } = server.ready;
    const code = '[0-9A-HJKMNP-TV-Z]{4}(?:-[0-9A-HJKMNP-TV-Z]{4}){3}';
    expect(plain.stdout).toMatch(new RegExp(`^${keyserver}#${code}\\.${publisher.root.id}\n$`));
    expect(plain.stderr).toContain('anna is a new subscriber: sets day-1 until 2099-06-30');
    const [, forReader = ''] = /#([\w-]+)/.exec(plain.stdout) ?? [];
    const device = await bind({ keyServer: keyserver, publisher: publisher.root.id }, forReader);
    const answer = await askForKeys(device, [setOf(publisher, 'day-1').id, setOf(publisher, 'day-2').id]);
    expect(answer).toMatchObject({ keys: [{}], refused: [{ reason: 'not-entitled' }] });
    const browser = createVisitor(reading);
    const used = await browser.join(forReader, 'ten characters');
    expect(used.status).toBe(403);
    const second = await wispr('invite', 'anna', '--json');
    const joined = await browser.join(JSON.parse(second.stdout).code, 'ten characters');
    expect(joined.status).toBe(303);
  });

  it('a second invitation extends, and keeps what was granted', async () => {
    const again = await wispr('invite', 'Anna', '--until', '2099-12-31', '--json');
    const { subscriber, created, grants } = JSON.parse(again.stdout);
    expect([subscriber, created]).toEqual(['anna', false]);
    expect(grants).toMatchObject([{ pattern: 'day-1', until: Date.UTC(2099, 11, 31, 23, 59, 59) / 1000 }]);
  });

  it('an invitation says which of its patterns match no set yet', async () => {
    const typed = await wispr('invite', 'paula', '--sets', 'day-*,days-1,2027-*');
    expect(typed.code).toBe(0);
    expect(typed.stderr).toContain('wispr: no set matches days-1, 2027-* yet\nwispr: hint: "wispr admin list"');
    const good = await wispr('invite', 'paula', '--sets', 'day-*');
    expect(good.stderr).not.toContain('no set matches');
    await wispr('admin', 'revoke', 'paula');
  });

  it('the list shows everything but secrets', async () => {
    const { stdout } = await wispr('admin', 'list');
    expect(stdout).toMatch(
      /anna: sets day-1 until 2099-12-31, password set, 1 session, 1 open invitation\n +device \S{8}…, connected/,
    );
    const json = (await wispr('admin', 'list', '--json')).stdout;
    expect(JSON.parse(json).subscribers).toMatchObject([
      { name: 'anna', account: true, devices: [{}] },
      { name: 'early' },
      { name: 'paula' },
    ]);
    for (const { key } of publisher.sets.values()) expect(json).not.toContain(Buffer.from(key).toString('base64url'));
    expect(json).not.toMatch(/argon2|sealed|password/);
  });

  it('the list of one person shows rights, what can be read until when, and devices', async () => {
    const plan = ['admin', 'plan', 'weekly', '--title', 'Weekly', '--sets', 'day-2'];
    expect((await wispr(...plan)).code).toBe(0);
    const later = ['invite', 'anna', '--plan', 'weekly', '--from', '2099-01-01', '--until', '2099-01-31'];
    expect((await wispr(...later)).code).toBe(0);
    const { code, stdout } = await wispr('admin', 'list', 'ANNA');
    expect(code).toBe(0);
    expect(stdout.split('\n')).toEqual([
      'anna',
      '  password set, 1 session, 2 open invitations',
      '',
      'Rights (2)',
      '  sets day-1 until 2099-12-31',
      '  plan weekly from 2099-01-01 to 2099-01-31',
      '',
      'Newest sets (2)',
      '  day-2  cannot be read: no right covers it, or not its time',
      '  day-1  can be read: sets day-1 until 2099-12-31',
      '',
      'Devices (1)',
      expect.stringMatching(/^ {2}\S{8} {2}Reader, connected 20\S+, last used 20\S+$/),
      '',
    ]);
    const json = await wispr('admin', 'list', 'anna', '--json');
    expect(JSON.parse(json.stdout)).toMatchObject({
      name: 'anna',
      rights: [{ plan: null, patterns: ['day-1'] }, { plan: { name: 'weekly' } }],
      sets: [
        { set: 'day-2', can: false, reason: 'not-entitled', by: null },
        { set: 'day-1', can: true, by: { until: Date.UTC(2099, 11, 31, 23, 59, 59) / 1000 } },
      ],
      devices: [{ id: expect.stringMatching(/^\S{8}$/), kind: 'reader' }],
    });
    expect(json.stdout).not.toMatch(/argon2|sealed|"password/);
    const none = await wispr('admin', 'list', 'unknown');
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('[no-such-subscriber]')]);
  });

  it('naming sets takes nothing away, which is said; after revoking, it does', async () => {
    await wispr('invite', 'dora');
    const more = await wispr('invite', 'dora', '--sets', 'day-1');
    expect(more.stderr).toContain('dora was a subscriber already, and may read in all: all sets, sets day-1\n');
    expect(more.stderr).toContain(
      'wispr: nothing was taken away; granted before: all sets\nwispr: hint: "wispr admin revoke',
    );
    const same = await wispr('invite', 'dora', '--sets', '*,day-1');
    expect(same.stderr).not.toContain('taken away');
    await wispr('admin', 'revoke', 'dora');
    const back = JSON.parse((await wispr('invite', 'dora', '--sets', 'day-2', '--json')).stdout);
    expect(back).toMatchObject({ created: false, grants: [{ pattern: 'day-2' }], kept: [] });
    await wispr('admin', 'revoke', 'dora');
    const again = JSON.parse((await wispr('invite', 'dora', '--json')).stdout);
    expect(again.grants).toMatchObject([{ pattern: '*' }]);
  });

  it('revoking is felt at once', async () => {
    const invited = JSON.parse((await wispr('invite', 'bert', '--json')).stdout);
    const { keyserver = '' } = server.ready;
    const device = await bind({ keyServer: keyserver, publisher: publisher.root.id }, invited.code);
    const { code, stderr } = await wispr('admin', 'revoke', 'bert');
    expect([code, stderr]).toEqual([0, expect.stringContaining('bert is revoked: 1 device refused, 0 sessions ended')]);
    const answer = await askForKeys(device, [setOf(publisher, 'day-1').id]);
    expect(answer.refused).toMatchObject([{ reason: 'revoked' }]);
  });

  it('a publishing token is shown once, listed without what it is, and revoked', async () => {
    const made = await wispr('admin', 'token', '--name', 'ci', '--days', '30');
    expect([made.code, made.stdout]).toEqual([0, expect.stringMatching(/^wispr-publish-[\w-]{43}\n$/)]);
    const { keyserver = '' } = server.ready;
    const authorization = `Bearer ${made.stdout.trim()}`;
    const put = () => fetch(`${keyserver}/v1/publication`, { method: 'PUT', headers: { authorization } });
    expect((await put()).status).toBe(400);
    const again = await wispr('admin', 'token', '--name', 'ci');
    expect([again.code, again.stdout]).toEqual([2, '']);
    const list = await wispr('admin', 'token', '--list');
    expect(list.stdout).toMatch(/ci: for publishing, made .*, good until .*, last used/);
    expect(list.stdout).not.toContain(made.stdout.trim().slice(-43));
    expect((await wispr('admin', 'list')).stdout).toContain('Tokens (1)');
    expect((await wispr('admin', 'token', '--revoke', 'ci')).code).toBe(0);
    expect((await put()).status).toBe(401);
    expect((await wispr('admin', 'token', '--revoke', 'ci')).stderr).toContain('argument-invalid');
  });

  it('ten processes at once lose nothing', async () => {
    const names = Array.from({ length: 10 }, (_, index) => `reader ${index}`);
    const outcomes = await Promise.all(names.map((name) => wispr('invite', name)));
    expect(outcomes.map(({ code }) => code)).toEqual(names.map(() => 0));
    const { subscribers } = JSON.parse((await wispr('admin', 'list', '--json')).stdout);
    expect(subscribers.map(({ name }: { name: string }) => name)).toEqual(expect.arrayContaining(names));
  });
});

describe('wrong arguments', () => {
  it.each([
    [['invite'], 2, /missing required argument 'name'/],
    [['invite', 'anna', '--until', '2099-02-30'], 2, /"2099-02-30" is not a date/],
    [['invite', 'anna', '--until', '2001-01-01'], 2, /not in the future/],
    [['invite', 'anna', '--valid', 'soon'], 2, /1 to 90 whole days/],
    [['invite', 'anna', '--valid', '0'], 2, /1 to 90 whole days/],
    [['invite', 'anna', '--sets', 'a b'], 2, /cannot be a pattern/],
    [['invite', 'anna', '--sets', ''], 2, /cannot be a pattern/],
    [['invite', 'anna', '--sets', 'a,,b'], 2, /cannot be a pattern/],
    [['invite', '<script>'], 2, /cannot be the name of a subscriber/],
    [['invite', ''], 2, /cannot be the name of a subscriber/],
    [['admin', 'revoke', 'nobody'], 1, /there is no subscriber "nobody"/],
    [['admin', 'import', 'none.bundle'], 2, /there is no none\.bundle/],
    [['admin', 'frobnicate'], 2, /unknown command/],
    [['admin', 'token', '--days', 'soon'], 2, /1 to 3650 whole days/],
    [['admin', 'token', '--name', 'a b'], 2, /cannot be the name of a token/],
    [['invite', 'anna', '-c', 'none.json'], 2, /there is no none\.json/],
    [['keyserver', '--frobnicate'], 2, /unknown option/],
  ] as [string[], number, RegExp][])('%j: exit code %i', async (args, status, words) => {
    const outcome = await wispr(...args);
    expect([outcome.code, outcome.stdout]).toEqual([status, '']);
    expect(outcome.stderr).toMatch(words);
    expect(outcome.stderr).toMatch(/^wispr: /);
    expect(outcome.stderr).not.toMatch(/\.ts:\d/);
  });

  it('attack 49: of a name in quotes are a name, or refused', async () => {
    const before = (await wispr('admin', 'list')).stdout;
    const outcome = await wispr('admin', 'revoke', "'; DROP TABLE subscribers; --");
    expect(outcome.code).toBe(1);
    expect((await wispr('admin', 'list')).stdout).toBe(before);
  });
});
