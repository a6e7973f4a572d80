/** Error messages of the system, in plain words. */
import { dirname } from 'node:path';

/** Message for a file, a directory or another machine. */
const WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or directory',
  ENOTDIR: 'a part of the path is not a directory',
  EISDIR: 'it is a directory',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOSPC: 'no space is left',
  EDQUOT: 'the quota is used up',
  ELOOP: 'its links lead in a circle',
  ENOTFOUND: 'there is no such name',
  EAI_AGAIN: 'no name server answers',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS',
};

/** Reasons and ways on for an address that cannot be listened on. */
const LISTENING: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use by another program: end that one',
  EADDRNOTAVAIL: 'it is no address of this machine: name one that is',
};

/** The few words of a system error: `permission denied`, or the system's own, `EROFS: read-only file system`. */
export function systemReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = systemCode(error) ?? '';
  if (Object.hasOwn(WORDS, code)) return WORDS[code] ?? '';
  if (code.startsWith('ERR_SSL_') && 'reason' in error) return String(error.reason); // OpenSSL's messages have addresses and line ends
  if (error instanceof AggregateError && error.errors.length > 0) return systemReason(error.errors.at(-1));
  if (!('syscall' in error)) return error.message;
  return error.message.replace(/, \w+(?: '.*)?$/s, '');
}

/** The sentence for a file or directory that cannot be read: `x: no such file`, `x is a directory`, `cannot read x: permission denied`. */
export function describeUnreadable(what: string, error: unknown): string {
  switch (systemCode(error)) {
    case 'ENOTDIR':
      return isListing(error) ? `${what} is not a directory` : `${what}: no such file`;
    case 'ENOENT':
      return isListing(error) ? `${what}: no such directory` : `${what}: no such file`;
    case 'EISDIR':
      return `${what} is a directory`;
    default:
      return `cannot read ${what}: ${systemReason(error)}`;
  }
}

/** The sentence for a file that cannot be written: `cannot write x: permission denied`. */
export function describeUnwritable(file: string, error: unknown): string {
  const isMissing = systemCode(error) === 'ENOENT';
  return `cannot write ${file}: ${isMissing ? `there is no directory ${dirname(file)}: make it first` : systemReason(error)}`;
}

/** The sentence for an address that cannot be listened on, with what to do. @param host - left out: of any */
export function describeListening(
  { host, port }: { readonly host?: string; readonly port: number },
  error: unknown,
): string {
  const shown = host?.includes(':') ? `[${host}]` : host;
  const where = shown === undefined ? `port ${port}` : `${shown}:${port}`;
  const code = systemCode(error) ?? '';
  const isLow = code === 'EACCES' && port < 1024;
  const more = isLow ? ': ports below 1024 take root or the capability CAP_NET_BIND_SERVICE' : '';
  return `cannot listen on ${where}: ${LISTENING[code] ?? systemReason(error)}${more}`;
}

function isListing(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && ['scandir', 'opendir'].includes(String(error.syscall));
}

/** Finds the innermost cause of an error; the error itself where it has none. */
export function innermost(error: unknown): unknown {
  let cause = error;
  while (cause instanceof Error && cause.cause instanceof Error) cause = cause.cause;
  return cause;
}

/** The code of a system error, such as `ENOENT`. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}
