/** docs/deploy.md, command by command, with a real Caddy: in namespaces of their own, where the names lead here and nothing of this machine is changed. */
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { temporaryFolder } from '../../support/keyserver-rig.ts';

const PAGE = readFileSync(new URL('../../../docs/deploy.md', import.meta.url), 'utf8');
const STAGE = fileURLToPath(new URL('deploy-stage.sh', import.meta.url));
const UNITS = fileURLToPath(new URL('../../../packaging/debian/system', import.meta.url));
const WISPR = fileURLToPath(new URL('../../../bin/wispr.js', import.meta.url));

/** Mount namespaces with users in them need root. */
const test = it.runIf(process.getuid?.() === 0);

const folder = temporaryFolder();
beforeAll(() => {
  mkdirSync(join(folder, 'publisher/site/inside'), { recursive: true });
  writeFileSync(join(folder, 'publisher/site/index.html'), '<h1>Front</h1><a href="/inside/">in</a>');
  writeFileSync(join(folder, 'publisher/site/inside/index.html'), '<p>secret</p>');
});

/** The blocks of one language. */
function blocks(language: string): string[] {
  return Array.from(PAGE.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms')), ([, text = '']) => text);
}

test('leads to a site that verifies, and to a reader who is connected', async () => {
  const [configuration = ''] = blocks('json');
  const [front = ''] = blocks('caddyfile');
  writeFileSync(join(folder, 'keyserver.json'), configuration);
  writeFileSync(join(folder, 'front'), front);
  const commands = blocks('sh').filter((block) => /^# (server|publisher)\n/.test(block));
  writeFileSync(join(folder, 'commands'), commands.join(''));
  const namespaces = ['--net', '--mount', '--pid', '--fork', '--mount-proc', '--kill-child'];
  const args = [...namespaces, 'bash', STAGE, folder, WISPR, UNITS];
  const { stdout } = await promisify(execFile)('unshare', args, { maxBuffer: 2 ** 24 }).catch((error) => {
    throw new Error(error.stdout); // output with what failed at its end
  });
  const said = stdout.split(/^\+ /m);
  const of = (command: string) => said.filter((part) => part.startsWith(command)).join('');
  expect(of('curl https://keys.news.example/healthz')).toContain('{"problems":[]}');
  expect(of('wispr verify https://news.example/')).toContain('nothing wrong was found');
  expect(of('wispr bind')).toContain('connected');
  expect(of('ls')).toMatch(/^-rw-------.* wispr-20\d\d-\d\d-\d\d\.db$/m);
  expect(of('ls')).toMatch(/^-rw-r--r--.* timestamp\.json$/m);
});
