/** Readers never go back, and the same command finishes, whatever is published, withdrawn, rolled back, confirmed, killed or out of reach. */
import fc from 'fast-check';
import { afterEach, describe, it } from 'vitest';
import { type KillableWorld, openWorld } from '../support/killable-world.ts';
import { IS_RELEASE, runs } from '../support/tier.ts';

/** A command, how it is disturbed, and which targets it can reach. */
interface Step {
  readonly command: 'publish' | 'withdraw' | 'confirm' | 'rollback';
  readonly edits: boolean;
  readonly reach: readonly [boolean, boolean];
  /** Number of changes before the kill; `undefined`: no kill. */
  readonly killAt: number | undefined;
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    command: fc.constantFrom<Step['command'][]>('publish', 'publish', 'withdraw', 'confirm', 'rollback'),
    edits: fc.boolean(),
    reach: fc.constantFrom<Step['reach']>([true, true], [true, true], [true, false], [false, true]),
    killAt: fc.option(fc.nat(15), { nil: undefined }),
  }),
  { minLength: 1, maxLength: 6 },
);

/** Commands, each after each but for what the kills below have: itself, and those around `publish` that are not here. */
const EVERY_PAIR: Step[] = Array.from('ppcwrwcrcp', (letter) => ({
  command: ({ p: 'publish', w: 'withdraw', c: 'confirm', r: 'rollback' } as const)[letter] ?? 'publish',
  edits: true,
  reach: [true, true],
  killAt: undefined,
}));

let world: KillableWorld | undefined;
afterEach(() => world?.close());

describe.each([false, true])('with a key server: %s', (withKeyServer) => {
  it('attack 66: any sequence of commands leaves every reader at the highest publication that it has seen', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (sequence) => {
        world = await openWorld({ withKeyServer });
        await world.publish();
        await world.checkKeys();
        for (const step of sequence) await take(world, step);
        await world.publish();
        await world.checkKeys();
        await world.close();
      }),
      { numRuns: runs(1, 20), examples: [[EVERY_PAIR]] },
    );
  });
});

async function take(the: KillableWorld, { command, edits, reach, killAt }: Step): Promise<void> {
  if (edits && command === 'publish') await the.edit();
  the.reach(reach);
  const before = await the.pairs();
  const run = () => the[command]();
  const isKilled = await the.killing(killAt, run);
  await the.checkReaders(before);
  if (isKilled) await run();
  await the.checkReaders(before);
  await the.checkTargets();
}

/** Changes from one kill to the next. */
const STRIDE = IS_RELEASE ? 3 : 6;

/** docs/spec/publication.md, section 8: each line of the table of kill points, after every change that a run makes. */
describe.each([false, true])('attack 66: killed after changes, with a key server: %s', (withKeyServer) => {
  it.each(['publish', 'withdraw', 'confirm', 'rollback'] as const)('%s', async (command) => {
    world = await openWorld({ withKeyServer });
    await world.publish();
    for (let killAt = 0; ; killAt += STRIDE) {
      if (command !== 'confirm') await world.edit();
      if (command === 'rollback') await world.publish();
      const before = await world.pairs();
      const isKilled = await world.killing(killAt, () => world?.[command]());
      await world.checkReaders(before);
      await world[command]();
      await world.checkReaders(before);
      await world.checkTargets();
      if (command === 'withdraw') await world.publish();
      if (!isKilled) break;
    }
  });
});
