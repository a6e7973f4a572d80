/** Summary of `wispr protect`, for people. */
import { relative } from 'node:path';
import { printable } from '../../node-support/printable.ts';
import { size } from '../../node-support/size.ts';
import { planSite } from '../../publisher/protect/dry-run.ts';
import type { SectionSummary } from '../../publisher/protect/phases.ts';
import type { SigningReason } from '../../publisher/protect/signing-plan.ts';
import type { ChangeCounts, ChangeReasons, DryRunSummary, ProtectSummary } from '../../publisher/protect/summary.ts';
import { count, describePublic, describeSets, someOf } from '../../publisher/text.ts';
import { showProtecting } from '../io/progress.ts';
import { hintLine, print } from '../io/voice.ts';
import { describeFreshness, describeSignatures, warnAboutSignatures } from './expiry-words.ts';

/** Paths of each kind. */
const SHOWN_PATHS = 10;

/** Reasons for a new publication, where documents do not tell. */
const REASONS: Readonly<Partial<Record<SigningReason, string>>> = {
  keys: 'signed by other keys than before',
  lists: 'its documents are in more lists',
  settings: 'with other settings, descriptor or sections',
  expiry: 'signed again, because signatures end soon',
  missing: 'signed again, because signed files were missing, or others than were signed here',
};

const CHANGES = [
  ['added', 'added'],
  ['changed', 'changed'],
  ['moved', 'moved to another set'],
  ['rekeyed', 'encrypted again under a new key'],
  ['removed', 'removed'],
  ['unchanged', 'unchanged'],
] as const satisfies readonly (readonly [keyof ChangeCounts, string])[];

/** The summary of `wispr protect`, which leaves the rest to people. @param hasKeyServer - whether the site has one */
export function describeProtection(summary: ProtectSummary, hasKeyServer: boolean): string {
  const { out, publication, publisher } = summary;
  const fresh = publication.expires.find(({ role }) => role === 'timestamp')?.expires;
  return [
    ...describeWork(summary),
    fresh === undefined
      ? '  "wispr publish" brings it to the targets in wispr.json'
      : `  put ${place(out)} on your web host, whole`,
    ...describePublication(summary),
    ...(fresh === undefined ? [] : [`  ${describeFreshness(fresh, hasKeyServer)}`]),
    `  ${describeSignatures(publication.expires)}`,
    ...describeBundle(summary),
    `  publisher ${publisher}`,
  ].join('\n');
}

/**
 * Describes it before `wispr publish` goes on with what was made, and says itself until when it is good.
 *
 * @param bundleByHand - whether the key bundle has to be taken to the key server
 * @param alone - whether only some documents were looked at
 */
export function describeProtectionToPublish(summary: ProtectSummary, bundleByHand: boolean, alone = false): string {
  const bundle = bundleByHand ? describeBundle(summary) : [];
  const work = describeWork(summary);
  const lines = [...(alone ? work.slice(0, 2) : work), ...describePublication(summary), ...bundle];
  return [...lines, `  publisher ${summary.publisher}`].join('\n');
}

function describeWork(summary: ProtectSummary): string[] {
  const { site, documents, out, bytesIn, milliseconds } = summary;
  return [
    `Protected ${site}: ${count(documents, 'document')} in ${(milliseconds / 1000).toFixed(1)} s${leftOut(summary)}`,
    `  ${describeChanges(summary.changes)}`,
    ...describeReasons(summary.reasons),
    '',
    ...describeSite(summary),
    '',
    `  ${size(bytesIn)} of site became ${describeSizes(summary)} in ${place(out)}`,
  ];
}

function leftOut({ ignored, hidden }: Pick<ProtectSummary, 'hidden' | 'ignored'>): string {
  const names = hidden.length === 0 ? '' : ` (${someOf(hidden.map(printable))})`;
  return ignored === 0 ? '' : `; ${ignored} hidden or ignored left out${names}`;
}

/** Describes the output of this publication; files of earlier ones are counted elsewhere. */
function describeSizes({ bytesOut, pageBytes, publication }: ProtectSummary): string {
  const sizes = [
    `${size(bytesOut)} of objects`,
    ...(pageBytes === 0 ? [] : [`${size(pageBytes)} of fallback pages`]),
    `${size(publication.bytes)} of signed metadata`,
  ];
  return `${sizes.slice(0, -1).join(', ')} and ${sizes.at(-1)}`;
}

export async function sayWhatWouldBeDone(
  what: Parameters<typeof planSite>[0],
  { json, quiet }: { readonly json?: boolean; readonly quiet?: boolean },
): Promise<void> {
  const { onProgress, end } = showProtecting(quiet, 'looking');
  const limit = json ? undefined : SHOWN_PATHS;
  const summary = await planSite({ ...what, onProgress }, limit).finally(end);
  print(json ? JSON.stringify(summary) : describeDryRun(summary));
}

/** Describes what `--dry-run` found. */
function describeDryRun(summary: DryRunSummary): string {
  const { site, documents, changes, paths } = summary;
  const lists = CHANGES.flatMap(([kind, words]) =>
    kind === 'unchanged' ? [] : describePaths(words, changes[kind], paths[kind]),
  );
  return [
    `${site}: ${count(documents, 'document')}${leftOut(summary)}; nothing was written`,
    `  ${describeChanges(changes)}`,
    ...describeReasons(summary.reasons),
    ...describeCircumstances(summary),
    ...(lists.length > 0 ? ['', ...lists] : []),
    '',
    ...describeSite(summary),
  ].join('\n');
}

/** Names what has consequences beyond single documents. Without the index and the passphrase it is unknown whose output it is. */
function describeCircumstances({ documents, indexLost, settingsChanged, keysChanged }: DryRunSummary): string[] {
  const settings = 'such as "redirects", "notFound", "freshness" or "sheet"';
  return [
    ...(settingsChanged ? [`  a new publication with other settings: ${settings}`] : []),
    ...(indexLost
      ? [
          `  publisher.db ${indexLost === 'damaged' ? 'is damaged' : 'knows of no finished run'}: ${count(documents, 'document')} would be written again`,
        ]
      : []),
    ...(keysChanged ? KEYS_CHANGED : []),
  ];
}

/** Lines about what is unknown without the passphrase. */
const KEYS_CHANGED = [
  '  publisher.keys is not as the last publication left it. What was changed there cannot be seen without the passphrase:',
  '  a new publisher key has every document signed again, and other new keys what they sign or encrypt;',
  '  a copy from before the last publication gives sets new keys, and has their documents encrypted again',
];

export function describeRekey({ sets, changes }: ProtectSummary): string[] {
  if (changes.rekeyed === 0) return [];
  const fresh = sets.filter(({ isRekeyed }) => isRekeyed).map(({ name }) => name);
  const again = `${count(changes.rekeyed, 'document is', 'documents are')} encrypted again`;
  if (fresh.length === 0) return [`${again}, under keys that were published before: publisher.db knew nothing of that`];
  return [
    `new key for ${someOf(fresh)}: ${again}`,
    'readers with the old key keep what was encrypted under it, and need the new one for everything published from now on',
  ];
}

export function hintsAfterProtection({ unusedPatterns, recovered }: ProtectSummary): string[] {
  if (unusedPatterns.length === 0) return [...recovered];
  const patterns = someOf(unusedPatterns.map((text) => JSON.stringify(text)));
  return [...recovered, `no document fits ${patterns} in the configuration`];
}

/** Warns of what the publisher has to know even with `--quiet`. */
export function warningsAfterProtection(summary: ProtectSummary, now = Date.now() / 1000): string[] {
  const { expires } = summary.publication;
  return [
    ...warnAboutSignatures(expires, 'wispr protect', now),
    ...warnAboutSections(summary.sections),
    ...warnAboutBundle(summary),
  ];
}

/** Warns that without a bundle, the key server cannot hand out the keys of new sets. */
export function warnAboutBundle({ bundle, keyFiles, recipient, sets }: ProtectSummary): string[] {
  if (sets.length === 0) return []; // the site is public
  if (keyFiles === 0)
    return [
      'no reader can get a key: there are no invitations',
      hintLine('"wispr invite NAME" prints a link; then run this command again'),
    ];
  if (bundle !== undefined || keyFiles !== undefined) return [];
  return [
    `no reader can get a key: the key server's public key is not in ${place(recipient)}, and no key bundle was written`,
    hintLine('copy it there ("wispr keyserver" says where it is), then run this command again'),
  ];
}

export function describeChanges(changes: ChangeCounts): string {
  const parts = CHANGES.filter(([kind]) => changes[kind] > 0).map(
    ([kind, words]) => `${changes[kind].toLocaleString('en')} ${words}`,
  );
  return parts.length === 0 ? 'nothing' : parts.join(', ');
}

function describeReasons({ remade, restored }: ChangeReasons): string[] {
  const why = 'other settings for them ("headers", "uncompressed", "padding", "carrier"), or another publisher key';
  const number = (documents: number) => documents.toLocaleString('en');
  return [
    ...(remade > 0 ? [`  ${number(remade)} of these only in how they are published: ${why}`] : []),
    ...(restored > 0 ? [`  ${number(restored)} of these only because files of theirs were missing`] : []),
  ];
}

function describePaths(words: string, total: number, paths: readonly string[]): string[] {
  if (total === 0) return [];
  const more = total - paths.length;
  const lines = paths.map((path) => `    ${printable(path)}`);
  return [`  ${words}:`, ...lines, ...(more > 0 ? [`    and ${more.toLocaleString('en')} more`] : [])];
}

function describeSections(sections: readonly SectionSummary[]): string[] {
  const width = Math.max(0, ...sections.map(({ name }) => name.length));
  return sections.map(({ name, documents, waiting }) => {
    const rest = waiting === 0 ? '' : `; ${count(waiting, 'change')} not published: its keys are not here`;
    return `  section ${name.padEnd(width)}  ${count(documents, 'document')}${rest}`;
  });
}

/** Warns of what others still have to sign, even with `--quiet`. */
export function warnAboutSections(sections: readonly SectionSummary[]): string[] {
  const waiting = sections.filter((section) => section.waiting > 0);
  if (waiting.length === 0) return [];
  const names = someOf(waiting.map(({ name, waiting: changes }) => `${name} (${count(changes, 'change')})`));
  return [
    `what changed in ${names} is not published, because too few of the keys for it are here; readers find what was signed before`,
    hintLine('its editors sign with their key file: --key FILE'),
  ];
}

function describeSite({
  sets,
  sections,
  public: groups,
}: Pick<DryRunSummary, 'public' | 'sections'> & { readonly sets: Parameters<typeof describeSets>[0] }): string[] {
  const open = groups.map(({ paths, ...group }) => ({ ...group, paths: paths.map(printable) }));
  return [...describeSets(sets), ...describeSections(sections), ...describePublic(open)];
}

function describePublication({ publication, pruned, waiting }: ProtectSummary): string[] {
  const { version, isNew, reasons } = publication;
  const why = reasons.flatMap((reason) => REASONS[reason] ?? []).join(', ');
  const isSame = isNew ? '' : ', as before';
  const lines = [`  publication ${version}${isSame}${why && ` (${why})`}`];
  if (pruned > 0) lines.push(`  ${count(pruned, 'old file')} removed`);
  if (waiting > 0)
    lines.push(`  ${count(waiting, 'old file')} kept until no reader can hold the publication that names them`);
  return lines;
}

function describeBundle({ bundle, bundleIsNew, keyFiles = 0 }: ProtectSummary): string[] {
  if (keyFiles > 0) return [`  keys for ${count(keyFiles, 'invitation')}`];
  if (bundle === undefined) return [];
  return bundleIsNew
    ? [`  ${place(bundle)} is for your key server only: wispr admin import ${place(bundle)}`]
    : [`  ${place(bundle)} is as before`];
}

function place(path: string): string {
  const short = relative('.', path);
  return short.startsWith('..') || short === '' ? path : short;
}
