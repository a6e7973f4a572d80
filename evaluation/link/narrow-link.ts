/**
 * A narrow link between two network namespaces: this process and all that it starts are the far side, and what is started by `near` is the near
 * one. IP packets are carried by emulator.py, so handshakes, slow start and retransmission are the kernel's own.
 */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../../bench/measure.ts';

const EMULATOR = fileURLToPath(new URL('emulator.py', import.meta.url));
export const NEAR = '10.77.0.1';
export const FAR = '10.77.0.2';
const MTU = 1500;

export interface LinkKind {
  readonly name: string;
  /** Bit/s from the near to the far side, and back; 0: as fast as this machine carries it. */
  readonly up: number;
  readonly down: number;
  /** Milliseconds one way. */
  readonly delay: number;
}

export type NarrowLink = Awaited<ReturnType<typeof startLink>>;

/** @throws Error where this process may not make network namespaces and TUN devices, or is not in a namespace of its own */
export async function startLink(endings: AsyncDisposableStack) {
  const devices = await runCommand('ip', ['-brief', 'link']);
  if (/^(?!lo\b|narrow0\b)\S/m.test(devices))
    throw new Error('this process is in the network of the machine: `unshare --net` first');
  const holder = spawn('unshare', ['--net', 'cat'], { stdio: ['pipe', 'ignore', 'inherit'] });
  endings.defer(() => ended(holder));
  await once(holder, 'spawn');
  // `unshare` becomes `cat`, in the namespace that it has made: not before that.
  await inOwnNamespace(holder);
  const args = [EMULATOR, String(holder.pid), String(process.pid)];
  const emulator = spawn('python3', args, { stdio: ['pipe', 'pipe', 'inherit'] });
  endings.defer(() => ended(emulator));
  const lines = createInterface({ input: emulator.stdout })[Symbol.asyncIterator]();
  const first = await lines.next();
  if (first.value !== 'ready')
    throw new Error('the emulated link did not start: it needs root, python3 and /dev/net/tun');
  const ask = async (command: string) => {
    emulator.stdin.write(`${command}\n`);
    return Number((await lines.next()).value);
  };
  /** The same command on the near side. */
  const near = (command: string, args: readonly string[]) =>
    ['nsenter', ['--net', `--target=${holder.pid}`, command, ...args]] as const;
  return {
    near,
    spawnNear: (command: string, args: readonly string[], options: SpawnOptions = {}): ChildProcess =>
      spawn(...near(command, args), options),
    /** Makes it a link of this kind from now on. It is as fast as this machine carries it before. */
    become: async (kind: LinkKind) => {
      const { up, down, delay } = kind;
      await ask(['set', up, down, delay, queueOf(kind)].join(' '));
    },
    /** Bytes of IP packets that have arrived so far, both ways. */
    carried: () => ask('count'),
    /** Milliseconds so far in which a packet was being sent, one way or the other. */
    busy: () => ask('busy'),
  };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  child.stdin?.end();
  await once(child, 'exit');
}

async function inOwnNamespace({ pid }: ChildProcess): Promise<void> {
  const own = await runCommand('readlink', ['/proc/self/ns/net']);
  for (let tries = 0; tries < 200; tries++) {
    if ((await runCommand('readlink', [`/proc/${pid}/ns/net`])) !== own) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('no network namespace could be made: it needs root');
}

/** Returns twice the bytes under way, as routers are often set up, and room for some packets on the slowest links. */
function queueOf({ up, down, delay }: LinkKind): number {
  const rate = Math.max(up, down) || 10e9;
  return Math.max(20 * MTU, Math.round((2 * rate * 2 * delay) / 8000));
}
