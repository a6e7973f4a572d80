/** Which version of the in-browser reader runs here, and which one the publisher signed. */
import type { SiteDescription } from '../../core/keys/descriptor.ts';
import { versionOfProgram } from '../../core/publication/reader-program.ts';
import { programOf, type WebReaderFiles } from '../../node-support/web-reader-files.ts';
import type { Provider } from '../publication/provider.ts';
import type { ReadPublications } from './publications.ts';

export interface ProgramVersion {
  readonly version: string;
  /** `undefined` where the publication names none. */
  readonly signed: string | undefined;
}

/** @returns `undefined` while the publication is not known */
export async function programVersion(
  files: WebReaderFiles,
  publications: ReadPublications,
  provider: Provider,
  site: SiteDescription,
): Promise<ProgramVersion | undefined> {
  const { reader } = publications.settingsOf(provider, site);
  if (publications.of(provider, site).publication.state === undefined) return undefined;
  return {
    version: await versionHere(files, provider, site),
    signed: reader && (await versionOfProgram(reader)),
  };
}

export function versionHere(files: WebReaderFiles, provider: Provider, site: SiteDescription): Promise<string> {
  const { reading, site: name } = site;
  return versionOfProgram(programOf(files, { reading, root: provider.publisher, site: name }));
}
