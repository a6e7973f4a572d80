/** The figure as tables and plots. */
import { type Figure, section, table } from '../document.ts';
import { bars } from '../plot.ts';
import { COST, KINDS, type Kind } from './readers.ts';
import { BALANCERS, type Balancer, type Measured, WAYS, type Way } from './results.ts';

const NAMES: Readonly<Record<Kind, string>> = { 'sign-in': 'Sign-ins', binding: 'Bindings' };

export function described(measured: Measured): Figure {
  const { share, seconds, readersPerNode } = measured;
  const percent = Math.round(share * 100);
  const [signIns, bindings] = KINDS.map((kind) => BALANCERS.map((balancer) => plotOf(kind, balancer)));
  return {
    runs: `One run of ${seconds} s each; ${percent} % of a core and ${readersPerNode} readers for each key server; passwords hashed with ${COST.memory / 1024} MiB and ${COST.passes} passes.`,
    sections: [
      section('Sign-ins a second', rates(measured, 'sign-in'), ...(signIns ?? [])),
      section('Bindings a second', rates(measured, 'binding'), ...(bindings ?? [])),
      section('Cores used by the largest cluster, of those it may have', cores(measured)),
      section('Single operations: ms of processor time', singleOperations(measured)),
      section('RSA-2048 signatures in batches', batching(measured)),
    ],
    plots: plots(measured),
  };
}

function rates({ rates, sizes }: Measured, kind: Kind): string {
  const columns = BALANCERS.flatMap((balancer) => WAYS.map((way) => ({ balancer, way })));
  const rows = sizes.map((nodes) => [
    String(nodes),
    ...columns.map(({ balancer, way }) => rates.get({ nodes, kind, balancer, way }).rate.toPrecision(3)),
  ]);
  return table(['key servers', ...columns.map(({ balancer, way }) => `${balancer}, ${way}`)], rows);
}

function cores({ rates, sizes, share }: Measured): string {
  const nodes = Math.max(...sizes);
  const of = (way: Way) => rates.get({ nodes, kind: 'sign-in', balancer: 'random', way }).cores.toFixed(2);
  return table(['sign-ins, random', ...WAYS, 'allowed'], [[`${nodes}`, ...WAYS.map(of), (share * nodes).toFixed(1)]]);
}

function singleOperations({ costs, rates, share }: Measured): string {
  const { argon2id, encapsulation, decapsulation, exchange, tls } = costs;
  const milliseconds = (value: number) => (value < 100 ? value.toPrecision(2) : value.toFixed());
  const bindingRate = rates.get({ nodes: 1, kind: 'binding', balancer: 'broken', way: 'alone' }).rate;
  const binding = (1000 * share) / bindingRate;
  const rows = [
    ['Argon2id, 64 MiB, 3 passes', milliseconds(argon2id)],
    ['X-Wing, to seal', milliseconds(encapsulation)],
    ['X-Wing, to open', milliseconds(decapsulation)],
    ['a binding, at a key server alone', milliseconds(binding)],
    ['a message to the dispatcher and its answer, both ends', milliseconds(exchange)],
    ['ECDSA P-256, signature', milliseconds(tls.ecdsa.signature)],
    ['full TLS 1.3 handshake with it, at the server', milliseconds(tls.ecdsa.handshake)],
    ['RSA-2048, signature', milliseconds(tls.rsa.signature)],
    ['full TLS 1.3 handshake with it, at the server', milliseconds(tls.rsa.handshake)],
  ];
  return table(['operation', 'ms'], rows);
}

function batching({ batching: { bySize, openssl } }: Measured): string {
  const sizes = ['1', '2', '4', '8'] as const;
  const ratio = (other: number, own: number) => (other / own).toFixed(2);
  const rows = sizes.map((size) => [
    size,
    bySize[size].toPrecision(3),
    ratio(bySize[1], bySize[size]),
    ratio(openssl, bySize[size]),
  ]);
  return table(
    ['batch', 'ms for each', 'faster than alone', 'faster than OpenSSL'],
    [...rows, ['`openssl speed`', openssl.toPrecision(3), ratio(bySize[1], openssl), '1.00']],
  );
}

function plotOf(kind: Kind, balancer: Balancer): string {
  return `scream-${kind}-${balancer}`;
}

function plots({ rates, sizes }: Measured): Record<string, string> {
  const plot = (kind: Kind, balancer: Balancer) =>
    bars({
      title: `${NAMES[kind]} a second, ${balancer} load balancer`,
      unit: '1/s',
      groups: sizes.map((nodes) => `${nodes} key server${nodes > 1 ? 's' : ''}`),
      series: WAYS.map((way) => ({
        name: way,
        values: sizes.map((nodes) => rates.get({ nodes, kind, balancer, way }).rate),
      })),
    });
  return Object.fromEntries(
    KINDS.flatMap((kind) => BALANCERS.map((balancer) => [plotOf(kind, balancer), plot(kind, balancer)])),
  );
}
