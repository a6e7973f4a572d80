/** Check that the readers of this figure ask for what a Reader asks for: a real one reads the same documents. */
import { request } from 'undici';
import { urlPathOf } from '../../core/site/path.ts';
import { throughProxy } from '../../serve/reading.ts';
import type { Requests } from './requests.ts';
import type { ReadSite } from './sites.ts';
import type { Visit } from './visits.ts';

/** @returns bytes that the key server sends to the Reader, from its invitation on @throws Error with the first request that only one of the two sends */
export async function checkAgainstReader(site: ReadSite, visit: Visit, requests: Requests): Promise<number> {
  const { squid } = site.protected;
  site.takeFromKeyServer();
  const log = async () => (await squid.requests()).map(({ url }) => new URL(url).pathname);
  const before = (await log()).length;
  await readByReader(site, visit);
  const [real, ours] = [(await log()).slice(before).sort(), [...requests].sort()];
  const other = real.findIndex((path, index) => path !== ours[index]);
  if (other >= 0 || real.length !== ours.length)
    throw new Error(`a Reader sent ${real.length} requests, the figure ${ours.length}; first other: ${real[other]}`);
  return site.takeFromKeyServer();
}

async function readByReader(site: ReadSite, visit: Visit): Promise<void> {
  const { proxy } = await site.addReader();
  const dispatcher = throughProxy(proxy.url);
  try {
    for (const path of visit) {
      const { statusCode, body } = await request(`http://${site.host}${urlPathOf(path)}`, { dispatcher });
      await body.arrayBuffer();
      if (statusCode !== 200) throw new Error(`the Reader answered ${statusCode} for ${path}`);
    }
  } finally {
    await dispatcher.close();
  }
}
