import { describe, expect, it } from 'vitest';
import { compilePattern } from '../../publisher/site/patterns.ts';
import { SetRules } from '../../publisher/site/sets.ts';
import { isSetName } from '../../publisher/workspace/configuration/names.ts';
import { configured } from '../support/configured.ts';

const rules = (settings: object) => new SetRules(configured(settings));

describe('a path pattern', () => {
  it.each([
    ['*.css', ['style.css'], ['a/style.css', 'style.css.map']],
    ['**/*.css', ['style.css', 'a/b/style.css'], ['style.cs']],
    ['front/**', ['front/a.jpg', 'front/a/b.jpg'], ['frontier/a.jpg', 'a/front/b.jpg']],
    ['/front/', ['front/a.jpg', 'front/a/b.jpg'], ['frontier/a.jpg']],
    ['./a b+c.html', ['a b+c.html'], ['a bbc.html']],
    ['a/{b,c}/*.html', ['a/b/x.html', 'a/c/x.html'], ['a/d/x.html']],
    ['**', ['a', 'a/b', '.well-known/x'], []],
    ['{yyyy}/{mm}/{dd}/**', ['2026/11/17/a.html'], ['2026/13/17/a', '2026/11/32/a', '26/11/17/a', '2026/00/10/a']],
    ['{yyyy}/{yyyy}-{mm}/*', ['2026/2026-11/a'], ['2026/2025-11/a']],
    ['archive-{yyyy}.html', ['archive-2026.html'], ['archive-2026xhtml', 'archive-x.html']],
  ])('%s', (text, fitting, others) => {
    const pattern = compilePattern(text);
    for (const path of fitting) expect([path, pattern.match(path) !== undefined]).toEqual([path, true]);
    for (const path of others) expect([path, pattern.match(path) !== undefined]).toEqual([path, false]);
  });
});

describe('the set of a document', () => {
  it('is subscribers, without rules', () => expect(rules({}).decide('/a/b.html', undefined).set).toBe('subscribers'));

  it('is the first rule that fits, filled in from the path', () => {
    const byDay = rules({
      sets: [
        { name: 'special', path: '2026/11/17/extra/**' },
        { name: 'day-{yyyy}-{mm}-{dd}', path: '{yyyy}/{mm}/{dd}/**' },
        { name: 'year {yyyy}', path: '{yyyy}/**' },
      ],
      defaultSet: 'rest',
    });
    expect(byDay.decide('/2026/11/17/extra/a.html', undefined).set).toBe('special');
    expect(byDay.decide('/2026/11/17/a.html', undefined).set).toBe('day-2026-11-17');
    expect(byDay.decide('/2026/index.html', undefined).set).toBe('year 2026');
    expect(byDay.decide('/about.html', undefined).set).toBe('rest');
  });

  it('is what the page says, before all rules', () => {
    const some = rules({ public: ['free/**'], sets: [{ name: 'paid', path: 'paid/**' }] });
    expect(some.decide('/free/a.html', 'gold').set).toBe('gold');
    expect(some.decide('/paid/a.html', 'public').set).toBeUndefined();
    expect(some.decide('/robots.txt', 'gold').set).toBe('gold');
  });

  it('is none for what is public, before the set rules', () => {
    const some = rules({ public: ['2026/free.html'], sets: [{ name: 'all', path: '**' }] });
    expect(some.decide('/2026/free.html', undefined)).toEqual({
      set: undefined,
      reason: '"public" names 2026/free.html',
    });
  });

  it.each([
    '/robots.txt',
    '/favicon.ico',
    '/sitemap.xml',
    '/sitemap-2026.xml.gz',
    '/.well-known/security.txt',
    '/404.html',
    '/apple-touch-icon-180x180.png',
    '/CNAME',
    '/feed.xml',
    '/2026/atom.xml',
    '/news.rss',
  ])('%s stays public, with a reason, even where a rule names everything', (path) => {
    const decision = rules({ sets: [{ name: 'all', path: '**' }] }).decide(path, undefined);
    expect(decision.set).toBeUndefined();
    expect(decision.reason).toMatch(/[a-z]/);
  });

  it.each(['/a/robots.txt', '/sitemaps.html', '/robots.txt.html', '/favicon.svg'])('%s does not', (path) => {
    expect(rules({}).decide(path, undefined).set).toBe('subscribers');
  });

  it('is none for what pages name, before the set rules, and after the page’s own word', () => {
    const some = rules({ sets: [{ name: 'all', path: '**' }] });
    expect(some.decide('/a.png', undefined, true).set).toBeUndefined();
    expect(some.decide('/a.png', undefined).set).toBe('all');
    expect(some.decide('/a.html', 'gold', true).set).toBe('gold');
    expect(some.unused()).toEqual([]);
  });

  it('is opened by pages that no rule keeps apart from it, and rules that only this asks for are not used', () => {
    const sets = ['{yyyy}/**', 'blog/**'].map((path) => ({ name: path.startsWith('b') ? 'blog' : 'y{yyyy}', path }));
    const some = rules({ sets, public: ['index.html'] });
    expect(some.mayName('/2026/a.html', '/2026/b/c.png')).toBe(true);
    expect(some.mayName('/2026/a.html', '/2025/c.png')).toBe(false);
    expect(some.mayName('/index.html', '/2026/c.png')).toBe(false);
    expect(some.mayName('/rest.html', '/blog/c.png')).toBe(false);
    expect(some.mayName('/blog/a.html', '/c.png')).toBe(true);
    expect(some.unused()).toEqual(['index.html', '{yyyy}/**', 'blog/**']);
  });

  it('comes with the patterns that fitted nothing', () => {
    const some = rules({ public: ['*.css', '*.scss'], sets: [{ name: 'a', path: 'a/**' }] });
    some.decide('/x.css', undefined);
    some.decide('/a/x', 'gold');
    expect(some.unused()).toEqual(['*.scss']);
  });
});

describe('the name of a set', () => {
  it.each(['subscribers', 'day-2026-11-17', 'Été 2026', '会員', 'a', 'x'.repeat(64), 'v1.0_b'])('can be %s', (name) => {
    expect(isSetName(name)).toBe(true);
  });

  it.each(['', ' a', 'a ', '-a', 'a*', 'a,b', 'a/b', 'a\nb', 'public', 'PUBLIC', 'x'.repeat(65), 'e\u0301', '\u202ea'])(
    'cannot be %j',
    (name) => {
      expect(isSetName(name)).toBe(false);
    },
  );
});
