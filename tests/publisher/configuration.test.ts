import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseConfiguration, readConfiguration } from '../../publisher/workspace/configuration/read.ts';
import { configurationJsonSchema } from '../../publisher/workspace/configuration/schema.ts';
import { configurationTemplate } from '../../publisher/workspace/configuration/template.ts';
import { configured, GOOD } from '../support/configured.ts';

const redirect = (from: string, to: string) => ({ redirects: [{ from, to }] });
const section = (name: string, ...paths: string[]) => ({ sections: [{ name, paths }] });
const header = (path: string, set: object) => ({ headers: [{ path, set }] });

const refusal = (text: string | object) => {
  try {
    if (typeof text === 'string') parseConfiguration(text, 'wispr.json');
    else configured(text);
  } catch (error) {
    expect(error).toMatchObject({ code: 'configuration-invalid' });
    return (error as Error).message;
  }
  return 'accepted';
};

describe('wispr.json', () => {
  it('has a schema for editors that says what the program checks (node scripts/configuration-schema.mjs writes it)', () => {
    expect(JSON.parse(readFileSync('publisher/wispr.schema.json', 'utf8'))).toEqual(configurationJsonSchema());
  });

  it('needs six members, and has defaults for the rest', () => {
    expect(configured({})).toEqual({
      ...GOOD,
      plans: [],
      public: [],
      sets: [],
      sections: [],
      defaultSet: 'subscribers',
      ignore: [],
      include: [],
      uncompressed: [],
      carrier: 'beside',
      fallback: { redirect: 'readers' },
      titles: [],
      sheet: true,
      previews: 'public',
      headers: [],
      redirects: [],
      cleanUrls: false,
      freshness: { hours: 48, graceDays: 14, keptAfterGrace: false },
      padding: 'none',
      recipient: 'keyserver.pub',
      removalPercent: 10,
      timestampBy: 'keyserver',
    });
  });

  it('may have comments, final commas and a byte order mark', async () => {
    const text = JSON.stringify(GOOD).replace('{', '{ // why\n/* and how */').replace('}', ',}');
    expect(parseConfiguration(text, 'wispr.json')).toMatchObject(GOOD);
  });

  it('is what wispr init writes', () => {
    const text = configurationTemplate({ ...GOOD, fallback: { language: 'de' } }, 'schema.json');
    expect(parseConfiguration(text, 'wispr.json')).toMatchObject({ ...GOOD, fallback: { language: 'de' } });
    expect(text.split('\n').filter((line) => line.trim().startsWith('//')).length).toBeGreaterThan(15);
  });

  it('is what wispr init writes, with every member', () => {
    const settings = {
      ...GOOD,
      headers: [{ path: '**', set: { 'Cache-Control': 'max-age=600, immutable', Link: '</a.css>; rel=preload' } }],
      redirects: [{ from: '/old', to: '/new?a=b#c', status: 308 as const }],
      cleanUrls: true,
      notFound: 'missing.html',
      freshness: { hours: 24, graceDays: 0, keptAfterGrace: true },
      padding: 'padme' as const,
      fallback: { template: 'teaser.eta' },
      accent: '#a3301d',
      logo: 'front/logo.svg',
      subscribe: 'https://news.example/subscribe',
      httpcrypt: { key: 'A'.repeat(43), url: 'http://keys.news.example/a/' },
      titles: [{ set: 'day-{yyyy}', title: 'The year {yyyy}' }],
      sheet: false,
      previews: 'none' as const,
      publish: 's3://news',
      keyServerTokenFile: 'token',
    };
    const text = configurationTemplate(settings, 'schema.json');
    expect(parseConfiguration(text, 'wispr.json')).toMatchObject(settings);
    const { properties } = configurationJsonSchema() as { properties: object };
    expect(Object.keys(properties).filter((member) => !text.includes(`"${member}":`))).toEqual([]);
  });

  it('is the example newspaper’s', async () => {
    expect(await readConfiguration('examples/newspaper/wispr.json')).toMatchObject({ site: 'news.example' });
  });

  it.each([
    [{ readng: 1 }, 'line 8: there is no member "readng"; did you mean reading?'],
    [{ sets: [{ name: 'a', path: 'a/**', x: 1 }] }, 'line 12: "sets[0]" has no member "x"; the members are name, path'],
    [{ keyserver_url: 'x' }, 'there is no member "keyserver_url"; the members are site, name'],
    [{ site: undefined }, 'line 1: "site" is missing'],
    [{ site: 1 }, 'line 2: "site" must be of type string'],
    [{ site: 'News.Example' }, 'line 2: "site" must be a host name'],
    [{ site: 'news.example:80' }, 'line 2: "site" must be a host name'],
    [{ source: '' }, 'line 3: "source" is empty'],
    [{ content: [] }, 'line 5: "content"'],
    [{ content: 'http://news.example/' }, 'line 5: "content" must be'],
    [{ keyServer: 'http://keys.news.example' }, 'line 6: "keyServer" must be an https origin'],
    [{ reading: 'https://news.example' }, 'line 7: "reading" must be on another host'],
    [{ carrier: 'inside' }, 'line 8: "carrier" must be one of "beside", "html"'],
    [{ fallback: { redirectAfter: 1 } }, 'line 9: "fallback" has no member "redirectAfter"'],
    [{ httpcrypt: { key: 'AAAA', url: 'http://a/' } }, '"httpcrypt" must be what the key server says'],
    [{ accent: 'red' }, 'line 8: "accent" must be a colour such as "#a3301d"'],
    [{ accent: '#A3301D' }, '"accent" must be a colour'],
    [{ logo: '../logo.svg' }, '"logo" must be the path of a document'],
    [{ subscribe: 'http://news.example/subscribe' }, '"subscribe" must be an https URL'],
    [{ subscribe: 'https://a:b@news.example/' }, '"subscribe" must be an https URL'],
    [{ previews: 'some' }, '"previews" must be one of "public", "none"'],
    [{ titles: [{ set: 'a', title: 'Of {yyyy}' }] }, '"title" has a placeholder that "set" does not have'],
    [{ titles: [{ set: 'a{b}', title: 'A' }] }, 'no other braces than {yyyy}, {mm}, {dd}'],
    [{ titles: [{ set: '{dd}{dd}', title: 'A' }] }, 'one placeholder twice'],
    [{ titles: [{ set: 'a', title: '' }] }, '"title" must be 1 to 100 characters'],
    [{ titles: ['A', 'B'].map((title) => ({ set: 'a', title })) }, '"titles" name one set twice'],
    [{ sets: [{ name: 'day-{d}', path: 'a/**' }] }, '"sets[0].name" may have no other braces than {yyyy}, {mm}, {dd}'],
    [{ sets: [{ name: '{yyyy}', path: 'a/**' }] }, '"sets[0].name" has {yyyy}, which its path does not have'],
    [{ sets: [{ name: 'public', path: 'a/**' }] }, '"sets[0].name" must be 1 to 64 letters'],
    [{ defaultSet: 'Public' }, '"defaultSet" must be 1 to 64 letters'],
    [section('targets', 'a/**'), '"sections[0].name" must be 1 to 40 of a-z'],
    [section('documents-0', 'a/**'), '"sections[0].name" must be 1 to 40 of a-z'],
    [section('Sports', 'a/**'), '"sections[0].name" must be 1 to 40 of a-z'],
    [section('../up', 'a/**'), '"sections[0].name" must be 1 to 40 of a-z'],
    [section('sports'), '"sections[0].paths" is empty'],
    [section('sports', '**'), '"sections[0].paths[0]" must be a path inside the source'],
    [section('sports', '/sports/**'), '"sections[0].paths[0]" must be a path inside the source'],
    [section('sports', 'sports/**/x'), '"sections[0].paths[0]" must be a path inside the source'],
    [section('sports', 'sports/../**'), '"sections[0].paths[0]" must be a path inside the source'],
    [section('sports', 'sports/[ab]/*'), '"sections[0].paths[0]" must be a path inside the source'],
    [section('sports', 'sports/{a,b}/*'), '"sections[0].paths[0]" must be a path inside the source'],
    [{ name: 'x'.repeat(101) }, '"name" is too large: at most 100'],
    [
      header('**', { 'Set-Cookie': 'a' }),
      '"headers[0].set" has no member "Set-Cookie"; the members are Cache-Control, Content-Disposition',
    ],
    [header('**', { link: 'a' }), '"headers[0].set" has no member "link"'],
    [header('**', {}), '"headers[0].set" names no header'],
    [header('', { Link: 'a' }), '"headers[0].path" is empty'],
    [header('**', { Link: 'a\r\nb: c' }), 'line 12: "headers[0].set.Link" must be 1 to 4,096 visible'],
    [header('**', { 'Cache-Control': 'public' }), '"headers[0].set.Cache-Control" must be "max-age=N"'],
    [header('**', { 'Cross-Origin-Embedder-Policy': 'unsafe-none' }), 'must be "require-corp" or "credentialless"'],
    [header('**', { 'Cross-Origin-Opener-Policy': 'unsafe-none' }), 'must be "same-origin" or'],
    [
      header('**', { 'Permissions-Policy': 'camera=self' }),
      'line 12: "headers[0].set.Permissions-Policy" must be features',
    ],
    [header('**', { 'Referrer-Policy': 'no-referer' }), '"headers[0].set.Referrer-Policy" must be a policy'],
    [
      {
        headers: ['Link', 'Content-Disposition', 'Content-Security-Policy', 'Content-Language'].map((name) => ({
          path: name,
          set: { [name]: 'x'.repeat(4000) },
        })),
      },
      '"headers" hold more than 15,000 characters',
    ],
    [redirect('old', '/new'), '"redirects[0].from" must be a path as it stands in a URL'],
    [redirect('/old?a', '/new'), '"redirects[0].from" must be a path'],
    [redirect('/a//b', '/new'), '"redirects[0].from" must be a path'],
    [redirect('/a', '//new.example/'), '"redirects[0].to" must be a path'],
    [redirect('/a', '/\\new.example/'), '"redirects[0].to" must be a path'],
    [redirect('/a', 'javascript:alert(1)'), '"redirects[0].to" must be a path'],
    [redirect('/a', 'http://other.example/'), '"redirects[0].to" must be a path'],
    [redirect('/a', 'b.html'), '"redirects[0].to" must be a path'],
    [redirect('/a', 'https://news.example/b'), 'line 11: "redirects[0].to" must be a path: with the host'],
    [{ redirects: [{ from: '/a', to: '/b', status: 200 }] }, '"redirects[0].status" must be 301, 302, 307 or 308'],
    [
      { redirects: ['/a/', '/%61/index.html'].map((from) => ({ from, to: '/b' })) },
      '"redirects[1].from" is redirected by an earlier rule',
    ],
    [{ notFound: '../404.html' }, '"notFound" must be the path of a document'],
    [{ cleanUrls: 'yes' }, '"cleanUrls" must be of type boolean'],
    [{ freshness: { hours: 0 } }, '"freshness.hours" must be at least 1'],
    [{ freshness: { graceDays: 91 } }, '"freshness.graceDays" must be at most 90'],
    [{ publish: '' }, '"publish" is empty'],
    ['', 'line 1: not JSON'],
    ['[]', 'line 1: an object'],
    ['{\n"site": "a.example",\n"site": "b.example"}', 'line 3: "site" stands there twice'],
    ['{\n"site": }', 'line 2: not JSON'],
  ])('refuses %j', (text, message) => expect(refusal(text)).toContain(message));

  it('names everything that is wrong at once, one line each: misspelt members first', () => {
    const { site: _, ...others } = GOOD;
    const text = JSON.stringify({ ...others, out: '', readng: 1, pubilc: [], padding: 'much' }, null, 2);
    expect(refusal(text.replace('{', '{\n  "source": "x",')).replace(/; did you mean .*/g, '')).toBe(
      [
        'wispr.json, line 3: "source" stands there twice',
        'wispr.json, line 8: there is no member "readng"',
        'wispr.json, line 9: there is no member "pubilc"',
        'wispr.json, line 1: "site" is missing',
        'wispr.json, line 4: "out" is empty',
        'wispr.json, line 10: "padding" must be one of "none", "padme"',
      ].join('\n'),
    );
  });

  it('names no more than a person reads', () => {
    const lines = refusal({ redirects: Array(1000).fill({ from: 'a', to: '/b' }) }).split('\n');
    expect(lines).toHaveLength(21);
    expect(lines.at(-1)).toMatch(/^wispr\.json: \d+ more are wrong$/);
  });

  it.each([
    'http://read.news.example',
    'javascript:alert(1)',
    'data:text/html,hello',
    'https://read.news.example/path',
    'https://user@read.news.example',
    'https://read.news.example"><script>',
    'HTTPS://read.news.example',
    '//read.news.example',
    'ftp://read.news.example',
    '',
  ])('attack 24: refuses the reading site %s', (reading) => {
    expect(refusal({ reading })).toContain('"reading" must be an https origin');
  });

  it.each(['http://localhost:8003', 'http://127.0.0.1:8003', 'http://[::1]:8003'])(
    'attack 24: %s is a reading site for development',
    (reading) => {
      expect(configured({ reading }).reading).toBe(reading);
    },
  );

  it.each(['https://news.example', 'https://news.example:8443'])(
    'attack 25: refuses the reading site %s on the site’s own host, where fallback pages would lead to themselves',
    (reading) => {
      expect(refusal({ reading })).toContain('must be on another host than the site');
      expect(refusal({ reading: 'https://cdn.example', content: ['https://cdn.example'] })).toContain('another host');
    },
  );

  it('attack 24: refuses a file that is not UTF-8', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'wispr-configuration-'));
    const file = join(directory, 'wispr.json');
    writeFileSync(file, Buffer.from(JSON.stringify({ ...GOOD, reading: 'https://r\u00e9ad.example' }), 'latin1'));
    await expect(readConfiguration(file)).rejects.toMatchObject({ code: 'configuration-invalid' });
    rmSync(directory, { recursive: true });
  });
});
