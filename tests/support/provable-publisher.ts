/** A publisher whose site a reader can prove: with a key server, and a content host that has its publication. */
import { parseConnectTo } from '../../client-proxy/index.ts';
import { startContentHost } from './content-host.ts';
import { HostileKeyServer } from './hostile-key-server.ts';
import type { CleanUp } from './reader-rig.ts';
import { TestPublisher } from './test-publisher.ts';

/** @returns also the route to its content host */
export async function startProvablePublisher(cleanUp: CleanUp, site = 'news.example') {
  const publisher = await TestPublisher.create(site);
  const server = cleanUp.use(await HostileKeyServer.start(publisher));
  const host = cleanUp.use(await startContentHost());
  await publisher.sign(host.files);
  return { publisher, server, host, connectTo: parseConnectTo(`${site}:80:127.0.0.1:${host.port}`) };
}
