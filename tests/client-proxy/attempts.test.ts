/** How often passphrases are tried: one at a time, few at once, and after some wrong ones with pauses. By a clock of the test's own. */
import { describe, expect, it } from 'vitest';
import { ReaderError } from '../../client-proxy/errors.ts';
import { Attempts } from '../../client-proxy/identity/attempts.ts';
import { LIMITS } from '../../client-proxy/limits.ts';

const wrong = async () => {
  throw new ReaderError('passphrase-wrong', 'wrong');
};
const codeOf = (done: Promise<void>) =>
  done.then(
    () => undefined,
    (error: ReaderError) => error.code,
  );

async function failOften(attempts: Attempts): Promise<void> {
  for (let turn = 0; turn < LIMITS.wrongUnlocks; turn++)
    expect(await codeOf(attempts.make(wrong))).toBe('passphrase-wrong');
}

describe('passphrases that are tried', () => {
  it('are looked at one after the other, and few may wait', async () => {
    const attempts = new Attempts();
    const log: string[] = [];
    const work = (name: string) => async () => {
      log.push(`${name} begins`);
      await new Promise(setImmediate);
      log.push(`${name} ends`);
    };
    const tries = Array.from({ length: LIMITS.unlocksWaiting + 1 }, (_, index) =>
      codeOf(attempts.make(work(`${index}`))),
    );
    expect(await Promise.all(tries)).toEqual([...Array(LIMITS.unlocksWaiting).fill(undefined), 'too-many-requests']);
    expect(log).toEqual(Array.from({ length: LIMITS.unlocksWaiting }, (_, i) => [`${i} begins`, `${i} ends`]).flat());
    expect(await codeOf(attempts.make(work('later')))).toBeUndefined();
  });

  it('cost nothing for a while after some wrong ones, the right one included; then one each time', async () => {
    let time = 0;
    const attempts = new Attempts(() => time);
    await failOften(attempts);
    let looked = 0;
    const right = async () => void looked++;
    for (time of [0, LIMITS.unlockPause - 1]) expect(await codeOf(attempts.make(right))).toBe('too-many-requests');
    expect(looked).toBe(0);
    time = LIMITS.unlockPause;
    expect(await codeOf(attempts.make(wrong))).toBe('passphrase-wrong');
    expect(await codeOf(attempts.make(right))).toBe('too-many-requests');
    time += LIMITS.unlockPause;
    expect(await codeOf(attempts.make(right))).toBeUndefined();
    await failOften(attempts); // the right one has wiped the slate
  });

  it('that fail for another reason do not count', async () => {
    const attempts = new Attempts(() => 0);
    const absent = async () => {
      throw new ReaderError('keyring-unavailable', 'no keyring');
    };
    for (let turn = 0; turn < 2 * LIMITS.wrongUnlocks; turn++)
      expect(await codeOf(attempts.make(absent))).toBe('keyring-unavailable');
  });
});
