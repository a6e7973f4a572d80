/** A real S3 server on loopback: moto's, which keeps everything in memory. Each test that needs one starts it, on a free port. */
import { existsSync } from 'node:fs';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { accepts, freePort, until } from '../../cache-config/child.ts';
import { ROOT, startCommand } from './programs.ts';

const PYTHON = `${ROOT}.cache/s3-server/bin/python`;
const START_MILLISECONDS = 60_000;

export interface S3Server {
  readonly endpoint: string;
  /** Variables that programs which use it have in their environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** A client of it, to look at what is there. */
  readonly client: S3Client;
  /** Makes a bucket. */
  readonly bucket: (name: string) => Promise<void>;
  readonly stop: () => Promise<void>;
}

export async function startS3Server(): Promise<S3Server> {
  if (!existsSync(PYTHON)) throw new Error(`${PYTHON} is missing: \`node scripts/set-up.mjs --tests\` installs it`);
  const port = await freePort();
  const args = ['-E', '-s', '-m', 'moto.server', '-H', '127.0.0.1', '-p', String(port)];
  const server = startCommand([PYTHON, ...args], { env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' } });
  if (!(await until(() => accepts(port), START_MILLISECONDS))) throw new Error(`no S3 server: ${server.stderr()}`);
  const endpoint = `http://127.0.0.1:${port}`;
  const credentials = { accessKeyId: 'tests', secretAccessKey: 'of-no-value' };
  const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials });
  return {
    endpoint,
    environment: {
      AWS_ENDPOINT_URL_S3: endpoint,
      AWS_ACCESS_KEY_ID: credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    },
    client,
    bucket: async (name) => {
      await client.send(new CreateBucketCommand({ Bucket: name }));
    },
    stop: async () => {
      client.destroy();
      await server.stop();
    },
  };
}
