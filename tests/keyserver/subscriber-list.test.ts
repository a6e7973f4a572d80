import { describe, expect, it } from 'vitest';
import { utf8 } from '../../core/encoding/bytes.ts';
import { parseSubscriberList } from '../../keyserver/subscriptions/subscriber-list.ts';

const PLANS = new Set(['daily', 'trial']);
const parse = (text: string) => parseSubscriberList(utf8(text), PLANS);

describe('a list of subscribers', () => {
  it('gives who may read what, from when and until when', () => {
    const list = parse(
      '\ufeffName,plan,sets,from,until\r\nada@example.org,daily,,2026-11-01,2027-10-31\r\n\r\n"Bert ""B."" Berg",,"photos-* 2026-*",,\r\n',
    );
    expect(list.problems).toEqual([{ line: 4, problem: expect.stringContaining('cannot be the name') }]);
    expect(list.subscribers).toEqual([
      { line: 2, name: 'ada@example.org', plan: 'daily', sets: [], from: '2026-11-01', until: '2027-10-31' },
    ]);
    expect(parse('name,sets\nBert,"photos-* 2026-*"').subscribers).toEqual([
      { line: 2, name: 'Bert', plan: undefined, sets: ['photos-*', '2026-*'], from: undefined, until: undefined },
    ]);
  });

  it.each([
    ['an unknown plan', 'ada,weekly,,', 'there is no plan "weekly"'],
    ['no day', 'ada,daily,tomorrow,', '"tomorrow" is no day'],
    ['a day that there is not', 'ada,daily,,2026-02-30', '"2026-02-30" is no day'],
    ['an end before the beginning', 'ada,daily,2026-11-02,2026-11-01', 'ends before it begins'],
    ['no name', ',daily,,', 'it is empty'],
    ['a name of control characters', '"a\u0007",daily,,', 'it has the character \\u{7}'],
    ['a name with a quote in it', 'a`b,daily,,', 'it has the character `'],
    ['a name that spreadsheets calculate', '=1+1,daily,,', 'it begins with ='],
    ['a long name', `${'a'.repeat(255)},daily,,`, 'it has 255 characters, and can have 254'],
    ['a name that is long in the index', `${'\ufdfa'.repeat(15)},daily,,`, 'it has 270 characters'],
    ['neither plan nor sets', 'ada,,,', 'a plan or sets'],
    ['too many fields', 'ada,daily,,,x', 'it has 5 fields'],
  ])('names the line with %s, and reads the others', (_what, line, problem) => {
    const list = parse(`name,plan,from,until\n${line}\nbert,trial,,\n`);
    expect(list.problems).toEqual([{ line: 2, problem: expect.stringContaining(problem) }]);
    expect(list.subscribers.map(({ name }) => name)).toEqual(['bert']);
  });

  it('takes names of people, groups and addresses as they are', () => {
    const names = [
      'Smith, John',
      'Smith & Sons',
      'School (north)',
      "o'neill@example.ie",
      '_ada@example.org',
      'a'.repeat(254),
    ];
    const list = parse(`name,plan\n${names.map((name) => `"${name}",daily\n`).join('')}`);
    expect([list.subscribers.map(({ name }) => name), list.problems]).toEqual([names, []]);
  });

  it('names a subscriber who stands twice with the same right, whatever the case', () => {
    expect(parse('name,plan\nAda,daily\nada,trial\nADA,daily\n').problems).toEqual([
      { line: 4, problem: '"ADA" has the same right in line 2' },
    ]);
  });

  it.each([
    ['', 'empty'],
    ['name\nada', 'neither "plan" nor "sets"'],
    ['plan\ndaily', 'no column "name"'],
    ['name,plan,password\n', '"password"'],
    ['name,plan,name\n', '"name" twice'],
    ['name,plan\nada,"daily', 'line 2 is no CSV'],
  ])('that is none is refused whole: %j', (text, problem) => {
    expect(() => parse(text)).toThrow(expect.objectContaining({ message: expect.stringContaining(problem) }));
  });

  it('has to be UTF-8', () => {
    expect(() => parseSubscriberList(new Uint8Array([0x6e, 0xff]), PLANS)).toThrow('UTF-8');
  });
});
