/** The primitives on node:crypto. */
export * from './contract.ts';
export { ed25519Sign } from './node-signing.ts';
export * from './node-symmetric.ts';
export * from './random.ts';
export * from './sodium.ts';

import './sodium.ts'; // esbuild awaits a module that is loaded late for an `import` only, not for `export *`
