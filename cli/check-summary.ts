/** What `wispr check` found, for people: the worst first, a few examples of each, and what to do. */
import { size } from '../node-support/size.ts';
import type { CheckFinding, CheckGroup, CheckKind, CheckReport } from '../publisher/check/report.ts';
import { count } from '../publisher/text.ts';

const SHOWN_FINDINGS = 5;
const SHOWN_SETS = 8;
const SHOWN_PATHS = 3;

interface Words {
  readonly one: string;
  readonly many: string;
  /** What to do. */
  readonly advice?: string;
}

const WORDS: Readonly<Record<CheckKind, Words>> = {
  refused: {
    one: 'thing that "wispr protect" would refuse',
    many: 'things that "wispr protect" would refuse',
  },
  'own-host': {
    one: "address with the site's own host in it, which leads out of the reading site",
    many: "addresses with the site's own host in them, which lead out of the reading site",
    advice: 'leave the host out, /a.html or ../a.html; most site generators have a setting for it',
  },
  missing: {
    one: 'address that is linked and has no document',
    many: 'addresses that are linked and have no document',
    advice: 'correct the links, put the files there, or add "redirects"',
  },
  form: {
    one: 'form that is sent to the site, where nothing answers',
    many: 'forms that are sent to the site, where nothing answers',
    advice: 'let another host take them, or leave them out',
  },
  'redirect-missing': {
    one: 'redirect to what is not there',
    many: 'redirects to what is not there',
    advice: 'correct "to" of these redirects',
  },
  'public-loads-protected': {
    one: 'encrypted file that public pages load: without it, they look broken to everybody who has not signed in',
    many: 'encrypted files that public pages load: without them, they look broken to everybody who has not signed in',
    advice: 'name them under "public"',
  },
  'preview-picture': {
    one: 'picture for previews that no preview can show',
    many: 'pictures for previews that no preview can show',
    advice: 'name them under "public" if previews shall show them',
  },
  'own-host-data': {
    one: "data file with the site's own host in it: if scripts make links of that, they lead out of the reading site",
    many: "data files with the site's own host in them: if scripts make links of that, they lead out of the reading site",
  },
  'service-worker': {
    one: 'script with a service worker, which Readers refuse',
    many: 'scripts with service workers, which Readers refuse',
    advice: 'good if the site works without',
  },
  'form-elsewhere': {
    one: 'other host that forms send to what readers type',
    many: 'other hosts that forms send to what readers type',
  },
  'redirect-unused': {
    one: 'redirect that nobody follows, because a document stands at its address',
    many: 'redirects that nobody follows, because documents stand at their addresses',
  },
  'name-case': {
    one: 'name that differs from another in case or accents only: some hosts keep one of the two',
    many: 'names that differ from others in case or accents only: some hosts keep one of each two',
  },
  'name-odd': {
    one: 'name that not every host takes as it is',
    many: 'names that not every host takes as they are',
  },
  charset: {
    one: 'page that is not in UTF-8 and does not say in what: browsers guess',
    many: 'pages that are not in UTF-8 and do not say in what: browsers guess',
    advice: 'save them as UTF-8',
  },
  empty: { one: 'empty page', many: 'empty pages' },
  large: {
    one: 'file over 20 MiB, which some caches and CDNs take only where large files are switched on',
    many: 'files over 20 MiB, which some caches and CDNs take only where large files are switched on',
  },
  partly: {
    one: 'file over 8 MiB, of which only the beginning was looked at',
    many: 'files over 8 MiB, of which only the beginning was looked at',
  },
  'set-lone': {
    one: 'set with a single document, and nearly the name of another',
    many: 'sets with a single document, and nearly the name of another',
  },
  'set-default': {
    one: 'document in the default set, because no rule names it',
    many: 'documents in the default set, because no rule names them',
  },
  'pattern-unused': {
    one: 'pattern in wispr.json that fits no document',
    many: 'patterns in wispr.json that fit no document',
  },
};

/** The report, in blocks of lines. */
export function describeCheck(report: CheckReport, { quiet }: { readonly quiet: boolean }): string[] {
  const breaks = report.groups.filter((group) => group.breaks);
  const notes = report.groups.filter((group) => !group.breaks);
  return [
    ...(quiet ? [] : [describeSite(report)]),
    ...describeGroups('Breaks for readers:', breaks),
    ...(quiet ? [] : describeGroups('Worth knowing:', notes)),
  ];
}

/** One line that says it all. */
export function describeVerdict({ groups }: CheckReport): string {
  const sum = (breaks: boolean) =>
    groups.reduce((total, group) => total + (group.breaks === breaks ? group.total : 0), 0);
  const found = sum(true) === 0 ? 'nothing that breaks was found' : `${count(sum(true), 'thing')} to put right`;
  return sum(false) === 0 ? found : `${found}; ${count(sum(false), 'note')}`;
}

function describeSite(report: CheckReport): string {
  const { site, documents, pages, bytes, ignored, milliseconds } = report;
  const left = ignored === 0 ? '' : `; ${ignored.toLocaleString('en')} hidden or ignored left out`;
  const seconds = (milliseconds / 1000).toFixed(1);
  return [
    `Checked ${site}: ${count(documents, 'document')}, ${count(pages, 'page')} among them, ${size(bytes)}, in ${seconds} s${left}`,
    '',
    ...describePublic(report),
    ...describeSets(report),
    ...report.sections.map(({ name, documents }) => `  section ${name}  ${count(documents, 'document')}`),
    '',
  ].join('\n');
}

function describePublic(report: CheckReport): string[] {
  const total = report.public.reduce((sum, { documents }) => sum + documents, 0);
  if (total === 0) return ['  public: nothing but addresses, and titles and descriptions of pages'];
  const lines = report.public.map(({ reason, documents, paths }) => {
    const names = paths.slice(0, SHOWN_PATHS).map((path) => path.slice(1));
    return `    ${names.join(', ')}${andMore(documents - names.length)} (${reason})`;
  });
  return [`  public, signed but not encrypted: ${count(total, 'document')}`, ...lines];
}

function describeSets({ sets }: CheckReport): string[] {
  const shown = sets.slice(0, SHOWN_SETS);
  const width = Math.max(0, ...shown.map(({ name }) => name.length));
  const lines = shown.map(({ name, documents }) => `  set ${name.padEnd(width)}  ${count(documents, 'document')}`);
  return sets.length > shown.length ? [...lines, `  and ${count(sets.length - shown.length, 'more set')}`] : lines;
}

function describeGroups(heading: string, groups: readonly CheckGroup[]): string[] {
  return groups.length === 0 ? [] : [heading, ...groups.map(describeGroup)];
}

function describeGroup({ kind, total, findings }: CheckGroup): string {
  const { one, many, advice } = WORDS[kind];
  const shown = findings.slice(0, SHOWN_FINDINGS);
  return [
    `  ${count(total, one, many)}`,
    ...shown.map((finding) => `    ${describeFinding(finding)}`),
    ...(total > shown.length ? [`    and ${(total - shown.length).toLocaleString('en')} more`] : []),
    ...(advice === undefined ? [] : [`    → ${advice}`]),
    '',
  ].join('\n');
}

function describeFinding({ subject, message, count: times, places }: CheckFinding): string {
  const [first] = places;
  const said = message === undefined ? subject : `${subject}: ${message}`;
  if (first === undefined) return said;
  const where = `${first.path.replace(/^\//, '')}${first.line === undefined ? '' : `, line ${first.line}`}`;
  return first.path === subject && times === 1
    ? `${said}${first.line === undefined ? '' : `, line ${first.line}`}`
    : `${said}  (${where}${times > 1 ? `, and ${(times - 1).toLocaleString('en')} more` : ''})`;
}

function andMore(number: number): string {
  return number > 0 ? ` and ${number.toLocaleString('en')} more` : '';
}
