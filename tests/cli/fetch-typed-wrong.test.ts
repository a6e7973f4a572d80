/** `wispr fetch` with words that say nothing, or nothing that can be done; one reader for all, who is connected, so that nothing else is wrong. */
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isInTheOneVoice, type ReaderHome, startReaderHome } from '../support/reader-home.ts';
import { CleanUp } from '../support/reader-rig.ts';

const cleanUp = new CleanUp();
let reader: ReaderHome;
beforeAll(async () => {
  reader = await startReaderHome(cleanUp);
  await reader.publisher.publish(reader.host.files, '/a.html', { content: 'read at last' });
  expect((await reader.bind()).code).toBe(0);
});
afterAll(() => cleanUp.run());

const fetched = (...args: string[]) => reader.run(['fetch', ...args, ...reader.connectTo]);

describe('what is typed wrong is exit code 2', () => {
  it.each([
    [['ftp://news.example/a.html'], /address/],
    [['http://me:secret@news.example/'], /^(?!.*secret).*address/s],
    [['http://news.example/a.html', '--range', '9-2'], /range/],
    [['http://news.example/a.html', '--range', '0-1,4-5'], /range/],
    [['http://news.example/a.html', '--header', 'nonsense'], /header/],
    [['http://news.example/a.html', '--header', 'Content-Length: 5'], /not for a caller/],
    [['http://news.example/a.html', '--header', 'A: b\r\nc: d'], /characters/],
    [['http://news.example/a.html', '--json'], /--output/],
    [['http://news.example/a.html', '-o', '.'], /directory/],
    [['http://news.example/a.html', '-o', ''], /--output needs the name of a file/],
    [['http://news.example/a.html', '-o', '/nowhere/at/all'], /cannot write .*\n.*hint: /],
    [['http://news.example/a.html', '-o', `/tmp/${'x'.repeat(250)}`], /cannot write .*\n.*hint: /],
    [[], /argument/],
  ])('%j', async (args, words) => {
    const { code, stdout, stderr } = await fetched(...args);
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringMatching(words)]);
    expect(isInTheOneVoice(stderr)).toBe(true);
    expect(existsSync('/nowhere')).toBe(false);
  });
});
