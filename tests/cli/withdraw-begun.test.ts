/** Publications whose timestamp was on its way when `wispr publish` ended: where they may be, and what is confirmed, withdrawn and published then. */
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { confirmFromWorkspace } from '../../cli/confirm-publication.ts';
import { parseHandOver } from '../../core/publication/hand-over-1.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { openTarget } from '../../node-support/storage/open.ts';
import { rotateRole } from '../../publisher/keys/change-roles.ts';
import { rememberPublished } from '../../publisher/last-published.ts';
import { metadataIn } from '../../publisher/publication/places.ts';
import { publishSite } from '../../publisher/publish/publish.ts';
import { publishAgainCommand } from '../../publisher/publish/publish-command.ts';
import { renewerOf } from '../../publisher/publish/renew-timestamp.ts';
import { withBegun } from '../../publisher/published-places.ts';
import { runTimestamp } from '../../publisher/timestamp/run.ts';
import { type Workspace, workspaceOf } from '../../publisher/workspace.ts';
import { type ContentHost, startContentHost } from '../support/content-host.ts';
import { lastOf } from '../support/last-published.ts';
import { TargetPlaces } from '../support/target-places.ts';
import { breakTimestamp, NO_POWER, saidAt, saidBy, TIMESTAMP, withoutPower } from '../support/target-timestamp.ts';
import { createWorkspace, PASSPHRASE, type TestWorkspace } from '../support/workspace.ts';

const places = new TargetPlaces();
let keyServer: ContentHost;
/** What the key server confirms, and whether it answers. */
let known: Uint8Array | undefined;
let isSilent: boolean;
let made: TestWorkspace;
let workspace: Workspace;
let place: string;
let other: string;
let doubts: string[];

beforeAll(async () => {
  keyServer = await startContentHost();
  keyServer.handlers.set(TIMESTAMP, (_, response) => {
    response.writeHead(isSilent ? 503 : known ? 200 : 404).end(known);
  });
  keyServer.handlers.set('/v1/publication', async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    if (!isSilent) known = parseHandOver(Buffer.concat(parts)).timestamp;
    response.writeHead(isSilent ? 503 : 200).end('{}');
  });
});
afterAll(() => keyServer.close());

beforeEach(async () => {
  [{ place }, { place: other }] = [await places.next(), await places.next()];
  [known, isSilent, doubts] = [undefined, false, []];
  made = await createWorkspace({ 'a.html': '<p>1' }, { keyServer: keyServer.origin });
  workspace = workspaceOf(made.configurationFile);
  await writeFile(join(made.directory, 'token'), `wispr-publish-${'a'.repeat(43)}\n`, { mode: 0o600 });
  await made.protect();
});
afterEach(() => made.remove());

const protectNext = async (text: string) => {
  await made.write('a.html', text);
  await made.protect();
};
/** @param cut - see {@link withoutPower} */
const publish = async (where: string, cut?: 'taken' | 'lost') => {
  const honest = await openTarget(where);
  const target = cut ? withoutPower(honest, cut) : honest;
  const renewTimestamp = renewerOf(workspace, made.out, PASSPHRASE, nowInSeconds());
  const options = { keysAreThere: true, renewTimestamp };
  const publishing = publishSite({ workspace, out: made.out, target, ...options });
  return cut ? expect(publishing).rejects.toThrow(NO_POWER) : publishing;
};
const confirm = (withdraw?: number, hasToken = true) =>
  confirmFromWorkspace(
    { passphrase: PASSPHRASE, withdraw },
    { config: made.configurationFile, ...(hasToken && { tokenFile: join(made.directory, 'token') }) },
    { onDoubt: (doubt) => void doubts.push(doubt) },
  );
const last = () => lastOf(workspace);
const isNotOut = { code: 'version-unknown', message: expect.stringContaining('; here it counts as withdrawn') };
const namesWithdraw = (version: number) => ({
  code: 'publication-withdrawn',
  hint: expect.stringMatching(`^run "wispr withdraw ${version}" again`),
});

describe('the target that was named for it', () => {
  it('is where a first publication is withdrawn, and named as the one to publish to', async () => {
    await publish(other, 'taken');
    expect(await publishAgainCommand(made.configurationFile)).toBe(`wispr publish ${other}`);
    const { target } = await confirm(1);
    expect([target, await saidAt(other)]).toEqual([other, { publication: 1, withdrawn: [1] }]);
    expect(await last()).toMatchObject({ target: other, publication: { version: 1 }, begun: [], unfinished: [] });
  });

  it('is where a first publication is confirmed', async () => {
    await publish(other, 'taken');
    expect((await confirm()).target).toBe(other);
    expect(await last()).toMatchObject({ target: other, publication: { version: 1 }, begun: [] });
  });

  it('is not the one of the publication before, which is left alone; that one is confirmed where it is', async () => {
    await publish(place);
    await protectNext('<p>2');
    await publish(other, 'taken');
    expect((await confirm()).target).toBe(place);
    expect(await saidAt(place)).toEqual({ publication: 1, withdrawn: [] });
    const { target } = await confirm(2);
    expect([target, await saidAt(other)]).toEqual([other, { publication: 2, withdrawn: [2] }]);
    expect(await saidAt(place)).toEqual({ publication: 1, withdrawn: [] });
    expect(await last()).toMatchObject({ target: place, publication: { version: 1 }, begun: [], unfinished: [] });
    expect(saidBy(known ?? new Uint8Array())).toEqual({ publication: 1, withdrawn: [] }); // told nothing of a slip that it does not know
    expect((await confirm()).target).toBe(place);
    expect(await saidAt(place)).toMatchObject({ publication: 1 });
  });
});

describe('two targets that it was on its way to', () => {
  it('are both where a first publication is withdrawn; where it did not arrive, that is no failure', async () => {
    await publish(place, 'taken');
    await publish(other, 'taken');
    const { target, besides } = await confirm(1);
    expect([target, besides]).toEqual([other, [place]]);
    for (const where of [place, other]) expect(await saidAt(where)).toEqual({ publication: 1, withdrawn: [1] });
    expect(await last()).toMatchObject({ target: other, publication: { version: 1 }, begun: [], unfinished: [] });
  });

  it.each(['first', 'second'])(
    'are looked at both, where only the %s has it; then the other may still show it',
    async (which) => {
      await publish(place);
      await publish(other);
      await protectNext('<p>2');
      const [taken, lost] = which === 'first' ? [place, other] : [other, place];
      for (const where of [place, other]) await publish(where, where === taken ? 'taken' : 'lost');
      const { target } = await confirm(2, false);
      expect([target, await saidAt(taken), await saidAt(lost)]).toEqual([
        taken,
        { publication: 2, withdrawn: [2] },
        { publication: 1, withdrawn: [] },
      ]);
      expect(await last()).toMatchObject({ target: other, begun: [{ version: 2, target: lost }], unfinished: [] });
    },
  );

  it('have both their turn, where one fails, and the same command again finishes it', async () => {
    await publish(place, 'taken');
    await publish(other, 'taken');
    const mend = await breakTimestamp(other);
    await expect(confirm(1)).rejects.toThrow(
      `it is signed, and at ${place}; the key server was told; but not at ${other}`,
    );
    expect([await saidAt(place), await last()]).toMatchObject([{ withdrawn: [1] }, { owed: [[1, other]] }]);
    await mend();
    await confirm(1);
    expect([await saidAt(other), await last()]).toMatchObject([{ withdrawn: [1] }, { begun: [], unfinished: [] }]);
  });

  it('are not both done with where one has not got it, and the other fails', async () => {
    await publish(place);
    await protectNext('<p>2');
    await publish(place, 'lost');
    await publish(other, 'taken');
    const mend = await breakTimestamp(other);
    await expect(confirm(2, false)).rejects.toThrow(`it is signed; but not at ${other}: `);
    expect(await last()).toMatchObject({ withdrawn: [2], owed: [[2, other]] });
    await mend();
    await confirm(2, false);
    expect([await saidAt(other), await last()]).toMatchObject([{ withdrawn: [2] }, { unfinished: [] }]);
  });

  it('are remembered while nothing was published, or something elsewhere', async () => {
    await publish(other, 'taken');
    await protectNext('<p>2');
    const unseen = {
      message: expect.stringMatching(`^publication 2 is not at ${other}, which shows 1: nobody has it`),
    };
    await expect(confirm(2)).rejects.toMatchObject(unseen);
    await publish(place);
    expect(await last()).toMatchObject({
      target: place,
      publication: { version: 2 },
      begun: [{ version: 1, target: other }],
    });
    const { target, besides } = await confirm(1);
    expect([target, besides, await saidAt(other)]).toEqual([place, [other], { publication: 1, withdrawn: [1] }]);
    expect(await saidAt(place)).toEqual({ publication: 2, withdrawn: [1] });
    expect(await last()).toMatchObject({ target: place, publication: { version: 2 }, begun: [] });
  });
});

it('a first publication that its target does not show is not confirmed', async () => {
  await publish(other, 'lost');
  const hint = `run "wispr publish ${other}" first; or "wispr withdraw 1", if it is not to be seen`;
  await expect(confirm()).rejects.toMatchObject({ code: 'target-behind', hint });
});

describe('one that is out, below another that was only protected,', () => {
  beforeEach(async () => {
    await publish(place);
    await protectNext('<p>2');
    await publish(place, 'taken');
    await protectNext('<p>3');
  });

  it('is confirmed, and known from then on', async () => {
    await confirm();
    expect([await saidAt(place), await last()]).toMatchObject([
      { publication: 2 },
      { publication: { version: 2 }, begun: [] },
    ]);
  });

  it('stays with its readers when the one before is withdrawn', async () => {
    await confirm(1);
    expect([await saidAt(place), doubts]).toEqual([{ publication: 2, withdrawn: [1] }, []]);
  });

  it('is said to be where readers may have it, though the host hides it, when the one before is withdrawn', async () => {
    await breakTimestamp(place);
    await expect(confirm(1)).rejects.toThrow(/^it is signed, but not where/);
    expect(doubts.join()).toContain(`readers may have publication 2 already, for all that ${place} shows`);
  });
});

it('of two that were on their way, what is shown is withdrawn, and the other does not go online by that', async () => {
  await publish(place);
  await protectNext('<p>2');
  await publish(place, 'taken');
  await protectNext('<p>3');
  await publish(place, 'lost');
  expect((await last()).begun.map(({ version }) => version)).toEqual([2, 3]);
  const mend = await breakTimestamp(place);
  await expect(confirm(2)).rejects.toThrow(/^it is signed, but not where/);
  expect(saidBy(known ?? new Uint8Array())).toEqual({ publication: 2, withdrawn: [2] });
  await mend();
  await confirm(2);
  expect(await saidAt(place)).toEqual({ publication: 2, withdrawn: [2] });
});

describe('one that did not arrive', () => {
  beforeEach(async () => {
    await publish(place);
    await protectNext('<p>2');
    await publish(place, 'lost');
  });

  it('counts as withdrawn from then on: nothing brings it, and what is published after it says so', async () => {
    await expect(confirm(2)).rejects.toMatchObject({
      ...isNotOut,
      hint: expect.stringMatching(
        /^change what was wrong before you run "wispr publish [^"]+"; if it appears there after all, run the same/,
      ),
    });
    expect(await last()).toMatchObject({ withdrawn: [2], unfinished: [] });
    const refused = { code: 'publication-withdrawn', message: expect.stringContaining('readers have publication 1') };
    await expect(publish(place)).rejects.toMatchObject(refused);
    await made.protect();
    await expect(publish(place)).rejects.toMatchObject(refused);
    await confirm(); // what readers have goes on
    expect(await saidAt(place)).toEqual({ publication: 1, withdrawn: [] });
    await protectNext('<p>3');
    await publish(place);
    expect(await saidAt(place)).toEqual({ publication: 3, withdrawn: [2] });
  });

  it('and arrives later is withdrawn by the same command, which a confirmation names', async () => {
    const late = await readFile(join(made.out, TIMESTAMP));
    await expect(confirm(2)).rejects.toMatchObject(isNotOut);
    await writeFile(join(place, TIMESTAMP), late);
    await expect(confirm()).rejects.toMatchObject(namesWithdraw(2));
    const refused = { code: 'publication-withdrawn', message: 'publication 2 was withdrawn here' };
    await expect(publish(place)).rejects.toMatchObject(refused);
    await confirm(2);
    expect([await saidAt(place), await last()]).toMatchObject([{ publication: 2, withdrawn: [2] }, { unfinished: [] }]);
  });

  describe('and was withdrawn while nobody could see that', () => {
    let mend: () => Promise<void>;
    beforeEach(async () => {
      mend = await breakTimestamp(place);
      await expect(confirm(2)).rejects.toThrow(/^it is signed, but not where .*the key server was told/);
      expect(await last()).toMatchObject({ withdrawn: [2], unfinished: [2] });
      await mend();
    });

    it('is finished by the same command, because the key server was told', async () => {
      await expect(confirm()).rejects.toMatchObject(namesWithdraw(2));
      await confirm(2);
      expect([await saidAt(place), await last()]).toMatchObject([
        { publication: 2, withdrawn: [2] },
        { unfinished: [] },
      ]);
    });

    it('has nothing to be finished where the key server knows nothing of it', async () => {
      known = undefined;
      await expect(confirm(2)).rejects.toMatchObject(isNotOut);
      expect([await saidAt(place), await last()]).toMatchObject([{ publication: 1 }, { unfinished: [] }]);
    });

    it('stays to be finished where the key server does not say', async () => {
      isSilent = true;
      await expect(confirm(2)).rejects.toMatchObject({
        message: expect.stringContaining('the key server does not say whether it has it'),
        hint: expect.stringMatching(/^run the same command again when it does/),
      });
      expect(await last()).toMatchObject({ unfinished: [2] });
    });

    it('is not forgotten by who has no token: the key server is asked all the same', async () => {
      await confirm(2, false);
      expect(await saidAt(place)).toEqual({ publication: 2, withdrawn: [2] });
    });
  });
});

it("one that was only protected, and withdrawn while nobody could see that, takes nobody's place", async () => {
  await publish(place);
  await protectNext('<p>2');
  const mend = await breakTimestamp(place);
  await expect(confirm(2)).rejects.toThrow('it is signed');
  await mend();
  await expect(confirm(2)).rejects.toMatchObject({ message: expect.stringMatching(/which shows 1: nobody has it$/) });
  expect(await last()).toMatchObject({ withdrawn: [2], unfinished: [] });
  await expect(publish(place)).rejects.toMatchObject({ code: 'publication-withdrawn' });
  expect(await saidAt(place)).toEqual({ publication: 1, withdrawn: [] });
});

describe('whatever the host shows, and whatever keys have signed it,', () => {
  it.each(['a new timestamp key', 'a host that hides what it shows'])(
    'nothing withdrawn takes its place: %s',
    async (why) => {
      await publish(place);
      if (why === 'a new timestamp key')
        await rotateRole({ configurationFile: made.configurationFile, passphrase: PASSPHRASE }, 'timestamp');
      await protectNext('<p>2');
      const mend = await breakTimestamp(place);
      await expect(confirm(2)).rejects.toThrow('it is signed');
      await mend();
      if (why !== 'a new timestamp key') await rm(join(place, TIMESTAMP));
      const refused = { code: 'publication-withdrawn', message: expect.stringContaining('readers have publication 1') };
      await expect(publish(place)).rejects.toMatchObject(refused);
    },
  );
});

it('an output that was put back takes no number again', async () => {
  await publish(place);
  const [before, index] = [join(made.directory, 'before'), await readFile(workspace.database)];
  await cp(made.out, before, { recursive: true });
  const keys = await readFile(workspace.keyStore);
  await protectNext('<p>2');
  await publish(place, 'lost');
  await expect(confirm(2)).rejects.toMatchObject(isNotOut);
  await rm(made.out, { recursive: true });
  await cp(before, made.out, { recursive: true });
  await Promise.all([writeFile(workspace.database, index), writeFile(workspace.keyStore, keys)]);
  await protectNext('<p>3');
  await publish(place);
  expect(await saidAt(place)).toEqual({ publication: 3, withdrawn: [2] });
});

it('of two that were on their way, the later is named where nobody can see which of them is out', async () => {
  await publish(place);
  await protectNext('<p>2');
  await publish(place, 'lost');
  await protectNext('<p>3');
  await publish(place, 'taken');
  await breakTimestamp(place);
  await expect(confirm(2)).rejects.toThrow('it is signed');
  expect(doubts.join()).toContain('readers may have publication 3 already');
});

it('one that was published is brought again with what says that it is withdrawn, where the host has put back what was before', async () => {
  await publish(place);
  const before = await readFile(join(place, TIMESTAMP));
  await protectNext('<p>2');
  await publish(place);
  await confirm(2);
  await writeFile(join(place, TIMESTAMP), before);
  await publish(place);
  expect(await saidAt(place)).toEqual({ publication: 2, withdrawn: [2] });
});

it('a confirmation without a token tells no key server, and does not say that it did', async () => {
  await publish(place);
  isSilent = true;
  await expect(confirm(1)).rejects.toThrow('does not answer');
  await protectNext('<p>2');
  await publish(place);
  expect(await last()).toMatchObject({ unfinished: [1] });
  await confirm(undefined, false);
  expect(await last()).toMatchObject({ unfinished: [1] });
  isSilent = false;
  await confirm();
  expect(await last()).toMatchObject({ unfinished: [] });
});

it('what is withdrawn is remembered before anybody can see it', async () => {
  await publish(place);
  const own = {
    ...metadataIn(join(made.out, METADATA_PATH)),
    replaceTimestamp: () => Promise.reject(new Error('no power')),
  };
  const from = { configurationFile: made.configurationFile };
  const bringing = { places: [place], keyServer: true, tells: true };
  const run = { from, own, passphrase: PASSPHRASE, withdraw: 1, bringing };
  await expect(runTimestamp(run)).rejects.toThrow('no power');
  expect(await last()).toMatchObject({ withdrawn: [1], unfinished: [1] });
});

it('no more are remembered than sixteen, the last', async () => {
  const begun = Array.from({ length: 20 }, (_, version) => ({
    version: version + 1,
    sha256: 'a'.repeat(64),
    target: place,
  }));
  for (const { target, ...one } of begun)
    await rememberPublished(workspace, (before) => withBegun(before, target, one));
  expect((await last()).begun).toEqual(begun.slice(4));
});
