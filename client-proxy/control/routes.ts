/** All of the Reader's own pages. */
import type { Route } from './control-pages.ts';
import { type HomeOptions, showHome } from './home.ts';

export function controlRoutes(options: HomeOptions): Route[] {
  return [{ path: '/', show: () => showHome(options) }];
}
