/** How a service starts this very program: with absolute paths, because it starts in another folder. */
import { resolve } from 'node:path';
import { isSea } from 'node:sea';
import { fileURLToPath } from 'node:url';
import { formatConnectTo } from '../../client-proxy/index.ts';
import type { ProxyFlags } from './reader-options.ts';

/** This very program, for a service to start. */
export function ownCommand(): string[] {
  const script = fileURLToPath(new URL('../../bin/wispr.js', import.meta.url));
  return [process.execPath, ...(isSea() ? [] : [script])];
}

/** Program and arguments of `wispr proxy` with these flags. */
export function serviceCommand(flags: ProxyFlags): string[] {
  const { port, parentProxy, parentProxyFile, data, keyFile, passphraseFile, cacheSize, otherUsers } = flags;
  const { connectTo = [], allowLocal = [], trustSite = [], dnsServer = [] } = flags;
  return [
    ...ownCommand(),
    'proxy',
    '--quiet',
    ...option('--port', port),
    ...option('--parent-proxy', parentProxy),
    ...option('--parent-proxy-file', parentProxyFile && resolve(parentProxyFile)),
    ...(otherUsers ? ['--other-users'] : []),
    ...option('--cache-size', cacheSize),
    ...option('--data', data && resolve(data)),
    ...option('--key-file', keyFile && resolve(keyFile)),
    ...option('--passphrase-file', passphraseFile && resolve(passphraseFile)),
    ...connectTo.flatMap((rule) => option('--connect-to', formatConnectTo(rule))),
    ...allowLocal.flatMap(({ text }) => option('--allow-local', text)),
    ...trustSite.flatMap((site) => option('--trust-site', site)),
    ...dnsServer.flatMap((server) => option('--dns-server', server)),
  ];
}

function option(name: string, value: string | number | undefined): string[] {
  return value === undefined ? [] : [name, String(value)];
}
