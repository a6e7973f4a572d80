/** Puts the Reader's own pages together. */
import { Activity } from './activity.ts';
import type { ControlContext, Noticed } from './context.ts';
import { ControlPages } from './control-pages.ts';
import { Guard } from './guard.ts';
import { Observed } from './observed.ts';
import { Proposals } from './proposals.ts';
import { controlRoutes } from './routes.ts';

/** What the pages need of the Reader; the rest is made here. */
export type ControlOptions = Omit<ControlContext, keyof Noticed | 'proposals' | 'token'>;

export interface Control {
  readonly guard: Guard;
  readonly control: ControlPages;
  /** For the doors to write into. */
  readonly noticed: Noticed;
}

export function openControlPages(options: ControlOptions): Control {
  const guard = new Guard(options.port);
  const noticed: Noticed = {
    activity: new Activity(),
    seen: new Observed(),
    browsers: new Observed(),
  };
  const context = { ...options, ...noticed, proposals: new Proposals(), token: guard.token };
  return { guard, control: new ControlPages(guard, controlRoutes(context)), noticed };
}
