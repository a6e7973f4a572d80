/** A reader who has an invitation and nothing else: publishers, their hosts with real proofs over HTTPS, a running proxy without connections. */
import { createServer } from 'node:https';
import { parseConnectTo } from '../../client-proxy/index.ts';
import { hostProofLine, type SiteDescription } from '../../core/keys/descriptor.ts';
import { HOST_PROOF_PATH } from '../../core/site/well-known.ts';
import { makeCertificate, type TestCertificate } from './certificates.ts';
import { closeServer, listenOnLoopback } from './content-host.ts';
import type { HostileKeyServer } from './hostile-key-server.ts';
import { startProvablePublisher } from './provable-publisher.ts';
import { CleanUp, type ReaderRig, startReaderOf, storageIn, temporaryFolder } from './reader-rig.ts';
import type { TestPublisher } from './test-publisher.ts';

export interface InvitedReader
  extends Omit<ReaderRig<HostileKeyServer>, 'another' | 'anotherStorage' | 'directory' | 'limits' | 'url'> {
  /** Proofs by host: what it says of its publisher. Hosts that are not here say nothing. */
  readonly proofs: Map<string, string>;
}

const HOSTS = ['news.example', 'second.example'];
/** Made once in a process. */
let certified: Promise<TestCertificate> | undefined;

export async function startInvitedReader(): Promise<InvitedReader> {
  const cleanUp = new CleanUp();
  const directory = await temporaryFolder(cleanUp);
  const storage = storageIn(directory);
  const { publisher, server: keyServer, host } = await startProvablePublisher(cleanUp);
  certified ??= makeCertificate(
    directory,
    HOSTS.map((name) => `DNS:${name}`),
  );
  const certificate = await certified;
  const proofs = new Map([[publisher.site, hostProofLine(publisher.root.id)]]);
  const proofServer = createServer(certificate, ({ url, headers }, response) => {
    const proof = url === HOST_PROOF_PATH ? proofs.get(headers.host ?? '') : undefined;
    response.writeHead(proof === undefined ? 404 : 200).end(proof);
  });
  const proofPort = await listenOnLoopback(proofServer);
  cleanUp.add(() => closeServer(proofServer));
  const connectTo = [`:80:127.0.0.1:${host.port}`, `:443:127.0.0.1:${proofPort}`].map(parseConnectTo);
  const options = { ...storage, connectTo, ca: certificate.ca, dnsServers: ['127.0.0.1:9'] };
  const reader = Object.assign(await startReaderOf(cleanUp, options), {
    ...{ publisher, host, keyServer, storage, proofs },
    close: () => cleanUp.run(),
  });
  publisher.afterPublishing = () => reader.proxy.check().catch(() => undefined);
  return reader;
}

/** The sites of a descriptor in which the publisher claims a second host. */
export function twoSites(publisher: TestPublisher): SiteDescription[] {
  return [publisher.site, 'second.example'].map((site) => ({
    site,
    content: [`http://${site}`],
    reading: publisher.reading,
  }));
}
