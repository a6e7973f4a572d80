/**
 * core in a browser: bundled as it is for pages, where `#primitives` is WebCrypto, and run in Chromium on every vector. The page's
 * content security policy is strict: no WebAssembly.
 */
import { readFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchChromium } from '../support/chromium.ts';
import { forFile } from '../support/for-file.ts';
import canonicalJson from '../vectors/canonical-json.json' with { type: 'json' };
import type { KeyVectorFile, ObjectVectorFile } from '../vectors/format.ts';
import keys from '../vectors/keys.json' with { type: 'json' };
import paths from '../vectors/paths.json' with { type: 'json' };
import objects from '../vectors/protected-object.json' with { type: 'json' };
import type { Report } from '../vectors/run/browser.ts';
import { cctvSignatures, wycheproofSignatures } from '../vectors/run/ed25519.ts';
import { expectedKeyOutcome } from '../vectors/run/keys.ts';
import { expectedOutcome } from '../vectors/run/objects.ts';
import { runPublication } from '../vectors/run/publication.ts';
import cctv from '../vectors/third-party/cctv_ed25519vectors.json' with { type: 'json' };
import ed25519 from '../vectors/third-party/wycheproof_ed25519_test.json' with { type: 'json' };

const signatureVectors = [...wycheproofSignatures(ed25519), ...cctvSignatures(cctv)];
const POLICY = "default-src 'none'; script-src 'self'; connect-src 'self'";
const objectVectors = (objects as unknown as ObjectVectorFile).vectors;
const keyVectors = (keys as unknown as KeyVectorFile).vectors;

describe('core in Chromium', () => {
  let server: Server | undefined;
  const browser = forFile(launchChromium);
  let report: Report;
  const problems: string[] = [];

  beforeAll(async () => {
    server = await listen(serve(await bundle()));
    const page = await browser.newPage();
    report = await runIn(page, `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, problems);
  });

  afterAll(async () => {
    await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
  });

  it('runs on WebCrypto, in a secure context, without anything of Node.js', () => {
    expect(report).toMatchObject({ secureContext: true, node: false });
    expect(problems).toEqual([]);
  });

  it(`opens or refuses ${objectVectors.length} vectors of protected-object.json as on Node.js`, () => {
    expect(objectVectors.length).toBeGreaterThan(300);
    const expected = objectVectors.map((vector) => ({ name: vector.name, ...expectedOutcome(vector) }));
    expect(report.objects).toEqual(expected);
    expect(report.objectsInPieces).toEqual(expected);
  });

  it(`takes ${keyVectors.length} vectors of keys.json as on Node.js`, () => {
    expect(keyVectors.length).toBeGreaterThan(200);
    expect(report.keys).toEqual(keyVectors.map((vector) => ({ name: vector.name, ...expectedKeyOutcome(vector) })));
  });

  it(`attack 5: takes ${signatureVectors.length} signatures of Wycheproof and CCTV as libsodium does`, () => {
    expect(signatureVectors.length).toBe(151 + 914);
    const expected = signatureVectors.map(({ name, valid }) => ({ name, accepted: valid }));
    expect(report.signatures.map(({ name, accepted }) => ({ name, accepted }))).toEqual(expected);
  });

  it('differs from Chromium in points of small order alone, which are refused before it is asked', () => {
    const differing = report.signatures.flatMap(({ accepted, byPlatform }, index) =>
      accepted === byPlatform ? [] : [signatureVectors[index]?.flags ?? []],
    );
    expect(differing.length).toBeGreaterThan(100);
    const hasSmallOrder = (flags: readonly string[]) => flags.includes('low_order_A') || flags.includes('low_order_R');
    expect(differing.filter((flags) => !hasSmallOrder(flags))).toEqual([]);
  });

  it('writes and reads a publication as on Node.js', async () => {
    const outcome = await runPublication();
    expect(outcome.version).toBe(2);
    expect(outcome.found).toMatchObject({ '/constructor': 20, '/style.css': 4, '/none': null, '/toString': null });
    expect(Object.values(outcome.refused)).not.toContain('accepted');
    expect(report.publication).toEqual(outcome);
  });

  it('reads paths and canonical JSON as on Node.js', () => {
    expect(report.paths).toEqual(paths);
    expect(report.canonicalJson).toEqual(canonicalJson);
  });
});

/** Bundled for browsers: package.json's `imports` then chooses WebCrypto by its default condition. */
async function bundle(): Promise<Uint8Array> {
  const result = await build({
    entryPoints: [fileURLToPath(new URL('../vectors/run/browser.ts', import.meta.url))],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    target: 'chrome120',
    logLevel: 'error',
    metafile: true,
  });
  const inputs = Object.keys(result.metafile.inputs);
  expect(inputs).toContain('core/primitives/webcrypto.ts');
  expect(inputs).not.toContain('core/primitives/node.ts');
  expect(inputs).not.toContain('core/primitives/sodium.ts');
  const [output] = result.outputFiles;
  if (output === undefined) throw new Error('esbuild wrote nothing');
  return output.contents;
}

function serve(script: Uint8Array): RequestListener {
  const page = '<!doctype html><title>vectors</title><script type="module" src="/script.js"></script>';
  const vectors = (name: string) => readFile(new URL(`../vectors/${name}`, import.meta.url));
  const files: Record<string, () => Promise<[type: string, body: string | Uint8Array]>> = {
    '/': async () => ['text/html', page],
    '/script.js': async () => ['text/javascript', script],
    '/protected-object.json': async () => ['application/json', await vectors('protected-object.json')],
    '/keys.json': async () => ['application/json', await vectors('keys.json')],
    '/wycheproof_ed25519_test.json': async () => [
      'application/json',
      await vectors('third-party/wycheproof_ed25519_test.json'),
    ],
    '/cctv_ed25519vectors.json': async () => [
      'application/json',
      await vectors('third-party/cctv_ed25519vectors.json'),
    ],
    '/paths.json': async () => ['application/json', await vectors('paths.json')],
    '/canonical-json.json': async () => ['application/json', await vectors('canonical-json.json')],
  };
  return async (request, response) => {
    const file = await files[request.url ?? '']?.();
    if (file === undefined) return response.writeHead(404).end();
    response.writeHead(200, { 'content-type': file[0], 'content-security-policy': POLICY }).end(file[1]);
  };
}

function listen(handler: RequestListener): Promise<Server> {
  return new Promise((resolve) => {
    const server = createServer(handler);
    server.listen(0, '127.0.0.1', () => resolve(server));
  });
}

async function runIn(page: Page, url: string, problems: string[]): Promise<Report> {
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on(
    'console',
    (message) =>
      message.type() === 'error' && !message.location().url.endsWith('/favicon.ico') && problems.push(message.text()),
  );
  await page.goto(url);
  await page.waitForFunction(() => 'runVectors' in globalThis);
  return page.evaluate(() => (globalThis as unknown as { runVectors: () => Promise<Report> }).runVectors());
}
