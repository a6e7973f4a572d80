/** Two publishers compare all that they know of one reader. */
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { bindSite, type ConnectTo, parseConnectTo, startProxy } from '../../client-proxy/index.ts';
import { type ContentHost, listenOnLoopback, startContentHost } from '../support/content-host.ts';
import { send } from '../support/http-client.ts';
import { startKeyServerOf, type TestKeyServer } from '../support/key-server.ts';
import { CleanUp, storageIn, temporaryFolder } from '../support/reader-rig.ts';
import { TestPublisher } from '../support/test-publisher.ts';

/** Characters of base64url, 72 bits: by chance, two have none in common. */
const WINDOW = 12;
const cleanUp = new CleanUp();

/** A publisher with everything that it runs, and everything that comes to its key server by the wire. */
interface House {
  readonly publisher: TestPublisher;
  readonly host: ContentHost;
  readonly keyServer: TestKeyServer;
  readonly connectTo: readonly ConnectTo[];
  /** Takes out what came since it was last asked, and what was logged meanwhile. */
  learned(): Buffer;
}

async function open(site: string): Promise<House> {
  const publisher = await TestPublisher.create(site);
  const host = cleanUp.use(await startContentHost());
  const keyServer = cleanUp.use(await startKeyServerOf(publisher));
  await publisher.publish(host.files, '/a.html', { content: `of ${site}` });
  const port = Number(new URL(keyServer.origin).port);
  const relay = await listenIn(port);
  let logged = 0;
  return {
    publisher,
    host,
    keyServer,
    connectTo: [`127.0.0.1:${port}:127.0.0.1:${relay.port}`, `${site}:80:127.0.0.1:${host.port}`].map(parseConnectTo),
    learned: () => {
      const log = keyServer.log();
      const seen = host.requests.splice(0).map((request) => JSON.stringify(request));
      const all = Buffer.concat([...relay.taken(), Buffer.from(log.slice(logged) + seen.join('\n'))]);
      logged = log.length;
      return all;
    },
  };
}

/** Passes connections on to a port, and keeps what clients say. */
async function listenIn(port: number) {
  let said: Buffer[] = [];
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    client.on('data', (part: Buffer) => said.push(part)).on('error', () => upstream.destroy());
    upstream.on('error', () => client.destroy());
    client.pipe(upstream).pipe(client);
  });
  const own = await listenOnLoopback(server);
  cleanUp.add(async () => server.close());
  return {
    port: own,
    taken: () => {
      const all = said;
      said = [];
      return all;
    },
  };
}

let houses: [House, House];
beforeEach(async () => {
  houses = [await open('news.example'), await open('pictures.example')];
});
afterEach(() => cleanUp.run());

/** Lets a reader connect with both, read at both, and connect with the first once more. @returns what they learn */
async function live() {
  for (const house of houses) house.learned(); // forgets the rest
  const storage = storageIn(join(await temporaryFolder(cleanUp), 'home'));
  const connectTo = houses.flatMap((house) => house.connectTo);
  const bind = async ({ publisher, keyServer }: House) =>
    bindSite({ ...storage, connectTo, link: await keyServer.invite(), trustSites: [publisher.site] });
  for (const house of houses) await bind(house);
  const proxy = await startProxy({ ...storage, connectTo, port: 0 });
  for (const { publisher } of houses)
    expect((await send(proxy.port, `http://${publisher.site}/a.html`)).text).toBe(`of ${publisher.site}`);
  await proxy.close();
  const [one, two] = houses;
  const [atFirst, atSecond] = [one.learned(), two.learned()];
  await bind(one);
  return { atFirst, atSecond, again: one.learned() };
}

/** Cuts every value in `known` into pieces of {@link WINDOW} characters, but for times, which are everybody's. */
function pieces(...known: Buffer[]): Set<string> {
  const text = Buffer.concat(known)
    .toString('latin1')
    .replace(/\b\d{10,13}\b/g, ' ');
  const values = text.match(/[\w+/=-]+/g) ?? [];
  return new Set(
    values.flatMap((value) =>
      Array.from({ length: Math.max(0, value.length - WINDOW + 1) }, (_, at) => value.slice(at, at + WINDOW)),
    ),
  );
}

it('attack 87: in what two publishers receive and log there is nothing that tells one reader from another', async () => {
  const { atFirst, atSecond, again } = await live();
  const others = [await live(), await live()];
  // Pieces that other readers send as well are how the protocol is spelled.
  const everybodys = pieces(...others.flatMap((other) => [other.atFirst, other.atSecond]));
  const ofReader = [...pieces(atFirst)].filter((piece) => !everybodys.has(piece));
  expect(ofReader.length).toBeGreaterThan(1000); // keys, proofs, nonces
  const bySecond = pieces(atSecond);
  expect(ofReader.filter((piece) => bySecond.has(piece))).toEqual([]);
  // The search finds what is there: the first knows the reader again by what the reader sends, and only by that.
  const byFirst = pieces(again);
  expect(ofReader.filter((piece) => byFirst.has(piece)).length).toBeGreaterThan(1000);
});
