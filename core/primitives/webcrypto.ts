/** The primitives on WebCrypto, for browsers; it also runs on Node, where tests hold it against `node.ts`. */
export * from './contract.ts';
export * from './random.ts';
export * from './sodium.ts';
export * from './webcrypto-symmetric.ts';

import './sodium.ts'; // esbuild awaits a module that is loaded late for an `import` only, not for `export *`
