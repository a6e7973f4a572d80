/** Files with links of invitations, for the program that mails them or prints them. */
import { KeyServerError } from '../../keyserver/errors.ts';
import { csvField } from '../../keyserver/subscriptions/subscriber-export.ts';
import { createFile, writeFileAtomicSync } from '../../node-support/files/write-file.ts';
import { describeUnwritable } from '../../node-support/system-error.ts';
import { UsageError } from '../io/voice.ts';
import { isoDay } from './describe.ts';

export interface NewLink {
  readonly name: string;
  readonly link: string;
  /** Seconds since 1970. */
  readonly expires: number;
  readonly plan: string | null;
  readonly seats: number | null;
}

/** Makes a new file. @throws UsageError where there is one; KeyServerError `argument-invalid` */
export function createLinkFile(file: string, links: readonly NewLink[] = []): void {
  try {
    if (createFile(file, linkLines(links))) return;
  } catch (cause) {
    throw new KeyServerError('argument-invalid', describeUnwritable(file, cause), { cause });
  }
  throw fileIsThere(file);
}

/** Writes the links into the file that was made. @throws KeyServerError `argument-invalid` */
export function writeLinks(file: string, links: readonly NewLink[]): void {
  try {
    writeFileAtomicSync(file, linkLines(links));
  } catch (cause) {
    throw new KeyServerError('argument-invalid', describeUnwritable(file, cause), { cause });
  }
}

export function fileIsThere(file: string): UsageError {
  return new UsageError(`${file} is there already: name a new file`, 'what is in it stays good');
}

function linkLines(links: readonly NewLink[]): string {
  const lines = links.map(
    ({ name, link, expires, plan, seats }) =>
      `${csvField(name)},${link},${isoDay(expires)},${plan ?? ''},${seats ?? ''}\n`,
  );
  return `name,link,expires,plan,seats\n${lines.join('')}`;
}
