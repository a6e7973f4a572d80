/** The relays between two ends of TLS 1.2: the cases of the paper's table 2.2 (docs/spec/link.md section 8), and what ends do to records. */

import { X509Certificate } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { FarSide } from '../../link/substitution/far.ts';
import { NearSide } from '../../link/substitution/near.ts';
import { ProtocolViolation } from '../../link/substitution/passage.ts';
import { prefix } from '../../link/tls/cursor.ts';
import { MESSAGE, writeCertificates, writeMessage } from '../../link/tls/messages.ts';
import { TLS12, writeRecord } from '../../link/tls/records.ts';
import { type Chain, makeChain } from '../support/certificates.ts';
import { clientHello, serverHello } from '../support/link-messages.ts';
import { type Ends, NAME, newStore, type Outcome, visit } from '../support/link-pair.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

let chain: Chain;
let person: Chain;
beforeAll(async () => {
  const folder = temporaryFolder();
  chain = await makeChain(folder, 'server', 'ecdsa', [`DNS:${NAME}`]);
  person = await makeChain(folder, 'person', 'ecdsa', ['DNS:person.example']);
});

const ends = (more: Partial<Ends> = {}): Ends => ({
  server: { key: chain.key, cert: chain.cert, ...more.server },
  ...more,
  client: { ca: chain.root, ...more.client },
});
const PEM = /-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/gs;
const derOf = (pem: string) => (pem.match(PEM) ?? []).map((one) => new X509Certificate(one).raw);

const stores = () => ({ near: newStore(), far: newStore() });

/** Expects that each end got what the other one sent. */
function expectUnchanged({ crossed: { up, down }, error }: Outcome): void {
  expect(error).toBeUndefined();
  expect(up.server.equals(up.client)).toBe(true);
  expect(down.client.equals(down.server)).toBe(true);
}

/** Counts bytes of certificates in clear that the link did not carry. */
function savedDown({ crossed: { down } }: Outcome): number {
  return down.server.length - down.link.length;
}

/** Changes the first reference of a CompressedCertificate. */
function otherReference(bytes: Buffer): Buffer {
  const at = bytes.indexOf(Buffer.of(MESSAGE.compressedCertificate, 0, 0));
  const changed = Buffer.from(bytes);
  if (at >= 0) changed.writeUInt8(bytes.readUInt8(at + 20) ^ 1, at + 20);
  return changed;
}

describe('cases of table 2.2', () => {
  it('2: what the near relay does not hold crosses whole, and is learnt', async () => {
    const outcome = await visit(stores(), ends());
    expectUnchanged(outcome);
    expect(savedDown(outcome)).toBe(0);
    expect(outcome.crossed.up.link.equals(outcome.crossed.up.client)).toBe(true);
  });

  it('0: what it holds crosses as references', async () => {
    const pair = stores();
    await visit(pair, ends());
    const outcome = await visit(pair, ends());
    expectUnchanged(outcome);
    expect(savedDown(outcome)).toBeGreaterThan(1000);
    // Type, length and two entries.
    expect(outcome.crossed.up.link.length - outcome.crossed.up.client.length).toBe(4 + 1 + 2 * 8 + 1);
    expect(outcome.near.hasFailed).toBe(false);
  });

  it('1: each near relay lists for itself', async () => {
    const [a, b] = [stores(), stores()];
    await visit(a, ends());
    const other = { near: b.near, far: a.far };
    expect(savedDown(await visit(other, ends()))).toBe(0);
    expect(savedDown(await visit(other, ends()))).toBeGreaterThan(1000);
    expect(savedDown(await visit(a, ends()))).toBeGreaterThan(1000);
  });

  it('3: what was listed is put back although the store has lost it', async () => {
    const pair = stores();
    await visit(pair, ends());
    const outcome = await visit(pair, ends({ meanwhile: () => pair.near.forget(`${NAME}:443`) }));
    expectUnchanged(outcome);
    expect(savedDown(outcome)).toBeGreaterThan(1000);
  });

  it('4: a reference that was not listed ends the connection, and the next one is to be plain', async () => {
    const pair = stores();
    await visit(pair, ends());
    const altered: Ends['altered'] = (bytes, where) => (where === 'to near' ? otherReference(bytes) : bytes);
    const outcome = await visit(pair, ends({ altered }));
    expect(outcome.error).toBeInstanceOf(ProtocolViolation);
    expect(outcome.serverCertificate).toBeUndefined();
    expect(outcome.near.hasFailed).toBe(true);
  });

  it('5: a far relay without memory serves as before', async () => {
    const { near, far } = stores();
    await visit({ near, far }, ends());
    expect(savedDown(await visit({ near, far: newStore() }, ends()))).toBeGreaterThan(1000);
  });
});

describe('client certificates', () => {
  const withClient = (): Ends =>
    ends({
      server: { key: chain.key, cert: chain.cert, ca: person.root, requestCert: true },
      client: { ca: chain.root, key: person.key, cert: person.cert },
    });

  it('cross whole once, and as references from the second time on', async () => {
    const pair = stores();
    const first = await visit(pair, withClient());
    const second = await visit(pair, withClient());
    for (const outcome of [first, second]) expectUnchanged(outcome);
    expect(first.clientCertificate).toBeDefined();
    expect(second.clientCertificate?.equals(first.clientCertificate ?? Buffer.alloc(0))).toBe(true);
    expect(second.crossed.up.client.length - second.crossed.up.link.length).toBeGreaterThan(1000);
  });

  it('5: cross whole again where the far relay has lost them', async () => {
    const { near, far } = stores();
    await visit({ near, far }, withClient());
    const outcome = await visit({ near, far: newStore() }, withClient());
    expectUnchanged(outcome);
    expect(outcome.crossed.up.link.length).toBeGreaterThan(outcome.crossed.up.client.length);
  });
});

describe('the relays', () => {
  it('a ClientHello in two segments loses its list at the far relay; one in two records passes unchanged', () => {
    const hello = clientHello(NAME);
    const listed = clientHello(NAME, [Buffer.of(0, 0x99, 0, 2, 0, 0)]);
    const halves = (bytes: Buffer) => [bytes.subarray(0, 30), bytes.subarray(30)];
    const passed = (parts: Buffer[]) => {
      const { fromNear } = new FarSide(newStore());
      return Buffer.concat(parts.map((part) => fromNear.push(part)));
    };
    expect(passed(halves(listed))).toEqual(hello);
    const records = halves(listed.subarray(5)).map((part) => writeRecord(TLS12, part));
    expect(passed(records)).toEqual(Buffer.concat(records));
  });

  it('a client certificate behind SupplementalData (RFC 4680) is remembered', () => {
    const store = newStore();
    const { fromClient } = new NearSide(store, 443);
    fromClient.push(clientHello(NAME));
    const supplemental = writeMessage(MESSAGE.supplementalData, Buffer.alloc(3));
    fromClient.push(writeRecord(TLS12, Buffer.concat([supplemental, writeCertificates(derOf(person.cert))])));
    expect(store.recall(`${NAME}:443`).clientHashes).toHaveLength(derOf(person.cert).length);
  });

  it('a resumed session passes unchanged', async () => {
    const pair = stores();
    const server = { key: chain.key, cert: chain.cert, ticketKeys: Buffer.alloc(48, 7) };
    const { session } = await visit(pair, ends({ server }));
    const outcome = await visit(pair, ends({ server, client: { ca: chain.root, ...(session && { session }) } }));
    expectUnchanged(outcome);
    expect([outcome.isResumed, savedDown(outcome), outcome.near.hasFailed]).toEqual([true, 0, false]);
  });

  it('TLS 1.3 passes unchanged, and the name is forgotten', async () => {
    const pair = stores();
    await visit(pair, ends());
    const server = { key: chain.key, cert: chain.cert, maxVersion: 'TLSv1.3', minVersion: 'TLSv1.3' } as const;
    for (const listed of [22, 0]) {
      const { crossed, error, near } = await visit(pair, ends({ server }));
      expect([error, near.hasFailed]).toEqual([undefined, false]);
      expect(crossed.up.link.length - crossed.up.client.length).toBe(listed);
      expect(crossed.up.server.equals(crossed.up.client) && crossed.down.link.equals(crossed.down.server)).toBe(true);
    }
  });

  it('a HelloRetryRequest passes unchanged, and the second ClientHello too', async () => {
    const pair = stores();
    await visit(pair, ends());
    const server = { key: chain.key, cert: chain.cert, maxVersion: 'TLSv1.3', ecdhCurve: 'P-384' } as const;
    const outcome = await visit(pair, ends({ server, client: { ca: chain.root, ecdhCurve: 'X25519:P-384' } }));
    expectUnchanged(outcome);
    expect(outcome.crossed.up.client.indexOf(Buffer.of(20, 3, 3, 0, 1, 1))).toBeGreaterThan(0);
  });

  it('a client without a server name passes unchanged', async () => {
    const pair = stores();
    await visit(pair, ends());
    const outcome = await visit(
      pair,
      ends({ client: { ca: chain.root, servername: '', checkServerIdentity: () => undefined } as never }),
    );
    expectUnchanged(outcome);
    expect(outcome.crossed.up.link.equals(outcome.crossed.up.client)).toBe(true);
  });
});

/** Errors of Finished: it cannot even be decrypted where the hash of the handshake goes into the keys (RFC 7627). */
const FINISHED_FAILS = /cipher operation failed|digest check failed|decrypt error|bad record mac/i;

describe('attack 119: a relay, or the link, puts in what the other end did not send', () => {
  /** Replaces one Certificate message, which stands in a record of its own, by another. */
  const swap = (from: Chain, certificates: string) => (bytes: Buffer) => {
    const [before, after] = [from.cert, certificates].map((pem) => writeRecord(TLS12, writeCertificates(derOf(pem))));
    const at = bytes.indexOf(before ?? '');
    if (at < 0 || before === undefined || after === undefined) return bytes;
    return Buffer.concat([bytes.subarray(0, at), after, bytes.subarray(at + before.length)]);
  };

  it("another certificate of the server's own key, good under the same root: Finished fails", async () => {
    const pair = stores();
    await visit(pair, ends());
    const put = swap(chain, await chain.renewed());
    const outcome = await visit(
      pair,
      ends({ altered: (bytes, where) => (where === 'to client' ? put(bytes) : bytes) }),
    );
    expect(String(outcome.error)).toMatch(FINISHED_FAILS);
    expect(outcome.serverCertificate).toBeUndefined();
  });

  it("another certificate of the client's own key: CertificateVerify fails", async () => {
    const server = { key: chain.key, cert: chain.cert, ca: person.root, requestCert: true };
    const client = { ca: chain.root, key: person.key, cert: person.cert };
    const put = swap(person, await person.renewed());
    const altered: Ends['altered'] = (bytes, where) => (where === 'to server' ? put(bytes) : bytes);
    const outcome = await visit(stores(), ends({ server, client, altered }));
    expect(String(outcome.error)).toMatch(/digest_verify_final/i);
    expect(outcome.serverCertificate).toBeUndefined();
  });

  it('the list is not taken out: Finished fails, and the server is asked plainly next time', async () => {
    const pair = stores();
    await visit(pair, ends());
    let onLink: Buffer = Buffer.alloc(0);
    const outcome = await visit(
      pair,
      ends({
        altered: (bytes, where) => {
          if (where === 'to far' && onLink.length === 0) onLink = bytes;
          return where === 'to server' && bytes.indexOf(Buffer.of(1, 0)) === 5 ? onLink : bytes;
        },
      }),
    );
    expect(outcome.error).toBeDefined();
    expect([outcome.serverCertificate, outcome.near.hasFailed]).toEqual([undefined, true]);
  });
});

describe('attack 120: an end sends a message of the relays', () => {
  const forged = writeRecord(TLS12, writeMessage(MESSAGE.compressedCertificate, Buffer.of(0, 0, 0)));

  it('a server: the connection ends, whether something was listed or not', () => {
    const hello = serverHello();
    const far = new FarSide(newStore());
    expect(() => far.fromServer.push(Buffer.concat([hello, forged]))).toThrow(ProtocolViolation);
    const near = new NearSide(newStore(), 443);
    expect(() => near.fromServer.push(Buffer.concat([hello, forged]))).toThrow(ProtocolViolation);
  });

  it('a client: the connection ends, and its own extension 0x0099 reaches the server', () => {
    const own = clientHello(NAME, [Buffer.of(0, 0x99, 0, 1, 7)]);
    const [near, far] = [new NearSide(newStore(), 443), new FarSide(newStore())];
    const onLink = near.fromClient.push(own);
    expect(onLink.length).toBe(own.length + 6);
    expect(far.fromNear.push(onLink).equals(own)).toBe(true);
    expect(() => near.fromClient.push(forged)).toThrow(ProtocolViolation);
    expect(() => far.fromNear.push(forged)).toThrow(ProtocolViolation);
  });

  it('a client whose own extension 0x0099 leaves no room for a list: the connection ends', () => {
    const padding = Buffer.concat([Buffer.of(0, 21), prefix(Buffer.alloc(16_300), 2)]);
    const own = clientHello(NAME, [Buffer.of(0, 0x99, 0, 1, 7), padding]);
    expect(() => new NearSide(newStore(), 443).fromClient.push(own)).toThrow(ProtocolViolation);
  });
});
