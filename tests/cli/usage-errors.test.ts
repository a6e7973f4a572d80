/** Wrong arguments, said in the one voice. */
import { describe, expect, it } from 'vitest';
import { runWispr } from '../support/wispr.ts';

describe('wrong arguments are said in lower case, without a full stop, and with a hint:', () => {
  it.each([
    [
      ['cache-config', 'iis'],
      /^wispr: 'iis' cannot stand for name; allowed choices are [a-z0-9, -]+\n/,
      'wispr cache-config --help',
    ],
    [
      ['bind', 'a', 'b'],
      /^wispr: too many arguments for 'bind'; expected 1 argument but got 2: a, b\n/,
      'wispr bind --help',
    ],
    [['init'], /^wispr: missing required argument 'url'\n/, 'wispr init --help'],
    [
      ['identity', 'protect'],
      /^wispr: missing required argument 'how': one of keyring, passphrase, key-file\n/,
      'wispr identity protect --help',
    ],
    [['admin', 'import', '--no'], /^wispr: unknown option '--no'\n/, 'wispr admin import --help'],
    [
      ['bind', 'x', '--dns-server', 'y'],
      /^wispr: 'y' cannot stand after '--dns-server <address>'; a DNS server is/,
      'wispr bind --help',
    ],
    [['protec'], /^wispr: unknown command 'protec'\n/, 'did you mean protect?'],
    [['proxy', 'stauts'], /^wispr: unknown command 'stauts'\n/, 'did you mean status?'],
    [['proxy', 'begin'], /^wispr: too many arguments for 'proxy'/, 'wispr proxy --help'],
    [['identity', 'lokc'], /^wispr: unknown command 'lokc'\n/, 'did you mean lock?'],
    [['identity', 'show', 'lokc'], /^wispr: too many arguments for 'show'/, 'wispr identity show --help'],
    [['proxy', 'status', 'now'], /^wispr: too many arguments for 'status'/, 'wispr proxy status --help'],
  ])('%j', async (args, message, hint) => {
    const { code, stdout, stderr } = await runWispr(args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(message);
    expect(stderr.endsWith(`\nwispr: hint: ${hint}\n`)).toBe(true);
    expect(stderr.trimEnd().split('\n')).toHaveLength(2);
  });
});
