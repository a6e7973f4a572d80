/** Settings that a reader may make, whatever a form or an earlier database says. */
import { expect, it } from 'vitest';
import {
  isSettingText,
  PARENT_PROXY_LENGTH,
  RULES_LENGTH,
  type SettingName,
} from '../../client-proxy/store/settings.ts';

const KEY = 'A'.repeat(43);

it.each<[SettingName, string[], string[]]>([
  ['port', ['', '1024', '65535'], ['0', '80', '1023', '65536', '-1', '8080.0', '1e4', ' 8080', '123456']],
  [
    'parentProxy',
    ['', 'http://127.0.0.1:3128', 'http://proxy.example', 'http://[::1]:3128/'],
    [
      'http://me:secret@127.0.0.1:3128', // the form would show the password
      ...['http://me@127.0.0.1:3128', 'http://:secret@127.0.0.1:3128', 'https://127.0.0.1:3128', 'socks5://127.0.0.1'],
      ...['http://127.0.0.1/path', 'http://127.0.0.1/?query', 'http://127.0.0.1/#part', '127.0.0.1:3128'],
      `http://${'a'.repeat(PARENT_PROXY_LENGTH)}`,
    ],
  ],
  [
    'allowLocal',
    ['', 'printer.lan', '192.168.0.0/16:80\n[::1]', 'a.lan '.repeat(32)],
    ['*', 'http://x', 'x:0', 'printer.lan *', 'a.lan '.repeat(33), ' '.repeat(RULES_LENGTH + 1)],
  ],
  ['cacheBytes', ['0', '1', '16777216'], ['', '-1', '16777217', '1.5', '1e3', '123456789']],
  ['httpcrypt', ['on', 'off'], ['', 'yes']],
  [
    'httpcryptTo',
    ['', `http://news.example/a/#${KEY}`, `http://news.example/#${KEY}\nhttp://127.0.0.1:8080/a/b/#${KEY}`],
    [
      ...['http://news.example/a/', `https://news.example/a/#${KEY}`, `http://news.example/a#${KEY}`],
      ...[`http://news.example/a/#${KEY}#`, `http://news.example/a/#${KEY.slice(1)}`],
      `http://news.example/a/#${KEY}\nhttp://news.example/b/#${KEY}`, // two of one host
      Array.from({ length: 33 }, (_, index) => `http://news${index}.example/a/#${KEY}\n`).join(''),
    ],
  ],
  ['notices', ['on', 'off'], ['', 'ON', 'true', '1']],
  ['activity', ['on', 'off'], ['', 'yes']],
])('%s is one of what it may be', (name, good, bad) => {
  for (const text of good) expect([text, isSettingText(name, text)]).toEqual([text, true]);
  for (const text of bad) expect([text, isSettingText(name, text)]).toEqual([text, false]);
});
