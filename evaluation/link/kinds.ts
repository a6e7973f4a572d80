/** The links of docs/evaluation.md. The first five are those of McVeety (TLS Optimization Using Intercepting Proxies, MIT 2009, table 4.1); the others are nominal rates. */
import type { LinkKind } from './narrow-link.ts';

export const IRIDIUM: LinkKind = { name: 'Iridium', up: 2400, down: 2400, delay: 400 };
export const INMARSAT: LinkKind = { name: 'Inmarsat', up: 64_000, down: 64_000, delay: 442 };
export const MILSTAR: LinkKind = { name: 'Milstar', up: 2400, down: 256_000, delay: 500 };
export const TCDL: LinkKind = { name: 'TCDL', up: 10_000_000, down: 10_000_000, delay: 0 };
export const CELL: LinkKind = { name: 'cell modem', up: 97_877, down: 981_525, delay: 90 };
export const EDGE: LinkKind = { name: 'EDGE', up: 118_000, down: 237_000, delay: 200 };
export const G3: LinkKind = { name: '3G', up: 384_000, down: 2_000_000, delay: 75 };
export const DSL: LinkKind = { name: 'DSL', up: 1_000_000, down: 16_000_000, delay: 15 };
export const LOOPBACK: LinkKind = { name: 'loopback', up: 0, down: 0, delay: 0 };
