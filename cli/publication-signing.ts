/** What a signer of a publication is shown, and what is said once signatures were gathered. */
import { relative } from 'node:path';
import { isoTime } from '../core/publication/verify-roles.ts';
import { printable } from '../node-support/printable.ts';
import type {
  PublicationGathered,
  PublicationSigned,
  ReviewedPublication,
} from '../publisher/keys/gather-publication.ts';
import { publicationChanges } from '../publisher/keys/publication-changes.ts';
import type { PublicationDraft } from '../publisher/keys/publication-draft.ts';
import { signingId } from '../publisher/keys/roots.ts';
import { memoryFile } from '../publisher/keys/signer-memory.ts';
import { count } from '../publisher/text.ts';
import { columnsAfter, folded } from './folded.ts';
import { describeChanges, describeOvertaken } from './publication-changes.ts';
import { print, say } from './voice.ts';

/** Lines of each kind that are shown without `--all`. */
const SHOWN = 50;

/** Shows what a publication changes. */
export async function introducePublication(
  { draft, review }: ReviewedPublication,
  keyFile: string,
  all = false,
): Promise<void> {
  const most = all ? Number.POSITIVE_INFINITY : SHOWN;
  const { root } = draft;
  const { keyids, threshold } = root.roles.targets;
  const until = isoTime(draft.expires).slice(0, 10);
  say(`the publisher ${draft.rootId}`);
  say(`by root ${root.version}, where ${threshold} of the keys ${keyids.map(signingId).join(', ')} sign targets`);
  sayFolded(`asks to sign publication ${draft.version} of ${sitesOf(draft)}, good until ${until}:`);
  for (const line of describeChanges(await publicationChanges(draft), most)) sayFolded(`  ${line}`);
  if (review.signed === undefined) {
    say(`${memoryFile(keyFile)} does not remember any publication that this key signed: is it the first?`);
    say(
      'hint: compare publisher, root, keys and publications above with the publisher, by another way than the file came by',
    );
  } else say(`this key signed publication ${review.signed} last`);
  for (const line of describeOvertaken(review, most)) say(line);
}

/** What stands in it was written by others. */
function sayFolded(line: string): void {
  for (const row of folded(line, columnsAfter('wispr: '.length))) say(row);
}

/** What a file counts, for programs. */
export async function publicationAsJson({ draft, review }: ReviewedPublication): Promise<object> {
  const { root, rootId, version, expires } = draft;
  return {
    publisher: rootId,
    root: { version: root.version, ...root.roles.targets },
    publication: version,
    expires,
    changes: await publicationChanges(draft),
    remembered: { signed: review.signed, overtaken: review.overtaken },
  };
}

/** The descriptor says which; it is signed, and named by what is signed here. */
function sitesOf({ descriptor }: PublicationDraft): string {
  const { sites } = JSON.parse(Buffer.from(descriptor).toString('utf8')) as { sites: { site: string }[] };
  return sites.map(({ site }) => printable(site)).join(', ');
}

export function tellPublicationSigned(file: string, { keyids, missing }: PublicationSigned): void {
  print(keyids.length > 0 ? `Signed by ${keyids.map(signingId).join(', ')}.` : 'Your signature was there already.');
  say(missing > 0 ? `it still needs ${count(missing, 'signature')}` : 'no signature is missing any more');
  say(`hint: send ${file} back to the publisher, who runs "wispr keys finish ${file}"`);
}

export function tellPublicationGathered({ file, version, missing }: PublicationGathered, publishAgain: string): void {
  const place = relative('.', file);
  if (missing > 0) {
    print(`Publication ${version} still needs ${count(missing, 'signature')}; what was gathered is in ${place}.`);
    return;
  }
  print(`Publication ${version} has all signatures, in ${place}.`);
  say(
    `hint: run "${publishAgain}", or "wispr protect" where you copy the output yourself: now it needs no other signer`,
  );
}
