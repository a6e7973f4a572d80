/** Texts that are taken for a cookie of the reading site. */
import type { Request } from 'express';
import { expect, it } from 'vitest';
import { mailCookie, sessionCookie } from '../../keyserver/reading-site/session-cookie.ts';

const cookie = sessionCookie('https://read.news.example');
const read = (header: string | undefined) => cookie.read({ headers: { cookie: header } } as Request);

it('finds the session among other cookies', () => {
  const headers = ['__Host-wispr=own', 'a=1; __Host-wispr=own;b=2', ' __Host-wispr = own\t', '=x; __Host-wispr=own'];
  for (const header of headers) expect(read(header), header).toBe('own');
  for (const header of [undefined, '', '__Host-wispr', '__host-wispr=x', '__Host-wispr-mail=x', 'a=__Host-wispr=x'])
    expect(read(header), header).toBeUndefined();
});

it('attack 126: takes no name for the session that is another one to a browser: "__Host-" would not protect it', () => {
  const codes = [...Array(0x100).keys(), 0xfeff, 0x2003];
  for (const before of codes.map((code) => String.fromCodePoint(code)).filter((text) => !'\t ;'.includes(text)))
    expect(read(`${before}__Host-wispr=EVIL`), JSON.stringify(before)).toBeUndefined();
});

it('attack 126: takes neither of two sessions of one name, and none that browsers see under another', () => {
  for (const name of ['__Host-wispr', ' __Host-wispr', '__Host-wispr ', '\t__Host-wispr\t'])
    for (const pair of ['own EVIL', 'EVIL own', 'own own'])
      expect(
        read(
          pair
            .split(' ')
            .map((value) => `${name}=${value}`)
            .join('; '),
        ),
      ).toBeUndefined();
});

it('reads as many flows of a browser as it writes, whatever a cookie holds (attack 142)', () => {
  const headers = { cookie: `__Host-wispr-mail=${Array.from({ length: 300 }, (_, index) => index).join('~')}` };
  expect(mailCookie('https://read.news.example').read({ headers } as Request)).toEqual(['0', '1', '2', '3']);
});
