// Runs a program in namespaces of its own for network and processes, with a folder for temporary files: `node scripts/isolated.mjs COMMAND…`.
// However it ends, nothing of it stays.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';

const NAMESPACES = ['--net', '--pid', '--mount-proc', '--kill-child'];
/** Keeps its errors from those of `unshare`, which reports that it cannot unblock the SIGKILL of its child. */
const ERRORS_APART = ['sh', '-c', 'exec "$@" 2>&3 3>&-', 'sh'];
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** @returns its exit code, or that of the signal by which this process was told to end */
export async function runIsolated(command) {
  const folder = mkdtempSync(join(tmpdir(), 'wispr-isolated-'));
  chmodSync(folder, 0o711); // servers in it run as users of their own
  const env = { ...process.env, TMPDIR: folder };
  const unshare = spawn('unshare', [...NAMESPACES, ...ERRORS_APART, ...command], { stdio: [0, 1, 'pipe', 2], env });
  let told;
  unshare.stderr.on('data', (text) => told ?? process.stderr.write(text));
  const end = (signal) => {
    const runs = unshare.exitCode === null && unshare.signalCode === null;
    if (told === undefined && runs) killAll(unshare.pid);
    told ??= signal;
  };
  for (const signal of SIGNALS) process.on(signal, end);
  const [code] = await once(unshare, 'exit');
  rmSync(folder, { recursive: true, force: true });
  return told === undefined ? (code ?? 1) : 128 + constants.signals[told];
}

/** The first process of a namespace takes all others along, and only then `unshare`, its parent, sees it end. */
function killAll(unshare) {
  const [first] = readFileSync(`/proc/${unshare}/task/${unshare}/children`, 'utf8').split(' ');
  process.kill(Number(first) || unshare, 'SIGKILL');
}

if (import.meta.main) process.exitCode = await runIsolated(process.argv.slice(2));
