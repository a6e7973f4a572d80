/** The official client, with bounds that it does not have by itself. */
import { Readable } from 'node:stream';
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { StorageError } from './errors.ts';

/** Limits; tests have others. */
export const S3_LIMITS = {
  /** Milliseconds for an operation with all its attempts and the whole of its answer, besides those for its bytes. */
  operation: 90_000,
  /** Milliseconds that all listings of a run take together, besides those for what they list; pages are operations as well. */
  listings: 600_000,
  /** Files in a millisecond at which a listing has to arrive at the least. */
  listing: 1,
  /** Milliseconds until the answer to an attempt begins, where little is sent; then the next one. */
  attempt: 30_000,
  /** Milliseconds in which nothing moves on a line; other clients wait as long. */
  silence: 60_000,
  /** Bytes in a millisecond at which a file, or a part of one, has to arrive at the least: up to 48 of them share a line. */
  sending: 1,
  reading: 32,
  /** Bytes of an answer that is no file. A page has a thousand names of a kilobyte, percent-encoded. */
  answerLength: 16_777_216,
  /** Files of a listing: more than a Map could hold to compare them with. */
  files: 16_000_000,
  /** Pages of a listing; and the files that a server is asked to put on one. Some put far fewer there. */
  pages: 160_000,
  page: 1_000,
} as const;

export type S3Limits = { readonly [Name in keyof typeof S3_LIMITS]: number };

const CONNECTIONS = 64;

/** @param onTime - told with every answer what the server's clock says, in seconds since 1970 */
export function createClient(
  environment: NodeJS.ProcessEnv,
  limits: S3Limits,
  onTime: (time: number) => void = () => undefined,
): S3Client {
  const client = new S3Client(configuration(environment, limits));
  watchAnswers(client, limits.answerLength, onTime);
  return client;
}

/** Servers other than Amazon's are reached by path, and are asked for no more checksums than the protocol demands. */
function configuration(environment: NodeJS.ProcessEnv, { silence }: S3Limits): S3ClientConfig {
  const endpoint = environment.AWS_ENDPOINT_URL_S3 ?? environment.AWS_ENDPOINT_URL;
  const foreign = endpoint !== undefined && !/\.amazonaws\.com(?:\.cn)?(?::\d+)?\/?$/.test(endpoint);
  const region = environment.AWS_REGION ?? environment.AWS_DEFAULT_REGION;
  return {
    maxAttempts: 5,
    requestHandler: {
      connectionTimeout: 10_000,
      socketTimeout: silence,
      throwOnRequestTimeout: true, // throws when an attempt takes too long, not only warns
      httpAgent: { maxSockets: CONNECTIONS },
      httpsAgent: { maxSockets: CONNECTIONS },
    },
    ...(region !== undefined && { region }),
    ...(foreign && {
      forcePathStyle: true,
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      ...(region === undefined && { region: 'us-east-1' }),
    }),
  };
}

/** The client takes answers into memory as they come; readers of files bound those. */
function watchAnswers(client: S3Client, maximum: number, onTime: (time: number) => void): void {
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        const result = await next(args);
        const response = result.response as Answer;
        const time = Date.parse(response.headers.date ?? '') / 1000;
        if (Number.isFinite(time)) onTime(time);
        const isFile = commandName === 'GetObjectCommand' && response.statusCode < 300;
        if (!isFile && response.body instanceof Readable)
          response.body = Readable.from(startOf(response.body, maximum));
        return result;
      },
    { step: 'deserialize', priority: 'low', name: 'watchAnswers' },
  );
}

interface Answer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  body: unknown;
}

async function* startOf(body: AsyncIterable<Uint8Array>, maximum: number): AsyncGenerator<Uint8Array> {
  let length = 0;
  for await (const part of body) {
    length += part.length;
    if (length > maximum)
      throw new StorageError('target-failed', `the server of the bucket answers with more than ${maximum} bytes`);
    yield part;
  }
}
