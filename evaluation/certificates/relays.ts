/** Certificate substitution by the figures of McVeety (2009): handshakes over his links (4-2 to 4-5), certificates and chains of any length (4-6), a miss (4-9). */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { median } from '../../bench/measure.ts';
import { runNginx } from '../../bench/nginx.ts';
import { temporaryFolder } from '../../bench/workspace.ts';
import { stopAll } from '../../cache-config/child.ts';
import { makeSizedChain } from '../../tests/support/certificates.ts';
import { Crossings } from '../crossings.ts';
import { CELL, INMARSAT, IRIDIUM, LOOPBACK, MILSTAR, TCDL } from '../link/kinds.ts';
import { startLink } from '../link/narrow-link.ts';
import { checkLinks } from '../link/ping.ts';
import { IS_QUICK } from '../quick.ts';
import { type Measurement, type Table, table } from '../results.ts';
import { blocksOf, identity, type Reached, serversOf } from './far.ts';
import { Handshakes, type HandshakeWay, WAYS } from './handshakes.ts';
import { SERVER } from './setting.ts';

type Report = (text: string) => void;

const KINDS = IS_QUICK ? [TCDL, CELL, INMARSAT] : [TCDL, CELL, INMARSAT, MILSTAR, IRIDIUM];
/** Bytes of the paper's certificate. */
const PAPER = 926;
const LENGTHS = [500, PAPER, 1500, 2000, 3000, 4000];
const CHAINS = [2, 3, 4];
const MISSES = IS_QUICK ? 1 : 3;
const RUNS_OF_LENGTHS = IS_QUICK ? 1 : 3;

interface Sized extends Reached {
  readonly block: string;
}

/** Measures handshakes plain, and by relays that remember. @param runs - of each cell */
export function relaysFigure(protocol: 'TLS 1.2' | 'client certificate', runs: number) {
  return async (report: Report): Promise<Measurement> => {
    await using endings = new AsyncDisposableStack();
    const directory = await temporaryFolder('evaluate-relays', endings);
    const servers = { rsa: await serversOf('rsa', 9100, directory) };
    const { handshakes, pings } = await startRig(directory, servers, blocksOf(servers.rsa), endings, report);
    const crossings = new Crossings(pings, report);
    await handshakes.measure(LOOPBACK, 'rsa', wayOf(`${protocol}, relays, first visit`));
    const ways = { plain: wayOf(`${protocol}, plain`), relays: wayOf(`${protocol}, relays, second visit`) };
    const wanted = IS_QUICK ? 1 : runs;
    for (let run = 0; run < wanted; run++)
      for (const kind of KINDS)
        for (const [name, way] of Object.entries(ways))
          crossings.add(kind, name, await handshakes.measure(kind, 'rsa', way));
    const names = { plain: 'plain', relays: 'relays' };
    const tables = { s: crossings.table(names, 'seconds'), bytes: crossings.table(names, 'bytes') };
    return { settings: { runs: wanted }, tables };
  };
}

/** Bytes by lengths of certificates and of chains, where nothing is sent twice; and the seconds of a miss. */
export async function relaysSizesFigure(report: Report): Promise<Measurement> {
  await using endings = new AsyncDisposableStack();
  const directory = await temporaryFolder('evaluate-relays', endings);
  const lengths = [...LENGTHS.map((length) => [length]), ...CHAINS.map((count) => Array(count).fill(PAPER))];
  const sizes: Record<string, Sized> = {};
  for (const [index, each] of lengths.entries()) sizes[nameOf(each)] = await sized(each, 9300 + index, directory);
  const rsa = await serversOf('rsa', 9100, directory);
  const blocks = [...blocksOf(rsa), ...Object.values(sizes).map(({ block }) => block)];
  const { handshakes, pings } = await startRig(directory, { rsa, ...sizes }, blocks, endings, report);
  const crossings = new Crossings(pings, report);
  const first = wayOf('TLS 1.2, relays, first visit');
  const miss: HandshakeWay = { ...first, name: 'miss', by: 'miss' };
  for (let run = 0; run < MISSES; run++)
    for (const kind of KINDS)
      for (const [name, way] of Object.entries({ 'first visit': first, miss }))
        crossings.add(kind, name, await handshakes.measure(kind, 'rsa', way));
  await handshakes.measure(LOOPBACK, 'rsa', first);
  const bytes = await bytesOf(Object.keys(sizes), handshakes, report);
  const misses = crossings.table({ 'first visit': 'first visit', miss: 'miss' }, 'seconds');
  return { settings: { misses: MISSES, runsOfLengths: RUNS_OF_LENGTHS }, tables: { bytes, s: misses } };
}

/** A column for each server. */
async function bytesOf(servers: readonly string[], handshakes: Handshakes, report: Report): Promise<Table> {
  const [plain, relays] = [wayOf('TLS 1.2, plain'), wayOf('TLS 1.2, relays, second visit')];
  const rows: [string, ...number[]][] = [['plain'], ['relays']];
  for (const server of servers) {
    await handshakes.measure(LOOPBACK, server, relays); // the first visit
    for (const [index, way] of [plain, relays].entries()) {
      const found: number[] = [];
      for (let run = 0; run < RUNS_OF_LENGTHS; run++)
        found.push((await handshakes.measure(LOOPBACK, server, way)).bytes);
      rows[index]?.push(median(found));
    }
    report(`${server}: ${rows.map((row) => row.at(-1)).join(', by relays ')} bytes`);
  }
  return table(servers, rows);
}

function wayOf(name: string): HandshakeWay {
  const way = WAYS.find((each) => each.name === name);
  if (way === undefined) throw new Error(`there is no way ${name}`);
  return way;
}

const nameOf = (lengths: readonly number[]) =>
  lengths.length === 1 ? String(lengths[0]) : `${lengths.length} × ${lengths[0]}`;

async function sized(lengths: readonly number[], port: number, directory: string): Promise<Sized> {
  const chain = await makeSizedChain(directory, `sized-${port}`, [`DNS:${SERVER}`], lengths);
  const ports = { 'TLS 1.2': port, 'TLS 1.2, client certificate': port, 'TLS 1.3': port };
  return { chain, ports, block: `server { listen ${port} ssl; ${identity(chain)} ssl_protocols TLSv1.2; }` };
}

async function startRig(
  directory: string,
  servers: Readonly<Record<string, Reached>>,
  blocks: readonly string[],
  endings: AsyncDisposableStack,
  report: Report,
) {
  endings.defer(stopAll);
  const link = await startLink(endings);
  const [near, home] = [join(directory, 'near'), join(directory, 'nginx')];
  await Promise.all([near, home].map((folder) => mkdir(folder)));
  const nginx = await runNginx(home, `access_log off;\n  ${blocks.join('\n  ')}`);
  endings.defer(() => nginx.stop());
  const handshakes = new Handshakes(link, servers, near);
  endings.defer(() => handshakes.stop());
  return { handshakes, pings: await checkLinks(link, KINDS, report) };
}
