/** A reader who is connected with two sites of two publishers, each on a content host of its own. */
import { bindSite, parseConnectTo } from '../../client-proxy/index.ts';
import { startContentHost } from './content-host.ts';
import { HostileKeyServer } from './hostile-key-server.ts';
import { CleanUp, startHostileReaderRig } from './reader-rig.ts';
import { TestPublisher } from './test-publisher.ts';

/** @returns also the origins of their gateways */
export async function startTwoSites() {
  const cleanUp = new CleanUp();
  const rig = cleanUp.use(await startHostileReaderRig());
  const host = cleanUp.use(await startContentHost());
  const publisher = await TestPublisher.create('other.example');
  const keyServer = cleanUp.use(await HostileKeyServer.start(publisher));
  await publisher.sign(host.files);
  const connectTo = [`other.example:80:127.0.0.1:${host.port}`, `:80:127.0.0.1:${rig.host.port}`].map(parseConnectTo);
  await bindSite({ ...rig.storage, connectTo, link: await keyServer.invite(), trustSites: [publisher.site] });
  rig.publisher.afterPublishing = async () => undefined; // sites are looked at when both are there
  await rig.restart({ connectTo });
  const originOf = async (site: string) => ((await rig.proxy.gatewayUrl(site)) ?? '').slice(0, -1);
  return {
    rig,
    news: await originOf(rig.publisher.site),
    other: await originOf(publisher.site),
    /** Puts the same page on both sites. */
    publish: async (path: string, content: string, mediaType = 'text/html; charset=utf-8') => {
      await rig.publisher.publish(rig.host.files, path, { content, metadata: { mediaType } });
      await publisher.publish(host.files, path, { content, metadata: { mediaType } });
      await rig.proxy.check();
    },
    close: () => cleanUp.run(),
  };
}
