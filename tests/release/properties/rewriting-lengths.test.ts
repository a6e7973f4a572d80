/** Documents of the worst shapes, long enough that a time that grows faster than they do ends the test; a few, shorter: tests/client-proxy/gateway. */
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { GatewayLinks } from '../../../client-proxy/gateway/links.ts';
import { createRewriter } from '../../../client-proxy/gateway/rewriter.ts';
import { rewrittenFields } from '../../../client-proxy/gateway/rewriting.ts';

const LINKS = new GatewayLinks(new Map([['news.example', 'http://news-example-abc.localhost:8001']]));

describe('a hostile document takes a time in proportion to its length', () => {
  /** Length for which a time in proportion to its square would be a minute. */
  const LENGTH = 1_000_000;
  const times = (text: string) => text.repeat(Math.ceil(LENGTH / text.length));
  const spaces = times(' ');
  const CSS_SHAPES = [
    ...[`url(${spaces}x)`, `url(x${spaces})`, `url(x${spaces}`, `url(${spaces}`, `url(x${spaces}y)`, times('url( x )')],
    ...[times('\\'), times('\\a '), `"${times('\\\n')}"`, times('('), times('url('), times('/*'), times('@import ')],
    ...[times('-'), times('<!-'), `url("${times('/')}")`, `url("${spaces}//x")`, times("'")],
  ];
  const ATTRIBUTES = [
    ...[spaces, times(','), times(', '), times('a, '), times('('), times('&'), times('&#1'), times('&#'), times('/')],
    ...[`0${spaces}x`, times('1.'), times(';'), times('\t/')],
    ...[`//${times('a')}`, `//${times('a.')}`, `//x:${times('1')}`],
    ...[`//${times('[')}`, `//${times('%41')}`, times("'sha256-"), times('a:'), `/${spaces}x`],
  ];
  const TAGS = [
    ...['<img srcset="', '<p style="', '<meta http-equiv=content-security-policy content="', '<a href="', '<a ping="'],
    ...['<meta http-equiv=refresh content="', '<link integrity="" href="'],
  ];
  const LONE = [
    ...[times('<svg>'), times('<math>'), times('<svg><desc>'), times('<svg><title></svg>'), times('<'), times('</')],
    ...[times('<!--'), times('<a '), `<a ${times('x ')}`, times('<style>'), times('<![CDATA['), times('<p a=b>')],
    ...[`<a ${Array.from({ length: LENGTH / 8 }, (_, index) => `a${index} `).join('')}>`, `<a${spaces}x`, times('&')],
  ];
  const markup = [...LONE, ...TAGS.flatMap((tag) => ATTRIBUTES.map((value) => `${tag}${value.slice(0, 400_000)}">`))];
  const CASES = [
    ...CSS_SHAPES.map((text) => ['css', text] as const),
    ...markup.map((text) => ['markup', text] as const),
  ];

  it.each(CASES.map(([kind, text]) => [kind, text.slice(0, 60).trim(), text] as const))(
    '%s: %s',
    async (kind, _, text) => {
      const stream = Readable.from([Buffer.from(text)]).pipe(createRewriter({ kind, charset: 'utf-8', links: LINKS }));
      expect((await buffer(stream)).toString() === text).toBe(true);
    },
  );

  it('in a signed header field too', () => {
    const shapes = [times('<'), `<a>; rel=${spaces}x`, `<a>; rel="${spaces}`, times('<a>;'), `<a>${times(';rel=')}`];
    for (const link of shapes) expect(rewrittenFields({ link }, LINKS).link === link).toBe(true);
  });
});
