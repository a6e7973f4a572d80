/** `wispr invite` without a key server: who may read stands in `publisher.keys`, and takes effect with the next `wispr publish`. */
import { randomBytes } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { INVITATION_SALT_LENGTH, INVITATION_SECRET_LENGTH, PASSWORD_COST } from '../../core/keys/key-file.ts';
import { matchesPattern, SET_PATTERN } from '../../core/keys/set-pattern.ts';
import { OPEN_PAGE } from '../../core/site/path.ts';
import { argon2id, isLongEnough, LEAST_PASSPHRASE } from '../../node-support/argon2id.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { PublishError } from '../errors.ts';
import { replaceFile } from '../keys/file-update.ts';
import { type Invitation, type KeyStoreContents, openKeyStore } from '../keys/key-store.ts';
import { isOtherKeyStore, recordKeyStore } from '../keys/note-key-store.ts';
import { readConfiguration } from '../workspace/configuration/read.ts';
import { readKeyStore, withLock, workspaceOf } from '../workspace/workspace.ts';
import { keyPeriodOf } from './key-files.ts';

export interface InvitationOptions {
  readonly configurationFile: string;
  readonly passphrase: string;
  readonly name: string;
}

export interface InviteOptions extends InvitationOptions {
  /** Patterns of set names. Left out: as before; all, for a new name. */
  readonly sets?: readonly string[] | undefined;
  /** The last second, since 1970. Left out: as before; without end, for a new name. */
  readonly until?: number | undefined;
  /** Makes a new link, which asks for it. */
  readonly password?: string | undefined;
}

export interface Invited {
  readonly name: string;
  readonly created: boolean;
  readonly link: string;
  readonly sets: readonly string[];
  readonly until: number | undefined;
  readonly password: boolean;
  /** Patterns that fit no set which has a key: misspelt, or of sets to come. */
  readonly unmatched: readonly string[];
}

const ALL_SETS = '*';
const LONGEST_NAME = 100;

/**
 * Makes or changes an invitation. The same name has the same link, until a password is asked for.
 *
 * @throws PublishError `argument-invalid`, `passphrase-too-short`, `passphrase-wrong`, `output-failed`; nothing was changed then
 */
export async function invite(options: InviteOptions): Promise<Invited> {
  const { name, sets, until, password } = options;
  checkNamed(options);
  const drawn = password === undefined ? undefined : await secretOf(password);
  return changeInvitations(options, ({ invitations, sets: known }, origin) => {
    const before = invitations.find((each) => each.name === name);
    const { salt, secret } = drawn ?? before ?? { secret: randomBytes(INVITATION_SECRET_LENGTH), salt: undefined };
    const end = until ?? before?.until;
    const invitation: Invitation = {
      ...{ name, secret, sets: sets ?? before?.sets ?? [ALL_SETS] },
      ...(end !== undefined && { until: end }),
      ...(salt && { salt }),
    };
    const unmatched = (sets ?? []).filter((pattern) => known.size > 0 && isUnmatched(pattern, known));
    return {
      invitations: before
        ? invitations.map((each) => (each === before ? invitation : each))
        : [...invitations, invitation],
      result: {
        ...{ name, created: before === undefined, link: linkOf(origin, invitation), sets: invitation.sets, until: end },
        ...{ password: salt !== undefined, unmatched },
      },
    };
  });
}

/**
 * Removes an invitation: the next `wispr publish` removes its key file.
 *
 * @returns when the keys end that were given out with it, at the latest: seconds since 1970
 * @throws PublishError `argument-invalid`, `passphrase-wrong`, `output-failed`; nothing was changed then
 */
export function removeInvitation(
  options: InvitationOptions,
): Promise<{ readonly name: string; readonly ends: number }> {
  const { name } = options;
  return changeInvitations(options, ({ invitations }) => {
    const gone = invitations.find((each) => each.name === name);
    if (gone === undefined) throw refused(`there is no invitation of ${JSON.stringify(name)}`);
    const ends = Math.min(gone.until ?? Number.POSITIVE_INFINITY, keyPeriodOf(nowInSeconds()).notAfter);
    return { invitations: invitations.filter((each) => each !== gone), result: { name, ends } };
  });
}

/** Makes a link with the secret behind `#`, which browsers do not send. */
function linkOf(origin: string, { secret, salt }: Invitation): string {
  return `${origin}${OPEN_PAGE}#${salt ? `p=${toBase64url(salt)}` : `i=${toBase64url(secret)}`}`;
}

async function secretOf(password: string): Promise<Pick<Invitation, 'secret' | 'salt'>> {
  if (!isLongEnough(password))
    throw new PublishError('passphrase-too-short', `the password has fewer than ${LEAST_PASSPHRASE} characters`, {
      typed: true,
    });
  const salt = randomBytes(INVITATION_SALT_LENGTH);
  return { salt, secret: await argon2id(password, PASSWORD_COST, salt) };
}

async function changeInvitations<Result>(
  { configurationFile, passphrase }: InvitationOptions,
  change: (
    contents: KeyStoreContents,
    origin: string,
  ) => { readonly invitations: readonly Invitation[]; readonly result: Result },
): Promise<Result> {
  const workspace = workspaceOf(configurationFile);
  const { reading } = await readConfiguration(workspace.configuration);
  return withLock(workspace, async (index) => {
    const { contents, seal } = await openKeyStore(await readKeyStore(workspace), passphrase);
    const { invitations, result } = change(contents, reading);
    const isNoted = !(await isOtherKeyStore(index, workspace));
    await replaceFile(workspace.keyStore, await seal({ ...contents, invitations }));
    if (isNoted) await recordKeyStore(index, workspace);
    return result;
  });
}

function checkNamed({ name, sets = [] }: InviteOptions): void {
  if (name.length < 1 || name.length > LONGEST_NAME || /\p{C}/u.test(name) || name.trim() !== name)
    throw refused(`a name has 1 to ${LONGEST_NAME} characters that can be seen`);
  const wrong = sets.find((pattern) => !SET_PATTERN.test(pattern));
  if (wrong !== undefined) throw refused(`${JSON.stringify(wrong)} cannot be a pattern of set names`);
}

function isUnmatched(pattern: string, sets: ReadonlyMap<string, unknown>): boolean {
  return ![...sets.keys()].some((name) => matchesPattern(pattern, name));
}

function refused(message: string): PublishError {
  return new PublishError('argument-invalid', message, { typed: true });
}
