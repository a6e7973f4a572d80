/** ML-KEM-768 for browsers that have none of their own: the vault's page loads this script only there. */
import { createNobleMlKem } from '../../core/primitives/noble-ml-kem.ts';

Object.assign(globalThis, { wisprMlKem: createNobleMlKem });
