import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { GatewayLinks } from '../../../client-proxy/gateway/links.ts';
import { createRewriter } from '../../../client-proxy/gateway/rewriter.ts';
import { rewritingOf } from '../../../client-proxy/gateway/rewriting.ts';

const ORIGIN = 'http://news-example-abc.localhost:8001';
const SISTER = 'http://pictures-example-def.localhost:8001';
const LINKS = new GatewayLinks(
  new Map([
    ['news.example', ORIGIN],
    ['pictures.example', SISTER],
    ['xn--bcher-kva.example', 'http://buecher.localhost:8001'],
  ]),
);

async function rewrite(content: string | Uint8Array, mediaType = 'text/html; charset=utf-8', policy?: string) {
  const rewriting = rewritingOf(mediaType, LINKS);
  if (rewriting === undefined) return undefined;
  return (await buffer(Readable.from([Buffer.from(content)]).pipe(createRewriter(rewriting, policy)))).toString();
}
const css = (content: string) => rewrite(content, 'text/css; charset=utf-8');

describe('a link in HTML', () => {
  it.each([
    ['<a href="http://news.example/a.html">', `<a href="${ORIGIN}/a.html">`],
    ['<a href="https://news.example/a.html?q#f">', `<a href="${ORIGIN}/a.html?q#f">`],
    ["<A HREF='HTTP://News.Example:80'>", `<A HREF='${ORIGIN}'>`],
    ['<a href=https://news.example:443/x>', `<a href=${ORIGIN}/x>`],
    ['<a href = //news.example/x >', `<a href = ${ORIGIN}/x >`],
    ['<a href="//news.example:/x">', `<a href="${ORIGIN}/x">`],
    ['<a href="http://news.example./x">', `<a href="${ORIGIN}/x">`],
    ['<a href="\n http://news.example/x">', `<a href="\n ${ORIGIN}/x">`],
    ['<a href="ht\ntp://news.\texample/x">', `<a href="${ORIGIN}/x">`],
    ['<a href="http:\\\\news.example\\x">', `<a href="${ORIGIN}\\x">`],
    ['<a href="http:&#47;&sol;news&period;example/?a&amp;b">', `<a href="${ORIGIN}/?a&amp;b">`],
    ['<a href="http://news%2Eexample/x">', `<a href="${ORIGIN}/x">`],
    ['<a href="http://pictures.example/x">', `<a href="${SISTER}/x">`],
    ['<a href="http://bücher.example/x">ü</a>', '<a href="http://buecher.localhost:8001/x">ü</a>'],
    ['<img src="http://news.example/a.png"/>', `<img src="${ORIGIN}/a.png"/>`],
    [
      '<img srcset="http://news.example/a,b.png 1x, //news.example/b.png 2x,https://news.example/c.png,">',
      `<img srcset="${ORIGIN}/a,b.png 1x, ${ORIGIN}/b.png 2x,${ORIGIN}/c.png,">`,
    ],
    [
      '<link rel="preload" as="image" imagesrcset="http://news.example/a 400w">',
      `<link rel="preload" as="image" imagesrcset="${ORIGIN}/a 400w">`,
    ],
    ['<video poster="http://news.example/p.jpg">', `<video poster="${ORIGIN}/p.jpg">`],
    ['<form action="http://news.example/s">', `<form action="${ORIGIN}/s">`],
    ['<button formaction="http://news.example/s">', `<button formaction="${ORIGIN}/s">`],
    ['<object data="http://news.example/o">', `<object data="${ORIGIN}/o">`],
    ['<blockquote cite="http://news.example/q">', `<blockquote cite="${ORIGIN}/q">`],
    ['<a ping="http://news.example/1 /2  //news.example/3">', `<a ping="${ORIGIN}/1 /2  ${ORIGIN}/3">`],
    ['<body background="http://news.example/b.png">', `<body background="${ORIGIN}/b.png">`],
    ['<base href="https://news.example/dir/">', `<base href="${ORIGIN}/dir/">`],
    [
      '<meta http-equiv=Refresh content="3; URL=\'http://news.example/next\'">',
      `<meta http-equiv=Refresh content="3; URL='${ORIGIN}/next'">`,
    ],
    ['<meta content="0;//news.example/" http-equiv="refresh">', `<meta content="0;${ORIGIN}/" http-equiv="refresh">`],
    [
      '<p style="background:url(&quot;http://news.example/a.png&quot;) no-repeat">',
      `<p style="background:url(&quot;${ORIGIN}/a.png&quot;) no-repeat">`,
    ],
    [
      '<style>a{b:url(http://news.example/x)}</style><p title="url(http://news.example/x)">',
      `<style>a{b:url(${ORIGIN}/x)}</style><p title="url(http://news.example/x)">`,
    ],
    [
      '<svg><a xlink:href="http://news.example/1"/><image href="//news.example/2"/><style>@import "//news.example/3";</style></svg>',
      `<svg><a xlink:href="${ORIGIN}/1"/><image href="${ORIGIN}/2"/><style>@import "${ORIGIN}/3";</style></svg>`,
    ],
    [
      '<svg><style/><a href="http://news.example/1"></svg><math><style>a{}\\<style>b{b:url(//news.example/2)}</style>',
      `<svg><style/><a href="${ORIGIN}/1"></svg><math><style>a{}\\<style>b{b:url(${ORIGIN}/2)}</style>`,
    ],
    [
      '<link rel=stylesheet href="/a.css" integrity="sha256-x"><script src="/a.js" integrity="sha256-x"></script>',
      '<link rel=stylesheet href="/a.css" integrity=""><script src="/a.js" integrity="sha256-x"></script>',
    ],
    [
      `<meta http-equiv="Content-Security-Policy" content="img-src 'self' https://news.example http://news.example:*/pictures/">`,
      `<meta http-equiv="Content-Security-Policy" content="img-src 'self' ${ORIGIN} ${ORIGIN}/pictures/">`,
    ],
  ])('is kept in the gateway: %s', async (before, after) => {
    expect(await rewrite(before)).toBe(after);
    expect(await rewrite(`<!doctype html>\r\n<p>ü\r\n${before}`)).toBe(`<!doctype html>\r\n<p>ü\r\n${after}`);
  });

  it.each([
    '<a href="/a.html">',
    '<a href="http://other.example/a.html">',
    '<a href="http://news.example.evil.example/">',
    '<a href="http://news.example:8080/">',
    '<a href="https://news.example:80/">',
    '<a href="http://user@news.example/">',
    '<a href="http://user:http://news.example/">',
    '<a href="http:/news.example/">',
    '<a href="ftp://news.example/">',
    '<a href="mailto:http://news.example/">',
    '<a href="?u=http://news.example/">',
    '<a data="http://news.example/" title="http://news.example/">http://news.example/</a>',
    '<link rel="Canonical" href="http://news.example/">',
    '<meta property="og:url" content="http://news.example/">',
    '<script>location = "http://news.example/"; s = "<a href=\'http://news.example/\'>"</script>',
    '<script type="application/ld+json">{"url":"http://news.example/"}</script>',
    '<!-- <a href="http://news.example/"> -->',
    '<textarea><a href="http://news.example/"></textarea>',
    '<a href="http://news.example/',
    '<link rel=stylesheet href="http://cdn.example/a.css" integrity="sha256-x">',
    '<base href="http://cdn.example/"><link rel=stylesheet href="a.css" integrity="sha256-x">',
    '<a href>',
    '<a constructor="http://news.example/" __proto__="//news.example">',
  ])('is left alone: %s', async (text) => {
    expect(await rewrite(text)).toBe(text);
  });

  it('of two attributes of one name counts in the first, as in browsers', async () => {
    expect(await rewrite('<a href="/x" href="http://news.example/">')).toBe(
      '<a href="/x" href="http://news.example/">',
    );
  });

  it('stays in a style that a content security policy knows by its hash', async () => {
    const page =
      '<style>a{b:url(http://news.example/x)}</style><p style="b:url(//news.example/)"><a href="//news.example/">';
    const kept = page.replace('<a href="//news.example/">', `<a href="${ORIGIN}/">`);
    const policy = "style-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='";
    expect(await rewrite(page, undefined, policy)).toBe(kept);
    const meta = `<meta http-equiv="content-security-policy" content="${policy}">`;
    expect(await rewrite(meta + page)).toBe(meta + kept);
  });
});

describe('a link in CSS', () => {
  it.each([
    ['@import "http://news.example/a.css" screen;', `@import "${ORIGIN}/a.css" screen;`],
    ["@IMPORT/**/url('//news.example/a.css');", `@IMPORT/**/url('${ORIGIN}/a.css');`],
    ['@import "http://news.example";', `@import "${ORIGIN}";`],
    ['a{b:url(http://news.example )}', `a{b:url(${ORIGIN} )}`],
    ['a{b:url( //news.example', `a{b:url( ${ORIGIN}`],
    ["@import '//news.example", `@import '${ORIGIN}`],
    ['a{b:URL( https://news.example/a.png )}', `a{b:URL( ${ORIGIN}/a.png )}`],
    ['a{b:u\\72l(http:\\2f\\2fnews.example/a.png)}', `a{b:u\\72l(${ORIGIN}/a.png)}`],
    ['a{b:url("http:\\\n//news.example/a.png")}', `a{b:url("${ORIGIN}/a.png")}`],
    ['a{b:url("\\\nhttp://news.example\\\n/a.png")}', `a{b:url("\\\n${ORIGIN}\\\n/a.png")}`],
    [
      'a{b:image-set("http://news.example/1" 1x, url(//news.example/2) 2x type("image/png"))}',
      `a{b:image-set("${ORIGIN}/1" 1x, url(${ORIGIN}/2) 2x type("image/png"))}`,
    ],
    ['@font-face{src:url(//news.example/f) format("woff2")}', `@font-face{src:url(${ORIGIN}/f) format("woff2")}`],
    ['é{b:url(//news.example/é)}', `é{b:url(${ORIGIN}/é)}`],
  ])('is kept in the gateway: %s', async (before, after) => {
    expect(await css(before)).toBe(after);
  });

  it.each([
    '/* url(http://news.example/) */',
    'a{content:"http://news.example/"}',
    'a[href="http://news.example/"]{b:format("//news.example/")}',
    '@namespace "http://news.example/ns"; @namespace a url(http://news.example/ns);',
    '@import foo "http://news.example/";',
    'a{b:url(http://news.example/a b)}',
    'éurl(//news.example/',
  ])('is left alone: %s', async (text) => {
    expect(await css(text)).toBe(text);
  });
});

describe('other documents', () => {
  it.each([
    ...['text/plain; charset=utf-8', 'text/html', 'text/html; charset=utf-16le', 'text/html; charset=shift_jis'],
    ...['text/html; charset=nonsense', 'text/html; charset=utf-16le; charset=utf-8', 'text/html; x="; charset=utf-8"'],
    ...['text/javascript; charset=utf-8', 'application/xhtml+xml; charset=utf-8', 'constructor'],
  ])('of type %s are left alone', (mediaType) => expect(rewritingOf(mediaType, LINKS)).toBeUndefined());

  it.each([
    ...['text/html;charset="UTF-8"', 'text/html\t;\tcharset=utf-8', 'TEXT/HTML; a=b; charset=latin1', 'image/svg+xml'],
    'text/css; charset=koi8-r',
  ])('of type %s are looked through', (mediaType) => expect(rewritingOf(mediaType, LINKS)).toBeDefined());

  it('keep bytes that are no text', async () => {
    const bytes = Buffer.concat([
      Buffer.from([0xff, 0, 0xc3, 0x0d]),
      Buffer.from('<a href=//news.example/>'),
      Buffer.from([0xed, 0xa0]),
    ]);
    const rewriting = rewritingOf('text/html; charset=utf-8', LINKS);
    const out = await buffer(Readable.from([bytes]).pipe(createRewriter(rewriting as NonNullable<typeof rewriting>)));
    expect(out.toString('latin1')).toBe(bytes.toString('latin1').replace('//news.example', ORIGIN));
  });
});
