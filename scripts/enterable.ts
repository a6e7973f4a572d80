/** Runs commands where other users of the machine can enter this folder: some tests become one of them. */
import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { dirname } from 'node:path';

/** Mounts this folder at another place, for the command and what it starts alone; nothing of it stays. */
const ELSEWHERE = `
  at=$(mktemp -d) && chmod 711 "$at" && mount --bind . "$at" && cd "$at" || exit 1
  PATH="$at/node_modules/.bin:$PATH" "$@"; code=$?
  cd / && umount "$at" && rmdir "$at"
  exit $code
`;

/** Runs a command to its end in this folder, which is mounted elsewhere where it lies in a private one, such as root's home. @returns its exit code */
export function runWhereOthersEnter(command: string, args: readonly string[], env = process.env): number {
  const isPrivate = process.getuid?.() === 0 && !mayOthersEnter(process.cwd());
  const moved = isPrivate ? ['--mount', 'sh', '-c', ELSEWHERE, 'sh', command, ...args] : args;
  const { status, error } = spawnSync(isPrivate ? 'unshare' : command, moved, { stdio: 'inherit', env });
  if (error) throw error;
  return status ?? 1;
}

function mayOthersEnter(folder: string): boolean {
  const isOpen = (statSync(folder).mode & 0o001) !== 0;
  return isOpen && (dirname(folder) === folder || mayOthersEnter(dirname(folder)));
}
