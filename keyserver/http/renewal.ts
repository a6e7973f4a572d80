/** Certificates that are renewed while the key server runs. */
import { statSync } from 'node:fs';
import type { Logger } from 'pino';
import { reasonOf } from '../../core/errors.ts';
import type { TlsFiles } from '../config/schema.ts';

/** Milliseconds between two looks. Looking is cheap, and works where a link to the files is changed, too. */
const INTERVAL = 10_000;

export interface Renewable {
  readonly tls: TlsFiles | undefined;
  readonly certificateEnd: () => number | undefined;
  readonly reload: () => void;
}

/**
 * Reads the certificates of all listeners again. Where a new one cannot be taken, the listener keeps what it has.
 *
 * @throws the first reason for that, when all have been read
 */
export function renew(listeners: readonly Renewable[]): void {
  const reasons: unknown[] = [];
  for (const { reload } of listeners) {
    try {
      reload();
    } catch (reason) {
      reasons.push(reason);
    }
  }
  if (reasons.length > 0) throw reasons[0];
}

/**
 * Reads the certificates of listeners again when their files have changed, and logs one line for each certificate. What does not fit together,
 * because the other file comes later, is not taken.
 *
 * @param interval - milliseconds
 * @returns ends it
 */
export function watchCertificates(listeners: readonly Renewable[], log: Logger, interval = INTERVAL): () => void {
  const sharing = Map.groupBy(listeners, ({ tls }) => tls && `${tls.certificate}\n${tls.key}`);
  const watched = Array.from(sharing.values(), (group) => ({ group, tls: group[0]?.tls, state: '' }));
  const look = () => {
    for (const each of watched) {
      const { group, tls, state } = each;
      each.state = tls ? `${stateOf(tls.certificate)} ${stateOf(tls.key)}` : '';
      if (state !== '' && state !== each.state) reloadAndLog(group, tls, log);
    }
  };
  look();
  for (const { group, tls } of watched)
    if ((group[0]?.certificateEnd() ?? Number.POSITIVE_INFINITY) * 1000 < Date.now())
      log.error(
        { certificate: tls?.certificate },
        'the certificate has expired: clients refuse it until it is renewed',
      );
  const timer = setInterval(look, interval).unref();
  return () => clearInterval(timer);
}

function reloadAndLog(listeners: readonly Renewable[], tls: TlsFiles | undefined, log: Logger): void {
  try {
    renew(listeners);
    log.info({ certificate: tls?.certificate }, 'certificate read again');
  } catch (error) {
    log.warn({ certificate: tls?.certificate, reason: reasonOf(error) }, 'the certificate stays as it was');
  }
}

/** Is another where a file was changed or replaced. */
function stateOf(file: string): string {
  try {
    const { ino, size, mtimeNs } = statSync(file, { bigint: true });
    return `${ino}-${size}-${mtimeNs}`;
  } catch (error) {
    return reasonOf(error);
  }
}
