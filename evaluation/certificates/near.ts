/** The near side of key requests. Reads a command a line from standard input, and answers with one on standard output. */
import { Agent, request } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { buildConnector, type Dispatcher, Agent as HttpAgent } from 'undici';
import { fromBase64url } from '../../core/encoding/base64url.ts';
import { encodeKeyRequest, KEY_REQUEST_PATH } from '../../core/keys/key-request.ts';
import { HttpcryptChannel } from '../../httpcrypt/client/channel.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { FAR } from '../link/narrow-link.ts';
import { answerCommands } from '../link/near-process.ts';
import { KEYS_PORT, type KeyRequestCommand, type KeyRequestSetting, type KeyWay, SERVER } from './setting.ts';

const { facts, root }: KeyRequestSetting = JSON.parse(process.argv[2] ?? '');
let agent = newAgent();
let channel = newChannel();
let toEndpoint: Dispatcher = new HttpAgent();
let message: Uint8Array = new Uint8Array();

async function prepare(way: KeyWay): Promise<void> {
  if (way === 'HTTPS, full') agent = newAgent();
  if (way === 'HTTPCrypt, first') channel = newChannel();
  const [device] = facts.devices;
  const key = fromBase64url(device?.key ?? '', 32) ?? new Uint8Array(0);
  message = await encodeKeyRequest({ id: device?.id ?? '', key }, facts.origin, [facts.set], nowInSeconds());
}

async function ask(way: KeyWay): Promise<number> {
  const start = performance.now();
  const status = way.startsWith('HTTPS') ? await askByHttps(way === 'HTTPS, resumed') : await askByHttpcrypt();
  if (status !== 200) throw new Error(`${way}: the key server answered ${status}`);
  return performance.now() - start;
}

/** Asks by an agent that keeps sessions, and no connections. */
function askByHttps(resumed: boolean): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { 'Content-Type': 'application/json', 'Content-Length': message.length };
    const options = { agent, host: FAR, port: KEYS_PORT, servername: SERVER, path: KEY_REQUEST_PATH };
    const sent = request({ ...options, method: 'POST', headers }, (answer) => {
      if ((answer.socket as TLSSocket).isSessionReused() !== resumed)
        reject(new Error(`the session was ${resumed ? 'not ' : ''}resumed`));
      answer.resume().on('error', reject);
      answer.on('end', () => resolve(answer.statusCode ?? 0));
    });
    sent.on('error', reject).end(message);
  });
}

function newAgent(): Agent {
  return new Agent({ keepAlive: false, ca: root, minVersion: 'TLSv1.3' });
}

/** Asks over one connection, by the code of the Reader. */
async function askByHttpcrypt(): Promise<number> {
  const open = buildConnector({});
  toEndpoint = new HttpAgent({ connect: (to, done) => open({ ...to, hostname: FAR }, done), connections: 1 });
  try {
    const fields = ['content-type', 'application/json'];
    const request = { method: 'POST', path: KEY_REQUEST_PATH, fields, body: message, isRepeatable: true };
    const { status, body } = await channel.send(request);
    for await (const _ of body);
    return status;
  } finally {
    await toEndpoint.destroy();
  }
}

function newChannel(): HttpcryptChannel {
  const { httpcrypt: endpoint } = facts;
  if (endpoint === undefined) throw new Error('no endpoint for HTTPCrypt');
  return new HttpcryptChannel({
    endpoint,
    get dispatcher() {
      return toEndpoint;
    },
  });
}

await answerCommands(async ({ do: wanted, way }: KeyRequestCommand) => {
  if (wanted === 'ask') return ask(way);
  await prepare(way);
  return undefined;
});
process.exit();
