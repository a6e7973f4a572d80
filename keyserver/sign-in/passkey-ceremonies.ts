/**
 * The ceremonies of passkeys, after Web Authentication (https://www.w3.org/TR/webauthn-3/): registration, section 7.1, and authentication,
 * section 7.2. Signatures, flags, origin and RP id are checked by `@simplewebauthn/server`; what is stored and used up is checked here.
 */
import {
  type AuthenticationResponseJSON,
  generateAuthenticationOptions,
  generateRegistrationOptions,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  type RegistrationResponseJSON,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';
import { decodeAttestationObject, decodeClientDataJSON, isoBase64URL } from '@simplewebauthn/server/helpers';
import { hmacSha256 } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { utf8 } from '../../core/encoding/bytes.ts';
import { KeyServerError } from '../errors.ts';
import { audit } from '../storage/audit.ts';
import { readSecret } from '../storage/secrets.ts';
import type { KeyServerState } from '../storage/state.ts';
import { CHALLENGE_LIFETIME, createChallenge, useChallenge } from './passkey-challenges.ts';
import { addPasskey, findPasskey, type PasskeyTable, passkeysOf, recordPasskeyUse } from './passkeys.ts';

/** Characters of an answer of a browser: an id of 1,023 bytes and a large public key, each of which it may name three times. */
const MAXIMUM_ANSWER_LENGTH = 16_384;
/** Bytes of a form with one: each of its characters may take three. */
export const ANSWER_FORM_LENGTH = 3 * MAXIMUM_ANSWER_LENGTH;
/** EdDSA, ES256 and RS256 (RFC 8152, RFC 8812): what Node.js checks without calling it an experiment. */
const ALGORITHMS = [-8, -7, -257];
const TIMEOUT = CHALLENGE_LIFETIME * 1000;

/** The passkeys of one kind of people at one origin. */
export interface Passkeys {
  readonly state: Pick<KeyServerState, 'actor' | 'database' | 'now' | 'vault'>;
  readonly table: PasskeyTable;
  /** Origin at which the ceremonies take place, exactly. Its host is the RP id. */
  readonly origin: string;
  /** `required`: a PIN, finger or face each time. */
  readonly userVerification: 'preferred' | 'required';
}

export interface PasskeyOwner {
  readonly id: number;
  readonly name: string;
}

/** Gives the options from which a browser makes a new passkey. @param title - what authenticators call the site */
export async function registrationOptions(
  passkeys: Passkeys,
  owner: PasskeyOwner,
  title: string,
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const { state, table, userVerification } = passkeys;
  const known = await passkeysOf(state.database, table, owner.id);
  return generateRegistrationOptions({
    rpName: title,
    rpID: rpIdOf(passkeys),
    userID: await userHandleOf(passkeys, owner.id),
    userName: owner.name,
    userDisplayName: owner.name,
    challenge: await createChallenge(state, registration(table, owner.id)),
    timeout: TIMEOUT,
    attestationType: 'none',
    supportedAlgorithmIDs: ALGORITHMS,
    excludeCredentials: known.map(({ id }) => ({ id })),
    authenticatorSelection: { residentKey: 'required', userVerification },
  });
}

/**
 * Takes a new passkey.
 *
 * @param owner - who is signed in, and asked for the options
 * @param answer - the browser's `PublicKeyCredential` as JSON
 * @throws KeyServerError `passkey-refused`
 */
export async function addNewPasskey(
  passkeys: Passkeys,
  owner: PasskeyOwner,
  answer: string,
  label: string,
): Promise<void> {
  const { state, table } = passkeys;
  const response = parse<RegistrationResponseJSON>(answer);
  const challenge = await usedChallenge(passkeys, registration(table, owner.id), response);
  const { verified, registrationInfo } = await checked(() => {
    checkAttestation(response);
    return verifyRegistrationResponse({
      response,
      supportedAlgorithmIDs: ALGORITHMS,
      ...expected(passkeys, challenge),
    });
  });
  if (!verified) throw refused();
  const { id, publicKey, counter } = registrationInfo.credential;
  const added = { id, owner: owner.id, publicKey, counter, label, created: state.now() };
  await state.database.transaction(async () => {
    if (!(await addPasskey(state.database, table, added))) throw refused();
    await audit(state, 'passkey', owner.name);
  });
}

/** Lets a browser sign in with any passkey that it has for this site. */
export async function authenticationOptions(passkeys: Passkeys): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const { state, table, userVerification } = passkeys;
  const challenge = await createChallenge(state, authentication(table));
  return generateAuthenticationOptions({ rpID: rpIdOf(passkeys), challenge, timeout: TIMEOUT, userVerification });
}

/**
 * Finds out whose passkey a browser has signed with. An unknown or removed one is refused as a wrong signature is.
 *
 * @param answer - the browser's `PublicKeyCredential` as JSON
 * @returns the owner's id
 * @throws KeyServerError `passkey-refused`
 */
export async function ownerOfPasskey(passkeys: Passkeys, answer: string): Promise<number> {
  const { state, table } = passkeys;
  const response = parse<AuthenticationResponseJSON>(answer);
  const challenge = await usedChallenge(passkeys, authentication(table), response);
  const { id } = response;
  const passkey = typeof id === 'string' ? await findPasskey(state.database, table, id) : undefined;
  if (!passkey) throw refused();
  const { owner, publicKey, counter } = passkey;
  // Section 7.2, step 6: the person whom the authenticator names is the owner.
  if (response.response?.userHandle !== toBase64url(await userHandleOf(passkeys, owner))) throw refused();
  const credential = { id, publicKey: Uint8Array.from(publicKey), counter };
  const { verified, authenticationInfo } = await checked(() =>
    verifyAuthenticationResponse({ response, credential, ...expected(passkeys, challenge) }),
  );
  if (!verified) throw refused();
  // The row is checked once more: of two answers at the same time, with one count, one is a copy.
  if (!(await recordPasskeyUse(state.database, table, id, authenticationInfo.newCounter, state.now()))) throw refused();
  return owner;
}

/** Takes the challenge of an answer, before anything else is checked: it is used up by the first attempt. */
async function usedChallenge(
  { state }: Passkeys,
  purpose: string,
  { response }: AuthenticationResponseJSON | RegistrationResponseJSON,
): Promise<string> {
  const { challenge, crossOrigin } = await checked(async () => decodeClientDataJSON(response.clientDataJSON));
  if (typeof challenge !== 'string' || !(await useChallenge(state, purpose, challenge))) throw refused();
  if (crossOrigin === true) throw refused(); // pages here stand in no frame
  return challenge;
}

/** Certificates of makers were not asked for. To check one, the library would fetch from addresses that are in it. */
function checkAttestation({ response }: RegistrationResponseJSON): void {
  const attestation = decodeAttestationObject(isoBase64URL.toBuffer(response.attestationObject));
  const fmt = attestation.get('fmt');
  if (fmt !== 'none' && !(fmt === 'packed' && attestation.get('attStmt').get('x5c') === undefined)) throw refused();
}

function expected(passkeys: Passkeys, challenge: string) {
  return {
    expectedChallenge: challenge,
    expectedOrigin: passkeys.origin,
    expectedRPID: rpIdOf(passkeys),
    requireUserVerification: passkeys.userVerification === 'required',
  };
}

function parse<Answer>(text: string): Answer {
  if (text.length > MAXIMUM_ANSWER_LENGTH) throw refused();
  try {
    const answer: unknown = JSON.parse(text);
    if (typeof answer === 'object' && answer !== null) return answer as Answer;
  } catch {} // counts as no object
  throw refused();
}

/** Refuses an answer for whatever the library throws. */
async function checked<Result>(check: () => Promise<Result>): Promise<Result> {
  try {
    return await check();
  } catch (cause) {
    throw refused(cause);
  }
}

function refused(cause?: unknown): KeyServerError {
  return new KeyServerError('passkey-refused', 'the passkey is not accepted', { cause });
}

const authentication = (table: PasskeyTable) => `${table} authentication`;
const registration = (table: PasskeyTable, owner: number) => `${table} registration ${owner}`;

/** Section 14.6.1: the same for all passkeys of a person, and to everybody else as good as random: nobody can overwrite a passkey by it. */
async function userHandleOf({ state, table, origin }: Passkeys, owner: number): Promise<Uint8Array<ArrayBuffer>> {
  const secret = await readSecret(state, 'passkeys');
  return Uint8Array.from(await hmacSha256(secret, utf8(`${new URL(origin).hostname}\n${table}\n${owner}`)));
}

function rpIdOf({ origin }: Passkeys): string {
  return new URL(origin).hostname;
}
