export default {
  output: 'export',
  trailingSlash: true, // each page in a folder of its own, as every web host serves it
  turbopack: { root: new URL('..', import.meta.url).pathname }, // where node_modules lies
};
