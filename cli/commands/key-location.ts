/** Words of the command line for the place of the reader's keys. */
import type { CodedError } from '../../core/errors.ts';
import { systemCode } from '../../node-support/system-error.ts';
import { hintLine } from '../io/voice.ts';

type KeyLocationKind = 'passphrase' | 'keyring' | 'key-file';

/** Names the key of the database. @param problem - what is wrong with the key file */
export function describeKeyLocation(place: KeyLocationKind, keyFile: string, problem?: CodedError): string {
  if (place === 'keyring') return 'a key in the keyring of this system, open while you are signed in';
  if (place === 'passphrase') return 'a passphrase, which is asked for at every start';
  return `the key in ${keyFile}, ${keyFileInWords(problem)}`;
}

function keyFileInWords(problem: CodedError | undefined): string {
  if (systemCode(problem?.cause) === 'ENOENT') return 'which is missing';
  return problem?.code === 'storage-key-refused' ? 'which cannot be used' : 'which only you can read';
}

export function describeDecision(place: KeyLocationKind): string[] {
  const how = {
    keyring: 'your keys are sealed, with a key in the keyring of this system',
    passphrase: 'your keys are sealed with this passphrase; it cannot be recovered if it is lost',
    'key-file': 'your keys are sealed, with a key in a file that only you can read',
  }[place];
  return [
    how,
    ...(place === 'passphrase' ? [] : [hintLine('"wispr identity protect passphrase" asks for a passphrase instead')]),
  ];
}
