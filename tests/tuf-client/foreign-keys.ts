/** Signatures of the kinds that TUF's specification names and publications do not have: for foreign repositories only. */
import { constants, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { type SignatureVerifier, type TufKey, verifyEd25519 } from '../../core/publication/keys.ts';

/** Ed25519 as the core does it, ECDSA on P-256, and RSA with PSS; nothing else counts. */
export const verifyForeign: SignatureVerifier = async (key, signature, message) => {
  if (key.keytype === 'ed25519') return verifyEd25519(key, signature, message);
  const publicKey = readPem(key);
  if (publicKey === undefined) return false;
  if (isEcdsa(key, publicKey)) return verify('sha256', message, publicKey, signature);
  if (key.keytype !== 'rsa' || key.scheme !== 'rsassa-pss-sha256' || publicKey.asymmetricKeyType !== 'rsa')
    return false;
  const padding = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_AUTO };
  return verify('sha256', message, { key: publicKey, ...padding }, signature);
};

/** Older repositories name the scheme as the type of the key. */
function isEcdsa({ keytype, scheme }: TufKey, { asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean {
  return (
    ['ecdsa', 'ecdsa-sha2-nistp256'].includes(keytype) &&
    scheme === 'ecdsa-sha2-nistp256' &&
    asymmetricKeyType === 'ec' &&
    asymmetricKeyDetails?.namedCurve === 'prime256v1'
  );
}

function readPem(key: TufKey): KeyObject | undefined {
  try {
    return createPublicKey(key.public);
  } catch {
    return undefined;
  }
}
