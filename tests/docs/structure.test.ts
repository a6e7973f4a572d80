/** The rules that hold the folders apart, tried on imports that they must refuse, and on the sources. */
import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { violations } from '../../scripts/structure.ts';

describe('the structure', () => {
  it.each([
    ['core/object/x.ts', '../../publisher/init.ts'],
    ['keyserver/httpcrypt/x.ts', '../../httpcrypt/serve/serve.ts'],
    ['core/object/x.ts', '../../cache-config/render.ts'],
    ['core/object/x.ts', 'undici'],
    ['core/object/x.ts', 'node:fs'],
    ['core/primitives/x.ts', '../../keyserver/server.ts'],
    ['reading/x.ts', '../../node-support/clock.ts'],
    ['node-support/x.ts', '../client-proxy/index.ts'],
    ['node-support/x.ts', 'undici'],
    ['publisher/x.ts', '../keyserver/server.ts'],
    ['publisher/verify/x.ts', '../../client-proxy/index.ts'],
    ['keyserver/x.ts', '../publisher/init.ts'],
    ['keyserver/x.ts', 'libsodium-wrappers'],
    ['client-proxy/server/x.ts', '../../keyserver/server.ts'],
    ['client-proxy/x.ts', '../cli/io/voice.ts'],
    ['web-reader/worker/x.ts', '../../node-support/clock.ts'],
    ['web-reader/worker/x.ts', '../../client-proxy/limits.ts'],
    ['web-reader/x.ts', 'node:fs'],
    ['web-reader/x.ts', '@noble/curves/ed25519.js'],
    ['cache-config/x.ts', '../publisher/init.ts'],
    ['cli/x.ts', '../tests/support/wispr.ts'],
    ['serve/x.ts', '../bench/nginx.ts'],
    ['bench/rows/x.ts', '../../tests/cli/y.ts'],
    ['bench/x.ts', '../evaluation/plot.ts'],
    ['tests/cli/x.test.ts', '../../bench/nginx.ts'],
    ['tests/docs/x.test.ts', '../../evaluation/plot.ts'],
  ])('refuses that %s imports %s', (path, from) => expect(violations([{ path, imports: [from] }])).toHaveLength(1));

  it.each([
    ['core/object/x.ts', '#primitives'],
    ['keyserver/httpcrypt/x.ts', '../../httpcrypt/listener.ts'],
    ['cli/commands/x.ts', '../../httpcrypt/serve/serve.ts'],
    ['core/object/x.ts', '../keys/key-id.ts'],
    ['core/primitives/x.ts', 'node:crypto'],
    ['node-support/x.ts', '../core/encoding/bytes.ts'],
    ['node-support/x.ts', 'node:fs'],
    ['publisher/verify/x.ts', '../../node-support/clock.ts'],
    ['client-proxy/x.ts', 'undici'],
    ['web-reader/start/x.ts', '../store.ts'],
    ['web-reader/worker/x.ts', '../../reading/open-at.ts'],
    ['serve/x.ts', '../publisher/init.ts'],
    ['bench/rows/x.ts', '../../tests/support/certificates.ts'],
    ['evaluation/page/x.ts', '../../bench/nginx.ts'],
  ])('allows that %s imports %s', (path, from) => expect(violations([{ path, imports: [from] }])).toEqual([]));

  const importing = (...edges: [path: string, from: string][]) =>
    edges.map(([path, from]) => ({ path, imports: [from] }));

  it.each([
    ['folders of a program', ['keyserver/api/x.ts', '../storage/y.ts'], ['keyserver/storage/z.ts', '../api/w.ts']],
    ['folders of core', ['core/keys/x.ts', '../object/y.ts'], ['core/object/z.ts', '../keys/w.ts']],
    ['folders below folders', ['publisher/site/a/x.ts', '../b/y.ts'], ['publisher/site/b/z.ts', '../a/w.ts']],
    ['a folder and a file beside it', ['keyserver/api/x.ts', '../server.ts'], ['keyserver/server.ts', './api/w.ts']],
    ['files', ['link/tls/x.ts', './y.ts'], ['link/tls/y.ts', './x.ts']],
  ] as const)('refuses %s that import one another', (_, one, other) => {
    expect(violations(importing([...one]))).toEqual([]);
    expect(violations(importing([...one], [...other]))).toHaveLength(1);
  });

  it('refuses a cycle over three folders', () => {
    const found = violations(
      importing(
        ['keyserver/api/x.ts', '../storage/y.ts'],
        ['keyserver/storage/y.ts', '../http/z.ts'],
        ['keyserver/http/w.ts', '../api/x.ts'],
      ),
    );
    expect(found).toHaveLength(1);
  });
});

/** A promise is never false: without `await` in front, what is not signed would pass. */
it('no check of a signature is asked without waiting for its answer', () => {
  const unawaited = /[!(]\s*(?:ed25519Verify|verifyEd25519|isSignedBy)\(/;
  expect(unawaited.test('if (!ed25519Verify(signature, message, key)) throw refused()')).toBe(true);
  const sources = globSync('{core,client-proxy,httpcrypt,keyserver,node-support,publisher,web-reader}/**/*.ts');
  expect(sources.length).toBeGreaterThan(300);
  expect(sources.filter((file) => unawaited.test(readFileSync(file, 'utf8')))).toEqual([]);
});
