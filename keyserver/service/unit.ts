/** The unit of systemd that runs the key server as a system service: systemd.service(5), systemd.exec(5). */
import { dirname } from 'node:path';
import { COMMON_HARDENING, unitWord } from '../../node-support/systemd.ts';
import type { KeyServerConfig } from '../config/config.ts';
import { KeyServerError } from '../errors.ts';

export const UNIT_NAME = 'wispr-keyserver.service';

/** By it an install knows its own. */
export const UNIT_MARK = '# Written by "wispr keyserver install"; every install writes it anew.';

const LAST_PRIVILEGED_PORT = 1023;

export interface UnitOptions {
  /** Program and arguments, with absolute paths. */
  readonly command: readonly string[];
  /** Who owns the database and the master key. */
  readonly user: string;
  readonly config: KeyServerConfig;
}

/**
 * The text of the unit. The service is a user of its own and not `DynamicUser`, so that the operator's commands can run as that user beside it. The
 * master key is no credential of systemd: that would be a copy made at the start, and a change of the key could not reach it.
 *
 * @throws KeyServerError `argument-invalid` for what a unit cannot hold
 */
export function unitText({ command, user, config }: UnitOptions): string {
  const capability = usesPrivilegedPort(config) ? 'CAP_NET_BIND_SERVICE' : '';
  // A clone below /home has to be read there.
  const home = [...command, ...writtenFolders(config)].some((path) => /^\/(home|root|run\/user)\//.test(path));
  return `${UNIT_MARK}
[Unit]
Description=wispr key server and reading site
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=60
StartLimitBurst=5

[Service]
Type=exec
ExecStart=${command.map((part) => word(part, true)).join(' ')}
User=${word(user, false)}
EnvironmentFile=-/etc/default/wispr-keyserver
Restart=on-failure
RestartSec=2
TimeoutStopSec=30
${COMMON_HARDENING}
SystemCallFilter=~@resources @privileged
SystemCallFilter=setpriority
CapabilityBoundingSet=${capability}
AmbientCapabilities=${capability}
DevicePolicy=closed
KeyringMode=private
LimitCORE=0
PrivateDevices=yes
PrivateTmp=yes
ProcSubset=pid
ProtectClock=yes
ProtectControlGroups=yes
ProtectHome=${home ? 'read-only' : 'yes'}
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProtectSystem=strict
ReadWritePaths=${writtenFolders(config)
    .map((folder) => word(folder, false))
    .join(' ')}
RemoveIPC=yes

[Install]
WantedBy=multi-user.target
`;
}

/** The folders that a key server writes into. */
function writtenFolders({ data, publicKey, masterKey, httpcrypt, publication }: KeyServerConfig): string[] {
  const files = [data, publicKey, typeof masterKey === 'string' ? masterKey : undefined, httpcrypt?.zone];
  const targets = (publication?.push ?? []).filter((target) => target.startsWith('/'));
  return [...new Set([...files.flatMap((file) => (file === undefined ? [] : [dirname(file)])), ...targets])];
}

function usesPrivilegedPort({ listen, reading, httpcrypt, metrics, admin }: KeyServerConfig): boolean {
  const doors = [{ listen }, reading, reading.documents, httpcrypt, metrics, admin];
  return doors.some((door) => door && door.listen.port > 0 && door.listen.port <= LAST_PRIVILEGED_PORT);
}

function word(text: string, isCommand: boolean): string {
  const quoted = unitWord(text, isCommand);
  if (quoted !== undefined) return quoted;
  throw new KeyServerError('argument-invalid', 'a path has a control character, which no unit can hold');
}
