/** What units of systemd have in common: systemd.syntax(7), systemd.exec(5). */

/**
 * One word of a unit.
 *
 * @param isCommand - in command lines, `$` begins a variable as well
 * @returns `undefined` for what no unit can hold
 */
export function unitWord(word: string, isCommand: boolean): string | undefined {
  if (/\p{Cc}/u.test(word)) return undefined;
  const escaped = word.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%');
  return `"${isCommand ? escaped.replaceAll('$', '$$$$') : escaped}"`;
}

/**
 * What every service of wispr may be refused, of a user and of the system alike. Left out is what V8 cannot do with (MemoryDenyWriteExecute).
 */
export const COMMON_HARDENING = `UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallErrorNumber=EPERM
SystemCallFilter=@system-service`;
