/**
 * core in a browser: bundled as it is for pages, where `#primitives` is WebCrypto, and run in Chromium on every vector. The page's
 * content security policy is strict: no WebAssembly.
 */
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchChromium } from '../support/chromium.ts';
import { closeServer, listenOnLoopback } from '../support/content-host.ts';
import { forFile } from '../support/for-file.ts';
import { CANONICAL_JSON, KEYS, OBJECTS, PATHS } from '../vectors/files.ts';
import type { Report } from '../vectors/run/browser.ts';
import { cctvSignatures, wycheproofSignatures } from '../vectors/run/ed25519.ts';
import { expectedKeyOutcome } from '../vectors/run/keys.ts';
import { expectedOutcome } from '../vectors/run/objects.ts';
import { runPublication } from '../vectors/run/publication.ts';
import cctv from '../vectors/third-party/cctv_ed25519vectors.json' with { type: 'json' };
import ed25519 from '../vectors/third-party/wycheproof_ed25519_test.json' with { type: 'json' };

const signatureVectors = [...wycheproofSignatures(ed25519), ...cctvSignatures(cctv)];
const POLICY = "default-src 'none'; script-src 'self'; connect-src 'self'";
const { vectors: objectVectors } = OBJECTS;
const { vectors: keyVectors } = KEYS;

describe('core in Chromium', () => {
  let server: Server;
  const browser = forFile(launchChromium);
  let report: Report;
  const problems: string[] = [];

  beforeAll(async () => {
    server = serving(await bundle());
    const page = await browser.newPage();
    report = await runIn(page, `http://127.0.0.1:${await listenOnLoopback(server)}/`, problems);
  });
  afterAll(() => closeServer(server));

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
    expect(report.paths).toEqual(PATHS);
    expect(report.canonicalJson).toEqual(CANONICAL_JSON);
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

function serving(script: Uint8Array): Server {
  const page = '<!doctype html><title>vectors</title><script type="module" src="/script.js"></script>';
  const vectors = (url: string) => readFile(new URL(`../vectors${url}`, import.meta.url)).catch(() => undefined);
  return createServer(async ({ url = '' }, response) => {
    const [type, body]: [string, string | Uint8Array | undefined] =
      url === '/'
        ? ['text/html', page]
        : url === '/script.js'
          ? ['text/javascript', script]
          : ['application/json', await vectors(url)];
    if (body === undefined) response.writeHead(404).end();
    else response.writeHead(200, { 'content-type': type, 'content-security-policy': POLICY }).end(body);
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
