/** Certificates that are renewed while the key server runs. */
import { unwatchFile, watchFile } from 'node:fs';
import type { Logger } from 'pino';
import { reasonOf } from '../../core/errors.ts';
import type { TlsFiles } from '../config/schema.ts';

/** Milliseconds between two looks. Looking is cheap, and works where a link to the files is changed, too. */
const INTERVAL = 10_000;

export interface Renewable {
  readonly tls: TlsFiles | undefined;
  readonly reload: () => void;
}

/**
 * Reads the certificates of a listener again when one of its files has changed. What does not fit together, because the other file comes later, is
 * not taken.
 *
 * @param interval - milliseconds
 * @returns ends it
 */
export function watchCertificates(listeners: readonly Renewable[], log: Logger, interval = INTERVAL): () => void {
  const watched = listeners.flatMap(({ tls, reload }) => {
    const files = tls ? [tls.certificate, tls.key] : [];
    const look = () => {
      try {
        reload();
        log.info({ certificate: tls?.certificate }, 'certificate read again');
      } catch (error) {
        log.warn({ certificate: tls?.certificate, reason: reasonOf(error) }, 'the certificate stays as it was');
      }
    };
    return files.map((file) => ({ file, look }));
  });
  for (const { file, look } of watched) watchFile(file, { persistent: false, interval }, look);
  return () => watched.forEach(({ file, look }) => void unwatchFile(file, look));
}
