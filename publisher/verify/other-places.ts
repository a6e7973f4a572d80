/** Compares what is verified with other places: the program at the reading site, and publications at hosts and key server. */
import { request } from 'undici';
import { hexDigest } from '../../core/encoding/digest.ts';
import { type ReaderProgram, versionOfProgram } from '../../core/publication/reader-program.ts';
import { SCRIPTS_WITH_DOCUMENTS } from '../../node-support/web-reader-files.ts';
import { withinTime } from '../../node-support/within-time.ts';
import { PublishError } from '../errors.ts';
import { TIMESTAMP_PATH } from '../publication/files.ts';
import { openShown } from '../publication/signed.ts';
import type { VerifyReport } from './report.ts';
import type { KnownSite } from './site.ts';
import { WebSource } from './sources.ts';

/** Milliseconds. */
const TIMEOUT = 10_000;
/** Bytes of the longest script that is read. */
const LONGEST = 1_048_576;

/** Checks the reading site; one that does not answer says nothing about the publication. */
export async function checkReadingSite({ reading, program }: KnownSite, report: VerifyReport): Promise<void> {
  if (program === undefined) {
    report.notes.push('the publication does not name the program with which browsers read it');
    return;
  }
  try {
    const served = await programAt(reading, Object.keys(program));
    if (served === undefined) {
      report.notes.push(`${reading} gives browsers no program: it decrypts documents itself`);
      return;
    }
    const [here, signed] = await Promise.all([served, program].map(versionOfProgram));
    if (here === signed)
      report.notes.push(`${reading} gives browsers the program that the publication names (${signed})`);
    else {
      const message = `the reading site serves another program than the publication names (version ${here}, signed ${signed})`;
      report.find(reading, 'program-other', message);
    }
  } catch (error) {
    if (!(error instanceof PublishError)) throw error;
    report.notes.push(`whether ${reading} gives browsers the signed program was not checked: ${error.message}`);
  }
}

/** @returns `undefined` where there is none. @throws PublishError `unreadable` */
async function programAt(reading: string, names: readonly string[]): Promise<ReaderProgram | undefined> {
  const sources = { own: new WebSource(reading), documents: new WebSource(await documentsOf(reading)) };
  const program: Record<string, string> = {};
  for (const name of names) {
    const source = SCRIPTS_WITH_DOCUMENTS.includes(name) ? sources.documents : sources.own;
    const script = await source.read(`/-/${name}.js`, LONGEST);
    if (script) program[name] = await hexDigest(script);
  }
  return Object.keys(program).length > 0 ? program : undefined;
}

/** Finds the origin that shows documents: where a reading site leads everybody who asks for one. @throws PublishError `unreadable` */
async function documentsOf(reading: string): Promise<string> {
  try {
    const { headers, body } = await request(`${reading}/`, { signal: AbortSignal.timeout(TIMEOUT) });
    await body.dump();
    const { location } = headers;
    return typeof location === 'string' && URL.canParse(location, reading)
      ? new URL(location, reading).origin
      : reading;
  } catch (cause) {
    throw new PublishError('unreadable', 'it does not answer', { cause });
  }
}

/** Asks other places; one that does not answer says nothing. @param own - origin of the place that is verified */
export async function checkNewest({ keyServer, content }: KnownSite, own: string, report: VerifyReport): Promise<void> {
  const { publisher, publication } = report;
  if (publisher === undefined || publication === undefined) return;
  const versionAt = async (origin: string) => {
    const shown = await openShown(new WebSource(origin), origin, publisher);
    return { origin, version: shown.snapshot.file.version };
  };
  const places = [...new Set([keyServer, ...content])].filter((origin) => origin !== own);
  const asked = await Promise.allSettled(places.map((origin) => withinTime(TIMEOUT, () => versionAt(origin))));
  const found = asked.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const [newest] = found.sort((a, b) => b.version - a.version);
  if (newest === undefined) report.notes.push('no other place could be asked whether this publication is the newest');
  else if (newest.version > publication.version)
    report.find(TIMESTAMP_PATH, 'publication-behind', `${newest.origin} has publication ${newest.version}`);
}
