/**
 * "Publish your own site" of the README, command by command: a publisher, an operator and a reader, each in a
 * directory of their own, with an empty home.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accepts, freePort } from '../../cache-config/child.ts';
import { findServer } from '../../cache-config/servers.ts';
import { publishedObjects } from '../../serve/site.ts';
import { type Ended, ROOT, type RunningProgram, startCommand } from '../support/programs.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { runWispr, startWispr } from '../support/wispr.ts';

const SITE = 'news.example';
const ARTICLE = '2026/11/17/the great tide.html';
const ARTICLE_URL = `http://${SITE}/2026/11/17/the%20great%20tide.html`;
/** Stands in the article and in no teaser. */
const FURTHER_DOWN = 'bathing machine';
const CORRECTED = '<!doctype html><title>Corrected</title><p>The tide did not say thank you.';

const folder = temporaryFolder();
const publisher = join(folder, 'publisher');
const operator = join(folder, 'operator');
const reader = join(folder, 'reader');
const host = join(folder, 'host');
const passphrase = join(folder, 'passphrase');
const running: RunningProgram[] = [];

let origins: { keyserver: string; reading: string };
let content: string;
let readers: { proxy: string; sites: { site: string; gateway: string }[] };
let invitation: { link: string };

beforeAll(() => {
  for (const directory of [publisher, operator, reader, host]) mkdirSync(directory);
  writeFileSync(passphrase, 'six words that are hard to guess\n', { mode: 0o600 });
});
afterAll(async () => {
  for (const program of running.reverse()) await program.stop();
});

/** Place of a person, which is their home directory too. */
const at = (cwd: string) => ({ cwd, env: { PATH: process.env.PATH, HOME: cwd } });

/** Runs `wispr` to its end in this process; what stays is a program of its own. */
const wispr = (cwd: string, ...args: string[]) => runWispr(args, at(cwd));

/** A command that has to go well; what it prints. */
async function good(cwd: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await wispr(cwd, ...args);
  expect({ code, stderr }).toEqual({ code: 0, stderr });
  return stdout;
}

async function stays<Ready>(cwd: string, ...args: string[]): Promise<Ready> {
  const program = await startWispr<Ready>(args, at(cwd));
  running.push(program);
  return program.ready;
}

/** Options for hosts that are all on this machine, when no name server knows the site. */
const here = () => ['--connect-to', `${SITE}:80:${new URL(content).host}`, '--allow-local', '127.0.0.1'];

async function curl(...args: string[]): Promise<Ended> {
  return startCommand(['curl', '--silent', '--show-error', '--noproxy', '', ...args]).ended;
}

/** Replaces texts in a file, each found once. */
function edit(file: string, ...changes: readonly (readonly [before: string, after: string])[]): void {
  const text = changes.reduce(
    (whole, [before, after]) => {
      expect(whole.split(before).length).toBe(2);
      return whole.replace(before, after);
    },
    readFileSync(file, 'utf8'),
  );
  writeFileSync(file, text);
}

/** Reads as after "reload", when the Reader looks for a newer publication. */
async function readAnew(url: string): Promise<string> {
  return (await curl('-x', readers.proxy, '-H', 'Cache-Control: no-cache', url)).stdout;
}

function modeOf(file: string): string {
  return (statSync(file).mode & 0o777).toString(8);
}

describe('publishing a site of one’s own', () => {
  test('init makes keys and a configuration', async () => {
    const printed = await good(publisher, 'init', `https://${SITE}`, '--passphrase-file', passphrase);
    expect(printed).toContain('wispr.json');
    expect(readdirSync(publisher).sort()).toEqual(['publisher.keys', 'root.keys', 'wispr.json', 'wispr.schema.json']);
    expect(modeOf(join(publisher, 'publisher.keys'))).toBe('600');
  });

  test('keyserver writes its configuration and keyserver.pub, then runs', async () => {
    await good(operator, 'keyserver');
    expect(readdirSync(operator).sort()).toEqual(['keyserver.db', 'keyserver.json', 'keyserver.pub', 'master.key']);
    for (const file of ['keyserver.db', 'master.key']) expect(modeOf(join(operator, file))).toBe('600');
    edit(
      join(operator, 'keyserver.json'),
      ['"host": "0.0.0.0", "port": 8443', '"host": "0.0.0.0", "port": 0'],
      ['"host": "0.0.0.0", "port": 8444', '"host": "0.0.0.0", "port": 0'],
      ['"host": "0.0.0.0", "port": 8445', '"host": "0.0.0.0", "port": 0'],
    );
    origins = await stays(operator, 'keyserver', '--dev');
  });

  test('protect turns site/ into protected/, and writes keys.bundle', async () => {
    cpSync(join(ROOT, 'examples/newspaper/site'), join(publisher, 'site'), { recursive: true });
    cpSync(join(operator, 'keyserver.pub'), join(publisher, 'keyserver.pub'));
    edit(
      join(publisher, 'wispr.json'),
      [`"content": "https://${SITE}"`, `"content": "http://${SITE}"`],
      [`"keyServer": "https://keys.${SITE}"`, `"keyServer": "${origins.keyserver}"`],
      [`"reading": "https://read.${SITE}"`, `"reading": "${origins.reading}"`],
    );
    await good(publisher, 'protect', '--passphrase-file', passphrase);
    expect(readdirSync(publisher)).toEqual(expect.arrayContaining(['keys.bundle', 'protected']));
    expect(readFileSync(join(publisher, 'site', ARTICLE), 'utf8')).toContain(FURTHER_DOWN);
    for (const file of filesIn(join(publisher, 'protected')))
      expect(readFileSync(file).includes(FURTHER_DOWN)).toBe(false);
  });

  test('admin import hands the keys to the key server while it runs', async () => {
    const imported = await wispr(operator, 'admin', 'import', join(publisher, 'keys.bundle'));
    expect(imported).toMatchObject({ code: 0, stderr: expect.stringMatching(/: 1 set, 1 new$/m) });
    const { publisher: known, sets } = JSON.parse(await good(operator, 'admin', 'list', '--json'));
    expect(known).toMatchObject({ serial: 1 });
    expect(sets).toEqual([expect.objectContaining({ site: SITE, name: 'subscribers' })]);
  });

  test('cache-config prints what nginx takes', async () => {
    const port = await freePort();
    content = `http://127.0.0.1:${port}`;
    const place = ['--listen', `127.0.0.1:${port}`, '--root', join(publisher, 'protected'), '--state-directory', host];
    const printed = await good(publisher, 'cache-config', 'nginx', ...place);
    expect(printed).toContain(`return 302 ${origins.reading}`);
    writeFileSync(
      join(host, 'nginx.conf'),
      process.getuid?.() === 0 ? printed.replace('user www-data', 'user root') : printed,
    );
    const nginx = [findServer('nginx') ?? 'nginx', '-p', host, '-c', join(host, 'nginx.conf'), '-e', 'stderr'];
    expect((await startCommand([...nginx, '-t']).ended).code).toBe(0);
    running.push(startCommand([...nginx, '-g', 'daemon off;']));
    await expect.poll(() => accepts(port)).toBe(true);
    for (const server of ['varnish', 'squid']) expect(await good(publisher, 'cache-config', server)).not.toBe('');
  });

  test('invite prints a link', async () => {
    invitation = JSON.parse(await good(operator, 'invite', 'ada', '--json'));
    expect(invitation.link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/-\/join#[0-9A-Z-]+\.[\w-]{43}$/);
  });
});

describe('reading it', () => {
  test('bind connects, and proxy hands out the site byte for byte', async () => {
    await good(reader, 'bind', invitation.link, '--trust-site', SITE, '--yes', ...here());
    for (const file of filesIn(reader)) expect({ file, mode: modeOf(file) }).toEqual({ file, mode: '600' });
    readers = await stays(reader, 'proxy', '--port', '0', ...here());
    const { proxy, sites } = readers;
    const original = readFileSync(join(publisher, 'site', ARTICLE), 'utf8');
    const through = await curl('-x', proxy, ARTICLE_URL);
    expect(through).toEqual({ code: 0, stdout: original, stderr: '' });
    const [site] = sites;
    expect(site).toMatchObject({ site: SITE });
    const { hostname, port } = new URL(site?.gateway ?? '');
    const gateway = await curl(
      '--resolve',
      `${hostname}:${port}:127.0.0.1`,
      `${site?.gateway}2026/11/17/the%20great%20tide.html`,
    );
    expect(gateway).toEqual({ code: 0, stdout: original, stderr: '' });
  });

  test('without the proxy, the host has a teaser and ciphertext', async () => {
    const page = await curl(`${content}/2026/11/17/the%20great%20tide.html`);
    expect(page.stdout).toContain(`${origins.reading}/2026/11/17/the%20great%20tide.html`);
    expect(page.stdout).not.toContain(FURTHER_DOWN);
    const object = await curl(`${content}${objectOf(ARTICLE)}`);
    expect(object.stdout.slice(0, 8)).toBe('wispr/1\n');
  });
});

describe('looking after it', () => {
  test('verify finds nothing wrong in what was made, and a changed byte by name', async () => {
    const mirror = join(folder, 'mirror');
    cpSync(join(publisher, 'protected'), mirror, { recursive: true });
    await good(folder, 'verify', mirror);
    await good(publisher, 'verify');
    await good(publisher, 'verify', content);
    const object = join(mirror, decodeURIComponent(objectOf(ARTICLE)));
    const bytes = readFileSync(object);
    bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1);
    writeFileSync(object, bytes);
    const { code, stdout } = await wispr(folder, 'verify', mirror);
    expect(code).toBe(3);
    expect(stdout).toContain('the great tide.html.protected: block-digest');
  });

  test('publish uploads a correction to the host, and updates the key server', async () => {
    const token = await good(operator, 'admin', 'token');
    writeFileSync(join(publisher, 'token'), token, { mode: 0o600 });
    writeFileSync(join(publisher, 'site', ARTICLE), CORRECTED);
    const printed = await good(publisher, 'publish', '--token-file', 'token', '--passphrase-file', passphrase);
    expect(printed).toContain('1 changed');
    await expect.poll(() => readAnew(ARTICLE_URL)).toBe(CORRECTED);
    const published = await fetch(`${origins.keyserver}/.well-known/wispr/timestamp.json`);
    expect(await published.json()).toMatchObject({ signed: { meta: { 'snapshot.json': { version: 2 } } } });
    await good(publisher, 'verify', content);
  });

  test('what is withdrawn is shown no more, until something newer is published', async () => {
    const as = ['--token-file', 'token', '--passphrase-file', passphrase];
    await good(publisher, 'withdraw', '2', '--yes', ...as);
    await expect.poll(() => readAnew(ARTICLE_URL)).toContain('publication-withdrawn');
    const { code, stdout } = await wispr(publisher, 'verify', content);
    expect([code, stdout]).toEqual([3, expect.stringContaining('publication-withdrawn')]);
    writeFileSync(join(publisher, 'site', ARTICLE), `${CORRECTED}<p>Again.`);
    await good(publisher, 'publish', ...as);
    await expect.poll(() => readAnew(ARTICLE_URL)).toBe(`${CORRECTED}<p>Again.`);
  });

  test('SIGTERM ends what stays, well', async () => {
    for (const program of running.splice(0).reverse()) expect((await program.stop()).code).toBe(0);
  });
});

/** The URL path of an article's object. */
function objectOf(article: string): string {
  const object = publishedObjects(publisher).get(`/${article}`);
  if (object === undefined) throw new Error(`${article} was not published`);
  return object;
}

function filesIn(directory: string): string[] {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
