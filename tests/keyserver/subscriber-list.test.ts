import { describe, expect, it } from 'vitest';
import { utf8 } from '../../core/encoding/bytes.ts';
import { type ListReading, parseSubscriberList } from '../../keyserver/subscriptions/subscriber-list.ts';

const PLANS = new Set(['daily', 'trial']);
const parse = (text: string, reading?: ListReading) => parseSubscriberList(utf8(text), PLANS, reading);

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
    ['a name that a shell runs', '$(id),daily,,', 'it has the characters $('],
    ['a name that spreadsheets calculate', '=1+1,daily,,', 'it begins with ='],
    ['a long name', `${'a'.repeat(255)},daily,,`, 'it has 255 characters, and can have 254'],
    ['a name that is long in the index', `${'\ufdfa'.repeat(15)},daily,,`, 'it has 270 characters'],
    ['neither plan nor sets', 'ada,,,', 'neither a plan nor sets'],
    ['a day that may be two', 'ada,daily,,3/4/2026', 'may be two days'],
    ['too many fields', 'ada,daily,,,x', 'it has 5 fields'],
  ])('names the line with %s, and reads the others', (_what, line, problem) => {
    const list = parse(`name,plan,from,until\n${line}\nbert,trial,,\n`);
    expect(list.problems).toEqual([{ line: 2, problem: expect.stringContaining(problem) }]);
    expect(list.subscribers.map(({ name }) => name)).toEqual(['bert']);
  });

  it('takes names of people, groups and addresses as they are', () => {
    const people = ['Smith, John', 'Smith & Sons', 'School (north)'];
    const names = [...people, "o'neill@example.ie", '_ada@example.org', 'a'.repeat(254)];
    const list = parse(`name,plan\n${names.map((name) => `"${name}",daily\n`).join('')}`);
    expect([list.subscribers.map(({ name }) => name), list.problems]).toEqual([names, []]);
  });

  it('names a subscriber who stands twice with the same right, whatever the case', () => {
    const problems = [{ line: 4, problem: '"ADA" has the same right in line 2' }];
    expect(parse('name,plan\nAda,daily\nada,trial\nADA,daily\n').problems).toEqual(problems);
    const spans =
      'name,plan,from,until\nada,daily,,2027-01-31\nada,daily,2027-06-01,\nada,daily,2027-01-31,2027-02-01\n';
    expect(parse(spans).problems).toEqual([{ line: 4, problem: '"ada" has the same right in line 2' }]);
  });

  it.each([
    ['', 'empty'],
    ['name\nada', 'neither "plan" nor "sets"'],
    ['plan\ndaily', 'no column "name"'],
    ['name,plna\n', 'did you mean "plan"'],
    ['email,plan\n', '--map name=email takes it'],
    ['id,email,name,plan\n', '--map name=email takes the address'],
    ['name,plan,name\n', '"name" twice'],
    ['name,plan\nada,"daily', 'line 2 is no CSV'],
  ])('that is none is refused whole: %j', (text, problem) => {
    expect(() => parse(text)).toThrow(expect.objectContaining({ message: expect.stringContaining(problem) }));
  });

  it('is read as Ghost exports it, with its columns mapped', () => {
    const text =
      'id,email,name,note,subscribed_to_emails,complimentary_plan,created_at,deleted_at,labels,tiers\n' +
      '1,ada@example.org,Ada Lovelace,,true,,2026-11-01T09:30:00.000Z,,,"daily, trial"\n2,eve@example.org,Eve,,true,,,,,\n';
    const map = { name: 'email', plan: 'Tiers', from: 'created_at' };
    const { subscribers, problems, ignored } = parse(text, { map });
    const ada = { line: 2, name: 'ada@example.org', sets: [], from: '2026-11-01', until: undefined, seats: undefined };
    expect(subscribers).toEqual(['daily', 'trial'].map((plan) => ({ ...ada, plan })));
    expect(problems).toEqual([{ line: 3, problem: 'it names neither a plan nor sets' }]);
    expect(ignored.join()).toBe('id,name,note,subscribed_to_emails,complimentary_plan,deleted_at,labels');
    expect(parse(text, { map: { name: 'email' }, plan: 'trial' }).subscribers).toHaveLength(2);
  });

  it.each([
    ['name;plan;until', 'Smith, John;daily;31.12.2026'],
    ['name\tplan\tuntil', 'Smith, John\tdaily\t2026/12/31'],
    ['name,plan,until', '"Smith, John",daily,12/31/2026'],
    ['name,plan,until', '"Smith, John",daily,2026-12-31 23:59:59'],
  ])('is read as spreadsheets of all countries write it: %j', (header, line) => {
    expect(parse(`\ufeff${header}\r\n${line}\r\n`)).toMatchObject({
      subscribers: [{ name: 'Smith, John', plan: 'daily', until: '2026-12-31' }],
      problems: [],
    });
  });

  it('is read in the order of days that is named, and in UTF-16 as Excel writes it', () => {
    const text = 'name,plan,until\nada,daily,3/4/2026\n';
    expect(parse(text, { dates: 'dmy' }).subscribers).toMatchObject([{ until: '2026-04-03' }]);
    expect(parse(text, { dates: 'mdy' }).subscribers).toMatchObject([{ until: '2026-03-04' }]);
    const wide = Buffer.from(`\ufeff${text}`, 'utf16le');
    expect(parseSubscriberList(wide, PLANS, { dates: 'mdy' }).subscribers).toMatchObject([{ name: 'ada' }]);
  });

  it('has to be UTF-8', () => expect(() => parseSubscriberList(new Uint8Array([0x6e, 0xff]), PLANS)).toThrow('UTF-8'));
});
