export default function configure(eleventy) {
  eleventy.addPassthroughCopy('content/assets');
  return { dir: { input: 'content' } };
}
