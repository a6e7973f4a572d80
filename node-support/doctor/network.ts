/** Checks of names, certificates and the clock, as this machine sees them. */
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { isIP } from 'node:net';
import { connect } from 'node:tls';
import { nowInSeconds } from '../clock.ts';
import { withinTime } from '../within-time.ts';
import { type Check, ok, problem, untilEnd, warning } from './diagnosis.ts';

/** Days before the end of a certificate: programs that renew them do it a month before. */
const RENEWED = 14;
/** Seconds by which clocks may differ: readers refuse what is further in the future. */
const [NOTABLE, TOLERATED] = [30, 300];
/** Milliseconds for a server to say the time. */
const ANSWERING = 5000;

/** Checks whether each host of these origins has an address. */
export function nameChecks(origins: readonly string[]): Check[] {
  const hosts = new Set(origins.map((origin) => new URL(origin).hostname).filter((host) => !isIP(bare(host))));
  return Array.from(hosts, (host) => ({
    check: `name ${host}`,
    remedy: 'correct its DNS records, or the name in the configuration',
    run: async () => ok(`leads to ${(await lookup(host)).address}`),
  }));
}

/** Checks whether each https origin has a valid certificate, and for how long. */
export function certificateChecks(origins: readonly string[]): Check[] {
  const secure = new Set(origins.filter((origin) => origin.startsWith('https:')));
  return Array.from(secure, (origin) => ({
    check: `certificate of ${origin}`,
    remedy: 'renew it, and let the server read it again; `curl -v` shows the connection',
    run: async (signal) => certificateFinding(await certificateEnd(new URL(origin), signal)),
  }));
}

/** @param ends - seconds since 1970 */
export function certificateFinding(ends: number) {
  return untilEnd(ends, nowInSeconds(), RENEWED, 'renew it: the program that should have done so has failed');
}

async function certificateEnd({ hostname, port }: URL, signal: AbortSignal): Promise<number> {
  const host = bare(hostname);
  const socket = connect({ host, port: Number(port || 443), ...(!isIP(host) && { servername: host }) });
  signal.addEventListener('abort', () => socket.destroy(), { once: true });
  try {
    await once(socket, 'secureConnect');
    return Date.parse(socket.getPeerCertificate().valid_to) / 1000;
  } finally {
    socket.destroy();
  }
}

/** Tells the time, in seconds since 1970; throws, or says `undefined`, where it cannot. */
export type TimeSource = (signal: AbortSignal) => Promise<number | undefined>;

/** Compares this machine's clock with those of servers: the middle one counts, so that one wrong server does not. */
export function clockCheck(sources: readonly TimeSource[]): Check {
  const ask = async (source: TimeSource) => {
    const time = await withinTime(ANSWERING, source);
    return time === undefined ? [] : [Math.round(nowInSeconds() - time)];
  };
  return {
    check: 'clock',
    remedy: '',
    run: async () => {
      const answers = await Promise.all(sources.map((source) => ask(source).catch(() => [])));
      const sorted = answers.flat().sort((one, other) => Math.abs(one) - Math.abs(other));
      const ahead = sorted[Math.floor((sorted.length - 1) / 2)];
      if (ahead === undefined) return warning('no server says what time it is', 'see the other lines for the reason');
      const says = `${Math.abs(ahead)} s ${ahead < 0 ? 'behind' : 'ahead of'} ${sorted.length === 1 ? 'a server' : 'servers'}`;
      const remedy = 'set it, by a program such as `systemd-timesyncd` or `chrony`, unless it is theirs that is wrong';
      if (Math.abs(ahead) <= NOTABLE) return ok(says);
      return Math.abs(ahead) > TOLERATED ? problem(says, remedy) : warning(says, remedy);
    },
  };
}

/** Asks whether a key server is ready. @param remedy - what to do where it is not */
export function readinessCheck(keyServer: string, remedy: string): Check {
  return {
    check: `key server ${keyServer}`,
    remedy,
    run: async (signal) => {
      const response = await fetch(`${keyServer}/readyz`, { redirect: 'manual', signal });
      const said = (await response.text()).slice(0, 100);
      return response.ok ? ok('is ready') : problem(`is not ready: ${response.status} ${said}`.trimEnd(), remedy);
    },
  };
}

/** The time that an HTTP server says; what a cache has kept says how old it is. */
export function timeOf(origin: string): TimeSource {
  return async (signal) => {
    const { headers, body } = await fetch(origin, { method: 'HEAD', redirect: 'manual', signal });
    await body?.cancel();
    const time = Date.parse(headers.get('date') ?? '') / 1000 + Number(headers.get('age') ?? 0);
    return Number.isFinite(time) ? time : undefined;
  };
}

/** A host without the brackets of an IPv6 address. */
function bare(host: string): string {
  return host.replace(/^\[|\]$/g, '');
}
