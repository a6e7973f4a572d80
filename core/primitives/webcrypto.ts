/** The primitives on WebCrypto and noble, for browsers; they also run on Node, where tests hold them against `node.ts`. */
export * from './contract.ts';
export * from './noble.ts';
export * from './random.ts';
export * from './webcrypto-ed25519.ts';
export * from './webcrypto-symmetric.ts';
