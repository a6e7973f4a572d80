/** Limits of the key server that can be set: `limits` of `keyserver.json`. Those of one message are in core/keys/limits.ts. */
import { z } from 'zod';
import { isRange } from '../../node-support/addresses.ts';

/** Maximum of all limits but a few. */
export const MOST = 1_000_000;

const limit = (standard: number, description: string) =>
  z.int().min(1).max(MOST).default(standard).meta({ description });

/** An address or a network, but not all there are. */
export const network = z
  .string()
  .refine((text) => isRange(text) && !/\/0+$/.test(text), 'must be an address or a network, like 10.0.0.0/8');

export const limits = z
  .strictObject({
    sharedNetworks: z.array(network).default([]).meta({
      description:
        'Addresses and networks behind which many people share an address, such as those of a school or a carrier: limits of one address are 50 times as high there, except for connections and for one name.',
    }),
    devices: limit(
      20,
      'Readers of one subscriber, and as many browsers that hold keys. A further Reader is refused; a further browser replaces the one unused for longest.',
    ),
    requestsPerAddress: limit(6000, 'All requests to one listener a minute from one address.'),
    changesPerAddress: limit(
      300,
      'Forms of the reading site a minute from one address, and requests that connect or renew a device, at each listener.',
    ),
    bindingsPerAddress: limit(20, 'Refused codes and renewals in 15 minutes from one address.'),
    keyRequestsPerAddress: limit(
      1200,
      'Requests for keys a minute from one address, at each listener, and all requests to HTTPCrypt.',
    ),
    signInsPerNameAndAddress: limit(10, 'Failed sign-ins in 15 minutes for one name from one address.'),
    signInsPerAddress: limit(
      30,
      'Failed sign-ins in 15 minutes from one address; as many refused answers of the OpenID provider.',
    ),
    signInsPerName: limit(1000, 'Failed sign-ins in 15 minutes for one name from all addresses.'),
    signInsPerKnownBrowser: limit(
      10,
      'Failed sign-ins in 15 minutes in one known browser, which the three limits above do not count.',
    ),
    mailsPerNameAndAddress: limit(3, 'Mails in 15 minutes for one name from one address.'),
    mailsPerAddress: limit(20, 'Mails in 15 minutes from one address, and as many ways to a shop.'),
    mailsPerName: limit(10, 'Mails in 15 minutes for one name from all addresses.'),
    mailsPerNameAndDay: limit(
      40,
      'Mails a day for one name, whoever asks, a fifth of them from one address; known browsers do not count.',
    ),
    mailsPerKnownBrowser: limit(10, 'Mails in 15 minutes in one known browser.'),
    joinsPerAddress: limit(20, 'Refused codes in 15 minutes from one address, at the reading site.'),
    documentsPerAddress: limit(600, 'Documents a minute from one address.'),
    openDocumentsPerAddress: limit(32, 'Documents sent to one address at a time; further ones wait.'),
    documentWait: limit(10_000, 'Milliseconds that a document waits for its turn, before it is refused.'),
    readerSilence: limit(
      30_000,
      'Milliseconds after which a delivery is cut whose reader takes less than 2,048 bytes a second.',
    ),
    publishingRefusals: limit(
      20,
      "Refused requests in 15 minutes from one address: to publish, to the subscriptions' API, by Stripe.",
    ),
    publishingPerAddress: limit(60, 'Requests to publish a minute from one address.'),
    subscriptionsPerAddress: limit(
      1200,
      "Requests to the subscriptions' API, and of Stripe, a minute from one address.",
    ),
    metadataPerAddress: limit(1200, 'Requests for timestamp and roots a minute from one address.'),
    clientConnectionsPerAddress: limit(
      512,
      'Connections at a time to one listener from one address, trusted proxies apart; the one longest without a request makes room.',
    ),
    clientConnections: limit(4096, 'The same from all addresses.'),
    pipelined: limit(8, 'Requests that wait on one connection for those before them.'),
    fields: limit(128, 'Header fields of a request.'),
    requestHead: limit(30_000, 'Milliseconds until a request has arrived whole.'),
    clientIdle: limit(5000, 'Milliseconds between two requests on a connection.'),
  })
  .meta({
    description:
      'Limits, from 1 to a million (docs/keyserver.md). A minute is counted by each key server, 15 minutes by all together.',
  });

export type RequestLimits = z.infer<typeof limits>;

export const DEFAULT_LIMITS: RequestLimits = limits.parse({});
