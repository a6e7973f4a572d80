/** Changes the passphrase of a reader's database again and again, until it is killed: `reprotect-loop.ts DATA KEY-FILE PASSPHRASE OTHER`. */
import { protectIdentity } from '../../client-proxy/index.ts';

const [dataDirectory = '', keyFile = '', ...passphrases] = process.argv.slice(2);
for (let round = 0; ; round++) {
  const [now = '', next = ''] = round % 2 === 0 ? passphrases : passphrases.toReversed();
  const options = { dataDirectory, keyFile, passphrase: async () => now };
  await protectIdentity(options, { kind: 'passphrase', choose: async () => next });
  if (round === 0) process.stdout.write('ready\n');
}
