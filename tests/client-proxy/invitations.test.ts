/** Invitations as they were printed, and how long what was shown of them can be accepted. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import type { Proposal } from '../../client-proxy/connect/connection.ts';
import { parseInvitationLink } from '../../client-proxy/connect/link.ts';
import { LIMITS } from '../../client-proxy/limits.ts';
import { Proposals } from '../../client-proxy/pages/proposals.ts';

const LINK = 'https://keys.example#ABCD-EFGH-JKMN-PQRS';

it.each([
  ['the command', `wispr bind ${LINK}`],
  ['its whole line', `To read it: wispr bind ${LINK}`],
  ['in quotes', `wispr bind '${LINK}'`],
])('an invitation as it was printed is taken: %s', (_, printed) => {
  expect(parseInvitationLink(printed)).toEqual(parseInvitationLink(LINK));
});

describe('what was shown', () => {
  const proposal = {} as Proposal; // presence alone matters
  const accepts = (proposals: Proposals, name: string) => proposals.accept(name, async () => undefined);

  it('can be accepted for half an hour, and not any more', async () => {
    const begun = performance.now();
    const clock = vi.spyOn(performance, 'now').mockReturnValue(begun);
    try {
      const proposals = new Proposals();
      const names = [proposals.add(proposal), proposals.add(proposal), proposals.add(proposal)] as const;
      await sleep(5); // the cache reads the clock once a millisecond
      clock.mockReturnValue(begun + LIMITS.proposalTime - 1);
      expect([proposals.get(names[0]), await accepts(proposals, names[1])]).toEqual([proposal, true]);
      await sleep(5);
      clock.mockReturnValue(begun + LIMITS.proposalTime + 1);
      expect([proposals.get(names[0]), await accepts(proposals, names[2])]).toEqual([undefined, false]);
    } finally {
      clock.mockRestore();
    }
  });

  it('makes room for newer ones, the oldest first, however many are asked for', async () => {
    const proposals = new Proposals();
    const names = Array.from({ length: LIMITS.proposals + 3 }, () => proposals.add(proposal));
    expect(names.map((name) => proposals.get(name) === proposal)).toEqual([
      ...Array<boolean>(3).fill(false),
      ...Array<boolean>(LIMITS.proposals).fill(true),
    ]);
    expect(await accepts(proposals, names[0] ?? '')).toBe(false);
  });
});
