import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { urlPathOf } from '../../core/site/path.ts';
import type { VerifyReport } from '../../publisher/verify/report.ts';
import { WebSource } from '../../publisher/verify/sources.ts';
import { type VerifyUrlOptions, verifyUrl } from '../../publisher/verify/verify.ts';
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
  host.handlers.clear();
  host.requests.length = 0;
  await serve(workspace);
});
afterAll(async () => {
  await host.close();
  await workspace.remove();
});

async function serve({ out }: TestWorkspace): Promise<void> {
  host.files.clear();
  for (const [path, content] of await snapshot(out))
    host.files.set(urlPathOf(`/${path}`), Buffer.from(content, 'base64'));
}

const verify = (options: VerifyUrlOptions = {}) => verifyUrl(new URL(host.origin), options);
const findings = ({ findings: found }: VerifyReport) => found.map(({ path, code }) => `${path} ${code}`);
const objectOf = async (path: string) => urlPathOf((await workspace.objectFile(path)).slice(workspace.out.length));
const named = async (path: string) => decodeURIComponent(await objectOf(path));

describe('a published site', () => {
  it('passes whole, without anybody naming its documents', async () => {
    const report = await verify();
    expect(report).toMatchObject({ encrypted: 3, signed: 1, fallbackPages: 2, findings: [] });
    expect(report.notes.join()).toContain('over http');
  });

  it('passes below a path of its host, and its documents by their whole addresses or from its top', async () => {
    for (const [path, content] of [...host.files]) {
      host.files.delete(path);
      host.files.set(`/some/pre%20fix${path}`, content);
    }
    const url = new URL('/some/pre%20fix/', host.origin);
    expect(await verifyUrl(url)).toMatchObject({ encrypted: 3, signed: 1, findings: [] });
    const paths = [`${url}a/b%20c.html`, '/large.bin'];
    expect(await verifyUrl(url, { paths })).toMatchObject({ encrypted: 2, signed: 0, findings: [] });
    expect(findings(await verify())).toContain('/.well-known/wispr/1.root.json metadata-missing');
  });

  it('is behind where another of its content hosts has a newer publication', async () => {
    const other = await startContentHost();
    onTestFinished(() => other.close());
    const made = await createWorkspace({ 'a.html': PAGE }, { content: [host.origin, other.origin] });
    onTestFinished(() => made.remove());
    const serveAt = async ({ files }: ContentHost) => {
      for (const [path, content] of await snapshot(made.out))
        files.set(urlPathOf(`/${path}`), Buffer.from(content, 'base64'));
    };
    await made.protect();
    host.files.clear();
    await serveAt(host);
    await serveAt(other);
    expect(await verify()).toMatchObject({ findings: [] });
    await made.write('a.html', `${PAGE}<p>Corrected.`);
    await made.protect();
    await serveAt(other);
    const code = 'publication-behind';
    expect((await verify()).findings).toMatchObject([
      { kind: 'stale', code, message: `${other.origin} has publication 2` },
    ]);
    expect((await verifyUrl(new URL(other.origin))).findings).toEqual([]);
  });

  it('passes for the documents that are named', async () => {
    const report = await verify({ paths: ['/', '/a/b%20c.html', 'large.bin', '/style.css?query#fragment'] });
    expect(report).toMatchObject({ encrypted: 3, signed: 1, findings: [] });
    expect(await verify({ paths: ['/large.bin'] })).toMatchObject({ encrypted: 1, signed: 0 });
    expect(report.notes.join()).toContain('only the documents that were named');
  });

  it('passes for a sample', async () => {
    const report = await verify({ sample: 2 });
    expect(report.encrypted + report.signed).toBe(2);
    expect(report.notes.join()).toContain('2 of 4 documents');
    expect(await verify({ sample: 100 })).toMatchObject({ encrypted: 3, signed: 1 });
  });

  it('does not with what was changed or left out', async () => {
    const object = Buffer.from(host.files.get(await objectOf('/large.bin')) ?? []);
    object[object.length - 1] = (object.at(-1) ?? 0) ^ 1;
    host.files.set(await objectOf('/large.bin'), object);
    host.files.set('/style.css', Buffer.from('p { }'));
    host.files.set('/index.html', Buffer.from(PAGE));
    host.files.delete(await objectOf('/a/b c.html'));
    expect(findings(await verify()).sort()).toEqual(
      [
        `${await named('/a/b c.html')} file-missing`,
        '/index.html file-altered',
        `${await named('/large.bin')} block-digest`,
        '/style.css file-altered',
      ].sort(),
    );
    const refused = await verify({ paths: ['/nothing', '/a//b', '/%ff'] });
    expect(findings(refused)).toEqual(['/%ff path-refused', '/a//b path-refused', '/nothing file-missing']);
  });

  it('names a bin that cannot be had, and checks the rest', async () => {
    const bin = [...host.files.keys()].find((path) => path.endsWith('.documents-0.json')) ?? '';
    host.handlers.set(bin, (_, response) => response.writeHead(500).end());
    const report = await verify();
    expect(findings(report)).toEqual([`${bin} metadata-missing`]);
    expect(report.encrypted + report.signed).toBeGreaterThan(0);
  });

  it('does not follow redirects', async () => {
    const index = await objectOf('/index.html');
    host.handlers.set(await objectOf('/large.bin'), (_, response) =>
      response.writeHead(302, { location: index }).end(),
    );
    expect(findings(await verify())).toEqual([`${await named('/large.bin')} unreadable`]);
  });

  it('does not where the host breaks off, and says so', async () => {
    host.handlers.set(await objectOf('/large.bin'), (_, response) => {
      response.writeHead(200, { 'content-length': 200_000 }).write('wispr/1\n');
      setImmediate(() => response.destroy());
    });
    expect(findings(await verify())).toEqual([`${await named('/large.bin')} unreadable`]);
  });

  it('ends where the host sends a copy, or a fallback page behind a comment, without end', async () => {
    const carried = await createWorkspace(
      { 'a.html': PAGE, 'style.css': 'p {}' },
      { carrier: 'html', public: ['style.css'] },
    );
    await carried.protect();
    await serve(carried);
    const endless = (start: Uint8Array) => (_: unknown, response: ServerResponse) => {
      const more = () => {
        while (response.write(Buffer.alloc(65_536, ' ')));
      };
      response.on('drain', more).writeHead(200).write(start);
      more();
    };
    const page = host.files.get('/a.html') as Uint8Array;
    let asked = 0;
    host.handlers.set('/style.css', endless(Buffer.from('p {}')));
    host.handlers.set('/a.html', (request, response) => {
      if (asked++ === 0) response.end(page);
      else endless(page.subarray(0, 100))(request, response);
    });
    expect(findings(await verify())).toEqual(['/a.html file-altered', '/style.css file-altered']);
    await carried.remove();
  });

  it('attack 65: does not wait for ever where the host gives a byte now and then', async () => {
    host.handlers.set('/slow', (_request, response) => {
      const timer = setInterval(() => response.write('x'), 5);
      response.once('close', () => clearInterval(timer));
    });
    const place = new WebSource(host.origin, 50);
    await expect(place.read('/slow', 65_536)).rejects.toThrow('the host is too slow');
    host.handlers.delete('/slow');
  });
});
