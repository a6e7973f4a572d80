/** The in-browser reader that runs here, and the version that the publisher signed. */
import type { Logger } from 'pino';
import type { SiteDescription } from '../../core/keys/descriptor.ts';
import { versionOfProgram } from '../../core/publication/reader-program.ts';
import { programOf, readWebReader, type WebReaderFiles } from '../../node-support/web-reader-files.ts';
import type { KeyServerConfig } from '../config/config.ts';
import { misconfigured } from '../errors.ts';
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

/** The in-browser reader, where it is wanted and there. @throws KeyServerError `configuration-invalid` where it is wanted by name, and not there */
export function webReaderFor(
  config: KeyServerConfig,
  folder: string | undefined,
  log: Logger,
): WebReaderFiles | undefined {
  const { inBrowser } = config.reading.documents;
  if (inBrowser === false) return undefined;
  const files = readWebReader(folder);
  if (files) return files;
  const message = 'the in-browser reader is not built: in a clone, `npm run build:web`';
  if (inBrowser) throw misconfigured(message);
  log.warn(`${message}; until then documents are decrypted here`);
  return undefined;
}
