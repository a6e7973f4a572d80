import lunr from 'lunr';

export default async () => {
  const index = lunr.Index.load(await (await fetch('/data/lunr.json')).json());
  return index.search('moon~1').map(({ ref }) => ref);
};
