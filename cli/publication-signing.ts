/** What a signer of a publication is shown, and what is said once signatures were gathered. */
import { relative } from 'node:path';
import { isoTime } from '../core/publication/verify-roles.ts';
import type { PublicationGathered, PublicationSigned } from '../publisher/keys/gather-publication.ts';
import { type PublicationChanges, publicationChanges } from '../publisher/keys/publication-changes.ts';
import type { PublicationDraft } from '../publisher/keys/publication-draft.ts';
import { shortId } from '../publisher/keys/roots.ts';
import { count, printable } from '../publisher/text.ts';
import { print, say } from './voice.ts';

/** Paths of each kind that are shown without `--all`. */
const SHOWN_PATHS = 50;

/** Shows what a publication changes. */
export async function introducePublication(draft: PublicationDraft, all = false): Promise<void> {
  const changes = await publicationChanges(draft);
  say(`the publisher ${draft.rootId}`);
  say(
    `asks to sign publication ${draft.version} of ${sitesOf(draft)}, good until ${isoTime(draft.expires).slice(0, 10)}:`,
  );
  for (const line of describe(changes, all ? Number.POSITIVE_INFINITY : SHOWN_PATHS)) say(`  ${line}`);
}

/** What a file counts, for programs. */
export async function publicationAsJson(draft: PublicationDraft): Promise<object> {
  const { rootId, version, expires } = draft;
  return { publisher: rootId, publication: version, expires, changes: await publicationChanges(draft) };
}

function describe(changes: PublicationChanges, most: number): string[] {
  const { added, changed, removed, lists, uncompared, comparedWith, others } = changes;
  const versions = comparedWith.length > 3 ? [comparedWith[0], '…', comparedWith.at(-1)] : comparedWith;
  return [
    `${count(added.length, 'document')} added, ${changed.length} changed, ${removed.length} removed, in ${count(lists, 'list')}`,
    ...pathLines('added', added, most),
    ...pathLines('changed', changed, most),
    ...pathLines('removed', removed, most),
    ...pathLines('readable by everybody from now on', changes.public, most),
    ...others.map(printable),
    ...(versions.length > 0 ? [`compared with what these keys signed in publication ${versions.join(', ')}`] : []),
    ...(uncompared > 0
      ? [
          `${count(uncompared, 'list')} with nothing to compare: all in them counts as added, and what was removed is not known`,
        ]
      : []),
  ];
}

function pathLines(what: string, paths: readonly string[], most: number): string[] {
  if (paths.length === 0) return [];
  const shown = paths.slice(0, most).map((path) => `  ${printable(path)}`);
  const more = paths.length - shown.length;
  return [`${what}:`, ...shown, ...(more > 0 ? [`  and ${more.toLocaleString('en')} more: --all shows them`] : [])];
}

/** The descriptor says which; it is signed, and named by what is signed here. */
function sitesOf({ descriptor }: PublicationDraft): string {
  const { sites } = JSON.parse(Buffer.from(descriptor).toString('utf8')) as { sites: { site: string }[] };
  return sites.map(({ site }) => printable(site)).join(', ');
}

export function tellPublicationSigned(file: string, { keyids, missing }: PublicationSigned): void {
  print(keyids.length > 0 ? `Signed by ${keyids.map(shortId).join(', ')}.` : 'Your signature was there already.');
  say(missing > 0 ? `it still needs ${count(missing, 'signature')}` : 'no signature is missing any more');
  say(`hint: send ${file} back to the publisher, who runs "wispr keys finish ${file}"`);
}

export function tellPublicationGathered({ file, version, missing }: PublicationGathered): void {
  const place = relative('.', file);
  if (missing > 0) {
    print(`Publication ${version} still needs ${count(missing, 'signature')}; what was gathered is in ${place}.`);
    return;
  }
  print(`Publication ${version} has all signatures, in ${place}.`);
  say('hint: run "wispr publish", or "wispr protect" where you copy the output yourself: now it needs no other signer');
}
