export default async () => {
  const pagefind = await import('/pagefind/pagefind.js');
  const { results } = await pagefind.search('machine');
  return Promise.all(results.map(async ({ data }) => (await data()).url));
};
