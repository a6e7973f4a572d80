/** Two networks of this test alone: clients, and the gateway that they reach everything by, in network namespaces. The kernel ends both with their first process. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import { until } from '../../cache-config/child.ts';
import { startCommand } from './programs.ts';

export const GATEWAY = { ipv4: '10.9.0.1', ipv6: 'fd09::1' };
/** Addresses of servers behind the gateway. */
export const SERVER = { ipv4: '203.0.113.7', ipv6: '2001:db8::7' };

export interface DivertedNetwork {
  /** A command as it runs among the clients, or at the gateway. */
  readonly among: (place: 'clients' | 'gateway', command: readonly string[]) => readonly string[];
  /** Leads port 443 of all that clients, or else the programs of the gateway, connect to, to a port of the gateway. */
  readonly divert: (port: number, whose: 'clients' | 'gateway') => Promise<void>;
  readonly close: () => void;
}

/** @throws Error with what failed: it needs root, and nftables */
export async function startDivertedNetwork(): Promise<DivertedNetwork> {
  const places = { clients: await newNamespace(), gateway: await newNamespace() };
  const among: DivertedNetwork['among'] = (place, command) => [
    'nsenter',
    `--net=/proc/${places[place].pid}/ns/net`,
    ...command,
  ];
  const run = async (place: keyof typeof places, line: string, input = '') => {
    const { code, stderr } = await startCommand(among(place, line.split(' ')), { input }).ended;
    if (code !== 0) throw new Error(`${line}: ${stderr}`);
  };
  for (const line of [
    'ip link set lo up',
    `ip link add name inside type veth peer name outside netns ${places.clients.pid}`,
    `ip address add ${GATEWAY.ipv4}/24 dev inside`,
    `ip address add ${GATEWAY.ipv6}/64 dev inside nodad`,
    'ip link set inside up',
    ...Object.values(SERVER).map((address) => `ip address add ${address} dev lo`),
  ])
    await run('gateway', line);
  for (const line of [
    'ip link set lo up',
    'ip address add 10.9.0.2/24 dev outside',
    'ip address add fd09::2/64 dev outside nodad',
    'ip link set outside up',
    `ip route add default via ${GATEWAY.ipv4}`,
    `ip route add default via ${GATEWAY.ipv6}`,
  ])
    await run('clients', line);
  return {
    among,
    divert: (port, whose) => run('gateway', 'nft -f -', rulesOf(port, whose === 'clients' ? 'prerouting' : 'output')),
    close: () => {
      for (const child of Object.values(places)) child.kill('SIGKILL');
    },
  };
}

function rulesOf(port: number, hook: 'prerouting' | 'output'): string {
  return `table inet wispr {
  chain ${hook} {
    type nat hook ${hook} priority -100
    tcp dport 443 redirect to :${port}
  }
}
`;
}

async function newNamespace(): Promise<ChildProcess> {
  const child = spawn('unshare', ['--net', 'sleep', 'infinity'], { stdio: ['ignore', 'ignore', 'inherit'] });
  const own = readlinkSync('/proc/self/ns/net');
  // `unshare` becomes `sleep`, in the namespace that it has made: not before that.
  await until(() => {
    if (child.exitCode !== null) throw new Error('no network namespace could be made: it needs root');
    return readlinkSync(`/proc/${child.pid}/ns/net`) !== own;
  }, 20_000);
  return child;
}
