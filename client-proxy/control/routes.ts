/** All of the Reader's own pages. */
import { INSTANCE_PATH } from '../listening/listen.ts';
import type { ControlAnswer } from './answer.ts';
import { acceptProposal, declineSite, lookAtLink, lookAtSite, showConnect, showProposal } from './connect.ts';
import type { ControlContext } from './context.ts';
import type { Asked, Route } from './control-pages.ts';
import { disconnect, showDisconnect } from './disconnect.ts';
import { forgetActivity, showHome } from './home.ts';
import { lock, showLocked, unlock } from './lock-page.ts';
import { saveSettings, showSettings } from './settings-page.ts';

type Show = (context: ControlContext, asked: Asked) => Promise<ControlAnswer>;
type Change = (context: ControlContext, form: URLSearchParams, asked: Asked) => Promise<ControlAnswer>;

export function controlRoutes(context: ControlContext): Route[] {
  const route = (path: string, show?: Show, change?: Change): Route => ({
    path,
    ...(show && { show: (asked: Asked) => show(context, asked) }),
    ...(change && { change: (form: URLSearchParams, asked: Asked) => change(context, form, asked) }),
  });
  return [
    route('/', unlocked(showHome)),
    route('/connect', unlocked(showConnect), lookAtLink),
    route('/connect/*', unlocked(showProposal), acceptProposal),
    route('/sites/look', undefined, lookAtSite),
    route('/sites/decline', undefined, declineSite),
    route('/publishers/*/disconnect', unlocked(showDisconnect), (all, _form, asked) => disconnect(all, asked)),
    route('/activity/forget', undefined, forgetActivity),
    route('/settings', showSettings, saveSettings),
    route('/lock', undefined, lock),
    route(
      '/unlock',
      unlocked(async () => ({ goTo: '/' })),
      unlock,
    ),
    route(INSTANCE_PATH, async ({ instance }) => ({ text: await instance.shown() })),
  ];
}

/**
 * What needs keys: in its place, a locked Reader asks for the way to them. One from which everything was taken has none to ask for: it begins
 * anew, with a new key, as it would if it were started now; where a passphrase protected what was there, it asks for a new one first.
 */
function unlocked(show: Show): Show {
  return async (context, asked) => {
    const { lock } = context;
    if (lock.isLocked && lock.isEmpty && !lock.needsNewPassphrase) await lock.unlock();
    return lock.isLocked ? showLocked(context, asked) : show(context, asked);
  };
}
