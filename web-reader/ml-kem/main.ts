/** ML-KEM-768 and SHA-3 for browsers that have none of their own: the vault's page loads this script only there. */
import { nobleXwingParts } from '../../core/primitives/noble-ml-kem.ts';

Object.assign(globalThis, { wisprMlKem: nobleXwingParts });
