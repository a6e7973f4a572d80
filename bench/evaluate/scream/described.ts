/** The figure as text, tables and plots. */
import { type Figure, ranOn, table } from '../document.ts';
import { bars } from '../plot.ts';
import { COST, KINDS, type Kind } from './readers.ts';
import { BALANCERS, type Balancer, type Measured, WAYS, type Way } from './results.ts';

const NAMES: Readonly<Record<Kind, string>> = { 'sign-in': 'Sign-ins', binding: 'Bindings' };

export function described(measured: Measured): Figure {
  const { share, seconds, readersPerNode } = measured;
  const percent = Math.round(share * 100);
  const text = `After figures 1 and 2 of Stubblefield, Rubin and Wallach, *Managing the Performance Impact of Web
Security* (2002), sections 4 to 6. Key servers at one PostgreSQL, each a process with one core, of
which the kernel gives it ${percent} %. ${readersPerNode} readers for each key server ask again as soon as they have an
answer. The *broken* balancer sends all of them to the first key server, the *random* one each
request to any. *Redistributed*: with the [dispatcher](cluster.md#password-hashing), which is the
first key server.

**Sign-ins** a second, which hash a password.

${rates(measured, 'sign-in')}

{{plot scream-sign-in-broken}}

{{plot scream-sign-in-random}}

**Bindings** a second, which check a signature, seal to an X-Wing key and write the database. The
dispatcher takes no part in them.

${rates(measured, 'binding')}

{{plot scream-binding-broken}}

{{plot scream-binding-random}}

Each rate is of one run of ${seconds} s; the largest clusters used ${cores(measured)}
of the ${(share * Math.max(...measured.sizes)).toFixed(1)} cores that they may have. Passwords are hashed with ${COST.memory / 1024} MiB and ${COST.passes} passes, a quarter
of the key server's own cost. The dispatcher takes no part in bindings, and yet their rates with it and without it differ, in both directions: so much can be chance in one run on a busy machine. What this does not show: a network between the machines, which takes
its time, but not that of processors; a database whose disk is waited for; key servers of unequal
speed.

${singleOperations(measured)}

${batching(measured)}
${ranOn()} Other programs were running.`;
  return { text, plots: plots(measured) };
}

function rates({ rates, sizes }: Measured, kind: Kind): string {
  const columns = BALANCERS.flatMap((balancer) => WAYS.map((way) => ({ balancer, way })));
  const rows = sizes.map((nodes) => [
    String(nodes),
    ...columns.map(({ balancer, way }) => rates.get({ nodes, kind, balancer, way }).rate.toPrecision(3)),
  ]);
  return table(['key servers', ...columns.map(({ balancer, way }) => `${balancer}, ${way}`)], rows);
}

function cores({ rates, sizes }: Measured): string {
  const nodes = Math.max(...sizes);
  const of = (way: Way) => rates.get({ nodes, kind: 'sign-in', balancer: 'random', way }).cores.toFixed(2);
  return `${of('alone')} (alone) and ${of('redistributed')} (redistributed)`;
}

function singleOperations({ costs, rates, share }: Measured): string {
  const { argon2id, encapsulation, decapsulation, exchange, tls } = costs;
  const milliseconds = (value: number) => (value < 100 ? value.toPrecision(2) : value.toFixed());
  const bindingRate = rates.get({ nodes: 1, kind: 'binding', balancer: 'broken', way: 'alone' }).rate;
  const binding = (1000 * share) / bindingRate;
  const part = (whole: number, one: number) => `${Math.round((one / whole) * 100)} %`;
  const rows = [
    ['Argon2id, 64 MiB, 3 passes', milliseconds(argon2id)],
    ['X-Wing, to seal', milliseconds(encapsulation)],
    ['X-Wing, to open', milliseconds(decapsulation)],
    ['a message to the dispatcher and its answer, both ends', milliseconds(exchange)],
    ['ECDSA P-256, signature', milliseconds(tls.ecdsa.signature)],
    ['full TLS 1.3 handshake with it, at the server', milliseconds(tls.ecdsa.handshake)],
    ['RSA-2048, signature', milliseconds(tls.rsa.signature)],
    ['full TLS 1.3 handshake with it, at the server', milliseconds(tls.rsa.handshake)],
  ];
  return `**Single operations**, in milliseconds of processor time.

${table(['operation', 'ms'], rows)}

A work that is done elsewhere goes to the dispatcher, from there to a key server, and back: two
messages and two answers, ${milliseconds(2 * exchange)} ms. Beside Argon2id that is nothing. Beside X-Wing it is ${part(encapsulation, 2 * exchange)} of
the work itself. One X-Wing is ${part(binding, encapsulation)} of what a binding costs a key server, ${milliseconds(binding)} ms: where the balancer is
broken, no more than that could be won, and where it is not, the messages would be lost. So it is not
redistributed. Of a full handshake, the signature is ${part(tls.ecdsa.handshake, tls.ecdsa.signature)} with ECDSA P-256 and ${part(tls.rsa.handshake, tls.rsa.signature)} with RSA-2048.
[cluster.md](cluster.md#password-hashing) says why it stays where it is; a certificate with ECDSA
saves nearly all of it without a cluster. In the paper, RSA is over 50 % of a connection.`;
}

function batching({ costs, batching: { bySize, openssl } }: Measured): string {
  const sizes = ['1', '2', '4', '8'] as const;
  const ratio = (other: number, own: number) => (other / own).toFixed(2);
  const rows = sizes.map((size) => [
    size,
    bySize[size].toPrecision(3),
    ratio(bySize[1], bySize[size]),
    ratio(openssl, bySize[size]),
  ]);
  return `**Batching RSA** (Fiat 1989; the tree of Boneh and Shacham, 2001). RSA-2048 with GMP, the Chinese
remainder theorem and the exponents 3 to 23, each result checked. \`openssl speed\`: ${openssl.toPrecision(3)} ms.

${table(['batch', 'ms for each', 'faster than alone', 'faster than OpenSSL'], rows)}

Eight at a time are ${ratio(bySize[1], bySize[8])} times as fast as one by one. The paper has 2.5 at most, and does not say
how long its keys are; the shorter they are, the more the small exponents weigh. It is not used here.
TLS 1.3 decrypts nothing with RSA. Its signatures could be batched, but each of the eight needs a
certificate of its own, with the same modulus and another small exponent, and the rules of public
authorities recommend exponents above 2^16. Node.js has no place where signatures of several
connections could be gathered. This program has neither blinding nor constant time, which OpenSSL has.
And one signature with ECDSA P-256 takes ${costs.tls.ecdsa.signature.toPrecision(2)} ms.`;
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
    KINDS.flatMap((kind) => BALANCERS.map((balancer) => [`scream-${kind}-${balancer}`, plot(kind, balancer)])),
  );
}
