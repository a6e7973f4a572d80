import { FetchStore, get, open } from 'zarrita';

const read = async (store, version) => {
  const { data } = await get(await open[version](new FetchStore(`${location.origin}/data/${store}`), { kind: 'array' }));
  return [...data];
};
export default async () => [await read('height.v3', 'v3'), await read('height.v2', 'v2')];
