/** Rules for hosts and CDNs, checked without them: by Amazon's own models, by Varnish's compiler, and by the formats that the hosts document. */
import { execFileSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { renderConfig, renderFiles } from '../../cache-config/render.ts';
import { findServer } from '../../cache-config/servers.ts';
import { ROOT } from '../support/programs.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { READING_ORIGIN } from './site.ts';

const HOST = 'news.example';
const readingOrigin = READING_ORIGIN;
const folder = temporaryFolder();
chmodSync(folder, 0o755); // Varnish compiles as another user

function file(files: ReadonlyMap<string, string>, name: string): string {
  const text = files.get(name);
  if (text === undefined) throw new Error(`there is no ${name}`);
  return text;
}

describe('Amazon takes', () => {
  /** Program that validates by the service models with which Amazon's Python library checks every call. */
  const VALIDATE = `
import json, sys
from botocore.session import Session
from botocore.validate import ParamValidator
session = Session()
def check(service, operation, **given):
    shape = session.get_service_model(service).operation_model(operation).input_shape
    return ParamValidator().validate(given, shape).generate_report()
json.dump([
    check('s3', 'PutBucketWebsite', Bucket='b', WebsiteConfiguration=said['website'])
    + check('s3', 'PutBucketCors', Bucket='b', CORSConfiguration=said['cors'])
    + check('cloudfront', 'CreateDistribution', DistributionConfig=said['distribution'])
    for said in json.load(sys.stdin)
], sys.stdout)
`;
  const s3 = renderFiles('s3', { readingOrigin, bucket: 'news-site' });
  const cloudfront = renderFiles('cloudfront', { backend: { host: 'origin.example', port: 80 } });
  const said = {
    website: JSON.parse(file(s3, 'website.json')),
    cors: JSON.parse(file(s3, 'cors.json')),
    distribution: JSON.parse(file(cloudfront, 'distribution.json')),
  };

  test('website, CORS and distribution; and would not take another field', () => {
    const unknown = { ...said, cors: { ...said.cors, Unknown: 1 } };
    const mistyped = { ...said, distribution: { ...said.distribution, Enabled: 'yes' } };
    const input = JSON.stringify([said, unknown, mistyped]);
    const python = join(ROOT, '.cache/s3-server/bin/python');
    const reports = execFileSync(python, ['-E', '-s', '-c', VALIDATE], { input, encoding: 'utf8' });
    expect(JSON.parse(reports)).toEqual(['', expect.stringContaining('Unknown'), expect.stringContaining('Enabled')]);
  });

  test('what readers need: Range and its fields for pages of other hosts, 404 for what is missing, nothing compressed', () => {
    expect(said.cors.CORSRules).toMatchObject([{ AllowedOrigins: ['*'], AllowedHeaders: ['Range'] }]);
    const actions = JSON.parse(file(s3, 'policy.json')).Statement.map(({ Action }: { Action: string }) => Action);
    expect(actions).toEqual(['s3:GetObject', 's3:ListBucket']);
    expect(said.distribution.DefaultCacheBehavior.Compress).toBe(false);
    for (const { ErrorCachingMinTTL } of said.distribution.CustomErrorResponses.Items)
      expect(ErrorCachingMinTTL).toBeLessThanOrEqual(10);
  });
});

test('Varnish compiles what Fastly is given, but for the words of its own', () => {
  const OWN: readonly [RegExp, string][] = [
    [/sub vcl_fetch/, 'sub vcl_backend_response'],
    [/return\(lookup\)/, 'return(hash)'],
    [/error (\d+) ("[^"]*");/, 'return(synth($1, $2));'],
    [/set req\.enable_segmented_caching = true;/, 'set req.http.Segmented = "1";'],
    [/req\.url\.path/g, 'req.url'],
    [/beresp\.stale_while_revalidate/, 'beresp.grace'],
    [/beresp\.stale_if_error/, 'beresp.keep'],
  ];
  let text = renderConfig('fastly', {});
  for (const [word, instead] of OWN) {
    expect(text).toMatch(word);
    text = text.replace(word, instead);
  }
  const path = join(folder, 'fastly.vcl');
  const compile = (vcl: string) => {
    writeFileSync(path, `vcl 4.1;\nbackend default none;\n${vcl}`);
    const args = ['-C', '-n', join(folder, 'state'), '-f', path];
    execFileSync(String(findServer('varnishd')), args, { stdio: 'pipe' });
  };
  compile(text);
  expect(() => compile(text.replace('beresp.ttl', 'beresp.unknown'))).toThrow();
  for (const place of ['recv', 'fetch', 'deliver']) expect(text).toContain(`#FASTLY ${place}\n`);
});

/** Rules of `_headers` by their paths. Only what Cloudflare and Netlify both document, or Cloudflare alone. */
function parseHeaders(text: string, detach: boolean): Map<string, Map<string, string>> {
  const rules = new Map<string, Map<string, string>>();
  let current: Map<string, string> | undefined;
  for (const line of text.split('\n').filter((each) => each.trim() !== '' && !each.startsWith('#'))) {
    expect(line.length).toBeLessThanOrEqual(2000);
    if (line.startsWith('/')) {
      // A path has one splat; nothing follows it at Netlify.
      expect(line).toMatch(detach ? /^[^*\s]*(\*[^*\s]*)?$/ : /^[^*\s]*\*?$/);
      current = new Map();
      rules.set(line, current);
      continue;
    }
    const removed = /^ {2}! ([A-Za-z-]+)$/.test(line);
    const [, name = '', value = ''] = /^ {2}([A-Za-z-]+): (.+)$/.exec(line) ?? [];
    expect(removed ? detach : name !== '', line).toBe(true);
    if (!removed) current?.set(name, value);
  }
  return rules;
}

describe.each(['cloudflare', 'netlify'] as const)('%s', (name) => {
  const given = { readingOrigin, ...(name === 'cloudflare' && { host: HOST }) };
  const files = renderFiles(name, given as never);
  const rules = parseHeaders(file(files, '_headers'), name === 'cloudflare');

  test('lets pages of other hosts read everything, and keeps nothing that may be absent for longer than five minutes', () => {
    expect(rules.get('/*')?.get('Access-Control-Allow-Origin')).toBe('*');
    for (const [path, fields] of rules) {
      const [, seconds = '0'] = /^public, no-transform, max-age=(\d+)/.exec(fields.get('Cache-Control') ?? '') ?? [];
      expect(Number(seconds), path).toBeGreaterThan(0);
      if (path !== '/*.protected') expect(Number(seconds), path).toBeLessThanOrEqual(300);
    }
  });
});

test('a cache rule of Cloudflare respects what the content host says', () => {
  const setting = z.strictObject({ mode: z.literal('respect_origin') });
  const statusTtl = z.strictObject({ status_code: z.literal(404), value: z.int().max(10) });
  const parameters = z.strictObject({
    cache: z.literal(true),
    edge_ttl: setting.extend({ status_code_ttl: z.array(statusTtl) }),
    browser_ttl: setting,
    respect_strong_etags: z.literal(true),
  });
  const rule = z.strictObject({
    description: z.string(),
    expression: z.literal(`(http.host eq "${HOST}")`),
    action: z.literal('set_cache_settings'),
    action_parameters: parameters,
  });
  const text = file(renderFiles('cloudflare', { readingOrigin, host: HOST }), 'cache-rules.json');
  z.strictObject({ rules: z.array(rule).length(1) }).parse(JSON.parse(text));
});

test('Netlify redirects what has no file, last, and never metadata', () => {
  const lines = file(renderFiles('netlify', { readingOrigin }), '_redirects').split('\n');
  const rules = lines.filter((line) => line !== '' && !line.startsWith('#')).map((line) => line.split(/ +/));
  expect(rules).toEqual([
    ['/.well-known/*', '/404.html', '404'],
    // Files go first without "!".
    ['/*', `${readingOrigin}/:splat`, '302'],
  ]);
});

test.each([
  ['/day/film.mp4', '?a=%20', `${READING_ORIGIN}/day/film.mp4?a=%20`],
  ['/.well-known/wispr/2.root.json', '', undefined],
  [`/day/${'0'.repeat(64)}.a.html.protected`, '', undefined],
])('attack 24: the page for what is missing leads %s%s to %s', (pathname, search, target) => {
  const page = file(renderFiles('github-pages', { readingOrigin, host: HOST }), '404.html');
  const [, script = ''] = /<script>([\s\S]*)<\/script>/.exec(page) ?? [];
  let led: string | undefined;
  runInNewContext(script, { location: { pathname, search, replace: (url: string) => (led = url) } });
  expect(led).toBe(target);
});
