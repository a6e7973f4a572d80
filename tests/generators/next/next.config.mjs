export default {
  output: 'export',
  trailingSlash: true, // puts each page into a folder of its own, as every web host serves it
  turbopack: { root: new URL('..', import.meta.url).pathname }, // folder of node_modules
};
