/** `wispr withdraw` where a publication may be at more than one target. */
import { PublishError } from '../publisher/errors.ts';
import { NotOut } from '../publisher/publish/choose-publication.ts';
import type { Workspace } from '../publisher/workspace.ts';
import { forgetMaybe, rememberUnfinished } from './confirm-memory.ts';

/** What was published to: a target's name, the output itself, or what `wispr.json` names. */
export type Place = string | null | undefined;

/**
 * Withdraws at every target that may have it. That it is not at one of them is no failure, where it is at another.
 *
 * @returns what was done at the first, and the names of further ones that have it
 * @throws what kept it from one of them, when all have had their turn
 */
export async function withdrawEverywhere<Done extends { readonly target: string | undefined }>(
  names: readonly Place[],
  version: number,
  workspace: Workspace,
  at: (name: Place) => Promise<Done>,
): Promise<Done & { readonly besides: readonly string[] }> {
  const done: Done[] = [];
  const notOut: NotOut[] = [];
  const failures: unknown[] = [];
  for (const name of names) {
    try {
      done.push(await at(name));
    } catch (error) {
      if (error instanceof PublishError && error.code === 'stopped') throw error;
      if (error instanceof NotOut) notOut.push(error);
      else failures.push(error);
    }
  }
  const [confirmed, ...others] = done;
  if (failures.length > 0 && confirmed) await rememberUnfinished(workspace, version);
  if (failures.length > 0 || confirmed === undefined) throw failures[0] ?? notOut[0];
  const gone = notOut.map(({ target }) => target);
  if (gone.length > 0) await forgetMaybe(workspace, version, gone);
  return { ...confirmed, besides: others.flatMap(({ target }) => target ?? []) };
}
