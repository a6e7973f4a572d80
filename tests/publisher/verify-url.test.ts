import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { urlPathOf } from '../../core/site/path.ts';
import type { VerifyReport } from '../../publisher/verify/report.ts';
import { verifyUrl } from '../../publisher/verify/url.ts';
import { type ContentHost, startContentHost } from '../support/content-host.ts';
import { createWorkspace, snapshot, type TestWorkspace } from '../support/workspace.ts';

const PAGE = '<!doctype html><title>A page</title><p>Rest.</p>';
let workspace: TestWorkspace;
let host: ContentHost;

beforeAll(async () => {
  const files = { 'index.html': PAGE, 'a/b c.html': PAGE, 'large.bin': Buffer.alloc(200_000), 'style.css': 'p {}' };
  workspace = await createWorkspace(files, { public: ['style.css'] });
  await workspace.protect();
  host = await startContentHost();
});
beforeEach(async () => {
  host.files.clear();
  host.handlers.clear();
  host.requests.length = 0;
  for (const [path, content] of await snapshot(workspace.out))
    host.files.set(urlPathOf(`/${path}`), Buffer.from(content, 'base64'));
});
afterAll(async () => {
  await host.close();
  await workspace.remove();
});

const verify = (path: string, ...paths: string[]) => verifyUrl(new URL(host.origin + path), paths);
const findings = ({ findings: found }: VerifyReport) => found.map(({ path, code }) => `${path} ${code}`);

describe('a published site', () => {
  it('passes for the documents that are named', async () => {
    const report = await verify('/', '/', '/a/b%20c.html', 'large.bin', '/style.css?query#fragment');
    expect(report).toMatchObject({
      encrypted: 3,
      signed: 1,
      fallbackPages: ['/a/b c.html', '/index.html'],
      findings: [],
    });
    expect(report.notes.join()).toContain('only the documents that were named were checked');
  });

  it('is checked at / if nothing is named, or at the path of the URL', async () => {
    expect(await verify('')).toMatchObject({ encrypted: 1, fallbackPages: ['/index.html'] });
    expect(await verify('/large.bin')).toMatchObject({ encrypted: 1, fallbackPages: [] });
  });

  it('passes with pages that carry themselves', async () => {
    const carried = await createWorkspace({ 'a.html': PAGE }, { carrier: 'html' });
    await carried.protect();
    host.files.clear();
    for (const path of ['a.html', '.well-known/wispr-site', '.well-known/wispr-provider']) {
      host.files.set(`/${path}`, await readFile(join(carried.out, path)));
    }
    expect(await verify('/a.html')).toMatchObject({ encrypted: 1, findings: [] });
    await carried.remove();
  });

  it('does not with what was changed, moved or left out', async () => {
    const object = Buffer.from(host.files.get('/large.bin.protected') ?? []);
    object[object.length - 1] = (object.at(-1) ?? 0) ^ 1;
    host.files.set('/moved.bin.protected', host.files.get('/large.bin.protected') ?? object);
    host.files.set('/large.bin.protected', object);
    host.files.set('/style.css', Buffer.from('p { }'));
    host.files.set('/index.html', Buffer.from(PAGE));
    const report = await verify('/', '/', '/large.bin', '/moved.bin', '/style.css', '/nothing', '/a//b', '/%ff');
    expect(findings(report)).toEqual([
      '/%ff path-refused',
      '/a//b path-refused',
      '/index.html fallback-altered',
      '/large.bin block-digest',
      '/moved.bin path-mismatch',
      '/nothing file-missing',
      '/style.css object-trailing',
    ]);
  });

  it('does not without its papers, or where it redirects', async () => {
    host.files.delete('/.well-known/wispr-site');
    expect(findings(await verify('/'))).toEqual(['/.well-known/wispr-site host-proof']);
    host.files.delete('/.well-known/wispr-provider');
    expect(findings(await verify('/'))).toEqual(['/.well-known/wispr-provider file-missing']);
  });

  it('does not follow redirects', async () => {
    host.handlers.set('/large.bin.protected', (_, response) =>
      response.writeHead(302, { location: '/index.html.protected' }).end(),
    );
    expect(findings(await verify('/large.bin'))).toEqual(['/large.bin unreadable']);
  });

  it('does not where the host breaks off, and says so', async () => {
    host.handlers.set('/large.bin.protected', (_, response) => {
      response.writeHead(200, { 'content-length': 200_000 }).write('wispr/1\n');
      setImmediate(() => response.destroy());
    });
    expect(findings(await verify('/large.bin', '/style.css'))).toEqual(['/large.bin unreadable']);
  });

  it('is an error if its host does not answer', async () => {
    const gone = await startContentHost();
    await gone.close();
    await expect(verifyUrl(new URL(gone.origin), [])).rejects.toMatchObject({ code: 'tree-unreadable' });
  });
});
